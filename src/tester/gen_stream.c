/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/gen_stream.h"

#include <errno.h>
#include <inttypes.h>

#include <rte_malloc.h>

#include "base/json.h"
#include "base/log.h"
#include "packet/stamp.h"

/* The streams of a gen: made of the configuration, their rates, on and off. */

#define FCS_LEN 4

/* --- rates --- */

/* The load that the streams without one of their own share by weight, as packets per second of all
 * instances: as if their frames were one stream in which each has its share of the packets. */
static double shared_pps(const struct gen *g, const struct gen_stream *s)
{
    double weights = 0, sizes = 0;

    for (const struct gen_stream *k = g->stream; k < g->stream + g->n_streams; k++) {
        if (k->own_rate)
            continue;
        weights += k->weight;
        sizes += k->weight * k->size;
    }
    return load_pps(&g->load, g->line_rate, sizes / weights) * s->weight / weights;
}

struct gen_pace_spec gen_pace_of(const struct gen *g, const struct gen_stream *s)
{
    const struct param_value *param = s->item->param;
    double pps = s->own_rate ? load_pps(&s->load, g->line_rate, s->size) : shared_pps(g, s);

    return (struct gen_pace_spec){
        .pps = pps / g->workers,
        .train = param[ARG_TRAIN].set ? (uint32_t)param[ARG_TRAIN].u : 0,
        .burst = g->burst,
        .poisson = param[ARG_PACE].u != 0,
        .seed = g->cfg->param[ARG_SEED].u + ((uint64_t)(s - g->stream) << 32) +
                ((uint64_t)g->worker << 48),
        .catch_up = gen_cycles(g, g->cfg->param[ARG_CATCH_UP].u),
        .tsc_hz = g->tsc_hz,
    };
}

const char *gen_refusal(const struct gen *g, const struct gen_stream **which)
{
    for (const struct gen_stream *s = g->stream; s < g->stream + g->n_streams; s++) {
        const struct load *load = s->own_rate ? &s->load : &g->load;
        struct gen_pace_spec spec = gen_pace_of(g, s);
        const char *why = load->unit == LOAD_PERCENT && g->line_rate == 0
                              ? "a rate in % needs an output that leads to a port; say it in pps"
                              : pace_refusal(&spec);

        *which = s;
        if (why != NULL)
            return why;
    }
    return NULL;
}

static int init_paces(struct gen *g)
{
    const struct gen_stream *which;
    const char *why = gen_refusal(g, &which);

    if (why != NULL) {
        log_error("%s: %s", which->item->name, why);
        return -EINVAL;
    }
    for (struct gen_stream *s = g->stream; s < g->stream + g->n_streams; s++) {
        struct gen_pace_spec spec = gen_pace_of(g, s);

        pace_init(&s->pace, &spec);
    }
    return 0;
}

/* --- what they send --- */

static int init_frames(struct gen *g, struct gen_stream *s, const struct task_env *env)
{
    const struct param_value *param = s->item->param;
    const struct pkt_template *t = env->plan->cfg->templates[param[ARG_TEMPLATE].u];
    struct gen_share share = {
        .worker = g->worker,
        .workers = g->workers,
        .seed = g->cfg->param[ARG_SEED].u + ((uint64_t)(s - g->stream) << 32),
        .socket = env->socket,
    };
    int rc = gen_frames_init(&s->frames, t, &share);

    if (rc != 0)
        return rc;
    if (rte_pktmbuf_data_room_size(env->pool) <
        RTE_PKTMBUF_HEADROOM + (uint32_t)s->frames.max_copied) {
        log_error("%s: its frames need a pool whose data_room is %u", s->item->name,
                  RTE_PKTMBUF_HEADROOM + s->frames.max_copied);
        return -EINVAL;
    }
    s->size = (double)s->frames.total_len / s->frames.n_frames + FCS_LEN;
    s->frames.buf_offset = (uint16_t)(sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(env->pool) +
                                      RTE_PKTMBUF_HEADROOM);
    s->frames.stamp.instance = (uint8_t)g->worker;
    s->frames.stamp.stream = s->item->number;
    s->frames.stamp.offset = param[ARG_STAMP].u != 0 ? t->header_len : 0;
    for (uint8_t *user = &s->frames.stamp.user; *user < t->n_vars; ++*user)
        if (strcmp(t->vars[*user].name, "user") == 0)
            break;
    if (env->plan->instances[env->instance].keeps_frames)
        gen_frames_keep(&s->frames, s->item->number);
    return 0;
}

/* The part of a count that falls to this instance; 0: no end. */
static uint64_t part_of(const struct gen *g, const struct param_value *count)
{
    if (!count->set || count->u == 0)
        return UINT64_MAX;
    return count->u / g->workers + (g->worker < count->u % g->workers);
}

static int init_stream(struct gen *g, struct gen_stream *s, const struct cfg_item *item,
                       const struct task_env *env)
{
    s->item = item;
    s->state = STREAM_STOPPED;
    s->wake = UINT64_MAX;
    s->total = part_of(g, &item->param[ARG_COUNT]);
    s->weight = item->param[ARG_WEIGHT].set ? (uint32_t)item->param[ARG_WEIGHT].u : 1;
    s->own_rate = item->param[ARG_RATE].set;
    s->load = item->param[ARG_RATE].load;
    return init_frames(g, s, env);
}

int gen_streams_init(struct gen *g, const struct task_env *env)
{
    int rc = 0;

    g->n_streams = g->cfg->n_items;
    g->load = g->cfg->param[ARG_RATE].load;
    g->total = part_of(g, &g->cfg->param[ARG_COUNT]);
    g->stream = rte_zmalloc_socket("gen", g->n_streams * sizeof(*g->stream), RTE_CACHE_LINE_SIZE,
                                   env->socket);
    if (g->stream == NULL)
        return -ENOMEM;
    for (unsigned i = 0; rc == 0 && i < g->n_streams; i++)
        rc = init_stream(g, &g->stream[i], &g->cfg->items[i], env);
    return rc == 0 ? init_paces(g) : rc;
}

void gen_streams_free(struct gen *g)
{
    for (unsigned i = 0; g->stream != NULL && i < g->n_streams; i++)
        gen_frames_fini(&g->stream[i].frames);
    rte_free(g->stream);
    g->stream = NULL;
}

/* --- on and off --- */

static void set_state(struct task *t, struct gen_stream *s, enum stream_state state)
{
    struct gen *g = t->state;

    g->n_ended += (state == STREAM_ENDED) - (s->state == STREAM_ENDED);
    __atomic_store_n(&s->state, state, __ATOMIC_RELAXED);
    __atomic_store_n(&t->finished, g->n_ended == g->n_streams, __ATOMIC_RELAXED);
}

void gen_stream_start(struct task *t, struct gen_stream *s, uint64_t begin, uint64_t time)
{
    set_state(t, s, STREAM_ON);
    pace_start(&s->pace, begin);
    s->end = time != 0 ? begin + time : UINT64_MAX;
    s->wake = RTE_MIN(s->pace.due, s->end);
}

void gen_start(struct task *t, uint64_t now)
{
    struct gen *g = t->state;

    g->started = true;
    g->first = UINT64_MAX;
    for (struct gen_stream *s = g->stream; s < g->stream + g->n_streams; s++) {
        const struct param_value *param = s->item->param;
        uint64_t begin = now + gen_cycles(g, param[ARG_START].u);

        if (s->total == 0 || g->total == 0) {
            gen_stream_stop(t, s, STREAM_ENDED);
            continue;
        }
        gen_stream_start(t, s, begin, gen_cycles(g, param[ARG_DURATION].u));
        g->first = RTE_MIN(g->first, begin);
    }
}

void gen_stream_stop(struct task *t, struct gen_stream *s, enum stream_state state)
{
    set_state(t, s, state);
    pace_stop(&s->pace);
    s->wake = UINT64_MAX;
}

/* The report of a gen: packets sent, packets due, and the highest rate that the gen could have
 * sent. */

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

/* What kept a gen below its rate; NULL: nothing. */
static const char *limited_by(const struct sum *sum)
{
    double lost = (double)(sum->missed + sum->no_mbuf + sum->full);

    if (lost <= TOLERANCE * (double)(sum->made + sum->missed + sum->no_mbuf))
        return NULL;
    if (sum->missed >= sum->no_mbuf && sum->missed >= sum->full)
        return "core";
    return sum->no_mbuf >= sum->full ? "mbufs" : "link";
}

static json_t *stream_json(const struct task *const *instances, unsigned n, unsigned k)
{
    const struct gen *first = instances[0]->state;
    const struct gen_stream *s = &first->stream[k];
    struct sum sum = {0};

    for (unsigned i = 0; i < n; i++) {
        const struct gen *g = instances[i]->state;

        add_stream(g, &g->stream[k], &sum);
    }
    return json_pack("{s:i, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "stream",
                     (int)s->item->number, "name", s->item->name, "on", (int)sum.on, "stamped",
                     s->frames.stamp.offset != 0, "size", json_rounded(s->size, 2), "rate_pps",
                     json_rounded(sum.pps, 3), "sent", json_count(sum.made - sum.full), "missed",
                     json_count(sum.missed), "no_mbuf", json_count(sum.no_mbuf), "link_full",
                     json_count(sum.full));
}

struct json_t *gen_report(const struct task *const *instances, unsigned n)
{
    const struct gen *first = instances[0]->state;
    json_t *streams = json_array();
    double seconds = 0, most = 0;
    struct sum all = {0};

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
    for (unsigned k = 0; k < first->n_streams; k++)
        streams = json_with_item(streams, stream_json(instances, n, k));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:b, s:s?, s:o, s:o, s:o, s:o}", "seconds", json_rounded(seconds, 6),
        "offered_pps",
        json_rounded(seconds > 0 ? (double)(all.made + all.missed + all.no_mbuf) / seconds : 0, 1),
        "sent_pps", json_rounded(seconds > 0 ? (double)(all.made - all.full) / seconds : 0, 1),
        "ceiling_pps", json_rounded(most, 0), "limited", limited_by(&all) != NULL, "limited_by",
        limited_by(&all), "missed", json_count(all.missed), "no_mbuf", json_count(all.no_mbuf),
        "link_full", json_count(all.full), "streams", streams);
}
