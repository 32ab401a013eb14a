/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel: buckets that have waited for credit have earned enough. */
#include "sched/wheel/layouts.h"

#include "sched/wheel/rings.h"
#include "sched/wheel/wheel.h"

/* The bucket of a pipe, or of a class of it, has earned enough: prefetch the queue from which the
 * pipe will be served first, and the record of the pipe. Returns the queue. */
static inline struct wheel_queue *wake_pipe(struct wheel *w, uint32_t pipe, unsigned class)
{
    struct wheel_pipe *p = wheel_pipe_of(w, pipe);
    uint64_t bits = p->bits & ~((UINT64_C(1) << WHEEL_WAITS | UINT64_C(1) << WHEEL_TIMED) << class);
    uint32_t classes = wheel_eligible_of(bits);
    unsigned first = (unsigned)__builtin_ctz(classes | 1u << QOS_BE);
    struct wheel_queue *q;

    rte_prefetch0_write(w->records + pipe * w->record_stride);
    p->bits = bits;
    wheel_relist(w, pipe, p);
    q = wheel_queue_of(w, pipe, first == QOS_BE ? wheel_choose_queue(w, p) : first);
    rte_prefetch0_write(q);
    return q;
}

#define MOST_WOKEN  256 /* in one dequeue: so that a backlog of timers delays no packet */
#define NODES_AHEAD 16  /* how long before it is woken a pipe is fetched */

void wheel_run_timers(struct wheel *w, uint64_t now)
{
    uint32_t node[MOST_WOKEN + TIMERS_LINE], n = timers_due(&w->timers, now, node, MOST_WOKEN);
    struct wheel_queue *queue[MOST_WOKEN];
    uint32_t pipes = 0;

    for (uint32_t i = 0; i < RTE_MIN(n, (uint32_t)NODES_AHEAD); i++)
        wheel_fetch_pipe(w, node[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i + NODES_AHEAD < n)
            wheel_fetch_pipe(w, node[i + NODES_AHEAD]);
        if (unlikely(node[i] / 16 >= w->n_pipes)) {
            wheel_wake_subport(w, node[i] / 16 - w->n_pipes, node[i] % 16);
            continue;
        }
        queue[pipes++] = wake_pipe(w, node[i] / 16, node[i] % 16);
    }
    wheel_fetch_woken(w, queue, pipes);
}
