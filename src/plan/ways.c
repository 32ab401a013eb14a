/* SPDX-License-Identifier: BSD-3-Clause */
/* How many rings a packet can meet on its way: the longest way through the graph of tasks, in which
 * all tasks of a circle count as one stretch that is gone through twice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/make.h"

#define UNKNOWN UINT32_MAX

struct ways {
    unsigned n;                                /* tasks */
    bool ring[CFG_MAX_TASKS];                  /* a ring leads to an instance of the task */
    bool next[CFG_MAX_TASKS][CFG_MAX_TASKS];   /* from, to */
    bool behind[CFG_MAX_TASKS][CFG_MAX_TASKS]; /* the same over any number of links */
    uint32_t rings[CFG_MAX_TASKS];             /* from the task on, its own ring included */
};

static void add_output(struct ways *w, const struct plan *p, unsigned task,
                       const struct plan_output *o)
{
    for (unsigned k = 0; k < o->n_dests; k++) {
        unsigned to;

        if (o->dest[k].kind == DEST_PORT)
            continue;
        to = o->dest[k].kind == DEST_RING ? p->rings[o->dest[k].index].consumer : o->dest[k].index;
        to = p->instances[to].task;
        w->next[task][to] = true;
        w->ring[to] |= o->dest[k].kind == DEST_RING;
    }
}

static void find_behind(struct ways *w)
{
    memcpy(w->behind, w->next, sizeof(w->behind));
    for (unsigned over = 0; over < w->n; over++)
        for (unsigned from = 0; from < w->n; from++)
            for (unsigned to = 0; w->behind[from][over] && to < w->n; to++)
                w->behind[from][to] |= w->behind[over][to];
}

/* Are two tasks in one circle? A task is with itself. */
static bool together(const struct ways *w, unsigned a, unsigned b)
{
    return a == b || (w->behind[a][b] && w->behind[b][a]);
}

static uint32_t rings_from(struct ways *w, unsigned task)
{
    uint32_t own = 0, most = 0;

    if (w->rings[task] != UNKNOWN)
        return w->rings[task];
    for (unsigned t = 0; t < w->n; t++) {
        if (!together(w, task, t))
            continue;
        own += w->ring[t];
        for (unsigned to = 0; to < w->n; to++)
            if (w->next[t][to] && !together(w, task, to) && rings_from(w, to) > most)
                most = rings_from(w, to);
    }
    if (w->behind[task][task])
        own *= 2;
    w->rings[task] = own + most;
    return w->rings[task];
}

int plan_measure_ways(struct plan_build *b)
{
    struct plan *p = b->p;
    struct ways *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return -ENOMEM;
    w->n = b->m->n_tasks;
    memset(w->rings, 0xff, sizeof(w->rings));
    for (unsigned i = 0; i < p->n_instances; i++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            add_output(w, p, p->instances[i].task, &p->instances[i].output[o]);
    find_behind(w);
    for (unsigned t = 0; t < w->n; t++)
        if (rings_from(w, t) > p->rings_on_way)
            p->rings_on_way = rings_from(w, t);
    free(w);
    return 0;
}
