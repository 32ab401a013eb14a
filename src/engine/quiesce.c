/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a grace period: quiescent states of all cores, then tasks that have sent what they
 * gathered, then rings that have been drained. */
#include "engine/quiesce.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

int quiesce_open(struct quiesce *g, struct engine *e)
{
    unsigned rings = e->plan->n_rings;

    *g = (struct quiesce){.e = e, .steps = e->plan->rings_on_way + 1};
    g->tail = calloc(rings + 1, sizeof(*g->tail));
    g->gathered = calloc(e->plan->n_instances + 1u, sizeof(*g->gathered));
    if (g->tail == NULL || g->gathered == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < e->plan->n_cores; i++)
        if (rte_rcu_qsbr_thread_register(e->readers, i) != 0)
            return -EINVAL;
    return 0;
}

void quiesce_close(struct quiesce *g)
{
    free(g->tail);
    free(g->gathered);
    g->tail = g->gathered = NULL;
}

static void begin_step(struct quiesce *g)
{
    g->waits = QUIESCE_CORES;
    g->token = rte_rcu_qsbr_start(g->e->readers);
}

static void begin_period(struct quiesce *g)
{
    g->begun++;
    g->step = 0;
    g->wanted = false;
    begin_step(g);
}

uint64_t quiesce_begin(struct quiesce *g)
{
    if (g->begun == g->over)
        begin_period(g);
    else
        g->wanted = true;
    return g->begun + g->wanted;
}

static uint32_t gathered(const struct task *t)
{
    return t->type->gathered != NULL ? t->type->gathered(t) : 0;
}

/* Note what tasks have gathered now: it must be in the rings before those are noted. */
static void note_tasks(struct quiesce *g)
{
    for (unsigned i = 0; i < g->e->plan->n_instances; i++)
        g->gathered[i] = gathered(g->e->tasks[i]);
    g->waits = QUIESCE_TASKS;
}

static bool tasks_have_sent(const struct quiesce *g)
{
    for (unsigned i = 0; i < g->e->plan->n_instances; i++)
        if (g->gathered[i] != 0 && gathered(g->e->tasks[i]) == g->gathered[i])
            return false;
    return true;
}

/* Note the packets that are in the rings now: the step ends when they have been taken out. */
static void note_rings(struct quiesce *g)
{
    for (unsigned i = 0; i < g->e->plan->n_rings; i++)
        g->tail[i] = __atomic_load_n(&g->e->rings[i]->prod.tail, __ATOMIC_ACQUIRE);
    g->waits = QUIESCE_RINGS;
}

static bool rings_drained(const struct quiesce *g)
{
    for (unsigned i = 0; i < g->e->plan->n_rings; i++) {
        uint32_t tail = __atomic_load_n(&g->e->rings[i]->cons.tail, __ATOMIC_ACQUIRE);

        if ((int32_t)(tail - g->tail[i]) < 0)
            return false;
    }
    return true;
}

/* Returns whether a step has ended. */
static bool end_step(struct quiesce *g)
{
    if (g->waits == QUIESCE_CORES) {
        if (rte_rcu_qsbr_check(g->e->readers, g->token, false) == 0)
            return false;
        note_tasks(g);
    }
    if (g->waits == QUIESCE_TASKS) {
        if (!tasks_have_sent(g))
            return false;
        note_rings(g);
    }
    return rings_drained(g);
}

uint64_t quiesce_poll(struct quiesce *g)
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
