/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles of subscribers, rates of subports and DSCP maps are changed while traffic flows, by the
 * requests of rates.c; everything is checked before anything is changed. And core calls that do
 * much work, a little at a time.
 */
#ifndef CONTROL_RATES_H
#define CONTROL_RATES_H

#include "config/read.h"
#include "control/control.h"

struct profile_change {
    uint32_t subscriber; /* id, from 1 */
    uint32_t profile;    /* index in qos.profiles[] */
};

/**
 * Give n subscribers other profiles, in all directions in which they are shaped. Each must be
 * shaped, by schedulers that can do what the profile says. All packets of one direction of a
 * subscriber see the change at once; the list takes its time. Returns 0, or -ETIMEDOUT: a core did
 * not answer, and the rest of the list was not changed.
 */
int change_profiles(struct control *c, const struct profile_change *list, uint32_t n,
                    struct refusal *why);

/** Can all qos tasks that run a scheduler do what a profile (index) says? */
bool profile_fits(const struct control *c, const struct cfg_scheduler *shape, uint32_t profile);

/** profile_fits(); reports at loc what the qos tasks cannot do. */
bool check_fit(const struct control *c, struct loader *l, struct loc loc,
               const struct cfg_scheduler *shape, uint32_t profile);

/**
 * Call one(t, i, ctx) for i in 0..n-1 on the core of a task instance, in core calls that end 30 us
 * after their begin, when the one() under way has returned; between two of them the core does its
 * rounds for about ten times as long. Without running cores all is done at once. The first error
 * ends it. Returns 0, that error, or -ETIMEDOUT when the core does not answer. *done (may be NULL)
 * is the number of calls that returned 0.
 */
int core_call_each(struct engine *e, unsigned instance, uint32_t n,
                   int (*one)(struct task *t, uint32_t i, void *ctx), void *ctx, uint32_t *done);

/** A change of a task of which its core can be told, without waiting for it. */
struct news {
    /** Tell of number i. Returns false where there is no room for more. */
    bool (*tell)(const struct task *t, uint32_t i, void *ctx);
    /** The same by a core call, which takes all that was told before. */
    int (*call)(struct task *t, uint32_t i, void *ctx);
};

/** Tell the core of a task instance of 0..n-1 while there is room; the rest is done by
 * core_call_each(), and all of it without running cores. Returns 0 or what core_call_each() does.
 */
int core_tell_each(struct engine *e, unsigned instance, uint32_t n, const struct news *news,
                   void *ctx);

#endif
