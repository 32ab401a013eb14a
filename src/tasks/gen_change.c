/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of streams while they run, on their own core. */
#include <errno.h>

#include <rte_cycles.h>

#include "tasks/gen_impl.h"

/* The streams that a change is about: first..end. */
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
            gen_stream_stop(t, s, STREAM_STOPPED);
        } else if (c->action == GEN_START) {
            s->total = g->total = UINT64_MAX;
            gen_stream_start(t, s, now, gen_cycles(g, c->duration_ns));
        }
    }
    return 0;
}
