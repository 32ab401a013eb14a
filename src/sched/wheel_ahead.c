/* SPDX-License-Identifier: BSD-3-Clause */
/* The look ahead of the wheel: what will leave next is in the cache by then. */
#include "sched/wheel.h"

#define LOOK_AHEAD 64

struct ahead {
    uint32_t pipe[LOOK_AHEAD];
    uint8_t class[LOOK_AHEAD];
    uint32_t n;
};

/* Add the pipes of a ring that are not in the cache, in the order in which they will be served, or
 * nearly. used: places in the burst that are taken, by others as well. */
static inline void look_at_ring(const struct wheel *w, uint32_t subport, unsigned class,
                                uint32_t most, uint32_t *used, struct ahead *a)
{
    const struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint32_t n = RTE_MIN(r->tail - r->head, most - *used),
             old = (r->epoch == w->epoch ? r->fresh : r->tail) - r->head;

    *used += n;
    n = (int32_t)old <= 0 ? 0 : RTE_MIN(n, old);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pipe = r->pipe[(r->head + i) & r->mask];

        rte_prefetch0_write(&w->pipe[pipe]);
        rte_prefetch0_write(wheel_queue_of(w, pipe, class)); /* of best effort, the first */
        a->class[a->n + i] = (uint8_t) class;
        a->pipe[a->n + i] = pipe;
    }
    a->n += n;
}

/* Add those of all rings of a class, from that of the subport whose turn it is on, around. */
static void look_at_class(const struct wheel *w, unsigned class, uint32_t most, uint32_t *used,
                          struct ahead *a)
{
    uint32_t turn = w->turn[class], word = turn / 64;
    uint64_t from = UINT64_MAX << turn % 64;

    if (wheel_ring_of(w, turn, class)->left <= 0)
        from <<= 1; /* its turn is over */
    for (uint32_t i = 0; i <= w->n_words && *used < most; i++) {
        uint64_t left = w->ready[class][word];

        left &= i == 0 ? from : i == w->n_words ? ~from : UINT64_MAX;
        for (; left != 0 && *used < most; left &= left - 1)
            look_at_ring(w, word * 64 + (uint32_t)__builtin_ctzll(left), class, most, used, a);
        word = word + 1 < w->n_words ? word + 1 : 0;
    }
}

/* List those of up to most pipes that will be served next which came before the last dequeue: the
 * others are in the cache. */
static inline void look_ahead(const struct wheel *w, uint32_t most, struct ahead *a)
{
    uint32_t used = 0;

    a->n = 0;
    for (uint32_t classes = w->classes; classes != 0 && used < most; classes &= classes - 1) {
        unsigned class = (unsigned)__builtin_ctz(classes);

        if ((w->old >> class & 1) == 0)
            used += w->joined[class];
        else if (w->n_subports == 1)
            look_at_ring(w, 0, class, most, &used, a);
        else
            look_at_class(w, class, most, &used, a);
    }
}

void wheel_fetch(const struct wheel *w, uint32_t n)
{
    struct wheel_queue *queue[LOOK_AHEAD];
    struct ahead a;

    look_ahead(w, RTE_MIN(n, (uint32_t)LOOK_AHEAD), &a);
    for (uint32_t i = 0; i < a.n; i++) {
        uint32_t pipe = a.pipe[i];
        unsigned q = a.class[i] == QOS_BE ? wheel_choose_queue(&w->pipe[pipe]) : a.class[i];

        queue[i] = wheel_queue_of(w, pipe, q);
        rte_prefetch0_write(queue[i]);
    }
    for (uint32_t i = 0; i < a.n; i++)
        rte_prefetch0_write(wheel_mbuf(queue[i]->head));
    if (unlikely(w->fq_in_use != 0)) {
        fq_fetch_states(w, queue, a.n);
        fq_fetch_packets(w, queue, a.n);
    }
    if (unlikely(w->l4s != 0))
        l4s_fetch_states(w, queue, a.n);
}
