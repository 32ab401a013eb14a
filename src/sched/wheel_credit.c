/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit in the wheel: a bucket that lacks it waits in the timers. */
#include "sched/wheel.h"

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
static void wait_for(struct wheel *w, uint32_t owner, unsigned class, uint64_t ready,
                     uint16_t *waits, uint16_t *timed)
{
    uint32_t node = owner * 16 + class;

    *waits |= (uint16_t)(1u << class);
    if ((*timed & 1u << class) != 0)
        return;
    *timed |= (uint16_t)(1u << class);
    timers_add(&w->timers, ready, node, &bucket_of(w, node)->next);
}

void wheel_pipe_waits(struct wheel *w, uint32_t pipe, unsigned class, uint64_t ready)
{
    struct wheel_pipe *p = &w->pipe[pipe];

    p->limited = p->limited != SCHED_PROMPT ? p->limited : SCHED_LIMITED_FIRST;
    wait_for(w, pipe, class, ready, &p->waits, &p->timed);
}

/* A bucket of a subport, or of a class of it, has earned enough. */
static void wake_subport(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_gate *g = &w->gate[subport];

    g->timed &= (uint16_t) ~(1u << class);
    g->waits &= (uint16_t) ~(1u << class);
    if ((g->waits & WHEEL_SELF_BIT) != 0)
        return;
    for (uint32_t left = g->backlog & ~g->waits; left != 0; left &= left - 1)
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

#define FETCH_SLOTS 8 /* of those that are due: more would leave the cache again */

/* Prefetch the first bucket of each list of a slot. */
static inline void fetch_slot(struct wheel *w, const uint32_t *slot)
{
    for (unsigned i = 0; i < TIMERS_LISTS; i++)
        if (slot[i] != TIMERS_NONE)
            rte_prefetch0_write(bucket_of(w, slot[i]));
}

/* Wake buckets of a slot, one of each list in turn, but no more than most of them. Returns their
 * number. */
static uint32_t wake_slot(struct wheel *w, uint32_t *slot, uint32_t most)
{
    uint32_t woken = 0;

    while (!timers_is_empty(slot))
        for (unsigned i = 0; i < TIMERS_LISTS; i++) {
            uint32_t node = slot[i];

            if (node == TIMERS_NONE)
                continue;
            if (woken == most)
                return woken;
            slot[i] = bucket_of(w, node)->next;
            if (slot[i] != TIMERS_NONE)
                rte_prefetch0_write(bucket_of(w, slot[i]));
            wake(w, node);
            woken++;
        }
    return woken;
}

void wheel_run_timers(struct wheel *w, uint64_t now, uint32_t most)
{
    struct timers *t = &w->timers;
    uint64_t due = now >> TIMERS_SHIFT;

    if (t->at <= due && t->pending > 0)
        for (uint64_t at = t->at; at < RTE_MIN(due + 1, t->at + FETCH_SLOTS); at++)
            fetch_slot(w, timers_slot(t, at));
    while (t->at <= due) {
        uint32_t n = wake_slot(w, timers_slot(t, t->at), most);

        most -= n;
        t->pending -= n;
        w->woken |= n > 0;
        if (!timers_is_empty(timers_slot(t, t->at)))
            break;
        t->at = t->pending == 0 ? due + 1 : t->at + 1;
        if (t->at + FETCH_SLOTS - 1 <= due)
            fetch_slot(w, timers_slot(t, t->at + FETCH_SLOTS - 1));
    }
    fetch_slot(w, timers_slot(t, t->at));
}

void wheel_subport_waits(struct wheel *w, uint32_t subport, unsigned class, uint64_t ready)
{
    struct wheel_gate *g = &w->gate[subport];
    uint32_t classes = class == WHEEL_SELF ? g->backlog : 1u << class;

    wait_for(w, w->n_pipes + subport, class, ready, &g->waits, &g->timed);
    for (; classes != 0; classes &= classes - 1) {
        unsigned c = (unsigned)__builtin_ctz(classes);

        wheel_ring_of(w, subport, c)->left = 0; /* its turn is over */
        wheel_clear_ready(w, subport, c);
    }
}

bool wheel_pipe_may_leave(struct wheel *w, uint32_t pipe, unsigned class, uint32_t bytes)
{
    const struct wheel_profile *f = &w->profile[w->pipe[pipe].profile];
    const struct pace *pace = &f->cap_pace[class];
    uint64_t ready;

    if ((f->caps & 1u << class) == 0)
        return true;
    ready = bucket_ready(&w->cap[class][pipe], pace, bucket_cost(pace, bytes));
    if (is_after(w->now, ready))
        return true;
    wheel_pipe_waits(w, pipe, class, ready);
    return false;
}

bool wheel_may_leave(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                     uint32_t bytes)
{
    struct wheel_subport *s = &w->subport[subport];
    uint64_t ready;

    if (!wheel_pipe_may_leave(w, pipe, class, bytes))
        return false;
    if ((w->gate[subport].caps & 1u << class) != 0) {
        const struct pace *pace = &s->cap_pace[class];
        ready = bucket_ready(&s->cap[class], pace, bucket_cost(pace, bytes));
        if (!is_after(w->now, ready)) {
            wheel_subport_waits(w, subport, class, ready);
            return false;
        }
    }
    ready = bucket_ready(&s->bucket, &s->pace, bucket_cost(&s->pace, bytes));
    if ((w->gate[subport].caps & WHEEL_SELF_BIT) != 0 && !is_after(w->now, ready)) {
        wheel_subport_waits(w, subport, WHEEL_SELF, ready);
        return false;
    }
    return true;
}

void wheel_pipe_pay(struct wheel *w, uint32_t pipe, unsigned class, uint32_t bytes)
{
    const struct wheel_profile *f = &w->profile[w->pipe[pipe].profile];

    if ((f->caps & 1u << class) != 0)
        bucket_take(&w->cap[class][pipe], bucket_cost(&f->cap_pace[class], bytes), w->now);
}

void wheel_pay(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class, uint32_t bytes)
{
    struct wheel_subport *s = &w->subport[subport];

    wheel_pipe_pay(w, pipe, class, bytes);
    if ((w->gate[subport].caps & 1u << class) != 0)
        bucket_take(&s->cap[class], bucket_cost(&s->cap_pace[class], bytes), w->now);
    if ((w->gate[subport].caps & WHEEL_SELF_BIT) != 0)
        bucket_take(&s->bucket, bucket_cost(&s->pace, bytes), w->now);
}
