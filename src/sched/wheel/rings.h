/* SPDX-License-Identifier: BSD-3-Clause */
/* Who stands in which ring of the wheel, and which subport is ready in a class. */
#ifndef SCHED_WHEEL_RINGS_H
#define SCHED_WHEEL_RINGS_H

#include <rte_branch_prediction.h>

#include "sched/wheel/wheel.h"

/** Have a subport stand among those that are ready in a class, if it does not yet. */
static inline void wheel_set_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_ready *r = &w->ready[class];
    struct wheel_gate *g = &w->gate[subport];

    r->subport[r->tail & w->ready_mask] = (uint8_t)subport;
    r->tail += ~((uint32_t)g->ready >> class) & 1;
    g->ready |= (uint16_t)(1u << class);
    w->classes |= 1u << class;
}

/** The subport whose turn it is in a class in which some are ready. */
static inline uint32_t wheel_ready_first(const struct wheel *w, unsigned class)
{
    const struct wheel_ready *r = &w->ready[class];

    return r->subport[r->head & w->ready_mask];
}

/** Take out that subport, which has nothing in the class, or may not send it. */
static inline void wheel_ready_leave(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_ready *r = &w->ready[class];

    r->head++;
    w->gate[subport].ready &= (uint16_t) ~(1u << class);
    w->classes &= ~((uint32_t)(r->head == r->tail) << class);
}

/** Move that subport, whose turn is over, to the end. */
static inline void wheel_ready_next(struct wheel *w, unsigned class)
{
    struct wheel_ready *r = &w->ready[class];

    r->subport[r->tail++ & w->ready_mask] = r->subport[r->head++ & w->ready_mask];
}

/** Put a pipe at the end of a ring in which it does not stand yet. */
static inline void wheel_enter(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class)
{
    struct wheel_ring *r = wheel_ring_of(w, subport, class);

    r->pipe[r->tail++ & r->mask] = pipe;
    w->joined[class]++;
}

/** Note that a ring holds pipes. */
static inline void wheel_fill(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_gate *g = &w->gate[subport];

    g->backlog |= (uint16_t)(1u << class);
    if (likely((g->waits & (WHEEL_SELF_BIT | 1u << class)) == 0))
        wheel_set_ready(w, subport, class);
}

/** Put a pipe that has been woken into the ring of a class (a bit), which mostly holds others that
 * were. */
static inline void wheel_list(struct wheel *w, uint32_t subport, uint32_t pipe,
                              struct wheel_pipe *p, uint32_t bit)
{
    unsigned class = (unsigned)__builtin_ctz(bit);

    p->bits |= (uint64_t)bit << WHEEL_LISTED;
    wheel_enter(w, subport, pipe, class);
    if (unlikely((w->gate[subport].backlog & bit) == 0))
        wheel_fill(w, subport, class);
}

/** Put a pipe into the ring of its highest class that may send, unless the pipe lacks credit. Where
 * a class of the subport may have to wait, so that a lower one goes first, into the rings of all
 * its classes. */
static inline void wheel_relist(struct wheel *w, uint32_t pipe, struct wheel_pipe *p)
{
    uint64_t bits = p->bits;
    uint32_t eligible = wheel_eligible_of(bits), subport = wheel_subport_of(w, pipe),
             classes = eligible & ~(uint32_t)(bits >> WHEEL_LISTED);

    if ((bits & (uint64_t)WHEEL_SELF_BIT << WHEEL_WAITS) != 0)
        return;
    if (likely((w->gate[subport].caps & ~(WHEEL_SELF_BIT | WHEEL_SHARED_BIT)) == 0)) {
        classes &= eligible & -eligible;
        if (classes != 0)
            wheel_list(w, subport, pipe, p, classes);
        return;
    }
    for (; classes != 0; classes &= classes - 1)
        wheel_list(w, subport, pipe, p, classes & -classes);
}

#endif
