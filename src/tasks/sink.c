/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink: counts packets and bytes and ends them. With stamps it measures: loss, duplicates,
 * reordering and latency of each stream, and whether packets look as expected.
 */
#include "tasks/sink.h"

#include <rte_cycles.h>

#include "packet/frame.h"

enum { PARAM_STAMPS, PARAM_STREAMS, PARAM_EXPECT };

/* --- start --- */

static void sink_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d)
{
    const struct param_value *expect = &t->param[PARAM_EXPECT];

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
    s->expects = param[PARAM_EXPECT].set;
    s->stamps = param[PARAM_STAMPS].u || s->expects;
    s->alone = !has_other_instances(env);
    if (s->expects)
        expect_init(&s->expect, s->model->templates[param[PARAM_EXPECT].u]);
    return s->stamps ? flow_table_init(&s->flows, (unsigned)param[PARAM_STREAMS].u, env->socket)
                     : 0;
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
    .schema =
        {
            .type = "sink",
            .help = "counts what it receives and ends it; may measure loss, order and latency",
            .kind = TASK_SINK,
            .check = sink_check,
            .params =
                {
                    [PARAM_STAMPS] = {.name = "stamps",
                                      .type = PARAM_BOOL,
                                      .def = "false",
                                      .help = "measure loss, duplicates, reordering and latency by "
                                              "the stamps of gen"},
                    [PARAM_STREAMS] = {.name = "streams",
                                       .type = PARAM_COUNT,
                                       .def = "64",
                                       .min = 1,
                                       .max = FLOW_MAX,
                                       .help =
                                           "streams with stamps, counted once for each instance "
                                           "of their gen; of more, packets count as "
                                           "unknown_stream"},
                    [PARAM_EXPECT] = {.name = "expect",
                                      .type = PARAM_TEMPLATE,
                                      .help = "what arrives should look like this; its variable "
                                              "user is taken from the stamp; implies stamps"},
                },
        },
    .state_size = sizeof(struct sink),
    .init = sink_init,
    .fini = sink_fini,
    .handle = sink_handle,
    .stat_names = stat_names,
    .stat = sink_stat,
    .report = sink_report,
};
