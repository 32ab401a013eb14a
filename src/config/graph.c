/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: which ports each task reads ("from"), and where its outputs lead ("to" and others). */
#include <string.h>

#include "config/keys.h"

#define MAX_LINKS CFG_MAX_PORTS /* that one key may name */

/* The name of a task or port that is nearest to a misspelt one, or NULL. */
static const char *nearest_end(const struct loader *l, const char *name)
{
    const char *both[2] = {nearest_task(l, name), nearest_port(l, name)};

    if (both[0] == NULL || both[1] == NULL)
        return both[0] != NULL ? both[0] : both[1];
    return nearest_name(name, both, 2);
}

/* Take the ports that a task reads; reader[p] is the task that reads port p. */
static void link_from(struct loader *l, uint16_t task, const config_setting_t *s,
                      uint32_t reader[CFG_MAX_PORTS])
{
    struct cfg_task *t = &l->m->tasks[task];
    const config_setting_t *e[MAX_LINKS];
    unsigned n = read_strings(l, s, "from", e, MAX_LINKS);

    for (unsigned i = 0; i < n; i++) {
        const char *name = config_setting_get_string(e[i]);
        uint32_t port = find_port(l, name);

        if (port == CFG_NONE && find_task(l, name) != CFG_NONE) {
            key_error(l, e[i], "from",
                      "is a task: expected a port; a link is said by the task that it leaves");
        } else if (port == CFG_NONE) {
            if (!l->port_nameless)
                unknown_name(l, e[i], "from", "port", nearest_port(l, name));
        } else if (reader[port] != CFG_NONE) {
            const struct cfg_task *other = &l->m->tasks[reader[port]];

            key_error(l, e[i], "from", "already read by task '%s' at %s:%u", other->name,
                      other->loc.file, other->loc.line);
        } else {
            reader[port] = task;
            t->from[t->n_from++] = (uint16_t)port;
        }
    }
}

/* Find the task or port that a name stands for. Returns false after an error. */
static bool find_end(struct loader *l, const config_setting_t *s, const char *key,
                     struct cfg_dest *dest)
{
    const char *name = config_setting_get_string(s);
    uint32_t task = find_task(l, name), port = find_port(l, name);
    const struct task_schema *schema;

    if (task == CFG_NONE && port == CFG_NONE) {
        if (!l->task_nameless && !l->port_nameless)
            unknown_name(l, s, key, "task or port", nearest_end(l, name));
        return false;
    }
    dest->is_port = task == CFG_NONE;
    dest->index = (uint16_t)(dest->is_port ? port : task);
    schema = dest->is_port ? NULL : l->m->tasks[task].schema;
    if (schema != NULL && schema->kind == TASK_SOURCE) {
        key_error(l, s, key, "is a source (type %s): it takes no packets", schema->type);
        return false;
    }
    return true;
}

static void link_output(struct loader *l, struct cfg_output *o, const config_setting_t *s,
                        const char *key)
{
    const config_setting_t *e[MAX_LINKS];
    unsigned n = read_strings(l, s, key, e, MAX_LINKS);

    o->loc = setting_loc(l, s);
    for (unsigned i = 0; i < n; i++) {
        struct cfg_dest dest;
        unsigned k = 0;

        if (!find_end(l, e[i], key, &dest))
            continue;
        while (k < o->n_dests &&
               (o->dest[k].is_port != dest.is_port || o->dest[k].index != dest.index))
            k++;
        if (k < o->n_dests)
            key_error(l, e[i], key, "is named twice");
        else
            o->dest[o->n_dests++] = dest;
    }
}

static void link_outputs(struct loader *l, struct cfg_task *t, const config_setting_t *group)
{
    const struct task_schema *schema = t->schema;
    const config_setting_t *to = config_setting_get_member(group, "to");

    if (schema->outputs[0].name == NULL && to != NULL)
        key_error(l, to, "to", "a task of type %s has no outputs", schema->type);
    else if (schema->outputs[0].name != NULL && to == NULL)
        diag_error(l->d, t->loc,
                   "key 'to': missing in this task: expected the name of a task or port");
    for (unsigned i = 0; schema->outputs[i].name != NULL; i++) {
        const config_setting_t *s = config_setting_get_member(group, schema->outputs[i].name);

        t->output[i].loc = t->loc;
        if (s != NULL)
            link_output(l, &t->output[i], s, schema->outputs[i].name);
    }
}

/* Warn of tasks and ports that the graph leaves out. After an error they may be out because of it,
 * and are not reported. */
static void warn_unused(struct loader *l)
{
    const struct cfg_model *m = l->m;
    bool task_fed[CFG_MAX_TASKS] = {false}, port_used[CFG_MAX_PORTS] = {false};

    for (unsigned i = 0; i < m->n_tasks; i++) {
        const struct cfg_task *t = &m->tasks[i];

        for (unsigned k = 0; k < t->n_from; k++)
            port_used[t->from[k]] = true;
        task_fed[i] |= t->n_from > 0 || (t->schema != NULL && t->schema->kind == TASK_SOURCE);
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            for (unsigned k = 0; k < t->output[o].n_dests; k++) {
                struct cfg_dest dest = t->output[o].dest[k];

                *(dest.is_port ? &port_used[dest.index] : &task_fed[dest.index]) = true;
            }
    }
    for (unsigned i = 0; i < m->n_tasks; i++)
        if (!task_fed[i])
            diag_warning(l->d, m->tasks[i].loc,
                         "task '%s' never gets a packet: it reads no port and no task leads to it",
                         m->tasks[i].name);
    for (unsigned i = 0; i < m->n_ports; i++)
        if (!port_used[i])
            diag_warning(l->d, m->ports[i].loc,
                         "port '%s' is not used: no task reads it or leads to it",
                         m->ports[i].name);
}

void load_graph(struct loader *l, const config_setting_t *const *settings)
{
    uint32_t reader[CFG_MAX_PORTS];

    memset(reader, 0xff, sizeof(reader));
    for (unsigned i = 0; i < l->m->n_tasks; i++) {
        struct cfg_task *t = &l->m->tasks[i];
        const config_setting_t *from = config_setting_get_member(settings[i], "from");

        if (t->schema == NULL)
            continue;
        if (from != NULL && t->schema->kind == TASK_SOURCE)
            key_error(l, from, "from", "a task of type %s is a source: it reads no port",
                      t->schema->type);
        else if (from != NULL)
            link_from(l, (uint16_t)i, from, reader);
        link_outputs(l, t, settings[i]);
    }
    if (l->d->n_errors == 0)
        warn_unused(l);
}
