/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What packets need to leave the wheel: a part of dequeue.c, which is compiled twice, for
 * shards by shards/dequeue.c.
 */
#ifndef SCHED_WHEEL_LEAVE_H
#define SCHED_WHEEL_LEAVE_H

#include "sched/shards/shard.h"
#include "sched/wheel/rings.h"
#include "sched/wheel/wheel.h"

#ifndef WHEEL_SHARD
#define WHEEL_SHARD false
#endif

/* Tell RED when a queue runs empty, and have FQ-CoDel or L4S choose the next packet of one that
 * does not. */
static WHEEL_OUT_OF_LINE void note_departure(struct wheel *w, uint32_t pipe, unsigned queue,
                                             bool last)
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
static WHEEL_OUT_OF_LINE struct rte_mbuf *take(struct wheel *w, uint32_t pipe, struct wheel_pipe *p,
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
    p->bits &= ~((uint64_t)last << queue);
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

/* The turn of a subport is over, which has more to send. */
static inline void end_subport_turn(struct wheel *w, struct wheel_ring *r, unsigned class)
{
    r->left += w->subport_turn;
    wheel_ready_next(w, class);
}

/* A ring has run empty: its turn is over, and its subport is not ready in the class. It begins anew
 * at its first place, which is in the cache: most rings hold a few pipes, and seldom. */
static inline void end_ring(struct wheel *w, struct sched_class_state *c, uint32_t subport,
                            unsigned class)
{
    if (WHEEL_SHARD)
        shard_ring_empty(w, c, subport, class);
    c->ring.head = c->ring.tail = 0;
    c->ring.left = w->subport_turn;
    w->gate[subport].backlog &= (uint16_t) ~(1u << class);
    wheel_ready_leave(w, subport, class);
}

#endif
