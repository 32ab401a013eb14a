/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of one core: takes bursts from its inputs in turn and runs them through their tasks. */
#ifndef ENGINE_CORE_H
#define ENGINE_CORE_H

#include <pthread.h>
#include <stdint.h>

#include "engine/task.h"

/** The three steps of a clean stop, each of which ends when nothing moves any more or the drain
 * time is over. */
enum run_phase {
    PHASE_RUN,
    PHASE_NO_SOURCES, /* generators have stopped; what they sent is on its way */
    PHASE_NO_PORTS,   /* nothing is received any more; links and queues empty themselves */
    PHASE_STOP,
};

enum input_kind { INPUT_PORT, INPUT_RING, INPUT_POLL };

struct input {
    enum input_kind kind;
    uint16_t burst;
    uint16_t in_port; /* INPUT_PORT: the configuration's number */
    uint16_t dpdk_port, queue;
    uint16_t n_gates;
    uint16_t full_bursts;    /* INPUT_PORT: polls in a row that brought a whole burst */
    bool away;               /* INPUT_PORT: its peer has gone, the device is not to be touched */
    bool lags;               /* INPUT_PORT: its packets go through the backlog */
    struct backlog *backlog; /* NULL: the task cannot choose */
    struct out **gates;      /* outputs with back-pressure that a burst from here may reach */
    struct rte_ring *ring;
    struct task *task;
    uint64_t polled;     /* packets taken; written by this core */
    uint64_t stalled;    /* polls left out because of back-pressure */
    unsigned high_water; /* INPUT_RING: most packets that a poll has found; written by this core */
};

/** A function to be run by a core between two rounds, see engine_call(). */
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
    const enum run_phase *phase;  /* written by the main thread */
    struct rte_rcu_qsbr *readers; /* as the engine's */
    struct core_call *call;       /* put here by the main thread, taken by this core */
    uint16_t index;
    pthread_t thread;
    int tid;     /* the same, as /proc knows it */
    int started; /* the thread is in its loop */

    /* written by this core, read by others; TSC cycles */
    uint64_t busy, idle_cycles;
    uint64_t rounds, empty_rounds;
} __rte_cache_aligned;

/** One round over all inputs. Returns the packets moved. now: current TSC. */
unsigned core_round(struct core *c, uint64_t now);

/** The thread: rounds until PHASE_STOP. For rte_eal_remote_launch(). */
int core_main(void *core);

/** CPU time that the thread has used, ns; tells how much of a shared CPU it got. 0 before it
 * started. */
uint64_t core_cpu_time(const struct core *c);

#endif
