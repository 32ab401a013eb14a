/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own engine: a look at what will leave next, so that it is in the cache by then. */
#include "sched/wheel.h"

#define LOOK_AHEAD 64

struct ahead {
    uint32_t pipe[LOOK_AHEAD];
    uint8_t class[LOOK_AHEAD];
    uint32_t n;
};

/* Pipes in the order in which they will be served, or nearly. */
static inline void look_at_ring(const struct wheel *w, uint32_t subport, unsigned class,
                                uint32_t most, struct ahead *a)
{
    const struct wheel_ring *r = &w->subport[subport].ring[class];
    uint32_t n = RTE_MIN(r->tail - r->head, most - a->n);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t pipe = r->pipe[(r->head + i) & w->pipe_mask];

        rte_prefetch0_write(&w->pipe[pipe]);
        rte_prefetch0_write(&w->queue[class][pipe]); /* of best effort, the first */
        a->class[a->n + i] = (uint8_t) class;
        a->pipe[a->n + i] = pipe;
    }
    a->n += n;
}

static inline void look_ahead(const struct wheel *w, uint32_t most, struct ahead *a)
{
    a->n = 0;
    for (uint32_t classes = w->classes; classes != 0 && a->n < most; classes &= classes - 1) {
        unsigned class = (unsigned)__builtin_ctz(classes);

        for (uint32_t word = 0; word < w->n_words; word++)
            for (uint64_t left = w->ready[class][word]; left != 0; left &= left - 1)
                look_at_ring(w, word * 64 + (uint32_t)__builtin_ctzll(left), class, most, a);
    }
}

void wheel_fetch(const struct wheel *w, uint32_t n)
{
    const struct wheel_queue *queue[LOOK_AHEAD];
    struct ahead a;

    look_ahead(w, RTE_MIN(n, (uint32_t)LOOK_AHEAD), &a);
    for (uint32_t i = 0; i < a.n; i++) {
        const struct wheel_pipe *p = &w->pipe[a.pipe[i]];
        unsigned q = a.class[i] == QOS_BE ? wheel_choose_queue(p) : a.class[i];

        queue[i] = &w->queue[q][a.pipe[i]];
        rte_prefetch0_write(queue[i]);
    }
    for (uint32_t i = 0; i < a.n; i++) {
        const struct rte_mbuf *m = wheel_mbuf(queue[i]->head);

        rte_prefetch0_write(m);
        rte_prefetch0_write(wheel_number(queue[i]->tail) > 1 ? &m->next : &w->nobody.next);
    }
}
