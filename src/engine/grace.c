/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/grace.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

int grace_open(struct grace *g, struct engine *e)
{
    unsigned rings = e->plan->n_rings;

    /* A packet meets each ring once, or twice where an answer of the slow path is routed again. */
    *g = (struct grace){.e = e, .steps = 2 * rings + 1};
    g->tail = calloc(rings + 1, sizeof(*g->tail));
    if (g->tail == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < e->plan->n_cores; i++)
        if (rte_rcu_qsbr_thread_register(e->readers, i) != 0)
            return -EINVAL;
    return 0;
}

void grace_close(struct grace *g)
{
    free(g->tail);
    g->tail = NULL;
}

static void begin_step(struct grace *g)
{
    g->draining = false;
    g->token = rte_rcu_qsbr_start(g->e->readers);
}

static void begin_period(struct grace *g)
{
    g->begun++;
    g->step = 0;
    g->wanted = false;
    begin_step(g);
}

uint64_t grace_begin(struct grace *g)
{
    if (g->begun == g->over)
        begin_period(g);
    else
        g->wanted = true;
    return g->begun + g->wanted;
}

/* What is in the rings now. */
static void note_rings(struct grace *g)
{
    for (unsigned i = 0; i < g->e->plan->n_rings; i++)
        g->tail[i] = __atomic_load_n(&g->e->rings[i]->prod.tail, __ATOMIC_ACQUIRE);
    g->draining = true;
}

static bool rings_drained(const struct grace *g)
{
    for (unsigned i = 0; i < g->e->plan->n_rings; i++) {
        uint32_t tail = __atomic_load_n(&g->e->rings[i]->cons.tail, __ATOMIC_ACQUIRE);

        if ((int32_t)(tail - g->tail[i]) < 0)
            return false;
    }
    return true;
}

/* Returns whether a step has ended. */
static bool end_step(struct grace *g)
{
    if (!g->draining) {
        if (rte_rcu_qsbr_check(g->e->readers, g->token, false) == 0)
            return false;
        note_rings(g);
    }
    return rings_drained(g);
}

uint64_t grace_poll(struct grace *g)
{
    while (g->begun != g->over && end_step(g)) {
        if (++g->step < g->steps) {
            begin_step(g);
            continue;
        }
        g->over = g->begun;
        if (g->wanted)
            begin_period(g);
    }
    return g->over;
}
