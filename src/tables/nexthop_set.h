/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops among which a route shares its flows, in one cache line. Each next hop draws a number
 * for each flow, from the flow and a seed of its own, and the highest wins (RFC 2991 section 3,
 * highest random weight). So a next hop that comes or goes moves only the flows that it gets or
 * had: one of n of them, where thresholds in a range (RFC 2992) would move up to half. The draw is
 * computed for all 16 places, as vectors; a free place repeats the first next hop, which therefore
 * gets no larger share. Where a flow goes depends on the next hops alone, and not on their order or
 * on the past.
 */
#ifndef TABLES_NEXTHOP_SET_H
#define TABLES_NEXTHOP_SET_H

#include <assert.h>
#include <stdint.h>

#include <rte_common.h>

#include "tables/nexthop.h"

#define NEXTHOP_SET_MOST 16u

struct nexthop_set {
    uint16_t seed[NEXTHOP_SET_MOST];
    uint16_t id[NEXTHOP_SET_MOST]; /* of next hops; in free places the first one's */
} __rte_cache_aligned;

static_assert(sizeof(struct nexthop_set) == 64, "one cache line per set");
static_assert((NEXTHOP_SET_MOST & (NEXTHOP_SET_MOST - 1)) == 0, "a place is some low bits");

/** Fill a set with n (2..NEXTHOP_SET_MOST) different next hops by their ids in a table; via[] is
 * parallel to it: the addresses of their neighbours, or ::. */
void nexthop_set_init(struct nexthop_set *set, const struct nexthop *table, const struct ipv6 *via,
                      const uint32_t *id, uint32_t n);

/** The number of next hops in a set. */
static inline uint32_t nexthop_set_size(const struct nexthop_set *set)
{
    uint32_t n = 1;

    while (n < NEXTHOP_SET_MOST && set->id[n] != set->id[0])
        n++;
    return n;
}

/** The weight of a next hop's seed for a flow (its low bits are free for the place). */
static inline uint32_t nexthop_set_draw(uint16_t seed, uint32_t flow)
{
    uint32_t x = (flow ^ (seed * UINT32_C(0x10001))) * UINT32_C(0x7feb352d);

    x = (x ^ x >> 15) * UINT32_C(0x846ca68b);
    return x & ~(NEXTHOP_SET_MOST - 1);
}

/** The id of the next hop of a flow, which any 32 bits may name. */
static inline uint32_t nexthop_set_pick(const struct nexthop_set *set, uint32_t flow)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < NEXTHOP_SET_MOST; i++) {
        uint32_t drawn = nexthop_set_draw(set->seed[i], flow) | i;

        best = RTE_MAX(best, drawn);
    }
    return set->id[best & (NEXTHOP_SET_MOST - 1)];
}

/** The id that nexthop_set_pick() would return if only next hops with a known MAC were in the set;
 * 0: there is none. */
uint32_t nexthop_set_pick_known(const struct nexthop_set *set, const struct nexthop *table,
                                uint32_t flow);

#endif
