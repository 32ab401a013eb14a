/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proxy of DHCPv6: a relay with a client_lease. The client has short leases, which the gateway
 * renews in the server's name. The gateway holds the server's long lease and renews that lease in
 * the client's name as long as the client renews.
 */
#ifndef CP_RELAY_PROXY6_H
#define CP_RELAY_PROXY6_H

#include "cp/relay/given6.h"

struct proxy6;

/** The longest lifetime that a line's client is told, in seconds; UINT32_MAX: any. */
uint32_t proxy6_most(const struct cp *cp, const struct session *s);

/** Keep what a REPLY of n bytes gives a line, where it is one of a proxy. */
void proxy6_keep(struct cp *cp, struct session *s, const struct given6 *g, const uint8_t *message,
                 size_t n);

/** Answer the client's message that relay6_take() has taken. Returns false where it is to be
 * relayed: it does not renew the lease, or this gateway does not know what to say. */
bool proxy6_answer(struct cp *cp, struct session *s, const struct request6 *q);

/** Take a server's answer to what this gateway has said for a line's client. Returns false where it
 * is none. */
bool proxy6_reply(struct cp *cp, struct session *s, const struct dhcp6 *a, struct ipv6 peer,
                  const uint8_t *message, size_t n);

/** Forget what is kept; NULL: there is nothing. */
void proxy6_free(struct proxy6 *p);

#endif
