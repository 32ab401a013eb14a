/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reload.h"

#include <stdbool.h>
#include <string.h>

/* Each port, pool, task and so on of a model becomes an object with the keys of the configuration,
 * so that a difference has a name. */

typedef json_t *describe_fn(const struct cfg_model *m, unsigned i);

static json_t *text(const char *s)
{
    return s != NULL ? json_pack("s", s) : json_pack("n");
}

static json_t *bytes(const void *p, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(((const uint8_t *)p)[i]));
    return list;
}

/* Room that a file does not ask for is no difference: what is added needs room, whatever made it.
 */
static json_t *top(const struct cfg_model *m, unsigned i)
{
    json_t *o = json_pack("{s:o, s:o, s:o, s:i, s:i, s:b, s:I, s:i}", "memory", text(m->memory),
                          "eal", text(m->eal), "punt_socket", text(m->punt_socket), "routes_per",
                          (int)m->routes_per, "idle", (int)m->idle, "fuse", (int)m->fuse, "drain",
                          (json_int_t)m->drain_ns, "items", (int)m->n_items);

    (void)i;
    if (m->max_subscribers != 0)
        json_object_set_new(o, "max_subscribers", json_integer(m->max_subscribers));
    if (m->max_routes != 0)
        json_object_set_new(o, "max_routes", json_integer(m->max_routes));
    if (m->max_routes6 != 0)
        json_object_set_new(o, "max_routes6", json_integer(m->max_routes6));
    if (m->max_prefixes != 0)
        json_object_set_new(o, "max_prefixes", json_integer(m->max_prefixes));
    if (m->qos.max_profiles != 0)
        json_object_set_new(o, "max_profiles", json_integer(m->qos.max_profiles));
    return o;
}

static json_t *pool(const struct cfg_model *m, unsigned i)
{
    const struct cfg_pool *p = &m->pools[i];

    return json_pack("{s:o, s:I, s:i, s:i, s:i, s:i, s:b}", "name", text(p->name), "mbufs",
                     (json_int_t)p->mbufs, "data_room", (int)p->data_room, "socket", (int)p->socket,
                     "per", (int)p->per, "cache", (int)p->cache, "overcommit", (int)p->overcommit);
}

static json_t *receive(const struct cfg_receive *r)
{
    json_t *queues = json_array();

    for (unsigned q = 0; q < r->n_queues; q++)
        json_array_append_new(
            queues, json_pack("[o, o]", text(r->queues[q].name),
                              bytes(r->queues[q].range,
                                    r->queues[q].n_ranges * sizeof(r->queues[q].range[0]))));
    return json_pack("[b, i, I, b, b, b, o]", (int)r->given, (int)r->by, (json_int_t)r->fields,
                     (int)r->symmetric, (int)r->inner, (int)r->nearest, queues);
}

static json_t *port(const struct cfg_model *m, unsigned i)
{
    const struct cfg_port *p = &m->ports[i];

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:i, s:i, s:b, s:i, s:I, s:o}", "name",
        text(p->name), "device", text(p->device), "pool", text(m->pools[p->pool].name), "mac",
        p->mac_set ? bytes(p->mac, 6) : json_pack("n"), "mtu", (int)p->mtu, "tpid", (int)p->tpid,
        "addresses", bytes(p->addresses, p->n_addresses * sizeof(p->addresses[0])), "addresses6",
        bytes(p->addresses6, p->n_addresses6 * sizeof(p->addresses6[0])), "rx_desc",
        (int)p->rx_desc, "tx_desc", (int)p->tx_desc, "promiscuous", (int)p->promiscuous, "on_full",
        (int)p->on_full, "line_rate", (json_int_t)p->line_rate, "receive", receive(&p->receive));
}

static json_t *params(const struct param_value *v)
{
    json_t *list = json_array();

    for (unsigned k = 0; k < TASK_MAX_PARAMS; k++)
        json_array_append_new(list, json_pack("[b, I, I, o, i, f]", (int)v[k].set,
                                              (json_int_t)v[k].u, (json_int_t)v[k].u2, text(v[k].s),
                                              (int)v[k].load.unit, v[k].load.value));
    return list;
}

static json_t *outputs(const struct cfg_model *m, const struct cfg_task *t)
{
    json_t *list = json_array();

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (unsigned k = 0; k < t->output[o].n_dests; k++) {
            const struct cfg_dest *d = &t->output[o].dest[k];

            json_array_append_new(list, json_pack("[i, o]", (int)o,
                                                  text(d->is_port ? m->ports[d->index].name
                                                                  : m->tasks[d->index].name)));
        }
    return list;
}

static json_t *task(const struct cfg_model *m, unsigned i)
{
    const struct cfg_task *t = &m->tasks[i];
    json_t *from = json_array(), *items = json_array();

    for (unsigned k = 0; k < t->n_from; k++)
        json_array_append_new(from, json_pack("[o, I]", text(m->ports[t->from[k]].name),
                                              (json_int_t)t->from_queues[k]));
    for (unsigned k = 0; k < t->n_items; k++)
        json_array_append_new(
            items, json_pack("[o, o]", text(t->items[k].name), params(t->items[k].param)));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:i, s:i, s:o}", "name", text(t->name),
                     "type", text(t->schema->type), "from", from, "outputs", outputs(m, t),
                     "parameters", params(t->param), "items", items, "ring", (json_int_t)t->ring,
                     "on_full", (int)t->on_full, "burst", (int)t->burst, "pool",
                     text(m->pools[t->pool].name));
}

static json_t *layout(const struct cfg_model *m, unsigned i)
{
    json_t *list = json_array();

    (void)i;
    for (unsigned p = 0; p < m->n_placements; p++) {
        const struct cfg_placement *pl = &m->placements[p];

        json_array_append_new(list, bytes(pl->cpus, pl->n_cpus * sizeof(pl->cpus[0])));
        for (unsigned k = 0; k < pl->n_tasks; k++)
            json_array_append_new(list, json_pack("[o, i]", text(m->tasks[pl->tasks[k].task].name),
                                                  (int)pl->tasks[k].first));
    }
    return json_pack("{s:o}", "tasks on cores", list);
}

static json_t *subports(const struct cfg_model *m, const struct cfg_scheduler *s)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < s->n_subports; i++) {
        const struct cfg_subport *p = &s->subports[i];

        json_array_append_new(list, json_pack("[o, o, i, i, b, o]", text(p->name),
                                              text(m->ports[p->port].name), (int)p->svlan_first,
                                              (int)p->svlan_last, (int)p->whole,
                                              bytes(p->class_rate, sizeof(p->class_rate))));
    }
    return list;
}

static json_t *scheduler(const struct cfg_model *m, unsigned i)
{
    const struct cfg_scheduler *s = &m->qos.schedulers[i];

    return json_pack("{s:o, s:i, s:I, s:i, s:I, s:b, s:I, s:o, s:i, s:o}", "name", text(s->name),
                     "backend", (int)s->backend, "rate", (json_int_t)s->rate, "overhead",
                     (int)s->overhead, "mtu", (json_int_t)s->mtu, "oversubscription",
                     (int)s->oversubscription, "catch_up (ns)", (json_int_t)s->catch_up_ns,
                     "classes", bytes(s->class, sizeof(s->class)), "non_ip queue",
                     (int)s->non_ip_queue, "subports", subports(m, s));
}

/* --- comparing --- */

static void append(json_t *restart, const char *kind, const char *name, const char *what)
{
    if (name != NULL)
        json_array_append_new(restart, json_sprintf("%s '%s': %s", kind, name, what));
    else
        json_array_append_new(restart, json_sprintf("%s: %s", kind, what));
}

/* Append the keys of two objects that differ, where they are numbers with their values. */
static void compare(const char *kind, json_t *now, json_t *other, json_t *restart)
{
    const char *name = json_string_value(json_object_get(other, "name")), *key;
    json_t *value;
    char what[128];

    json_object_foreach(other, key, value)
    {
        json_t *was = json_object_get(now, key);

        if (json_equal(was, value))
            continue;
        if (json_is_integer(value) && json_is_integer(was))
            snprintf(what, sizeof(what), "%s %lld -> %lld", key, (long long)json_integer_value(was),
                     (long long)json_integer_value(value));
        else
            snprintf(what, sizeof(what), "%s", key);
        append(restart, kind, name, what);
    }
}

static json_t *named(const json_t *list, const char *name)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
            return one;
    }
    return NULL;
}

static json_t *all_of(const struct cfg_model *m, unsigned n, describe_fn *describe)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, describe(m, i));
    return list;
}

static void compare_all(const char *kind, json_t *now, json_t *other, json_t *restart)
{
    json_t *one;
    size_t i;

    json_array_foreach(other, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        json_t *was = named(now, name);

        if (was != NULL)
            compare(kind, was, one, restart);
        else
            append(restart, kind, name, "is new");
    }
    json_array_foreach(now, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));

        if (named(other, name) == NULL)
            append(restart, kind, name, "is gone");
    }
    json_decref(now);
    json_decref(other);
}

static void compare_one(const char *kind, json_t *now, json_t *other, json_t *restart)
{
    compare(kind, now, other, restart);
    json_decref(now);
    json_decref(other);
}

void restart_needed(const struct cfg_model *now, const struct cfg_model *other, json_t *restart)
{
    compare_one("configuration", top(now, 0), top(other, 0), restart);
    compare_all("pool", all_of(now, now->n_pools, pool), all_of(other, other->n_pools, pool),
                restart);
    compare_all("port", all_of(now, now->n_ports, port), all_of(other, other->n_ports, port),
                restart);
    compare_all("scheduler", all_of(now, now->qos.n_schedulers, scheduler),
                all_of(other, other->qos.n_schedulers, scheduler), restart);
    compare_all("task", all_of(now, now->n_tasks, task), all_of(other, other->n_tasks, task),
                restart);
    compare_one("layout", layout(now, 0), layout(other, 0), restart);
}
