/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overload before a scheduler. A task that reads a port and names a scheduler drops the lowest
 * classes of what is too much; so that this is the only place where packets are lost, nothing may
 * drop between it and the scheduler.
 */
#include <string.h>

#include "config/plan_build.h"

enum role { ROLE_NONE, ROLE_SHAPES, ROLE_WRITES, ROLE_SHEDS };

const struct param_value *task_param(const struct cfg_task *t, const char *name)
{
    for (unsigned i = 0; t->schema->params[i].name != NULL; i++)
        if (strcmp(t->schema->params[i].name, name) == 0 && t->param[i].set)
            return &t->param[i];
    return NULL;
}

/* What a task does with the scheduler that it names. */
static enum role role_of(const struct cfg_task *t, uint32_t *scheduler)
{
    for (unsigned i = 0; t->schema->params[i].name != NULL; i++) {
        const struct task_param *p = &t->schema->params[i];

        if (p->type != PARAM_SCHEDULER || !t->param[i].set)
            continue;
        *scheduler = (uint32_t)t->param[i].u;
        if ((t->schema->needs & FACT_PATH) != 0)
            return ROLE_SHAPES;
        return (p->set_gives & FACT_PATH) != 0 ? ROLE_WRITES : ROLE_SHEDS;
    }
    return ROLE_NONE;
}

uint32_t task_shapes(const struct cfg_task *t)
{
    uint32_t scheduler;

    return role_of(t, &scheduler) == ROLE_SHAPES ? scheduler : CFG_NONE;
}

uint32_t task_writes(const struct cfg_task *t)
{
    uint32_t scheduler;

    return role_of(t, &scheduler) == ROLE_WRITES ? scheduler : CFG_NONE;
}

uint32_t task_holds(const struct cfg_task *t)
{
    const struct param_value *v = task_param(t, "shed");
    uint32_t scheduler;

    return v != NULL && role_of(t, &scheduler) != ROLE_NONE ? (uint32_t)v->u : 0;
}

/* Mark all tasks that packets of a task can come to before they wait in a scheduler, and it. */
static void follow(const struct cfg_model *m, unsigned from, bool reached[CFG_MAX_TASKS])
{
    const struct cfg_task *t = &m->tasks[from];

    for (unsigned o = 0; t->schema->outputs[o] != NULL; o++) {
        if (output_is_punt(t, o))
            continue;
        for (uint16_t k = 0; k < t->output[o].n_dests; k++) {
            unsigned next = t->output[o].dest[k].index;

            if (t->output[o].dest[k].is_port || reached[next])
                continue;
            reached[next] = true;
            if (task_shapes(&m->tasks[next]) == CFG_NONE)
                follow(m, next, reached);
        }
    }
}

/* Who sheds must mean the same by a class as those that follow. */
static void check_classes(struct plan_build *b, const struct cfg_task *t, uint32_t scheduler,
                          const bool reached[CFG_MAX_TASKS])
{
    const struct cfg_scheduler *all = b->m->qos.schedulers;
    bool none = true;

    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *next = &b->m->tasks[i];
        uint32_t theirs = task_shapes(next);

        if (!reached[i] || theirs == CFG_NONE)
            continue;
        none = false;
        if (all[theirs].dscp_map[QOS_DOWN] != all[scheduler].dscp_map[QOS_DOWN])
            diag_error(b->d, t->loc,
                       "task '%s' drops by the classes of scheduler '%s' when there is too much, "
                       "but its packets go to '%s', which runs scheduler '%s' with another DSCP "
                       "map: name that one",
                       t->name, all[scheduler].name, next->name, all[theirs].name);
    }
    if (none)
        diag_warning(b->d, t->loc,
                     "task '%s' drops by the classes of scheduler '%s' when there is too much, but "
                     "no task qos follows",
                     t->name, all[scheduler].name);
}

static void check_rings(struct plan_build *b, const struct cfg_task *t,
                        const bool reached[CFG_MAX_TASKS])
{
    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *next = &b->m->tasks[i];

        if (reached[i] && b->p->instances[b->of[i][0]].in_ring != CFG_NONE &&
            next->on_full == FULL_DROP)
            diag_warning(b->d, next->loc,
                         "the ring into '%s' drops packets of any class when it is full: say "
                         "on_full = \"wait\" there, and '%s' drops the lowest classes instead",
                         next->name, t->name);
    }
}

/* Does any way of the marked tasks end in a scheduler? */
static bool is_shaped(const struct cfg_model *m, const bool reached[CFG_MAX_TASKS])
{
    for (unsigned i = 0; i < m->n_tasks; i++)
        if (reached[i] && task_shapes(&m->tasks[i]) != CFG_NONE)
            return true;
    return false;
}

void plan_check_shed(struct plan_build *b)
{
    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *t = &b->m->tasks[i];
        bool reached[CFG_MAX_TASKS] = {false};
        uint32_t scheduler;
        enum role role = role_of(t, &scheduler);

        if (role != ROLE_SHEDS && role != ROLE_WRITES)
            continue;
        follow(b->m, i, reached);
        if (role == ROLE_SHEDS)
            check_classes(b, t, scheduler, reached);
        if (t->n_from > 0 && task_holds(t) > 0 && is_shaped(b->m, reached))
            check_rings(b, t, reached);
    }
}
