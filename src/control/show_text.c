/* SPDX-License-Identifier: BSD-3-Clause */
/* The block below the live table. */
#include <inttypes.h>

#include "control/show.h"

#include "engine/ledger.h"

static const char *time_text(const struct qos *q, const struct hist *h, double p, char buf[32])
{
    uint32_t units = p < 1 ? hist_percentile(h, p) : h->max;

    if (h->count == 0)
        return "-";
    return format_duration((uint64_t)(qos_seconds(q, units) * 1e6) * 1000, buf, 32);
}

static void print_lag(const struct shaper *s, const struct hist *lag, FILE *to)
{
    char p50[32], p99[32], max[32];

    fprintf(to, "%-12s %-5s %10" PRIu64 " %9s %9s %9s", s->task->cfg->name,
            direction_name(s->q->direction), task_held(s->task), time_text(s->q, lag, 0.5, p50),
            time_text(s->q, lag, 0.99, p99), time_text(s->q, lag, 1, max));
}

static void print_error(const struct control *c, const struct shaping_error *e, FILE *to)
{
    const struct cfg_model *m = control_model(c);
    const struct cfg_subscriber *worst;

    if (e->limited == 0 || !live_has(m, e->worst_subscriber)) {
        fprintf(to, " %10u %9s %9s\n", 0u, "-", "-");
        return;
    }
    worst = &m->subscribers[e->worst_subscriber - 1];
    fprintf(to, " %10" PRIu32 " %+8.2f%% %+8.2f%% (%s %u.%u)\n", e->limited, e->median * 100,
            e->worst * 100, m->ports[worst->port].name, worst->svlan, worst->cvlan);
}

static void print_sojourn(const struct shaper *s, const struct hist *sojourn, FILE *to)
{
    char p50[32], p99[32];

    fprintf(to, "%12s sojourn p50 / p99:", "");
    for (unsigned k = 0; k < QOS_CLASSES; k++)
        if (s->q->shape->class[k].size > 0)
            fprintf(to, "  class %s %s / %s", class_name(k), time_text(s->q, &sojourn[k], 0.5, p50),
                    time_text(s->q, &sojourn[k], 0.99, p99));
    fputc('\n', to);
}

void show_qos_text(const struct control *c, FILE *to, bool whole)
{
    if (c->n_shapers == 0)
        return;
    fprintf(to, "\n%-12s %-5s %10s %9s %9s %9s %10s %9s %9s\n", "qos", "", "held", "lag p50", "p99",
            "max", "limited", "median", "worst error");
    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];

        print_lag(s, whole ? &s->q->lag : &s->lag, to);
        print_error(c, &s->error, to);
        print_sojourn(s, whole ? s->q->sojourn : s->sojourn, to);
    }
    fflush(to);
}
