/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings to the operator while the gateway runs. The watchdog reports a core that makes no
 * rounds: its tasks, the task that has packets in hand, and the state of its thread. The health
 * check reports a pool that runs out of mbufs, a device that fails to send and a link that goes
 * down. Both compare counters that exist anyway, so they cost the cores nothing. All functions
 * belong to the main thread.
 */
#ifndef ENGINE_WATCH_H
#define ENGINE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

#define WATCHDOG_STALL_NS 500000000u /* time without a round after which a core has stalled */

struct engine;

/** The watchdog's state of a core. Other threads may read stalls and stalled_ns, with relaxed
 * loads. */
struct watchdog {
    uint64_t rounds;    /* of the core, at the last look that found new rounds */
    uint64_t moved_ns;  /* CLOCK_MONOTONIC of that look; 0: there was none */
    uint64_t cpu_ns;    /* CPU time of the core's thread at that look */
    uint64_t counted;   /* length of the present stall, ns; 0: the core has not stalled */
    uint64_t report_ns; /* length of the present stall at which the next warning is due */
    bool reported;      /* a warning was printed for the present stall */

    uint64_t stalls;     /* since the start */
    uint64_t stalled_ns; /* time in all stalls; grows during a stall */
};

/** Check all cores that run; to be called every 20 ms or more often. A stall is reported on stderr
 * after 0.5 s, 1 s, 2 s, 4 s ..., and at its end. Where cores share CPUs, a stall of a core that
 * waits for its turn is counted, but not reported. */
void watchdog_look(struct engine *e);

/** Tell whether all cores make rounds, as the last watchdog_look() has found: false from 0.5 s of a
 * stall on. */
bool watchdog_all_move(const struct engine *e);

/** What the health check has found so far: each change is reported once. */
struct health {
    unsigned calls; /* of health_look() */
    bool pool_low[PLAN_MAX_POOLS];
    bool link_down[CFG_MAX_PORTS]; /* not of ports that link_state_watch() looks after */
    bool failing[CFG_MAX_PORTS];   /* the device fails to send */
    uint64_t tx_errors[CFG_MAX_PORTS];
};

/** Check pools, links and devices. To be called every 20 ms or so while the cores run; one call in
 * 25 does the check. */
void health_look(struct engine *e);

#endif
