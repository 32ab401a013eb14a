/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a session: who has which addresses for how long; of IPv6, see dhcp6/lease6.h. A
 * client is told that it has an address when the store has committed that and the user plane
 * forwards for it; an address is free again when the store has forgotten it and the user plane
 * forwards no more. What a turn of the loop gathers is one transaction, and one request to the user
 * plane.
 */
#ifndef CP_LEASE_H
#define CP_LEASE_H

#include "cp/cp.h"
#include "cp/packet/dhcp4.h"
#include "cp/store.h"

/** Open the pools, and take what the store has. Returns 0 or -errno; the reason is in the log. */
int leases_open(struct cp *cp);
void leases_close(struct cp *cp);

/** Forget all timers. */
void lease_close_timers(struct cp *cp);

/** Keep an address for a client: that which RADIUS says, else that which the line had last, else
 * the one that it asks for (0: none), else any. Returns false where the pool has none. */
bool lease_offer(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t wanted);

/** Keep this very address for a client. Returns false where it is not free. */
bool lease_take(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t address);

/** A server behind this gateway is asked for an address, for offer_time at most. */
void lease_ask(struct cp *cp, struct session *s, const uint8_t mac[6]);

/** Keep the address that such a server says, instead of any that is kept. Returns false where it is
 * not free, or the line has a lease. */
bool lease_take_said(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t address);

/** Keep the address that was offered no longer, and ask for none. */
void lease_withdraw(struct cp *cp, struct session *s);

/** Keep nothing that was offered any longer, of either family. */
void lease_withdraw_all(struct cp *cp, struct session *s);

/** Give the client the address that is kept for it, or that it has, for the lease time from now on;
 * the request is acknowledged when that is so. */
void lease_grant(struct cp *cp, struct session *s, const struct dhcp4 *request);

/** The same for so many seconds; what the client is told then is the relay's. */
void lease_extend(struct cp *cp, struct session *s, uint32_t lease);

/** Take the lease of a row of the store up again, until it ends. Returns false where there is none,
 * or its address is not free. */
bool lease_resume(struct cp *cp, struct session *s, const struct store_session *row);

/** Something of a session that is up has changed: the store is to have it. */
void lease_changed(struct cp *cp, struct session *s);

/** The same of something that session_entry() tells the user plane. lease_in_userplane() follows
 * when it has that, too. */
void lease_subscriber_changed(struct cp *cp, struct session *s);

/** End the lease of IPv4, and the session, for the cause, where it has no other. */
void lease_give_back(struct cp *cp, struct session *s, enum radius_cause cause, const char *why);

/** The state of a session that is not ending follows from its leases. */
void lease_settle(struct cp *cp, struct session *s);

/** End a session that is starting or up, and all of its leases, for a cause (RFC 2866 section 5.10)
 * and a reason in words. */
void lease_end_for(struct cp *cp, struct session *s, enum radius_cause cause, const char *why);

/** The end of a turn: commit, acknowledge, and tell the user plane. Returns whether RADIUS has
 * something to send. */
bool leases_end_turn(struct cp *cp);

/* --- what the user plane says --- */

/** What the store has of a session and what the user plane has decide what comes next; nothing
 * while the end of a turn or an answer of the user plane is still to come. */
void lease_go_on(struct cp *cp, struct session *s);

/** It has the subscriber of a session, as he is to be. */
void lease_in_userplane(struct cp *cp, struct session *s);

/** It does not take him. */
void lease_refused(struct cp *cp, struct session *s, const char *why);

/** It has him no more. */
void lease_gone(struct cp *cp, struct session *s);

#endif
