/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the scheduler: what an engine is. Nobody else includes this. */
#ifndef SCHED_ENGINE_H
#define SCHED_ENGINE_H

#include "sched/sched.h"

/** What sched.h promises, done one way. */
struct sched_engine {
    /** The configuration has been checked, but for its profiles; NULL with the reason on stderr. */
    struct sched *(*create)(const struct sched_config *config);
    void (*free)(struct sched *s);
    uint32_t (*enqueue)(struct sched *s, struct rte_mbuf **m, uint32_t n);
    uint32_t (*dequeue)(struct sched *s, uint64_t now, struct rte_mbuf **m, uint32_t n);
    int (*set_profile)(struct sched *s, uint32_t pipe, uint32_t profile);
    /** NULL: it cannot. */
    int64_t (*clear)(struct sched *s, uint32_t pipe);
    int (*add_profile)(struct sched *s, const struct qos_shape *shape);
    int (*set_subport_rate)(struct sched *s, uint32_t subport, uint64_t rate);
    struct sched_drops (*drops)(const struct sched *s);
    int (*read_queue)(struct sched *s, uint32_t pipe, unsigned queue,
                      struct sched_queue_counters *add);
    /** NULL: it does not count them. */
    const uint64_t *(*pipe_drops)(const struct sched *s, uint32_t pipe);
};

extern const struct sched_engine sched_wheel, sched_library;

/** What all engines have; it comes first in theirs. */
struct sched {
    const struct sched_engine *engine;
    uint64_t accepted, sent; /* packets; written by the thread that schedules, read by anyone */
    uint64_t lost;           /* TSC cycles; likewise */
    uint64_t bytes;
    struct sched_class *class; /* [subport * QOS_CLASSES + class] */
};

/** The counters of the class to which a queue (0..15) of a subport belongs. */
static inline struct sched_class *sched_class_of(const struct sched *s, uint32_t subport,
                                                 unsigned queue)
{
    return &s->class[subport * QOS_CLASSES + (queue < QOS_BE ? queue : QOS_BE)];
}

/** Account for packets that were put into queues, or that left. */
static inline void sched_count_accepted(struct sched *s, uint32_t n)
{
    __atomic_store_n(&s->accepted, s->accepted + n, __ATOMIC_RELAXED);
}
static inline void sched_count_sent(struct sched *s, uint32_t n)
{
    __atomic_store_n(&s->sent, s->sent + n, __ATOMIC_RELAXED);
}
static inline void sched_count_lost(struct sched *s, uint64_t cycles)
{
    __atomic_store_n(&s->lost, s->lost + cycles, __ATOMIC_RELAXED);
}

/** May all profiles be used on a scheduler whose clock is that one (qos_fit_clock())? Returns 0 or
 * -EINVAL with the reasons on stderr. */
int sched_check_profiles(const struct sched_config *config, uint64_t clock);

/** Bytes of DPDK's heap that are in use on a socket. */
uint64_t sched_heap_bytes(int socket);

#endif
