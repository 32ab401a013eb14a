/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan for people: one line that sums it up, the picture, and tables of all its parts; and the
 * words for what has no name in the configuration. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/make.h"

#define MAX_COLUMNS 8
#define CELL        512

/* --- words --- */

/* How many instances a task has. */
static unsigned task_instances(const struct plan *p, unsigned task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == task;
    return n;
}

char *instance_name(const struct plan *p, unsigned instance, char *buf, size_t len)
{
    const struct plan_instance *inst = &p->instances[instance];
    const char *name = p->cfg->tasks[inst->task].name;

    if (task_instances(p, inst->task) == 1)
        snprintf(buf, len, "%s", name);
    else
        snprintf(buf, len, "%s.%u", name, inst->worker);
    return buf;
}

char *number_list(const uint16_t *n, unsigned count, char *buf, size_t len)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0, last; i < count && used < len; i = last + 1) {
        const char *sep = i > 0 ? "," : "";

        for (last = i; last + 1 < count && n[last + 1] == n[last] + 1; last++)
            ;
        if (last == i)
            used += (size_t)snprintf(buf + used, len - used, "%s%u", sep, n[i]);
        else
            used += (size_t)snprintf(buf + used, len - used, "%s%u-%u", sep, n[i], n[last]);
    }
    return buf;
}

const char *ring_producers(const struct plan_ring *r)
{
    return r->n_producers == 1 ? "SP" : "MP";
}

/* --- a table --- */

/* Rows of cells, printed when all widths are known. */
struct table {
    unsigned n_columns, n;
    char (*row)[MAX_COLUMNS][CELL];
};

static bool table_start(struct table *t, unsigned rows, unsigned columns)
{
    *t = (struct table){.n_columns = columns, .row = calloc(rows + 1, sizeof(t->row[0]))};
    return t->row != NULL;
}

static void cell(struct table *t, unsigned column, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Append to a cell of the last row. */
static void cell(struct table *t, unsigned column, const char *fmt, ...)
{
    char *text = t->row[t->n][column];
    size_t used = strlen(text);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text + used, CELL - used, fmt, ap);
    va_end(ap);
}

static void header(struct table *t, const char *const *names)
{
    for (unsigned c = 0; c < t->n_columns; c++)
        cell(t, c, "%s", names[c]);
    t->n++;
}

static void table_end(struct table *t, FILE *to)
{
    size_t width[MAX_COLUMNS] = {0};

    for (unsigned r = 0; r < t->n; r++)
        for (unsigned c = 0; c < t->n_columns; c++)
            if (strlen(t->row[r][c]) > width[c])
                width[c] = strlen(t->row[r][c]);
    for (unsigned r = 0; r < t->n; r++) {
        unsigned last = t->n_columns - 1;

        while (last > 0 && t->row[r][last][0] == '\0')
            last--;
        fputs(" ", to);
        for (unsigned c = 0; c < last; c++)
            fprintf(to, " %-*s ", (int)width[c], t->row[r][c]);
        fprintf(to, " %s\n", t->row[r][last]);
    }
    free(t->row);
}

/* --- the parts of the plan --- */

static void print_cores(const struct plan *p, FILE *to)
{
    static const char *const names[] = {"core", "CPU", "socket", "tasks", "routes"};
    struct table t;
    char name[64];

    if (!table_start(&t, p->n_cores + 1, p->n_routes_on > 1 ? 5 : 4))
        return;
    fputs("\ncores\n", to);
    header(&t, names);
    for (unsigned i = 0; i < p->n_cores; i++, t.n++) {
        const struct plan_core *c = &p->cores[i];

        cell(&t, 0, "%u", i);
        cell(&t, 1, "%u", c->cpu);
        if (c->run_on != c->cpu)
            cell(&t, 1, " (runs on %u)", c->run_on);
        cell(&t, 2, "%u", c->socket);
        for (uint16_t k = 0; k < c->n_instances; k++)
            cell(&t, 3, "%s%s", k > 0 ? ", " : "",
                 instance_name(p, c->instances[k], name, sizeof(name)));
        if (c->routes != PLAN_NONE)
            cell(&t, 4, "of socket %u", p->routes_on[c->routes]);
    }
    table_end(&t, to);
}

static void link_row(struct table *t, const struct plan *p, unsigned from, unsigned output,
                     const struct plan_dest *d)
{
    const struct plan_instance *inst = &p->instances[from];
    const struct cfg_task *task = &p->cfg->tasks[inst->task];
    const struct plan_ring *r;
    char name[64];

    cell(t, 0, "%s", instance_name(p, from, name, sizeof(name)));
    if (output > 0)
        cell(t, 0, " %s", task->schema->outputs[output].name);
    switch (d->kind) {
    case DEST_PORT:
        cell(t, 1, "port %s tx %u", p->cfg->ports[d->index].name, d->queue);
        cell(t, 2, "port");
        cell(t, 5, "%s", full_policy_names[p->cfg->ports[d->index].on_full]);
        break;
    case DEST_CALL:
        cell(t, 1, "%s", instance_name(p, d->index, name, sizeof(name)));
        cell(t, 2, "call");
        break;
    case DEST_RING:
        r = &p->rings[d->index];
        cell(t, 1, "%s", instance_name(p, r->consumer, name, sizeof(name)));
        cell(t, 2, "ring");
        cell(t, 3, "%u", r->size);
        cell(t, 4, "%s", ring_producers(r));
        cell(t, 5, "%s", full_policy_names[r->on_full]);
        break;
    }
    t->n++;
}

static void print_links(const struct plan *p, FILE *to)
{
    static const char *const names[] = {"from", "to", "kind", "size", "producers", "when full"};
    unsigned rows = 1;
    struct table t;

    for (unsigned i = 0; i < p->n_instances; i++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            rows += p->instances[i].output[o].n_dests;
    if (!table_start(&t, rows, 6))
        return;
    fputs("\nlinks\n", to);
    header(&t, names);
    for (unsigned i = 0; i < p->n_instances; i++) {
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
            const struct plan_output *out = &p->instances[i].output[o];

            for (uint16_t k = 0; k < out->n_dests; k++)
                link_row(&t, p, i, o, &out->dest[k]);
        }
    }
    table_end(&t, to);
}

/* The pools of a port's receive queues. */
static void pool_cell(struct table *t, const struct plan *p, unsigned port)
{
    uint64_t told = 0;

    for (unsigned q = 0; q == 0 || q < p->rx_queues[port]; q++) {
        unsigned pool = plan_queue_pool(p, port, q);

        if ((told >> pool & 1) == 0)
            cell(t, 4, "%s%s", told != 0 ? ", " : "", p->pools[pool].name);
        told |= UINT64_C(1) << pool;
    }
}

static void print_ports(const struct plan *p, FILE *to)
{
    static const char *const names[] = {"port", "device", "rx queues", "tx queues", "pool"};
    struct table t;

    if (!table_start(&t, p->cfg->n_ports + 1, 5))
        return;
    fputs("\nports\n", to);
    header(&t, names);
    for (unsigned i = 0; i < p->cfg->n_ports; i++, t.n++) {
        const struct cfg_port *port = &p->cfg->ports[i];

        cell(&t, 0, "%s", port->name);
        cell(&t, 1, "%s", port->device);
        cell(&t, 2, "%u x %u", p->rx_queues[i], port->rx_desc);
        cell(&t, 3, "%u x %u", p->tx_queues[i], port->tx_desc);
        pool_cell(&t, p, i);
    }
    table_end(&t, to);
}

/* Ports of which there is something to say: several queues, or a configuration of them. */
static bool has_queues(const struct plan *p, unsigned port)
{
    return p->rx_queues[port] > 1 || p->cfg->ports[port].receive.given;
}

/* Which core reads each receive queue, and what comes to it. */
static void print_queues(const struct plan *p, FILE *to)
{
    static const char *const names[] = {"port", "queue", "core", "task", "packets"};
    char text[CELL], name[64];
    unsigned rows = 1;
    struct table t;

    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        rows += has_queues(p, i) ? p->rx_queues[i] : 0u;
    if (rows == 1 || !table_start(&t, rows, 5))
        return;
    fputs("\nreceive queues\n", to);
    header(&t, names);
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        const struct cfg_port *port = &p->cfg->ports[i];

        for (unsigned q = 0; has_queues(p, i) && q < p->rx_queues[i]; q++, t.n++) {
            unsigned reader = plan_queue_reader(p, i, q);

            cell(&t, 0, "%s", port->name);
            cell(&t, 1, "%u", q);
            if (receive_by_rules(&port->receive))
                cell(&t, 1, " %s", port->receive.queues[q].name);
            cell(&t, 2, "%u", p->instances[reader].core);
            cell(&t, 3, "%s", instance_name(p, reader, name, sizeof(name)));
            cell(&t, 4, "%s", plan_queue_text(p, i, q, text, sizeof(text)));
        }
    }
    table_end(&t, to);
}

/* Which core fills each transmit queue of a device, and whether that may put mbufs back without a
 * look at each. */
static void print_transmit(const struct plan *p, FILE *to)
{
    static const char *const names[] = {"port", "queue", "core", "fast free"};
    char why[CELL];
    unsigned rows = 1;
    struct table t;

    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        rows += port_is_wire(&p->cfg->ports[i]) ? 0u : p->tx_queues[i];
    if (rows == 1 || !table_start(&t, rows, 4))
        return;
    fputs("\ntransmit queues\n", to);
    header(&t, names);
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        for (unsigned q = 0; !port_is_wire(&p->cfg->ports[i]) && q < p->tx_queues[i]; q++, t.n++) {
            bool fast = plan_fast_free(p, i, q, why, sizeof(why));

            cell(&t, 0, "%s", p->cfg->ports[i].name);
            cell(&t, 1, "%u", q);
            cell(&t, 2, "%u", p->tx[i][q].core);
            cell(&t, 3, "%s%s", fast ? "where the device has it" : "no: ", why);
        }
    }
    table_end(&t, to);
}

static void size_row(struct table *t, const char *what, uint64_t bytes)
{
    char size[32];

    cell(t, 0, "%s", what);
    cell(t, 1, "%s", format_size(bytes, size, sizeof(size)));
}

static unsigned wire_ends(const struct cfg_model *m)
{
    unsigned n = 0;

    for (unsigned i = 0; i < m->n_ports; i++)
        n += port_is_wire(&m->ports[i]);
    return n;
}

static void scheduler_rows(struct table *t, const struct plan *p)
{
    for (unsigned i = 0; i < p->cfg->n_tasks; i++) {
        const struct cfg_scheduler *s;

        if (task_shapes(&p->cfg->tasks[i]) == CFG_NONE)
            continue;
        s = &p->cfg->qos.schedulers[task_shapes(&p->cfg->tasks[i])];
        cell(t, 0, "scheduler ");
        size_row(t, p->cfg->tasks[i].name, p->memory.task_sched[i]);
        cell(t, 2, "%u subscribers, ", scheduler_subscribers(s));
        if (qos_shards(s) > 1)
            cell(t, 2, "%u shards of ", qos_shards(s));
        cell(t, 2, "%u pipes in %u subports; full queues hold %llu mbufs", s->pipes.n,
             s->n_subports, (unsigned long long)p->memory.task_queued[i]);
        t->n++;
    }
}

/* The source that finds its frames in the mbufs of a pool as it has sent them: one at most. */
static void kept_cell(struct table *t, const struct plan *p, unsigned pool)
{
    char name[64];

    for (unsigned i = 0; i < p->n_instances; i++)
        if (p->instances[i].keeps_frames && p->instances[i].pool == pool)
            cell(t, 2, "; the frames of %s stay in them", instance_name(p, i, name, sizeof(name)));
}

static void print_memory(const struct plan *p, FILE *to)
{
    const struct plan_memory *mem = &p->memory;
    struct table t;

    if (!table_start(&t, p->n_pools + p->cfg->n_tasks + 7, 3))
        return;
    fputs("\nmemory\n", to);
    for (unsigned i = 0; i < p->n_pools; i++, t.n++) {
        const struct cfg_pool *pool = &p->cfg->pools[p->pools[i].cfg];

        cell(&t, 0, "pool ");
        size_row(&t, p->pools[i].name, mem->mbufs[i]);
        cell(&t, 2, "%u mbufs with %u bytes of data room", mem->pool_mbufs[i], pool->data_room);
        if (p->n_pools > p->cfg->n_pools || pool->socket >= 0)
            cell(&t, 2, " on socket %u", p->pools[i].socket);
        cell(&t, 2, "; ");
        if (mem->pool_need[i] > 0)
            cell(&t, 2, "at least %u are needed", mem->pool_need[i]);
        if (pool->overcommit && mem->pool_queued[i] > 0)
            cell(&t, 2, ", and %llu more if all queues of schedulers are full (overcommit)",
                 (unsigned long long)mem->pool_queued[i]);
        if (mem->pool_need[i] + mem->pool_spare[i] > mem->pool_mbufs[i])
            cell(&t, 2, ", %llu once all who may be added fill their queues",
                 (unsigned long long)(mem->pool_need[i] + mem->pool_spare[i]));
        if (mem->pool_need[i] == 0)
            cell(&t, 2, "nothing takes from it");
        kept_cell(&t, p, i);
    }
    size_row(&t, "subscribers", mem->tables);
    cell(&t, 2, "%u records and their indices", subscriber_records(p->cfg));
    if (room_subscribers(p->cfg) > p->cfg->n_subscribers)
        cell(&t, 2, ", %u of them configured", p->cfg->n_subscribers);
    if (subscriber_records(p->cfg) > room_subscribers(p->cfg))
        cell(&t, 2, ", %u for who was just removed",
             subscriber_records(p->cfg) - room_subscribers(p->cfg));
    if (room_prefixes(p->cfg) != 0)
        cell(&t, 2, ", %u IPv6 prefixes", room_prefixes(p->cfg));
    t.n++;
    size_row(&t, "routes", mem->routes);
    cell(&t, 2, "%u routes, %u next hops", p->cfg->n_routes + p->cfg->n_routes6,
         p->cfg->n_nexthops);
    if (p->cfg->n_sets > 0)
        cell(&t, 2, ", %u sets of them", p->cfg->n_sets);
    if (spare_routes(p->cfg) > 0)
        cell(&t, 2, "; room for %u and %u", room_routes(p->cfg) + room_routes6(p->cfg),
             room_nexthops(p->cfg));
    for (unsigned i = 0; p->n_routes_on > 1 && i < p->n_routes_on; i++)
        cell(&t, 2, "%s %u", i == 0 ? "; a copy on each of the sockets" : ",", p->routes_on[i]);
    t.n++;
    size_row(&t, "rings", mem->rings);
    cell(&t, 2, "%u between cores, %u in wires", p->n_rings, wire_ends(p->cfg));
    t.n++;
    scheduler_rows(&t, p);
    size_row(&t, "spare", mem->spare);
    cell(&t, 2, "of these: %u subscribers and %u routes",
         room_subscribers(p->cfg) - p->cfg->n_subscribers, room_routes(p->cfg) - p->cfg->n_routes);
    if (room_routes6(p->cfg) > 0)
        cell(&t, 2, ", %u of IPv6", room_routes6(p->cfg) - p->cfg->n_routes6);
    if (p->cfg->qos.n_schedulers > 0)
        cell(&t, 2, ", %u profiles in each scheduler,",
             room_profiles(&p->cfg->qos) - p->cfg->qos.n_profiles);
    cell(&t, 2, " may be added while it runs");
    t.n++;
    size_row(&t, "total", mem->total);
    cell(&t, 2, "%u huge pages of 2 MiB or %u of 1 GiB", mem->pages_2m, mem->pages_1g);
    t.n++;
    cell(&t, 0, "one core");
    cell(&t, 2, "mbufs on up to %u pages of 2 MiB or %u of 1 GiB", mem->core_pages_2m,
         mem->core_pages_1g);
    t.n++;
    table_end(&t, to);
}

/* Where the subports of the schedulers are that have shards, and what follows from it. */
static void print_shards(const struct plan *p, FILE *to)
{
    for (unsigned i = 0; i < p->cfg->qos.n_schedulers; i++) {
        const struct cfg_scheduler *s = &p->cfg->qos.schedulers[i];

        if (qos_shards(s) == 1)
            continue;
        fprintf(to, "\nscheduler %s: %u shards; the rate of the port is shared\n", s->name,
                qos_shards(s));
        for (unsigned k = 0; k < s->n_subports; k++) {
            const struct cfg_subport *sp = &s->subports[k];

            if (sp->whole)
                fprintf(to, "  subport %s  whole on shard %u, as it says: its rates are exact\n",
                        sp->name, sp->shard);
            else
                fprintf(to,
                        "  subport %s  across all shards, a part of its %u subscribers on each: "
                        "its rates are shared\n",
                        sp->name, sp->n_pipes);
        }
    }
}

void plan_print_text(const struct plan *p, FILE *to)
{
    const struct cfg_model *m = p->cfg;
    char size[32];

    fprintf(to,
            "%s: %u ports, %u subscribers, %u routes; %u tasks in %u instances on %u core%s; %s\n",
            m->name, m->n_ports, m->n_subscribers, m->n_routes + m->n_routes6, m->n_tasks,
            p->n_instances, p->n_cores, p->n_cores == 1 ? "" : "s",
            format_size(p->memory.total, size, sizeof(size)));
    if (p->share_cpus)
        fputs("cores share CPUs: good to see that it works, but figures are meaningless\n", to);
    plan_draw(p, to);
    print_cores(p, to);
    print_links(p, to);
    print_ports(p, to);
    print_queues(p, to);
    print_transmit(p, to);
    print_shards(p, to);
    print_memory(p, to);
}
