/* SPDX-License-Identifier: BSD-3-Clause */
/* The list that tasks of some types have: "streams = ( { ... }, ... )". An item is read by the
 * task's own parameters, and inherits some of them. */
#include <stdlib.h>
#include <string.h>

#include "config/load_task.h"

unsigned param_keys(const struct task_schema *s, enum param_place place, struct key *keys)
{
    unsigned n = 0;

    for (const struct task_param *p = s->params; p->name != NULL; p++) {
        bool here = place == IN_ITEM ? p->scope != SCOPE_TASK : p->scope != SCOPE_ITEM;

        keys[n++] = (struct key){
            .name = here ? p->name : "", /* which no key is called */
            .type = (enum key_type)p->type,
            .def = place == IN_ITEM && p->scope != SCOPE_ITEM ? NULL : p->def,
            .min = p->min,
            .max = p->max,
            .choices = p->choices,
            /* what an item may say is not missed in the task */
            .required =
                p->required && place != IN_ITEM && (place == IN_TASK || p->scope != SCOPE_INHERIT),
        };
    }
    return n;
}

/* The sizes that frames shall have, in their notation. */
static const char *sizes_of(const struct task_param *p, const struct value *v)
{
    for (unsigned i = 0; p[i].name != NULL; i++)
        if (p[i].type == PARAM_SIZES && v[i].set)
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

void take_params(struct loader *l, const struct task_schema *s, const struct value *v,
                 struct param_value *out)
{
    const struct task_param *p = s->params;

    for (unsigned i = 0; p[i].name != NULL; i++) {
        out[i] = v[i].v;
        if (v[i].setting == NULL)
            continue;
        if (p[i].type == PARAM_TEMPLATE)
            out[i].u =
                v[i].set ? use_template(l, v[i].setting, p[i].name, sizes_of(p, v)) : CFG_NONE;
        else if (p[i].type == PARAM_SCHEDULER && v[i].set)
            out[i].u = resolve_scheduler(l, &v[i], p[i].name);
    }
}

/* The task whose list is being read. */
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

static void inherit(struct loader *l, const config_setting_t *group, const struct reading *r,
                    struct value *v)
{
    const struct task_schema *s = r->t->schema;
    struct key keys[TASK_MAX_PARAMS];
    char expected[256];

    param_keys(s, IN_ITEM, keys);
    for (unsigned i = 0; s->params[i].name != NULL; i++) {
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

/* "TASK/NAME": what it says, or its place in the list. */
static void name_item(struct loader *l, const struct reading *r, const struct value *v,
                      struct cfg_item *item)
{
    const struct task_param *p = r->t->schema->params;
    unsigned i = 0;

    while (p[i].name != NULL && p[i].type != PARAM_NAME)
        i++;
    if (p[i].name != NULL && v[i].set)
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

void load_items(struct loader *l, const config_setting_t *list, struct cfg_task *t,
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
        for (unsigned i = 0; p[i].name != NULL; i++)
            if (p[i].scope == SCOPE_INHERIT || p[i].scope == SCOPE_ITEM)
                item->param[i] = t->param[i];
    }
}
