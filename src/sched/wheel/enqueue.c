/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel: packets come. */
#include "sched/wheel/layouts.h"

#include "packet/free.h"
#include "sched/stamp.h"
#include "sched/wheel/rings.h"
#include "sched/wheel/wheel.h"

#define BURST 64

/* Tell RED of a packet to a queue that was empty for a while: the packet is always taken, and the
 * average decays. After so short a while that the factor is above 1/2, DPDK shifts by -1 to round
 * it, which is undefined in C: in that case the average is computed here. */
static void red_was_empty(const struct rte_red_config *c, struct rte_red *red, uint64_t time)
{
    uint64_t m = (time - red->q_time) / RTE_RED_S; /* packets that might have come meanwhile */
    uint64_t n = m * rte_red_log2_1_minus_Wq[c->wq_log2 - RTE_RED_WQ_LOG2_MIN];

    if (n >> 10 == 0) { /* the factor is 2^-(n / 1024) */
        red->count++;
        red->avg = (red->avg >> RTE_RED_SCALING) * rte_red_pow2_frac_inv[n >> 6];
    } else {
        rte_red_enqueue(c, red, 0, time);
    }
}

/* The next 32 random bits: xorshift by Marsaglia. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Ask PIE of a queue. The first packet says for how long the queue makes wait. */
static bool pie_takes(struct wheel *w, struct rte_mbuf *m, unsigned class, struct pie *pie,
                      const struct wheel_queue *q)
{
    const struct pie_config *c = &w->pie_config[class];
    uint32_t now = (uint32_t)(w->real >> SCHED_STAMP_SHIFT), depth = wheel_number(q->tail);

    if (unlikely(pie_is_due(c, pie, now)))
        pie_update(c, pie, now, depth != 0 ? wheel_age(q, w->real) : 0);
    if (!pie_drops(c, pie, depth, wheel_load(w, q), next_random(&w->random)))
        return true;
    return w->shape.class[class].ecn && pie_may_mark(c, pie, depth) && wheel_mark(w, m);
}

/* Ask RED of a queue that is not empty. It tells a drop by its probability from one beyond its
 * maximum, where marks no longer help (RFC 3168 section 7). */
static bool red_takes(struct wheel *w, struct rte_mbuf *m, unsigned class, struct rte_red *red,
                      uint32_t depth)
{
    enum { TAKE, BEYOND, DROP };
    int v = rte_red_enqueue(&w->red_config[class], red, depth, 0);

    return v == TAKE || (v == DROP && w->shape.class[class].ecn && wheel_mark(w, m));
}

/* Ask RED or PIE of a queue that has one of them, or let FQ-CoDel or L4S hold the packet behind
 * another. */
static enum verdict manage(struct wheel *w, struct rte_mbuf *m, uint32_t pipe, unsigned queue,
                           struct wheel_queue *q)
{
    unsigned class = qos_class_of(queue);
    uint32_t depth = wheel_number(q->tail);

    if ((w->codel & 1u << queue) != 0)
        return depth > 0 && fq_put(w, m, q) ? HELD : ACCEPTED;
    if ((w->l4s & 1u << queue) != 0)
        return depth > 0 && l4s_put(w, m, q) ? HELD : ACCEPTED;

    void *state = w->aqm[queue] + (size_t)pipe * w->aqm_size;

    if ((w->red & 1u << queue) == 0)
        return pie_takes(w, m, class, state, q) ? ACCEPTED : PIE;
    if (depth > 0)
        return red_takes(w, m, class, state, depth) ? ACCEPTED : RED;
    red_was_empty(&w->red_config[class], state,
                  (uint64_t)((double)(w->real - w->start) * w->red_time));
    return ACCEPTED;
}

/* Move what a queue has taken to its tally. */
static WHEEL_OUT_OF_LINE void move_taken(struct wheel *w, uint32_t pipe, unsigned queue,
                                         struct wheel_queue *q)
{
    struct wheel_tally *t = &w->tally[queue][pipe];
    uint64_t bytes = q->taken & ((UINT64_C(1) << WHEEL_TAKEN_BITS) - 1);

    t->packets_moved++;
    t->bytes_moved += (uint32_t)(bytes >> (WHEEL_TAKEN_BITS - 1));
    q->taken = bytes & ((UINT64_C(1) << (WHEEL_TAKEN_BITS - 1)) - 1);
}

/* Count a packet that was taken into a queue. */
static inline void count_taken(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned queue,
                               struct wheel_queue *q, uint32_t bytes)
{
    q->taken += (UINT64_C(1) << WHEEL_TAKEN_BITS) + bytes;
    if (unlikely((q->taken & WHEEL_TAKEN_FULL) != 0))
        move_taken(w, pipe, queue, q);
    sched_class_of(&w->base, subport, queue)->accepted++;
}

/* Append a packet to its queue, which holds depth packets. */
static inline void append(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q,
                          uint32_t depth, uint32_t bytes)
{
    uint64_t word = wheel_word(m, bytes);

    chain_link(wheel_mbuf(either_unless_zero(depth, q->tail, (uintptr_t)&w->nobody)), word);
    q->head = either_unless_zero(depth, q->head, word);
    q->tail = wheel_word(m, depth + 1);
}

/* Note that a queue of a pipe holds packets, and put the pipe into the ring of the queue's class,
 * unless it stands there or lacks credit. */
static inline void join_ring(struct wheel *w, uint32_t subport, uint32_t pipe, struct wheel_pipe *p,
                             unsigned queue)
{
    const unsigned class = qos_class_of(queue);
    const uint64_t listed = UINT64_C(1) << WHEEL_LISTED << class,
                   waits = UINT64_C(1) << WHEEL_WAITS << class | (uint64_t)WHEEL_SELF_BIT
                                                                     << WHEEL_WAITS;
    uint64_t bits = p->bits;

    p->bits = bits | UINT64_C(1) << queue;
    if ((bits & (listed | waits)) != 0)
        return;
    p->bits = bits | UINT64_C(1) << queue | listed;
    wheel_enter(w, subport, pipe, class);
    wheel_fill(w, subport, class); /* it may have: a branch would often be foretold wrongly */
}

/* Put a packet into a queue q that holds fewer than plain_size: neither a limit of bytes nor an AQM
 * has a say then. UNDECIDED: that is not so, and nothing was done. */
static inline enum verdict put_plain(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q)
{
    uint32_t path = m->hash.sched.queue_id, pipe = path / QOS_QUEUES;
    uint32_t subport = w->n_subports == 1 ? 0 : wheel_subport_of(w, pipe);
    unsigned queue = path % QOS_QUEUES;
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    uint32_t depth = wheel_number(q->tail), bytes = m->pkt_len;

    if (unlikely(depth >= w->plain_size[queue]) || unlikely((q->tail & 1) != 0) ||
        unlikely(bytes > w->mtu) || unlikely(p->profile == w->max_profiles))
        return depth >= w->most[queue] ? TAIL : UNDECIDED;
    append(w, m, q, depth, bytes);
    count_taken(w, subport, pipe, queue, q, bytes);
    join_ring(w, subport, pipe, p, queue);
    return ACCEPTED;
}

/* Put a packet into its queue q. */
static WHEEL_OUT_OF_LINE enum verdict put(struct wheel *w, struct rte_mbuf *m,
                                          struct wheel_queue *q)
{
    uint32_t path = m->hash.sched.queue_id, pipe = path / QOS_QUEUES;
    uint32_t subport = wheel_subport_of(w, pipe);
    unsigned queue = path % QOS_QUEUES;
    bool in_bytes = (w->in_bytes >> queue & 1) != 0;
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    uint32_t depth = wheel_number(q->tail), bytes = m->pkt_len, load = bytes + w->overhead;
    uint64_t tag = 0;

    if (unlikely(depth >= w->size[queue] || bytes > w->mtu ||
                 (in_bytes && wheel_load(w, q) + load > w->profile[p->profile].room[queue]) ||
                 p->profile == w->max_profiles)) {
        if ((w->codel & 1u << queue) == 0 || bytes > w->mtu || !fq_make_room(w, pipe, queue, load))
            return TAIL;
        depth = wheel_number(q->tail);
    }
    if (unlikely(((depth == 0 ? w->aqm_always : w->aqm_queues) & 1u << queue) != 0)) {
        enum verdict v = manage(w, m, pipe, queue, q);

        if (v == HELD) {
            q->load += load;
            count_taken(w, subport, pipe, queue, q, bytes);
        }
        if (v != ACCEPTED)
            return v;
    }
    if (depth == 0 && (q->tail & 1) != 0) /* it keeps its state of FQ-CoDel */
        tag = q->tail;
    append(w, m, q, depth, bytes);
    if (unlikely(tag != 0))
        q->tail = tag + (UINT64_C(1) << 48);
    if (in_bytes && depth != 0)
        q->load += load;
    count_taken(w, subport, pipe, queue, q, bytes);
    join_ring(w, subport, pipe, p, queue);
    return ACCEPTED;
}

/* Prefetch a queue of a pipe, the pipe, and where there are many subports the state of the class in
 * its one: those of a few are in the cache. Always inline: gcc takes a function that only
 * prefetches for one without effect, and leaves out its calls. */
static __rte_always_inline void fetch_queue(const struct wheel *w, uint32_t pipe, unsigned queue)
{
    rte_prefetch0_write(wheel_queue_of(w, pipe, queue));
    rte_prefetch0_write(wheel_pipe_of(w, pipe));
    if (unlikely(w->n_subports >= WHEEL_MANY_SUBPORTS))
        rte_prefetch0_write(sched_class_of(&w->base, wheel_subport_of(w, pipe), queue));
}

/* A path may be of a packet that is not for the wheel. Lines of its first pipe stand for any other
 * one then, without a branch. */
void wheel_expect(const struct sched *base, struct rte_mbuf *const *m, uint32_t n, uint32_t first)
{
    const struct wheel *w = (const struct wheel *)base;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t path = m[i]->hash.sched.queue_id - first, pipe = path / QOS_QUEUES;

        pipe = pipe < w->n_pipes ? pipe : 0;
        fetch_queue(w, pipe, path % QOS_QUEUES);
    }
}

/* What arrives together: packets and their queues, and those that found no room. */
struct arrivals {
    struct rte_mbuf *m[BURST], *drop[BURST];
    struct wheel_queue *queue[BURST];
    uint32_t n, n_drop;
};

/* Find the queues of packets, which wheel_expect() has fetched, and prefetch the last packet of
 * each. Packets whose queue is full are told apart without a branch: where shaping bites they come
 * at random, and a branch would be foretold wrongly as often as not. */
static inline void find_queues(const struct wheel *w, struct rte_mbuf *const *m, uint32_t n,
                               struct arrivals *a)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t path = m[i]->hash.sched.queue_id, number = path % QOS_QUEUES;
        struct wheel_queue *q = wheel_queue_of(w, path / QOS_QUEUES, number);
        uint32_t depth = wheel_number(q->tail);
        uint64_t last =
            either_if_below(depth - 1, w->most[number] - 1u, q->tail, (uintptr_t)&w->nobody);

        rte_prefetch0_write(wheel_mbuf(last));
        a->m[room] = m[i];
        a->queue[room] = q;
        a->drop[i - room] = m[i];
        room += depth < w->most[number];
    }
    a->n = room;
    a->n_drop = n - room;
    if (unlikely(w->fq_in_use != 0))
        fq_fetch_states(w, a->queue, room);
    if (unlikely(w->l4s != 0))
        l4s_fetch_states(w, a->queue, room);
}

/* Put packets into their queues. Who finds no room behind those that came with him, or is refused
 * by an AQM, is dropped. */
static inline void put_all(struct wheel *w, struct arrivals *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        enum verdict v = put_plain(w, a->m[i], a->queue[i]);

        if (likely(v == ACCEPTED))
            continue;
        if (v == UNDECIDED)
            v = put(w, a->m[i], a->queue[i]);
        if (v > HELD) {
            wheel_count_drop(w, a->m[i], v);
            a->drop[a->n_drop++] = a->m[i];
        }
    }
}

/* Put at most BURST packets into their queues. Returns how many were accepted. */
static uint32_t enqueue(struct wheel *w, struct rte_mbuf **m, uint32_t n)
{
    struct arrivals a;

    find_queues(w, m, n, &a);
    for (uint32_t i = 0; i < a.n_drop; i++)
        wheel_count_drop(w, a.drop[i], TAIL);
    put_all(w, &a);
    packets_free(a.drop, a.n_drop);
    return n - a.n_drop;
}

uint32_t wheel_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n)
{
    uint32_t accepted = 0;

    for (uint32_t i = 0; i < n; i += BURST)
        accepted += enqueue(wheel_of(base), m + i, RTE_MIN(n - i, (uint32_t)BURST));
    sched_count_accepted(base, accepted);
    return accepted;
}
