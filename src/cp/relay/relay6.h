/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay of DHCPv6 (RFC 8415 section 19): a line whose pool6 names a relay gets what servers
 * behind this gateway say, with the line in options 18 and 37. The session follows their REPLYs, of
 * which the client is told what the store has and the user plane forwards for.
 */
#ifndef CP_RELAY_RELAY6_H
#define CP_RELAY_RELAY6_H

#include "cp/dhcp6/lease6.h"
#include "cp/relay/state4.h"

struct relay;

/** What a line's relay of DHCPv6 has to keep. */
struct relay6 {
    /* The message of the client that was taken last. */
    uint8_t type; /* enum dhcp6_type; 0: it is answered */
    uint8_t mac[6];
    uint32_t xid;
    struct ipv6 from;
    struct dhcp6_duid client;
    struct octets *message; /* all of it, until it is sent, or NULL */
    struct octets *reply;   /* the REPLY to it, as the client is told it, or NULL */
    /* Of the server that has given the lease. */
    struct dhcp6_duid server; /* n 0: nothing is to be given back */
};

/** Do servers behind this gateway give this line what it has of IPv6? */
static inline bool relay6_serves(const struct cp *cp, const struct session *s)
{
    return s->access->pool6 != CP_NO_POOL && pool6_config(cp, s)->relay != CP_NO_RELAY;
}

/** Take a client's message of n bytes, which was read as r, for relay6_forward(). Returns NULL, or
 * why it is ignored. */
const char *relay6_take(struct session *s, const struct request6 *r, const uint8_t *message,
                        size_t n);

/** Send it to the servers. */
void relay6_forward(struct cp *cp, struct session *s);

/** Send it, by which the client gives an address or a prefix back, or both, or has given neither.
 */
void relay6_give_back(struct cp *cp, struct session *s, bool na, bool pd);

/** Take a message of n bytes from a server. */
void relay6_reply(struct cp *cp, struct relay *relay, const uint8_t *message, size_t n);

/** Pass the REPLY on that waits for the store and the user plane, if there is one. */
void relay6_acknowledge(struct cp *cp, struct session *s);

/** Pass it on no more. */
void relay6_forget(struct session *s);

/** The user plane has nothing of the lease any more: what still runs is given back to the server.
 */
void relay6_gone(struct cp *cp, struct session *s);

/** Know the server of a lease again, by its DUID as the store has it. */
void relay6_resume(struct session *s, const struct dhcp6_duid *server);

void relay6_free(struct session *s);

#endif
