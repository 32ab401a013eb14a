/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of metrics for each kind of object. */

#include <assert.h>
#include <stdio.h>

#include <rte_mempool.h>
#include <rte_ring.h>

#include "engine/drops.h"
#include "engine/ledger.h"
#include "telemetry/metrics.h"

#define READ(x)        __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define FITS(type)     _Static_assert(sizeof(type) <= METRICS_MAX_FIGURES * 8, "figures")
#define AT(type, name) offsetof(struct type, name)

/* Tasks, over all their instances. */

struct task_figures {
    uint64_t in, created, sent, consumed, held, full, stalled;
};
FITS(struct task_figures);

static const struct metric task_metrics[] = {
    {"in", "vbng_task_in_packets_total", METRIC_COUNTER, "packets", "Taken by the task",
     AT(task_figures, in)},
    {"created", "vbng_task_created_packets_total", METRIC_COUNTER, "packets", "Made by the task",
     AT(task_figures, created)},
    {"sent", "vbng_task_sent_packets_total", METRIC_COUNTER, "packets",
     "Handed on to links and ports", AT(task_figures, sent)},
    {"consumed", "vbng_task_consumed_packets_total", METRIC_COUNTER, "packets",
     "Ended here as they should", AT(task_figures, consumed)},
    {"held", "vbng_task_held_packets", METRIC_GAUGE, "packets", "Waiting in the task's queues",
     AT(task_figures, held)},
    {"stalled", "vbng_task_stalled_polls_total", METRIC_COUNTER, "polls",
     "Left out because of back-pressure", AT(task_figures, stalled)},
    {"link_full", "vbng_task_link_full_packets_total", METRIC_COUNTER, "packets",
     "Dropped because a link or port was full", AT(task_figures, full)},
    {"drop_", "vbng_task_dropped_packets_total{reason}", METRIC_COUNTER, "packets",
     "Dropped by the task, by reason", 0},
    {"stat_", "vbng_task_stat{stat}", METRIC_GAUGE, "1", "Figures that only this type of task has",
     0},
    {NULL}};

enum { TASK_DROP = 7, TASK_STAT = 8 }; /* rows */

static unsigned task_count(const void *of)
{
    return ((const struct engine *)of)->plan->cfg->n_tasks;
}

static void task_name(const void *of, unsigned i, char *name)
{
    snprintf(name, METRICS_MAX_NAME, "%s", ((const struct engine *)of)->plan->cfg->tasks[i].name);
}

static void task_read(const void *of, unsigned i, uint64_t *figures)
{
    struct task_figures *f = (struct task_figures *)figures;
    struct task_stats s;

    stats_task(of, i, &s);
    *f = (struct task_figures){.in = s.in,
                               .created = s.created,
                               .sent = s.sent,
                               .consumed = s.consumed,
                               .held = s.held,
                               .full = s.full,
                               .stalled = s.stalled};
}

static void task_extra(const void *of, unsigned i, struct metric_out *out)
{
    const struct engine *e = of;
    const char *const *names = stats_figure_names(e, i);
    struct task_stats s;

    stats_task(e, i, &s);
    for (unsigned k = 0; k < N_TASK_DROPS; k++) {
        const char *reason = drop_name(e->plan->cfg->tasks[i].schema, k);

        if (reason != NULL)
            metric_extra(out, &task_metrics[TASK_DROP], reason, s.drops[k]);
    }
    for (unsigned k = 0; names != NULL && names[k] != NULL; k++)
        metric_extra(out, &task_metrics[TASK_STAT], names[k], stats_figure(e, i, k));
}

/* Ports. */

struct port_figures {
    struct port_counters c;
    uint64_t up, resets, refused;
};
FITS(struct port_figures);

static const struct metric port_metrics[] = {
    {"rx_packets", "vbng_port_rx_packets_total", METRIC_COUNTER, "packets", "Received",
     AT(port_figures, c.rx_packets)},
    {"rx_bytes", "vbng_port_rx_bytes_total", METRIC_COUNTER, "bytes", "Received, without FCS",
     AT(port_figures, c.rx_bytes)},
    {"tx_packets", "vbng_port_tx_packets_total", METRIC_COUNTER, "packets", "Sent",
     AT(port_figures, c.tx_packets)},
    {"tx_bytes", "vbng_port_tx_bytes_total", METRIC_COUNTER, "bytes", "Sent, without FCS",
     AT(port_figures, c.tx_bytes)},
    {"rx_missed", "vbng_port_rx_missed_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(port_figures, c.rx_missed)},
    {"rx_errors", "vbng_port_rx_error_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(port_figures, c.rx_errors)},
    {"rx_no_mbuf", "vbng_port_rx_no_mbuf_total", METRIC_COUNTER, "packets", NULL,
     AT(port_figures, c.rx_no_mbuf)},
    {"tx_errors", "vbng_port_tx_error_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(port_figures, c.tx_errors)},
    {"up", "vbng_port_up", METRIC_GAUGE, "1", "1 while the link is up", AT(port_figures, up)},
    {"resets", "vbng_port_resets_total", METRIC_COUNTER, "1",
     "Times that the device forgot its counters", AT(port_figures, resets)},
    {"refused", "vbng_port_refused_total", METRIC_COUNTER, "1",
     "Connections that the peer took and ended at once", AT(port_figures, refused)},
    {NULL}};

static unsigned port_count(const void *of)
{
    return ((const struct engine *)of)->plan->cfg->n_ports;
}

static void port_name(const void *of, unsigned i, char *name)
{
    snprintf(name, METRICS_MAX_NAME, "%s", ((const struct engine *)of)->plan->cfg->ports[i].name);
}

static void port_figures_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct engine *e = of;
    struct port_figures *f = (struct port_figures *)figures;

    stats_port(e, i, &f->c);
    f->up = port_link_up(&e->ports[i]);
    f->resets = READ(e->ports[i].resets);
    f->refused = READ(e->ports[i].refused);
}

/* Pools. */

struct pool_figures {
    uint64_t size, free;
};

static const struct metric pool_metrics[] = {
    {"size", "vbng_pool_mbufs", METRIC_GAUGE, "mbufs", "All of the pool", AT(pool_figures, size)},
    {"free", "vbng_pool_free_mbufs", METRIC_GAUGE, "mbufs", "In the pool now",
     AT(pool_figures, free)},
    {NULL}};

static unsigned pool_count(const void *of)
{
    return ((const struct engine *)of)->plan->n_pools;
}

static void pool_name(const void *of, unsigned i, char *name)
{
    snprintf(name, METRICS_MAX_NAME, "%s", ((const struct engine *)of)->plan->pools[i].name);
}

static void pool_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct rte_mempool *p = ((const struct engine *)of)->pools[i];

    *(struct pool_figures *)figures =
        (struct pool_figures){.size = p->size, .free = rte_mempool_avail_count(p)};
}

/* Cores. */

struct core_figures {
    uint64_t busy, idle, rounds, empty_rounds, cpu_ns, stalls, stalled_ns;
};
FITS(struct core_figures);

static const struct metric core_metrics[] = {
    {"busy_cycles", "vbng_core_busy_cycles_total", METRIC_COUNTER, "cycles",
     "TSC cycles of rounds that moved packets", AT(core_figures, busy)},
    {"idle_cycles", "vbng_core_idle_cycles_total", METRIC_COUNTER, "cycles",
     "TSC cycles of rounds that did not", AT(core_figures, idle)},
    {"rounds", "vbng_core_rounds_total", METRIC_COUNTER, "rounds", "Over all inputs",
     AT(core_figures, rounds)},
    {"empty_rounds", "vbng_core_empty_rounds_total", METRIC_COUNTER, "rounds",
     "That moved no packet", AT(core_figures, empty_rounds)},
    {"cpu_ns", "vbng_core_cpu_seconds_total", METRIC_COUNTER, "ns", "CPU time of the thread",
     AT(core_figures, cpu_ns)},
    {"stalls", "vbng_core_stalls_total", METRIC_COUNTER, "1",
     "Times that it made no round for half a second", AT(core_figures, stalls)},
    {"stalled_ns", "vbng_core_stalled_seconds_total", METRIC_COUNTER, "ns",
     "Time in those, the present one too", AT(core_figures, stalled_ns)},
    {NULL}};

static unsigned core_count(const void *of)
{
    return ((const struct engine *)of)->plan->n_cores;
}

static void core_name(const void *of, unsigned i, char *name)
{
    const struct engine *e = of;

    /* with shared CPUs several cores have the same */
    snprintf(name, METRICS_MAX_NAME, "%u.cpu%u", i, e->plan->cores[i].run_on);
}

static void core_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct engine *e = of;
    const struct core *c = e->cores[i];

    *(struct core_figures *)figures =
        (struct core_figures){.busy = READ(c->busy),
                              .idle = READ(c->idle_cycles),
                              .rounds = READ(c->rounds),
                              .empty_rounds = READ(c->empty_rounds),
                              .cpu_ns = core_cpu_time(c),
                              .stalls = READ(e->watchdog[i].stalls),
                              .stalled_ns = READ(e->watchdog[i].stalled_ns)};
}

/* The two directions of subscribers' packets, by family. */

struct direction_figures {
    struct traffic of[N_FAMILIES];
};
FITS(struct direction_figures);

static const struct metric direction_metrics[] = {
    {"ipv4_packets", "vbng_direction_ipv4_packets_total", METRIC_COUNTER, "packets",
     "IPv4 of subscribers, found good, before it is shaped",
     AT(direction_figures, of[FAMILY_IPV4].packets)},
    {"ipv4_bytes", "vbng_direction_ipv4_bytes_total", METRIC_COUNTER, "bytes",
     "Of these, from the IPv4 header on", AT(direction_figures, of[FAMILY_IPV4].bytes)},
    {"ipv6_packets", "vbng_direction_ipv6_packets_total", METRIC_COUNTER, "packets",
     "IPv6 of subscribers, found good, before it is shaped",
     AT(direction_figures, of[FAMILY_IPV6].packets)},
    {"ipv6_bytes", "vbng_direction_ipv6_bytes_total", METRIC_COUNTER, "bytes",
     "Of these, from the IPv6 header on", AT(direction_figures, of[FAMILY_IPV6].bytes)},
    {NULL}};

static unsigned direction_count(const void *of)
{
    return 2;
}

static void direction_name(const void *of, unsigned i, char *name)
{
    snprintf(name, METRICS_MAX_NAME, "%s", i == 0 ? "up" : "down");
}

static void direction_read(const void *of, unsigned i, uint64_t *figures)
{
    for (unsigned k = 0; k < N_FAMILIES; k++)
        ((struct direction_figures *)figures)->of[k] =
            stats_traffic(of, i == 0 ? DIRECTION_UP : DIRECTION_DOWN, k);
}

/* The ledger. */

struct ledger_figures {
    uint64_t received, created, sent, consumed, dropped, held;
};
FITS(struct ledger_figures);

static const struct metric ledger_metrics[] = {
    {"received", "vbng_ledger_received_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(ledger_figures, received)},
    {"created", "vbng_ledger_created_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(ledger_figures, created)},
    {"sent", "vbng_ledger_sent_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(ledger_figures, sent)},
    {"consumed", "vbng_ledger_consumed_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(ledger_figures, consumed)},
    {"dropped", "vbng_ledger_dropped_packets_total", METRIC_COUNTER, "packets", NULL,
     AT(ledger_figures, dropped)},
    {"held", "vbng_ledger_held_packets", METRIC_GAUGE, "packets", NULL, AT(ledger_figures, held)},
    {NULL}};

static unsigned ledger_count(const void *of)
{
    return 1;
}

static void ledger_name(const void *of, unsigned i, char *name)
{
    snprintf(name, METRICS_MAX_NAME, "%s", ((const struct engine *)of)->plan->cfg->name);
}

static void ledger_figures_read(const void *of, unsigned i, uint64_t *figures)
{
    struct ledger l = ledger_read(of, NULL);

    *(struct ledger_figures *)figures = (struct ledger_figures){.received = l.received,
                                                                .created = l.created,
                                                                .sent = l.sent,
                                                                .consumed = l.consumed,
                                                                .dropped = l.dropped,
                                                                .held = l.held};
}

/*
 * Links: every way from a task instance to the next, or to a port, in the order of the plan: by
 * instance, its outputs, their destinations. So the number of a link is its place in
 * vbng --plan=json, and its struct out has the same place in its task.
 */

struct link_figures {
    uint64_t kind, sent, full, depth, size, high_water;
};

/* Values of the metric "kind": part of the interface to other programs. */
enum { KIND_CALL, KIND_RING, KIND_PORT };

static const struct metric link_metrics[] = {
    {"kind", "vbng_link_kind", METRIC_GAUGE, "1",
     "0: direct call, 1: ring to another core, 2: port", offsetof(struct link_figures, kind)},
    {"sent", "vbng_link_sent_packets_total", METRIC_COUNTER, "packets", "Handed over",
     offsetof(struct link_figures, sent)},
    {"full", "vbng_link_full_packets_total", METRIC_COUNTER, "packets",
     "Dropped because the ring or port was full", offsetof(struct link_figures, full)},
    {"depth", "vbng_link_depth_packets", METRIC_GAUGE, "packets",
     "Waiting in the ring now, with what other links put into it",
     offsetof(struct link_figures, depth)},
    {"size", "vbng_link_size_packets", METRIC_GAUGE, "packets", "That the ring can hold",
     offsetof(struct link_figures, size)},
    {"high_water", "vbng_link_high_water_packets", METRIC_GAUGE, "packets",
     "Most that the consumer of the ring has ever found",
     offsetof(struct link_figures, high_water)},
    {NULL}};

struct link {
    unsigned instance, output;
    const struct plan_dest *dest;
    const struct out *out;
};

/* Find link number i, and set *n to the number of links before it. Without such a link, dest is
 * NULL and *n is the number of all links. */
static struct link link_at(const struct engine *e, unsigned i, unsigned *n)
{
    struct link l = {0};

    *n = 0;
    for (l.instance = 0; l.instance < e->plan->n_instances; l.instance++) {
        const struct plan_instance *from = &e->plan->instances[l.instance];
        const struct out *outs = e->tasks[l.instance]->outs;

        for (l.output = 0; l.output < TASK_MAX_OUTPUTS; l.output++) {
            const struct plan_output *o = &from->output[l.output];

            if (i < *n + o->n_dests) {
                l.dest = &o->dest[i - *n];
                l.out = outs + (i - *n);
                return l;
            }
            *n += o->n_dests;
            outs += o->n_dests;
        }
    }
    return l;
}

static unsigned link_count(const void *of)
{
    unsigned n;

    link_at(of, UINT32_MAX, &n);
    return n;
}

/* Write the name of an instance: "route", or "route.2" where the task has several instances. */
static int put_instance(const struct plan *p, unsigned instance, char *to, size_t len)
{
    const struct plan_instance *inst = &p->instances[instance];
    const char *name = p->cfg->tasks[inst->task].name;
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == inst->task;
    return n == 1 ? snprintf(to, len, "%s", name) : snprintf(to, len, "%s.%u", name, inst->worker);
}

/* "route>gre_up", "route:punt>arp", "tx_cpe>cpe0": from, output unless it is the first, and to. */
static void link_name(const void *of, unsigned i, char *name)
{
    const struct engine *e = of;
    const struct plan *p = e->plan;
    unsigned before;
    struct link l = link_at(e, i, &before);
    const struct task_schema *schema = p->cfg->tasks[p->instances[l.instance].task].schema;
    char from[METRICS_MAX_NAME], to[METRICS_MAX_NAME];

    put_instance(p, l.instance, from, sizeof(from));
    if (l.dest->kind == DEST_PORT)
        snprintf(to, sizeof(to), "%s", p->cfg->ports[l.dest->index].name);
    else
        put_instance(p,
                     l.dest->kind == DEST_RING ? p->rings[l.dest->index].consumer : l.dest->index,
                     to, sizeof(to));
    snprintf(name, METRICS_MAX_NAME, "%.31s%s%.10s>%.20s", from, l.output > 0 ? ":" : "",
             l.output > 0 ? schema->outputs[l.output].name : "", to);
}

static void link_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct engine *e = of;
    struct link_figures *f = (struct link_figures *)figures;
    unsigned before;
    struct link l = link_at(e, i, &before);

    assert(l.dest != NULL); /* nobody asks beyond link_count() */
    *f = (struct link_figures){.kind = l.dest->kind == DEST_CALL   ? KIND_CALL
                                       : l.dest->kind == DEST_RING ? KIND_RING
                                                                   : KIND_PORT,
                               .sent = READ(l.out->sent),
                               .full = READ(l.out->full)};
    if (l.dest->kind == DEST_RING) {
        f->depth = rte_ring_count(e->rings[l.dest->index]);
        f->size = rte_ring_get_capacity(e->rings[l.dest->index]);
        f->high_water = READ(e->ring_input[l.dest->index]->high_water);
    }
}

int metrics_engine_add(const struct engine *e)
{
    static struct metric_group groups[] = {{.object = "task",
                                            .metrics = task_metrics,
                                            .count = task_count,
                                            .name = task_name,
                                            .read = task_read,
                                            .extra = task_extra},
                                           {.object = "port",
                                            .metrics = port_metrics,
                                            .words = port_drops,
                                            .n_words = N_PORT_DROPS,
                                            .count = port_count,
                                            .name = port_name,
                                            .read = port_figures_read},
                                           {.object = "pool",
                                            .metrics = pool_metrics,
                                            .count = pool_count,
                                            .name = pool_name,
                                            .read = pool_read},
                                           {.object = "core",
                                            .metrics = core_metrics,
                                            .count = core_count,
                                            .name = core_name,
                                            .read = core_read},
                                           {.object = "ledger",
                                            .metrics = ledger_metrics,
                                            .words = ledger_words,
                                            .n_words = N_LEDGER_WORDS,
                                            .count = ledger_count,
                                            .name = ledger_name,
                                            .read = ledger_figures_read},
                                           {.object = "direction",
                                            .metrics = direction_metrics,
                                            .count = direction_count,
                                            .name = direction_name,
                                            .read = direction_read},
                                           {.object = "link",
                                            .metrics = link_metrics,
                                            .count = link_count,
                                            .name = link_name,
                                            .read = link_read}};

    for (unsigned i = 0; i < RTE_DIM(groups); i++) {
        int rc;

        groups[i].of = e;
        rc = metrics_add(&groups[i]);
        if (rc != 0)
            return rc;
    }
    return metrics_queues_add(e);
}
