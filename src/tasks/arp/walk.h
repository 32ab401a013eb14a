/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks round a table, at a pace that spreads its entries over an interval, however many they are.
 */
#ifndef TASKS_ARP_WALK_H
#define TASKS_ARP_WALK_H

#include <stdint.h>

#include <rte_common.h>

#define ARP_WALK_SHIFT 16 /* fraction bits of due and add */

struct arp_walk {
    uint64_t due, add; /* entries to look at now, and more with each tick; add 0: the walk rests */
    uint32_t at;       /* the next entry, from 0 on */
};

/** Look at all entries once in so many ticks, at least one. */
static inline void arp_walk_pace(struct arp_walk *w, uint64_t entries, uint64_t ticks)
{
    w->add = (entries << ARP_WALK_SHIFT) / ticks + 1;
}

static inline void arp_walk_tick(struct arp_walk *w, uint64_t ticks)
{
    w->due += ticks * w->add;
}

/** Entries to look at now, at most most. What is due beyond one round is forgotten. */
static inline uint32_t arp_walk_due(struct arp_walk *w, uint64_t entries, uint32_t most)
{
    w->due = RTE_MIN(w->due, entries << ARP_WALK_SHIFT);
    return (uint32_t)RTE_MIN(w->due >> ARP_WALK_SHIFT, (uint64_t)most);
}

/** The entry to look at, one of those that are due. */
static inline uint32_t arp_walk_next(struct arp_walk *w, uint64_t entries)
{
    uint32_t i = w->at;

    w->due -= UINT64_C(1) << ARP_WALK_SHIFT;
    w->at = i + 1 < entries ? i + 1 : 0;
    return i;
}

#endif
