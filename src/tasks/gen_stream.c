/* SPDX-License-Identifier: BSD-3-Clause */
/* The streams of a gen: made of the configuration, their rates, on and off. */
#include <errno.h>

#include <rte_malloc.h>

#include "base/log.h"
#include "packet/stamp.h"
#include "tasks/gen_impl.h"

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
        .train = param[PARAM_TRAIN].set ? (uint32_t)param[PARAM_TRAIN].u : 0,
        .burst = g->burst,
        .poisson = param[PARAM_PACE].u != 0,
        .seed = g->cfg->param[PARAM_SEED].u + ((uint64_t)(s - g->stream) << 32) +
                ((uint64_t)g->worker << 48),
        .catch_up = gen_cycles(g, g->cfg->param[PARAM_CATCH_UP].u),
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
    const struct pkt_template *t = env->plan->cfg->templates[param[PARAM_TEMPLATE_FILE].u];
    struct gen_share share = {
        .worker = g->worker,
        .workers = g->workers,
        .seed = g->cfg->param[PARAM_SEED].u + ((uint64_t)(s - g->stream) << 32),
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
    s->frames.stamp.offset = param[PARAM_STAMP].u != 0 ? t->header_len : 0;
    for (uint8_t *user = &s->frames.stamp.user; *user < t->n_vars; ++*user)
        if (strcmp(t->vars[*user].name, "user") == 0)
            break;
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
    s->total = part_of(g, &item->param[PARAM_TOTAL]);
    s->weight = item->param[PARAM_WEIGHT].set ? (uint32_t)item->param[PARAM_WEIGHT].u : 1;
    s->own_rate = item->param[PARAM_LOAD_RATE].set;
    s->load = item->param[PARAM_LOAD_RATE].load;
    return init_frames(g, s, env);
}

int gen_streams_init(struct gen *g, const struct task_env *env)
{
    int rc = 0;

    g->n_streams = g->cfg->n_items;
    g->load = g->cfg->param[PARAM_LOAD_RATE].load;
    g->total = part_of(g, &g->cfg->param[PARAM_TOTAL]);
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
        uint64_t begin = now + gen_cycles(g, param[PARAM_START].u);

        if (s->total == 0 || g->total == 0) {
            gen_stream_stop(t, s, STREAM_ENDED);
            continue;
        }
        gen_stream_start(t, s, begin, gen_cycles(g, param[PARAM_TIME].u));
        g->first = RTE_MIN(g->first, begin);
    }
}

void gen_stream_stop(struct task *t, struct gen_stream *s, enum stream_state state)
{
    set_state(t, s, state);
    pace_stop(&s->pace);
    s->wake = UINT64_MAX;
}
