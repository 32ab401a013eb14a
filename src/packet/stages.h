/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst that goes through stages, each of which prefetches what the next one reads. The stages
 * take turns, step packets at a time, so that the last one computes while memory answers the
 * others:
 *
 *   const uint32_t step = stage_step(n);
 *
 *   for (at = 0; at < n + 2 * step; at += step) {
 *       first(part_of(step, n, at, 0));
 *       second(part_of(step, n, at, step));
 *       third(part_of(step, n, at, 2 * step));
 *   }
 *
 * Or one packet at a time, each stage a step behind the one before, where many lines are fetched
 * for a packet: then they are asked for evenly, and a processor that drops some drops fewer.
 *
 * Who looks at frames first fetches mbufs and frames STAGE_FRAMES steps ahead.
 */
#ifndef PACKET_STAGES_H
#define PACKET_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "base/cpu/prefetch.h"

#define STAGE_FRAMES 2u

/** Packets between two stages of a burst of n packets: as many as suit this processor, but no more
 * than there are, as a short burst would take turns in vain. */
static inline uint32_t stage_step(uint32_t n)
{
    return RTE_MIN(prefetch_step, n);
}

/** Are stages so far apart that a whole step of packets had better go through a stage at once? */
static inline bool stage_is_far(uint32_t step)
{
    return step > PREFETCH_NEAR;
}

/** A part of a burst: packets from (inside) to (outside). */
struct part {
    uint32_t from, to;
};

/** The frames that are fetched before the first part of a burst of n packets. */
static inline struct part part_near(uint32_t step, uint32_t n)
{
    return (struct part){0, RTE_MIN(n, STAGE_FRAMES * step)};
}

/** The part for a stage that is late packets, a multiple of the step, behind the first stage, which
 * is at packet at, in a burst of n packets. */
static inline struct part part_of(uint32_t step, uint32_t n, uint32_t at, uint32_t late)
{
    if (at < late || at - late >= n)
        return (struct part){0, 0};
    return (struct part){at - late, RTE_MIN(at - late + step, n)};
}

/** How many packets have been through a stage that is late packets behind one, which so many have
 * been through. */
static inline uint32_t stage_behind(uint32_t begun, uint32_t late)
{
    return begun > late ? begun - late : 0;
}

#endif
