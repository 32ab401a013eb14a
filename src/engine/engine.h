/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine builds what a plan says (ports, pools, links, task instances, cores), runs it and
 * takes it down. It knows the contract of a task (task.h), but no type of task. All functions
 * belong to the main thread.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdint.h>

#include <rte_mempool.h>

#include "engine/core.h"
#include "engine/port.h"
#include "engine/task.h"
#include "engine/watch.h"
#include "plan/plan.h"

struct engine {
    const struct plan *plan;
    struct rte_mempool *pools[PLAN_MAX_POOLS]; /* parallel to plan->pools */
    struct port ports[CFG_MAX_PORTS];
    struct rte_ring **rings;      /* parallel to plan->rings */
    struct task **tasks;          /* parallel to plan->instances */
    struct core **cores;          /* parallel to plan->cores */
    struct input **ring_input;    /* parallel to plan->rings: the input that takes from the ring */
    struct rte_rcu_qsbr *readers; /* set before engine_start(): each core reports its quiescent
                                     states here, by its index; NULL: nobody waits for them */
    enum run_phase phase;         /* written by the main thread, read by all cores */
    bool running;
    struct punt_rates punt_rates; /* of all tasks that punt; written before the cores run */

    /* of the main thread, see watch.h */
    struct watchdog *watchdog; /* parallel to plan->cores */
    uint64_t watched_ns;       /* CLOCK_MONOTONIC of the last watchdog_look() */
    struct health health;
    uint32_t link_ups[CFG_MAX_PORTS]; /* how often each port's link has come up again; read by all
                                         cores */
};

/**
 * Make the pools, rings and ports of a plan. EAL must run. Returns 0 or -errno with the reason on
 * stderr; call engine_free() in either case.
 */
int engine_open(struct engine *e, const struct plan *p);

/** Make the task instances and cores; the tables must be filled. Returns 0 or -errno with the
 * reason on stderr. */
int engine_build(struct engine *e, struct tables *tables);

/** Launch the cores. Returns 0, or -errno with the reason on stderr; engine_stop() is due then,
 * too. */
int engine_start(struct engine *e);

/**
 * Stop cleanly, phase by phase (enum run_phase): sources, then ports, then the loops. A phase ends
 * when no packet has moved for 20 ms, or when its share of cfg->drain_ns is over (a third for the
 * sources, two thirds for the ports). Returns when no core runs any more.
 */
void engine_stop(struct engine *e);

/**
 * A core call: run fn on the core of a task instance, between two rounds, and wait until it has
 * returned. So a task's state is changed and read by its own core only. Without running cores, fn
 * is run at once by the caller. Returns what fn returned, or -ETIMEDOUT where the core did not
 * begin within a second; fn will not be run then.
 */
int engine_call(struct engine *e, unsigned instance, int (*fn)(struct task *t, void *arg),
                void *arg);

/** A core call of each core that runs tasks, one after the other; t is one of the core's tasks.
 * Returns the first error, of engine_call() or fn; the other cores are called all the same. */
int engine_call_cores(struct engine *e, int (*fn)(struct task *t, void *arg), void *arg);

/** The link of a port has come up again: let the tasks see that. */
void engine_link_is_up(struct engine *e, unsigned port);

/** Look after what changes by itself while the cores run: counters that devices reset, link states,
 * stalled cores, pools without mbufs. To be called every 20 ms or so. */
void engine_watch(struct engine *e);

/** The input of the core that reads a receive queue of a port, or NULL. */
const struct input *engine_input(const struct engine *e, unsigned port, unsigned queue);

/** Have all sources come to their end (a count, a duration)? False without sources, and where a
 * source has no end. */
bool engine_sources_finished(const struct engine *e);

/** Release everything. Returns the number of mbufs that did not return to their pools: more than 0
 * is a leak. Not counted, 0, where a port has keeps_buffers. */
uint64_t engine_free(struct engine *e);

#endif
