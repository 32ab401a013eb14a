/* SPDX-License-Identifier: BSD-3-Clause */
/* gen: traffic from packet templates at given rates, in one stream or several, paced by the TSC. */
#include "tasks/gen.h"

#include <errno.h>

#include <rte_cycles.h>

#include "tasks/gen_impl.h"

enum { OUT_TO };

/* --- start --- */

/* The port that packets of an instance leave by, followed along first outputs; NULL: none. */
static const struct cfg_port *egress_port(const struct plan *p, unsigned instance)
{
    for (unsigned hops = 0; hops < p->n_instances; hops++) {
        const struct plan_output *o = &p->instances[instance].output[OUT_TO];

        if (o->n_dests == 0)
            return NULL;
        switch (o->dest[0].kind) {
        case DEST_PORT:
            return &p->cfg->ports[o->dest[0].index];
        case DEST_CALL:
            instance = o->dest[0].index;
            break;
        case DEST_RING:
            instance = p->rings[o->dest[0].index].consumer;
            break;
        }
    }
    return NULL;
}

static unsigned count_instances(const struct plan *p, uint16_t task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == task;
    return n;
}

static int gen_init(struct task *t, const struct task_env *env)
{
    const struct cfg_port *port = egress_port(env->plan, env->instance);
    struct gen *g = t->state;
    int rc;

    g->pool = env->pool;
    g->cfg = env->cfg;
    g->burst = env->cfg->burst;
    g->worker = t->worker;
    g->workers = count_instances(env->plan, env->plan->instances[env->instance].task);
    g->tsc_hz = env->tsc_hz;
    g->line_rate = port != NULL ? port->line_rate : 0;
    rc = gen_streams_init(g, env);
    if (rc != 0)
        gen_streams_free(g);
    return rc;
}

static void gen_fini(struct task *t)
{
    gen_streams_free(t->state);
}

/* --- run --- */

static void end_all(struct task *t)
{
    struct gen *g = t->state;

    for (struct gen_stream *s = g->stream; s < g->stream + g->n_streams; s++)
        gen_stream_stop(t, s, STREAM_ENDED);
}

/* Hand a burst to the output, and see what it did not take. */
static void emit(struct task *t, struct gen_stream *s, struct rte_mbuf **m, unsigned n)
{
    const struct out *to = t->output[OUT_TO];
    uint64_t full = to->full;

    task_emit_burst(t, OUT_TO, m, (uint16_t)n);
    s->full += to->full - full;
}

static void note_cost(struct gen *g, uint64_t cycles, unsigned n)
{
    uint64_t each = (cycles << 8) / n;

    if (g->timed_packets == 0 || each < g->quickest)
        g->quickest = each;
    if (each > SLOW * g->quickest)
        return;
    g->timed_cycles += cycles;
    g->timed_packets += n;
}

/* What the pool gives next is what lies on top of this core's cache. Where that is empty, or were
 * otherwise one day, lines come later or in vain, and nothing else. */
static struct gen_coming coming(const struct gen *g)
{
    const struct rte_mempool_cache *c = rte_mempool_default_cache(g->pool, rte_lcore_id());

    if (c == NULL)
        return (struct gen_coming){.n = 0};
    return (struct gen_coming){.end = (struct rte_mbuf *const *)&c->objs[c->len],
                               .n = RTE_MIN(c->len, (uint32_t)g->burst)};
}

/* A burst of a stream that has something to do. Returns how many packets it made. */
static unsigned serve(struct task *t, struct gen_stream *s, uint64_t now)
{
    struct gen *g = t->state;
    struct rte_mbuf *m[BURST_MAX];
    struct gen_coming next;
    bool timed = g->bursts++ % TIMED_BURSTS == 0;
    uint64_t from = timed ? rte_rdtsc() : 0;
    unsigned n;

    if (unlikely(now >= s->end)) {
        gen_stream_stop(t, s, STREAM_ENDED);
        return 0;
    }
    n = pace_take(&s->pace, now, g->burst);
    s->wake = RTE_MIN(pace_next(&s->pace), s->end);
    n = (unsigned)RTE_MIN(n, s->total - s->made);
    n = (unsigned)RTE_MIN(n, g->total - t->created);
    if (unlikely(n == 0 || rte_mempool_get_bulk(g->pool, (void **)m, n) != 0)) {
        s->no_mbuf += n;
        return 0;
    }
    next = coming(g);
    gen_frames_fill(&s->frames, m, n, &next);
    s->made += n;
    t->created += n;
    emit(t, s, m, n);
    if (timed)
        note_cost(g, rte_rdtsc() - from, n);
    if (unlikely(s->made == s->total))
        gen_stream_stop(t, s, STREAM_ENDED);
    if (unlikely(t->created == g->total))
        end_all(t);
    return n;
}

/* One stream in a poll, each in its turn. */
static uint16_t gen_poll(struct task *t, uint64_t now)
{
    struct gen *g = t->state;

    if (unlikely(t->stopping || t->finished))
        return 0;
    if (unlikely(!g->started))
        gen_start(t, now);
    g->last = now;
    for (unsigned i = 0; i < g->n_streams; i++) {
        struct gen_stream *s = &g->stream[g->next];
        unsigned n;

        g->next = g->next + 1 < g->n_streams ? g->next + 1 : 0;
        if (now < s->wake)
            continue;
        n = serve(t, s, now);
        if (n > 0)
            return (uint16_t)n;
    }
    return 0;
}

/* --- what the configuration may say --- */

static const char *const pace_names[] = {"constant", "poisson", NULL};

const struct task_type task_gen = {
    .schema =
        {
            .type = "gen",
            .help = "makes traffic from packet templates at given rates",
            .kind = TASK_SOURCE,
            .items = "streams",
            .item = "stream",
            .check = gen_check,
            .params =
                {
                    [PARAM_STREAM_NAME] = {.name = "name",
                                           .type = PARAM_NAME,
                                           .scope = SCOPE_ITEM,
                                           .help = "of the stream; default: its place in the list"},
                    [PARAM_TEMPLATE_FILE] = {.name = "template",
                                             .type = PARAM_TEMPLATE,
                                             .required = true,
                                             .scope = SCOPE_INHERIT,
                                             .help = "what to send; required"},
                    [PARAM_FRAME_SIZES] = {.name = "size",
                                           .type = PARAM_SIZES,
                                           .def = "0",
                                           .scope = SCOPE_INHERIT,
                                           .help = "bytes of a frame with FCS, a mix, or 0: what "
                                                   "the template says"},
                    [PARAM_LOAD_RATE] = {.name = "rate",
                                         .type = PARAM_LOAD,
                                         .def = "100%",
                                         .scope = SCOPE_BOTH,
                                         .help = "of all its instances together; % is of the "
                                                 "egress port's line_rate"},
                    [PARAM_WEIGHT] = {.name = "weight",
                                      .type = PARAM_COUNT,
                                      .def = "1",
                                      .min = 1,
                                      .max = 1000000,
                                      .scope = SCOPE_ITEM,
                                      .help = "share of the task's packets"},
                    [PARAM_PACE] = {.name = "pace",
                                    .type = PARAM_ENUM,
                                    .def = "constant",
                                    .choices = pace_names,
                                    .scope = SCOPE_INHERIT,
                                    .help = "times between trains: all alike, or exponential"},
                    [PARAM_TRAIN] = {.name = "train",
                                     .type = PARAM_COUNT,
                                     .min = 1,
                                     .max = PACE_MAX_TRAIN,
                                     .scope = SCOPE_INHERIT,
                                     .help = "packets sent back to back; absent: a burst, but not "
                                             "more than 1 ms of the rate; poisson: 1"},
                    [PARAM_TOTAL] = {.name = "count",
                                     .type = PARAM_COUNT,
                                     .def = "0",
                                     .scope = SCOPE_BOTH,
                                     .help = "packets to send; 0: no end"},
                    [PARAM_START] = {.name = "start",
                                     .type = PARAM_DURATION,
                                     .def = "0",
                                     .max = 86400ull * 1000000000,
                                     .scope = SCOPE_INHERIT,
                                     .help = "time to wait before the first packet; duration "
                                             "counts from there"},
                    [PARAM_TIME] = {.name = "duration",
                                    .type = PARAM_DURATION,
                                    .def = "0",
                                    .scope = SCOPE_INHERIT,
                                    .help = "time to send; 0: no end"},
                    [PARAM_STAMP] = {.name = "stamp",
                                     .type = PARAM_BOOL,
                                     .def = "false",
                                     .scope = SCOPE_INHERIT,
                                     .help = "write number and time into the payload, for sink"},
                    [PARAM_SEED] = {.name = "seed",
                                    .type = PARAM_COUNT,
                                    .def = "1",
                                    .help = "start of the random numbers"},
                    [PARAM_CATCH_UP] = {.name = "catch_up",
                                        .type = PARAM_DURATION,
                                        .def = "1ms",
                                        .min = 10000,
                                        .max = 1000000000,
                                        .help = "how far a core that was away makes up for what it "
                                                "missed"},
                },
            .outputs = {"to"},
        },
    .state_size = sizeof(struct gen),
    .init = gen_init,
    .fini = gen_fini,
    .poll = gen_poll,
    .stat_names = gen_stat_names,
    .stat = gen_stat,
    .report = gen_report,
};
