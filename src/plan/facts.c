/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about packets (enum packet_fact): those that hold for every packet at the input of a task
 * are the intersection over all links that lead to the task. A port and a punt give none; a task
 * adds what it gives and removes what it loses. The sets start full and only ever shrink, so that
 * the search ends.
 */
#include "plan/facts.h"

#include "plan/make.h"

/* The facts that a task, with the parameters that it has, adds to its packets. */
static uint32_t given(const struct cfg_task *t)
{
    uint32_t facts = t->schema->gives;

    for (unsigned i = 0; i < t->schema->n_params; i++) {
        const struct task_param *param = &t->schema->params[i];

        if (param->choice_gives != NULL && t->param[i].set)
            facts |= param->choice_gives[t->param[i].u];
        if (t->param[i].set)
            facts |= param->set_gives;
    }
    return t->schema->egress != EGRESS_NONE ? facts | FACT_EGRESS : facts;
}

/* The facts that a task, with the parameters that it has, needs of its packets. */
static uint32_t needed(const struct cfg_task *t)
{
    uint32_t facts = t->schema->needs;

    for (unsigned i = 0; i < t->schema->n_params; i++)
        if (t->schema->params[i].choice_needs != NULL && t->param[i].set)
            facts |= t->schema->params[i].choice_needs[t->param[i].u];
    return facts;
}

/* The facts that a task needs hold behind the task in any case: an unmet need is reported for that
 * task alone, not again for each task behind. */
static uint32_t facts_after(const struct cfg_task *t, uint32_t before)
{
    return ((before | needed(t)) & ~t->schema->loses) | given(t);
}

uint32_t plan_facts_at_output(const struct cfg_task *t, unsigned output, uint32_t before)
{
    return output_is_punt(t, output) ? 0
                                     : facts_after(t, before) | t->schema->outputs[output].gives;
}

/* Take the facts that a task does not pass on from all tasks that it leads to. */
static bool pass_on(const struct cfg_model *m, const struct cfg_task *t, uint32_t before,
                    uint32_t facts[CFG_MAX_TASKS])
{
    bool changed = false;

    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        for (uint16_t k = 0; k < t->output[o].n_dests; k++) {
            const struct cfg_dest *dest = &t->output[o].dest[k];
            uint32_t now;

            if (dest->is_port)
                continue;
            now = facts[dest->index] & plan_facts_at_output(t, o, before);
            changed |= now != facts[dest->index];
            facts[dest->index] = now;
        }
    }
    return changed;
}

void plan_facts(const struct cfg_model *m, uint32_t facts[CFG_MAX_TASKS])
{
    bool changed = true;

    for (unsigned t = 0; t < m->n_tasks; t++)
        facts[t] = m->tasks[t].n_from > 0 || m->tasks[t].schema->kind == TASK_SOURCE ? 0 : ~0u;
    while (changed) {
        changed = false;
        for (unsigned t = 0; t < m->n_tasks; t++)
            changed |= pass_on(m, &m->tasks[t], facts[t], facts);
    }
}

/* The name of a port or task that leads packets which lack a fact to a task; kind says which. */
static const char *name_origin(const struct cfg_model *m, unsigned task, uint32_t fact,
                               const uint32_t facts[CFG_MAX_TASKS], const char **kind)
{
    *kind = "port";
    if (m->tasks[task].n_from > 0)
        return m->ports[m->tasks[task].from[0]].name;
    *kind = "task";
    for (unsigned i = 0; i < m->n_tasks; i++) {
        const struct cfg_task *t = &m->tasks[i];

        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < t->output[o].n_dests; k++)
                if (!t->output[o].dest[k].is_port && t->output[o].dest[k].index == task &&
                    (plan_facts_at_output(t, o, facts[i]) & fact) == 0)
                    return t->name;
    }
    return "";
}

/* The parameter by which a task would give a fact, if it were set, or NULL. */
static const struct task_param *giver_of(const struct cfg_task *t, uint32_t fact)
{
    for (unsigned k = 0; k < t->schema->n_params; k++)
        if ((t->schema->params[k].set_gives & fact) != 0 && !t->param[k].set)
            return &t->schema->params[k];
    return NULL;
}

/* Report a task that leads packets to another and would give them what that one needs, if only a
 * parameter said so. Returns whether there is one. */
static bool could_say(struct plan_build *b, unsigned task, const struct fact_words *w,
                      const uint32_t facts[CFG_MAX_TASKS])
{
    const struct cfg_task *t = &b->m->tasks[task];

    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *from = &b->m->tasks[i];
        const struct task_param *p = giver_of(from, w->fact);

        for (unsigned o = 0; p != NULL && o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < from->output[o].n_dests; k++) {
                const struct cfg_dest *dest = &from->output[o].dest[k];

                if (dest->is_port || dest->index != task ||
                    (plan_facts_at_output(from, o, facts[i]) & w->fact) != 0)
                    continue;
                diag_error(b->d, from->loc,
                           "task '%s' (%s) needs packets %s: task '%s' (%s) leads there, and makes "
                           "them so where its key '%s' is given",
                           t->name, t->schema->type, w->what, from->name, from->schema->type,
                           p->name);
                return true;
            }
    }
    return false;
}

static void check_needs(struct plan_build *b, unsigned task, const uint32_t facts[CFG_MAX_TASKS])
{
    const struct cfg_task *t = &b->m->tasks[task];

    for (const struct fact_words *w = fact_words; w->name != NULL; w++) {
        const char *kind, *from;

        if ((needed(t) & ~facts[task] & w->fact) == 0)
            continue;
        if (could_say(b, task, w, facts))
            continue;
        from = name_origin(b->m, task, w->fact, facts, &kind);
        diag_error(b->d, t->loc,
                   "task '%s' (%s) needs packets %s, and those from %s '%s' are not such: put %s "
                   "before it",
                   t->name, t->schema->type, w->what, kind, from, w->giver);
    }
}

/* An output with several destinations chooses by egress port, so its packets must name one. */
static void check_choice(struct plan_build *b, const struct cfg_task *t, uint32_t before)
{
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        const struct cfg_output *out = &t->output[o];

        if (out->n_dests < 2 || output_spreads(t, o))
            continue;
        if ((plan_facts_at_output(t, o, before) & FACT_EGRESS) == 0)
            diag_error(b->d, out->loc,
                       "output '%s' of task '%s' (%s) has %u destinations, but its packets do not "
                       "name their egress port, by which one is chosen: name one destination, or "
                       "put a route or qinq_encap before it",
                       t->schema->outputs[o].name, t->name, t->schema->type, out->n_dests);
    }
}

void plan_check_facts(struct plan_build *b)
{
    uint32_t facts[CFG_MAX_TASKS];

    plan_facts(b->m, facts);
    for (unsigned t = 0; t < b->m->n_tasks; t++) {
        check_needs(b, t, facts);
        check_choice(b, &b->m->tasks[t], facts[t]);
    }
}
