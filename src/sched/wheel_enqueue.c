/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel: packets come. */
#include "sched/stamp.h"
#include "sched/wheel.h"

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
static bool pie_takes(struct wheel *w, unsigned class, struct pie *pie, const struct wheel_queue *q)
{
    const struct pie_config *c = &w->pie_config[class];
    uint32_t now = (uint32_t)(w->now >> SCHED_STAMP_SHIFT), depth = wheel_number(q->tail);

    if (unlikely(pie_is_due(c, pie, now)))
        pie_update(c, pie, now, depth != 0 ? sched_age(wheel_mbuf(q->head), w->now) : 0);
    return !pie_drops(c, pie, depth, (uint32_t)q->load, next_random(&w->random));
}

/* Ask RED or PIE of a queue that has one of them, or let FQ-CoDel or L4S hold the packet behind
 * another. */
static enum verdict manage(struct wheel *w, struct rte_mbuf *m, uint32_t pipe, unsigned queue,
                           struct wheel_queue *q)
{
    unsigned class = qos_class_of(queue);
    void *state = w->aqm[queue] + (size_t)pipe * w->aqm_size;
    uint32_t depth = wheel_number(q->tail);

    if ((w->codel & 1u << queue) != 0)
        return depth > 0 && fq_put(w, m, q) ? HELD : ACCEPTED;
    if ((w->l4s & 1u << queue) != 0)
        return depth > 0 && l4s_put(w, m, q) ? HELD : ACCEPTED;
    if ((w->red & 1u << queue) == 0)
        return pie_takes(w, class, state, q) ? ACCEPTED : PIE;
    if (depth > 0)
        return rte_red_enqueue(&w->red_config[class], state, depth, 0) != 0 ? RED : ACCEPTED;
    red_was_empty(&w->red_config[class], state,
                  (uint64_t)((double)(w->now - w->start) * w->red_time));
    return ACCEPTED;
}

/* Let a best-effort queue that was empty begin where that of the others stands which has had the
 * least so far: an empty queue does not save up its share. */
static void join_best_effort(struct wheel_pipe *p, unsigned queue, uint32_t others)
{
    uint32_t least = p->wrr[__builtin_ctz(others) - QOS_BE];

    for (others &= others - 1; others != 0; others &= others - 1) {
        uint32_t other = p->wrr[__builtin_ctz(others) - QOS_BE];
        if ((int32_t)(other - least) < 0)
            least = other;
    }
    /* A number that is ahead by more than a packet is old: the numbers have wrapped since. */
    if (p->wrr[queue - QOS_BE] - least > UINT32_MAX / 4)
        p->wrr[queue - QOS_BE] = least;
}

/* Count a packet that was taken into its queue q. */
static inline void count_taken(struct wheel *w, struct wheel_queue *q, uint32_t pipe,
                               unsigned queue, uint32_t bytes)
{
    uint64_t both = (UINT64_C(1) << 32) + bytes + w->overhead;
    uint64_t overflows = __builtin_add_overflow(q->load, both, &q->load);

    q->bytes += bytes + (overflows << WHEEL_BYTES_BITS);
    sched_class_of(&w->base, pipe >> w->pipe_shift, queue)->accepted++;
}

/* Put a packet into its queue q, and its pipe into the ring of its class. */
static inline enum verdict put(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q)
{
    uint32_t path = m->hash.sched.queue_id, pipe = path / QOS_QUEUES;
    unsigned queue = path % QOS_QUEUES, class = qos_class_of(queue);
    struct wheel_pipe *p = &w->pipe[pipe];
    uint32_t depth = wheel_number(q->tail), bytes = m->pkt_len, load = bytes + w->overhead;
    uint64_t tail;

    if (unlikely(depth >= w->size[queue] || bytes > w->mtu ||
                 (uint32_t)q->load + load > w->profile[p->profile].room[queue])) {
        if ((w->codel & 1u << queue) == 0 || bytes > w->mtu || !fq_make_room(w, pipe, queue, load))
            return TAIL;
        depth = wheel_number(q->tail);
    }
    tail = wheel_word(m, depth + 1);
    if (unlikely(((depth == 0 ? w->aqm_always : w->aqm_queues) & 1u << queue) != 0)) {
        enum verdict v = manage(w, m, pipe, queue, q);

        if (v == HELD)
            count_taken(w, q, pipe, queue, bytes);
        if (v != ACCEPTED)
            return v;
    }
    if (unlikely((q->tail & 1) != 0) && depth == 0) /* it keeps its state of FQ-CoDel */
        tail = q->tail + (UINT64_C(1) << 48);
    if (unlikely((p->queued & w->be_others[queue]) != 0) && depth == 0)
        join_best_effort(p, queue, p->queued & w->be_others[queue]);

    struct rte_mbuf *last = depth != 0 ? wheel_mbuf(q->tail) : &w->nobody;
    last->next = m;
    last->tx_offload = bytes;
    q->head = depth != 0 ? q->head : wheel_word(m, bytes);
    q->tail = tail;
    count_taken(w, q, pipe, queue, bytes);
    p->queued |= (uint16_t)(1u << queue);
    if (((p->listed & 1u << class) | (p->waits & (WHEEL_SELF_BIT | 1u << class))) == 0)
        wheel_list(w, pipe, p, class);
    return ACCEPTED;
}

void wheel_count_drop(struct wheel *w, const struct rte_mbuf *m, enum verdict why)
{
    uint32_t path = m->hash.sched.queue_id;
    struct wheel_drops *d = &w->drops[path % QOS_QUEUES][path / QOS_QUEUES];
    struct sched_class *c =
        sched_class_of(&w->base, path / QOS_QUEUES >> w->pipe_shift, path % QOS_QUEUES);

    w->pipe[path / QOS_QUEUES].dropped++;
    if (why == TAIL)
        w->dropped.tail++;
    else if (why == RED)
        w->dropped.red++;
    else if (why == PIE)
        w->dropped.pie++;
    else if (why == CODEL)
        w->dropped.codel++;
    else
        w->dropped.l4s++;
    if (why == TAIL) {
        d->tail++;
        c->tail++;
    } else {
        d->aqm++;
        c->aqm++;
    }
    d->bytes += m->pkt_len;
}

/* Put at most BURST packets into their queues. The lines of pipes and queues are prefetched first,
 * then those of the last packets in the queues. Returns how many were accepted. */
static uint32_t enqueue(struct wheel *w, struct rte_mbuf **m, uint32_t n)
{
    struct wheel_queue *queue[BURST];
    struct rte_mbuf *drop[BURST];
    uint32_t n_drop = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t path = m[i]->hash.sched.queue_id;

        queue[i] = &w->queue[path % QOS_QUEUES][path / QOS_QUEUES];
        rte_prefetch0_write(queue[i]);
        rte_prefetch0_write(&w->pipe[path / QOS_QUEUES]);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t tail = queue[i]->tail;

        rte_prefetch0_write(wheel_number(tail) != 0 && (tail & 1) == 0 ? &wheel_mbuf(tail)->next
                                                                       : &w->nobody.next);
    }
    if (unlikely(w->fq_in_use != 0))
        fq_fetch_states(w, queue, n);
    if (unlikely(w->l4s != 0))
        l4s_fetch_states(w, queue, n);
    for (uint32_t i = 0; i < n; i++) {
        enum verdict v = put(w, m[i], queue[i]);

        if (unlikely(v > HELD)) {
            wheel_count_drop(w, m[i], v);
            drop[n_drop++] = m[i];
        }
    }
    if (n_drop > 0)
        rte_pktmbuf_free_bulk(drop, n_drop);
    return n - n_drop;
}

uint32_t wheel_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n)
{
    uint32_t accepted = 0;

    for (uint32_t i = 0; i < n; i += BURST)
        accepted += enqueue(wheel_of(base), m + i, RTE_MIN(n - i, (uint32_t)BURST));
    sched_count_accepted(base, accepted);
    return accepted;
}
