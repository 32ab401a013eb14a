/* SPDX-License-Identifier: BSD-3-Clause */
/* Cycles per packet of the scheduler, the qos task and the paths with it: see doc/qos.md. */
#ifndef BENCH_QOS_H
#define BENCH_QOS_H

#include "bench.h"
#include "tasks/qos/qos.h"

#define QOS_HELD 40960u /* packets that wait in the schedulers while they are measured */

/** What is measured. */
enum qos_target {
    QOS_BARE,        /* rte_sched_port_enqueue and rte_sched_port_dequeue */
    QOS_SCHED,       /* sched_enqueue and sched_dequeue */
    QOS_TASK,        /* handle and poll of the task */
    QOS_ENGINE,      /* the core of a graph, upstream */
    QOS_ENGINE_BOTH, /* and half of it downstream */
};

/** How. */
struct qos_variant {
    enum qos_target target;
    unsigned burst;        /* 0: BURST; of a graph, what its configuration says */
    bool best_effort;      /* only the first queue of best effort */
    bool calm;             /* nobody waits: QOS_HELD is 0 */
    bool few;              /* only classes 0, 1 and best effort */
    bool one_queue;        /* each subscriber sends in one class and queue of its own */
    uint32_t in_use;       /* packets that go round, 0: N_PACKETS */
    bool neighbours;       /* one subscriber after the other, instead of at random */
    bool oversubscription; /* of best effort in the subport; librte_sched's own default */
};

/** Enqueue and dequeue of all packets, with QOS_HELD packets waiting. (qos_passes.c) */
double pass_qos(struct bench *b, const struct bench_case *c);

/** Arrivals at a given pace at subscribers whose profiles let less through. (qos_shaped.c) */
double pass_shaped(struct bench *b, const struct bench_case *c);

/* What both are made of. (qos_passes.c) */

/** The scheduler's task of a graph: the first or the second of them. */
struct task *qos_task(const struct graph *g, unsigned i);
uint32_t qos_random_below(uint32_t n);
/** The median of some numbers, which are sorted for that. */
uint64_t qos_median(uint64_t *v, unsigned n);
/** Put n packets (1..BURST_MAX) into the scheduler of a task, as the target does. */
void qos_put(enum qos_target target, struct task *t, struct rte_mbuf **m, uint16_t n);
/** Ask it for as many; out has room for BURST_MAX. Returns how many came. */
uint16_t qos_get(enum qos_target target, struct task *t, struct rte_mbuf **out, uint16_t n);
/** Lead what leaves the task to qos_get(), and back. */
void qos_divert(struct task *t);
void qos_undivert(struct task *t);

#endif
