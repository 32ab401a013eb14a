/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of a qos task call of each other.
 *
 *   qos.c      the type: packets in and out, start and end
 *   pipes.c    profiles and pipes, changed while packets flow
 *   figures.c  sojourn times, lag and runs
 */
#ifndef TASKS_QOS_INSTANCE_H
#define TASKS_QOS_INSTANCE_H

#include "tasks/qos/qos.h"

enum {
    DROP_FULL,
    DROP_RED,
    DROP_PIE,
    DROP_CODEL,
    DROP_L4S,
    DROP_NOBODY,
    DROP_TOO_BIG,
    DROP_OTHER_SHARD,
    N_DROPS
};

/** What a pipe is to be, of which the core has not been told by a core call. */
struct qos_news {
    uint32_t pipe, profile; /* CFG_NONE: it is to be closed */
};

#define QOS_NEWS 256 /* that the core may not have seen yet; a power of two */

/** Are there news of pipes? Of the pipe of a packet they are there before anybody could find its
 * subscriber. */
static inline bool qos_has_news(const struct qos *q)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return slots_full(q->news, 0) != NULL;
}

/** Take the oldest news of pipes, so many at most. */
void qos_take_some_news(struct task *t, uint32_t most);

/** Can the scheduler shape by a profile? */
bool qos_fits(const struct qos *q, uint32_t profile);

#endif
