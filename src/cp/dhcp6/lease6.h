/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a lease of IPv6. As with IPv4 (lease.h) a client is told what the store has committed
 * and the user plane forwards for, and a block is free again when neither has it.
 */
#ifndef CP_DHCP6_LEASE6_H
#define CP_DHCP6_LEASE6_H

#include "cp/cp.h"
#include "cp/dhcp6/pool6.h"
#include "cp/dhcp6/session6.h"

/** Open the pools, and read or make the server's DUID. Returns 0 or -errno; the reason is in the
 * log. */
int leases6_open(struct cp *cp);
void leases6_close(struct cp *cp);

/** The pool of IPv6 of a line, which has one, and its configuration. */
static inline struct pools6 *pools6_of(const struct cp *cp, const struct session *s)
{
    return &cp->pools6[s->access->pool6];
}
static inline const struct cp_pool6 *pool6_config(const struct cp *cp, const struct session *s)
{
    return &cp->config->pools6.pool[s->access->pool6];
}

/** Keep for a client what its identity associations ask for: that which RADIUS says, else what the
 * line had last, else what it asks for, else any. What there is none of is not kept. Returns false
 * without memory. */
bool lease6_offer(struct cp *cp, struct session *s, const struct request6 *r);

/** Keep what was offered no longer. */
void lease6_withdraw(struct cp *cp, struct session *s);

/** Give the client an address or a prefix which is kept for it or which it has, or both, for the
 * lease time from now on, and leave the other as it is; the request is answered when that is so.
 * na and pd: identity associations of the request, or NULL. */
void lease6_grant(struct cp *cp, struct session *s, const struct request6 *r,
                  const struct dhcp6_ia *na, const struct dhcp6_ia *pd);

/** A server behind this gateway is asked, for offer_time at most. */
void lease6_ask(struct cp *cp, struct session *s, const uint8_t mac[6]);

/** Keep an address (NULL: none) and a delegated prefix (NULL: none) that such a server says, beside
 * what the line has. Returns false where one of them is not free, or another is still ending, or
 * without memory. */
bool lease6_take_said(struct cp *cp, struct session *s, const uint8_t mac[6],
                      const struct ipv6 *address, const uint64_t *delegated);

/** The session whose address, by IA_NA, such a server has given; NULL: nobody's. */
struct session *lease6_host(const struct cp *cp, struct ipv6 address);

/** What lease6_grant() does for a client of this name, for so many seconds; what it is told then is
 * the relay's. */
void lease6_hold(struct cp *cp, struct session *s, const struct dhcp6_duid *client,
                 const struct dhcp6_ia *na, const struct dhcp6_ia *pd, uint32_t lease);

/** A session's lease as a text for the store, to be freed; NULL: it has none. */
char *lease6_text(const struct session *s);

/** Take an address or a prefix of a lease back, or both, for the client gives it back. */
void lease6_give_back(struct cp *cp, struct session *s, bool na, bool pd, enum radius_cause cause,
                      const char *why);

/** Offer another address next time, for the client has found this one in use: unless RADIUS says
 * this one. */
void lease6_decline(struct session *s);

/* --- parts of what lease.h says of all of a session --- */

/** End what there is, with the session: what was only offered is free at once. */
void lease6_end(struct cp *cp, struct session *s);

/** Leave the request that waits, if there is one, unanswered: the client asks again. */
void lease6_forget_request(struct session *s);

/** The user plane has all of the session, as it is. */
void lease6_in_userplane(struct cp *cp, struct session *s);

/** It has nothing of it any more. */
void lease6_gone(struct cp *cp, struct session *s);

/** Take a lease from the store. Returns false where it is none, or nothing of it is free. */
bool lease6_load(struct cp *cp, struct session *s, const uint8_t mac[6], const char *text);

#endif
