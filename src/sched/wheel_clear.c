/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own engine: what waits in a pipe is dropped. */
#include <errno.h>
#include <string.h>

#include "sched/wheel.h"

void wheel_free_queue(const struct wheel_queue *q)
{
    struct rte_mbuf *m = wheel_mbuf(q->head), *next;

    for (uint32_t n = wheel_number(q->tail); n > 0; n--, m = next) {
        next = n > 1 ? m->next : NULL;
        m->next = NULL;
        m->tx_offload = 0;
        rte_pktmbuf_free(m);
    }
}

static uint32_t clear_queue(struct wheel *w, uint32_t pipe, unsigned queue)
{
    struct wheel_queue *q = &w->queue[queue][pipe];
    uint32_t n = wheel_number(q->tail);

    wheel_free_queue(q);
    memset(q, 0, sizeof(*q));
    memset(&w->drops[queue][pipe], 0, sizeof(w->drops[queue][pipe]));
    if (((w->red | w->pie) & 1u << queue) != 0)
        memset(w->aqm[queue] + (size_t)pipe * w->aqm_size, 0, w->aqm_size);
    sched_class_of(&w->base, pipe >> w->pipe_shift, queue)->cleared += n;
    return n;
}

/* The pipe stays where it is in rings and in the timing wheel: whoever comes across a pipe without
 * packets takes it out. */
int64_t wheel_clear(struct sched *base, uint32_t pipe)
{
    struct wheel *w = wheel_of(base);
    uint32_t n = 0;

    if (pipe >= w->n_pipes)
        return -EINVAL;
    for (unsigned queue = 0; queue < QOS_QUEUES; queue++)
        if (w->size[queue] != 0)
            n += clear_queue(w, pipe, queue);
    w->pipe[pipe].queued = 0;
    __atomic_store_n(&w->pipe[pipe].dropped, 0, __ATOMIC_RELAXED);
    sched_count_sent(base, n);
    return n;
}
