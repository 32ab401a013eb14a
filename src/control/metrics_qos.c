/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/metrics_qos.h"

#include <math.h>
#include <stdio.h>

#include "engine/ledger.h"
#include "telemetry/metrics.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define PPM     1e6

/* Tasks of type qos, each instance; lag and error of the last interval of a second. */

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
                                .error = (uint64_t)(PPM * fabs(s->error.worst))};
}

/* Subscribers: what the qos core leaves in the line of each pipe; nothing is asked of the core. */

struct way_figures {
    uint64_t bytes, packets, sojourn, rate;
};

struct subscriber_figures {
    struct way_figures way[QOS_DIRECTIONS];
};

#define WAY(which, field) offsetof(struct subscriber_figures, way[which].field)

static const struct metric subscriber_metrics[] = {
    {"up_bytes", "vbng_subscriber_up_bytes_total", METRIC_COUNTER, "bytes",
     "Sent upstream, with the scheduler's overhead", WAY(QOS_UP, bytes)},
    {"up_packets", "vbng_subscriber_up_packets_total", METRIC_COUNTER, "packets", "Sent upstream",
     WAY(QOS_UP, packets)},
    {"up_sojourn_ns", "vbng_subscriber_up_sojourn_seconds", METRIC_GAUGE, "ns",
     "Moving average of the time in the queue, upstream", WAY(QOS_UP, sojourn)},
    {"up_rate", "vbng_subscriber_up_profile_rate_bps", METRIC_GAUGE, "bit/s",
     "Of the profile, upstream", WAY(QOS_UP, rate)},
    {"down_bytes", "vbng_subscriber_down_bytes_total", METRIC_COUNTER, "bytes",
     "Sent downstream, with the scheduler's overhead", WAY(QOS_DOWN, bytes)},
    {"down_packets", "vbng_subscriber_down_packets_total", METRIC_COUNTER, "packets",
     "Sent downstream", WAY(QOS_DOWN, packets)},
    {"down_sojourn_ns", "vbng_subscriber_down_sojourn_seconds", METRIC_GAUGE, "ns",
     "Moving average of the time in the queue, downstream", WAY(QOS_DOWN, sojourn)},
    {"down_rate", "vbng_subscriber_down_profile_rate_bps", METRIC_GAUGE, "bit/s",
     "Of the profile, downstream", WAY(QOS_DOWN, rate)},
    {NULL}};

static unsigned subscriber_count(const void *of)
{
    return control_model(of)->n_subscribers;
}

static void subscriber_name(const void *of, unsigned i, char *name)
{
    const struct cfg_model *m = control_model(of);
    const struct cfg_subscriber *s = &m->subscribers[i];

    if (live_has(m, i + 1))
        snprintf(name, METRICS_MAX_NAME, "%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
    else
        name[0] = '\0'; /* nobody has this id now */
}

static void add_way(const struct shaper *s, const struct qos_pipe *p, struct way_figures *way)
{
    uint32_t profile = READ(p->profile);

    way->bytes += READ(p->bytes);
    way->packets += READ(p->packets);
    way->sojourn = (uint64_t)(1e9 * qos_sojourn(s->q, p));
    if (profile < s->q->cfg->n_profiles)
        way->rate = s->q->cfg->profiles[profile].shape[s->q->direction].rate;
}

static void subscriber_read(const void *of, unsigned i, uint64_t *figures)
{
    const struct control *c = of;
    struct subscriber_figures *f = (struct subscriber_figures *)figures;

    for (unsigned k = 0; k < c->n_shapers; k++) {
        const struct qos_pipe *p = shaper_pipe(c, &c->shaper[k], i + 1);

        if (p != NULL)
            add_way(&c->shaper[k], p, &f->way[c->shaper[k].q->direction]);
    }
}

int metrics_qos_add(const struct control *c)
{
    static struct metric_group shapers = {"qos",       shaper_metrics, NULL, shaper_count,
                                          shaper_name, shaper_read,    NULL};
    static struct metric_group subscribers = {
        "subscriber",    subscriber_metrics, NULL, subscriber_count,
        subscriber_name, subscriber_read,    NULL};
    int rc = 0;

    shapers.of = subscribers.of = c;
    if (c->n_shapers > 0)
        rc = metrics_add(&shapers);
    return rc == 0 ? metrics_add(&subscribers) : rc;
}
