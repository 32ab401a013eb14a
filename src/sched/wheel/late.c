/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of the wheel that are dropped or marked: what is counted of them. */
#include "packet/flow.h"
#include "sched/wheel/wheel.h"

/* Count bytes that were dropped at the tail of a queue: where its packets are, as a full queue
 * drops as many as it takes, or more. An unused queue has but its tally. */
static void count_refused(struct wheel *w, uint32_t pipe, unsigned queue, uint32_t bytes)
{
    struct wheel_tally *t = &w->tally[queue][pipe];
    struct wheel_queue *q = wheel_queue_of(w, pipe, queue);

    if (unlikely(w->size[queue] == 0)) {
        t->tail++;
        t->bytes += bytes;
        return;
    }
    q->refused += (UINT32_C(1) << WHEEL_REFUSED_BITS) + bytes;
    if (likely((q->refused & WHEEL_REFUSED_FULL) == 0))
        return;
    t->tail += wheel_refused_packets(q->refused);
    t->bytes += wheel_refused_bytes(q->refused);
    q->refused = 0;
}

void wheel_count_drop(struct wheel *w, const struct rte_mbuf *m, enum verdict why)
{
    uint32_t path = m->hash.sched.queue_id;
    uint32_t pipe = path / QOS_QUEUES;
    struct sched_class_rest *c =
        sched_rest_of(&w->base, wheel_subport_of(w, pipe), path % QOS_QUEUES);

    __atomic_store_n(&wheel_pipe_of(w, pipe)->counters.dropped,
                     wheel_pipe_of(w, pipe)->counters.dropped + 1, __ATOMIC_RELAXED);
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
        count_refused(w, pipe, path % QOS_QUEUES, m->pkt_len);
        c->tail++;
    } else {
        w->tally[path % QOS_QUEUES][pipe].aqm++;
        w->tally[path % QOS_QUEUES][pipe].bytes += m->pkt_len;
        c->aqm++;
    }
}

void wheel_lose(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q, enum verdict why)
{
    uint32_t path = m->hash.sched.queue_id;

    q->tail -= UINT64_C(1) << 48;
    q->load -= m->pkt_len + w->overhead;
    wheel_count_drop(w, m, why);
    sched_rest_of(&w->base, wheel_subport_of(w, path / QOS_QUEUES), path % QOS_QUEUES)->late++;
    sched_count_sent(&w->base, 1);
    rte_pktmbuf_free(m);
}

bool wheel_mark(struct wheel *w, struct rte_mbuf *m)
{
    uint32_t path = m->hash.sched.queue_id;

    if (!flow_mark_ce(rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_data_len(m)))
        return false;
    sched_rest_of(&w->base, wheel_subport_of(w, path / QOS_QUEUES), path % QOS_QUEUES)->marked++;
    return true;
}
