/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that the layout does not name: tasks = "*", or no layout at all. They run to completion on
 * each CPU of their entry, but for what runs once in a gateway, such as arp, and what only that
 * leads to: the first CPU has it. The other CPUs become a placement of their own then, as if the
 * layout had named the instances.
 */
#include <string.h>

#include "base/cpu/cpu_list.h"
#include "config/keys.h"
#include "config/layout/layout.h"

#define FIRST_CORE "c0" /* the first core that this process was given */

/* Do packets come to a task, and from marked tasks alone? A task that spreads leads to one on each
 * core, whoever leads to it. */
static bool is_behind(const struct cfg_model *m, unsigned task, const bool marked[CFG_MAX_TASKS])
{
    bool any = false;

    if (m->tasks[task].n_from > 0)
        return false;
    for (unsigned i = 0; i < m->n_tasks; i++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (uint16_t k = 0; k < m->tasks[i].output[o].n_dests; k++) {
                const struct cfg_dest *dest = &m->tasks[i].output[o].dest[k];

                if (dest->is_port || dest->index != task)
                    continue;
                if (!marked[i] || (m->tasks[i].schema->spreads && o == 0))
                    return false;
                any = true;
            }
    return any;
}

/* Mark the tasks that run once in a gateway, and those to which nothing else leads. */
static void find_single(const struct cfg_model *m, bool single[CFG_MAX_TASKS])
{
    bool changed = true;

    for (unsigned i = 0; i < m->n_tasks; i++)
        single[i] = m->tasks[i].schema != NULL && m->tasks[i].schema->alone;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < m->n_tasks; i++)
            if (!single[i] && is_behind(m, i, single))
                single[i] = changed = true;
    }
}

/* Find the tasks that have no place, in the order of the configuration. Returns how many. */
static uint16_t find_rest(const struct loader *l, const struct taken *taken,
                          uint16_t rest[CFG_MAX_TASKS])
{
    uint16_t n = 0;

    for (unsigned i = 0; i < l->m->n_tasks; i++)
        if (taken->task[i] < 0 && !taken->wrong[i] && find_task(l, l->m->tasks[i].name) == i)
            rest[n++] = (uint16_t)i;
    return n;
}

/* Make the CPUs of the entry but the first a placement of their own, without those of the n tasks
 * of the rest that are single. */
static void part_entry(struct loader *l, struct taken *taken, uint16_t n,
                       const bool single[CFG_MAX_TASKS])
{
    struct cfg_model *m = l->m;
    struct cfg_placement *first = &m->placements[taken->rest.entry], *others = first + 1;
    const char *alone = NULL;

    memmove(others + 1, others, (m->n_placements - taken->rest.entry - 1) * sizeof(*others));
    m->n_placements++;
    *others = *first;
    first->n_cpus = 1;
    others->n_cpus--;
    memmove(others->cpus, others->cpus + 1, others->n_cpus * sizeof(others->cpus[0]));
    others->n_tasks = 0;
    for (uint16_t k = 0; k < first->n_tasks; k++) {
        struct cfg_placed placed = first->tasks[k];

        if (k >= taken->rest.at && k < taken->rest.at + n && single[placed.task]) {
            alone = m->tasks[placed.task].name;
            continue;
        }
        placed.first++;
        others->tasks[others->n_tasks++] = placed;
    }
    for (unsigned i = 0; i < m->n_tasks; i++)
        taken->task[i] += taken->task[i] >= (int)taken->rest.entry;
    if (others->n_tasks == 0)
        key_error(l, taken->rest.setting, "tasks",
                  "what is left for it runs on one core ('%s'), and this entry has %u CPUs: "
                  "expected one",
                  alone, others->n_cpus + 1u);
}

/* Put the n tasks of the rest into their entry. */
static void fill_entry(struct loader *l, struct taken *taken, const uint16_t *rest, uint16_t n)
{
    struct cfg_placement *p = &l->m->placements[taken->rest.entry];
    struct cfg_placed *at = &p->tasks[taken->rest.at];
    bool single[CFG_MAX_TASKS], any = false;

    find_single(l->m, single);
    memmove(at + n, at, (size_t)(p->n_tasks - taken->rest.at) * sizeof(*at));
    p->n_tasks = (uint16_t)(p->n_tasks + n);
    for (uint16_t i = 0; i < n; i++) {
        at[i] = (struct cfg_placed){.task = rest[i]};
        taken->task[rest[i]] = (int)taken->rest.entry;
        taken->whole[rest[i]] = true;
        any |= single[rest[i]];
    }
    if (any && p->n_cpus > 1)
        part_entry(l, taken, n, single);
}

void place_rest(struct loader *l, struct taken *taken)
{
    uint16_t rest[CFG_MAX_TASKS], n = find_rest(l, taken, rest);

    if (n > 0)
        fill_entry(l, taken, rest, n);
    else if (l->d->n_errors == 0) /* of the tasks, perhaps: one is enough */
        key_error(l, taken->rest.setting, "tasks",
                  "no task is left for it: the layout names all of them");
}

void place_all(struct loader *l, struct taken *taken)
{
    uint16_t rest[CFG_MAX_TASKS], n = find_rest(l, taken, rest);
    struct loc file = {l->m->path, 0};
    struct cfg_placement *p;
    char err[256];
    int cpus;

    p = l->m->placements = grow(NULL, 1, sizeof(*p));
    memset(p, 0, sizeof(*p));
    p->loc = file;
    cpus = cpu_list_resolve(&l->m->topology, FIRST_CORE, p->cpus, TOPO_MAX_CPUS, err, sizeof(err));
    if (cpus < 0)
        diag_error(l->d, file, "no layout, and no core to run on: %s", err);
    p->n_cpus = cpus < 0 ? 0 : (uint16_t)cpus;
    l->m->n_placements = 1;
    fill_entry(l, taken, rest, n);
}
