/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "control/show/find.h"
#include "engine/ledger.h"
#include "telemetry/metrics.h"

#define PPM 1000000

/* --- instances of qos tasks: lag and error are those of the last interval of a second --- */

struct shaper_figures {
    uint64_t held, lag_p50, lag_p99, lag_max, lost, limited, under, over, error;
};

static const struct metric shaper_metrics[] = {
    {"held", "vbng_qos_held_packets", METRIC_GAUGE, "packets", "Waiting in the scheduler",
     offsetof(struct shaper_figures, held)},
    {"lag_p50_ns", "vbng_qos_lag_p50_seconds", METRIC_GAUGE, "ns",
     "Later than an ideal shaper: median", offsetof(struct shaper_figures, lag_p50)},
    {"lag_p99_ns", "vbng_qos_lag_p99_seconds", METRIC_GAUGE, "ns",
     "Later than an ideal shaper: 99 of 100 packets", offsetof(struct shaper_figures, lag_p99)},
    {"lag_max_ns", "vbng_qos_lag_max_seconds", METRIC_GAUGE, "ns",
     "Later than an ideal shaper: the worst packet", offsetof(struct shaper_figures, lag_max)},
    {"lost_cycles", "vbng_qos_lost_cycles_total", METRIC_COUNTER, "cycles",
     "TSC cycles for which nobody got credits", offsetof(struct shaper_figures, lost)},
    {"limited", "vbng_qos_limited_subscribers", METRIC_GAUGE, "1",
     "Held back during all of the last interval", offsetof(struct shaper_figures, limited)},
    {"under", "vbng_qos_under_subscribers", METRIC_GAUGE, "1", "Of them more than 1 % too slow",
     offsetof(struct shaper_figures, under)},
    {"over", "vbng_qos_over_subscribers", METRIC_GAUGE, "1", "Of them more than 1 % too fast",
     offsetof(struct shaper_figures, over)},
    {"error_ppm", "vbng_qos_shaping_error_ppm", METRIC_GAUGE, "ppm",
     "Farthest from its rate that a limited subscriber was",
     offsetof(struct shaper_figures, error)},
    {NULL}};

static unsigned shaper_count(const void *of)
{
    return ((const struct control *)of)->n_shapers;
}

static void shaper_name(const void *of, unsigned i, char *name)
{
    const struct task *t = ((const struct control *)of)->shaper[i].task;

    snprintf(name, METRICS_MAX_NAME, "%s.%u", t->cfg->name, t->worker);
}

static uint64_t lag_ns(const struct shaper *s, double p)
{
    return (uint64_t)(1e9 * qos_seconds(s->q, hist_percentile(&s->lag, p)));
}

static void shaper_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct shaper *s = &((const struct control *)of)->shaper[i];

    *(struct shaper_figures *)figures =
        (struct shaper_figures){.held = task_held(s->task),
                                .lag_p50 = lag_ns(s, 0.5),
                                .lag_p99 = lag_ns(s, 0.99),
                                .lag_max = lag_ns(s, 1),
                                .lost = sched_lost_cycles(s->q->sched),
                                .limited = s->error.limited,
                                .under = s->error.under,
                                .over = s->error.over,
                                .error = (uint64_t)(PPM * fabs(s->error.worst) + 0.5)};
}

/* --- subscribers, as they were at the last sample: no core is asked --- */

struct way_figures {
    uint64_t bytes, packets, bps, sojourn, rate, shaped, drops, drop_pps;
};

struct subscriber_figures {
    struct way_figures way[QOS_DIRECTIONS];
    uint64_t error;
};
_Static_assert(sizeof(struct subscriber_figures) <= METRICS_MAX_FIGURES * 8, "figures");

#define WAY(which, field) offsetof(struct subscriber_figures, way[which].field)

static const struct metric subscriber_metrics[] = {
    {"up_bytes", "vbng_subscriber_up_bytes_total", METRIC_COUNTER, "bytes",
     "Sent upstream, with the scheduler's overhead", WAY(QOS_UP, bytes)},
    {"up_packets", "vbng_subscriber_up_packets_total", METRIC_COUNTER, "packets", "Sent upstream",
     WAY(QOS_UP, packets)},
    {"up_bps", "vbng_subscriber_up_bps", METRIC_GAUGE, "bit/s",
     "Sent upstream in the last second, with the scheduler's overhead", WAY(QOS_UP, bps)},
    {"up_sojourn_ns", "vbng_subscriber_up_sojourn_seconds", METRIC_GAUGE, "ns",
     "Moving average of the time in the queue, upstream", WAY(QOS_UP, sojourn)},
    {"up_rate", "vbng_subscriber_up_profile_rate_bps", METRIC_GAUGE, "bit/s",
     "Of the profile, upstream", WAY(QOS_UP, rate)},
    {"up_shaped_ppm", "vbng_subscriber_up_shaped_ppm", METRIC_GAUGE, "ppm",
     "Of the last second: delivered by configured rate, upstream; 0: not limited",
     WAY(QOS_UP, shaped)},
    {"down_bytes", "vbng_subscriber_down_bytes_total", METRIC_COUNTER, "bytes",
     "Sent downstream, with the scheduler's overhead", WAY(QOS_DOWN, bytes)},
    {"down_packets", "vbng_subscriber_down_packets_total", METRIC_COUNTER, "packets",
     "Sent downstream", WAY(QOS_DOWN, packets)},
    {"down_bps", "vbng_subscriber_down_bps", METRIC_GAUGE, "bit/s",
     "Sent downstream in the last second, with the scheduler's overhead", WAY(QOS_DOWN, bps)},
    {"down_sojourn_ns", "vbng_subscriber_down_sojourn_seconds", METRIC_GAUGE, "ns",
     "Moving average of the time in the queue, downstream", WAY(QOS_DOWN, sojourn)},
    {"down_rate", "vbng_subscriber_down_profile_rate_bps", METRIC_GAUGE, "bit/s",
     "Of the profile, downstream", WAY(QOS_DOWN, rate)},
    {"down_shaped_ppm", "vbng_subscriber_down_shaped_ppm", METRIC_GAUGE, "ppm",
     "Of the last second: delivered by configured rate, downstream; 0: not limited",
     WAY(QOS_DOWN, shaped)},
    {"error_ppm", "vbng_subscriber_shaping_error_ppm", METRIC_GAUGE, "ppm",
     "Farthest that he was from the rate of his profile, up- or downstream, if limited",
     offsetof(struct subscriber_figures, error)},
    /* the last DROP_ROWS: only where all schedulers count drops of a subscriber */
    {"up_drops", "vbng_subscriber_up_dropped_packets_total", METRIC_COUNTER, "packets",
     "Dropped by the scheduler, upstream", WAY(QOS_UP, drops)},
    {"up_drop_pps", "vbng_subscriber_up_drop_pps", METRIC_GAUGE, "packets/s",
     "Dropped by the scheduler in the last second, upstream", WAY(QOS_UP, drop_pps)},
    {"down_drops", "vbng_subscriber_down_dropped_packets_total", METRIC_COUNTER, "packets",
     "Dropped by the scheduler, downstream", WAY(QOS_DOWN, drops)},
    {"down_drop_pps", "vbng_subscriber_down_drop_pps", METRIC_GAUGE, "packets/s",
     "Dropped by the scheduler in the last second, downstream", WAY(QOS_DOWN, drop_pps)},
    {NULL}};

#define DROP_ROWS 4

static unsigned subscriber_count(const void *of)
{
    return control_model(of)->n_subscribers;
}

static void subscriber_name(const void *of, unsigned i, char *name)
{
    const struct cfg_model *m = control_model(of);
    const struct cfg_subscriber *s = &m->subscribers[i];

    if (running_has(m, i + 1))
        snprintf(name, METRICS_MAX_NAME, "%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
    else
        name[0] = '\0'; /* the id is free */
}

static bool subscriber_has(const void *of, unsigned i)
{
    return running_has(control_model(of), i + 1);
}

static unsigned subscriber_find(const void *of, const char *name)
{
    uint32_t id;

    return subscriber_on(of, name, &id) == 0 ? id - 1 : control_model(of)->n_subscribers;
}

static const char *subscriber_label(const void *of, unsigned i)
{
    const struct cfg_model *m = control_model(of);

    return running_has(m, i + 1) ? m->subscribers[i].name : NULL;
}

/* Numbers of objects begin with 0, ids with 1. */
static unsigned subscriber_search(const void *of, const char *text, unsigned first,
                                  unsigned *number, unsigned room, unsigned *n)
{
    struct search s;
    uint32_t next = 0;

    *n = 0;
    if (search_begin(of, &s, text))
        next = search_run(of, &s, first + 1, number, room, n);
    for (unsigned i = 0; i < *n; i++)
        number[i]--;
    return next != 0 ? next - 1 : control_model(of)->n_subscribers;
}

static void add_way(const struct shaper *s, const struct pipe_sample *p, struct way_figures *way)
{
    way->bytes += p->bytes;
    way->packets += p->packets;
    way->bps += p->bps;
    way->sojourn = p->sojourn_ns;
    if (p->profile < s->q->cfg->n_profiles)
        way->rate = s->q->cfg->profiles[p->profile].shape[s->q->direction].rate;
    way->shaped = p->shaped_ppm;
    way->drops += p->drops;
    way->drop_pps += p->drop_pps;
}

static void subscriber_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct control *c = of;
    struct subscriber_figures *f = (struct subscriber_figures *)figures;

    for (unsigned k = 0; k < c->n_shapers; k++) {
        const struct shaper *s = &c->shaper[k];
        const struct qos_pipe *p = shaper_pipe(c, s, i + 1);

        if (p != NULL)
            add_way(s, &s->sample[p - s->q->pipe], &f->way[s->q->direction]);
    }
    for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
        if (f->way[d].shaped != 0)
            f->error = RTE_MAX(f->error, (uint64_t)labs((long)f->way[d].shaped - PPM));
}

/* The metrics that all schedulers have. */
static const struct metric *subscriber_rows(const struct control *c)
{
    static struct metric rows[RTE_DIM(subscriber_metrics)];
    unsigned n = RTE_DIM(rows) - 1;

    memcpy(rows, subscriber_metrics, sizeof(rows));
    for (unsigned i = 0; i < c->n_shapers; i++)
        if (!sched_knows_drops(c->shaper[i].q->sched))
            n = RTE_DIM(rows) - 1 - DROP_ROWS;
    rows[n] = (struct metric){NULL};
    return rows;
}

int metrics_qos_add(const struct control *c)
{
    static struct metric_group shapers = {.object = "qos",
                                          .metrics = shaper_metrics,
                                          .count = shaper_count,
                                          .name = shaper_name,
                                          .read = shaper_read};
    static struct metric_group subscribers = {.object = "subscriber",
                                              .count = subscriber_count,
                                              .name = subscriber_name,
                                              .read = subscriber_read,
                                              .has = subscriber_has,
                                              .find = subscriber_find,
                                              .label = subscriber_label,
                                              .search = subscriber_search};
    int rc = 0;

    shapers.of = subscribers.of = c;
    subscribers.metrics = subscriber_rows(c);
    if (c->n_shapers > 0)
        rc = metrics_add(&shapers);
    if (rc == 0 && c->n_shapers > 0)
        rc = metrics_subports_add(c);
    return rc == 0 ? metrics_add(&subscribers) : rc;
}
