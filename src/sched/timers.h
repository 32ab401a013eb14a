/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timing wheel of buckets that lack credit. A slot stands for 2^13 TSC cycles (3 us at 2.6 GHz)
 * and holds nodes in lists, linked through their buckets. The lists take turns: a bucket is in no
 * cache when its time comes, and the next of its list is known no sooner, but those of the other
 * lists are. A node is owner * 16 + class, or + 13 for the owner's own bucket. A time beyond one
 * round of the wheel (26 ms) goes into the last slot: the owner is woken too early, lacks credit
 * still, and is added again.
 */
#ifndef SCHED_TIMERS_H
#define SCHED_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#define TIMERS_SHIFT 13
#define TIMERS_SLOTS 8192u
#define TIMERS_LISTS 8u /* of a slot; a power of two */
#define TIMERS_NONE  UINT32_MAX

/** Zero-initialise it but for at and slot: each list is TIMERS_NONE. */
struct timers {
    uint64_t at;      /* number of the slot that is emptied next: its low bits are its place */
    uint64_t pending; /* nodes in all slots */
    uint32_t slot[TIMERS_SLOTS][TIMERS_LISTS]; /* first node of each list, or TIMERS_NONE */
};

/** The lists of the slot of a number (TSC >> TIMERS_SHIFT). */
static inline uint32_t *timers_slot(struct timers *t, uint64_t number)
{
    return t->slot[number % TIMERS_SLOTS];
}

/** Does a slot hold no node? */
static inline bool timers_is_empty(const uint32_t *slot)
{
    uint32_t all = TIMERS_NONE;

    for (unsigned i = 0; i < TIMERS_LISTS; i++)
        all &= slot[i];
    return all == TIMERS_NONE;
}

/** Have a node woken at a TSC or up to a slot later; next is where its bucket keeps the link. */
static inline void timers_add(struct timers *t, uint64_t tsc, uint32_t node, uint32_t *next)
{
    uint64_t number = (tsc >> TIMERS_SHIFT) + 1;
    uint32_t *list;

    if (number < t->at)
        number = t->at;
    if (number > t->at + TIMERS_SLOTS - 1)
        number = t->at + TIMERS_SLOTS - 1;
    list = &timers_slot(t, number)[t->pending++ % TIMERS_LISTS];
    *next = *list;
    *list = node;
}

#endif
