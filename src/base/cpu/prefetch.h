/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far ahead a loop over a burst prefetches. Lines that are prefetched in a row come from memory
 * side by side, so that the further ahead they are, the less a loop waits for them. But some
 * processors drop prefetches when many lines are under way, and whoever reads a dropped line waits
 * for memory's whole time (doc/bench.md). Which is better is measured.
 */
#ifndef BASE_CPU_PREFETCH_H
#define BASE_CPU_PREFETCH_H

#include <stdint.h>

#define PREFETCH_NEAR 4u
#define PREFETCH_FAR  32u

/** Packets between two stages that a burst goes through (packet/stages.h), PREFETCH_NEAR until it
 * is set, by one thread before any goes through stages. */
extern uint32_t prefetch_step;

#define PREFETCH_LINES   3u  /* of a packet: two at once, and one which those lead to */
#define PREFETCH_PACKETS 64u /* of a burst */

/**
 * Measure the cycles of bursts whose lines are prefetched as with PREFETCH_FAR, as a ratio to those
 * with PREFETCH_NEAR: each the median of half of the bursts. line: PREFETCH_LINES of each packet,
 * in no cache, if the pool is larger than those are. Some 10 us a burst. Returns 0 where it cannot
 * be told: with fewer than two bursts, or not on x86-64.
 */
double prefetch_ratio(const uint8_t *const *line, unsigned n_bursts);

/** The step for such a ratio: PREFETCH_FAR where that is faster by more than a measurement's error,
 * else PREFETCH_NEAR. */
uint32_t prefetch_step_for(double ratio);

#endif
