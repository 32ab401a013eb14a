/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/task.h"

void task_consume(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    t->consumed += n;
    rte_pktmbuf_free_bulk(m, n);
}

void task_flush(struct task *t)
{
    for (uint16_t i = 0; i < t->n_outs; i++) {
        struct out *o = &t->outs[i];

        if (o->n != 0) {
            uint16_t n = o->n;

            o->n = 0;
            o->send(o, o->buf, n);
        }
    }
    if (unlikely(t->n_drop != 0)) {
        rte_pktmbuf_free_bulk(t->drop, t->n_drop);
        t->n_drop = 0;
    }
}
