/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of every packet at the input of each task (enum packet_fact): the intersection over
 * all that feeds it. A port and a punt know nothing; a task adds what it gives and removes what it
 * loses. Facts only ever go away while this repeats, so it ends.
 */
#include <string.h>

#include "config/facts.h"
#include "config/plan_build.h"

struct fact_words {
    uint32_t fact;
    const char *what;  /* "packets ..." */
    const char *giver; /* "put ... before it" */
};

static const struct fact_words words[] = {
    {FACT_SUBSCRIBER, "that name their subscriber", "a classify or gre_decap"},
    {FACT_NEXTHOP, "that name their next hop", "a route"},
    {FACT_EGRESS, "that name their egress port", "a route or qinq_encap"},
    {FACT_QINQ_IPV4, "with two VLAN tags and a checked IPv4 header", "a classify"},
    {FACT_IPV4, "without tags and with a checked IPv4 header",
     "a qinq_decap, gre_decap or mpls_pop"},
    {FACT_PATH, "that name their scheduler path", "a classify"},
};

/* What a task is, with the parameters it has, adds to its packets. */
static uint32_t given(const struct cfg_task *t)
{
    uint32_t facts = t->schema->gives;

    for (unsigned i = 0; t->schema->params[i].name != NULL; i++) {
        const struct task_param *param = &t->schema->params[i];

        if (param->choice_gives != NULL && t->param[i].set)
            facts |= param->choice_gives[t->param[i].u];
        if (t->param[i].set)
            facts |= param->set_gives;
    }
    return t->schema->egress != EGRESS_NONE ? facts | FACT_EGRESS : facts;
}

/* What it needs of them, with the parameters it has. */
static uint32_t needed(const struct cfg_task *t)
{
    uint32_t facts = t->schema->needs;

    for (unsigned i = 0; t->schema->params[i].name != NULL; i++)
        if (t->schema->params[i].choice_needs != NULL && t->param[i].set)
            facts |= t->schema->params[i].choice_needs[t->param[i].u];
    return facts;
}

/* A task whose needs are not met is reported itself; what follows it is judged as if they were. */
static uint32_t facts_after(const struct cfg_task *t, uint32_t before)
{
    return ((before | needed(t)) & ~t->schema->loses) | given(t);
}

uint32_t plan_facts_at_output(const struct cfg_task *t, unsigned output, uint32_t before)
{
    return output_is_punt(t, output) ? 0 : facts_after(t, before) | t->schema->output_gives[output];
}

static bool lower(const struct cfg_model *m, const struct cfg_task *t, uint32_t before,
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
            changed |= lower(m, &m->tasks[t], facts[t], facts);
    }
}

/* Name one that feeds the task with packets that lack a fact. */
static const char *culprit(const struct cfg_model *m, unsigned task, uint32_t fact,
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

static void check_needs(struct plan_build *b, unsigned task, const uint32_t facts[CFG_MAX_TASKS])
{
    const struct cfg_task *t = &b->m->tasks[task];

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *kind, *from;

        if ((needed(t) & ~facts[task] & words[i].fact) == 0)
            continue;
        from = culprit(b->m, task, words[i].fact, facts, &kind);
        diag_error(b->d, t->loc,
                   "task '%s' (%s) needs packets %s, and those from %s '%s' are not such: put %s "
                   "before it",
                   t->name, t->schema->type, words[i].what, kind, from, words[i].giver);
    }
}

/* An output with several destinations chooses by egress port, so the packets must name one. */
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
                       t->schema->outputs[o], t->name, t->schema->type, out->n_dests);
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
