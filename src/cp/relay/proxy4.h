/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proxy of DHCPv4: a relay with a client_lease. The client has short leases of the gateway,
 * which answers renewals itself. The gateway holds the server's long lease and renews that lease as
 * long as the client renews.
 */
#ifndef CP_RELAY_PROXY4_H
#define CP_RELAY_PROXY4_H

#include "cp/cp.h"
#include "cp/packet/dhcp4.h"

/** The lease that a line's client is told, of the server's of so many seconds. */
uint32_t proxy4_lease(const struct cp *cp, const struct session *s, uint32_t seconds);

/** Keep the ACK of n bytes with which a server has given a lease of so many seconds. */
void proxy4_keep(struct cp *cp, struct session *s, uint32_t seconds, const uint8_t *message,
                 size_t n);

/** Answer the client's message that relay4_take() has taken. Returns false where it is to be
 * relayed: it does not renew the lease, or this gateway does not know what to say. */
bool proxy4_answer(struct cp *cp, struct session *s);

/** Take a server's answer to what this gateway has said for a line's client. Returns false where it
 * is none. */
bool proxy4_reply(struct cp *cp, struct session *s, const struct dhcp4 *a, uint32_t from,
                  const uint8_t *message, size_t n);

#endif
