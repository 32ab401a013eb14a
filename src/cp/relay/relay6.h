/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay of DHCPv6 (RFC 8415 section 19): a line whose pool6 names a relay gets what servers
 * behind this gateway say, with the line in options 18 and 37. The session follows their REPLYs, of
 * which the client is told what the store has and the user plane forwards for.
 */
#ifndef CP_RELAY_RELAY6_H
#define CP_RELAY_RELAY6_H

#include "cp/dhcp6/lease6.h"
#include "cp/relay/servers.h"
#include "cp/relay/state4.h"

struct given6;

/** A message of a host for the servers. */
struct relay6_asked {
    uint8_t type; /* enum dhcp6_type; 0: it is answered */
    uint8_t mac[6];
    uint32_t xid;
    struct ipv6 from;
    struct dhcp6_duid client;
    struct octets *named;   /* the DUID of the server that it is for, or NULL: all */
    struct octets *message; /* all of it, until it is sent, or NULL */
};

/** What a line's relay of DHCPv6 has to keep. */
struct relay6 {
    struct relay6_asked *inform; /* the INFORMATION-REQUEST that was taken last, or NULL: it is
                                    answered */
    struct relay6_asked asked;   /* the other message that was */
    bool rapid;                  /* that may be answered by a lease at once */
    struct ia6 na, pd;           /* held: it asks for one, by this identity association */
    struct octets *reply;        /* the REPLY to it, as the client is told it, or NULL */
    /* Of the lease. */
    bool owes_na, owes_pd; /* the server is to be told when the line has it no more */
    bool declines;         /* of the address, because the client has found it in use elsewhere */
    struct session6_giver giver;
    struct proxy6 *proxy; /* what a proxy has to know of it, or NULL: it relays */
};

/** Do relayed servers give this line IPv6 addresses and prefixes? */
static inline bool relay6_serves(const struct cp *cp, const struct session *s)
{
    return s->access->pool6 != CP_NO_POOL && pool6_config(cp, s)->relay != CP_NO_RELAY;
}

/** The relay of such a line. */
static inline struct relay *relay6_of(const struct cp *cp, const struct session *s)
{
    return relay_at(cp->relays, pool6_config(cp, s)->relay);
}

/** Take a client's message of n bytes, which was read as r, for relay6_forward(). Returns NULL, or
 * why it is ignored. */
const char *relay6_take(struct session *s, const struct request6 *r, const uint8_t *message,
                        size_t n);

/** Send it to the servers. */
void relay6_forward(struct cp *cp, struct session *s);

/** Send an INFORMATION-REQUEST to them. Whatever else the line waits for, it goes on waiting for.
 */
void relay6_inform(struct cp *cp, struct session *s);

/** Wait no longer for the answer to what was sent, if anything was: the line has no lease, and
 * what comes late would begin one. */
void relay6_cancel(struct session *s);

/** The client declines its address: the server is to know, when the user plane has it no more. */
void relay6_decline(struct session *s);

/** Take a message of n bytes from the server of this index. */
void relay6_reply(struct cp *cp, struct relay *relay, unsigned index, const uint8_t *message,
                  size_t n);

/** Say something of the lease in the client's name: of its address, its prefix, or both. A REBIND
 * is for all servers, all else for the one of the lease. Returns its transaction, or 0: none was
 * made.
 */
uint32_t relay6_say(struct cp *cp, struct session *s, uint8_t type, bool na, bool pd);

/** A server has given a line this. */
void relay6_hold(struct session *s, const struct dhcp6 *a, const struct given6 *g);

/** Pass the REPLY on that waits for the store and the user plane, if there is one. */
void relay6_acknowledge(struct cp *cp, struct session *s);

/** Pass it on no more. */
void relay6_forget(struct session *s);

/** The user plane has the address or the prefix of the lease no more, or both: what still runs is
 * given back to the server, in the client's name. */
void relay6_gone(struct cp *cp, struct session *s, bool na, bool pd);

/** Know the server of a lease again, as the store has it. */
void relay6_resume(struct session *s, const struct session6_giver *giver);

void relay6_free(struct session *s);

#endif
