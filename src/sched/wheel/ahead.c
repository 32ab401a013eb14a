/* SPDX-License-Identifier: BSD-3-Clause */
/* The look ahead of the wheel: what will leave next is in the cache by then. */
#include "sched/wheel/layouts.h"

#include "sched/wheel/wheel.h"

#define LOOK_AHEAD   64
#define QUEUES_AHEAD (LOOK_AHEAD + QOS_BE_QUEUES - 1)
#define MOST_BEHIND  5 /* packets of a queue behind its first: each is known by the one before */

/* Queues of which packets leave next, each with its pipe and, above WHOSE_CLASS, its class; and
 * pipes of which any of the best-effort queues may be next. */
struct ahead {
    struct wheel_queue *queue[QUEUES_AHEAD];
    uint64_t whose[QUEUES_AHEAD];
    uint32_t best_effort[LOOK_AHEAD];
    uint32_t n, n_best_effort;
};

#define WHOSE_CLASS 32

/* Packets behind which others are that will leave, too: a word of each (chain.h), and how many are
 * behind it. */
struct followed {
    uint64_t word[QUEUES_AHEAD];
    uint32_t behind[QUEUES_AHEAD];
    uint32_t n;
};

/* Prefetch and add a queue. */
static inline void add_queue(const struct wheel *w, uint32_t pipe, unsigned queue, uint64_t class,
                             struct ahead *a)
{
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);

    rte_prefetch0_write(q);
    a->queue[a->n] = q;
    a->whose[a->n++] = class << WHOSE_CLASS | pipe;
}

/* Prefetch and add the pipes of a ring that are not in the cache, in the order in which they will
 * be served, or nearly: those of one subport that have not just come and were not just woken; of
 * several subports all, as to know that would cost each packet more. used: places in the burst that
 * are taken, by others as well. */
static inline void look_at_ring(const struct wheel *w, uint32_t subport, unsigned class,
                                uint32_t most, uint32_t *used, struct ahead *a)
{
    const struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint32_t n = RTE_MIN(r->tail - r->head, most - *used), fresh = 0, end;

    if (w->n_subports == 1)
        fresh = w->joined[class];
    *used += n;
    end = r->head + RTE_MIN(n, r->tail - r->head - fresh);
    for (uint32_t i = r->head; i != end; i++) {
        uint32_t pipe = r->pipe[i & r->mask];

        rte_prefetch0_write(wheel_pipe_of(w, pipe));
        if (class == QOS_BE)
            a->best_effort[a->n_best_effort++] = pipe;
        else
            add_queue(w, pipe, class, class, a);
    }
}

/* Add those of all rings of a class, in the order of their subports' turns. */
static void look_at_class(const struct wheel *w, unsigned class, uint32_t most, uint32_t *used,
                          struct ahead *a)
{
    const struct wheel_ready *r = &w->ready[class];

    for (uint32_t i = r->head; i != r->tail && *used < most; i++)
        look_at_ring(w, r->subport[i & w->ready_mask], class, most, used, a);
}

/* Add the queues of best effort that hold packets: of each pipe all, as a turn has room for
 * several. */
static inline void look_at_best_effort(const struct wheel *w, struct ahead *a)
{
    for (uint32_t i = 0; i < a->n_best_effort && a->n < LOOK_AHEAD; i++) {
        uint32_t pipe = a->best_effort[i], queues = wheel_pipe_of(w, pipe)->queued & WHEEL_BE_BITS;

        for (; queues != 0; queues &= queues - 1)
            add_queue(w, pipe, (unsigned)__builtin_ctz(queues), QOS_BE, a);
    }
}

/* Add the queues of those up to most pipes that will be served next which came before the last
 * dequeue, and of best effort the pipes: the others are in the cache. */
static inline void look_at_rings(const struct wheel *w, uint32_t most, struct ahead *a)
{
    uint32_t used = 0;

    a->n = a->n_best_effort = 0;
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

/* Have a pipe's bucket and its turn room for two packets as long as the first of a queue? */
static inline bool two_may_leave(const struct wheel *w, uint32_t pipe, unsigned class,
                                 const struct wheel_queue *q)
{
    const struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    const struct wheel_profile *f = &w->profile[p->profile];
    uint32_t bytes = 2 * (wheel_number(q->head) + w->overhead);
    uint64_t cost = bucket_cost(&f->pace, bytes);

    return is_after(w->now, bucket_ready(&p->bucket, &f->pace, cost)) &&
           (int32_t)bytes <= p->deficit + (class == QOS_BE ? f->be_turn : w->frame);
}

/* Prefetch the first packets of queues, until n packets are expected to leave. The queues behind
 * those are left out. */
static inline void fetch_heads(const struct wheel *w, struct ahead *a, uint32_t n,
                               struct followed *f)
{
    uint32_t k, used = 0;

    f->n = 0;
    for (k = 0; k < a->n && used < n; k++) {
        const struct wheel_queue *q = a->queue[k];
        uint32_t depth = wheel_number(q->tail), pipe = (uint32_t)a->whose[k];
        unsigned class = (unsigned)(a->whose[k] >> WHOSE_CLASS);

        rte_prefetch0_write(wheel_mbuf(q->head));
        used++;
        if (depth <= 1 || !two_may_leave(w, pipe, class, q))
            continue;
        used += depth - 1;
        f->word[f->n] = q->head;
        f->behind[f->n] = depth - 1;
        f->n += (q->tail & 1) == 0 && (w->l4s >> class & 1) == 0; /* linked */
    }
    a->n = k;
}

/* Prefetch the packets behind others, one of each queue in turn: a queue alone is a chain of lines
 * that are in no cache. */
static inline void fetch_behind(struct followed *f)
{
    for (uint32_t turn = 0; turn < MOST_BEHIND && f->n > 0; turn++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < f->n; i++) {
            uint64_t next = chain_next(f->word[i]);
            uint32_t behind = f->behind[i] - 1;

            rte_prefetch0_write(wheel_mbuf(next));
            f->word[n] = next;
            f->behind[n] = behind;
            n += behind > 0;
        }
        f->n = n;
    }
}

/* Prefetch what FQ-CoDel and L4S keep of queues, and whom FQ-CoDel will choose next. */
static inline void fetch_chosen(const struct wheel *w, struct wheel_queue *const *q, uint32_t n)
{
    if (unlikely(w->fq_in_use != 0)) {
        fq_fetch_states(w, q, n);
        fq_fetch_packets(w, q, n);
    }
    if (unlikely(w->l4s != 0))
        l4s_fetch_states(w, q, n);
}

void wheel_fetch_woken(const struct wheel *w, struct wheel_queue *const *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rte_prefetch0_write(wheel_mbuf(q[i]->head));
    fetch_chosen(w, q, n);
}

/* Prefetch what is needed of those who will be woken soon: what each dequeue has asked for says
 * what the next one asks for. */
static void fetch_soon(struct wheel *w)
{
    struct wheel_soon *s = &w->soon;
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_queues; i++)
        rte_prefetch0_write(wheel_mbuf(s->queue[i]->head));
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t pipe = s->node[i] / 16;
        const struct wheel_pipe *p;
        struct wheel_queue *q;

        if (unlikely(pipe >= w->n_pipes))
            continue;
        p = wheel_pipe_of(w, pipe);
        q = wheel_queue_of(w, pipe, (unsigned)__builtin_ctz(p->queued | 1u << QOS_BE));
        rte_prefetch0_write(q);
        s->queue[n++] = q;
    }
    s->n_queues = n;
    s->n = timers_look(&w->timers, s->node, WHEEL_SOON);
    for (uint32_t i = 0; i < s->n; i++)
        wheel_fetch_pipe(w, s->node[i]);
}

void wheel_fetch_next(struct wheel *w, uint32_t n)
{
    struct ahead a;

    look_at_rings(w, RTE_MIN(n, (uint32_t)LOOK_AHEAD), &a);
    if (w->timers.pending > 0)
        fetch_soon(w);
}

void wheel_fetch(const struct wheel *w, uint32_t n)
{
    struct followed f;
    struct ahead a;

    look_at_rings(w, RTE_MIN(n, (uint32_t)LOOK_AHEAD), &a);
    look_at_best_effort(w, &a);
    fetch_heads(w, &a, n, &f);
    fetch_behind(&f);
    fetch_chosen(w, a.queue, a.n);
}
