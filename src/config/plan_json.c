/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan for machines: one JSON object, whose keys do not change (doc/plan.md). */
#include "config/json_write.h"
#include "config/plan_build.h"

static void cores(struct json *j, const struct plan *p)
{
    char name[64];

    json_begin(j, "cores", '[');
    for (unsigned i = 0; i < p->n_cores; i++) {
        const struct plan_core *c = &p->cores[i];

        json_begin(j, NULL, '{');
        json_add_number(j, "core", i + 1);
        json_add_number(j, "cpu", c->cpu);
        json_add_number(j, "run_on", c->run_on);
        json_add_number(j, "socket", c->socket);
        json_begin(j, "instances", '[');
        for (uint16_t k = 0; k < c->n_instances; k++)
            json_add_string(j, NULL, instance_name(p, c->instances[k], name, sizeof(name)));
        json_end(j, ']');
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void dest(struct json *j, const struct plan *p, const struct plan_dest *d)
{
    char name[64];

    json_begin(j, NULL, '{');
    switch (d->kind) {
    case DEST_PORT:
        json_add_string(j, "kind", "port");
        json_add_string(j, "port", p->cfg->ports[d->index].name);
        json_add_number(j, "queue", d->queue);
        break;
    case DEST_CALL:
        json_add_string(j, "kind", "call");
        json_add_string(j, "instance", instance_name(p, d->index, name, sizeof(name)));
        break;
    case DEST_RING:
        json_add_string(j, "kind", "ring");
        json_add_string(j, "instance",
                        instance_name(p, p->rings[d->index].consumer, name, sizeof(name)));
        json_add_number(j, "ring", d->index);
        break;
    }
    json_end(j, '}');
}

/* Where an output leads; by_port: which of its destinations leads to each egress port. */
static void output(struct json *j, const struct plan *p, const char *name,
                   const struct plan_output *out)
{
    json_begin(j, NULL, '{');
    json_add_string(j, "name", name);
    json_begin(j, "destinations", '[');
    for (uint16_t k = 0; k < out->n_dests; k++)
        dest(j, p, &out->dest[k]);
    json_end(j, ']');
    json_begin(j, "by_port", '{');
    for (unsigned port = 0; port < p->cfg->n_ports; port++)
        if (out->by_port[port] != NO_WAY)
            json_add_number(j, p->cfg->ports[port].name, out->by_port[port]);
    json_end(j, '}');
    json_end(j, '}');
}

static void instance(struct json *j, const struct plan *p, unsigned i)
{
    const struct plan_instance *inst = &p->instances[i];
    const struct cfg_task *task = &p->cfg->tasks[inst->task];
    char name[64];

    json_begin(j, NULL, '{');
    json_add_string(j, "instance", instance_name(p, i, name, sizeof(name)));
    json_add_string(j, "task", task->name);
    json_add_string(j, "type", task->schema->type);
    json_add_number(j, "worker", inst->worker);
    json_add_number(j, "core", inst->core + 1u);
    json_begin(j, "receives", '[');
    for (uint16_t r = 0; r < inst->n_rx; r++) {
        json_begin(j, NULL, '{');
        json_add_string(j, "port", p->cfg->ports[inst->rx[r].port].name);
        json_add_number(j, "queue", inst->rx[r].queue);
        json_end(j, '}');
    }
    json_end(j, ']');
    if (inst->in_ring != CFG_NONE)
        json_add_number(j, "ring", inst->in_ring);
    json_begin(j, "outputs", '[');
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        if (inst->output[o].n_dests > 0)
            output(j, p, task->schema->outputs[o], &inst->output[o]);
    json_end(j, ']');
    json_end(j, '}');
}

static void rings(struct json *j, const struct plan *p)
{
    char name[64];

    json_begin(j, "rings", '[');
    for (unsigned i = 0; i < p->n_rings; i++) {
        const struct plan_ring *r = &p->rings[i];

        json_begin(j, NULL, '{');
        json_add_number(j, "ring", i);
        json_add_string(j, "consumer", instance_name(p, r->consumer, name, sizeof(name)));
        json_add_number(j, "producing_cores", r->n_producers);
        json_add_number(j, "size", r->size);
        json_add_string(j, "on_full", full_policy_name(r->on_full));
        json_add_number(j, "socket", r->socket);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void ports(struct json *j, const struct plan *p)
{
    json_begin(j, "ports", '[');
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        const struct cfg_port *port = &p->cfg->ports[i];

        json_begin(j, NULL, '{');
        json_add_string(j, "port", port->name);
        json_add_string(j, "device", port->device);
        json_add_string(j, "pool", p->cfg->pools[port->pool].name);
        json_add_number(j, "rx_queues", p->rx_queues[i]);
        json_add_number(j, "tx_queues", p->tx_queues[i]);
        json_add_number(j, "rx_desc", port->rx_desc);
        json_add_number(j, "tx_desc", port->tx_desc);
        json_add_string(j, "on_full", full_policy_name(port->on_full));
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void schedulers(struct json *j, const struct plan *p)
{
    json_begin(j, "schedulers", '[');
    for (unsigned i = 0; i < p->cfg->n_tasks; i++) {
        const struct cfg_scheduler *s;

        if (task_shapes(&p->cfg->tasks[i]) == CFG_NONE)
            continue;
        s = &p->cfg->qos.schedulers[task_shapes(&p->cfg->tasks[i])];
        json_begin(j, NULL, '{');
        json_add_string(j, "task", p->cfg->tasks[i].name);
        json_add_string(j, "scheduler", s->name);
        json_add_number(j, "subscribers", scheduler_subscribers(s));
        json_add_number(j, "subports", s->n_subports);
        json_add_number(j, "pipes", (uint64_t)s->n_subports * s->pipes_per_subport);
        json_add_number(j, "bytes", p->memory.task_sched[i]);
        json_add_number(j, "mbufs_queued", p->memory.task_queued[i]);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void memory(struct json *j, const struct plan *p)
{
    const struct plan_memory *mem = &p->memory;

    json_begin(j, "memory", '{');
    json_begin(j, "pools", '[');
    for (unsigned i = 0; i < p->cfg->n_pools; i++) {
        json_begin(j, NULL, '{');
        json_add_string(j, "pool", p->cfg->pools[i].name);
        json_add_number(j, "mbufs", p->cfg->pools[i].mbufs);
        json_add_number(j, "mbufs_needed", mem->pool_need[i]);
        json_add_number(j, "mbufs_queued", mem->pool_queued[i]);
        json_add_bool(j, "overcommit", p->cfg->pools[i].overcommit);
        json_add_number(j, "data_room", p->cfg->pools[i].data_room);
        json_add_number(j, "bytes", mem->mbufs[i]);
        json_end(j, '}');
    }
    json_end(j, ']');
    schedulers(j, p);
    json_add_number(j, "mbufs_bytes", mem->mbufs_total);
    json_add_number(j, "subscribers_bytes", mem->tables);
    json_add_number(j, "routes_bytes", mem->routes);
    json_add_number(j, "rings_bytes", mem->rings);
    json_add_number(j, "schedulers_bytes", mem->sched);
    json_add_number(j, "total_bytes", mem->total);
    json_add_number(j, "pages_2m", mem->pages_2m);
    json_add_number(j, "pages_1g", mem->pages_1g);
    json_add_number(j, "core_pages_2m", mem->core_pages_2m);
    json_add_number(j, "core_pages_1g", mem->core_pages_1g);
    json_end(j, '}');
}

void plan_print_json(const struct plan *p, FILE *to)
{
    struct json j = {.to = to, .depth = 1, .comma = false};

    fputc('{', to);
    json_add_string(&j, "name", p->cfg->name);
    json_add_string(&j, "configuration", p->cfg->path);
    json_add_number(&j, "subscribers", p->cfg->n_subscribers);
    json_add_number(&j, "routes", p->cfg->n_routes);
    json_add_number(&j, "nexthops", p->cfg->n_nexthops);
    json_add_bool(&j, "share_cpus", p->share_cpus);
    cores(&j, p);
    json_begin(&j, "instances", '[');
    for (unsigned i = 0; i < p->n_instances; i++)
        instance(&j, p, i);
    json_end(&j, ']');
    rings(&j, p);
    ports(&j, p);
    memory(&j, p);
    fputs("\n}\n", to);
}
