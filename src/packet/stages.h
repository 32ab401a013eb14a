/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst that goes through stages, each of which prefetches what the next one reads. The stages
 * take turns, STAGE_STEP packets at a time, so that the last one computes while memory answers the
 * others:
 *
 *   for (at = 0; at < n + 2 * STAGE_STEP; at += STAGE_STEP) {
 *       first(part_of(n, at, 0));
 *       second(part_of(n, at, STAGE_STEP));
 *       third(part_of(n, at, 2 * STAGE_STEP));
 *   }
 *
 * Or one packet at a time, each stage STAGE_STEP packets behind the one before, where many lines
 * are fetched for a packet: then they are asked for evenly, and the processor drops fewer.
 */
#ifndef PACKET_STAGES_H
#define PACKET_STAGES_H

#include <stdint.h>

#include <rte_common.h>

#define STAGE_STEP 4u

/**
 * Who looks at frames first fetches mbufs and frames so many packets ahead, a part at a time. No
 * more: of the lines of a whole burst in a row the processor drops some, and a reader of those
 * waits for memory (doc/bench.md).
 */
#define STAGE_NEAR (2 * STAGE_STEP)

/** A part of a burst: packets from (inside) to (outside). */
struct part {
    uint32_t from, to;
};

/** What is fetched before the first part of a burst of n packets. */
static inline struct part part_near(uint32_t n)
{
    return (struct part){0, RTE_MIN(n, STAGE_NEAR)};
}

/** The part for a stage that is late packets behind the first stage, which is at packet at, in a
 * burst of n packets. */
static inline struct part part_of(uint32_t n, uint32_t at, uint32_t late)
{
    if (at < late || at - late >= n)
        return (struct part){0, 0};
    return (struct part){at - late, RTE_MIN(at - late + STAGE_STEP, n)};
}

#endif
