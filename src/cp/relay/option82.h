/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a client is, as a server of DHCPv4 is told (option 82, RFC 3046), and tells again with its
 * reply, by which the line is found. The circuit id has the syntax of TR-101 section 3.9.3,
 * "NODE eth PORT:SVLAN.CVLAN"; the remote id is the line as RADIUS is told it, "PORT SVLAN.CVLAN".
 */
#ifndef CP_RELAY_OPTION82_H
#define CP_RELAY_OPTION82_H

#include "cp/cp.h"
#include "cp/packet/dhcp4.h"
#include "cp/relay/config.h"

#define RELAY_CIRCUIT (RELAY_NODE_MOST + SESSION_LINE_TEXT + 8)

/** The circuit id of a line; buf is returned. */
char *relay_circuit(const struct relay_config *r, const struct session *s, char buf[RELAY_CIRCUIT]);

/** The line of a circuit id of n characters, or NULL: it is none, or one that was not heard of. */
struct session *relay_line(const struct cp *cp, const struct relay_config *r, const void *circuit,
                           size_t n);

/** The option of a line. gateway: an address of the subnet that its address is to be of (RFC 3527),
 * unicast: the client has sent its message to this gateway's address (RFC 5010). */
void option82_write(const struct relay_config *r, const struct session *s, uint32_t gateway,
                    bool unicast, struct dhcp4_bytes *option);

/** The line of such an option, or NULL. */
struct session *option82_line(const struct cp *cp, const struct relay_config *r,
                              const struct dhcp4_bytes *option);

#endif
