/* SPDX-License-Identifier: BSD-3-Clause */
/* The qos task's pipes come to subscribers and are taken from them, while it runs. */
#include <string.h>

#include "tasks/qos_impl.h"

int qos_open_pipe(struct task *t, uint32_t pipe, uint32_t profile)
{
    struct qos *q = t->state;

    if (pipe >= q->n_pipes)
        return -EINVAL;
    memset(&q->pipe[pipe], 0, sizeof(q->pipe[pipe]));
    q->pipe[pipe].profile = CFG_NONE;
    return qos_set_profile(t, pipe, profile);
}

/* The one with the highest rate that the scheduler can do. */
static uint32_t fastest_profile(const struct qos *q)
{
    const struct cfg_profile *p = q->cfg->profiles;
    uint32_t best = 0;

    for (uint32_t i = 0; i < q->cfg->n_profiles; i++)
        if (q->sched_profile[i] >= 0 &&
            (q->sched_profile[best] < 0 ||
             p[i].shape[q->direction].rate > p[best].shape[q->direction].rate))
            best = i;
    return best;
}

uint32_t qos_pipe_held(struct task *t, uint32_t pipe)
{
    const struct qos *q = t->state;
    uint32_t held = 0;

    for (unsigned queue = 0; queue < QOS_QUEUES; queue++) {
        struct sched_queue_counters n = {0};

        if (q->shape->class[queue < QOS_BE ? queue : QOS_BE].size != 0 &&
            sched_read_queue(q->sched, pipe, queue, &n) == 0)
            held += n.depth;
    }
    return held;
}

uint32_t qos_close_pipe(struct task *t, uint32_t pipe)
{
    struct qos *q = t->state;
    int64_t dropped = sched_clear(q->sched, pipe);

    if (dropped < 0)
        qos_set_profile(t, pipe, fastest_profile(q));
    else
        qos_count_not_shaped(t, (uint64_t)dropped);
    q->in_use[pipe / 64] &= ~(UINT64_C(1) << pipe % 64);
    return dropped < 0 ? qos_pipe_held(t, pipe) : 0;
}
