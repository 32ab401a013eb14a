/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel: packets leave. */
#include <rte_branch_prediction.h>

#include "sched/shards/shard.h"
#include "sched/wheel/wheel.h"

#ifndef WHEEL_SHARD
#define WHEEL_SHARD false /* a shard's is shards/dequeue.c: this file with true */
#endif

#define SUBPORT_TURN 8 /* frames */

/* --- turns --- */

/* Take the pipe at the head of a ring out of it. */
static inline void unlist(struct wheel *w, uint32_t subport, struct wheel_pipe *p, unsigned class)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);

    r->head++;
    if (WHEEL_SHARD)
        shard_end_turn(w, subport, class, r->head, r->tail);
    r->in_turn = false;
    p->deficit = 0;
    p->listed &= (uint16_t) ~(1u << class);
    if (r->head == r->tail) {
        if (WHEEL_SHARD)
            shard_ring_empty(w, subport, class);
        r->left = 0;
        w->gate[subport].backlog &= (uint16_t) ~(1u << class);
        wheel_clear_ready(w, subport, class);
    }
}

/* Move the pipe at the head of a ring, which has used up its turn, to the end. */
static void end_turn(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint32_t pipe = r->pipe[r->head++ & r->mask];

    w->pipe[pipe].deficit = r->turn;
    r->in_turn = false;
    r->pipe[r->tail++ & r->mask] = pipe;
    if (WHEEL_SHARD)
        shard_end_turn(w, subport, class, r->head, r->tail);
}

/* The first subport that is ready behind subport i, around; some is. Without branches, as it
 * follows from the packets. */
static inline uint32_t next_ready(const uint64_t *ready, uint32_t i)
{
    uint32_t word = i / 64, some, k;
    uint64_t behind = ready[word] & UINT64_MAX << i % 64 << 1;

    static_assert(WHEEL_WORDS == 4, "a bit for each word, and for those before i in its own");
    some = (uint32_t)(behind != 0) | (uint32_t)(ready[(word + 1) % 4] != 0) << 1 |
           (uint32_t)(ready[(word + 2) % 4] != 0) << 2 |
           (uint32_t)(ready[(word + 3) % 4] != 0) << 3 | 1u << 4;
    k = (uint32_t)__builtin_ctz(some);
    word = (word + k) % 4;
    return word * 64 + (uint32_t)__builtin_ctzll(wheel_either(k == 0, behind, ready[word]));
}

/* Choose the subport whose turn it is, in a class in which some are ready. */
static uint32_t choose_subport(struct wheel *w, unsigned class)
{
    const uint64_t *ready = w->ready[class];
    uint32_t i = w->turn[class];

    if (w->n_subports == 1)
        return 0;
    if ((ready[i / 64] >> i % 64 & 1) != 0 && wheel_ring_of(w, i, class)->left > 0)
        return i;
    if (WHEEL_SHARD)
        return shard_choose(w, class, SUBPORT_TURN * w->frame);
    i = next_ready(ready, i);
    w->turn[class] = (uint8_t)i;
    wheel_ring_of(w, i, class)->left += SUBPORT_TURN * w->frame;
    return i;
}

/* --- packets --- */

/* What few packets need is called as if it stood in another file: the variables of the loops then
 * keep to registers; spilled to vector registers, as gcc does when it knows what a callee leaves
 * alone, they cost 5 %. */
#ifdef __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noipa))
#endif

/* Tell RED when a queue runs empty, and have FQ-CoDel or L4S choose the next packet of one that
 * does not. */
static OUT_OF_LINE void note_departure(struct wheel *w, uint32_t pipe, unsigned queue, bool last)
{
    if (!last && (w->codel & 1u << queue) != 0)
        fq_next(w, pipe, queue);
    else if (!last)
        l4s_next(w, pipe, queue);
    else
        rte_red_mark_queue_empty((struct rte_red *)(w->aqm[queue] + (size_t)pipe * w->aqm_size),
                                 (uint64_t)((double)(w->real - w->start) * w->red_time));
}

/* Take the first packet out of a queue, which may be in bytes or have an AQM. */
static struct rte_mbuf *take(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
                             struct wheel_queue *q, unsigned queue)
{
    struct rte_mbuf *m = wheel_mbuf(q->head);
    bool last = wheel_number(q->tail) == 1;

    q->tail -= UINT64_C(1) << 48;
    if (!last && (w->l4s >> queue & 1) == 0 && (q->tail & 1) == 0) { /* linked */
        q->head = chain_unlink(q->head, pipe * QOS_QUEUES + queue);
        if ((w->in_bytes >> queue & 1) != 0)
            q->load -= wheel_number(q->head) + w->overhead;
    }
    p->queued &= (uint16_t) ~((uint32_t)last << queue);
    if (unlikely(((last ? w->red : w->aqm_chooses) & 1u << queue) != 0))
        note_departure(w, pipe, queue, last);
    return m;
}

/* Note in a packet that leaves whether its pipe has lacked credit since it was empty. */
static inline void note_limited(struct wheel_pipe *p, struct rte_mbuf *m)
{
    m->hash.sched.color = p->limited;
    p->limited = p->queued != 0 ? (uint8_t)((p->limited + 1) >> 1) : SCHED_PROMPT;
}

static_assert(SCHED_PROMPT == 0 && SCHED_LIMITED == 1 && SCHED_LIMITED_FIRST == 2,
              "the next of each is (it + 1) / 2");

/* Serve the pipe at the head of a ring: it sends a packet, or (NULL) waits, or ends its turn. */
static inline struct rte_mbuf *serve(struct wheel *w, uint32_t subport, unsigned class,
                                     uint32_t *sent_bytes)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint32_t pipe = r->pipe[r->head & r->mask], bit = 1u << class;
    struct wheel_pipe *p = &w->pipe[pipe];
    const struct wheel_profile *f = &w->profile[p->profile];

    if (unlikely((wheel_eligible(p) & bit) == 0 || (p->waits & WHEEL_SELF_BIT) != 0)) {
        unlist(w, subport, p, class);
        wheel_relist(w, pipe, p);
        return NULL;
    }

    unsigned queue = class == QOS_BE ? wheel_choose_queue(p) : class;
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    uint32_t bytes = wheel_number(q->head) + w->overhead;
    uint64_t cost = bucket_cost(&f->pace, bytes), ready = bucket_ready(&p->bucket, &f->pace, cost);
    bool more_rates = ((f->caps & bit) | (w->gate[subport].caps & (WHEEL_SELF_BIT | bit))) != 0;

    if (!r->in_turn) {
        r->in_turn = true;
        r->turn = p->deficit + (class == QOS_BE ? f->be_turn : w->frame);
    }
    if (unlikely((int32_t)bytes > r->turn)) {
        end_turn(w, subport, class);
        return NULL;
    }
    if (unlikely(!is_after(w->now, ready))) {
        wheel_pipe_waits(w, pipe, WHEEL_SELF, ready);
        unlist(w, subport, p, class);
        return NULL;
    }
    if (more_rates && !(WHEEL_SHARD ? shard_may_leave(w, subport, pipe, class, bytes)
                                    : wheel_may_leave(w, subport, pipe, class, bytes))) {
        if ((p->waits & bit) != 0) { /* the pipe's class; or else, its subport */
            unlist(w, subport, p, class);
            wheel_relist(w, pipe, p);
        }
        return NULL;
    }

    struct rte_mbuf *m = take(w, pipe, p, q, queue);
    bucket_take(&p->bucket, cost, w->now);
    note_limited(p, m);
    sched_count_pipe(&p->counters, bytes);
    if (more_rates && WHEEL_SHARD)
        shard_pay(w, subport, pipe, class, bytes);
    else if (more_rates)
        wheel_pay(w, subport, pipe, class, bytes);
    if (class == QOS_BE) {
        p->be_last = (uint8_t)(queue - QOS_BE);
        p->wrr[queue - QOS_BE] += bytes * f->wrr_cost[queue - QOS_BE];
    }
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

/* --- the usual case: no rates but those of pipes and the line, no RED, no PIE --- */

/* Let the first packet of a queue leave, and the next one take its place. */
static inline struct rte_mbuf *take_plain(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
                                          struct wheel_queue *q, unsigned queue)
{
    struct rte_mbuf *m = wheel_mbuf(q->head);
    uint32_t last = wheel_number(q->tail) == 1;

    if (unlikely((w->in_bytes >> queue & 1) != 0 && last == 0))
        return take(w, pipe, p, q, queue);
    q->tail -= UINT64_C(1) << 48;
    if (last == 0)
        q->head = chain_unlink(q->head, pipe * QOS_QUEUES + queue);
    p->queued &= (uint16_t) ~(last << queue);
    return m;
}

/* Let the first packet of a queue leave, of so many bytes, and pay for it. be: is it best effort?
 * A constant. */
static inline struct rte_mbuf *send_plain(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
                                          struct wheel_queue *q, unsigned queue, bool be,
                                          uint32_t bytes, uint64_t cost)
{
    struct rte_mbuf *m = take_plain(w, pipe, p, q, queue);

    bucket_take(&p->bucket, cost, w->now);
    note_limited(p, m);
    sched_count_pipe(&p->counters, bytes);
    if (be) {
        p->be_last = (uint8_t)(queue - QOS_BE);
        p->wrr[queue - QOS_BE] += bytes * w->profile[p->profile].wrr_cost[queue - QOS_BE];
    }
    return m;
}

/* Serve the pipes of a ring in their turns, as serve() does, until n packets have left, the ring is
 * empty, or the subport's turn is over. be: is the class best effort? A constant, so that there is
 * a loop for each. Returns the number of packets. */
static inline uint32_t serve_plain(struct wheel *w, uint32_t subport, unsigned class, bool be,
                                   struct rte_mbuf **m, uint32_t n, uint32_t *sent_bytes)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    struct sched_class_state *count = sched_class_of(&w->base, subport, class);
    const uint64_t now = w->now;
    const uint32_t overhead = w->overhead, mask = r->mask, bit = 1u << class,
                   bits = be ? WHEEL_BE_BITS : bit, stops = WHEEL_SELF_BIT | bit;
    const int32_t alone = WHEEL_SHARD ? w->shard->burst : INT32_MAX,
                  most = w->n_subports == 1 ? alone : r->left;
    uint32_t head = r->head, got = 0;
    int32_t turn = r->turn, sum = 0;
    bool in_turn = r->in_turn;

    while (got < n && sum < most && head != r->tail) {
        uint32_t pipe = r->pipe[head & mask];
        struct wheel_pipe *p = &w->pipe[pipe];
        const struct wheel_profile *f = &w->profile[p->profile];
        uint32_t may = unlikely((p->waits & stops) != 0) ? 0 : p->queued & bits;

        if (!in_turn)
            turn = p->deficit + (be ? f->be_turn : w->frame);
        in_turn = true;
        while (may != 0 && got < n && sum < most) {
            unsigned queue = be ? wheel_choose_queue(p) : class;
            struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
            uint32_t bytes = wheel_number(q->head) + overhead;
            uint64_t cost = bucket_cost(&f->pace, bytes),
                     ready = bucket_ready(&p->bucket, &f->pace, cost);

            if (unlikely((int32_t)bytes > turn)) {
                in_turn = false;
                break;
            }
            if (unlikely(!is_after(now, ready))) {
                wheel_pipe_waits(w, pipe, WHEEL_SELF, ready);
                may = 0;
                break;
            }
            m[got++] = send_plain(w, pipe, p, q, queue, be, bytes, cost);
            turn -= (int32_t)bytes;
            sum += (int32_t)bytes;
            may = p->queued & bits;
        }
        if (may != 0 && in_turn) /* its turn goes on in the next dequeue */
            break;
        head++;
        in_turn = false;
        p->deficit = may != 0 ? turn : 0;
        if (may != 0)
            r->pipe[r->tail++ & mask] = pipe;
        if (WHEEL_SHARD)
            shard_end_turn(w, subport, class, head, r->tail);
        if (may != 0)
            continue;
        p->listed &= (uint16_t)~bit;
        if (unlikely(p->queued != 0))
            wheel_relist(w, pipe, p);
    }
    r->head = head;
    r->turn = turn;
    r->in_turn = in_turn;
    r->left -= sum;
    *sent_bytes += (uint32_t)sum;
    count->sent += got;
    count->bytes += (uint32_t)sum;
    if (head == r->tail) {
        if (WHEEL_SHARD)
            shard_ring_empty(w, subport, class);
        r->left = 0;
        w->gate[subport].backlog &= (uint16_t)~bit;
        wheel_clear_ready(w, subport, class);
    }
    return got;
}

/* Serve a ring in which one pipe stands that has one packet, as serve_plain() does: where many
 * subports are ready, most rings are such, and the ends of its loops cannot be foretold. Returns
 * false where it is another ring, or the packet may not leave, and nothing was done. */
static inline bool serve_single(struct wheel *w, uint32_t subport, unsigned class, bool be,
                                struct rte_mbuf **m, uint32_t *sent_bytes)
{
    const uint32_t bit = 1u << class, stops = WHEEL_SELF_BIT | bit;
    struct sched_class_state *count = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &count->ring;
    uint32_t pipe = r->pipe[r->head & r->mask];
    struct wheel_pipe *p = &w->pipe[pipe];
    const struct wheel_profile *f = &w->profile[p->profile];
    uint32_t may = p->queued & (be ? WHEEL_BE_BITS : bit);
    unsigned queue;
    struct wheel_queue *q;
    uint32_t bytes;
    uint64_t cost;

    if (r->tail - r->head != 1 || r->in_turn || (p->waits & stops) != 0 ||
        __builtin_popcount(may) != 1)
        return false;
    queue = (unsigned)__builtin_ctz(may);
    q = wheel_queue_of(w, pipe, queue);
    bytes = wheel_number(q->head) + w->overhead;
    cost = bucket_cost(&f->pace, bytes);
    if (wheel_number(q->tail) != 1 || (int32_t)bytes > p->deficit + (be ? f->be_turn : w->frame) ||
        !is_after(w->now, bucket_ready(&p->bucket, &f->pace, cost)))
        return false;
    *m = send_plain(w, pipe, p, q, queue, be, bytes, cost);
    p->deficit = 0;
    p->listed &= (uint16_t)~bit;
    *sent_bytes += bytes;
    count->sent++;
    count->bytes += bytes;
    r->head++;
    r->left = 0;
    w->gate[subport].backlog &= (uint16_t)~bit;
    wheel_clear_ready(w, subport, class);
    if (unlikely(p->queued != 0))
        wheel_relist(w, pipe, p);
    return true;
}

/* Let packets of a class leave that is the highest with some that may. Returns their number. */
static inline uint32_t serve_class(struct wheel *w, unsigned class, struct rte_mbuf **m, uint32_t n,
                                   uint32_t *sent_bytes)
{
    uint32_t subport = choose_subport(w, class);

    if (WHEEL_SHARD && subport == SHARD_NOBODY)
        return 0;
    if (likely(w->plain && w->gate[subport].caps == 0)) {
        if (!WHEEL_SHARD && w->n_subports > 1 &&
            (class == QOS_BE ? serve_single(w, subport, QOS_BE, true, m, sent_bytes)
                             : serve_single(w, subport, class, false, m, sent_bytes)))
            return 1;
        return class == QOS_BE ? serve_plain(w, subport, QOS_BE, true, m, n, sent_bytes)
                               : serve_plain(w, subport, class, false, m, n, sent_bytes);
    }
    *m = serve(w, subport, class, sent_bytes);
    return *m != NULL;
}

/* --- a dequeue --- */

/* The wheel's clock where it is more than w->at_once behind the TSC real, passed cycles after the
 * last dequeue. While packets wait it goes by steps in which no bucket overflows, half as fast
 * again as time, so that what was earned in an absence is spent, and not at once. What is beyond
 * catch_up is one move, which is lost as far as it is more than the slowest bucket holds. */
static OUT_OF_LINE uint64_t catch_up(struct wheel *w, uint64_t real, uint64_t passed)
{
    uint64_t next = w->now + RTE_MIN(passed + passed / 2, w->step);
    bool waits = sched_held(&w->base) > 0;

    if (!waits || is_after(next, real))
        next = real;
    else if (is_after(real - w->catch_up, next))
        next = real - w->catch_up;
    if (waits && next - w->now > w->slowest)
        sched_count_lost(&w->base, next - w->now - w->slowest);
    w->at_once = next == real ? w->step : 0;
    return next;
}

/* Move the clocks on. */
static void advance(struct wheel *w, uint64_t real)
{
    uint64_t passed = real - w->real;

    w->now = unlikely(real - w->now > w->at_once) ? catch_up(w, real, passed) : real;
    w->real = real;
    wheel_run_timers(w, w->now);
    w->epoch += w->woken; /* packets of who was woken are not in the cache */
    w->old |= -(uint32_t)w->woken;
}

uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    struct wheel *w = wheel_of(base);
    uint32_t got = 0, bytes = 0;

    advance(w, is_after(now, w->real) ? now : w->real);
    if (WHEEL_SHARD)
        shard_begin(w);
    if (w->classes == 0 ||
        !(WHEEL_SHARD ? shard_line_allows(w)
                      : is_after(w->real, bucket_ready(&w->line, &w->line_pace, 0))))
        return 0;
    wheel_fetch(w, n);
    while (got < n && w->classes != 0) {
        uint32_t before = bytes;

        if (WHEEL_SHARD && !shard_line_allows(w))
            break;
        got += serve_class(w, (unsigned)__builtin_ctz(w->classes), m + got, n - got, &bytes);
        if (WHEEL_SHARD)
            shard_line_pay(w, bytes - before);
    }
    w->epoch++;
    w->old = w->classes;
    memset(w->joined, 0, sizeof(w->joined));
    if (!WHEEL_SHARD)
        bucket_take(&w->line, bucket_cost(&w->line_pace, bytes), w->real);
    sched_count_sent(base, got);
    return got;
}
