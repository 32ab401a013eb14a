/* SPDX-License-Identifier: BSD-3-Clause */
/* tasks = ( { name; type; from; to; ... }, ... ): the keys that all tasks have and those of their
 * type's schema. */
#include <stdlib.h>
#include <string.h>

#include "config/load_task.h"

enum { TASK_NAME, TASK_TYPE, TASK_FROM, TASK_TO, TASK_RING, TASK_ON_FULL, TASK_BURST, TASK_POOL };

#define N_COMMON   8
#define N_KEYS_MAX (TASK_MAX_PARAMS + TASK_MAX_OUTPUTS + 1 + N_COMMON)

static const char *const full_names[] = {"drop", "wait", NULL}; /* enum full_policy */

static const struct key common_keys[N_COMMON] = {
    [TASK_NAME] = {"name", KEY_NAME, .required = true},
    [TASK_TYPE] = {"type", KEY_OTHER},
    [TASK_FROM] = {"from", KEY_OTHER},
    [TASK_TO] = {"to", KEY_OTHER},
    [TASK_RING] = {"ring", KEY_COUNT, .def = "512", .min = 64, .max = 1 << 20,
                   .power_of_two = true},
    [TASK_ON_FULL] = {"on_full", KEY_ENUM, .def = "drop", .choices = full_names},
    [TASK_BURST] = {"burst", KEY_COUNT, .def = "32", .min = 1, .max = 64},
    [TASK_POOL] = {"pool", KEY_STRING, .def = "default"},
};

uint32_t find_task(const struct loader *l, const char *name)
{
    for (unsigned i = 0; i < l->m->n_tasks; i++)
        if (strcmp(l->m->tasks[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

const char *nearest_task(const struct loader *l, const char *name)
{
    const char *names[CFG_MAX_TASKS];

    for (unsigned i = 0; i < l->m->n_tasks; i++)
        names[i] = l->m->tasks[i].name;
    return nearest_name(name, names, l->m->n_tasks);
}

/* All keys of a task: the schema's parameters, then its outputs, its list of items, and what all
 * tasks have. A parameter that is named like one of the latter takes its place. Returns where the
 * latter begin. */
static unsigned task_keys(const struct task_schema *s, enum param_place place,
                          struct key keys[N_KEYS_MAX])
{
    unsigned n = param_keys(s, place, keys);

    for (unsigned i = 0; s->outputs[i] != NULL; i++)
        keys[n++] = (struct key){.name = s->outputs[i], .type = KEY_OTHER};
    if (s->items != NULL)
        keys[n++] = (struct key){.name = s->items, .type = KEY_OTHER};
    memcpy(keys + n, common_keys, sizeof(common_keys));
    return n;
}

static const struct task_schema *find_schema(struct loader *l, const config_setting_t *group)
{
    const config_setting_t *type = config_setting_get_member(group, "type");
    const struct task_schema *const *all = l->opt->schemas;
    const char *names[64], *word;
    unsigned n = 0;

    if (type == NULL) {
        diag_error(l->d, setting_loc(l, group),
                   "key 'type': missing in this task: expected a type of task");
        return NULL;
    }
    if (config_setting_type(type) != CONFIG_TYPE_STRING) {
        key_error(l, type, "type", "expected a type of task");
        return NULL;
    }
    word = config_setting_get_string(type);
    for (; all != NULL && all[n] != NULL && n < 64; n++) {
        if (strcmp(all[n]->type, word) == 0)
            return all[n];
        names[n] = all[n]->type;
    }
    unknown_name(l, type, "type", "type of task", nearest_name(word, names, n));
    return NULL;
}

/* What can be read where the type is not known: its name, for those that name it. */
static const char *name_only(struct loader *l, const config_setting_t *group)
{
    const char *name;

    if (config_setting_lookup_string(group, "name", &name) == CONFIG_TRUE)
        return keep_string(l, name);
    l->task_nameless = true;
    return "";
}

static void fill_task(struct loader *l, const config_setting_t *group, struct cfg_task *t)
{
    const char *items = t->schema->items;
    const config_setting_t *list = items != NULL ? config_setting_get_member(group, items) : NULL;
    struct key keys[N_KEYS_MAX];
    struct value v[N_KEYS_MAX], *common;
    unsigned n = task_keys(t->schema, list != NULL ? IN_TASK_WITH_ITEMS : IN_TASK, keys);

    read_group(l, group, keep_format(l, "task of type %s", t->schema->type), keys, n + N_COMMON, v);
    common = v + n;
    if (!common[TASK_NAME].set)
        l->task_nameless = true;
    t->name = common[TASK_NAME].set ? common[TASK_NAME].v.s : "";
    t->ring = (uint32_t)common[TASK_RING].v.u;
    t->on_full = (enum full_policy)common[TASK_ON_FULL].v.u;
    t->burst = (uint16_t)common[TASK_BURST].v.u;
    t->pool = resolve_pool(l, &common[TASK_POOL]);
    if (list == NULL)
        take_params(l, t->schema, v, t->param);
    else
        for (unsigned i = 0; t->schema->params[i].name != NULL; i++)
            t->param[i] = v[i].v;
    if (items != NULL)
        load_items(l, list, t, v);
    if (t->schema->check != NULL)
        t->schema->check(l->m, t, l->d);
}

static void load_task(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    const config_setting_t **settings = ctx;
    struct cfg_task *t = &l->m->tasks[l->m->n_tasks], *same;
    uint32_t port;

    (void)i;
    settings[l->m->n_tasks] = group;
    memset(t, 0, sizeof(*t));
    t->loc = setting_loc(l, group);
    t->schema = find_schema(l, group);
    if (t->schema != NULL)
        fill_task(l, group, t);
    else
        t->name = name_only(l, group);
    if (t->name[0] != '\0') {
        const config_setting_t *name = config_setting_get_member(group, "name");

        same = find_task(l, t->name) != CFG_NONE ? &l->m->tasks[find_task(l, t->name)] : NULL;
        port = find_port(l, t->name);
        if (same != NULL)
            key_error(l, name, "name", "already a task at %s:%u", same->loc.file, same->loc.line);
        else if (port != CFG_NONE)
            key_error(l, name, "name", "already a port at %s:%u", l->m->ports[port].loc.file,
                      l->m->ports[port].loc.line);
    }
    l->m->n_tasks++;
}

void load_tasks(struct loader *l, const config_setting_t *tasks)
{
    const config_setting_t **settings;
    int n = tasks != NULL && config_setting_is_aggregate(tasks) ? config_setting_length(tasks) : 0;

    if (n > CFG_MAX_TASKS) {
        key_error(l, tasks, "tasks", "%d tasks: expected at most %d", n, CFG_MAX_TASKS);
        l->task_nameless = true;
        return;
    }
    if (tasks != NULL && n == 0 && config_setting_is_aggregate(tasks) &&
        !config_setting_is_group(tasks))
        key_error(l, tasks, "tasks", "expected at least one task");
    l->m->tasks = grow(NULL, (size_t)n, sizeof(*l->m->tasks));
    settings = grow(NULL, (size_t)n, sizeof(*settings));
    each_group(l, tasks, "tasks", load_task, settings);
    load_graph(l, settings);
    free(settings);
}
