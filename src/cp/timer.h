/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers, each a member of what it belongs to, in a binary heap: setting one and the next to fire
 * cost log2(n). */
#ifndef CP_TIMER_H
#define CP_TIMER_H

#include <stddef.h>
#include <stdint.h>

struct timer {
    uint64_t at;    /* ns of CLOCK_MONOTONIC */
    uint32_t place; /* in the heap, from 1; 0: it does not run */
    void (*fire)(struct timer *t, void *ctx);
};

/** Begins as zeros; ctx is given to those that fire. */
struct timers {
    struct timer **heap;
    uint32_t n, room;
    void *ctx;
};

/** Let a timer fire at a time, instead of any that it had. Its fire() is set. Aborts without
 * memory. */
void timer_set(struct timers *ts, struct timer *t, uint64_t at);

/** Let a timer not fire. */
void timer_stop(struct timers *ts, struct timer *t);

/** When the next timer fires, or UINT64_MAX. */
uint64_t timers_next(const struct timers *ts);

/** Fire all whose time has come. A timer that fires does not run any more, and may be set again. */
void timers_fire(struct timers *ts, uint64_t now);

void timers_free(struct timers *ts);

#endif
