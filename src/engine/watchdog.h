/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watchdog: notices a core that makes no rounds, says which one, which tasks it runs, in whose
 * hands packets are and what its thread does instead, and counts how long. Costs the cores nothing:
 * they count their rounds anyway, and the main thread compares.
 */
#ifndef ENGINE_WATCHDOG_H
#define ENGINE_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#define WATCHDOG_STALL_NS 500000000u /* without a round: a core has stalled */

struct engine;

/** What is known of a core. Of the main thread, but for stalls and stalled_ns, which others read
 * with relaxed loads. */
struct watchdog {
    uint64_t rounds;   /* of the core, when it was last seen to move */
    uint64_t moved_ns; /* CLOCK_MONOTONIC then */
    uint64_t cpu_ns;   /* CPU time of its thread then */
    uint64_t counted;  /* of its present stall, ns; 0: it has not stalled */
    uint64_t say_ns;   /* length of its present stall when the next line is due */
    bool said;         /* there was one */

    uint64_t stalls;     /* since the start */
    uint64_t stalled_ns; /* in all of them; grows during a stall */
};

/** Look at all cores that run, once or more often in 20 ms or so. A stall is told on stderr when it
 * has lasted for 0.5 s, 1 s, 2 s, 4 s ..., and when it is over. Not where cores share CPUs and one
 * waits for its turn: that is only counted. */
void watchdog_look(struct engine *e);

#endif
