/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel: packets leave. */
#include <rte_branch_prediction.h>

#include "sched/wheel.h"

#define LOOK_AHEAD   64
#define SUBPORT_TURN 8   /* frames */
#define MOST_WOKEN   256 /* buckets in one dequeue: so that a backlog of timers delays no packet */

/* A function that is called as if it stood in another file. What not every packet needs stays out
 * of serve(), whose variables then keep to registers; spilled to vector registers, as gcc does when
 * it knows what a callee leaves alone, they cost 5 %. And fetch() is called at all: a prefetch is
 * no effect to gcc, so it would drop the call of a function that does nothing else. */
#ifdef __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noipa))
#endif

/* Of a pipe's best-effort queues, the one that has had the least for its weight. */
static inline unsigned choose_queue(const struct wheel_pipe *p)
{
    uint32_t left = p->queued >> QOS_BE;
    unsigned best = (unsigned)__builtin_ctz(left | 1u << (QOS_BE_QUEUES - 1));

    for (left &= left - 1; unlikely(left != 0); left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);

        if ((int32_t)(p->wrr[i] - p->wrr[best]) < 0)
            best = i;
    }
    return QOS_BE + best;
}

/* Mark that a subport has nothing in a class, or may not send it. */
static inline void clear_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    uint64_t any = 0;

    w->ready[class][subport / 64] &= ~(UINT64_C(1) << subport % 64);
    for (uint32_t i = 0; i < w->n_words; i++)
        any |= w->ready[class][i];
    if (any == 0)
        w->classes &= ~(1u << class);
}

/* --- a look ahead: what will leave next is in the cache by then --- */

struct ahead {
    uint32_t pipe[LOOK_AHEAD];
    uint8_t class[LOOK_AHEAD];
    uint32_t n;
};

/* Add the pipes of a ring in the order in which they will be served, or nearly. */
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

/* List up to most pipes that will be served next, and prefetch them. */
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

/* Prefetch what serving up to n packets will touch: pipes, then queues, then packets. */
static OUT_OF_LINE void fetch(const struct wheel *w, uint32_t n)
{
    struct wheel_queue *queue[LOOK_AHEAD];
    struct ahead a;

    look_ahead(w, RTE_MIN(n, (uint32_t)LOOK_AHEAD), &a);
    for (uint32_t i = 0; i < a.n; i++) {
        const struct wheel_pipe *p = &w->pipe[a.pipe[i]];
        unsigned q = a.class[i] == QOS_BE ? choose_queue(p) : a.class[i];

        queue[i] = &w->queue[q][a.pipe[i]];
        rte_prefetch0_write(queue[i]);
    }
    for (uint32_t i = 0; i < a.n; i++) {
        const struct rte_mbuf *m = wheel_mbuf(queue[i]->head);

        rte_prefetch0_write(m);
        rte_prefetch0_write(wheel_number(queue[i]->tail) > 1 ? &m->next : &w->nobody.next);
    }
    if (unlikely(w->fq_in_use != 0)) {
        fq_fetch_states(w, queue, a.n);
        fq_fetch_packets(w, queue, a.n);
    }
    if (unlikely(w->l4s != 0))
        l4s_fetch_states(w, queue, a.n);
}

/* --- credit: a bucket that lacks it waits in the timers --- */

/* The bucket of a node of the timers. */
static struct bucket *bucket_of(struct wheel *w, uint32_t node)
{
    uint32_t owner = node / 16, class = node % 16;

    if (likely(owner < w->n_pipes))
        return class == WHEEL_SELF ? &w->pipe[owner].bucket : &w->cap[class][owner];
    owner -= w->n_pipes;
    return class == WHEEL_SELF ? &w->subport[owner].bucket : &w->subport[owner].cap[class];
}

/* Have a bucket woken when it is ready (TSC), and mark in the bits of its owner that the owner
 * waits for it. The owner is a pipe, or n_pipes + a subport; class WHEEL_SELF means its own bucket.
 * A bucket that is in the timers already, for an earlier packet, keeps its place there. */
static OUT_OF_LINE void wait_for(struct wheel *w, uint32_t owner, unsigned class, uint64_t ready,
                                 uint16_t *waits, uint16_t *timed)
{
    uint32_t node = owner * 16 + class;

    *waits |= (uint16_t)(1u << class);
    if ((*timed & 1u << class) != 0)
        return;
    *timed |= (uint16_t)(1u << class);
    timers_add(&w->timers, ready, node, &bucket_of(w, node)->next);
}

/* A bucket of a subport, or of a class of it, has earned enough. */
static void wake_subport(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_subport *s = &w->subport[subport];

    s->timed &= (uint16_t) ~(1u << class);
    s->waits &= (uint16_t) ~(1u << class);
    if ((s->waits & WHEEL_SELF_BIT) != 0)
        return;
    for (uint32_t left = s->backlog & ~s->waits; left != 0; left &= left - 1)
        wheel_set_ready(w, subport, (unsigned)__builtin_ctz(left));
}

/* The bucket of a node has earned enough. */
static void wake(struct wheel *w, uint32_t node)
{
    uint32_t owner = node / 16;

    if (unlikely(owner >= w->n_pipes)) {
        wake_subport(w, owner - w->n_pipes, node % 16);
        return;
    }
    w->pipe[owner].timed &= (uint16_t) ~(1u << node % 16);
    w->pipe[owner].waits &= (uint16_t) ~(1u << node % 16);
    wheel_relist(w, owner, &w->pipe[owner]);
}

/* Wake buckets whose time has come, but no more than most of them. */
static OUT_OF_LINE void run_timers(struct wheel *w, uint64_t now, uint32_t most)
{
    struct timers *t = &w->timers;
    uint64_t due = now >> TIMERS_SHIFT;
    uint32_t next;

    while (t->at <= due && most > 0) {
        uint32_t *slot = timers_slot(t, t->at), node = *slot;

        if (node == TIMERS_NONE) {
            t->at = t->pending == 0 ? due + 1 : t->at + 1;
            continue;
        }
        *slot = bucket_of(w, node)->next;
        if (*slot != TIMERS_NONE)
            rte_prefetch0_write(bucket_of(w, *slot));
        t->pending--;
        most--;
        wake(w, node);
    }
    next = *timers_slot(t, t->at);
    if (next != TIMERS_NONE)
        rte_prefetch0_write(bucket_of(w, next));
}

/* A subport, or a class of it, lacks credit until ready (TSC). */
static void subport_waits(struct wheel *w, uint32_t subport, unsigned class, uint64_t ready)
{
    struct wheel_subport *s = &w->subport[subport];
    uint32_t classes = class == WHEEL_SELF ? s->backlog : 1u << class;

    wait_for(w, w->n_pipes + subport, class, ready, &s->waits, &s->timed);
    for (; classes != 0; classes &= classes - 1) {
        unsigned c = (unsigned)__builtin_ctz(classes);

        s->ring[c].left = 0; /* its turn is over */
        clear_ready(w, subport, c);
    }
}

/* Ask for credit at the rates that not every packet has to keep: the caps of the pipe's class and
 * of the subport's class, and the subport's rate. The one that lacks credit waits. */
static OUT_OF_LINE bool may_leave(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                                  uint32_t bytes)
{
    struct wheel_subport *s = &w->subport[subport];
    struct wheel_pipe *p = &w->pipe[pipe];
    const struct wheel_profile *f = &w->profile[p->profile];
    uint64_t ready;

    if ((f->caps & 1u << class) != 0) {
        const struct pace *pace = &f->cap_pace[class];
        ready = bucket_ready(&w->cap[class][pipe], pace, bucket_cost(pace, bytes));
        if (!is_after(w->now, ready)) {
            wait_for(w, pipe, class, ready, &p->waits, &p->timed);
            return false;
        }
    }
    if ((s->caps & 1u << class) != 0) {
        const struct pace *pace = &s->cap_pace[class];
        ready = bucket_ready(&s->cap[class], pace, bucket_cost(pace, bytes));
        if (!is_after(w->now, ready)) {
            subport_waits(w, subport, class, ready);
            return false;
        }
    }
    ready = bucket_ready(&s->bucket, &s->pace, bucket_cost(&s->pace, bytes));
    if ((s->caps & WHEEL_SELF_BIT) != 0 && !is_after(w->now, ready)) {
        subport_waits(w, subport, WHEEL_SELF, ready);
        return false;
    }
    return true;
}

/* Take the credit for which may_leave() has asked. */
static OUT_OF_LINE void pay(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                            uint32_t bytes)
{
    struct wheel_subport *s = &w->subport[subport];
    const struct wheel_profile *f = &w->profile[w->pipe[pipe].profile];

    if ((f->caps & 1u << class) != 0)
        bucket_take(&w->cap[class][pipe], bucket_cost(&f->cap_pace[class], bytes), w->now);
    if ((s->caps & 1u << class) != 0)
        bucket_take(&s->cap[class], bucket_cost(&s->cap_pace[class], bytes), w->now);
    if ((s->caps & WHEEL_SELF_BIT) != 0)
        bucket_take(&s->bucket, bucket_cost(&s->pace, bytes), w->now);
}

/* --- turns --- */

/* Take the pipe at the head of a ring out of it. */
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
        clear_ready(w, subport, class);
    }
}

/* Move the pipe at the head of a ring, which has used up its turn, to the end. */
static void end_turn(struct wheel *w, struct wheel_ring *r)
{
    uint32_t pipe = r->pipe[r->head++ & w->pipe_mask];

    w->pipe[pipe].deficit = r->turn;
    r->in_turn = false;
    r->pipe[r->tail++ & w->pipe_mask] = pipe;
}

/* Choose the subport whose turn it is, in a class in which some are ready. */
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
                                 (uint64_t)((double)(w->now - w->start) * w->red_time));
}

/* Take the first packet, of bytes with overhead, out of a queue. */
static inline struct rte_mbuf *take(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
                                    struct wheel_queue *q, unsigned queue, uint32_t bytes)
{
    struct rte_mbuf *m = wheel_mbuf(q->head);
    bool last = wheel_number(q->tail) == 1;
    struct rte_mbuf *link = last ? &w->nobody : m; /* an only packet has no link: not touched */

    q->tail -= UINT64_C(1) << 48;
    q->load -= bytes;
    q->head = wheel_word(link->next, (uint32_t)link->tx_offload);
    link->next = NULL;
    link->tx_offload = 0;
    p->queued &= (uint16_t) ~((uint32_t)last << queue);
    if (unlikely(((last ? w->red : w->aqm_chooses) & 1u << queue) != 0))
        note_departure(w, pipe, queue, last);
    return m;
}

/* Serve the pipe at the head of a ring: it sends a packet, or (NULL) waits, or ends its turn. */
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

    unsigned queue = class == QOS_BE ? choose_queue(p) : class;
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
        wait_for(w, pipe, WHEEL_SELF, ready, &p->waits, &p->timed);
        unlist(w, subport, p, class);
        return NULL;
    }
    if (more_rates && !may_leave(w, subport, pipe, class, bytes)) {
        if ((p->waits & bit) != 0) { /* the pipe's class; or else, its subport */
            unlist(w, subport, p, class);
            wheel_relist(w, pipe, p);
        }
        return NULL;
    }

    struct rte_mbuf *m = take(w, pipe, p, q, queue, bytes);
    bucket_take(&p->bucket, cost, w->now);
    if (more_rates)
        pay(w, subport, pipe, class, bytes);
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

/* --- a dequeue --- */

/* Move the clock on. Time in which nobody asked, beyond what the slowest bucket can hold, is lost
 * if packets waited. */
static void advance(struct wheel *w, uint64_t now)
{
    if (unlikely(now - w->now > w->slowest && sched_held(&w->base) > 0))
        sched_count_lost(&w->base, now - w->now - w->slowest);
    w->now = now;
    run_timers(w, now, MOST_WOKEN);
}

uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n)
{
    struct wheel *w = wheel_of(base);
    uint32_t got = 0, bytes = 0;

    advance(w, is_after(now, w->now) ? now : w->now);
    if (w->classes == 0 || !is_after(w->now, bucket_ready(&w->line, &w->line_pace, 0)))
        return 0;
    fetch(w, n);
    while (got < n && w->classes != 0) {
        unsigned class = (unsigned)__builtin_ctz(w->classes);

        m[got] = serve(w, choose_subport(w, class), class, &bytes);
        got += m[got] != NULL;
    }
    bucket_take(&w->line, bucket_cost(&w->line_pace, bytes), w->now);
    sched_count_sent(base, got);
    return got;
}
