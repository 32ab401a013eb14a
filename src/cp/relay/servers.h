/* SPDX-License-Identifier: BSD-3-Clause */
/* The servers of DHCP behind this gateway: what is sent to them, which of them live, and what they
 * answer. */
#ifndef CP_RELAY_SERVERS_H
#define CP_RELAY_SERVERS_H

#include "cp/cp.h"

#define RELAY_MESSAGE 1500 /* bytes of the longest message, so that it fits a frame */

struct relay;

/** Open the sockets of all relays of the configuration. Returns NULL; the reason is in the log. */
struct relay *relays_open(struct cp *cp);
void relays_close(struct cp *cp, struct relay *relays);

/** The one of a pool's; index: its place in the configuration. */
struct relay *relay_at(struct relay *relays, uint32_t index);
const struct relay_config *relay_config(const struct relay *r);

/** The address of a relay of DHCPv4, in host byte order. */
uint32_t relay_giaddr(const struct relay *r);

/** Send n bytes to whom the configuration says. */
void relay_send(struct relay *r, const uint8_t *message, size_t n);

/** Send them to the server of this address alone, if there is one; else as relay_send(). */
void relay_send_to(struct relay *r, uint32_t address, const uint8_t *message, size_t n);

#endif
