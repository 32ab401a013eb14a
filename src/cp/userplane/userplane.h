/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client of vbng's control socket (doc/control.md). Subscribers are put and removed in lists:
 * one request is under way, and what is to be done meanwhile is the next one's. After each connect
 * both sides are compared, the store being right; so either may have been stopped or killed. What a
 * subscriber is to be stands in entry.h.
 */
#ifndef CP_USERPLANE_USERPLANE_H
#define CP_USERPLANE_USERPLANE_H

#include "cp/cp.h"

struct userplane;

/** Connect, now or as soon as there is somebody. Returns NULL without memory. */
struct userplane *userplane_open(struct cp *cp);
void userplane_close(struct userplane *u);

/** Have the subscriber of a session as session_entry() says, when he is new and whenever that has
 * changed. lease_in_userplane() or lease_refused() follows, once for all changes of meanwhile. */
void userplane_put(struct userplane *u, struct session *s);

/** Have the subscriber of a session, which is ending, removed. lease_gone() follows. */
void userplane_remove(struct userplane *u, struct session *s);

/** Have a session's subscriber get another profile. done is called once, with the reason where the
 * user plane does not do it. */
void userplane_set_profile(struct userplane *u, struct session *s, const char *profile,
                           void (*done)(void *ctx, struct session *s, const char *error),
                           void *ctx);

/** Have the counters of all sessions read. acct_count() follows for each. */
void userplane_count(struct userplane *u);

/** Send a request, if none is under way and there is something to do. */
void userplane_flush(struct userplane *u);

#endif
