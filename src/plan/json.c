/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan for programs: one JSON object, whose keys do not change (doc/plan.md,
 * doc/schemas/plan.json). Each function below returns a value of that object, or NULL when memory
 * ran out; json_pack(), json_with_item() and json_with_key() pass a NULL part on as a NULL whole,
 * so only plan_json() has to look.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "plan/plan.h"
#include "plan/make.h"

#define NAME_ROOM  64  /* bytes of an instance's name with its worker */
#define QUEUE_ROOM 512 /* bytes of what comes to a queue */

/* Encapsulations of next hops: without or with GRE, without or with MPLS. */
#define GRE_OR_NOT  2
#define MPLS_OR_NOT 2

/* How many subscribers and next hops the configuration has on a port. */
struct port_users {
    uint32_t subscribers;
    uint32_t nexthops[GRE_OR_NOT][MPLS_OR_NOT];
};

static json_t *number(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* A name or path as JSON, which must be UTF-8: in a text that is not, '?' stands for each byte
 * outside of ASCII. */
static json_t *text(const char *s)
{
    json_t *value = json_string(s);
    char *ascii = value == NULL ? strdup(s) : NULL;

    if (ascii == NULL)
        return value;
    for (char *c = ascii; *c != '\0'; c++)
        if ((unsigned char)*c > 0x7f)
            *c = '?';
    value = json_string(ascii);
    free(ascii);
    return value;
}

static json_t *instance_text(const struct plan *p, unsigned instance)
{
    char name[NAME_ROOM];

    return json_string(instance_name(p, instance, name, sizeof(name)));
}

/* The physical core and thread are only known of a CPU that the layout's machine has. */
static json_t *core(const struct plan *p, unsigned i)
{
    const struct plan_core *c = &p->cores[i];
    const struct topo_cpu *cpu = topo_cpu(&p->cfg->topology, c->cpu);
    json_t *instances = json_array(), *object;

    for (uint16_t k = 0; k < c->n_instances; k++)
        instances = json_with_item(instances, instance_text(p, c->instances[k]));
    object = json_pack("{s:I, s:I, s:I, s:I, s:o}", "core", (json_int_t)i, "cpu",
                       (json_int_t)c->cpu, "run_on", (json_int_t)c->run_on, "socket",
                       (json_int_t)c->socket, "instances", instances);
    if (c->routes != PLAN_NONE)
        object = json_with_key(object, "routes_of", number(p->routes_on[c->routes]));
    if (cpu == NULL)
        return object;
    object = json_with_key(object, "physical_core", number(cpu->core));
    return json_with_key(object, "thread", number(cpu->thread));
}

static json_t *cores(const struct plan *p)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < p->n_cores; i++)
        array = json_with_item(array, core(p, i));
    return array;
}

/* The machine that the layout is for: the one that the configuration describes, or this one. */
static json_t *topology(const struct topology *t)
{
    unsigned threads = 1;

    for (unsigned i = 0; i < t->n_cpus; i++)
        if (t->cpu[i].thread >= threads)
            threads = t->cpu[i].thread + 1u;
    return json_pack("{s:I, s:I, s:I}", "sockets", (json_int_t)t->n_sockets, "cpus",
                     (json_int_t)t->n_cpus, "threads_per_core", (json_int_t)threads);
}

static json_t *destination(const struct plan *p, const struct plan_dest *d)
{
    switch (d->kind) {
    case DEST_PORT:
        return json_pack("{s:s, s:s, s:I}", "kind", "port", "port", p->cfg->ports[d->index].name,
                         "queue", (json_int_t)d->queue);
    case DEST_CALL:
        return json_pack("{s:s, s:o}", "kind", "call", "instance", instance_text(p, d->index));
    case DEST_RING:
        return json_pack("{s:s, s:o, s:I}", "kind", "ring", "instance",
                         instance_text(p, p->rings[d->index].consumer), "ring",
                         (json_int_t)d->index);
    }
    return NULL;
}

/* by_port: which of the destinations leads to each egress port. */
static json_t *output(const struct plan *p, const char *name, const struct plan_output *out)
{
    json_t *destinations = json_array(), *by_port = json_object();

    for (uint16_t k = 0; k < out->n_dests; k++)
        destinations = json_with_item(destinations, destination(p, &out->dest[k]));
    for (unsigned port = 0; port < p->cfg->n_ports; port++)
        if (out->by_port[port] != NO_WAY)
            by_port = json_with_key(by_port, p->cfg->ports[port].name, number(out->by_port[port]));
    return json_pack("{s:s, s:o, s:o}", "name", name, "destinations", destinations, "by_port",
                     by_port);
}

static json_t *receives(const struct plan *p, const struct plan_instance *inst)
{
    json_t *array = json_array();

    for (uint16_t r = 0; r < inst->n_rx; r++)
        array = json_with_item(array,
                               json_pack("{s:s, s:I}", "port", p->cfg->ports[inst->rx[r].port].name,
                                         "queue", (json_int_t)inst->rx[r].queue));
    return array;
}

static json_t *instance(const struct plan *p, unsigned i)
{
    const struct plan_instance *inst = &p->instances[i];
    const struct cfg_task *task = &p->cfg->tasks[inst->task];
    json_t *outputs = json_array(), *object;

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        if (inst->output[o].n_dests > 0)
            outputs =
                json_with_item(outputs, output(p, task->schema->outputs[o].name, &inst->output[o]));
    object =
        json_pack("{s:o, s:s, s:s, s:s, s:I, s:I, s:o, s:o}", "instance", instance_text(p, i),
                  "task", task->name, "type", task->schema->type, "kind",
                  task_kind_name(task->schema->kind), "worker", (json_int_t)inst->worker, "core",
                  (json_int_t)inst->core, "receives", receives(p, inst), "outputs", outputs);
    if (inst->in_ring != CFG_NONE)
        object = json_with_key(object, "ring", number(inst->in_ring));
    if (task->schema->kind == TASK_SOURCE)
        object = json_with_key(object, "keeps_frames", json_boolean(inst->keeps_frames));
    return object;
}

static json_t *instances(const struct plan *p)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < p->n_instances; i++)
        array = json_with_item(array, instance(p, i));
    return array;
}

static json_t *rings(const struct plan *p)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < p->n_rings; i++) {
        const struct plan_ring *r = &p->rings[i];

        array = json_with_item(
            array, json_pack("{s:I, s:o, s:I, s:I, s:s, s:I}", "ring", (json_int_t)i, "consumer",
                             instance_text(p, r->consumer), "producing_cores",
                             (json_int_t)r->n_producers, "size", (json_int_t)r->size, "on_full",
                             full_policy_names[r->on_full], "socket", (json_int_t)r->socket));
    }
    return array;
}

static void count_users(const struct cfg_model *m, struct port_users users[CFG_MAX_PORTS])
{
    for (uint32_t i = 0; i < m->n_subscribers; i++)
        users[m->subscribers[i].port].subscribers++;
    for (uint32_t i = 0; i < m->n_nexthops; i++) {
        const struct cfg_nexthop *hop = &m->nexthops[i];

        users[hop->port].nexthops[hop->has_gre][hop->has_mpls]++;
    }
}

static json_t *nexthops(const struct port_users *users)
{
    json_t *array = json_array();

    for (unsigned gre = 0; gre < GRE_OR_NOT; gre++)
        for (unsigned mpls = 0; mpls < MPLS_OR_NOT; mpls++)
            if (users->nexthops[gre][mpls] > 0)
                array = json_with_item(array, json_pack("{s:I, s:b, s:b}", "nexthops",
                                                        (json_int_t)users->nexthops[gre][mpls],
                                                        "gre", (int)gre, "mpls", (int)mpls));
    return array;
}

/* Each receive queue with the core that reads it and what comes to it. */
static json_t *queues(const struct plan *p, unsigned port)
{
    const struct cfg_receive *r = &p->cfg->ports[port].receive;
    json_t *array = json_array();
    char what[QUEUE_ROOM];

    for (unsigned q = 0; q < p->rx_queues[port]; q++) {
        unsigned reader = plan_queue_reader(p, port, q);
        json_t *queue =
            json_pack("{s:I, s:o, s:I, s:s, s:s}", "queue", (json_int_t)q, "instance",
                      instance_text(p, reader), "core", (json_int_t)p->instances[reader].core,
                      "pool", p->pools[plan_queue_pool(p, port, q)].name, "packets",
                      plan_queue_text(p, port, q, what, sizeof(what)));

        if (receive_by_rules(r))
            queue = json_with_key(queue, "name", json_string(r->queues[q].name));
        array = json_with_item(array, queue);
    }
    return array;
}

/* Each transmit queue with the core that fills it, and the mbufs that come to it. */
static json_t *transmit(const struct plan *p, unsigned port)
{
    json_t *array = json_array();
    char why[256];

    for (unsigned q = 0; q < p->tx_queues[port]; q++) {
        json_t *pools = json_array();
        bool fast = plan_fast_free(p, port, q, why, sizeof(why));

        for (unsigned i = 0; i < p->n_pools; i++)
            if ((p->tx[port][q].mbufs >> i & 1) != 0)
                pools = json_with_item(pools, json_string(p->pools[i].name));
        array = json_with_item(array, json_pack("{s:I, s:I, s:o, s:b, s:s}", "queue", (json_int_t)q,
                                                "core", (json_int_t)p->tx[port][q].core, "pools",
                                                pools, "fast_free", (int)fast, "why", why));
    }
    return array;
}

/* The peer of a wire is the port at its other end, or the port itself where no other names the
 * wire. */
static json_t *port(const struct plan *p, unsigned i, const struct port_users *users)
{
    const struct cfg_port *c = &p->cfg->ports[i];
    bool wire = port_is_wire(c);
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:o}",
                  "port", c->name, "kind", wire ? "wire" : (plan_port_is_pci(c) ? "pci" : "vdev"),
                  "device", text(c->device), "pool", p->cfg->pools[c->pool].name, "rx_queues",
                  (json_int_t)p->rx_queues[i], "tx_queues", (json_int_t)p->tx_queues[i], "rx_desc",
                  (json_int_t)c->rx_desc, "tx_desc", (json_int_t)c->tx_desc, "on_full",
                  full_policy_names[c->on_full], "line_rate", (json_int_t)c->line_rate, "mtu",
                  (json_int_t)c->mtu, "subscribers", (json_int_t)users->subscribers, "nexthops",
                  nexthops(users), "queues", queues(p, i), "transmit", transmit(p, i));

    if (wire)
        object =
            json_with_key(object, "peer", json_string(p->cfg->ports[wire_peer(p->cfg, i)].name));
    return object;
}

static json_t *ports(const struct plan *p)
{
    struct port_users users[CFG_MAX_PORTS] = {0};
    json_t *array = json_array();

    count_users(p->cfg, users);
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        array = json_with_item(array, port(p, i, &users[i]));
    return array;
}

/* The shards of the subports that lie whole on one, by name. */
static json_t *whole_subports(const struct cfg_scheduler *s)
{
    json_t *object = json_object();

    for (unsigned i = 0; qos_shards(s) > 1 && i < s->n_subports; i++)
        if (s->subports[i].whole)
            object = json_with_key(object, s->subports[i].name,
                                   json_integer((json_int_t)s->subports[i].shard));
    return object;
}

static json_t *schedulers(const struct plan *p)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < p->cfg->n_tasks; i++) {
        const struct cfg_task *task = &p->cfg->tasks[i];
        const struct cfg_scheduler *s;

        if (task_shapes(task) == CFG_NONE)
            continue;
        s = &p->cfg->qos.schedulers[task_shapes(task)];
        array = json_with_item(array, json_pack("{s:s, s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:I}",
                                                "task", task->name, "scheduler", s->name, "shards",
                                                (json_int_t)qos_shards(s), "whole_subports",
                                                whole_subports(s), "subscribers",
                                                (json_int_t)scheduler_subscribers(s), "subports",
                                                (json_int_t)s->n_subports, "pipes",
                                                (json_int_t)qos_shards(s) * s->pipes.n, "bytes",
                                                (json_int_t)p->memory.task_sched[i], "mbufs_queued",
                                                (json_int_t)p->memory.task_queued[i]));
    }
    return array;
}

static json_t *pools(const struct plan *p)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < p->n_pools; i++) {
        const struct cfg_pool *pool = &p->cfg->pools[p->pools[i].cfg];

        array = json_with_item(array, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:I, s:I}",
                                                "pool", p->pools[i].name, "of", pool->name,
                                                "socket", (json_int_t)p->pools[i].socket, "mbufs",
                                                (json_int_t)p->memory.pool_mbufs[i], "mbufs_needed",
                                                (json_int_t)p->memory.pool_need[i], "mbufs_queued",
                                                (json_int_t)p->memory.pool_queued[i], "overcommit",
                                                (int)pool->overcommit, "data_room",
                                                (json_int_t)pool->data_room, "bytes",
                                                (json_int_t)p->memory.mbufs[i]));
    }
    return array;
}

/* The sockets that have a copy of the routes. */
static json_t *routes_on(const struct plan *p)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < p->n_routes_on; i++)
        array = json_with_item(array, number(p->routes_on[i]));
    return array;
}

/* What may be added while the gateway runs, and the bytes that it takes among the others. */
static json_t *spare(const struct plan *p)
{
    const struct cfg_model *m = p->cfg;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "subscribers",
                     (json_int_t)room_subscribers(m) - m->n_subscribers, "prefixes",
                     (json_int_t)room_prefixes(m) - m->n_prefixes, "routes",
                     (json_int_t)room_routes(m) - m->n_routes, "routes6",
                     (json_int_t)room_routes6(m) - m->n_routes6, "profiles",
                     (json_int_t)room_profiles(&m->qos) - m->qos.n_profiles, "bytes",
                     (json_int_t)p->memory.spare);
}

static json_t *memory(const struct plan *p)
{
    const struct plan_memory *mem = &p->memory;

    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "mode", p->cfg->memory, "spare", spare(p), "pools", pools(p), "schedulers", schedulers(p),
        "routes_on", routes_on(p), "mbufs_bytes", (json_int_t)mem->mbufs_total, "subscribers_bytes",
        (json_int_t)mem->tables, "routes_bytes", (json_int_t)mem->routes, "routes_copy_bytes",
        (json_int_t)mem->routes_copy, "rings_bytes", (json_int_t)mem->rings, "schedulers_bytes",
        (json_int_t)mem->sched, "total_bytes", (json_int_t)mem->total, "dpdk_bytes",
        (json_int_t)plan_dpdk_memory(p), "pages_2m", (json_int_t)mem->pages_2m, "pages_1g",
        (json_int_t)mem->pages_1g, "core_pages_2m", (json_int_t)mem->core_pages_2m, "core_pages_1g",
        (json_int_t)mem->core_pages_1g);
}

char *plan_json(const struct plan *p, bool indented)
{
    const struct cfg_model *m = p->cfg;
    json_t *plan = json_pack(
        "{s:o, s:o, s:s, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name", text(m->name),
        "configuration", text(m->path), "version", VBNG_VERSION, "subscribers",
        (json_int_t)m->n_subscribers, "routes", (json_int_t)m->n_routes + m->n_routes6, "nexthops",
        (json_int_t)m->n_nexthops, "share_cpus", (int)p->share_cpus, "topology",
        topology(&m->topology), "cores", cores(p), "instances", instances(p), "rings", rings(p),
        "ports", ports(p), "memory", memory(p));
    char *printed =
        plan == NULL ? NULL : json_dumps(plan, indented ? JSON_INDENT(2) : JSON_COMPACT);

    json_decref(plan);
    return printed;
}
