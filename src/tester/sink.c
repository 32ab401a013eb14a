/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/json.h"
#include "packet/frame.h"

/*
 * sink: counts packets and bytes and ends them. With stamps it measures: loss, duplicates,
 * reordering and latency of each stream, and whether packets look as expected.
 */

enum { ARG_STAMPS, ARG_STREAMS, ARG_EXPECT, N_ARGS };

static const struct task_param params[N_ARGS] = {
    [ARG_STAMPS] = {.name = "stamps",
                    .type = PARAM_BOOL,
                    .def = "false",
                    .help = "measure loss, duplicates, reordering and latency by the stamps of "
                            "gen"},
    [ARG_STREAMS] = {.name = "streams",
                     .type = PARAM_COUNT,
                     .def = "64",
                     .min = 1,
                     .max = FLOW_MAX,
                     .help = "streams with stamps, counted once for each instance of their gen; of "
                             "more, packets count as unknown_stream"},
    [ARG_EXPECT] = {.name = "expect",
                    .type = PARAM_TEMPLATE,
                    .help = "what arrives should look like this packet template; its variable user "
                            "is taken from the stamp",
                    .more = "Implies stamps."},
};

/* --- start --- */

static void sink_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d)
{
    const struct param_value *expect = &t->param[ARG_EXPECT];

    if (expect->set && expect->u != CFG_NONE)
        expect_check(m->templates[expect->u], expect->loc, d);
}

static bool has_other_instances(const struct task_env *env)
{
    const struct plan *p = env->plan;
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == p->instances[env->instance].task;
    return n > 1;
}

static int sink_init(struct task *t, const struct task_env *env)
{
    const struct param_value *param = env->cfg->param;
    struct sink *s = t->state;

    s->model = env->plan->cfg;
    s->expects = param[ARG_EXPECT].set;
    s->stamps = param[ARG_STAMPS].u || s->expects;
    s->alone = !has_other_instances(env);
    if (s->expects)
        expect_init(&s->expect, s->model->templates[param[ARG_EXPECT].u]);
    return s->stamps ? flow_table_init(&s->flows, (unsigned)param[ARG_STREAMS].u, env->socket) : 0;
}

static void sink_fini(struct task *t)
{
    flow_table_fini(&((struct sink *)t->state)->flows);
}

/* --- run --- */

/* The lines of the frames that will be read. They are not written, so whoever makes the next frame
 * there still has them. */
static void prefetch_stamps(const struct sink *s, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        const uint8_t *f = frame_bytes(m[i]);

        if (s->expects)
            __builtin_prefetch(f, 0, 3);
        __builtin_prefetch(f + s->hint, 0, 3);
        __builtin_prefetch(f + s->hint + STAMP_LEN - 1, 0, 3);
    }
}

static void compare(struct sink *s, struct flow *f, const uint8_t *frame, uint32_t user)
{
    unsigned wrong;

    if (unlikely(user == STAMP_NO_USER && s->expect.by_user)) {
        s->unchecked++;
        return;
    }
    wrong = expect_compare(&s->expect, frame, s->hint, user);
    for (unsigned k = 0; unlikely(wrong != 0); k++, wrong >>= 1)
        f->wrong[k] += wrong & 1;
}

static void measure(struct sink *s, const struct rte_mbuf *m, uint64_t now)
{
    const uint8_t *frame = frame_bytes(m);
    uint32_t at = stamp_find(frame, m->data_len, s->hint);
    struct stamp stamp;
    struct flow *f;

    if (unlikely(at == STAMP_NONE)) {
        s->unstamped++;
        return;
    }
    s->hint = at;
    stamp = stamp_read(frame + at);
    f = flow_find(&s->flows, flow_key(stamp.stream, stamp.instance));
    if (unlikely(f == NULL)) {
        s->unknown_stream++;
        return;
    }
    flow_count(f, stamp.seq);
    if (likely(now - stamp.tsc <= HIST64_MAX))
        hist64_add(&f->latency, now - stamp.tsc);
    else
        s->clock_errors++;
    if (s->expects)
        compare(s, f, frame, stamp.user);
}

static void sink_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct sink *s = t->state;
    uint64_t bytes = 0;

    if (s->stamps) {
        uint64_t now = rte_rdtsc(); /* the packets were there before: the burst has come */

        prefetch_stamps(s, m, n);
        for (uint16_t i = 0; i < n; i++)
            measure(s, m[i], now);
        s->bursts++;
    }
    for (uint16_t i = 0; i < n; i++)
        bytes += m[i]->pkt_len;
    s->bytes += bytes;
    task_consume(t, m, n);
}

/* --- figures --- */

enum {
    STAT_BYTES,
    STAT_UNSTAMPED,
    STAT_LOST,
    STAT_DUPLICATES,
    STAT_REORDERED,
    STAT_LATE,
    STAT_WRONG,
    STAT_UNKNOWN_STREAM,
    N_STATS
};

static const char *const stat_names[N_STATS + 1] = {
    [STAT_BYTES] = "bytes",         [STAT_UNSTAMPED] = "unstamped",
    [STAT_LOST] = "lost",           [STAT_DUPLICATES] = "duplicates",
    [STAT_REORDERED] = "reordered", [STAT_LATE] = "late",
    [STAT_WRONG] = "wrong",         [STAT_UNKNOWN_STREAM] = "unknown_stream",
};

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

static uint64_t flow_stat(const struct sink *s, const struct flow *f, unsigned i)
{
    uint64_t unique = READ(f->unique), sum = 0; /* before next, so that it cannot be greater */

    switch (i) {
    case STAT_LOST:
        /* what one instance misses of a stream another may have */
        return s->alone ? READ(f->next) - unique : 0;
    case STAT_DUPLICATES:
        return READ(f->duplicates);
    case STAT_REORDERED:
        return READ(f->reordered);
    case STAT_LATE:
        return READ(f->late);
    case STAT_WRONG:
        for (unsigned k = 0; k < N_WRONG; k++)
            sum += READ(f->wrong[k]);
    }
    return sum;
}

static uint64_t sink_stat(const struct task *t, unsigned i)
{
    const struct sink *s = t->state;
    uint64_t sum = 0;

    if (i == STAT_BYTES)
        return READ(s->bytes);
    if (i == STAT_UNSTAMPED)
        return READ(s->unstamped);
    if (i == STAT_UNKNOWN_STREAM)
        return READ(s->unknown_stream);
    for (unsigned k = 0; k < READ(s->flows.n); k++)
        sum += flow_stat(s, &s->flows.flow[k], i);
    return sum;
}

const struct task_type task_sink = {
    .schema = {.type = "sink",
               .help = "counts what it receives and ends it; may measure loss, order and latency",
               .doc = "doc/sink.md",
               .kind = TASK_SINK,
               .check = sink_check,
               .params = params,
               .n_params = N_ARGS},
    .state_size = sizeof(struct sink),
    .init = sink_init,
    .fini = sink_fini,
    .handle = sink_handle,
    .stat_names = stat_names,
    .stat = sink_stat,
    .report = sink_report,
};

/* What the instances of a sink have measured, put together stream by stream. */

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
 * All flows with a key. Each instance of the sink has received a part of the flow: the sums are
 * over all instances, and the flow ends at the greatest number that any instance has seen.
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

/* ns, to a tenth */
static json_t *time_json(double cycles)
{
    return json_rounded(ns(cycles), 1);
}

static json_t *latency_json(const struct hist64 *h)
{
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};
    uint64_t count = hist64_count(h);
    json_t *latency;

    if (count == 0)
        return json_null();
    latency = json_pack("{s:o, s:o, s:o}", "count", json_count(count), "min",
                        time_json((double)hist64_min(h)), "mean", time_json(hist64_mean(h)));
    for (unsigned i = 0; i < RTE_DIM(points); i++)
        latency = json_with_key(latency, points[i].name,
                                time_json((double)hist64_percentile(h, points[i].share)));
    latency = json_with_key(latency, "max", time_json((double)h->max));
    return latency;
}

static json_t *histogram_json(const struct hist64 *h)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < HIST64_BUCKETS; i++)
        if (h->bucket[i] > 0)
            list = json_with_item(list, json_pack("[o, o]", time_json((double)hist64_upper_end(i)),
                                                  json_count(h->bucket[i])));
    return list;
}

static json_t *wrong_json(const struct stream *s)
{
    static const char *const kinds[N_WRONG] = {
        [WRONG_SUBSCRIBER] = "subscriber",
        [WRONG_TAGS] = "tags",
        [WRONG_KEY] = "key",
        [WRONG_DSCP] = "dscp",
        [WRONG_OTHER] = "other",
    };
    json_t *wrong = json_object();

    for (unsigned k = 0; k < N_WRONG; k++)
        wrong = json_with_key(wrong, kinds[k], json_count(s->wrong[k]));
    return wrong;
}

static json_t *stream_json(uint16_t number, const char *name, const struct stream *s)
{
    return json_pack("{s:i, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "stream",
                     (int)number, "name", name, "received", json_count(s->received), "expected",
                     json_count(s->next), "lost",
                     json_count(s->next > s->unique ? s->next - s->unique : 0), "duplicates",
                     json_count(s->duplicates), "reordered", json_count(s->reordered), "extent",
                     json_count(s->extent), "late", json_count(s->late), "sinks", (int)s->sinks,
                     "wrong", wrong_json(s), "latency_ns", latency_json(&s->latency),
                     "latency_histogram", histogram_json(&s->latency));
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

static json_t *streams_json(const struct task *const *sinks, unsigned n)
{
    uint32_t *key = calloc(n * FLOW_MAX, sizeof(key[0]));
    struct stream *s = malloc(sizeof(*s));
    unsigned n_keys = key != NULL && s != NULL ? all_keys(sinks, n, key) : 0;
    json_t *list = json_array();

    for (unsigned i = 0; i < n_keys;) {
        uint16_t number = (uint16_t)(key[i] >> 8);

        memset(s, 0, sizeof(*s));
        for (; i < n_keys && key[i] >> 8 == number; i++)
            add_key(s, sinks, n, key[i]);
        list = json_with_item(
            list, stream_json(number, stream_name(sink_of(sinks[0])->model, number), s));
    }
    free(key);
    free(s);
    return list;
}

struct json_t *sink_report(const struct task *const *sinks, unsigned n)
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
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "method",
        sink_of(sinks[0])->stamps
            ? "TSC when the sink took the burst, read once for all its packets, minus the TSC "
              "in the packet's stamp; histogram with buckets of 1.6 %"
            : "none: stamps = false",
        "tsc_hz", json_count(rte_get_tsc_hz()), "bursts", json_count(bursts), "unstamped",
        json_count(unstamped), "unknown_stream", json_count(unknown), "clock_errors",
        json_count(clock), "unchecked", json_count(unchecked), "streams", streams_json(sinks, n));
}
