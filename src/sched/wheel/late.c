/* SPDX-License-Identifier: BSD-3-Clause */
/* What an AQM does to packets that were taken into a queue of the wheel: drop or mark them. */
#include "packet/flow.h"
#include "sched/wheel/wheel.h"

void wheel_lose(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q, enum verdict why)
{
    uint32_t path = m->hash.sched.queue_id;

    q->tail -= UINT64_C(1) << 48;
    q->load -= m->pkt_len + w->overhead;
    wheel_count_drop(w, m, why);
    sched_class_of(&w->base, wheel_subport_of(w, path / QOS_QUEUES), path % QOS_QUEUES)->late++;
    sched_count_sent(&w->base, 1);
    rte_pktmbuf_free(m);
}

bool wheel_mark(struct wheel *w, struct rte_mbuf *m)
{
    uint32_t path = m->hash.sched.queue_id;

    if (!flow_mark_ce(rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_data_len(m)))
        return false;
    sched_class_of(&w->base, wheel_subport_of(w, path / QOS_QUEUES), path % QOS_QUEUES)->marked++;
    return true;
}
