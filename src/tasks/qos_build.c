/* SPDX-License-Identifier: BSD-3-Clause */
/* The qos task's scheduler and its pipes: made at the start, changed while it runs. */
#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "config/qos_fit.h"
#include "tasks/qos_impl.h"

static uint32_t cost_of(const struct qos *q, uint64_t rate)
{
    double cost = (double)q->tsc_hz * 8 / (double)rate * 256;

    return cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
}

int qos_set_profile(struct task *t, uint32_t pipe, uint32_t profile)
{
    struct qos *q = t->state;
    uint64_t now;
    int rc;

    if (pipe >= q->n_pipes || profile >= q->cfg->n_profiles)
        return -EINVAL;
    if (q->sched_profile[profile] < 0)
        return -ENOTSUP;
    rc = sched_set_profile(q->sched, pipe, (uint32_t)q->sched_profile[profile]);
    if (rc != 0)
        return rc;
    __atomic_store_n(&q->pipe[pipe].profile, profile, __ATOMIC_RELAXED);
    q->in_use[pipe / 64] |= UINT64_C(1) << pipe % 64;
    q->pipe[pipe].cost = cost_of(q, q->cfg->profiles[profile].shape[q->direction].rate);
    now = rte_rdtsc();
    qos_set_run(&q->pipe[pipe], now, now); /* a run has one rate */
    return 0;
}

int qos_set_subport_rate(struct task *t, uint32_t subport, uint64_t rate)
{
    struct qos *q = t->state;

    return sched_set_subport_rate(q->sched, subport, rate);
}

static bool fits(const struct qos *q, uint32_t profile)
{
    uint64_t clock = qos_fit_clock(q->tsc_hz, q->shape->rate, NULL, 0);
    struct qos_finding f[32];
    unsigned found = qos_shape_check(q->shape, clock,
                                     &q->cfg->profiles[profile].shape[q->direction], f, RTE_DIM(f));

    for (unsigned k = 0; k < found; k++)
        if (f[k].error)
            return false;
    return true;
}

/* Only profiles that the scheduler can do: another scheduler's may be beyond it. */
static unsigned fit_profiles(struct qos *q, struct cfg_profile *fit)
{
    unsigned n = 0;

    for (unsigned i = 0; i < q->cfg->n_profiles; i++) {
        q->sched_profile[i] = fits(q, i) ? (int16_t)n : (int16_t)-1;
        if (q->sched_profile[i] >= 0)
            fit[n++] = q->cfg->profiles[i];
    }
    return n;
}

int qos_take_profile(struct task *t, uint32_t profile)
{
    struct qos *q = t->state;
    int rc = -1;

    if (fits(q, profile)) {
        rc = sched_add_profile(q->sched, &q->cfg->profiles[profile].shape[q->direction]);
        if (rc < 0)
            return rc;
    }
    q->sched_profile[profile] = (int16_t)rc;
    return 0;
}

static int make_sched(struct qos *q, const struct task_env *env)
{
    struct cfg_profile *fit = calloc(q->cfg->n_profiles + 1, sizeof(*fit));
    struct sched_config config = {
        .name = env->cfg->name,
        .socket = env->socket,
        .shape = q->shape,
        .direction = q->direction,
        .profiles = fit,
    };

    if (fit == NULL)
        return -ENOMEM;
    config.n_profiles = fit_profiles(q, fit);
    config.max_profiles = config.n_profiles + room_profiles(q->cfg) - q->cfg->n_profiles;
    q->sched = sched_create(&config);
    free(fit);
    return q->sched != NULL ? 0 : -ENOMEM;
}

static bool is_ours(const struct qos *q, const struct cfg_subscriber *s)
{
    for (unsigned i = 0; i < q->shape->n_subports; i++)
        if (q->shape->subports[i].port == s->port)
            return s->pipe != CFG_NONE;
    return false;
}

static int fill_pipes(struct task *t, const struct cfg_model *m)
{
    struct qos *q = t->state;
    int rc = 0;

    for (uint32_t i = 0; i < q->n_pipes; i++)
        q->pipe[i].profile = CFG_NONE;
    for (uint32_t i = 0; rc == 0 && i < m->n_subscribers; i++)
        if (is_ours(q, &m->subscribers[i]))
            rc = qos_set_profile(t, m->subscribers[i].pipe, m->subscribers[i].profile);
    return rc;
}

static int allocate(struct qos *q, int socket)
{
    q->pipe = rte_zmalloc_socket("qos", q->n_pipes * sizeof(*q->pipe), RTE_CACHE_LINE_SIZE, socket);
    q->in_use = rte_zmalloc_socket("qos", (q->n_pipes / 64 + 1) * sizeof(*q->in_use),
                                   RTE_CACHE_LINE_SIZE, socket);
    return q->pipe != NULL && q->in_use != NULL ? 0 : -ENOMEM;
}

int qos_init(struct task *t, const struct task_env *env)
{
    const struct cfg_model *m = env->plan->cfg;
    struct qos *q = t->state;
    int rc;

    q->cfg = &m->qos;
    q->shape = &m->qos.schedulers[env->cfg->param[QOS_ARG_SCHEDULER].u];
    q->direction = (enum qos_direction)env->cfg->param[QOS_ARG_DIRECTION].u;
    q->tsc_hz = env->tsc_hz;
    q->n_pipes = q->shape->n_subports * q->shape->pipes_per_subport;
    rc = allocate(q, env->socket);
    if (rc == 0)
        rc = make_sched(q, env);
    if (rc == 0)
        rc = fill_pipes(t, m);
    if (rc != 0)
        qos_fini(t);
    return rc;
}

void qos_use(struct task *t, const struct cfg_qos *cfg)
{
    ((struct qos *)t->state)->cfg = cfg;
}

void qos_fini(struct task *t)
{
    struct qos *q = t->state;

    if (q->sched != NULL)
        sched_free(q->sched);
    rte_free(q->pipe);
    rte_free(q->in_use);
}
