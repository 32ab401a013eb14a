/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine builds what the plan says, runs it and takes it down. It knows no type of task. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "config/plan.h"
#include "engine/core.h"
#include "engine/health.h"
#include "engine/port.h"
#include "engine/task.h"
#include "engine/watchdog.h"

struct engine {
    const struct plan *plan;
    struct rte_mempool *pools[CFG_MAX_POOLS];
    struct port ports[CFG_MAX_PORTS];
    struct rte_ring **rings;      /* parallel to plan->rings */
    struct task **tasks;          /* parallel to plan->instances */
    struct core **cores;          /* parallel to plan->cores */
    struct input **ring_input;    /* parallel to plan->rings: who takes from it */
    struct rte_rcu_qsbr *readers; /* set before engine_start(): where each core says, by its index,
                                     that it holds nothing of the tables; NULL: nobody asks */
    enum run_phase phase;         /* written by the main thread, read by all cores */
    bool running;

    /* of the main thread */
    struct watchdog *watchdog; /* parallel to plan->cores */
    uint64_t watched_ns;       /* CLOCK_MONOTONIC of the last look at the cores */
    struct health health;
};

/**
 * Pools, ports and rings of a plan. EAL must run. Returns 0 or -errno with the reason on stderr;
 * call engine_free() in either case.
 */
int engine_open(struct engine *e, const struct plan *p);

/** Task instances and cores, after the tables were made. Returns 0 or -errno with the reason on
 * stderr. */
int engine_build(struct engine *e, struct tables *tables);

/**
 * The socket to ask for memory: SOCKET_ID_ANY where this machine has no such socket, because the
 * layout is for a larger one. After eal_start().
 */
int engine_socket(unsigned socket);

/** Launch the cores. Returns 0 or -errno. */
int engine_start(struct engine *e);

/**
 * Stop cleanly: sources first, then what is under way, then reception, then the rest; each step
 * ends when nothing has moved for 20 ms, or when a third of cfg->drain_ns is over. Returns when no
 * core runs any more.
 */
void engine_stop(struct engine *e);

/**
 * Run fn on the core of a task instance, between two of its rounds, and wait for it: so that a
 * task's state is changed and read by its own core only. Without running cores it is run at once.
 * To be called by one thread at a time. Returns what fn returned, or -ETIMEDOUT when the core did
 * not take it within a second (then it never will).
 */
int engine_call(struct engine *e, unsigned instance, int (*fn)(struct task *t, void *arg),
                void *arg);

/** Look after what may change by itself while the cores run: devices that forget their counters,
 * peers that go and come back, cores that stall, pools that run out. Every 20 ms or so. */
void engine_watch(struct engine *e);

/** Have all sources that end by themselves (a count, a duration) ended? False where there is none
 * of them. */
bool engine_sources_finished(const struct engine *e);

/** Close everything. Returns the number of mbufs that did not come back to their pools: 0 unless
 * there is a leak, and where a port has keeps_buffers. */
uint64_t engine_free(struct engine *e);

#endif
