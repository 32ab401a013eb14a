/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel: packets leave. */
#include "sched/wheel/layouts.h"

#include <rte_branch_prediction.h>

#include "sched/shards/shard.h"
#include "sched/wheel/leave.h"
#include "sched/wheel/usual.h"
#include "sched/wheel/wheel.h"

/* --- turns --- */

/* Take the pipe at the head of a ring out of it. */
static inline void unlist(struct wheel *w, uint32_t subport, struct wheel_pipe *p, unsigned class)
{
    struct sched_class_state *c = sched_class_of(&w->base, subport, class);
    struct wheel_ring *r = &c->ring;

    r->head++;
    if (WHEEL_SHARD)
        shard_end_turns(w, c, r->head - 1, 0, 0);
    r->in_turn = false;
    p->deficit = 0;
    p->bits &= ~(UINT64_C(1) << WHEEL_LISTED << class);
    if (r->head == r->tail)
        end_ring(w, c, subport, class);
}

/* Move the pipe at the head of a ring, which has used up its turn, to the end. */
static void end_turn(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint32_t pipe = r->pipe[r->head++ & r->mask];

    wheel_pipe_of(w, pipe)->deficit = r->turn;
    r->in_turn = false;
    r->pipe[r->tail++ & r->mask] = pipe;
    if (WHEEL_SHARD)
        shard_end_turns(w, sched_class_of(&w->base, subport, class), r->head - 1, 1, 0);
}

/* Choose the subport whose turn it is, in a class in which some are ready. */
static uint32_t choose_subport(struct wheel *w, unsigned class)
{
    uint32_t i = 0;

    if (w->n_subports == 1)
        wheel_ring_of(w, 0, class)->left = WHEEL_SHARD ? w->shard->burst : INT32_MAX;
    else
        i = wheel_ready_first(w, class);
    if (!WHEEL_SHARD || wheel_ring_of(w, i, class)->left > 0 || shard_goes_on(w, i, class))
        return i;
    return shard_choose(w, class);
}

/* --- packets --- */

/* Serve the pipe at the head of a ring: it sends a packet, or (NULL) waits, or ends its turn. */
static inline struct rte_mbuf *serve(struct wheel *w, uint32_t subport, unsigned class,
                                     uint32_t *sent_bytes)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint32_t pipe = r->pipe[r->head & r->mask], bit = 1u << class;
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    const struct wheel_profile *f = &w->profile[p->profile];

    if (unlikely((wheel_eligible(p) & bit) == 0 || (p->waits & WHEEL_SELF_BIT) != 0)) {
        unlist(w, subport, p, class);
        wheel_relist(w, pipe, p);
        return NULL;
    }

    unsigned queue = class == QOS_BE ? wheel_choose_queue(w, p) : class;
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);
    uint32_t bytes = wheel_number(q->head) + w->overhead;
    uint64_t cost = bucket_cost(&f->pace, bytes), ready = bucket_ready(&p->bucket, &f->pace, cost);
    bool more_rates = ((f->caps & bit) | (w->gate[subport].caps & (WHEEL_SELF_BIT | bit))) != 0;

    if (!r->in_turn) {
        r->in_turn = true;
        r->turn = p->deficit + (class == QOS_BE ? f->be_turn : w->frame);
    }
    bool ends = (int32_t)bytes > r->turn;

    if (unlikely(!is_after(w->now, ready))) { /* even where its turn ends: serve_turn() */
        wheel_pipe_waits(w, pipe, p, WHEEL_SELF, ready);
        unlist(w, subport, p, class);
        p->deficit = ends ? r->turn : 0;
        return NULL;
    }
    if (unlikely(ends)) {
        end_turn(w, subport, class);
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
    if (WHEEL_SHARD)
        sched_rest_of(&w->base, subport, class)->rounds.sent = 1;
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
    if (r->left <= 0 && r->head != r->tail)
        end_subport_turn(w, r, class);
    return m;
}

/* --- classes --- */

/* Let packets of a class leave that is the highest with some that may. Returns their number. */
static inline uint32_t serve_class(struct wheel *w, unsigned class, struct rte_mbuf **m, uint32_t n,
                                   uint32_t *sent_bytes)
{
    uint32_t subport = choose_subport(w, class), got = 0, caps;

    if (WHEEL_SHARD && subport == SHARD_NOBODY)
        return 0;
    caps = w->plain ? w->gate[subport].caps : UINT32_MAX;
    if (WHEEL_SHARD && caps == (WHEEL_SELF_BIT | WHEEL_SHARED_BIT))
        got = serve_usual(w, subport, class, RATE_SHARED, m, n, sent_bytes);
    else if (likely(caps == 0))
        return serve_usual(w, subport, class, RATE_NONE, m, n, sent_bytes);
    else if (caps == WHEEL_SELF_BIT)
        got = serve_usual(w, subport, class, RATE_OWN, m, n, sent_bytes);
    if (got > 0 || (w->gate[subport].backlog & 1u << class) == 0)
        return got;
    *m = serve(w, subport, class, sent_bytes);
    return *m != NULL;
}

/* --- a dequeue --- */

/* The wheel's clock where it is more than w->at_once behind the TSC real, passed cycles after the
 * last dequeue. While packets wait it goes by steps in which no bucket overflows, half as fast
 * again as time, so that what was earned in an absence is spent, and not at once. What is beyond
 * catch_up is one move, which is lost as far as it is more than the slowest bucket holds. */
static WHEEL_OUT_OF_LINE uint64_t catch_up(struct wheel *w, uint64_t real, uint64_t passed)
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
}

uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    struct wheel *w = wheel_of(base);
    uint32_t got = 0, bytes = 0, paid = 0;

    advance(w, is_after(now, w->real) ? now : w->real);
    if (WHEEL_SHARD)
        shard_begin(w);
    if (w->classes == 0 ||
        !(WHEEL_SHARD ? shard_line_allows(w)
                      : is_after(w->real, bucket_ready(&w->line, &w->line_pace, 0))))
        return 0;
    if (WHEEL_SHARD)
        shard_see_port(w);
    if (WHEEL_SHARD)
        w->shard->roomy = shard_has_room(w, n) || shard_makes_room(w, n);
    wheel_fetch(w, n);
    while (got < n && w->classes != 0) {
        if (WHEEL_SHARD && !w->shard->roomy) {
            shard_line_pay(w, bytes - paid);
            paid = bytes;
            if (!shard_line_allows(w))
                break;
        }
        got += serve_class(w, (unsigned)__builtin_ctz(w->classes), m + got, n - got, &bytes);
    }
    if (WHEEL_SHARD)
        shard_line_pay(w, bytes - paid);
    w->old = w->classes;
    memset(w->joined, 0, sizeof(w->joined));
    if (!WHEEL_SHARD)
        bucket_take(&w->line, bucket_cost(&w->line_pace, bytes), w->real);
    sched_count_sent(base, got);
    wheel_fetch_next(w, n);
    return got;
}
