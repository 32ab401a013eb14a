/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core: one thread, pinned to one CPU, that takes bursts from its inputs in turn and runs each
 * through the task instance that the input feeds (core.c has the loop). The main thread speaks to
 * a core by two words only: the phase of the run, and a core call.
 */
#ifndef ENGINE_CORE_H
#define ENGINE_CORE_H

#include <pthread.h>
#include <stdint.h>

#include "engine/task.h"

/** The phase of a run. A clean stop goes through all of them in this order; engine_stop() moves on
 * when no packet moves any more, or when the phase's share of the drain time is over. */
enum run_phase {
    PHASE_RUN,
    PHASE_NO_SOURCES, /* generators make nothing more; packets that they made are on their way */
    PHASE_NO_PORTS,   /* ports receive nothing more; links and queues drain */
    PHASE_STOP,       /* the loops end */
};

/** Where an input takes packets: a receive queue, the ring of a link from another core, or nothing:
 * the input is a call of task_type.poll, for tasks that make or hold packets. */
enum input_kind { INPUT_PORT, INPUT_RING, INPUT_POLL };

struct input {
    enum input_kind kind;
    uint16_t burst;   /* most packets of one poll, 1..BURST_MAX */
    uint16_t in_port; /* INPUT_PORT: index of the port in the configuration */
    uint16_t dpdk_port, queue;
    uint16_t n_gates;
    uint16_t full_bursts;    /* INPUT_PORT: polls in a row that brought a whole burst */
    bool peer_gone;          /* INPUT_PORT: its link is down, and the device must not be polled */
    bool lags;               /* INPUT_PORT: the core is too slow; packets go through the backlog */
    struct backlog *backlog; /* NULL: the task does not rank packets */
    struct out **gates;      /* outputs with back-pressure that a burst from here may reach */
    struct rte_ring *ring;
    struct task *task;

    /* written by this core, read by others */
    uint64_t polled;     /* packets taken */
    uint64_t stalled;    /* polls left out because of back-pressure */
    unsigned high_water; /* INPUT_RING: most packets that one poll has found */
};

/** A core call: a function that a core runs between two of its rounds, see engine_call(). */
struct core_call {
    int (*fn)(struct task *t, void *arg);
    struct task *task;
    void *arg;
    int result;
    int done; /* set by the core with release order, after result */
};

struct core {
    unsigned n_inputs;
    struct input *inputs;
    enum idle_policy idle;
    const enum run_phase *phase;  /* the engine's; written by the main thread */
    struct rte_rcu_qsbr *readers; /* the engine's; NULL: nobody waits for quiescent states */
    struct core_call *call;       /* set by the main thread, taken by this core */
    uint16_t index;               /* in plan->cores[] */
    pthread_t thread;
    int tid;     /* of the thread, for /proc */
    int started; /* thread and tid are valid */

    /* written by this core, read by others */
    uint64_t busy, idle_cycles; /* TSC cycles in rounds that moved packets, and in all others */
    uint64_t rounds, empty_rounds;
} __rte_cache_aligned;

/** Do one round: poll each input once, in order. now: the current TSC. Returns the number of
 * packets moved. */
unsigned core_round(struct core *c, uint64_t now);

/** The thread of a core: rounds until PHASE_STOP. For rte_eal_remote_launch(); returns 0. */
int core_main(void *core);

/** CPU time that the thread has used, in ns: on a CPU that is shared, less than the time that went
 * by. Returns 0 before the thread has started. */
uint64_t core_cpu_time(const struct core *c);

#endif
