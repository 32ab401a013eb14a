/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout = ( { core; tasks; }, ... ), which tasks, or which of their instances ("route.2",
 * "route.1-3"), run on which CPUs; topology = "2x10x2", the machine that the layout is for. What
 * the layout does not name has its place by rest.c.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cpu/cpu_list.h"
#include "config/keys.h"
#include "config/layout/layout.h"

#define LIST_ERROR 256
/* Stands for a machine that is not known, so that the layout can be checked: most layouts fit. */
#define LARGE_MACHINE "1x64x2"

enum { PLACE_CORE, PLACE_TASKS, N_PLACE_KEYS };

static const struct key place_keys[N_PLACE_KEYS] = {
    [PLACE_CORE] = {"core", KEY_STRING, .required = true},
    [PLACE_TASKS] = {"tasks", KEY_OTHER, .required = true},
};

/* What an element of "tasks" names. */
struct named {
    uint32_t task;
    unsigned first; /* instance */
    unsigned n;     /* instances; 0: all of the task, as many as the entry has CPUs */
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

/* Read the number of an instance as it is printed, without zeros before it. */
static bool read_number(const char **text, unsigned *number)
{
    const char *c = *text;

    for (*number = 0; isdigit((unsigned char)*c) && *number < TOPO_MAX_CPUS; c++)
        *number = *number * 10 + (unsigned)(*c - '0');
    if (c == *text || *number >= TOPO_MAX_CPUS || (**text == '0' && c > *text + 1))
        return false;
    *text = c;
    return true;
}

/* Read "2" or "1-3", what follows the point behind the name of a task. */
static bool read_instances(const char *text, struct named *what)
{
    unsigned last;

    if (!read_number(&text, &what->first))
        return false;
    last = what->first;
    if (*text == '-') {
        text++;
        if (!read_number(&text, &last) || last <= what->first)
            return false;
    }
    what->n = last - what->first + 1;
    return *text == '\0';
}

/* Report a name that is no task's; task: the name up to its last point. */
static void unknown_task(struct loader *l, const config_setting_t *s, const char *task,
                         struct taken *taken)
{
    const char *nearest = nearest_task(l, config_setting_get_string(s));

    if (nearest == NULL)
        nearest = nearest_task(l, task);
    if (nearest == NULL)
        taken->unknown_task = true;
    else
        taken->wrong[find_task(l, nearest)] = true; /* most likely meant */
    if (!l->task_nameless)
        unknown_name(l, s, "tasks", "task", nearest);
}

/* Find what an element of "tasks" names. A name may have points: a task of that very name goes
 * before an instance. Returns false after an error. */
static bool find_named(struct loader *l, const config_setting_t *s, struct taken *taken,
                       struct named *what)
{
    const char *name = config_setting_get_string(s), *point = strrchr(name, '.');
    char task[CFG_MAX_NAME + 1];

    *what = (struct named){.task = find_task(l, name)};
    if (what->task != CFG_NONE)
        return true;
    snprintf(task, sizeof(task), "%.*s", point != NULL ? (int)(point - name) : CFG_MAX_NAME, name);
    if (point != NULL && point - name <= CFG_MAX_NAME)
        what->task = find_task(l, task);
    if (what->task == CFG_NONE) {
        unknown_task(l, s, task, taken);
        return false;
    }
    if (read_instances(point + 1, what))
        return true;
    key_error(l, s, "tasks",
              "no instance of task '%s': expected '%s.0' for the first one, or several in a row, "
              "such as '%s.1-3'",
              task, task, task);
    taken->wrong[what->task] = true;
    return false;
}

static bool has_any_of(const struct cfg_placement *p, const struct named *what)
{
    for (uint16_t k = 0; k < p->n_tasks; k++)
        if (p->tasks[k].task == what->task && what->first < p->tasks[k].first + p->n_cpus &&
            p->tasks[k].first < what->first + what->n)
            return true;
    return false;
}

/* The placement that has what is named, or a part of it, already; or NULL. */
static const struct cfg_placement *place_of(const struct cfg_model *m, const struct named *what,
                                            const struct taken *taken)
{
    int last = taken->task[what->task];

    if (last >= 0 && (what->n == 0 || taken->whole[what->task]))
        return &m->placements[last];
    for (int i = 0; i <= last; i++)
        if (has_any_of(&m->placements[i], what))
            return &m->placements[i];
    return NULL;
}

/* Report what keeps the entry that is loaded from having what is named. Returns whether there is
 * anything. */
static bool is_refused(struct loader *l, const config_setting_t *s, const struct cfg_placement *p,
                       const struct named *what, const struct taken *taken)
{
    const struct cfg_placement *other = place_of(l->m, what, taken);

    if (other != NULL)
        key_error(l, s, "tasks", "already in the layout at %s:%u", other->loc.file,
                  other->loc.line);
    else if (taken->task[what->task] == (int)l->m->n_placements)
        key_error(l, s, "tasks",
                  "another instance of task '%s' is in this entry: expected one on a core",
                  l->m->tasks[what->task].name);
    else if (what->n != 0 && p->n_cpus != 0 && what->n != p->n_cpus)
        key_error(l, s, "tasks",
                  "%u instance%s on the %u CPU%s of this entry: expected as many, one on each",
                  what->n, what->n == 1 ? "" : "s", p->n_cpus, p->n_cpus == 1 ? "" : "s");
    else
        return false;
    return true;
}

/* Take the place of the tasks that the layout does not name; there is one such place. */
static void take_rest(struct loader *l, const struct cfg_placement *p, const config_setting_t *s,
                      struct taken *taken)
{
    const struct cfg_placement *other;

    if (taken->rest.setting != NULL) {
        other = &l->m->placements[taken->rest.entry];
        key_error(l, s, "tasks", "already in the layout at %s:%u", other->loc.file,
                  other->loc.line);
        return;
    }
    taken->rest = (struct rest){.setting = s, .entry = l->m->n_placements, .at = p->n_tasks};
}

/* Resolve the tasks of a placement; one that another placement has is an error. */
static void take_tasks(struct loader *l, struct cfg_placement *p, const config_setting_t *setting,
                       struct taken *taken)
{
    const config_setting_t *e[CFG_MAX_TASKS];
    unsigned n = read_strings(l, setting, "tasks", e, CFG_MAX_TASKS);
    struct named what;

    for (unsigned i = 0; i < n; i++) {
        if (strcmp(config_setting_get_string(e[i]), REST_NAME) == 0) {
            take_rest(l, p, e[i], taken);
            continue;
        }
        if (!find_named(l, e[i], taken, &what))
            continue;
        taken->wrong[what.task] |= p->n_cpus == 0;
        if (is_refused(l, e[i], p, &what, taken)) {
            taken->wrong[what.task] = true;
            continue;
        }
        taken->task[what.task] = (int)l->m->n_placements;
        taken->whole[what.task] = what.n == 0;
        p->tasks[p->n_tasks++] =
            (struct cfg_placed){.task = (uint16_t)what.task, .first = (uint16_t)what.first};
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

unsigned cores_of(const struct cfg_model *m, unsigned task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < m->n_placements; i++)
        for (unsigned k = 0; k < m->placements[i].n_tasks; k++)
            n += m->placements[i].tasks[k].task == task ? m->placements[i].n_cpus : 0;
    return n;
}

/* Report a task with the name of another one's instance, as "route.2" is where route is on three
 * cores: two of one name would be in every list of instances. */
static void check_name(struct loader *l, const struct cfg_task *t)
{
    const char *point = strrchr(t->name, '.');
    char of[CFG_MAX_NAME + 1];
    struct named what;
    uint32_t task;

    if (point == NULL || !read_instances(point + 1, &what) || what.n > 1)
        return;
    snprintf(of, sizeof(of), "%.*s", (int)(point - t->name), t->name);
    task = find_task(l, of);
    if (task != CFG_NONE && cores_of(l->m, task) > 1 && cores_of(l->m, task) > what.first)
        diag_error(l->d, t->loc,
                   "task '%s': has the name of an instance of task '%s', which is on %u cores: "
                   "expected another one",
                   t->name, of, cores_of(l->m, task));
}

/* Report a task that has no place, or an instance of it before the last one that has one. */
static void check_task(struct loader *l, unsigned task, const struct taken *taken)
{
    const struct cfg_task *t = &l->m->tasks[task];
    const struct cfg_placement *last = &l->m->placements[0];
    struct named one = {.task = task, .n = 1};
    unsigned n = 0;

    if (taken->wrong[task] || taken->whole[task])
        return;
    if (taken->task[task] < 0) {
        diag_error(l->d, t->loc, "task '%s': is on no core: expected in the layout", t->name);
        return;
    }
    for (unsigned i = 0; i < l->m->n_placements; i++)
        for (uint16_t k = 0; k < l->m->placements[i].n_tasks; k++)
            if (l->m->placements[i].tasks[k].task == task &&
                l->m->placements[i].tasks[k].first + l->m->placements[i].n_cpus > (int)n) {
                last = &l->m->placements[i];
                n = (unsigned)last->tasks[k].first + last->n_cpus;
            }
    while (one.first < n && place_of(l->m, &one, taken) != NULL)
        one.first++;
    if (one.first < n)
        diag_error(l->d, t->loc,
                   "task '%s': its instance '%s.%u' is on no core: expected in the layout, which "
                   "has '%s.%u' at %s:%u",
                   t->name, t->name, one.first, t->name, n - 1, last->loc.file, last->loc.line);
}

/* Read the entries of a layout. Returns whether it can be told which tasks have no place. */
static bool read_layout(struct loader *l, const config_setting_t *layout, struct taken *taken)
{
    bool is_list = config_setting_is_list(layout) || config_setting_is_array(layout);

    if (l->opt->share_cpus && l->live_topology && !layout_fits(l, layout))
        topo_parse(&l->m->topology, l->other_topology);
    l->m->placements = /* one entry may become two */
        grow(NULL, is_list ? (size_t)config_setting_length(layout) + 1 : 0,
             sizeof(*l->m->placements));
    each_group(l, layout, "layout", load_placement, taken);
    return is_list && !taken->unknown_task && !l->task_nameless;
}

void load_layout(struct loader *l, const config_setting_t *layout)
{
    struct taken taken;

    memset(&taken, 0, sizeof(taken));
    memset(taken.cpu, 0xff, sizeof(taken.cpu)); /* -1: free */
    memset(taken.task, 0xff, sizeof(taken.task));
    if (layout == NULL)
        place_all(l, &taken);
    else if (!read_layout(l, layout, &taken))
        return;
    else if (taken.rest.setting != NULL)
        place_rest(l, &taken);
    for (unsigned i = 0; i < l->m->n_tasks; i++)
        if (find_task(l, l->m->tasks[i].name) == i) { /* not a second task of one name */
            check_task(l, i, &taken);
            check_name(l, &l->m->tasks[i]);
        }
}
