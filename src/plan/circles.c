/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circles in the graph of instances. A circle of direct calls never returns. A circle through rings
 * that all make their producers wait can stand still for ever with every ring full; a single ring
 * in the circle that drops keeps packets moving.
 */
#include <stdio.h>
#include <stdlib.h>

#include "plan/make.h"

enum visit { NOT_YET, ON_PATH, DONE };

struct walk {
    struct plan_build *b;
    bool rings; /* follow rings that wait, too, beside direct calls */
    unsigned depth, found;
    uint8_t *visit; /* enum visit of each instance */
    uint16_t *path;
    bool reported[CFG_MAX_TASKS]; /* a circle through this task was reported */
};

/* The instance to which a walk follows a destination, or CFG_NONE. */
static uint32_t next_instance(const struct walk *w, const struct plan_dest *d)
{
    const struct plan_ring *r;

    if (d->kind == DEST_CALL)
        return d->index;
    if (d->kind == DEST_PORT || !w->rings)
        return CFG_NONE;
    r = &w->b->p->rings[d->index];
    return r->on_full == FULL_WAIT ? r->consumer : CFG_NONE;
}

/* Report the circle that is the end of the path, from instance back on. The workers of a task have
 * the same circles, of which one is enough. */
static void report_circle(struct walk *w, uint32_t back)
{
    const struct plan_instance *inst = w->b->p->instances;
    const struct cfg_task *tasks = w->b->m->tasks;
    unsigned first = w->depth - 1;
    char names[1024];
    size_t used = 0;

    w->found++;
    while (w->path[first] != back)
        first--;
    for (unsigned k = first; k < w->depth; k++)
        if (w->reported[inst[w->path[k]].task])
            return;
    for (unsigned k = first; k < w->depth && used < sizeof(names); k++) {
        w->reported[inst[w->path[k]].task] = true;
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s -> ",
                                 tasks[inst[w->path[k]].task].name);
    }
    if (w->rings)
        diag_error(w->b->d, tasks[inst[back].task].loc,
                   "circle %s%s: every ring in it waits when it is full, so it can stand still for "
                   "ever; give one of these tasks on_full = \"drop\"",
                   names, tasks[inst[back].task].name);
    else
        diag_error(w->b->d, tasks[inst[back].task].loc,
                   "circle %s%s: on one core these tasks would call each other without end; cut "
                   "the circle",
                   names, tasks[inst[back].task].name);
}

/* Search depth first for circles that begin at an instance. */
static void visit(struct walk *w, uint32_t i)
{
    const struct plan_instance *inst = &w->b->p->instances[i];

    w->visit[i] = ON_PATH;
    w->path[w->depth++] = (uint16_t)i;
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            uint32_t next = next_instance(w, &inst->output[o].dest[k]);

            if (next == CFG_NONE)
                continue;
            if (w->visit[next] == ON_PATH)
                report_circle(w, next);
            else if (w->visit[next] == NOT_YET)
                visit(w, next);
        }
    }
    w->depth--;
    w->visit[i] = DONE;
}

/* Report the circles of direct calls, or, with rings, of calls and rings that wait. Returns how
 * many there are. */
static unsigned find_circles(struct plan_build *b, bool rings)
{
    unsigned n = b->p->n_instances;
    struct walk w = {
        .b = b,
        .rings = rings,
        .visit = calloc(n + 1, sizeof(w.visit[0])),
        .path = calloc(n + 1, sizeof(w.path[0])),
    };

    if (w.visit == NULL || w.path == NULL)
        diag_error(b->d, (struct loc){b->m->path, 0}, "no memory to look for circles");
    else
        for (unsigned i = 0; i < n; i++)
            if (w.visit[i] == NOT_YET)
                visit(&w, i);
    free(w.visit);
    free(w.path);
    return w.found;
}

void plan_check_circles(struct plan_build *b)
{
    if (find_circles(b, false) == 0)
        find_circles(b, true);
}
