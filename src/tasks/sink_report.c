/* SPDX-License-Identifier: BSD-3-Clause */
/* What the instances of a sink have measured, put together stream by stream. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "tasks/sink.h"

/* A stream of the report: flows with its number, of all instances of generator and sink. */
struct stream {
    struct hist64 latency;
    uint64_t received, unique, next, duplicates, reordered, late, extent;
    uint64_t wrong[N_WRONG];
    unsigned sinks; /* most instances of the sink that have had packets of one flow */
};

static const struct sink *sink_of(const struct task *t)
{
    return t->state;
}

static void add_flow(struct stream *to, const struct flow *f)
{
    to->received += f->unique + f->duplicates + f->late;
    to->unique += f->unique;
    to->duplicates += f->duplicates;
    to->reordered += f->reordered;
    to->late += f->late;
    to->extent = RTE_MAX(to->extent, f->extent);
    for (unsigned k = 0; k < N_WRONG; k++)
        to->wrong[k] += f->wrong[k];
    hist64_merge(&to->latency, &f->latency);
}

/*
 * All flows with a key. Each instance of the sink has had other packets of it, so that together
 * they have what came, and the greatest number of all is where it ends.
 */
static void add_key(struct stream *to, const struct task *const *sinks, unsigned n, uint32_t key)
{
    uint64_t next = 0;
    unsigned had = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < sink_of(sinks[i])->flows.n; k++) {
            const struct flow *f = &sink_of(sinks[i])->flows.flow[k];

            if (f->key != key)
                continue;
            add_flow(to, f);
            next = RTE_MAX(next, f->next);
            had++;
        }
    to->next += next;
    to->sinks = RTE_MAX(to->sinks, had);
}

static double ns(double cycles)
{
    return cycles * 1e9 / (double)rte_get_tsc_hz();
}

static void write_latency(const struct hist64 *h, FILE *to)
{
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};
    uint64_t count = hist64_count(h);

    if (count == 0) {
        fprintf(to, "null");
        return;
    }
    fprintf(to, "{\"count\": %" PRIu64 ", \"min\": %.1f, \"mean\": %.1f", count,
            ns((double)hist64_min(h)), ns(hist64_mean(h)));
    for (unsigned i = 0; i < RTE_DIM(points); i++)
        fprintf(to, ", \"%s\": %.1f", points[i].name,
                ns((double)hist64_percentile(h, points[i].share)));
    fprintf(to, ", \"max\": %.1f}", ns((double)h->max));
}

static void write_histogram(const struct hist64 *h, FILE *to)
{
    const char *sep = "";

    fputc('[', to);
    for (unsigned i = 0; i < HIST64_BUCKETS; i++) {
        if (h->bucket[i] == 0)
            continue;
        fprintf(to, "%s[%.1f, %" PRIu64 "]", sep, ns((double)hist64_upper_end(i)), h->bucket[i]);
        sep = ", ";
    }
    fputc(']', to);
}

static void write_stream(uint16_t number, const char *name, const struct stream *s, FILE *to)
{
    static const char *const kinds[N_WRONG] = {
        [WRONG_SUBSCRIBER] = "subscriber",
        [WRONG_TAGS] = "tags",
        [WRONG_KEY] = "key",
        [WRONG_DSCP] = "dscp",
        [WRONG_OTHER] = "other",
    };

    fprintf(to,
            "{\"stream\": %u, \"name\": %s%s%s, \"received\": %" PRIu64 ", \"expected\": %" PRIu64
            ", \"lost\": %" PRIu64 ", \"duplicates\": %" PRIu64 ", \"reordered\": %" PRIu64
            ", \"extent\": %" PRIu64 ", \"late\": %" PRIu64 ", \"sinks\": %u, \"wrong\": {",
            number, name != NULL ? "\"" : "", name != NULL ? name : "null",
            name != NULL ? "\"" : "", s->received, s->next,
            s->next > s->unique ? s->next - s->unique : 0, s->duplicates, s->reordered, s->extent,
            s->late, s->sinks);
    for (unsigned k = 0; k < N_WRONG; k++)
        fprintf(to, "%s\"%s\": %" PRIu64, k > 0 ? ", " : "", kinds[k], s->wrong[k]);
    fprintf(to, "}, \"latency_ns\": ");
    write_latency(&s->latency, to);
    fprintf(to, ", \"latency_histogram\": ");
    write_histogram(&s->latency, to);
    fputc('}', to);
}

/* The name that the generator of this configuration gives a stream, or NULL. */
static const char *stream_name(const struct cfg_model *m, uint16_t number)
{
    for (unsigned t = 0; t < m->n_tasks; t++)
        for (unsigned i = 0; i < m->tasks[t].n_items; i++)
            if (m->tasks[t].items[i].number == number)
                return m->tasks[t].items[i].name;
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The keys of all flows, in order, each once; returns how many there are. */
static unsigned all_keys(const struct task *const *sinks, unsigned n, uint32_t *key)
{
    unsigned n_all = 0, n_keys = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < sink_of(sinks[i])->flows.n; k++)
            key[n_all++] = sink_of(sinks[i])->flows.flow[k].key;
    qsort(key, n_all, sizeof(key[0]), by_number);
    for (unsigned i = 0; i < n_all; i++)
        if (i == 0 || key[i] != key[i - 1])
            key[n_keys++] = key[i];
    return n_keys;
}

static void write_streams(const struct task *const *sinks, unsigned n, FILE *to)
{
    uint32_t *key = calloc(n * FLOW_MAX, sizeof(key[0]));
    struct stream *s = malloc(sizeof(*s));
    unsigned n_keys = key != NULL && s != NULL ? all_keys(sinks, n, key) : 0;

    for (unsigned i = 0; i < n_keys;) {
        uint16_t number = (uint16_t)(key[i] >> 8);

        memset(s, 0, sizeof(*s));
        fprintf(to, i > 0 ? ",\n      " : "\n      ");
        for (; i < n_keys && key[i] >> 8 == number; i++)
            add_key(s, sinks, n, key[i]);
        write_stream(number, stream_name(sink_of(sinks[0])->model, number), s, to);
    }
    free(key);
    free(s);
}

void sink_report(const struct task *const *sinks, unsigned n, FILE *to)
{
    uint64_t bursts = 0, unstamped = 0, unknown = 0, clock = 0, unchecked = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct sink *s = sink_of(sinks[i]);

        bursts += s->bursts;
        unstamped += s->stamps ? s->unstamped : sinks[i]->in;
        unknown += s->unknown_stream;
        clock += s->clock_errors;
        unchecked += s->unchecked;
    }
    fprintf(to,
            "{\"method\": \"%s\", \"tsc_hz\": %" PRIu64 ", \"bursts\": %" PRIu64
            ", \"unstamped\": %" PRIu64 ", \"unknown_stream\": %" PRIu64
            ", \"clock_errors\": %" PRIu64 ", \"unchecked\": %" PRIu64 ", \"streams\": [",
            sink_of(sinks[0])->stamps
                ? "TSC when the sink took the burst, read once for all its packets, minus the TSC "
                  "in the packet's stamp; histogram with buckets of 1.6 %"
                : "none: stamps = false",
            rte_get_tsc_hz(), bursts, unstamped, unknown, clock, unchecked);
    write_streams(sinks, n, to);
    fprintf(to, "]}");
}
