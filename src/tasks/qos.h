/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control and telemetry may ask of a qos task. All but qos_state() run on the task's own core:
 * use engine_call().
 */
#ifndef TASKS_QOS_H
#define TASKS_QOS_H

#include "base/hist.h"
#include "engine/task.h"
#include "sched/sched.h"

/** A subscriber as the scheduler sees it. Written by the qos core, read by others with relaxed
 * loads. */
struct qos_pipe {
    uint64_t bytes;   /* that have left, with the scheduler's overhead */
    uint64_t ideal;   /* TSC when the last packet would have left an ideal shaper */
    uint32_t packets; /* that have left; wraps */
    uint32_t sojourn; /* moving average over 8 packets, in units of 2^QOS_TIME_SHIFT TSC cycles,
                         times 8 */
    uint32_t cost;    /* TSC cycles a byte at the profile's rate, times 256 */
    uint32_t profile; /* index in qos.profiles[], CFG_NONE: the pipe is not in use */
};

#define QOS_TIME_SHIFT                                                                             \
    12 /* unit of the stamps: 1.6 us at 2.6 GHz; 24 bits of them last for 26 s                     \
        */

/** The state of a qos task instance. */
struct qos {
    struct sched *sched;
    const struct cfg_qos *cfg;
    const struct cfg_scheduler *shape;
    enum qos_direction direction;
    uint32_t n_paths; /* a path at or above is not ours */
    uint32_t n_pipes;
    uint16_t enqueued; /* since the last dequeue */
    uint64_t tsc_hz;
    struct qos_pipe *pipe;
    int16_t sched_profile[QOS_MAX_PROFILES]; /* the scheduler's number of a profile; -1: it cannot
                                                do it */
    struct hist sojourn[QOS_CLASSES];        /* time in the queue, stamp units */
    struct hist lag; /* how much later than from an ideal shaper packets left, stamp units */
};

/** The state of a task of type qos, or NULL for another type. */
const struct qos *qos_state(const struct task *t);

/** Stamp units as seconds. */
static inline double qos_seconds(const struct qos *q, double units)
{
    return units * (1 << QOS_TIME_SHIFT) / (double)q->tsc_hz;
}

/** Give a pipe another profile (index in qos.profiles[]). Returns 0, -EINVAL, or -ENOTSUP where the
 * scheduler cannot do what it says. */
int qos_set_profile(struct task *t, uint32_t pipe, uint32_t profile);

/** Change a subport's rate, bit/s. Returns 0, -EINVAL or -ENOSPC. */
int qos_set_subport_rate(struct task *t, uint32_t subport, uint64_t rate);

#endif
