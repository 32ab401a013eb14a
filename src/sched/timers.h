/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timing wheel of buckets that lack credit: slots of 2^13 TSC cycles (3 us at 2.6 GHz), linked
 * through the buckets. A time beyond the wheel's round (26 ms) waits in its last slot, and the one
 * who is woken looks again. A node is owner * 16 + class, or + 13 for the owner's own bucket.
 */
#ifndef SCHED_TIMERS_H
#define SCHED_TIMERS_H

#include <stdint.h>

#define TIMERS_SHIFT 13
#define TIMERS_SLOTS 8192u
#define TIMERS_NONE  UINT32_MAX

struct timers {
    uint64_t at;      /* number of the slot that is emptied next; its low bits are its place */
    uint64_t pending; /* nodes */
    uint32_t slot[TIMERS_SLOTS]; /* first node */
};

static inline uint32_t *timers_slot(struct timers *t, uint64_t number)
{
    return &t->slot[number % TIMERS_SLOTS];
}

/** Wake a node at a TSC or up to a slot later; next is where it keeps its link. */
static inline void timers_add(struct timers *t, uint64_t tsc, uint32_t node, uint32_t *next)
{
    uint64_t number = (tsc >> TIMERS_SHIFT) + 1;
    uint32_t *slot;

    if (number < t->at)
        number = t->at;
    if (number > t->at + TIMERS_SLOTS - 1)
        number = t->at + TIMERS_SLOTS - 1;
    slot = timers_slot(t, number);
    *next = *slot;
    *slot = node;
    t->pending++;
}

#endif
