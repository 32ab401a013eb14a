/* SPDX-License-Identifier: BSD-3-Clause */
/* forward: passes packets on unchanged. It is a core that only transmits, or the shortest path, to
 * which measurements of other tasks are compared. */
#include "engine/task.h"

enum { OUT_TO };

struct forward {
    bool names_port; /* a task follows, which may read the ingress port from the mbuf */
};

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_output *to = &env->plan->instances[env->instance].output[OUT_TO];
    struct forward *f = t->state;

    for (uint16_t i = 0; i < to->n_dests; i++)
        f->names_port |= to->dest[i].kind != DEST_PORT;
    return 0;
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct forward *f = t->state;

    if (f->names_port && t->in_port != PORT_IN_MBUF)
        for (uint16_t i = 0; i < n; i++)
            meta_set_in_port(m[i], t->in_port);
    task_emit_burst(t, OUT_TO, m, n);
}

const struct task_type task_forward = {
    .schema = {.type = "forward",
               .help = "passes packets on unchanged",
               .kind = TASK_WORKER,
               .outputs = {[OUT_TO] = {"to", "all packets"}}},
    .state_size = sizeof(struct forward),
    .init = init,
    .handle = handle,
};
