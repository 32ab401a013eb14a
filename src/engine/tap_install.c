/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture's taps are put in and taken out by the cores themselves, between two rounds. */
#include <errno.h>

#include <rte_malloc.h>

#include "config/facts.h"
#include "engine/tap_point.h"

struct change {
    struct engine *e;
    struct tap_task *tasks; /* by instance; NULL: take out */
};

static bool takes_rx(const struct engine *e, unsigned instance, uint64_t ports)
{
    const struct plan_instance *inst = &e->plan->instances[instance];

    for (uint16_t i = 0; i < inst->n_rx; i++)
        if ((ports >> inst->rx[i].port & 1) != 0)
            return true;
    return false;
}

static void put_in_output(struct out *o, struct tap_out *to, bool after)
{
    o->tap = to;
    if (!after && !to->transmits)
        return;
    to->send = o->send;
    o->send = tap_send;
}

static void put_in(const struct engine *e, struct task *t, struct tap_task *tap)
{
    const struct tap_wants *w = tap->ring->wants;
    uint32_t reasons = w->reasons[t->instance];

    t->tap = tap;
    tap->handle = t->handle;
    if (w->before[t->instance] || (t->type->drops_itself && reasons != 0))
        t->handle = tap_handle;
    if (takes_rx(e, t->instance, w->rx))
        t->tapped |= TAPPED_RX;
    if ((reasons & ~(1u << TAP_LINK_FULL)) != 0)
        t->tapped |= TAPPED_DROPS;
    for (uint16_t i = 0; i < t->n_outs; i++)
        if (w->after[t->instance] || tap->outs[i].transmits || (reasons >> TAP_LINK_FULL & 1) != 0)
            put_in_output(&t->outs[i], &tap->outs[i], w->after[t->instance]);
}

static void take_out(struct task *t)
{
    if (t->tap == NULL)
        return;
    t->handle = t->tap->handle;
    t->tapped = 0;
    for (uint16_t i = 0; i < t->n_outs; i++) {
        struct out *o = &t->outs[i];

        if (o->tap != NULL && o->tap->send != NULL)
            o->send = o->tap->send;
        o->tap = NULL;
    }
    t->tap = NULL;
}

static int change_core(struct task *any, void *arg)
{
    const struct change *change = arg;
    const struct engine *e = change->e;

    for (unsigned i = 0; i < e->plan->n_instances; i++) {
        if (e->tasks[i]->core != any->core)
            continue;
        if (change->tasks != NULL)
            put_in(e, e->tasks[i], &change->tasks[i]);
        else
            take_out(e->tasks[i]);
    }
    return 0;
}

/* Returns the first error; the other cores are told all the same. */
static int tell(struct change *change)
{
    const struct plan *p = change->e->plan;
    int rc = 0;

    for (unsigned c = 0; c < p->n_cores; c++) {
        int one;

        if (p->cores[c].n_instances == 0)
            continue;
        one = engine_call(change->e, p->cores[c].instances[0], change_core, change);
        rc = rc != 0 ? rc : one;
    }
    return rc;
}

static void describe_outputs(const struct engine *e, unsigned i, struct tap_out *to,
                             const struct tap_wants *w)
{
    const struct plan_instance *inst = &e->plan->instances[i];
    const struct task *t = e->tasks[i];

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++, to++) {
            const struct plan_dest *d = &inst->output[o].dest[k];

            to->task = e->tasks[i];
            to->direct = d->kind == DEST_CALL;
            to->port = d->kind == DEST_PORT ? d->index : TAP_ANY_PORT;
            to->transmits = d->kind == DEST_PORT && (w->tx >> d->index & 1) != 0;
            to->named =
                (plan_facts_at_output(t->cfg, o, w->facts[inst->task]) & FACT_SUBSCRIBER) != 0;
        }
}

/* Of each instance and output: what does not change while the capture runs. */
static void describe(const struct engine *e, struct tap_set *s)
{
    struct tap_out *next = s->outs;

    for (unsigned i = 0; i < e->plan->n_instances; i++) {
        uint16_t task = e->plan->instances[i].task;

        s->tasks[i] = (struct tap_task){
            .ring = &s->rings[e->plan->instances[i].core],
            .outs = next,
            .interface = (uint16_t)(e->plan->cfg->n_ports + i),
            .named = (s->wants->facts[task] & FACT_SUBSCRIBER) != 0,
        };
        describe_outputs(e, i, next, s->wants);
        next += e->tasks[i]->n_outs;
    }
}

static void *zalloc(size_t n, size_t size)
{
    return rte_zmalloc("tap", n * size, RTE_CACHE_LINE_SIZE);
}

int tap_create(const struct engine *e, struct tap_set *s, const struct tap_wants *wants,
               uint64_t bytes)
{
    unsigned n_outs = 0;

    for (unsigned i = 0; i < e->plan->n_instances; i++)
        n_outs += e->tasks[i]->n_outs;
    *s = (struct tap_set){
        .wants = wants,
        .rings = zalloc(e->plan->n_cores, sizeof(s->rings[0])),
        .tasks = zalloc(e->plan->n_instances, sizeof(s->tasks[0])),
        .outs = zalloc(n_outs + 1, sizeof(s->outs[0])),
    };
    if (s->rings == NULL || s->tasks == NULL || s->outs == NULL)
        return -ENOMEM;
    for (unsigned c = 0; c < e->plan->n_cores; c++)
        if (tap_open_ring(&s->rings[c], wants, bytes, tap_points(e)) != 0)
            return -ENOMEM;
    describe(e, s);
    return 0;
}

void tap_free(const struct engine *e, struct tap_set *s)
{
    for (unsigned c = 0; s->rings != NULL && c < e->plan->n_cores; c++)
        tap_free_ring(&s->rings[c]);
    rte_free(s->rings);
    rte_free(s->tasks);
    rte_free(s->outs);
    *s = (struct tap_set){0};
}

int tap_install(struct engine *e, const struct tap_set *s)
{
    struct change change = {.e = e, .tasks = s->tasks};

    return tell(&change);
}

int tap_remove(struct engine *e)
{
    struct change change = {.e = e};

    return tell(&change);
}
