/* SPDX-License-Identifier: BSD-3-Clause */
/* The rounds of pipes: how far a shard is in a class of a subport, beside others. */
#include "sched/shards/shard.h"

#define ROUNDS_MASK ((1u << (PURSE_ROUND_BITS - PURSE_ROUND_PLACES)) - 1)

/* Have a ring that was empty, or whose shard was away, go on in the round of the others. A turn in
 * which nothing has left is no round: its pipe lacked credit of its own, and would get behind those
 * of other shards each time that it looks. One round may the ring be ahead, as who comes to the end
 * of one ring is, and those that it has sent since it borrowed, of which others do not know. */
static void join_round(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_shard *x = w->shard;
    struct shard_ring *s = shard_ring_of(w, subport, class);
    struct sched_class_state *c = sched_class_of(&w->base, subport, class);
    struct wheel_rounds *rounds = &sched_rest_of(&w->base, subport, class)->rounds;
    uint32_t own = c->bytes != s->had ? rounds->over : s->at,
             unknown = RTE_MIN((own - s->paid) & ROUNDS_MASK, (uint32_t)PURSE_KEEP - 1);

    rounds->over = purse_join(shards_purse(x->all, subport, WHEEL_SELF), class,
                              own << PURSE_ROUND_PLACES, (1 + unknown) << PURSE_ROUND_PLACES) >>
                   PURSE_ROUND_PLACES;
    s->paid = rounds->over - unknown;
    s->at = rounds->over;
    s->had = c->bytes;
    rounds->joined = x->stay;
}

void shard_note_round(struct wheel *w, uint32_t subport, unsigned class, uint32_t round)
{
    struct shard_ring *s = shard_ring_of(w, subport, class);
    const struct sched_class_state *c = sched_class_of(&w->base, subport, class);

    purse_note_round(shards_purse(w->shard->all, subport, WHEEL_SELF), class, round);
    s->paid = s->at = sched_rest_of(&w->base, subport, class)->rounds.over;
    s->had = c->bytes;
}

uint32_t shard_round(struct wheel *w, uint32_t subport, unsigned class)
{
    const struct sched_class_state *c = sched_class_of(&w->base, subport, class);
    const struct wheel_rounds *s = &sched_rest_of(&w->base, subport, class)->rounds;
    uint64_t part = (uint64_t)(c->ring.head - s->begin) << PURSE_ROUND_PLACES;
    uint32_t len = (int32_t)(s->end - c->ring.head) > 0 ? s->end - s->begin : 0; /* 0: it is over */

    if (s->joined != w->shard->stay)
        join_round(w, subport, class);
    return (s->over << PURSE_ROUND_PLACES) +
           (len == 0 ? 0 : (uint32_t)RTE_MIN(part / len, (uint64_t)PURSE_ROUND - 1));
}
