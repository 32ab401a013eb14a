/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit in the wheel: a bucket that lacks it waits in the timers. */
#include "sched/wheel/rings.h"
#include "sched/wheel/wheel.h"

/* A node of the timers is owner * 16 + class: the owner is a pipe, or n_pipes + a subport; class
 * WHEEL_SELF means its own bucket. A bucket that is in the timers already, for an earlier packet,
 * keeps its place there. */

void wheel_pipe_waits(struct wheel *w, uint32_t pipe, struct wheel_pipe *p, unsigned class,
                      uint64_t ready)
{
    const uint64_t bit = UINT64_C(1) << class, timed = bit << WHEEL_TIMED;
    uint64_t bits = p->bits;

    p->limited = p->limited != SCHED_PROMPT ? p->limited : SCHED_LIMITED_FIRST;
    p->bits = bits | bit << WHEEL_WAITS | timed;
    if ((bits & timed) == 0)
        timers_add(&w->timers, ready, pipe * 16 + class);
}

void wheel_wake_subport(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_gate *g = &w->gate[subport];
    uint32_t left;

    w->subport[subport].timed &= (uint16_t) ~(1u << class);
    g->waits &= (uint16_t) ~(1u << class);
    if ((g->waits & WHEEL_SELF_BIT) != 0)
        return;
    left = g->backlog & ~(uint32_t)g->waits;
    w->old |= left; /* its pipes have waited, and are not in the cache */
    for (; left != 0; left &= left - 1)
        wheel_set_ready(w, subport, (unsigned)__builtin_ctz(left));
}

/* Take a subport out of those that are ready in a class, if it is one: mostly the first. */
static void take_out(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_ready *r = &w->ready[class];
    uint32_t at = r->head;

    if ((w->gate[subport].ready & 1u << class) == 0)
        return;
    while (r->subport[at & w->ready_mask] != subport)
        at++;
    for (; at != r->head; at--)
        r->subport[at & w->ready_mask] = r->subport[(at - 1) & w->ready_mask];
    wheel_ready_leave(w, subport, class);
}

void wheel_subport_waits(struct wheel *w, uint32_t subport, unsigned class, uint64_t ready)
{
    struct wheel_gate *g = &w->gate[subport];
    struct wheel_subport *s = &w->subport[subport];
    uint32_t classes = class == WHEEL_SELF ? g->backlog : 1u << class;

    g->waits |= (uint16_t)(1u << class);
    if ((s->timed & 1u << class) == 0)
        timers_add(&w->timers, ready, (w->n_pipes + subport) * 16 + class);
    s->timed |= (uint16_t)(1u << class);
    for (; classes != 0; classes &= classes - 1) {
        unsigned c = (unsigned)__builtin_ctz(classes);

        wheel_ring_of(w, subport, c)->left = w->subport_turn; /* its turn is over */
        take_out(w, subport, c);
    }
}

bool wheel_pipe_may_leave(struct wheel *w, uint32_t pipe, unsigned class, uint32_t bytes)
{
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    const struct wheel_profile *f = &w->profile[p->profile];
    const struct pace *pace = &f->cap_pace[class];
    uint64_t ready;

    if ((f->caps & 1u << class) == 0)
        return true;
    ready = bucket_ready(&w->cap[class][pipe], pace, bucket_cost(pace, bytes));
    if (is_after(w->now, ready))
        return true;
    wheel_pipe_waits(w, pipe, p, class, ready);
    return false;
}

void wheel_pipe_pay(struct wheel *w, uint32_t pipe, unsigned class, uint32_t bytes)
{
    const struct wheel_profile *f = &w->profile[wheel_pipe_of(w, pipe)->profile];

    if ((f->caps & 1u << class) != 0)
        bucket_take(&w->cap[class][pipe], bucket_cost(&f->cap_pace[class], bytes), w->now);
}
