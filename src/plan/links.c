/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links between instances: a direct call on one core, a ring into the consumer across cores. The
 * first link from a core to a port gives the core a transmit queue of that port.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/make.h"

#define LARGEST_BURST 64u /* packets: the largest value of the key burst */

/* A core has one transmit queue of each port that it sends to: all its instances share the queue.
 */
static struct plan_dest to_port(struct plan_build *b, uint16_t port, uint16_t core)
{
    uint16_t *queue = &b->txq[port][core];

    if (*queue == PLAN_NONE)
        *queue = b->p->tx_queues[port]++;
    return (struct plan_dest){.kind = DEST_PORT, .index = port, .queue = *queue};
}

/* An instance has one input ring, which is made for its first producer. */
static uint16_t input_ring(struct plan_build *b, uint16_t consumer)
{
    struct plan *p = b->p;
    struct plan_instance *inst = &p->instances[consumer];
    const struct cfg_task *t = &b->m->tasks[inst->task];

    if (inst->in_ring == CFG_NONE) {
        inst->in_ring = p->n_rings++;
        p->rings[inst->in_ring] = (struct plan_ring){.consumer = consumer,
                                                     .size = t->ring,
                                                     .on_full = t->on_full,
                                                     .socket = p->cores[inst->core].socket};
    }
    return (uint16_t)inst->in_ring;
}

static struct plan_dest to_instance(struct plan_build *b, uint16_t from, uint16_t to)
{
    unsigned core = b->p->instances[from].core;
    struct plan_ring *ring;
    uint16_t r;

    if (b->p->instances[to].core == core)
        return (struct plan_dest){.kind = DEST_CALL, .index = to};
    r = input_ring(b, to);
    ring = &b->p->rings[r];
    if ((b->producers[r][core / 64] & UINT64_C(1) << core % 64) == 0) {
        b->producers[r][core / 64] |= UINT64_C(1) << core % 64;
        ring->n_producers++;
    }
    return (struct plan_dest){.kind = DEST_RING, .index = r};
}

/* The worker of a task on a core, or PLAN_NONE. */
static uint16_t worker_on(const struct plan_build *b, unsigned task, unsigned core)
{
    for (uint16_t w = 0; w < b->n_of[task]; w++)
        if (b->p->instances[b->of[task][w]].core == core)
            return w;
    return PLAN_NONE;
}

/* Do packets come to every instance of a task from a port, or from a task that leads to all? */
static bool is_fed(const struct plan_build *b, unsigned task)
{
    const struct cfg_model *m = b->m;

    if (m->tasks[task].n_from > 0)
        return true;
    for (unsigned i = 0; i < m->n_tasks; i++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < m->tasks[i].output[o].n_dests; k++) {
                const struct cfg_dest *dest = &m->tasks[i].output[o].dest[k];

                if (!dest->is_port && dest->index == task &&
                    (output_spreads(&m->tasks[i], o) || b->n_of[i] == b->n_of[task]))
                    return true;
            }
    return false;
}

bool plan_leads_beside(const struct plan_build *b, unsigned task, unsigned next)
{
    return b->n_of[task] == 1 && b->n_of[next] > 1 && is_fed(b, next) &&
           worker_on(b, next, b->p->instances[b->of[task][0]].core) != PLAN_NONE;
}

/* Check the numbers of workers of two linked tasks. Without an lb, workers are linked one to one,
 * all to a single worker, or a single one to that on its own core. */
static void check_workers(struct plan_build *b, unsigned task, unsigned output)
{
    const struct cfg_task *t = &b->m->tasks[task];
    const struct cfg_output *out = &t->output[output];
    unsigned n = b->n_of[task];

    if (output_spreads(t, output))
        return;
    for (uint16_t k = 0; k < out->n_dests; k++) {
        uint16_t next = out->dest[k].index;

        if (out->dest[k].is_port || b->n_of[next] <= 1 || b->n_of[next] == n ||
            plan_leads_beside(b, task, next))
            continue;
        if (n == 1 && is_fed(b, next))
            diag_error(b->d, out->loc,
                       "task '%s' is on 1 core and leads to '%s', which is on %u others: place it "
                       "on one of them, or put an lb between",
                       t->name, b->m->tasks[next].name, b->n_of[next]);
        else
            diag_error(b->d, out->loc,
                       "task '%s' is on %u core%s and leads to '%s', which is on %u: put an lb "
                       "between them, or give both the same number of cores",
                       t->name, n, n == 1 ? "" : "s", b->m->tasks[next].name, b->n_of[next]);
    }
}

static unsigned count_dests(const struct plan_build *b, const struct cfg_task *t, unsigned output)
{
    const struct cfg_output *out = &t->output[output];
    unsigned n = 0;

    if (!output_spreads(t, output))
        return out->n_dests;
    for (uint16_t k = 0; k < out->n_dests; k++)
        n += out->dest[k].is_port ? 1 : b->n_of[out->dest[k].index];
    return n;
}

/* Lead one output of an instance to its destinations. A task that has no instance for this worker
 * is left out: check_workers() has reported it. Returns 0 or -ENOMEM. */
static int connect_output(struct plan_build *b, uint16_t i, unsigned output)
{
    struct plan_instance *inst = &b->p->instances[i];
    const struct cfg_task *t = &b->m->tasks[inst->task];
    const struct cfg_output *out = &t->output[output];
    struct plan_output *po = &inst->output[output];

    memset(po->by_port, NO_WAY, sizeof(po->by_port));
    if (out->n_dests == 0)
        return 0;
    po->dest = calloc(count_dests(b, t, output) + 1, sizeof(po->dest[0]));
    if (po->dest == NULL)
        return -ENOMEM;
    for (uint16_t k = 0; k < out->n_dests; k++) {
        uint16_t next = out->dest[k].index;
        uint16_t first = 0, last;

        if (out->dest[k].is_port) {
            po->dest[po->n_dests++] = to_port(b, next, inst->core);
            continue;
        }
        last = b->n_of[next];
        if (!output_spreads(t, output) && last > 1) {
            first = plan_leads_beside(b, inst->task, next) ? worker_on(b, next, inst->core)
                                                           : inst->worker;
            last = first < last ? first + 1 : first;
        }
        for (uint16_t w = first; w < last; w++)
            po->dest[po->n_dests++] = to_instance(b, i, b->of[next][w]);
    }
    return 0;
}

/* A core takes packets in for a ring that waits only while the ring has room for a burst of every
 * producing core (link_blocked() of the engine), so a smaller ring would stay empty for ever. All
 * rings of a task are of one size: the one with the most producers is judged. */
static void check_waiting_rings(struct plan_build *b)
{
    const struct plan_ring *most[CFG_MAX_TASKS] = {NULL};

    for (unsigned i = 0; i < b->p->n_rings; i++) {
        const struct plan_ring *r = &b->p->rings[i];
        unsigned task = b->p->instances[r->consumer].task;

        if (most[task] == NULL || r->n_producers > most[task]->n_producers)
            most[task] = r;
    }
    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct plan_ring *r = most[i];
        const struct cfg_task *t = &b->m->tasks[i];

        if (r != NULL && r->on_full == FULL_WAIT &&
            r->size <= (uint32_t)r->n_producers * LARGEST_BURST)
            diag_error(b->d, t->loc,
                       "the ring of task '%s' holds %u packets, but %u cores wait for room for %u "
                       "each in it: make it larger than %u",
                       t->name, r->size - 1, r->n_producers, LARGEST_BURST,
                       r->n_producers * LARGEST_BURST);
    }
}

int plan_make_links(struct plan_build *b)
{
    struct plan *p = b->p;
    int rc = 0;

    memset(b->txq, 0xff, sizeof(b->txq));
    p->rings = calloc(p->n_instances + 1, sizeof(p->rings[0]));
    b->producers = calloc(p->n_instances + 1, sizeof(b->producers[0]));
    if (p->rings == NULL || b->producers == NULL)
        return -ENOMEM;
    for (unsigned t = 0; t < b->m->n_tasks; t++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            check_workers(b, t, o);
    for (unsigned i = 0; rc == 0 && i < p->n_instances; i++)
        for (unsigned o = 0; rc == 0 && o < TASK_MAX_OUTPUTS; o++)
            rc = connect_output(b, (uint16_t)i, o);
    if (rc == 0)
        check_waiting_rings(b);
    return rc;
}

/* --- for tasks: in which state packets come --- */

bool plan_waits(const struct plan *p, unsigned instance)
{
    return p->cfg->tasks[p->instances[instance].task].schema->waits;
}

/* Does an instance call another? */
static bool calls(const struct plan_instance *from, unsigned to)
{
    for (unsigned i = 0; i < TASK_MAX_OUTPUTS; i++)
        for (unsigned k = 0; k < from->output[i].n_dests; k++)
            if (from->output[i].dest[k].kind == DEST_CALL && from->output[i].dest[k].index == to)
                return true;
    return false;
}

bool plan_is_behind_waiting(const struct plan *p, unsigned instance)
{
    for (unsigned i = 0; i < p->n_instances; i++)
        if (plan_waits(p, i) && calls(&p->instances[i], instance))
            return true;
    return false;
}
