/* SPDX-License-Identifier: BSD-3-Clause */
/* Who stands in which ring of the wheel, and which subport is ready in a class. */
#ifndef SCHED_WHEEL_RINGS_H
#define SCHED_WHEEL_RINGS_H

#include <rte_branch_prediction.h>

#include "sched/wheel/wheel.h"

/** Mark that a subport has something to send in a class. */
static inline void wheel_set_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    w->ready[class][subport / 64] |= UINT64_C(1) << subport % 64;
    w->classes |= 1u << class;
}

/** Mark that a subport has nothing in a class, or may not send it. */
static inline void wheel_clear_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    uint64_t any = 0;

    w->ready[class][subport / 64] &= ~(UINT64_C(1) << subport % 64);
    for (uint32_t i = 0; i < w->n_words; i++)
        any |= w->ready[class][i];
    w->classes &= ~((uint32_t)(any == 0) << class);
}

/** The first subport that is ready in a class behind subport i, around; some is. Without branches
 * that follow from the packets. */
static inline uint32_t wheel_next_ready(const struct wheel *w, unsigned class, uint32_t i)
{
    const uint64_t *ready = w->ready[class];
    uint32_t word = i / 64, some, k;
    uint64_t behind = ready[word] & UINT64_MAX << i % 64 << 1;

    if (w->n_words == 1)
        return (uint32_t)__builtin_ctzll(wheel_unless_zero(behind, behind, ready[0]));
    static_assert(WHEEL_WORDS == 4, "a bit for each word, and for those before i in its own");
    some = (uint32_t)(behind != 0) | (uint32_t)(ready[(word + 1) % 4] != 0) << 1 |
           (uint32_t)(ready[(word + 2) % 4] != 0) << 2 |
           (uint32_t)(ready[(word + 3) % 4] != 0) << 3 | 1u << 4;
    k = (uint32_t)__builtin_ctz(some);
    word = (word + k) % 4;
    return word * 64 + (uint32_t)__builtin_ctzll(wheel_unless_zero(k, ready[word], behind));
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

/** Put a pipe that has been woken into a ring, which mostly holds others that were. */
static inline void wheel_list(struct wheel *w, uint32_t subport, uint32_t pipe,
                              struct wheel_pipe *p, unsigned class)
{
    p->listed |= (uint16_t)(1u << class);
    wheel_enter(w, subport, pipe, class);
    if (unlikely((w->gate[subport].backlog & 1u << class) == 0))
        wheel_fill(w, subport, class);
}

/** Put a pipe into the ring of its highest class that may send, unless the pipe lacks credit. Where
 * a class of the subport may have to wait, so that a lower one goes first, into the rings of all
 * its classes. */
static inline void wheel_relist(struct wheel *w, uint32_t pipe, struct wheel_pipe *p)
{
    uint32_t classes = wheel_eligible(p), subport = wheel_subport_of(w, pipe);

    if ((p->waits & WHEEL_SELF_BIT) != 0)
        return;
    if (likely((w->gate[subport].caps & ~(WHEEL_SELF_BIT | WHEEL_SHARED_BIT)) == 0)) {
        classes &= -classes & ~p->listed;
        if (classes != 0)
            wheel_list(w, subport, pipe, p, (unsigned)__builtin_ctz(classes));
        return;
    }
    for (classes &= ~p->listed; classes != 0; classes &= classes - 1)
        wheel_list(w, subport, pipe, p, (unsigned)__builtin_ctz(classes));
}

#endif
