/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the scheduler, for the files of src/sched only: what a backend has to do, and what
 * all backends share. */
#ifndef SCHED_BACKEND_H
#define SCHED_BACKEND_H

#include <stddef.h>

#include "sched/check.h"
#include "sched/sched.h"

/** A core that was kept away from a scheduler may catch up so much time of the port's line. */
#define SCHED_CATCH_UP_SECS 4e-3

/** Header and trailer of an allocation from DPDK's heap, bytes. */
#define SCHED_MALLOC_BYTES 128

/** A list of findings that is being filled; what exceeds max is left out. */
struct findings {
    struct qos_finding *list;
    unsigned n, max;
};

static inline void findings_add(struct findings *l, struct qos_finding f)
{
    if (l->n < l->max)
        l->list[l->n++] = f;
}

#define FIND_ERROR(l, p, ...)                                                                      \
    findings_add(l, (struct qos_finding){.problem = (p), .error = true, __VA_ARGS__})
#define FIND_WARNING(l, p, ...) findings_add(l, (struct qos_finding){.problem = (p), __VA_ARGS__})

/** A deviation from a configured rate that is worth a warning. */
#define SCHED_DEVIATION 0.01

/** The credits that a class of a shape earns in each tc_period. */
struct class_period {
    double credits;  /* bytes */
    double achieved; /* bit/s that are sure where the rest of a period's credits is lost: the last
                        frame may miss a single byte */
    double enough;   /* ms: a tc_period with which that rest is at most SCHED_DEVIATION */
};

struct class_period class_period_of(const struct cfg_scheduler *s, const struct qos_shape *shape,
                                    unsigned class);

/** One way to do what sched.h and check.h promise. */
struct sched_backend {
    /* Of a scheduler: for each burst, and in one cache line. */

    uint32_t (*enqueue)(struct sched *s, struct rte_mbuf **m, uint32_t n);
    uint32_t (*dequeue)(struct sched *s, uint64_t now, struct rte_mbuf **m, uint32_t n);
    /** NULL: it prefetches nothing. */
    void (*expect)(const struct sched *s, struct rte_mbuf *const *m, uint32_t n, uint32_t first);

    /* Of a scheduler: its life, changes and counters. */

    /** The configuration has been checked but for its profiles. Sets sched.backend, as a wheel has
     * one for each layout. Returns NULL with the reason on stderr. */
    struct sched *(*create)(const struct sched_config *config);
    void (*free)(struct sched *s);
    int (*set_profile)(struct sched *s, uint32_t pipe, uint32_t profile);
    /** NULL: the backend cannot. */
    int64_t (*clear)(struct sched *s, uint32_t pipe);
    int (*add_profile)(struct sched *s, const struct qos_shape *shape);
    int (*set_subport_rate)(struct sched *s, uint32_t subport, uint64_t rate);
    struct sched_drops (*drops)(const struct sched *s);
    int (*read_queue)(struct sched *s, uint32_t pipe, unsigned queue,
                      struct sched_queue_counters *add);
    bool knows_drops; /* by pipe */

    /* Of parameters alone; callable before EAL starts. */

    /** See qos_check_clock(). NULL: all rates can be represented. */
    uint64_t (*clock)(const struct cfg_scheduler *s, uint64_t hz, const uint64_t *rates,
                      unsigned n);
    /** Find what is wrong with a rate, which is above 0 and at most that of the port. */
    void (*check_rate)(struct findings *l, uint64_t clock, uint64_t rate);
    /** Find what only this backend cannot do of a shape, and of a scheduler. NULL: nothing. */
    void (*check_shape)(struct findings *l, const struct cfg_scheduler *s,
                        const struct qos_shape *shape);
    void (*check_scheduler)(struct findings *l, const struct cfg_scheduler *s);
    /** Bytes of memory of a scheduler without errors; 0: more than the backend can count. */
    uint64_t (*bytes)(const struct cfg_scheduler *s, unsigned max_profiles);
};

extern const struct sched_backend sched_wheel, sched_librte;
extern const struct sched_backend sched_shard; /* a wheel that shares rates with others */

static inline const struct sched_backend *sched_backend_of(const struct cfg_scheduler *s)
{
    return s->backend == QOS_LIBRTE_SCHED ? &sched_librte : &sched_wheel;
}

/** The head of a ring of the wheel: pipes that may send in a class of a subport. */
struct wheel_ring {
    uint32_t *pipe;      /* as many places as the subport has pipes, or more: a power of two */
    uint32_t head, tail; /* count on while it holds some; their low bits are the place */
    int32_t turn;        /* bytes that the pipe at the head may still send */
    uint32_t mask;       /* places - 1 */
    int32_t left;        /* bytes that the subport may still send in its turn, or in its next one */
    int32_t saved;       /* of shards: left, when the ring ran empty; or WHEEL_TURN_TAKEN */
    uint32_t open;       /* of shards: wheel_shard.open when that turn was asked for; or another
                            number, where it has to be asked for anew */
    bool in_turn;        /* the turn of the pipe at the head has begun */
};

#define WHEEL_TURN_TAKEN INT32_MIN /* in wheel_ring.saved: it has had a turn since it was empty */

/** How far the pipes of a ring are, where it is one of several shards'. */
struct wheel_rounds {
    uint32_t over;       /* rounds; modulo 2^12 */
    uint32_t begin, end; /* of the ring: where this round has begun, and will be over */
    uint32_t sent;       /* 1: a packet has left in this round; 0: it will not count */
    uint32_t joined; /* wheel_shard.stay when it went on with others: it is another one now if they
                        were away; 0: it has been empty */
};

/** The state of a class of a subport that each packet touches: of struct sched_class, and of the
 * wheel. Those of all subports are side by side, so that the classes of as many as possible are in
 * the first cache. */
struct sched_class_state {
    uint64_t accepted, sent, bytes;
    struct wheel_ring ring;
} __rte_cache_aligned;

static_assert(sizeof(struct sched_class_state) == RTE_CACHE_LINE_SIZE, "one line for each packet");

/** The rest of struct sched_class, which packets touch that are dropped, and of a shard turns that
 * end. */
struct sched_class_rest {
    uint64_t tail, aqm, cleared, late, marked;
    struct wheel_rounds rounds;
} __rte_cache_aligned;

/** The state that all backends have; it comes first in theirs. */
struct sched {
    const struct sched_backend *backend;
    uint64_t accepted, left; /* packets; written by the thread that schedules, read by anyone */
    uint64_t lost;           /* TSC cycles; likewise */
    uint64_t bytes;
    struct sched_class_state *class; /* [subport * QOS_CLASSES + class], as is rest */
    struct sched_class_rest *rest;
    struct sched_pipe_counters *pipe_counters; /* of pipe 0 */
    /* bytes from one pipe's counters to the next; 0: these, class and rest are arrays of their own,
     * and not a part of the backend's memory */
    size_t pipe_stride;
};

/** The state of the class to which a queue (0..15) of a subport belongs. */
static inline struct sched_class_state *sched_class_of(const struct sched *s, uint32_t subport,
                                                       unsigned queue)
{
    return &s->class[subport * QOS_CLASSES + qos_class_of(queue)];
}

/** The rest of it. */
static inline struct sched_class_rest *sched_rest_of(const struct sched *s, uint32_t subport,
                                                     unsigned queue)
{
    return &s->rest[subport * QOS_CLASSES + qos_class_of(queue)];
}

/** Account for packets that were put into queues. */
static inline void sched_count_accepted(struct sched *s, uint32_t n)
{
    __atomic_store_n(&s->accepted, s->accepted + n, __ATOMIC_RELAXED);
}

/** Account for packets that have left. */
static inline void sched_count_sent(struct sched *s, uint32_t n)
{
    __atomic_store_n(&s->left, s->left + n, __ATOMIC_RELAXED);
}

/** Account for a packet, of bytes with overhead, that has left a pipe. For x86-64 by the
 * instruction that does each: gcc takes three for a relaxed store of a sum. */
static inline void sched_count_pipe(struct sched_pipe_counters *s, uint32_t bytes)
{
#ifdef __x86_64__
    __asm__("addl $1, %[packets]\n\t"
            "addq %[bytes], %[sum]"
            : [packets] "+m"(s->packets), [sum] "+m"(s->bytes)
            : [bytes] "r"((uint64_t)bytes)
            : "cc");
#else
    __atomic_store_n(&s->packets, s->packets + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->bytes, s->bytes + bytes, __ATOMIC_RELAXED);
#endif
}

/** Account for time (TSC cycles) for which nobody got credits. */
static inline void sched_count_lost(struct sched *s, uint64_t cycles)
{
    __atomic_store_n(&s->lost, s->lost + cycles, __ATOMIC_RELAXED);
}

/** Check all profiles of a configuration against a clock, as qos_check_clock() gives it. Returns 0,
 * or -EINVAL with the reasons on stderr. */
int sched_check_profiles(const struct sched_config *config, uint64_t clock);

/** Bytes of DPDK's heap that are in use on a socket. */
uint64_t sched_heap_bytes(int socket);

#endif
