/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan for machines: one JSON object, whose keys do not change (doc/plan.md). */
#include "config/plan_build.h"

/* Where a value is written; comma: another one stands before it on this level. */
struct json {
    FILE *to;
    bool comma;
    unsigned depth;
};

/* A string with what RFC 8259 section 7 wants escaped. */
static void put_string(FILE *to, const char *s)
{
    fputc('"', to);
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(to, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, to);
    }
    fputc('"', to);
}

static void next(struct json *j, const char *key)
{
    if (j->comma)
        fputc(',', j->to);
    fprintf(j->to, "\n%*s", (int)j->depth * 2, "");
    if (key != NULL)
        fprintf(j->to, "\"%s\": ", key);
    j->comma = true;
}

/* bracket is '{' or '[', and '}' or ']'. key is NULL in an array. */
static void begin(struct json *j, const char *key, char bracket)
{
    next(j, key);
    fputc(bracket, j->to);
    j->depth++;
    j->comma = false;
}

static void end(struct json *j, char bracket)
{
    j->depth--;
    if (j->comma)
        fprintf(j->to, "\n%*s", (int)j->depth * 2, "");
    fputc(bracket, j->to);
    j->comma = true;
}

static void number(struct json *j, const char *key, uint64_t n)
{
    next(j, key);
    fprintf(j->to, "%llu", (unsigned long long)n);
}

static void string(struct json *j, const char *key, const char *s)
{
    next(j, key);
    put_string(j->to, s);
}

static void cores(struct json *j, const struct plan *p)
{
    char name[64];

    begin(j, "cores", '[');
    for (unsigned i = 0; i < p->n_cores; i++) {
        const struct plan_core *c = &p->cores[i];

        begin(j, NULL, '{');
        number(j, "core", i + 1);
        number(j, "cpu", c->cpu);
        number(j, "run_on", c->run_on);
        number(j, "socket", c->socket);
        begin(j, "instances", '[');
        for (uint16_t k = 0; k < c->n_instances; k++)
            string(j, NULL, instance_name(p, c->instances[k], name, sizeof(name)));
        end(j, ']');
        end(j, '}');
    }
    end(j, ']');
}

static void dest(struct json *j, const struct plan *p, const struct plan_dest *d)
{
    char name[64];

    begin(j, NULL, '{');
    switch (d->kind) {
    case DEST_PORT:
        string(j, "kind", "port");
        string(j, "port", p->cfg->ports[d->index].name);
        number(j, "queue", d->queue);
        break;
    case DEST_CALL:
        string(j, "kind", "call");
        string(j, "instance", instance_name(p, d->index, name, sizeof(name)));
        break;
    case DEST_RING:
        string(j, "kind", "ring");
        string(j, "instance", instance_name(p, p->rings[d->index].consumer, name, sizeof(name)));
        number(j, "ring", d->index);
        break;
    }
    end(j, '}');
}

/* Where an output leads; by_port: which of its destinations leads to each egress port. */
static void output(struct json *j, const struct plan *p, const char *name,
                   const struct plan_output *out)
{
    begin(j, NULL, '{');
    string(j, "name", name);
    begin(j, "destinations", '[');
    for (uint16_t k = 0; k < out->n_dests; k++)
        dest(j, p, &out->dest[k]);
    end(j, ']');
    begin(j, "by_port", '{');
    for (unsigned port = 0; port < p->cfg->n_ports; port++) {
        if (out->by_port[port] == NO_WAY)
            continue;
        next(j, NULL);
        put_string(j->to, p->cfg->ports[port].name);
        fprintf(j->to, ": %u", out->by_port[port]);
    }
    end(j, '}');
    end(j, '}');
}

static void instance(struct json *j, const struct plan *p, unsigned i)
{
    const struct plan_instance *inst = &p->instances[i];
    const struct cfg_task *task = &p->cfg->tasks[inst->task];
    char name[64];

    begin(j, NULL, '{');
    string(j, "instance", instance_name(p, i, name, sizeof(name)));
    string(j, "task", task->name);
    string(j, "type", task->schema->type);
    number(j, "worker", inst->worker);
    number(j, "core", inst->core + 1u);
    begin(j, "receives", '[');
    for (uint16_t r = 0; r < inst->n_rx; r++) {
        begin(j, NULL, '{');
        string(j, "port", p->cfg->ports[inst->rx[r].port].name);
        number(j, "queue", inst->rx[r].queue);
        end(j, '}');
    }
    end(j, ']');
    if (inst->in_ring != CFG_NONE)
        number(j, "ring", inst->in_ring);
    begin(j, "outputs", '[');
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        if (inst->output[o].n_dests > 0)
            output(j, p, task->schema->outputs[o], &inst->output[o]);
    end(j, ']');
    end(j, '}');
}

static void rings(struct json *j, const struct plan *p)
{
    char name[64];

    begin(j, "rings", '[');
    for (unsigned i = 0; i < p->n_rings; i++) {
        const struct plan_ring *r = &p->rings[i];

        begin(j, NULL, '{');
        number(j, "ring", i);
        string(j, "consumer", instance_name(p, r->consumer, name, sizeof(name)));
        number(j, "producing_cores", r->n_producers);
        number(j, "size", r->size);
        string(j, "on_full", full_policy_name(r->on_full));
        number(j, "socket", r->socket);
        end(j, '}');
    }
    end(j, ']');
}

static void ports(struct json *j, const struct plan *p)
{
    begin(j, "ports", '[');
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        const struct cfg_port *port = &p->cfg->ports[i];

        begin(j, NULL, '{');
        string(j, "port", port->name);
        string(j, "device", port->device);
        string(j, "pool", p->cfg->pools[port->pool].name);
        number(j, "rx_queues", p->rx_queues[i]);
        number(j, "tx_queues", p->tx_queues[i]);
        number(j, "rx_desc", port->rx_desc);
        number(j, "tx_desc", port->tx_desc);
        string(j, "on_full", full_policy_name(port->on_full));
        end(j, '}');
    }
    end(j, ']');
}

static void schedulers(struct json *j, const struct plan *p)
{
    begin(j, "schedulers", '[');
    for (unsigned i = 0; i < p->cfg->n_tasks; i++) {
        const struct cfg_scheduler *s;

        if (task_shapes(&p->cfg->tasks[i]) == CFG_NONE)
            continue;
        s = &p->cfg->qos.schedulers[task_shapes(&p->cfg->tasks[i])];
        begin(j, NULL, '{');
        string(j, "task", p->cfg->tasks[i].name);
        string(j, "scheduler", s->name);
        number(j, "subscribers", scheduler_subscribers(s));
        number(j, "subports", s->n_subports);
        number(j, "pipes", (uint64_t)s->n_subports * s->pipes_per_subport);
        number(j, "bytes", p->memory.task_sched[i]);
        number(j, "mbufs_queued", p->memory.task_queued[i]);
        end(j, '}');
    }
    end(j, ']');
}

static void memory(struct json *j, const struct plan *p)
{
    const struct plan_memory *mem = &p->memory;

    begin(j, "memory", '{');
    begin(j, "pools", '[');
    for (unsigned i = 0; i < p->cfg->n_pools; i++) {
        begin(j, NULL, '{');
        string(j, "pool", p->cfg->pools[i].name);
        number(j, "mbufs", p->cfg->pools[i].mbufs);
        number(j, "mbufs_needed", mem->pool_need[i]);
        number(j, "mbufs_queued", mem->pool_queued[i]);
        next(j, "overcommit");
        fputs(p->cfg->pools[i].overcommit ? "true" : "false", j->to);
        number(j, "data_room", p->cfg->pools[i].data_room);
        number(j, "bytes", mem->mbufs[i]);
        end(j, '}');
    }
    end(j, ']');
    schedulers(j, p);
    number(j, "mbufs_bytes", mem->mbufs_total);
    number(j, "subscribers_bytes", mem->tables);
    number(j, "routes_bytes", mem->routes);
    number(j, "rings_bytes", mem->rings);
    number(j, "schedulers_bytes", mem->sched);
    number(j, "total_bytes", mem->total);
    number(j, "pages_2m", mem->pages_2m);
    number(j, "pages_1g", mem->pages_1g);
    number(j, "core_pages_2m", mem->core_pages_2m);
    number(j, "core_pages_1g", mem->core_pages_1g);
    end(j, '}');
}

void plan_print_json(const struct plan *p, FILE *to)
{
    struct json j = {.to = to, .depth = 1, .comma = false};

    fputc('{', to);
    string(&j, "name", p->cfg->name);
    string(&j, "configuration", p->cfg->path);
    number(&j, "subscribers", p->cfg->n_subscribers);
    number(&j, "routes", p->cfg->n_routes);
    number(&j, "nexthops", p->cfg->n_nexthops);
    next(&j, "share_cpus");
    fputs(p->share_cpus ? "true" : "false", to);
    cores(&j, p);
    begin(&j, "instances", '[');
    for (unsigned i = 0; i < p->n_instances; i++)
        instance(&j, p, i);
    end(&j, ']');
    rings(&j, p);
    ports(&j, p);
    memory(&j, p);
    fputs("\n}\n", to);
}
