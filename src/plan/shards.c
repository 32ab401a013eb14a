/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scheduler on several cores: each instance of its task is a shard with its own subscribers. So
 * the graph must bring each subscriber's packets to the instance that has him: behind a task that
 * spreads by subscriber (lb), over tasks that have as many instances, worker by worker.
 */
#include <string.h>

#include "plan/make.h"

/* A way back from a shaper, against the packets. */
struct way_back {
    struct plan_build *b;
    const struct cfg_task *shaper;
    unsigned n; /* instances of all tasks on the way */
    bool seen[CFG_MAX_TASKS], blamed[CFG_MAX_TASKS];
};

/* Does a task write into packets whose they are? */
static bool finds_subscriber(const struct cfg_task *t)
{
    return (t->schema->gives & FACT_SUBSCRIBER) != 0 || task_writes(t) != CFG_NONE;
}

/* Does what an lb looks at name the same subscriber as the task behind it finds? */
static bool looks_at_the_same(const struct cfg_task *lb, uint32_t finder,
                              const struct cfg_task *tasks)
{
    const struct param_value *by = task_param(lb, "by");
    const char *choice = by != NULL ? lb->schema->params[by - lb->param].choices[by->u] : "";

    if (finder == CFG_NONE)
        return strcmp(choice, "subscriber") == 0;
    if (strcmp(choice, "subscriber") == 0)
        return false;
    return (strcmp(choice, "gre") == 0) == (strcmp(tasks[finder].schema->type, "gre_decap") == 0) &&
           (strcmp(choice, "gre") == 0 || !finds_anyone(&tasks[finder]));
}

/* Judge a task that spreads, and whose output leads to the way. */
static void judge_spreader(struct way_back *w, unsigned task, uint32_t finder)
{
    const struct cfg_model *m = w->b->m;
    const struct cfg_task *t = &m->tasks[task];

    w->b->p->by_shard[task] = true;
    if (w->blamed[task])
        return;
    w->blamed[task] = true;
    if (t->output[0].n_dests > 1)
        diag_error(w->b->d, t->output[0].loc,
                   "task '%s' leads to several tasks, and its workers are the shards of '%s': give "
                   "it one",
                   t->name, w->shaper->name);
    else if (!looks_at_the_same(t, finder, m->tasks) && finder == CFG_NONE)
        diag_error(w->b->d, t->loc,
                   "task '%s' spreads over the shards of '%s' what has been found by a task before "
                   "it: say by = \"subscriber\"",
                   t->name, w->shaper->name);
    else if (!looks_at_the_same(t, finder, m->tasks))
        diag_error(w->b->d, t->loc,
                   "task '%s' spreads over the shards of '%s', but '%s' behind it may find another "
                   "subscriber than it does: find him before, and say by = \"subscriber\", or look "
                   "at the same",
                   t->name, w->shaper->name, m->tasks[finder].name);
}

/* Report a task on the way whose packets come from where nobody has asked for the subscriber. */
static void judge_source(struct way_back *w, unsigned task)
{
    const struct cfg_task *t = &w->b->m->tasks[task];

    if (w->blamed[task] || (t->n_from == 0 && t->schema->kind != TASK_SOURCE))
        return;
    w->blamed[task] = true;
    diag_error(w->b->d, t->loc,
               "task '%s' %s on %u cores, and '%s' behind it has a shard on each, with subscribers "
               "of its own: put an lb between that spreads by subscriber",
               t->name, t->n_from > 0 ? "reads a port" : "makes packets", w->n, w->shaper->name);
}

/* Report a task whose packets, of any subscriber, all come to the shard on its own core. */
static void judge_beside(struct way_back *w, unsigned task, unsigned next)
{
    const struct cfg_model *m = w->b->m;

    if (w->blamed[task])
        return;
    w->blamed[task] = true;
    diag_error(w->b->d, m->tasks[task].loc,
               "task '%s' leads to '%s' on its own core alone, and '%s' has a shard on each of %u, "
               "with subscribers of its own: put an lb between that spreads by subscriber",
               m->tasks[task].name, m->tasks[next].name, w->shaper->name, w->n);
}

static void go_back(struct way_back *w, unsigned task, uint32_t finder);

/* Go back from a task over one that leads to it. */
static void go_over(struct way_back *w, unsigned task, unsigned before, unsigned output,
                    uint32_t finder)
{
    const struct cfg_task *t = &w->b->m->tasks[before];

    if (output_spreads(t, output))
        judge_spreader(w, before, finder);
    else if (plan_leads_beside(w->b, before, task))
        judge_beside(w, before, task);
    else if (w->b->n_of[before] == w->n && !w->seen[before])
        go_back(w, before, finder);
}

static void go_back(struct way_back *w, unsigned task, uint32_t finder)
{
    const struct cfg_model *m = w->b->m;

    w->seen[task] = true;
    if (finds_subscriber(&m->tasks[task]))
        finder = task;
    judge_source(w, task);
    for (unsigned i = 0; i < m->n_tasks; i++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < m->tasks[i].output[o].n_dests; k++) {
                const struct cfg_dest *dest = &m->tasks[i].output[o].dest[k];

                if (!dest->is_port && dest->index == task)
                    go_over(w, task, i, o, finder);
            }
}

/* Report another number of shards in the other direction: a subscriber has one shard for both. */
static void check_directions(struct plan_build *b, unsigned task)
{
    const struct cfg_task *t = &b->m->tasks[task];

    for (unsigned i = 0; i < task; i++)
        if (task_shapes(&b->m->tasks[i]) == task_shapes(t) && b->n_of[i] != b->n_of[task])
            diag_error(b->d, t->loc,
                       "task '%s' is on %u core%s, but '%s', which runs the same scheduler %s, on "
                       "%u: a subscriber's shard is the same in both directions; give both as many",
                       t->name, b->n_of[task], b->n_of[task] == 1 ? "" : "s", b->m->tasks[i].name,
                       shaped_direction(&b->m->tasks[i]) == QOS_UP ? "upstream" : "downstream",
                       b->n_of[i]);
}

void plan_check_shards(struct plan_build *b, unsigned task)
{
    const struct cfg_task *t = &b->m->tasks[task];
    struct way_back w = {.b = b, .shaper = t, .n = b->n_of[task]};

    check_directions(b, task);
    if (w.n <= 1)
        return;
    if (b->m->qos.schedulers[task_shapes(t)].backend != QOS_WHEEL)
        diag_error(b->d, t->loc,
                   "task '%s' is on %u cores, but librte_sched runs on one: take the wheel, or "
                   "place it on one core, before an lb if the tasks that follow need several",
                   t->name, w.n);
    else if (w.n > QOS_MAX_SHARDS)
        diag_error(b->d, t->loc, "task '%s' is on %u cores, but a scheduler has at most %u shards",
                   t->name, w.n, QOS_MAX_SHARDS);
    else
        go_back(&w, task, CFG_NONE);
}
