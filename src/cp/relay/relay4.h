/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay of DHCPv4 (RFC 1542, 3046): a line whose pool names a relay gets what servers behind
 * this gateway say. Its client sees one server, the gateway, as with pools: the server's identifier
 * is replaced in both directions (RFC 5107 section 1), so that renewals come here, too. The session
 * follows the server's answers, of which the client is told what the store has and the user plane
 * forwards for.
 */
#ifndef CP_RELAY_RELAY4_H
#define CP_RELAY_RELAY4_H

#include "cp/cp.h"
#include "cp/packet/dhcp4.h"
#include "cp/relay/servers.h"

/** Do servers behind this gateway give this line its address of IPv4? */
static inline bool relay4_serves(const struct cp *cp, const struct session *s)
{
    return s->access->pool != CP_NO_POOL && pool_config(cp, s)->relay != CP_NO_RELAY;
}

/** The relay of such a line. */
static inline struct relay *relay4_of(const struct cp *cp, const struct session *s)
{
    return relay_at(cp->relays, pool_config(cp, s)->relay);
}

/** Write a server's message of n bytes as the client is told it. lease: seconds; 0: as it is.
 * Returns its length, or 0 where it does not fit. */
size_t relay4_write(const struct cp *cp, const struct session *s, const uint8_t *message, size_t n,
                    uint32_t lease, uint8_t to[RELAY_MESSAGE]);

/** Take a client's message of n bytes, which was read as q, for relay4_forward(). unicast: it was
 * sent to the gateway. Returns NULL, or why it is ignored. */
const char *relay4_take(struct cp *cp, struct session *s, const struct dhcp4 *q,
                        const uint8_t *message, size_t n, bool unicast);

/** Send it to the servers. */
void relay4_forward(struct cp *cp, struct session *s);

/** The client declines its address: the server is to know. */
void relay4_decline(struct cp *cp, struct session *s);

/** Take a message of n bytes from a server, which has this address. */
void relay4_reply(struct cp *cp, struct relay *relay, uint32_t from, const uint8_t *message,
                  size_t n);

/** Pass the ACK on that waits for the store and the user plane, if there is one. */
void relay4_acknowledge(struct cp *cp, struct session *s);

/** Pass it on no more. */
void relay4_forget(struct session *s);

/** Wait no longer for the answer to what was sent, if anything was: the line has no lease, and
 * what comes late would begin one. */
void relay4_cancel(struct session *s);

/** The user plane has the address no more: it is given back to the server whose lease still runs.
 */
void relay4_gone(struct cp *cp, struct session *s);

/** What the store is to keep, as a text to be freed, or NULL: nothing. */
char *relay4_text(const struct session *s);

/** Take such a text up again. */
void relay4_resume(struct session *s, const char *text);

void relay4_free(struct session *s);

#endif
