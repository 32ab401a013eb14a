/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tasks = ( { name; type; from; to; ... }, ... ): the keys that all tasks have, and the parameters
 * of the task's type. A type may have a list of items, such as the streams of a generator, whose
 * parameters are read like the task's own and may be inherited from the task.
 */
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"

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

/* --- parameters --- */

/* The group in which parameters stand: a task, a task that gives a list of items, or an item. */
enum param_place { IN_TASK, IN_TASK_WITH_ITEMS, IN_ITEM };

/* Make the keys of a schema's parameters, parallel to them. A parameter that has no place in the
 * group gets an empty name, which no key has. Returns how many. */
static unsigned param_keys(const struct task_schema *s, enum param_place place, struct key *keys)
{
    for (unsigned i = 0; i < s->n_params; i++) {
        const struct task_param *p = &s->params[i];
        bool here = place == IN_ITEM ? p->scope != SCOPE_TASK : p->scope != SCOPE_ITEM;

        keys[i] = (struct key){
            .name = here ? p->name : "",
            .type = (enum key_type)p->type,
            .def = place == IN_ITEM && p->scope != SCOPE_ITEM ? NULL : p->def,
            .min = p->min,
            .max = p->max,
            .choices = p->choices,
            /* A task with a list need not give what its items may give. */
            .required =
                p->required && place != IN_ITEM && (place == IN_TASK || p->scope != SCOPE_INHERIT),
        };
    }
    return s->n_params;
}

/* The sizes of frames that the values ask for, in their notation; "0" for the templates' own. */
static const char *sizes_of(const struct task_schema *s, const struct value *v)
{
    for (unsigned i = 0; i < s->n_params; i++)
        if (s->params[i].type == PARAM_SIZES && v[i].set)
            return v[i].v.s;
    return "0";
}

static uint32_t resolve_scheduler(struct loader *l, const struct value *v, const char *key)
{
    uint32_t i = find_scheduler(l, v->v.s);

    if (i == CFG_NONE)
        unknown_name(l, v->setting, key, "scheduler", nearest_scheduler(l, v->v.s));
    return i;
}

/* Take values as parameters: names of schedulers become indices, templates are loaded. */
static void take_params(struct loader *l, const struct task_schema *s, const struct value *v,
                        struct param_value *out)
{
    const struct task_param *p = s->params;

    for (unsigned i = 0; i < s->n_params; i++) {
        out[i] = v[i].v;
        if (v[i].setting == NULL)
            continue;
        if (p[i].type == PARAM_TEMPLATE)
            out[i].u =
                v[i].set ? use_template(l, v[i].setting, p[i].name, sizes_of(s, v)) : CFG_NONE;
        else if (p[i].type == PARAM_SCHEDULER && v[i].set)
            out[i].u = resolve_scheduler(l, &v[i], p[i].name);
    }
}

/* --- items: streams = ( { ... }, ... ) --- */

/* The task whose items are read. */
struct reading {
    struct cfg_task *t;
    const struct value *task; /* the task's own values */
};

static struct cfg_item *new_item(struct loader *l, struct cfg_task *t, struct loc loc)
{
    struct cfg_item *item = &t->items[t->n_items++];

    memset(item, 0, sizeof(*item));
    item->loc = loc;
    item->number = ++l->m->n_items;
    return item;
}

/* Give an item the values that it inherits from its task; report those that neither has. */
static void inherit(struct loader *l, const config_setting_t *group, const struct reading *r,
                    struct value *v)
{
    const struct task_schema *s = r->t->schema;
    struct key keys[TASK_MAX_PARAMS];
    char expected[256];

    param_keys(s, IN_ITEM, keys);
    for (unsigned i = 0; i < s->n_params; i++) {
        const struct task_param *p = &s->params[i];

        if (p->scope != SCOPE_INHERIT || v[i].setting != NULL)
            continue;
        v[i] = r->task[i];
        if (!p->required || v[i].setting != NULL)
            continue;
        key_expected(&keys[i], expected, sizeof(expected));
        diag_error(l->d, setting_loc(l, group),
                   "key '%s': missing in this %s and in its task: expected %s", p->name, s->item,
                   expected);
    }
}

/* Name an item "TASK/NAME", where NAME is its parameter of type PARAM_NAME or its place in the
 * list. */
static void name_item(struct loader *l, const struct reading *r, const struct value *v,
                      struct cfg_item *item)
{
    const struct task_schema *s = r->t->schema;
    unsigned i = 0;

    while (i < s->n_params && s->params[i].type != PARAM_NAME)
        i++;
    if (i < s->n_params && v[i].set)
        item->name = keep_format(l, "%s/%s", r->t->name, v[i].v.s);
    else
        item->name = keep_format(l, "%s/%u", r->t->name, r->t->n_items);
    for (struct cfg_item *k = r->t->items; k < item; k++)
        if (strcmp(k->name, item->name) == 0)
            diag_error(l->d, item->loc, "%s '%s': already one of that name at %s:%u",
                       r->t->schema->item, strrchr(item->name, '/') + 1, k->loc.file, k->loc.line);
}

static void read_item(struct loader *l, const config_setting_t *group, unsigned place, void *ctx)
{
    struct reading *r = ctx;
    const struct task_schema *s = r->t->schema;
    struct key keys[TASK_MAX_PARAMS];
    struct value v[TASK_MAX_PARAMS];
    unsigned n = param_keys(s, IN_ITEM, keys);
    struct cfg_item *item;

    (void)place;
    item = new_item(l, r->t, setting_loc(l, group));
    read_group(l, group, s->item, keys, n, v);
    inherit(l, group, r, v);
    take_params(l, s, v, item->param);
    name_item(l, r, v, item);
}

/* Load the items of a task, whose schema has such: those of its list, or without a list (NULL) the
 * one that the task's own parameters are. v: the task's values. */
static void load_items(struct loader *l, const config_setting_t *list, struct cfg_task *t,
                       const struct value *v)
{
    const struct task_param *p = t->schema->params;
    struct reading r = {.t = t, .task = v};
    int n = list != NULL && config_setting_is_aggregate(list) ? config_setting_length(list) : 1;

    if (n < 1 || n > CFG_MAX_ITEMS) {
        key_error(l, list, t->schema->items, "%d of them: expected 1 to %d", n, CFG_MAX_ITEMS);
        n = 0;
    }
    t->items = grow(NULL, (size_t)n, sizeof(*t->items));
    if (list != NULL && n > 0) {
        each_group(l, list, t->schema->items, read_item, &r);
    } else if (list == NULL) {
        struct cfg_item *item = new_item(l, t, t->loc);

        item->name = t->name;
        for (unsigned i = 0; i < t->schema->n_params; i++)
            if (p[i].scope == SCOPE_INHERIT || p[i].scope == SCOPE_ITEM)
                item->param[i] = t->param[i];
    }
}

/* --- tasks --- */

enum { TASK_NAME, TASK_TYPE, TASK_FROM, TASK_TO, TASK_RING, TASK_ON_FULL, TASK_BURST, TASK_POOL };

#define SOURCE_BURST 32 /* of a source without the key: it sends so many back to back */
#define N_COMMON     8
#define N_KEYS_MAX   (TASK_MAX_PARAMS + TASK_MAX_OUTPUTS + 1 + N_COMMON)

static const struct key common_keys[N_COMMON] = {
    [TASK_NAME] = {"name", KEY_NAME, .required = true},
    [TASK_TYPE] = {"type", KEY_OTHER},
    [TASK_FROM] = {"from", KEY_OTHER},
    [TASK_TO] = {"to", KEY_OTHER},
    [TASK_RING] = {"ring", KEY_COUNT, .def = "512", .min = 64, .max = 1 << 20,
                   .power_of_two = true},
    [TASK_ON_FULL] = {"on_full", KEY_ENUM, .def = "drop", .choices = full_policy_names},
    [TASK_BURST] = {"burst", KEY_COUNT, .def = "64", .min = 1, .max = 64},
    [TASK_POOL] = {"pool", KEY_STRING, .def = "default"},
};

/* Make all keys of a task: the schema's parameters, outputs and list of items, then the keys that
 * every task has. A parameter hides a later key of the same name. Returns the index of the first
 * key of all tasks. */
static unsigned task_keys(const struct task_schema *s, enum param_place place,
                          struct key keys[N_KEYS_MAX])
{
    unsigned n = param_keys(s, place, keys);

    for (unsigned i = 0; s->outputs[i].name != NULL; i++)
        keys[n++] = (struct key){.name = s->outputs[i].name, .type = KEY_OTHER};
    if (s->items != NULL)
        keys[n++] = (struct key){.name = s->items, .type = KEY_OTHER};
    memcpy(keys + n, common_keys, sizeof(common_keys));
    return n;
}

/* Find the schema of a task's type. Returns NULL after an error. */
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

/* Read only the name of a task, whose type is not known, so that links to it are no further errors.
 */
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
    t->burst = value_given(&common[TASK_BURST]) || t->schema->kind != TASK_SOURCE
                   ? (uint16_t)common[TASK_BURST].v.u
                   : SOURCE_BURST;
    t->pool = resolve_pool(l, &common[TASK_POOL]);
    if (list == NULL)
        take_params(l, t->schema, v, t->param);
    else
        for (unsigned i = 0; i < t->schema->n_params; i++)
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
