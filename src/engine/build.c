/* SPDX-License-Identifier: BSD-3-Clause */
/* Task instances with their outputs, and the inputs of each core. */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "engine/backlog.h"
#include "engine/engine.h"
#include "engine/link.h"

#define MAX_GATES                                                                                  \
    1024 /* outputs with back-pressure behind one input; more would drop when full instead of      \
            waiting */

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
    return engine_socket(e->plan->cores[e->plan->instances[instance].core].socket);
}

static void *zalloc(size_t size, int socket)
{
    void *p = rte_zmalloc_socket(NULL, RTE_MAX(size, 1u), RTE_CACHE_LINE_SIZE, socket);

    return p != NULL ? p : rte_zmalloc(NULL, RTE_MAX(size, 1u), RTE_CACHE_LINE_SIZE);
}

static int make_task(struct engine *e, unsigned i)
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
    return t->state == NULL || t->outs == NULL ? -ENOMEM : 0;
}

static void connect_dest(struct engine *e, struct out *o, const struct plan_dest *d)
{
    const struct port *port;
    const struct plan_ring *ring;

    switch (d->kind) {
    case DEST_PORT:
        port = &e->ports[d->index];
        link_to_port(o, port->dpdk_id, d->queue, port->cfg->on_full, port->is_wire);
        if (port->away)
            link_to_nobody(o);
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
 * Outputs with back-pressure that a burst given to an instance can reach by direct calls. A task
 * that holds packets (a scheduler) ends the search: what leaves it leaves by its own poll.
 */
static void find_gates(struct engine *e, unsigned i, bool from_poll, struct input *in,
                       struct out **gates)
{
    const struct plan_instance *inst = &e->plan->instances[i];
    struct task *t = e->tasks[i];

    if (t->type->held != NULL && !from_poll)
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
        in->away = e->ports[in->in_port].away;
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

static int init_task(struct engine *e, unsigned i, struct tables *tables)
{
    struct task *t = e->tasks[i];
    struct task_env env = {
        .plan = e->plan,
        .cfg = t->cfg,
        .instance = (uint16_t)i,
        .tables = tables,
        .pool = e->pools[t->cfg->pool],
        .socket = instance_socket(e, i),
        .tsc_hz = rte_get_tsc_hz(),
    };
    int rc = t->type->init != NULL ? t->type->init(t, &env) : 0;

    if (rc != 0)
        log_error("%s:%u: task %s did not start: %s", t->cfg->loc.file, t->cfg->loc.line,
                  t->cfg->name, strerror(-rc));
    else
        t->ready = true;
    return rc;
}

/* For the ports of tasks that have said at init that they can choose. */
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
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < e->plan->n_instances; i++)
        rc = make_task(e, i);
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
    for (unsigned i = 0; rc == 0 && i < e->plan->n_cores; i++) {
        rc = make_backlogs(e->cores[i], engine_socket(e->plan->cores[i].socket));
        if (rc != 0)
            log_error("no memory for packets that wait at ports");
    }
    return rc;
}
