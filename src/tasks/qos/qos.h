/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a qos task, which control and explain read, and its changes while it runs. Functions
 * that take a struct task run on the task's own core, in core calls (engine_call()), unless they
 * say otherwise. Where the task is on several cores, each instance is a shard of one scheduler
 * (sched/shards/shards.h); a pipe is then a number among those of the instance: qos_place().
 */
#ifndef TASKS_QOS_H
#define TASKS_QOS_H

#include <assert.h>

#include "base/hist.h"
#include "base/ring/slots.h"
#include "engine/task.h"
#include "sched/sched.h"
#include "sched/stamp.h"

#define QOS_TIME_SHIFT SCHED_STAMP_SHIFT

/* What a packet must have waited to begin a run: */
#define QOS_RUN_MIN_PACKETS 4 /* times as long as it takes to send it */
#define QOS_RUN_MIN_WAIT    4 /* stamp units: less is the pace of polling, not of the shaper */

/**
 * A subscriber's pipe in the scheduler: one cache line. The qos core writes it; others read single
 * fields with relaxed loads, and the run by qos_run().
 *
 * A run is a stretch of time in which some packet of the subscriber was always held back: it begins
 * when the first of these packets arrived, and ends with the departure of the last so far. Packets
 * that leave in a run are all that the shaper lets through, so the delivered rate is compared with
 * the configured rate over runs alone.
 */
struct qos_pipe {
    uint64_t ideal;            /* TSC when the last packet would have left an ideal shaper */
    uint64_t run_from, run_to; /* TSC */
    uint64_t run_bytes;        /* what the pipe had sent at run_to, with the overhead */
    uint32_t run_seq;          /* odd: the run is being written */
    uint32_t sojourn;          /* moving average over 8 packets that are looked at, in units of
                                  2^QOS_TIME_SHIFT TSC cycles, times 8 */
    uint32_t cost;             /* TSC cycles a byte at the profile's rate, times 256 */
    uint32_t profile; /* index in qos.profiles[], CFG_NONE: the pipe is free. The last member */
} __rte_cache_aligned;

static_assert(sizeof(struct qos_pipe) == RTE_CACHE_LINE_SIZE, "one line for each packet held back");
static_assert(sizeof(struct qos_pipe) == PLAN_QOS_PIPE, "as the plan counts them");

/** A run, as a reader gets it. */
struct qos_run {
    uint64_t from, to; /* TSC */
    uint64_t bytes;    /* sent since the start of the program, at that end */
};

/** The state of a qos task instance. */
struct qos {
    struct sched *sched;
    const struct cfg_qos *cfg;
    const struct cfg_scheduler *shape;
    enum qos_direction direction;
    bool drops_late;   /* packets that were accepted: FQ-CoDel and L4S do */
    bool says_limited; /* the scheduler says which packets it has held back: enum sched_limited */
    bool searches;     /* a dequeue may look at any number of subscribers without credits */
    struct shards *shards; /* what the instances share; NULL: there is one */
    uint32_t first_pipe;   /* of the scheduler's pipes, that is this instance's pipe 0 */
    uint32_t n_pipes;      /* of this instance */
    uint32_t announced;    /* packets that have been since the last burst came (task_announce()) */
    uint32_t owed;         /* packets that arrived and for which none was dequeued yet */
    uint64_t asked;        /* TSC of the last dequeue */
    uint64_t idle_cycles;  /* an empty scheduler is asked as often, TSC cycles */
    uint64_t paused_until; /* TSC: no dequeue before */
    uint64_t tsc_hz;
    struct qos_pipe *pipe;
    uint64_t *in_use;                        /* a bit for each pipe that has a profile */
    struct slots *news;                      /* of pipes: qos_tell_opened(), qos_tell_closed() */
    int16_t sched_profile[QOS_MAX_PROFILES]; /* the scheduler's number of a profile; -1: it cannot
                                                shape by it */
    struct hist prompt[QOS_CLASSES]; /* time in the queue, stamp units, of packets whose pipe never
                                        lacked credit: that is their lag, too */
    struct hist held[QOS_CLASSES];   /* the same of all others */
    struct hist lag; /* of those: how much later than from an ideal shaper they left, stamp units */
};

extern const struct task_type task_qos;

/** The state of a task of type qos, or NULL for another type. */
const struct qos *qos_state(const struct task *t);

/** Read profiles from cfg from now on; profiles that are in use must have the same index there.
 * Only before the task's core runs. */
void qos_use(struct task *t, const struct cfg_qos *cfg);

/** The number among an instance's pipes of a pipe of the scheduler, or CFG_NONE where it is on
 * another shard. */
static inline uint32_t qos_place(const struct qos *q, uint32_t pipe)
{
    return pipe - q->first_pipe < q->n_pipes ? pipe - q->first_pipe : CFG_NONE;
}

/** Stamp units as seconds. */
static inline double qos_seconds(const struct qos *q, double units)
{
    return units * (1 << QOS_TIME_SHIFT) / (double)q->tsc_hz;
}

/** The moving average of a pipe's sojourn time, seconds. */
static inline double qos_sojourn(const struct qos *q, const struct qos_pipe *p)
{
    return qos_seconds(q, __atomic_load_n(&p->sojourn, __ATOMIC_RELAXED) / 8.0);
}

/** Account for n packets that leave now (TSC). One that was not held back costs no line of its
 * subscriber; but some of them have their share in the subscriber's average. */
void qos_account(struct qos *q, struct rte_mbuf *const *m, uint32_t n, uint64_t now);

/** Begin a run of a pipe now (TSC). */
void qos_begin_run(struct qos *q, uint32_t pipe, uint64_t now);

/** Copy the histogram of the time that packets of a class have spent in their queue, stamp units.
 */
void qos_sojourn_times(const struct qos *q, unsigned class, struct hist *to);

/** Copy the histogram of how much later packets left than from an ideal shaper, stamp units. A
 * packet whose pipe has had credit all the time left late by what it waited. */
void qos_lag(const struct qos *q, struct hist *to);

/** The present run of a pipe, or the last; its fields are of one moment. */
struct qos_run qos_run(const struct qos_pipe *p);

/** Give a pipe another profile (index in qos.profiles[]); a free one is open then. Returns 0,
 * -EINVAL, or -ENOTSUP where the scheduler cannot shape by it. */
int qos_set_profile(struct task *t, uint32_t pipe, uint32_t profile);

/** Learn a profile that is new, or has changed, at an index of qos.profiles[]. Pipes that have it
 * keep its old shape until qos_set_profile(). Returns 0, or -ENOSPC or -EINVAL. */
int qos_take_profile(struct task *t, uint32_t profile);

/**
 * Take a pipe from its subscriber: packets that wait in it, and those that arrive from now on, are
 * dropped (not_shaped). With librte_sched, those that wait are sent instead, as fast as a profile
 * allows. Returns the number that still wait: until qos_pipe_held() has said 0, the pipe is not
 * free.
 */
uint32_t qos_close_pipe(struct task *t, uint32_t pipe);

/** Number of packets that wait in a pipe. One that was closed is free when that is 0. */
uint32_t qos_pipe_held(struct task *t, uint32_t pipe);

/*
 * To open and to close a pipe without a word from the task's core, for which nobody waits: the core
 * takes such news before it sends any packet, and before it drops one whose pipe it takes for
 * nobody's. By the thread that alone opens and closes pipes. Both return false where there is no
 * room for more news, and where the scheduler cannot do it so: qos_set_profile() and
 * qos_close_pipe(), which take all news first, can.
 */
bool qos_tell_opened(const struct task *t, uint32_t pipe, uint32_t profile);
bool qos_tell_closed(const struct task *t, uint32_t pipe);

/** Take all news of pipes. Runs on the task's core, as all functions do that look at a pipe
 * there. */
void qos_take_news(struct task *t);

/** Is a pipe nobody's, and empty, with figures that are 0? By any thread. */
bool qos_is_free(const struct qos *q, uint32_t pipe);

/** Change a subport's rate, bit/s. Returns 0, -EINVAL or -ENOSPC. */
int qos_set_subport_rate(struct task *t, uint32_t subport, uint64_t rate);

#endif
