/* SPDX-License-Identifier: BSD-3-Clause */
/* Subports of the qos tasks as metrics: what all subscribers of one have got together, by class, in
 * all instances of the task: they bear the number of the first. */
#include <stdio.h>

#include "control/view.h"
#include "telemetry/metrics.h"

struct subport_figures {
    uint64_t rate, bytes, packets, dropped, held;
};
_Static_assert(sizeof(struct subport_figures) <= METRICS_MAX_FIGURES * 8, "figures");

enum { CLASS_BYTES = 5, CLASS_PACKETS, CLASS_DROPPED, CLASS_MARKED, CLASS_HELD }; /* rows */

static const struct metric subport_metrics[] = {
    {"rate", "vbng_subport_rate_bps", METRIC_GAUGE, "bit/s",
     "That its subscribers may send together", offsetof(struct subport_figures, rate)},
    {"bytes", "vbng_subport_sent_bytes_total", METRIC_COUNTER, "bytes",
     "Sent, with the scheduler's overhead", offsetof(struct subport_figures, bytes)},
    {"packets", "vbng_subport_sent_packets_total", METRIC_COUNTER, "packets", "Sent",
     offsetof(struct subport_figures, packets)},
    {"dropped", "vbng_subport_dropped_packets_total", METRIC_COUNTER, "packets",
     "Dropped by its queues", offsetof(struct subport_figures, dropped)},
    {"held", "vbng_subport_held_packets", METRIC_GAUGE, "packets", "Waiting in its queues",
     offsetof(struct subport_figures, held)},
    [CLASS_BYTES] = {"bytes_", "vbng_subport_class_sent_bytes_total{class}", METRIC_COUNTER,
                     "bytes", "Sent of a class, with the scheduler's overhead", 0},
    [CLASS_PACKETS] = {"packets_", "vbng_subport_class_sent_packets_total{class}", METRIC_COUNTER,
                       "packets", "Sent of a class", 0},
    [CLASS_DROPPED] = {"dropped_", "vbng_subport_class_dropped_packets_total{class}",
                       METRIC_COUNTER, "packets", "Dropped by the queues of a class", 0},
    [CLASS_MARKED] = {"marked_", "vbng_subport_class_marked_packets_total{class}", METRIC_COUNTER,
                      "packets", "In which congestion was marked", 0},
    [CLASS_HELD] = {"held_", "vbng_subport_class_held_packets{class}", METRIC_GAUGE, "packets",
                    "Waiting in the queues of a class", 0},
    {NULL}};

static unsigned subport_count(const void *of)
{
    const struct control *c = of;
    unsigned n = 0;

    for (const struct shaper *s = next_shaper(c, NULL); s != NULL; s = next_shaper(c, s))
        n += s->q->shape->n_subports;
    return n;
}

/* Find the first instance of the task that has subport i of all, and set *subport to its number
 * there. i < subport_count(). */
static const struct shaper *shaper_of(const struct control *c, unsigned i, unsigned *subport)
{
    const struct shaper *s = c->shaper;

    while (i >= s->q->shape->n_subports) {
        i -= s->q->shape->n_subports;
        s += s->n_shards;
    }
    *subport = i;
    return s;
}

static void subport_name(const void *of, unsigned i, char *name)
{
    unsigned subport;
    const struct shaper *s = shaper_of(of, i, &subport);

    snprintf(name, METRICS_MAX_NAME, "%s.%u %s", s->task->cfg->name, s->task->worker,
             s->q->shape->subports[subport].name);
}

static struct sched_class read_class(const struct shaper *s, unsigned subport, unsigned class)
{
    struct sched_class sum = {0};

    task_class_add(s, subport, class, &sum);
    return sum;
}

static void subport_read(const void *of, unsigned i, uint64_t *figures)
{
    struct subport_figures *f = (struct subport_figures *)figures;
    unsigned subport;
    const struct shaper *s = shaper_of(of, i, &subport);

    f->rate = __atomic_load_n(&s->subport_rate[subport], __ATOMIC_RELAXED);
    for (unsigned k = 0; k < QOS_CLASSES; k++) {
        struct sched_class sum;

        if (!qos_class_used(s->q->shape, k))
            continue;
        sum = read_class(s, subport, k);
        f->bytes += sum.bytes;
        f->packets += sum.sent;
        f->dropped += sum.tail + sum.aqm;
        f->held += class_waiting(&sum);
    }
}

static void subport_classes(const void *of, unsigned i, struct metric_out *out)
{
    unsigned subport;
    const struct shaper *s = shaper_of(of, i, &subport);

    for (unsigned k = 0; k < QOS_CLASSES; k++) {
        const char *name = class_name(k);
        struct sched_class sum;

        if (!qos_class_used(s->q->shape, k))
            continue;
        sum = read_class(s, subport, k);
        metric_extra(out, &subport_metrics[CLASS_BYTES], name, sum.bytes);
        metric_extra(out, &subport_metrics[CLASS_PACKETS], name, sum.sent);
        metric_extra(out, &subport_metrics[CLASS_DROPPED], name, sum.tail + sum.aqm);
        metric_extra(out, &subport_metrics[CLASS_MARKED], name, sum.marked);
        metric_extra(out, &subport_metrics[CLASS_HELD], name, class_waiting(&sum));
    }
}

int metrics_subports_add(const struct control *c)
{
    static struct metric_group group = {.object = "subport",
                                        .metrics = subport_metrics,
                                        .count = subport_count,
                                        .name = subport_name,
                                        .read = subport_read,
                                        .extra = subport_classes};

    group.of = c;
    return metrics_add(&group);
}
