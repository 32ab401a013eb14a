/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making what a plan says, in two steps: engine_open() makes pools, rings and ports, so that the
 * tables can be filled with what the ports are; engine_build() makes the task instances with their
 * outputs, and the inputs of each core. engine_free() in engine.c takes all of it down.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include "base/log.h"
#include "engine/backlog.h"
#include "engine/eal.h"
#include "engine/engine.h"
#include "engine/link.h"
#include "engine/pools/pools.h"
#include "engine/queues/queues.h"
#include "plan/facts.h"
#include "plan/limits.h"

/* Outputs with back-pressure behind one input: those beyond drop when full instead of waiting. */
#define MAX_GATES 1024

static_assert(LIMIT_DEVICES <= RTE_MAX_ETHPORTS && LIMIT_WIRE_QUEUES <= RTE_PMD_RING_MAX_TX_RINGS,
              "--check knows the limits of the DPDK that a start meets");
#ifdef RTE_MAX_MEMZONE /* from DPDK 23.07 on a default, the same number, that has no name */
static_assert(LIMIT_MEMZONES <= RTE_MAX_MEMZONE, "--check knows how many memzones there may be");
#endif
static_assert(PLAN_MAX_CORES < RTE_MAX_LCORE, "the main thread is an lcore, too");

static int open_ring(struct engine *e, unsigned i)
{
    const struct plan_ring *r = &e->plan->rings[i];
    unsigned flags = RING_F_SC_DEQ | (r->n_producers == 1 ? RING_F_SP_ENQ : 0);
    char name[RTE_RING_NAMESIZE];

    snprintf(name, sizeof(name), "link_%u", i);
    e->rings[i] = queues_make_ring(name, r->size, eal_socket(r->socket), flags);
    if (e->rings[i] == NULL) {
        log_error("no memory for a ring of %u packets: %s", r->size, rte_strerror(rte_errno));
        return -ENOMEM;
    }
    return 0;
}

int engine_open(struct engine *e, const struct plan *p)
{
    int rc;

    memset(e, 0, sizeof(*e));
    e->plan = p;
    e->rings = calloc(p->n_rings + 1, sizeof(e->rings[0]));
    e->ring_input = calloc(p->n_rings + 1, sizeof(e->ring_input[0]));
    e->tasks = calloc(p->n_instances + 1, sizeof(e->tasks[0]));
    e->cores = calloc(p->n_cores + 1, sizeof(e->cores[0]));
    e->watchdog = calloc(p->n_cores + 1, sizeof(e->watchdog[0]));
    if (e->rings == NULL || e->ring_input == NULL || e->tasks == NULL || e->cores == NULL ||
        e->watchdog == NULL)
        return -ENOMEM;
    rc = pools_open(e);
    for (unsigned i = 0; rc == 0 && i < p->n_rings; i++)
        rc = open_ring(e, i);
    for (unsigned i = 0; rc == 0 && i < p->cfg->n_ports; i++)
        rc = port_open(&e->ports[i], p, i, e->pools);
    return rc;
}

static const struct cfg_task *task_cfg(const struct engine *e, unsigned instance)
{
    return &e->plan->cfg->tasks[e->plan->instances[instance].task];
}

static const struct task_type *find_type(const struct task_schema *schema)
{
    for (unsigned i = 0; task_types[i] != NULL; i++)
        if (&task_types[i]->schema == schema)
            return task_types[i];
    return NULL;
}

static int instance_socket(const struct engine *e, unsigned instance)
{
    return eal_socket(e->plan->cores[e->plan->instances[instance].core].socket);
}

static void *zalloc(size_t size, int socket)
{
    void *p = rte_zmalloc_socket(NULL, RTE_MAX(size, 1u), RTE_CACHE_LINE_SIZE, socket);

    return p != NULL ? p : rte_zmalloc(NULL, RTE_MAX(size, 1u), RTE_CACHE_LINE_SIZE);
}

/* Has a task a connected output to the slow path? */
static bool punts(const struct cfg_task *t)
{
    const struct task_output *out = t->schema->outputs;

    for (unsigned o = 1; out[0].name != NULL && out[o].name != NULL; o++)
        if (strcmp(out[o].name, "punt") == 0 && t->output[o].n_dests > 0)
            return true;
    return false;
}

/* Make what limits the sources of an instance that punts. facts: of the packets that it takes. */
static int limit_punts(struct engine *e, struct task *t, uint32_t facts)
{
    if (!punts(t->cfg))
        return 0;
    t->punted = zalloc(sizeof(*t->punted), instance_socket(e, t->instance));
    if (t->punted == NULL)
        return -ENOMEM;
    t->punted->rates = &e->punt_rates;
    t->punted->by_subscriber = (plan_facts_at_output(t->cfg, 0, facts) & FACT_SUBSCRIBER) != 0;
    return 0;
}

static int make_task(struct engine *e, unsigned i, uint32_t facts)
{
    const struct plan_instance *inst = &e->plan->instances[i];
    const struct cfg_task *cfg = task_cfg(e, i);
    int socket = instance_socket(e, i);
    struct task *t = zalloc(sizeof(*t), socket);

    if (t == NULL)
        return -ENOMEM;
    e->tasks[i] = t;
    t->type = find_type(cfg->schema);
    t->handle = t->type->handle;
    t->cfg = cfg;
    t->in_port = PORT_IN_MBUF;
    t->instance = (uint16_t)i;
    t->worker = inst->worker;
    t->core = inst->core;
    t->state = zalloc(t->type->state_size, socket);
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        t->n_outs += inst->output[o].n_dests;
    t->outs = zalloc(t->n_outs * sizeof(t->outs[0]), socket);
    return t->state == NULL || t->outs == NULL ? -ENOMEM : limit_punts(e, t, facts);
}

static void connect_dest(struct engine *e, struct out *o, const struct plan_dest *d)
{
    const struct port *port;
    const struct plan_ring *ring;

    switch (d->kind) {
    case DEST_PORT:
        port = &e->ports[d->index];
        link_to_port(o, port->dpdk_id, d->queue, port->cfg->on_full, port->is_wire);
        if (port->peer_gone)
            link_down(o);
        break;
    case DEST_CALL:
        link_to_task(o, e->tasks[d->index]);
        break;
    case DEST_RING:
        ring = &e->plan->rings[d->index];
        link_to_ring(o, e->rings[d->index], ring->on_full, ring->n_producers);
        break;
    }
}

static void connect_outputs(struct engine *e, unsigned i)
{
    const struct plan_instance *inst = &e->plan->instances[i];
    struct task *t = e->tasks[i];
    struct out *next = t->outs;

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        const struct plan_output *po = &inst->output[o];

        if (po->n_dests == 0)
            continue;
        t->output[o] = next;
        t->n_dests[o] = po->n_dests;
        t->by_port[o] = po->by_port;
        for (uint16_t k = 0; k < po->n_dests; k++)
            connect_dest(e, next++, &po->dest[k]);
    }
}

static void add_gate(struct input *in, struct out **gates, struct out *out)
{
    for (uint16_t i = 0; i < in->n_gates; i++)
        if (gates[i] == out)
            return;
    if (in->n_gates < MAX_GATES)
        gates[in->n_gates++] = out;
}

/*
 * Find the gates of an input: the outputs with back-pressure that a burst may reach by direct calls
 * from instance i on. The search ends at a task that holds all its packets (a scheduler), which
 * leave by its own poll().
 */
static void find_gates(struct engine *e, unsigned i, bool from_poll, struct input *in,
                       struct out **gates)
{
    const struct plan_instance *inst = &e->plan->instances[i];
    struct task *t = e->tasks[i];

    if (t->type->held != NULL && !t->type->sends_at_once && !from_poll)
        return;
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            struct out *out = &t->output[o][k];

            if (inst->output[o].dest[k].kind == DEST_CALL)
                find_gates(e, inst->output[o].dest[k].index, false, in, gates);
            else if (out->wait)
                add_gate(in, gates, out);
        }
    }
}

static int set_gates(struct engine *e, unsigned i, struct input *in)
{
    struct out *found[MAX_GATES];

    find_gates(e, i, in->kind == INPUT_POLL, in, found);
    if (in->n_gates == 0)
        return 0;
    in->gates = zalloc(in->n_gates * sizeof(found[0]), instance_socket(e, i));
    if (in->gates == NULL)
        return -ENOMEM;
    memcpy(in->gates, found, in->n_gates * sizeof(found[0]));
    return 0;
}

static int add_inputs(struct engine *e, struct core *c, unsigned i)
{
    const struct plan_instance *inst = &e->plan->instances[i];
    struct task *t = e->tasks[i];
    struct input common = {.task = t, .burst = t->cfg->burst};
    unsigned first = c->n_inputs;
    int rc = 0;

    for (uint16_t r = 0; r < inst->n_rx; r++) {
        struct input *in = &c->inputs[c->n_inputs++];

        *in = common;
        in->kind = INPUT_PORT;
        in->in_port = inst->rx[r].port;
        in->dpdk_port = e->ports[in->in_port].dpdk_id;
        in->peer_gone = e->ports[in->in_port].peer_gone;
        in->queue = inst->rx[r].queue;
    }
    if (inst->in_ring != CFG_NONE) {
        struct input *in = &c->inputs[c->n_inputs++];

        *in = common;
        in->kind = INPUT_RING;
        in->ring = e->rings[inst->in_ring];
        e->ring_input[inst->in_ring] = in;
    }
    if (t->type->poll != NULL) {
        struct input *in = &c->inputs[c->n_inputs++];

        *in = common;
        in->kind = INPUT_POLL;
    }
    for (unsigned k = first; rc == 0 && k < c->n_inputs; k++)
        rc = set_gates(e, i, &c->inputs[k]);
    return rc;
}

static int make_core(struct engine *e, unsigned i)
{
    const struct plan_core *pc = &e->plan->cores[i];
    struct core *c = zalloc(sizeof(*c), pc->socket);
    unsigned most = 0;
    int rc = 0;

    if (c == NULL)
        return -ENOMEM;
    e->cores[i] = c;
    c->index = (uint16_t)i;
    c->idle = e->plan->share_cpus ? IDLE_SLEEP : e->plan->cfg->idle;
    c->phase = &e->phase;
    for (uint16_t k = 0; k < pc->n_instances; k++)
        most += e->plan->instances[pc->instances[k]].n_rx + 2u;
    c->inputs = zalloc(most * sizeof(c->inputs[0]), pc->socket);
    if (c->inputs == NULL)
        return -ENOMEM;
    for (uint16_t k = 0; rc == 0 && k < pc->n_instances; k++)
        rc = add_inputs(e, c, pc->instances[k]);
    return rc;
}

/* Instances are started in their order, so the first one of a task is before all others. */
static const struct task *first_of(const struct engine *e, unsigned instance)
{
    for (unsigned i = 0; i < instance; i++)
        if (e->plan->instances[i].task == e->plan->instances[instance].task)
            return e->tasks[i];
    return NULL;
}

static int init_task(struct engine *e, unsigned i, struct tables *tables)
{
    struct task *t = e->tasks[i];
    struct task_env env = {
        .plan = e->plan,
        .cfg = t->cfg,
        .instance = (uint16_t)i,
        .first = first_of(e, i),
        .tables = tables,
        .pool = e->pools[e->plan->instances[i].pool],
        .socket = instance_socket(e, i),
        .tsc_hz = rte_get_tsc_hz(),
        .punt_rates = &e->punt_rates,
        .link_ups = e->link_ups,
    };
    int rc = t->type->init != NULL ? t->type->init(t, &env) : 0;

    if (rc != 0)
        log_error("%s:%u: task %s did not start: %s", t->cfg->loc.file, t->cfg->loc.line,
                  t->cfg->name, strerror(-rc));
    else
        t->ready = true;
    return rc;
}

/* Make a backlog for each port of a task that ranks packets (task->hold, set by its init()). */
static int make_backlogs(struct core *c, int socket)
{
    for (unsigned i = 0; i < c->n_inputs; i++) {
        struct input *in = &c->inputs[i];

        if (in->kind != INPUT_PORT || in->task->hold == 0)
            continue;
        in->backlog = backlog_create(in->task, socket);
        if (in->backlog == NULL)
            return -ENOMEM;
    }
    return 0;
}

int engine_build(struct engine *e, struct tables *tables)
{
    uint32_t facts[CFG_MAX_TASKS];
    int rc = 0;

    plan_facts(e->plan->cfg, facts);
    for (unsigned i = 0; rc == 0 && i < e->plan->n_instances; i++)
        rc = make_task(e, i, facts[e->plan->instances[i].task]);
    for (unsigned i = 0; rc == 0 && i < e->plan->n_instances; i++)
        connect_outputs(e, i);
    for (unsigned i = 0; rc == 0 && i < e->plan->n_cores; i++)
        rc = make_core(e, i);
    if (rc != 0) {
        log_error("no memory for the tasks");
        return rc;
    }
    for (unsigned i = 0; rc == 0 && i < e->plan->n_instances; i++)
        rc = init_task(e, i, tables);
    for (unsigned i = 0; rc == 0 && i < e->plan->n_instances; i++)
        link_ahead(e->tasks[i]);
    for (unsigned i = 0; rc == 0 && e->plan->cfg->fuse && i < e->plan->n_instances; i++)
        link_chain(e->tasks[i]);
    for (unsigned i = 0; rc == 0 && i < e->plan->n_cores; i++) {
        rc = make_backlogs(e->cores[i], eal_socket(e->plan->cores[i].socket));
        if (rc != 0)
            log_error("no memory for packets that wait at ports");
    }
    return rc;
}
