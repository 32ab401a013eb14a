/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets leave the wheel in the usual case: no rates but those of pipes, subports and the line, no
 * RED, no PIE. A part of dequeue.c.
 */
#ifndef SCHED_WHEEL_USUAL_H
#define SCHED_WHEEL_USUAL_H

#include "sched/shards/shard.h"
#include "sched/wheel/leave.h"
#include "sched/wheel/wheel.h"

/* The rate of a subport below the port's: a constant of each loop. */
enum rate { RATE_NONE, RATE_OWN, RATE_SHARED }; /* that of the port; a bucket; a wallet */

/* What a subport may send now for its own rate, as bucket_cost() counts: what its bucket holds, or
 * a wallet that may spend without asking. */
static __rte_always_inline int64_t subport_credit(const struct wheel *w, uint32_t subport,
                                                  unsigned class, enum rate rate)
{
    const struct wheel_subport *s = &w->subport[subport];

    if (rate == RATE_NONE)
        return 0;
    if (rate == RATE_OWN)
        return bucket_credit(&s->bucket, &s->pace, w->now);
    return s->wallet.waits == 0 && class <= s->wallet.class ? s->wallet.credit : 0;
}

/* Have a subport pay for what its pipes sent. */
static __rte_always_inline void subport_pay(struct wheel *w, uint32_t subport, enum rate rate,
                                            uint64_t cost)
{
    struct wheel_subport *s = &w->subport[subport];

    if (rate == RATE_OWN)
        bucket_take(&s->bucket, cost, w->now);
    else if (rate == RATE_SHARED)
        s->wallet.credit -= (int64_t)cost;
}

/* wheel_relist() by a call, which leaves the loops their registers. */
static WHEEL_OUT_OF_LINE void relist(struct wheel *w, uint32_t pipe, struct wheel_pipe *p)
{
    wheel_relist(w, pipe, p);
}

/* Have a pipe that stands in a ring of its subport no more wait in that of its next class, in which
 * it mostly stands already: each packet puts it there. */
static inline void leave_ring(struct wheel *w, uint32_t pipe, struct wheel_pipe *p, uint32_t bit)
{
    uint64_t bits = p->bits & ~((uint64_t)bit << WHEEL_LISTED);
    uint32_t next;

    p->bits = bits;
    if ((bits & (uint64_t)WHEEL_SELF_BIT << WHEEL_WAITS) != 0)
        return;
    next = wheel_eligible_of(bits);
    if (unlikely((next & -next & ~(uint32_t)(bits >> WHEEL_LISTED)) != 0))
        relist(w, pipe, p);
}

/* Let the first packet of a queue leave, and the next one take its place. */
static inline struct rte_mbuf *take_plain(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
                                          struct wheel_queue *q, unsigned queue)
{
    struct rte_mbuf *m = wheel_mbuf(q->head);
    uint32_t last = wheel_number(q->tail) == 1;

    if (last == 0 && unlikely((w->in_bytes >> queue & 1) != 0))
        return take(w, pipe, p, q, queue);
    q->tail -= UINT64_C(1) << 48;
    if (last == 0)
        q->head = chain_unlink(q->head, pipe * QOS_QUEUES + queue);
    p->bits &= ~((uint64_t)last << queue);
    return m;
}

/* Count a packet of so many bytes that leaves a queue of a pipe. be: is it best effort? A constant.
 */
static inline void count_plain(struct wheel_pipe *p, const struct wheel_profile *f, unsigned queue,
                               bool be, uint32_t bytes)
{
    sched_count_pipe(&p->counters, bytes);
    if (be) {
        p->be_last = (uint8_t)(queue - QOS_BE);
        p->wrr[queue - QOS_BE] += bytes * f->wrr_cost[queue - QOS_BE];
    }
}

/* Is one bit set, neither none nor more? */
static inline bool is_one_bit(uint32_t bits)
{
    return (bits ^ (bits - 1)) > bits - 1;
}

/* Let a packet leave that is alone in its class of a pipe, whose turn begins, and which has not
 * lacked credit since it was empty: it stands in the rings of all classes that it has packets in,
 * and any packet fits in a turn. credit: of the subport, where it has a rate (a constant), of which
 * a byte takes so much. Returns false where it is another, or may not leave, and nothing was done;
 * else its bytes, too. */
static __rte_always_inline bool send_single(const struct wheel *w, uint32_t pipe, unsigned class,
                                            bool be, enum rate rate, uint64_t byte, int64_t credit,
                                            struct rte_mbuf **m, uint32_t *sent_bytes)
{
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    uint32_t may = p->queued & WHEEL_BE_BITS;
    unsigned queue = be ? (unsigned)__builtin_ctz(may | 1u << (QOS_QUEUES - 1)) : class;
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    const struct wheel_profile *f = &w->profile[p->profile];
    uint64_t bytes;

    if (p->limited != SCHED_PROMPT || (be && !is_one_bit(may)) || wheel_number_at(&q->tail) != 1)
        return false;
    bytes = wheel_number_at(&q->head) + w->overhead;
    if ((rate != RATE_NONE && unlikely((int64_t)(byte * bytes) > credit)) ||
        unlikely(!bucket_try(&p->bucket, &f->pace, f->pace.byte * bytes, w->now)))
        return false;
    count_plain(p, f, queue, be, (uint32_t)bytes);
    *m = wheel_mbuf(q->head);
    (*m)->hash.sched.color = SCHED_PROMPT;
    q->tail -= UINT64_C(1) << 48;
    p->bits &= ~(be ? may | UINT64_C(1) << WHEEL_LISTED << QOS_BE
                    : (UINT64_C(1) << WHEEL_LISTED | 1) << class);
    p->deficit = 0;
    *sent_bytes = (uint32_t)bytes;
    return true;
}

/* A loop over a ring: what has left so far, and when it ends. */
struct loop {
    struct rte_mbuf **m, **end; /* packets that leave */
    int64_t credit;             /* of the subport, where it has a rate: bucket_credit() */
    uint64_t byte;              /* likewise: what a byte takes of it */
    int32_t left;               /* bytes; at 0 the loop ends */
};

/* A packet of so many bytes has left. rate: of the subport. */
static __rte_always_inline void count_packet(struct loop *l, enum rate rate, uint32_t bytes)
{
    l->m++;
    l->left -= (int32_t)bytes;
    if (rate != RATE_NONE)
        l->credit -= (int64_t)(l->byte * bytes);
    l->end = l->left > 0 ? l->end : l->m;
}

/* Let packets leave, pipe by pipe, as send_single() does. */
static __rte_always_inline void serve_singles(struct wheel *w, uint32_t subport, unsigned class,
                                              bool be, enum rate rate, struct loop *l)
{
    struct sched_class_state *c = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &c->ring;
    uint32_t head = r->head, n = RTE_MIN((uint32_t)(l->end - l->m), r->tail - head);
    struct rte_mbuf **m = l->m, **const end = m + n;
    int64_t credit = l->credit;
    int32_t left = l->left;
    uint32_t bytes;

    for (uint32_t at = head; m < end && left > 0; at++) {
        if (!send_single(w, r->pipe[at & r->mask], class, be, rate, l->byte, credit, m, &bytes))
            break;
        m++;
        if (rate != RATE_NONE)
            credit -= (int64_t)(l->byte * bytes);
        left -= (int32_t)bytes;
    }
    rte_compiler_barrier(); /* what is read again needs no register in the loop */
    head = r->head;
    r->head = head + (uint32_t)(m - l->m);
    if (WHEEL_SHARD && m != l->m)
        shard_end_turns(w, c, head, 0, 1);
    l->m = m;
    l->end = left > 0 ? l->end : m;
    l->credit = credit;
    l->left = left;
}

/* Serve the pipe at the head of a ring for a turn, or what is left of one. A pipe that lacks credit
 * for its next packet waits even where its turn ends, and keeps what is left of the turn: in its
 * next one it would be found so, for as much work again. Returns false where its turn goes on in
 * another loop. */
static __rte_always_inline bool serve_turn(struct wheel *w, struct wheel_ring *r, uint32_t subport,
                                           unsigned class, bool be, enum rate rate, struct loop *l)
{
    const uint32_t bit = 1u << class, bits = be ? WHEEL_BE_BITS : bit, stops = WHEEL_SELF_BIT | bit;
    uint32_t pipe = r->pipe[r->head & r->mask];
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    const struct wheel_profile *f = &w->profile[p->profile];
    uint32_t may = unlikely((p->waits & stops) != 0) ? 0 : p->queued & bits;
    int32_t turn = r->in_turn ? r->turn : p->deficit + (be ? f->be_turn : w->frame);
    bool ends = false;
    struct rte_mbuf **const first = l->m;

    while (may != 0) {
        unsigned queue = be ? wheel_choose_queue(w, p) : class;
        struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
        uint32_t bytes = wheel_number(q->head) + w->overhead;
        uint64_t cost = bucket_cost(&f->pace, bytes),
                 ready = bucket_ready(&p->bucket, &f->pace, cost);

        ends = (int32_t)bytes > turn;
        if (unlikely(!is_after(w->now, ready))) {
            wheel_pipe_waits(w, pipe, p, WHEEL_SELF, ready);
            may = 0;
            break;
        }
        if (unlikely(ends) || (rate != RATE_NONE && (int64_t)(l->byte * bytes) > l->credit))
            break;
        bucket_take(&p->bucket, cost, w->now);
        *l->m = take_plain(w, pipe, p, q, queue);
        note_limited(p, *l->m);
        count_plain(p, f, queue, be, bytes);
        count_packet(l, rate, bytes);
        turn -= (int32_t)bytes;
        may = p->queued & bits;
        if (l->m == l->end)
            break;
    }
    r->turn = turn;
    r->in_turn = may != 0 && !ends;
    if (r->in_turn) {
        if (WHEEL_SHARD)
            sched_rest_of(&w->base, subport, class)->rounds.sent |= l->m != first;
        return false;
    }
    p->deficit = turn & -(int32_t)((may != 0) | ends); /* else 0; without a branch */
    r->head++;
    if (may != 0)
        r->pipe[r->tail++ & r->mask] = pipe;
    if (WHEEL_SHARD)
        shard_end_turns(w, sched_class_of(&w->base, subport, class), r->head - 1, may != 0,
                        l->m != first);
    if (may == 0)
        leave_ring(w, pipe, p, bit);
    return true;
}

/* Serve pipes for a turn each. Ends at a pipe of a high class that serve_singles() may serve; those
 * of best effort often have several packets. Returns whether the loop goes on. */
static __rte_always_inline bool serve_turns(struct wheel *w, uint32_t subport, unsigned class,
                                            bool be, enum rate rate, struct loop *loop)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    struct loop l = *loop; /* in registers */
    bool goes_on;

    do {
        goes_on =
            serve_turn(w, r, subport, class, be, rate, &l) && l.m < l.end && r->head != r->tail;
    } while (goes_on &&
             (be || wheel_pipe_of(w, r->pipe[r->head & r->mask])->limited != SCHED_PROMPT));
    *loop = l;
    return goes_on;
}

typedef bool serve_turns_fn(struct wheel *w, uint32_t subport, unsigned class, struct loop *loop);
typedef void serve_rest_fn(struct wheel *w, uint32_t subport, unsigned class, struct loop *loop);

/* Serve pipes that serve_singles() does not serve, and who is behind them. turns: serve_turns(), by
 * a call, which leaves this loop its registers. */
static __rte_always_inline void serve_rest(struct wheel *w, uint32_t subport, unsigned class,
                                           bool be, enum rate rate, serve_turns_fn *turns,
                                           struct loop *l)
{
    const struct wheel_ring *r = wheel_ring_of(w, subport, class);

    while (l->m < l->end && r->head != r->tail && turns(w, subport, class, l))
        serve_singles(w, subport, class, be, rate, l);
}

/* Serve the pipes of a ring in their turns, as serve() does, until n packets have left, the ring is
 * empty, or the subport's turn or its credit is over: serve() asks for more, and has the subport
 * wait. rest: serve_rest(), by a call. be: is the class best effort? be and rate are constants.
 * Returns the number of packets. */
static __rte_always_inline uint32_t serve_ring(struct wheel *w, uint32_t subport, unsigned class,
                                               bool be, enum rate rate, serve_rest_fn *rest,
                                               struct rte_mbuf **m, uint32_t n,
                                               uint32_t *sent_bytes)
{
    struct sched_class_state *count = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &count->ring;
    const bool asked_first = WHEEL_SHARD && rate != RATE_NONE && !w->shard->roomy; /* the port */
    const int32_t most = r->left;
    struct loop l = {
        .m = m,
        .end = m + (asked_first ? 1 : n),
        .credit = subport_credit(w, subport, class, rate),
        .byte = rate != RATE_NONE ? w->subport[subport].pace.byte : 0,
        .left = most,
    };
    uint32_t sum, got;

    if (!r->in_turn)
        serve_singles(w, subport, class, be, rate, &l);
    if (l.m < l.end && r->head != r->tail) {
        struct loop behind = l;

        rest(w, subport, class, &behind);
        l = behind;
    }
    got = (uint32_t)(l.m - m);
    sum = (uint32_t)(most - l.left);
    r->left -= (int32_t)sum;
    subport_pay(w, subport, rate, l.byte * sum);
    *sent_bytes += sum;
    count->sent += got;
    count->bytes += sum;
    if (r->head == r->tail)
        end_ring(w, count, subport, class);
    else if (r->left <= 0)
        end_subport_turn(w, r, class);
    return got;
}

/* Let the only pipe of a ring of a high class leave, as send_single() does. Returns false where
 * that is not so, and nothing was done. */
static __rte_always_inline bool serve_lone(struct wheel *w, uint32_t subport, unsigned class,
                                           enum rate rate, struct rte_mbuf **m,
                                           uint32_t *sent_bytes)
{
    struct sched_class_state *count = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &count->ring;
    uint64_t byte = rate != RATE_NONE ? w->subport[subport].pace.byte : 0;
    uint32_t bytes;

    if (r->tail - r->head != 1 || r->in_turn)
        return false;
    if (!send_single(w, r->pipe[r->head & r->mask], class, false, rate, byte,
                     subport_credit(w, subport, class, rate), m, &bytes))
        return false;
    r->head++;
    r->left -= (int32_t)bytes;
    if (WHEEL_SHARD)
        shard_end_turns(w, count, r->head - 1, 0, 1);
    subport_pay(w, subport, rate, byte * bytes);
    *sent_bytes += bytes;
    count->sent++;
    count->bytes += bytes;
    end_ring(w, count, subport, class);
    return true;
}

/* A loop for each kind of ring, with what its packets need and no more. */
#define SERVE_RING(name, be, rate)                                                                 \
    static WHEEL_OUT_OF_LINE bool name##_turns(struct wheel *w, uint32_t subport, unsigned class,  \
                                               struct loop *loop)                                  \
    {                                                                                              \
        return serve_turns(w, subport, be ? QOS_BE : class, be, rate, loop);                       \
    }                                                                                              \
    static WHEEL_OUT_OF_LINE void name##_rest(struct wheel *w, uint32_t subport, unsigned class,   \
                                              struct loop *loop)                                   \
    {                                                                                              \
        serve_rest(w, subport, be ? QOS_BE : class, be, rate, name##_turns, loop);                 \
    }                                                                                              \
    static WHEEL_OUT_OF_LINE uint32_t name(struct wheel *w, uint32_t subport, unsigned class,      \
                                           struct rte_mbuf **m, uint32_t n, uint32_t *sent_bytes)  \
    {                                                                                              \
        return serve_ring(w, subport, be ? QOS_BE : class, be, rate, name##_rest, m, n,            \
                          sent_bytes);                                                             \
    }

SERVE_RING(serve_high, false, RATE_NONE)
SERVE_RING(serve_best_effort, true, RATE_NONE)
SERVE_RING(serve_high_rated, false, RATE_OWN)
SERVE_RING(serve_best_effort_rated, true, RATE_OWN)
SERVE_RING(serve_high_shared, false, RATE_SHARED)
SERVE_RING(serve_best_effort_shared, true, RATE_SHARED)

/* Let packets of a ring leave, as serve_ring() does. rate: a constant. */
static __rte_always_inline uint32_t serve_usual(struct wheel *w, uint32_t subport, unsigned class,
                                                enum rate rate, struct rte_mbuf **m, uint32_t n,
                                                uint32_t *sent_bytes)
{
    if (w->n_subports > 1 && class != QOS_BE && serve_lone(w, subport, class, rate, m, sent_bytes))
        return 1;
    if (rate == RATE_NONE)
        return class == QOS_BE ? serve_best_effort(w, subport, class, m, n, sent_bytes)
                               : serve_high(w, subport, class, m, n, sent_bytes);
    if (rate == RATE_OWN)
        return class == QOS_BE ? serve_best_effort_rated(w, subport, class, m, n, sent_bytes)
                               : serve_high_rated(w, subport, class, m, n, sent_bytes);
    return class == QOS_BE ? serve_best_effort_shared(w, subport, class, m, n, sent_bytes)
                           : serve_high_shared(w, subport, class, m, n, sent_bytes);
}

#endif
