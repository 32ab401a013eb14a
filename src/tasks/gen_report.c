/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gen has sent, what was asked of it, and what it could have sent. */
#include <inttypes.h>

#include "tasks/gen_impl.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

#define TOLERANCE 0.001 /* share of what was asked for that may be missing */

/* Of one stream, or of all, over all instances. */
struct sum {
    uint64_t made, no_mbuf, missed, full; /* packets */
    double pps;                           /* as it is now; 0: it does not run */
    bool on;
};

static void add_stream(const struct gen *g, const struct gen_stream *s, struct sum *to)
{
    bool on = READ(s->state) == STREAM_ON;

    to->made += READ(s->made);
    to->no_mbuf += READ(s->no_mbuf);
    to->missed += pace_missed(&s->pace);
    to->full += READ(s->full);
    to->pps += on ? (double)g->tsc_hz / s->pace.cost : 0;
    to->on |= on;
}

static struct sum sum_of_all(const struct gen *g)
{
    struct sum sum = {0};

    for (unsigned i = 0; i < g->n_streams; i++)
        add_stream(g, &g->stream[i], &sum);
    return sum;
}

/* Packets per second that this instance could make if it did nothing else; 0: not measured. */
static double ceiling(const struct gen *g)
{
    uint64_t cycles = READ(g->timed_cycles);

    return cycles > 0 ? (double)g->tsc_hz * (double)READ(g->timed_packets) / (double)cycles : 0;
}

/* --- live figures --- */

enum { STAT_NO_MBUF, STAT_MISSED, STAT_PPS, STAT_CEILING };

const char *const gen_stat_names[] = {
    [STAT_NO_MBUF] = "no_mbuf",
    [STAT_MISSED] = "missed",
    [STAT_PPS] = "rate_pps",
    [STAT_CEILING] = "ceiling_pps",
    NULL,
};

uint64_t gen_stat(const struct task *t, unsigned i)
{
    const struct gen *g = t->state;

    switch (i) {
    case STAT_NO_MBUF:
        return sum_of_all(g).no_mbuf;
    case STAT_MISSED:
        return sum_of_all(g).missed;
    case STAT_PPS:
        return (uint64_t)(sum_of_all(g).pps + 0.5);
    default:
        return (uint64_t)(ceiling(g) + 0.5);
    }
}

/* --- the report --- */

/* Who kept it from sending what was asked of it; NULL: nobody. */
static const char *limited_by(const struct sum *sum)
{
    double lost = (double)(sum->missed + sum->no_mbuf + sum->full);

    if (lost <= TOLERANCE * (double)(sum->made + sum->missed + sum->no_mbuf))
        return NULL;
    if (sum->missed >= sum->no_mbuf && sum->missed >= sum->full)
        return "core";
    return sum->no_mbuf >= sum->full ? "mbufs" : "link";
}

static void write_stream(const struct task *const *instances, unsigned n, unsigned k, FILE *to)
{
    const struct gen *first = instances[0]->state;
    const struct gen_stream *s = &first->stream[k];
    struct sum sum = {0};

    for (unsigned i = 0; i < n; i++) {
        const struct gen *g = instances[i]->state;

        add_stream(g, &g->stream[k], &sum);
    }
    fprintf(to,
            "%s{\"stream\": %u, \"name\": \"%s\", \"on\": %s, \"stamped\": %s, \"size\": %.2f, "
            "\"rate_pps\": %.3f, \"sent\": %" PRIu64 ", \"missed\": %" PRIu64
            ", \"no_mbuf\": %" PRIu64 ", \"link_full\": %" PRIu64 "}",
            k > 0 ? ", " : "", s->item->number, s->item->name, sum.on ? "true" : "false",
            s->frames.stamp.offset != 0 ? "true" : "false", s->size, sum.pps, sum.made - sum.full,
            sum.missed, sum.no_mbuf, sum.full);
}

void gen_report(const struct task *const *instances, unsigned n, FILE *to)
{
    const struct gen *first = instances[0]->state;
    double seconds = 0, most = 0;
    struct sum all = {0};
    const char *by;

    for (unsigned i = 0; i < n; i++) {
        const struct gen *g = instances[i]->state;
        struct sum sum = sum_of_all(g);
        uint64_t last = READ(g->last);

        all.made += sum.made;
        all.no_mbuf += sum.no_mbuf;
        all.missed += sum.missed;
        all.full += sum.full;
        most += ceiling(g);
        if (g->started && last > g->first)
            seconds = RTE_MAX(seconds, (double)(last - g->first) / (double)g->tsc_hz);
    }
    by = limited_by(&all);
    fprintf(to,
            "{\"seconds\": %.6f, \"offered_pps\": %.1f, \"sent_pps\": %.1f, \"ceiling_pps\": %.0f, "
            "\"limited\": %s, \"limited_by\": %s%s%s, \"missed\": %" PRIu64
            ", \"no_mbuf\": %" PRIu64 ", \"link_full\": %" PRIu64 ", \"streams\": [",
            seconds, seconds > 0 ? (double)(all.made + all.missed + all.no_mbuf) / seconds : 0,
            seconds > 0 ? (double)(all.made - all.full) / seconds : 0, most,
            by != NULL ? "true" : "false", by != NULL ? "\"" : "", by != NULL ? by : "null",
            by != NULL ? "\"" : "", all.missed, all.no_mbuf, all.full);
    for (unsigned k = 0; k < first->n_streams; k++)
        write_stream(instances, n, k, to);
    fputs("]}", to);
}
