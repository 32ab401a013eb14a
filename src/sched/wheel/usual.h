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

/* What a subport may send now for its own rate, as bucket_cost() counts: what its bucket holds, or
 * a wallet that may spend without asking. */
static inline int64_t subport_credit(const struct wheel *w, uint32_t subport, unsigned class)
{
    const struct wheel_subport *s = &w->subport[subport];

    if (WHEEL_SHARD && w->shard->subport[subport].own.purse != NULL) {
        const struct wallet *wallet = &w->shard->subport[subport].own;

        return wallet->waits == 0 && class <= wallet->class ? wallet->credit : 0;
    }
    return bucket_credit(&s->bucket, &s->pace, w->now);
}

/* Have a subport pay for what its pipes sent. */
static inline void subport_pay(struct wheel *w, uint32_t subport, uint64_t cost)
{
    if (WHEEL_SHARD && w->shard->subport[subport].own.purse != NULL)
        w->shard->subport[subport].own.credit -= (int64_t)cost;
    else
        bucket_take(&w->subport[subport].bucket, cost, w->now);
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
    uint32_t next = wheel_eligible(p);

    p->listed &= (uint16_t)~bit;
    if ((p->waits & WHEEL_SELF_BIT) == 0 && unlikely((next & -next & ~p->listed) != 0))
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
    p->queued &= (uint16_t) ~(last << queue);
    return m;
}

/* Have a pipe pay for a packet of so many bytes that leaves a queue. be: is it best effort? A
 * constant. */
static inline void pay_plain(const struct wheel *w, struct wheel_pipe *p,
                             const struct wheel_profile *f, unsigned queue, bool be, uint32_t bytes,
                             uint64_t cost)
{
    bucket_take(&p->bucket, cost, w->now);
    sched_count_pipe(&p->counters, bytes);
    if (be) {
        p->be_last = (uint8_t)(queue - QOS_BE);
        p->wrr[queue - QOS_BE] += bytes * f->wrr_cost[queue - QOS_BE];
    }
}

/* Let a packet leave that is alone in its class of a pipe, whose turn begins, and which has not
 * lacked credit since it was empty: it stands in the rings of all classes that it has packets in,
 * and any packet fits in a turn. credit: of the subport, where it has a rate (rated, a constant),
 * of which a byte takes so much. Returns the packet's bytes; 0: it is another, or it may not leave,
 * and nothing was done. */
static __rte_always_inline uint32_t send_single(const struct wheel *w, uint32_t pipe,
                                                unsigned class, bool be, bool rated, uint64_t byte,
                                                int64_t credit, struct rte_mbuf **m)
{
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    uint32_t may = p->queued & (be ? WHEEL_BE_BITS : 1u << class), bytes;
    unsigned queue = be ? (unsigned)__builtin_ctz(may | 1u << (QOS_QUEUES - 1)) : class;
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    const struct wheel_profile *f;
    uint64_t cost;

    if (p->limited != SCHED_PROMPT || may != 1u << queue || wheel_number(q->tail) != 1)
        return 0;
    f = &w->profile[p->profile];
    bytes = wheel_number(q->head) + w->overhead;
    cost = bucket_cost(&f->pace, bytes);
    if (unlikely(!is_after(w->now, bucket_ready(&p->bucket, &f->pace, cost))) ||
        (rated && unlikely((int64_t)(byte * bytes) > credit)))
        return 0;
    pay_plain(w, p, f, queue, be, bytes, cost);
    *m = wheel_mbuf(q->head);
    (*m)->hash.sched.color = SCHED_PROMPT;
    q->tail -= UINT64_C(1) << 48;
    p->queued &= (uint16_t)~may;
    p->listed &= (uint16_t) ~(1u << class);
    p->deficit = 0;
    return bytes;
}

/* A loop over a ring: what has left so far, and when it ends. */
struct loop {
    struct rte_mbuf **m, **end; /* packets that leave */
    int64_t credit;             /* of the subport, where it has a rate: bucket_credit() */
    uint64_t byte;              /* likewise: what a byte takes of it */
    int32_t left;               /* bytes; at 0 the loop ends */
};

/* A packet of so many bytes has left. rated: has the subport a rate? A constant. */
static __rte_always_inline void count_packet(struct loop *l, bool rated, uint32_t bytes)
{
    l->m++;
    l->left -= (int32_t)bytes;
    if (rated)
        l->credit -= (int64_t)(l->byte * bytes);
    l->end = l->left > 0 ? l->end : l->m;
}

/* Let packets leave, pipe by pipe, as send_single() does. */
static __rte_always_inline void serve_singles(struct wheel *w, uint32_t subport, unsigned class,
                                              bool be, bool rated, struct loop *loop)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    struct loop l = *loop; /* in registers */
    uint32_t head = r->head;

    while (l.m < l.end && head != r->tail) {
        uint32_t bytes =
            send_single(w, r->pipe[head & r->mask], class, be, rated, l.byte, l.credit, l.m);

        if (bytes == 0)
            break;
        head++;
        count_packet(&l, rated, bytes);
    }
    if (WHEEL_SHARD)
        shard_end_turns(shard_ring_of(w, subport, class), r->head, head, r->tail);
    r->head = head;
    *loop = l;
}

/* Serve the pipe at the head of a ring for a turn, or what is left of one. A pipe that lacks credit
 * for its next packet waits even where its turn ends, and keeps what is left of the turn: in its
 * next one it would be found so, for as much work again. Returns false where its turn goes on in
 * another loop. */
static __rte_always_inline bool serve_turn(struct wheel *w, struct wheel_ring *r, uint32_t subport,
                                           unsigned class, bool be, bool rated, struct loop *l)
{
    const uint32_t bit = 1u << class, bits = be ? WHEEL_BE_BITS : bit, stops = WHEEL_SELF_BIT | bit;
    uint32_t pipe = r->pipe[r->head & r->mask];
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    const struct wheel_profile *f = &w->profile[p->profile];
    uint32_t may = unlikely((p->waits & stops) != 0) ? 0 : p->queued & bits;
    int32_t turn = r->in_turn ? r->turn : p->deficit + (be ? f->be_turn : w->frame);
    bool ends = false;

    while (may != 0) {
        unsigned queue = be ? wheel_choose_queue(p) : class;
        struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
        uint32_t bytes = wheel_number(q->head) + w->overhead;
        uint64_t cost = bucket_cost(&f->pace, bytes),
                 ready = bucket_ready(&p->bucket, &f->pace, cost);

        ends = (int32_t)bytes > turn;
        if (unlikely(!is_after(w->now, ready))) {
            wheel_pipe_waits(w, pipe, WHEEL_SELF, ready);
            may = 0;
            break;
        }
        if (unlikely(ends))
            break;
        if (rated && (int64_t)(l->byte * bytes) > l->credit)
            break;
        *l->m = take_plain(w, pipe, p, q, queue);
        note_limited(p, *l->m);
        pay_plain(w, p, f, queue, be, bytes, cost);
        count_packet(l, rated, bytes);
        turn -= (int32_t)bytes;
        may = p->queued & bits;
        if (l->m == l->end)
            break;
    }
    r->turn = turn;
    r->in_turn = may != 0 && !ends;
    if (r->in_turn)
        return false;
    p->deficit = turn & -(int32_t)((may != 0) | ends); /* else 0; without a branch */
    r->head++;
    if (may != 0)
        r->pipe[r->tail++ & r->mask] = pipe;
    if (WHEEL_SHARD)
        shard_end_turns(shard_ring_of(w, subport, class), r->head - 1, r->head, r->tail);
    if (may == 0)
        leave_ring(w, pipe, p, bit);
    return true;
}

/* Serve pipes for a turn each. Ends at a pipe of a high class that serve_singles() may serve; those
 * of best effort often have several packets. Returns whether the loop goes on. */
static __rte_always_inline bool serve_turns(struct wheel *w, uint32_t subport, unsigned class,
                                            bool be, bool rated, struct loop *loop)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    struct loop l = *loop; /* in registers */
    bool goes_on;

    do {
        goes_on =
            serve_turn(w, r, subport, class, be, rated, &l) && l.m < l.end && r->head != r->tail;
    } while (goes_on &&
             (be || wheel_pipe_of(w, r->pipe[r->head & r->mask])->limited != SCHED_PROMPT));
    *loop = l;
    return goes_on;
}

typedef bool serve_turns_fn(struct wheel *w, uint32_t subport, unsigned class, struct loop *loop);

/* Serve the pipes of a ring in their turns, as serve() does, until n packets have left, the ring is
 * empty, or the subport's turn or its credit is over: serve() asks for more, and has the subport
 * wait. turns: serve_turns(), by a call, which leaves this loop its registers. be: is the class
 * best effort? rated: has the subport a rate? Both are constants. Returns the number of packets. */
static __rte_always_inline uint32_t serve_ring(struct wheel *w, uint32_t subport, unsigned class,
                                               bool be, bool rated, serve_turns_fn *turns,
                                               struct rte_mbuf **m, uint32_t n,
                                               uint32_t *sent_bytes)
{
    struct sched_class_state *count = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &count->ring;
    int32_t alone = WHEEL_SHARD ? w->shard->burst : INT32_MAX,
            most = w->n_subports == 1 ? alone : r->left;
    struct loop l = {
        .m = m,
        .end = m + (WHEEL_SHARD && rated && !w->shard->roomy ? 1 : n), /* the port is asked first */
        .credit = rated ? subport_credit(w, subport, class) : 0,
        .byte = rated ? w->subport[subport].pace.byte : 0,
        .left = most,
    };
    uint32_t sum, got;

    do {
        if (!r->in_turn)
            serve_singles(w, subport, class, be, rated, &l);
    } while (l.m < l.end && r->head != r->tail && turns(w, subport, class, &l));
    got = (uint32_t)(l.m - m);
    sum = (uint32_t)(most - l.left);
    r->left -= (int32_t)sum;
    if (rated)
        subport_pay(w, subport, l.byte * sum);
    *sent_bytes += sum;
    count->sent += got;
    count->bytes += sum;
    if (r->head == r->tail)
        end_ring(w, subport, class);
    return got;
}

/* Let the only pipe of a ring of a high class leave, as send_single() does. Returns false where
 * that is not so, and nothing was done. */
static __rte_always_inline bool serve_lone(struct wheel *w, uint32_t subport, unsigned class,
                                           bool rated, struct rte_mbuf **m, uint32_t *sent_bytes)
{
    struct sched_class_state *count = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &count->ring;
    uint64_t byte = rated ? w->subport[subport].pace.byte : 0;
    uint32_t bytes;

    if (r->tail - r->head != 1 || r->in_turn)
        return false;
    bytes = send_single(w, r->pipe[r->head & r->mask], class, false, rated, byte,
                        rated ? subport_credit(w, subport, class) : 0, m);
    if (bytes == 0)
        return false;
    r->head++;
    r->left -= (int32_t)bytes;
    if (WHEEL_SHARD)
        shard_end_turns(shard_ring_of(w, subport, class), r->head - 1, r->head, r->tail);
    if (rated)
        subport_pay(w, subport, byte * bytes);
    *sent_bytes += bytes;
    count->sent++;
    count->bytes += bytes;
    end_ring(w, subport, class);
    return true;
}

/* A loop for each kind of ring, with what its packets need and no more. */
#define SERVE_RING(name, be, rated)                                                                \
    static WHEEL_OUT_OF_LINE bool name##_turns(struct wheel *w, uint32_t subport, unsigned class,  \
                                               struct loop *loop)                                  \
    {                                                                                              \
        return serve_turns(w, subport, be ? QOS_BE : class, be, rated, loop);                      \
    }                                                                                              \
    static WHEEL_OUT_OF_LINE uint32_t name(struct wheel *w, uint32_t subport, unsigned class,      \
                                           struct rte_mbuf **m, uint32_t n, uint32_t *sent_bytes)  \
    {                                                                                              \
        return serve_ring(w, subport, be ? QOS_BE : class, be, rated, name##_turns, m, n,          \
                          sent_bytes);                                                             \
    }

SERVE_RING(serve_high, false, false)
SERVE_RING(serve_best_effort, true, false)
SERVE_RING(serve_high_rated, false, true)
SERVE_RING(serve_best_effort_rated, true, true)

#endif
