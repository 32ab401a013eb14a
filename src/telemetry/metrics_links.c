/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links in the order of the plan: by instance, its outputs, their destinations. So their numbers
 * are the places in vbng --plan=json, and each is the out of the same place in its task.
 */
#include "telemetry/metrics_links.h"

#include <assert.h>
#include <stdio.h>

#include <rte_ring.h>

#include "telemetry/metrics.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

struct link_figures {
    uint64_t kind, sent, full, depth, size, high_water;
};

/* Other tools know the numbers of the kinds. */
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

/* The link of that number; instance is that of the plan's end where there are fewer. *n: how many
 * there are before it. */
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

/* "route", or "route.2" where the task has several instances. */
static int put_instance(const struct plan *p, unsigned instance, char *to, size_t len)
{
    const struct plan_instance *inst = &p->instances[instance];
    const char *name = p->cfg->tasks[inst->task].name;
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == inst->task;
    return n == 1 ? snprintf(to, len, "%s", name) : snprintf(to, len, "%s.%u", name, inst->worker);
}

/* "route>gre_up", "route:punt>arp", "tx_cpe>cpe0" */
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
             l.output > 0 ? schema->outputs[l.output] : "", to);
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

int metrics_links_add(const struct engine *e)
{
    static struct metric_group links = {.object = "link",
                                        .metrics = link_metrics,
                                        .count = link_count,
                                        .name = link_name,
                                        .read = link_read};

    links.of = e;
    return metrics_add(&links);
}
