/* SPDX-License-Identifier: BSD-3-Clause */
/* A task whose outputs keep what is sent to them. */
#include "explain/dry_run.h"

#include <stdlib.h>

#include <rte_cycles.h>

#include "engine/eal.h"

/* The send function of all outputs: keeps the packets. */
static void catch (struct out *o, struct rte_mbuf **m, uint16_t n)
{
    struct dry_run *s = container_of(o->task, struct dry_run, task);
    uint16_t output = 0;

    while (s->task.output[output] == NULL || o < s->task.output[output] ||
           o >= s->task.output[output] + s->task.n_dests[output])
        output++;
    for (uint16_t i = 0; i < n; i++) {
        if (s->n_caught == DRY_RUN_MAX) {
            s->n_lost++;
            rte_pktmbuf_free(m[i]);
            continue;
        }
        s->caught[s->n_caught++] = (struct caught){
            .m = m[i], .output = output, .way = (uint16_t)(o - s->task.output[output])};
    }
}

static void *zalloc(size_t size)
{
    size_t whole = RTE_ALIGN_CEIL(RTE_MAX(size, (size_t)1), RTE_CACHE_LINE_SIZE);
    void *p = aligned_alloc(RTE_CACHE_LINE_SIZE, whole);

    if (p != NULL)
        memset(p, 0, whole);
    return p;
}

static void connect_outputs(struct task *t, const struct plan_instance *inst)
{
    struct out *next = t->outs;

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        if (inst->output[o].n_dests == 0)
            continue;
        t->output[o] = next;
        t->n_dests[o] = inst->output[o].n_dests;
        t->by_port[o] = inst->output[o].by_port;
        next += t->n_dests[o];
    }
    for (uint16_t i = 0; i < t->n_outs; i++) {
        t->outs[i].send = catch;
        t->outs[i].task = t;
    }
}

static int make_state(struct task *t, const struct engine *e, struct tables *tables,
                      struct rte_mempool *pool)
{
    const struct task_env env = {
        .plan = e->plan,
        .cfg = t->cfg,
        .instance = t->instance,
        .tables = tables,
        .pool = pool,
        .socket = eal_socket(e->plan->cores[t->core].socket),
        .tsc_hz = rte_get_tsc_hz(),
    };
    int rc;

    if (t->type->explain != NULL) {
        t->state = e->tasks[t->instance]->state;
        return 0;
    }
    t->state = zalloc(t->type->state_size);
    if (t->state == NULL)
        return -1;
    rc = t->type->init != NULL ? t->type->init(t, &env) : 0;
    t->ready = rc == 0;
    return rc;
}

struct dry_run *dry_run_open(const struct engine *e, struct tables *tables,
                             struct rte_mempool *pool, unsigned instance)
{
    const struct plan_instance *inst = &e->plan->instances[instance];
    const struct task *real = e->tasks[instance];
    struct dry_run *s = zalloc(sizeof(*s));
    struct task *t;

    if (s == NULL)
        return NULL;
    t = &s->task;
    t->type = real->type;
    t->handle = real->type->handle;
    t->cfg = real->cfg;
    t->in_port = PORT_IN_MBUF;
    t->instance = real->instance;
    t->worker = real->worker;
    t->core = real->core;
    t->n_outs = real->n_outs;
    t->outs = zalloc(t->n_outs * sizeof(t->outs[0]));
    if (t->outs != NULL)
        connect_outputs(t, inst);
    if (t->outs == NULL || make_state(t, e, tables, pool) != 0) {
        dry_run_close(s);
        return NULL;
    }
    return s;
}

void dry_run_run(struct dry_run *s, struct rte_mbuf *m, uint16_t in_port,
                 const struct task_explain *x)
{
    struct task *t = &s->task;

    t->in_port = in_port;
    t->in++;
    if (t->type->explain != NULL)
        t->type->explain(t, m, x);
    else
        t->handle(t, &m, 1);
    task_flush(t);
}

void dry_run_close(struct dry_run *s)
{
    struct task *t = &s->task;

    if (t->ready && t->type->fini != NULL)
        t->type->fini(t);
    if (t->type->explain == NULL)
        free(t->state);
    free(t->outs);
    free(s);
}
