/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles and pipes of a qos task, changed while packets flow: by the task's core, in core calls,
 * or as it takes news of pipes that are to be opened or closed, for which nobody waits.
 */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "sched/check.h"
#include "tasks/qos/instance.h"

/* --- profiles --- */

/* TSC cycles a byte at a rate, times 256. */
static uint32_t cost_of(const struct qos *q, uint64_t rate)
{
    double cost = (double)q->tsc_hz * 8 / (double)rate * 256;

    return cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
}

/* Can a pipe have a profile? Returns 0, -EINVAL or -ENOTSUP. */
static int check_pipe(const struct qos *q, uint32_t pipe, uint32_t profile)
{
    if (pipe >= q->n_pipes || profile >= q->cfg->n_profiles)
        return -EINVAL;
    return q->sched_profile[profile] < 0 ? -ENOTSUP : 0;
}

static int set_profile(struct qos *q, uint32_t pipe, uint32_t profile)
{
    int rc = check_pipe(q, pipe, profile);

    if (rc == 0)
        rc = sched_set_profile(q->sched, pipe, (uint32_t)q->sched_profile[profile]);
    if (rc != 0)
        return rc;
    __atomic_store_n(&q->pipe[pipe].profile, profile, __ATOMIC_RELAXED);
    q->in_use[pipe / 64] |= UINT64_C(1) << pipe % 64;
    q->pipe[pipe].cost = cost_of(q, q->cfg->profiles[profile].shape[q->direction].rate);
    qos_begin_run(q, pipe, rte_rdtsc()); /* a run is at one rate */
    return 0;
}

int qos_set_profile(struct task *t, uint32_t pipe, uint32_t profile)
{
    qos_take_news(t);
    return set_profile(t->state, pipe, profile);
}

int qos_set_subport_rate(struct task *t, uint32_t subport, uint64_t rate)
{
    struct qos *q = t->state;

    return sched_set_subport_rate(q->sched, subport, rate);
}

bool qos_fits(const struct qos *q, uint32_t profile)
{
    uint64_t clock = qos_check_clock(q->shape, q->tsc_hz, NULL, 0);

    return qos_shape_fits(q->shape, clock, &q->cfg->profiles[profile].shape[q->direction]);
}

int qos_take_profile(struct task *t, uint32_t profile)
{
    struct qos *q = t->state;
    int rc = -1;

    qos_take_news(t); /* who came before has the shape as it was then */
    if (qos_fits(q, profile)) {
        rc = sched_add_profile(q->sched, &q->cfg->profiles[profile].shape[q->direction]);
        if (rc < 0)
            return rc;
    }
    q->sched_profile[profile] = (int16_t)rc;
    return 0;
}

/* The profile with the highest rate that the scheduler can do. */
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

/* --- pipes --- */

static uint32_t held(const struct qos *q, uint32_t pipe)
{
    uint32_t held = 0;

    for (unsigned queue = 0; queue < QOS_QUEUES; queue++) {
        struct sched_queue_counters n = {0};

        if (q->shape->class[queue < QOS_BE ? queue : QOS_BE].size != 0 &&
            sched_read_queue(q->sched, pipe, queue, &n) == 0)
            held += n.depth;
    }
    return held;
}

/* Nothing waits in a pipe that is nobody's: it is free, and its figures are 0, which whoever finds
 * it free may rely on. */
static void end_pipe(struct qos *q, uint32_t pipe)
{
    struct qos_pipe *p = &q->pipe[pipe];

    sched_reset_pipe_counters(q->sched, pipe);
    memset(p, 0, offsetof(struct qos_pipe, profile));
    __atomic_store_n(&p->profile, CFG_NONE, __ATOMIC_RELEASE);
}

uint32_t qos_pipe_held(struct task *t, uint32_t pipe)
{
    struct qos *q = t->state;
    uint32_t n;

    qos_take_news(t);
    n = held(q, pipe);
    if (n == 0 && (q->in_use[pipe / 64] >> pipe % 64 & 1) == 0)
        end_pipe(q, pipe);
    return n;
}

static uint32_t close_pipe(struct task *t, uint32_t pipe)
{
    struct qos *q = t->state;
    int64_t dropped = sched_clear(q->sched, pipe);
    uint32_t waiting = 0;

    if (dropped >= 0) {
        t->drops[DROP_NOBODY] += (uint64_t)dropped;
    } else {
        set_profile(q, pipe, fastest_profile(q));
        waiting = held(q, pipe);
    }
    q->in_use[pipe / 64] &= ~(UINT64_C(1) << pipe % 64);
    if (waiting == 0)
        end_pipe(q, pipe);
    return waiting;
}

uint32_t qos_close_pipe(struct task *t, uint32_t pipe)
{
    qos_take_news(t);
    return close_pipe(t, pipe);
}

/* --- news --- */

static bool tell(const struct qos *q, struct qos_news news)
{
    struct qos_news *slot = slots_room(q->news, 0);

    if (slot == NULL)
        return false;
    *slot = news;
    slots_put(q->news, 1);
    return true;
}

/* The pipe's figures are 0, and the core does not look at them before it takes the news. */
bool qos_tell_opened(const struct task *t, uint32_t pipe, uint32_t profile)
{
    const struct qos *q = t->state;

    if (check_pipe(q, pipe, profile) != 0 || slots_room(q->news, 0) == NULL)
        return false;
    __atomic_store_n(&q->pipe[pipe].profile, profile, __ATOMIC_RELAXED);
    return tell(q, (struct qos_news){pipe, profile});
}

bool qos_tell_closed(const struct task *t, uint32_t pipe)
{
    const struct qos *q = t->state;

    return q->shape->backend == QOS_WHEEL && tell(q, (struct qos_news){pipe, CFG_NONE});
}

void qos_take_some_news(struct task *t, uint32_t most)
{
    struct qos *q = t->state;
    const struct qos_news *news;
    uint32_t n = 0;

    while (n < most && (news = slots_full(q->news, n)) != NULL) {
        if (news->profile == CFG_NONE)
            close_pipe(t, news->pipe);
        else
            set_profile(q, news->pipe, news->profile);
        n++;
    }
    if (n > 0)
        slots_take(q->news, n);
}

void qos_take_news(struct task *t)
{
    qos_take_some_news(t, UINT32_MAX);
}

bool qos_is_free(const struct qos *q, uint32_t pipe)
{
    return __atomic_load_n(&q->pipe[pipe].profile, __ATOMIC_ACQUIRE) == CFG_NONE;
}
