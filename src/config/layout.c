/* SPDX-License-Identifier: BSD-3-Clause */
/* layout = ( { core; tasks; }, ... ), which tasks run on which CPUs; topology = "2x10x2", the
 * machine that the layout is for. */
#include <errno.h>
#include <string.h>

#include "base/cpu_list.h"
#include "config/keys.h"

#define LIST_ERROR 256
/* Stands for a machine that is not known, so that the layout can be checked: most layouts fit. */
#define LARGE_MACHINE "1x64x2"

enum { PLACE_CORE, PLACE_TASKS, N_PLACE_KEYS };

static const struct key place_keys[N_PLACE_KEYS] = {
    [PLACE_CORE] = {"core", KEY_STRING, .required = true},
    [PLACE_TASKS] = {"tasks", KEY_OTHER, .required = true},
};

/* The placement (index in placements[]) that has each CPU and each task already, or -1. */
struct taken {
    int cpu[TOPO_MAX_CPUS];
    int task[CFG_MAX_TASKS];
    bool unknown_task; /* a name was near to no task, and may stand for any task that seems missing
                        */
};

/* Take this machine for the topology. */
static void read_machine(struct loader *l)
{
    int err = topo_read(&l->m->topology, SYSFS_CPUS);

    l->live_topology = err == 0;
    if (err == 0 && l->opt->given != NULL)
        topo_give(&l->m->topology, l->opt->given);
    if (err == 0)
        return;
    diag_error(l->d, (struct loc){l->m->path, 0},
               "cannot read the CPUs of this machine from " SYSFS_CPUS
               ": %s: expected a key topology, such as \"1x2x1\"",
               strerror(-err));
    topo_parse(&l->m->topology, LARGE_MACHINE);
}

void load_topology(struct loader *l, const struct value *said)
{
    static const char expected[] =
        "expected sockets x cores x threads, such as \"2x10x2\", at most 1024 CPUs";
    struct topology *t = &l->m->topology;
    const char *option = l->opt->topology;

    bool right = said->set && topo_parse(t, said->v.s) == 0;

    l->m->topology_given = said->set;
    l->other_topology = right ? said->v.s : LARGE_MACHINE;
    if (!right)
        topo_parse(t, LARGE_MACHINE); /* so that the layout is checked all the same */
    if (said->set && !right)
        key_error(l, said->setting, "topology", "%s", expected);
    if (option != NULL ? strcmp(option, "live") == 0 : said->setting == NULL)
        read_machine(l);
    else if (option != NULL && topo_parse(t, option) != 0)
        diag_error(l->d, (struct loc){l->m->path, 0}, "--topology '%s': or \"live\"; %s", option,
                   expected);
}

/* Does a layout name only CPUs that the machine has? With shared CPUs it may name others. */
static bool layout_fits(struct loader *l, const config_setting_t *layout)
{
    uint16_t cpus[TOPO_MAX_CPUS];
    char err[LIST_ERROR];
    int n = config_setting_is_aggregate(layout) ? config_setting_length(layout) : 0;

    for (int i = 0; i < n; i++) {
        const config_setting_t *entry = config_setting_get_elem(layout, (unsigned)i);
        const char *core;

        if (config_setting_is_group(entry) &&
            config_setting_lookup_string(entry, "core", &core) == CONFIG_TRUE &&
            cpu_list_resolve(&l->m->topology, core, cpus, TOPO_MAX_CPUS, err, sizeof(err)) < 0)
            return false;
    }
    return true;
}

/* Resolve the CPUs of a placement; one that another placement has is an error. */
static void take_cpus(struct loader *l, struct cfg_placement *p, const struct value *core,
                      struct taken *taken)
{
    char err[LIST_ERROR];
    int n = cpu_list_resolve(&l->m->topology, core->v.s, p->cpus, TOPO_MAX_CPUS, err, sizeof(err));
    bool reported = false;

    if (n < 0) {
        key_error(l, core->setting, "core", "%s", err);
        return;
    }
    p->n_cpus = (uint16_t)n;
    for (int i = 0; i < n; i++) {
        int *other = &taken->cpu[p->cpus[i]];

        if (*other >= 0 && !reported)
            key_error(l, core->setting, "core", "CPU %u is already in the layout at %s:%u",
                      p->cpus[i], l->m->placements[*other].loc.file,
                      l->m->placements[*other].loc.line);
        reported |= *other >= 0;
        *other = (int)l->m->n_placements;
    }
}

static void unknown_task(struct loader *l, const config_setting_t *s, struct taken *taken)
{
    const char *nearest = nearest_task(l, config_setting_get_string(s));

    if (nearest == NULL)
        taken->unknown_task = true;
    else
        taken->task[find_task(l, nearest)] = (int)l->m->n_placements; /* most likely meant */
    if (!l->task_nameless)
        unknown_name(l, s, "tasks", "task", nearest);
}

/* Resolve the tasks of a placement; one that another placement has is an error. */
static void take_tasks(struct loader *l, struct cfg_placement *p, const config_setting_t *setting,
                       struct taken *taken)
{
    const config_setting_t *e[CFG_MAX_TASKS];
    unsigned n = read_strings(l, setting, "tasks", e, CFG_MAX_TASKS);

    for (unsigned i = 0; i < n; i++) {
        uint32_t task = find_task(l, config_setting_get_string(e[i]));

        if (task == CFG_NONE) {
            unknown_task(l, e[i], taken);
        } else if (taken->task[task] >= 0) {
            const struct loc *other = &l->m->placements[taken->task[task]].loc;

            key_error(l, e[i], "tasks", "already in the layout at %s:%u", other->file, other->line);
        } else {
            taken->task[task] = (int)l->m->n_placements;
            p->tasks[p->n_tasks++] = (uint16_t)task;
        }
    }
}

static void load_placement(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct cfg_placement *p = &l->m->placements[l->m->n_placements];
    struct taken *taken = ctx;
    struct value v[N_PLACE_KEYS];

    (void)i;
    memset(p, 0, sizeof(*p));
    p->loc = setting_loc(l, group);
    read_group(l, group, "layout entry", place_keys, N_PLACE_KEYS, v);
    if (v[PLACE_CORE].set)
        take_cpus(l, p, &v[PLACE_CORE], taken);
    if (v[PLACE_TASKS].setting != NULL)
        take_tasks(l, p, v[PLACE_TASKS].setting, taken);
    else
        taken->unknown_task = true;
    l->m->n_placements++;
}

void load_layout(struct loader *l, const config_setting_t *layout)
{
    struct taken taken;
    bool is_list;

    if (layout == NULL)
        return;
    is_list = config_setting_is_list(layout) || config_setting_is_array(layout);
    memset(&taken, 0xff, sizeof(taken)); /* -1: free */
    taken.unknown_task = false;
    if (l->opt->share_cpus && l->live_topology && !layout_fits(l, layout))
        topo_parse(&l->m->topology, l->other_topology);
    l->m->placements =
        grow(NULL, is_list ? (size_t)config_setting_length(layout) : 0, sizeof(*l->m->placements));
    each_group(l, layout, "layout", load_placement, &taken);
    if (!is_list || taken.unknown_task || l->task_nameless)
        return;
    for (unsigned i = 0; i < l->m->n_tasks; i++)
        if (taken.task[i] < 0 &&
            find_task(l, l->m->tasks[i].name) == i) /* not a second task of one name */
            diag_error(l->d, l->m->tasks[i].loc, "task '%s': is on no core: expected in the layout",
                       l->m->tasks[i].name);
}
