/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own engine: packets leave. */
#include <rte_branch_prediction.h>

#include "sched/wheel.h"

#define SUBPORT_TURN 8   /* frames */
#define MOST_WOKEN   256 /* in one dequeue */

/* --- turns --- */

/* The pipe at the head of a ring leaves it. */
static inline void unlist(struct wheel *w, uint32_t subport, struct wheel_pipe *p, unsigned class)
{
    struct wheel_subport *s = &w->subport[subport];
    struct wheel_ring *r = &s->ring[class];

    r->head++;
    r->in_turn = false;
    p->deficit = 0;
    p->listed &= (uint16_t) ~(1u << class);
    if (r->head == r->tail) {
        r->left = 0;
        s->backlog &= (uint16_t) ~(1u << class);
        wheel_clear_ready(w, subport, class);
    }
}

/* The pipe at the head of a ring has used up its turn and comes to the end. */
static void end_turn(struct wheel *w, struct wheel_ring *r)
{
    uint32_t pipe = r->pipe[r->head++ & w->pipe_mask];

    w->pipe[pipe].deficit = r->turn;
    r->in_turn = false;
    r->pipe[r->tail++ & w->pipe_mask] = pipe;
}

/* The subport whose turn it is in a class in which some are ready. */
static uint32_t choose_subport(struct wheel *w, unsigned class)
{
    const uint64_t *ready = w->ready[class];
    uint32_t i = w->turn[class], word;
    uint64_t bits;

    if (w->n_subports == 1)
        return 0;
    if ((ready[i / 64] >> i % 64 & 1) != 0 && w->subport[i].ring[class].left > 0)
        return i;
    i++; /* the next one, around */
    word = i / 64 % w->n_words;
    bits = i / 64 < w->n_words ? ready[word] & UINT64_MAX << i % 64 : ready[0];
    while (bits == 0) {
        word = (word + 1) % w->n_words;
        bits = ready[word];
    }
    i = word * 64 + (uint32_t)__builtin_ctzll(bits);
    w->turn[class] = (uint8_t)i;
    w->subport[i].ring[class].left += SUBPORT_TURN * w->frame;
    return i;
}

/* --- packets --- */

/* RED wants to know when a queue runs empty, PIE what leaves. */
static void note_departure(struct wheel *w, uint32_t pipe, unsigned queue, bool last,
                           uint32_t bytes)
{
    void *state = w->aqm[queue] + (size_t)pipe * w->aqm_size;
    struct rte_pie *pie = state;

    if ((w->red & 1u << queue) != 0) {
        if (last)
            rte_red_mark_queue_empty(state, (uint64_t)((double)(w->now - w->start) * w->red_time));
        return;
    }
    pie->qlen--;
    pie->qlen_bytes -= bytes;
    rte_pie_dequeue(pie, bytes, w->now);
}

static inline struct rte_mbuf *take(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
                                    struct wheel_queue *q, unsigned queue)
{
    struct rte_mbuf *m = wheel_mbuf(q->head);
    bool last = wheel_number(q->tail) == 1;
    struct rte_mbuf *link = last ? &w->nobody : m; /* an only packet's is not touched */

    q->tail -= UINT64_C(1) << 48;
    q->head = wheel_word(link->next, (uint32_t)link->tx_offload);
    link->next = NULL;
    link->tx_offload = 0;
    p->queued &= (uint16_t) ~((uint32_t)last << queue);
    if (unlikely(((w->red | w->pie) & 1u << queue) != 0))
        note_departure(w, pipe, queue, last, m->pkt_len);
    return m;
}

/* The pipe at the head of a ring sends a packet, or waits, or its turn ends: then there is none. */
static inline struct rte_mbuf *serve(struct wheel *w, uint32_t subport, unsigned class,
                                     uint32_t *sent_bytes)
{
    struct wheel_subport *s = &w->subport[subport];
    struct wheel_ring *r = &s->ring[class];
    uint32_t pipe = r->pipe[r->head & w->pipe_mask], bit = 1u << class;
    struct wheel_pipe *p = &w->pipe[pipe];
    const struct wheel_profile *f = &w->profile[p->profile];

    if (unlikely((wheel_eligible(p) & bit) == 0 || (p->waits & WHEEL_SELF_BIT) != 0)) {
        unlist(w, subport, p, class);
        wheel_relist(w, pipe, p);
        return NULL;
    }

    unsigned queue = class == QOS_BE ? wheel_choose_queue(p) : class;
    struct wheel_queue *q = &w->queue[queue][pipe];
    uint32_t bytes = wheel_number(q->head) + w->overhead;
    uint64_t cost = bucket_cost(&f->pace, bytes), ready = bucket_ready(&p->bucket, &f->pace, cost);
    bool more_rates = ((f->caps & bit) | (s->caps & (WHEEL_SELF_BIT | bit))) != 0;

    if (!r->in_turn) {
        r->in_turn = true;
        r->turn = p->deficit + (class == QOS_BE ? f->be_turn : w->frame);
    }
    if (unlikely((int32_t)bytes > r->turn)) {
        end_turn(w, r);
        return NULL;
    }
    if (unlikely(!is_after(w->now, ready))) {
        wheel_wait(w, pipe, WHEEL_SELF, ready, &p->waits, &p->timed);
        unlist(w, subport, p, class);
        return NULL;
    }
    if (more_rates && !wheel_may_leave(w, subport, pipe, class, bytes)) {
        if ((p->waits & bit) != 0) { /* the pipe's class; or else, its subport */
            unlist(w, subport, p, class);
            wheel_relist(w, pipe, p);
        }
        return NULL;
    }

    struct rte_mbuf *m = take(w, pipe, p, q, queue);
    bucket_take(&p->bucket, cost, w->now);
    if (more_rates)
        wheel_pay(w, subport, pipe, class, bytes);
    if (class == QOS_BE)
        p->wrr[queue - QOS_BE] += bytes * f->wrr_cost[queue - QOS_BE];
    sched_class_of(&w->base, subport, class)->sent++;
    sched_class_of(&w->base, subport, class)->bytes += bytes;
    r->turn -= (int32_t)bytes;
    r->left -= (int32_t)bytes;
    *sent_bytes += bytes;
    if ((wheel_eligible(p) & bit) == 0) {
        unlist(w, subport, p, class);
        if (unlikely(p->queued != 0))
            wheel_relist(w, pipe, p);
    }
    return m;
}

/* --- the whole --- */

/* The clock goes on. What a bucket cannot hold is lost while packets wait and nobody asks. */
static void advance(struct wheel *w, uint64_t now)
{
    if (unlikely(now - w->now > w->slowest && sched_held(&w->base) > 0))
        sched_count_lost(&w->base, now - w->now - w->slowest);
    w->now = now;
    wheel_run_timers(w, now, MOST_WOKEN);
}

uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    struct wheel *w = wheel_of(base);
    uint32_t got = 0, bytes = 0;

    advance(w, is_after(now, w->now) ? now : w->now);
    if (w->classes == 0 || !is_after(w->now, bucket_ready(&w->line, &w->line_pace, 0)))
        return 0;
    wheel_fetch(w, n);
    while (got < n && w->classes != 0) {
        unsigned class = (unsigned)__builtin_ctz(w->classes);

        m[got] = serve(w, choose_subport(w, class), class, &bytes);
        got += m[got] != NULL;
    }
    bucket_take(&w->line, bucket_cost(&w->line_pace, bytes), w->now);
    sched_count_sent(base, got);
    return got;
}
