/* SPDX-License-Identifier: BSD-3-Clause */
/* sink: counts packets and bytes and ends them. */
#include "engine/task.h"

struct sink {
    uint64_t bytes; /* without FCS; written by its core, read by others */
};

static void sink_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct sink *s = t->state;
    uint64_t bytes = 0;

    for (uint16_t i = 0; i < n; i++)
        bytes += m[i]->pkt_len;
    s->bytes += bytes;
    task_consume(t, m, n);
}

static const char *const stat_names[] = {"bytes", NULL};

static uint64_t sink_stat(const struct task *t, unsigned i)
{
    return __atomic_load_n(&((const struct sink *)t->state)->bytes, __ATOMIC_RELAXED);
}

const struct task_type task_sink = {
    .schema =
        {
            .type = "sink",
            .help = "counts what it receives and ends it",
            .kind = TASK_SINK,
        },
    .state_size = sizeof(struct sink),
    .handle = sink_handle,
    .stat_names = stat_names,
    .stat = sink_stat,
};
