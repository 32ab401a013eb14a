/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/gen.h"

#include <errno.h>

#include <rte_cycles.h>

#include "packet/stamp.h"
#include "tester/gen_stream.h"

/* gen: traffic from packet templates at given rates, in one stream or several, paced by the TSC. */

enum { OUT_TO };
enum { PACE_CONSTANT, PACE_POISSON };

static const char *const paces[] = {[PACE_CONSTANT] = "constant", [PACE_POISSON] = "poisson", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_NAME] = {.name = "name",
                  .type = PARAM_NAME,
                  .scope = SCOPE_ITEM,
                  .help = "what the stream is called",
                  .more = "Default: its place in the list."},
    [ARG_TEMPLATE] = {.name = "template",
                      .type = PARAM_TEMPLATE,
                      .required = true,
                      .scope = SCOPE_INHERIT,
                      .help = "what to send",
                      .more = "Looked for next to the file that names it, then in the installed "
                              "pkt_templates, then in ../pkt_templates of the configuration. See "
                              "doc/templates.md."},
    [ARG_SIZE] = {.name = "size",
                  .type = PARAM_SIZES,
                  .def = "0",
                  .scope = SCOPE_INHERIT,
                  .help = "bytes of a frame with FCS, 64 to 9022; 0: what the template says",
                  .more =
                      "Or sizes with their shares of the packets, such as 64:7,594:4,1518:1, at "
                      "most 16, their shares together at most 256; imix is short for that "
                      "one."},
    [ARG_RATE] = {.name = "rate",
                  .type = PARAM_LOAD,
                  .def = "100%",
                  .scope = SCOPE_BOTH,
                  .help = "of all its instances together; % is of the egress port's line_rate",
                  .more = "In the task: what the streams without a rate of their own share."},
    [ARG_WEIGHT] = {.name = "weight",
                    .type = PARAM_COUNT,
                    .def = "1",
                    .min = 1,
                    .max = 1000000,
                    .scope = SCOPE_ITEM,
                    .help = "share of the packets of the task's rate"},
    [ARG_PACE] = {.name = "pace",
                  .type = PARAM_ENUM,
                  .def = "constant",
                  .choices = paces,
                  .scope = SCOPE_INHERIT,
                  .help = "times between trains: all alike, or exponentially distributed"},
    [ARG_TRAIN] = {.name = "train",
                   .type = PARAM_COUNT,
                   .min = 1,
                   .max = PACE_MAX_TRAIN,
                   .scope = SCOPE_INHERIT,
                   .help = "packets sent back to back; absent: a burst, but not more than 1 ms of "
                           "the rate; poisson: 1"},
    [ARG_COUNT] = {.name = "count",
                   .type = PARAM_COUNT,
                   .def = "0",
                   .scope = SCOPE_BOTH,
                   .help = "packets to send; 0: no end",
                   .more = "In the task: of all streams together."},
    [ARG_START] = {.name = "start",
                   .type = PARAM_DURATION,
                   .def = "0",
                   .max = 86400ull * NS_PER_S,
                   .scope = SCOPE_INHERIT,
                   .help = "time to wait before the first packet; duration counts from there"},
    [ARG_DURATION] = {.name = "duration",
                      .type = PARAM_DURATION,
                      .def = "0",
                      .scope = SCOPE_INHERIT,
                      .help = "time to send; 0: no end"},
    [ARG_STAMP] = {.name = "stamp",
                   .type = PARAM_BOOL,
                   .def = "false",
                   .scope = SCOPE_INHERIT,
                   .help = "write stream, sequence number, user and TSC into the UDP payload, for "
                           "a task sink",
                   .more = "That takes 24 bytes."},
    [ARG_SEED] = {.name = "seed",
                  .type = PARAM_COUNT,
                  .def = "1",
                  .help = "start of the random numbers"},
    [ARG_CATCH_UP] = {.name = "catch_up",
                      .type = PARAM_DURATION,
                      .def = "1ms",
                      .min = 10000,
                      .max = NS_PER_S,
                      .help = "how far a core that was away makes up for what it missed"},
};

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

/* Hand a burst to the output, and count what the output did not take. */
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

/* Prefetch the mbufs that the pool hands out next: those on top of this core's cache. A wrong guess
 * costs a line, not correctness. */
static struct gen_coming coming(const struct gen *g)
{
    const struct rte_mempool_cache *c = rte_mempool_default_cache(g->pool, rte_lcore_id());

    if (c == NULL)
        return (struct gen_coming){.n = 0};
    return (struct gen_coming){.end = (struct rte_mbuf *const *)&c->objs[c->len],
                               .n = RTE_MIN(c->len, (uint32_t)g->burst)};
}

/* Make a burst of a stream that is due. Returns its number of packets. */
static unsigned serve(struct task *t, struct gen_stream *s, uint64_t now)
{
    struct gen *g = t->state;
    struct rte_mbuf *m[BURST_MAX];
    struct gen_coming next;
    bool timed = g->bursts++ % TIMED_BURSTS == 0;
    uint64_t from = timed ? rte_rdtsc() : 0;
    unsigned n;

    if (unlikely(now >= s->end)) {
        pace_end(&s->pace, s->end);
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

/* Serve one stream in each poll, in turn. */
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

const struct task_type task_gen = {
    .schema = {.type = "gen",
               .help = "makes traffic from packet templates at given rates",
               .doc = "doc/generator.md",
               .kind = TASK_SOURCE,
               .items = "streams",
               .item = "stream",
               .check = gen_check,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "all packets"}}},
    .state_size = sizeof(struct gen),
    .init = gen_init,
    .fini = gen_fini,
    .poll = gen_poll,
    .stat_names = gen_stat_names,
    .stat = gen_stat,
    .report = gen_report,
};

/* What the streams of a gen must obey; told with file and line, before anything runs. Free of
 * DPDK's functions. */

#define FCS_LEN 4

/* A stamp stands at the beginning of the UDP payload, so that it is within the IPv4 total length.
 */
static void check_stamp(const struct pkt_template *t, struct loc loc, struct diags *d)
{
    uint32_t least = t->header_len + STAMP_LEN + FCS_LEN;

    if (t->n_layers == 0 || t->layers[t->n_layers - 1].kind != LAYER_UDP) {
        diag_error(d, loc,
                   "key 'stamp': value 'true': the last layer of %s is not udp: a stamp stands in "
                   "the payload of UDP",
                   t->path);
        return;
    }
    if (t->header_len > STAMP_LAST) {
        diag_error(d, loc,
                   "key 'stamp': value 'true': the headers of %s have %u bytes: expected "
                   "at most %u",
                   t->path, t->header_len, STAMP_LAST);
        return;
    }
    for (unsigned i = 0; i < t->n_frames; i++) {
        if (t->frames[i].payload >= STAMP_LEN)
            continue;
        diag_error(d, loc,
                   "key 'stamp': value 'true': a frame of %u bytes has no room for a stamp: "
                   "expected a size of at least %u",
                   t->frames[i].len + FCS_LEN, RTE_MAX(least, t->padding + 1u));
        return;
    }
}

void gen_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d)
{
    for (const struct cfg_item *item = t->items; item < t->items + t->n_items; item++) {
        const struct param_value *param = item->param, *file = &param[ARG_TEMPLATE];

        if (file->set && file->u != CFG_NONE && param[ARG_STAMP].u != 0)
            check_stamp(m->templates[file->u], param[ARG_STAMP].loc, d);
        if (param[ARG_RATE].set && param[ARG_WEIGHT].u > 1)
            diag_error(d, param[ARG_WEIGHT].loc,
                       "key 'weight': a stream has a share of its task's rate, or a rate of its "
                       "own: expected either of them");
    }
}

/* Changes of streams while they run, on their own core. */

/* The streams that a change concerns: first..end. */
static struct gen_stream *first_of(struct gen *g, const struct gen_change *c,
                                   struct gen_stream **end)
{
    if (c->stream == GEN_ALL_STREAMS) {
        *end = g->stream + g->n_streams;
        return g->stream;
    }
    *end = g->stream + c->stream + 1;
    return g->stream + c->stream;
}

static bool anyone_shares(const struct gen *g)
{
    for (unsigned i = 0; i < g->n_streams; i++)
        if (!g->stream[i].own_rate)
            return true;
    return false;
}

static int change_rate(struct gen *g, const struct gen_change *c, uint64_t now)
{
    const bool all = c->stream == GEN_ALL_STREAMS;
    struct gen_stream *one = all ? g->stream : &g->stream[c->stream];
    const struct load load = all ? g->load : one->load;
    const bool own = one->own_rate;
    const struct gen_stream *which;

    if (all && !anyone_shares(g))
        return -ENOENT;
    if (all) {
        g->load = c->load;
    } else {
        one->load = c->load;
        one->own_rate = true;
    }
    if (gen_refusal(g, &which) == NULL) {
        for (struct gen_stream *s = g->stream; s < g->stream + g->n_streams; s++) {
            struct gen_pace_spec spec = gen_pace_of(g, s);

            pace_change(&s->pace, &spec, now);
            if (s->state == STREAM_ON)
                s->wake = RTE_MIN(pace_next(&s->pace), s->end);
        }
        return 0;
    }
    if (all) {
        g->load = load;
    } else {
        one->load = load;
        one->own_rate = own;
    }
    return -EINVAL;
}

int gen_change(struct task *t, void *arg)
{
    const struct gen_change *c = arg;
    struct gen *g = t->state;
    struct gen_stream *end;
    uint64_t now = rte_rdtsc();

    if (c->stream != GEN_ALL_STREAMS && c->stream >= g->n_streams)
        return -EINVAL;
    if (!g->started)
        gen_start(t, now);
    if (c->action == GEN_RATE)
        return change_rate(g, c, now);
    for (struct gen_stream *s = first_of(g, c, &end); s < end; s++) {
        if (c->action == GEN_STOP && s->state == STREAM_ON) {
            pace_end(&s->pace, now);
            gen_stream_stop(t, s, STREAM_STOPPED);
        } else if (c->action == GEN_START) {
            s->total = g->total = UINT64_MAX;
            gen_stream_start(t, s, now, gen_cycles(g, c->duration_ns));
        }
    }
    return 0;
}
