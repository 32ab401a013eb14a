/* SPDX-License-Identifier: BSD-3-Clause */
/* First what the data path calls at each point, then how cores put taps in and take them out. */
#include "engine/tap.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "plan/facts.h"

/** A core call: the taps to put in. */
struct tap_change {
    struct engine *e;
    struct tap_task *tasks; /* by instance; NULL: take out */
};

static inline const struct tap_wants *wants_of(const struct task *t)
{
    return t->tap->ring->wants;
}

void tap_rx(const struct task *t, uint16_t port, struct rte_mbuf *const *m, uint16_t n)
{
    const struct tap_at at = {.interface = port, .kind = TAP_INTO, .port = port};

    if ((wants_of(t)->rx >> port & 1) != 0)
        tap_ring_put(t->tap->ring, &at, m, n, NULL);
}

static struct tap_at at_task(const struct task *t, enum tap_kind kind)
{
    return (struct tap_at){.interface = t->tap->interface,
                           .kind = kind,
                           .port = t->in_port != PORT_IN_MBUF ? t->in_port : TAP_ANY_PORT,
                           .named = t->tap->named};
}

static void put_drops(const struct task *t, const struct tap_at *at, struct rte_mbuf *const *m,
                      uint16_t n, const uint64_t *reasons)
{
    uint64_t wanted = wants_of(t)->reasons[t->instance], of[BURST_MAX];
    struct rte_mbuf *pick[BURST_MAX];
    uint16_t k = 0;

    for (uint16_t i = 0; i < n; i++) {
        pick[k] = m[i];
        of[k] = reasons[i];
        k += (reasons[i] & wanted) != 0;
    }
    if (k > 0)
        tap_ring_put(t->tap->ring, at, pick, k, of);
}

void tap_drops(const struct task *t, struct rte_mbuf *const *m, uint16_t n, const uint8_t *each,
               unsigned reason)
{
    const struct tap_at at = at_task(t, TAP_DROP);
    uint64_t bits[BURST_MAX];

    for (uint16_t i = 0; i < n; i++)
        bits[i] = UINT64_C(1) << (each != NULL ? each[i] : reason);
    put_drops(t, &at, m, n, bits);
}

void tap_link_full(const struct out *o, struct rte_mbuf *const *m, uint16_t n)
{
    const struct task *t = o->tap->task;
    struct tap_at at = at_task(t, TAP_DROP);
    uint64_t bits[BURST_MAX];

    at.port = o->tap->port;
    at.named = o->tap->named;
    for (uint16_t i = 0; i < n; i++)
        bits[i] = UINT64_C(1) << DROP_LINK_FULL;
    put_drops(t, &at, m, n, bits);
}

/*
 * Run handle() of a task that frees packets itself (a scheduler), which tells only by its counters
 * why. A second reference keeps the packets of the burst. Afterwards, a packet whose only reference
 * is this one was dropped, for a reason whose counter has grown by more than the drops left to the
 * engine.
 */
static void handle_and_hold(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct tap_at at = at_task(t, TAP_DROP);
    struct rte_mbuf *mine[BURST_MAX], *dropped[BURST_MAX];
    uint64_t before[N_TASK_DROPS], reasons = 0, bits[BURST_MAX];
    uint16_t held = 0, k = 0;

    for (uint16_t i = 0; i < n; i++)
        if (likely(rte_mbuf_refcnt_read(m[i]) == 1)) {
            rte_mbuf_refcnt_set(m[i], 2);
            mine[held++] = m[i];
        }
    memcpy(before, t->drops, sizeof(before));
    t->tap->handle(t, m, n);
    for (uint16_t i = 0; i < t->n_drop; i++)
        before[t->drop_reason[i]]++;
    for (unsigned i = 0; i < N_TASK_DROPS; i++)
        reasons |= (uint64_t)(t->drops[i] != before[i]) << i;
    for (uint16_t i = 0; i < held; i++) {
        dropped[k] = mine[i];
        bits[k] = reasons;
        k += rte_mbuf_refcnt_read(mine[i]) == 1;
        rte_mbuf_refcnt_set(mine[i], 1);
    }
    put_drops(t, &at, dropped, k, bits);
    rte_pktmbuf_free_bulk(dropped, k);
}

/* Stands in the place of task->handle. */
static void tap_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct tap_at at = at_task(t, TAP_INTO);
    const struct tap_wants *w = wants_of(t);

    if (w->before[t->instance])
        tap_ring_put(t->tap->ring, &at, m, n, NULL);
    if (t->type->drops_itself && w->reasons[t->instance] != 0)
        handle_and_hold(t, m, n);
    else
        t->tap->handle(t, m, n);
}

/* Stands in the place of out->send. The copies are written before the packets are sent, since they
 * belong to the receiver afterwards. Copies of packets that were not sent, which are the last of
 * the burst, are taken back. */
static void tap_send(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    const struct tap_out *to = o->tap;
    const struct task *t = to->task;
    struct tap_ring *ring = t->tap->ring;
    struct tap_at at = at_task(t, TAP_FROM);
    uint64_t head = ring->head, full = o->full;
    bool task = false, port = false;

    at.named = to->named;
    at.unpublished = !to->direct;
    if (wants_of(t)->after[t->instance])
        task = tap_ring_put(ring, &at, m, n, NULL);
    at.interface = at.port = to->port;
    if (to->transmits)
        port = tap_ring_put(ring, &at, m, n, NULL);
    to->send(o, m, n);
    if (unlikely(o->full != full) && (task || port))
        tap_ring_take_back(ring, head, (uint16_t)(n - RTE_MIN(o->full - full, (uint64_t)n)));
    if (task)
        tap_ring_publish(ring);
    if (port)
        tap_ring_publish(ring);
}

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
    uint64_t reasons = w->reasons[t->instance];

    t->tap = tap;
    tap->handle = t->handle;
    if (w->before[t->instance] || (t->type->drops_itself && reasons != 0))
        t->handle = tap_handle;
    if (takes_rx(e, t->instance, w->rx))
        t->tapped |= TAPPED_RX;
    if ((reasons & ~(UINT64_C(1) << DROP_LINK_FULL)) != 0)
        t->tapped |= TAPPED_DROPS;
    for (uint16_t i = 0; i < t->n_outs; i++)
        if (w->after[t->instance] || tap->outs[i].transmits || (reasons >> DROP_LINK_FULL & 1) != 0)
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

/* A core call: change the taps of all tasks of the core. */
static int change_core(struct task *any, void *arg)
{
    const struct tap_change *change = arg;
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

/* Fill in what does not change while the capture runs, of each instance and output. */
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
        if (tap_ring_open(&s->rings[c], wants, bytes, tap_points(e)) != 0)
            return -ENOMEM;
    describe(e, s);
    return 0;
}

void tap_free(const struct engine *e, struct tap_set *s)
{
    for (unsigned c = 0; s->rings != NULL && c < e->plan->n_cores; c++)
        tap_ring_close(&s->rings[c]);
    rte_free(s->rings);
    rte_free(s->tasks);
    rte_free(s->outs);
    *s = (struct tap_set){0};
}

int tap_install(struct engine *e, const struct tap_set *s)
{
    struct tap_change change = {.e = e, .tasks = s->tasks};

    return engine_call_cores(e, change_core, &change);
}

int tap_remove(struct engine *e)
{
    struct tap_change change = {.e = e};

    return engine_call_cores(e, change_core, &change);
}
