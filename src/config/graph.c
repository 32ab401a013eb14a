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

/* Which task reads each queue of each port, or CFG_NONE; a port without rules has as if one. */
struct readers {
    uint32_t of[CFG_MAX_PORTS][CFG_MAX_QUEUES];
};

/* The queues that a port has a name for, a bit each. */
static uint64_t all_queues(const struct cfg_port *p)
{
    unsigned n = p->receive.n_queues > 0 ? p->receive.n_queues : 1;

    return n == CFG_MAX_QUEUES ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Find the port that an element of "from" names, and which of its queues: "PORT", or "PORT.QUEUE".
 * Returns its index, or CFG_NONE after an error. */
static uint32_t find_source(struct loader *l, const config_setting_t *s, uint64_t *queues)
{
    const char *name = config_setting_get_string(s), *dot = strchr(name, '.');
    char only[CFG_MAX_NAME + 1];
    const char *names[CFG_MAX_QUEUES];
    const struct cfg_port *p;
    uint32_t port;

    snprintf(only, sizeof(only), "%.*s", (int)strcspn(name, "."), name);
    port = find_port(l, dot != NULL ? only : name);
    if (port == CFG_NONE) {
        if (find_task(l, name) != CFG_NONE)
            key_error(l, s, "from",
                      "is a task: expected a port; a link is said by the task that it leaves");
        else if (!l->port_nameless)
            unknown_name(l, s, "from", "port", nearest_port(l, name));
        return CFG_NONE;
    }
    p = &l->m->ports[port];
    *queues = all_queues(p);
    if (dot == NULL)
        return port;
    for (unsigned q = 0; q < p->receive.n_queues; q++) {
        names[q] = p->receive.queues[q].name;
        *queues = UINT64_C(1) << q;
        if (strcmp(names[q], dot + 1) == 0)
            return port;
    }
    unknown_name(l, s, "from", "queue", nearest_name(dot + 1, names, p->receive.n_queues));
    return CFG_NONE;
}

/* The place of a port among those that a task reads, to which it is added. */
static unsigned place_of(struct cfg_task *t, uint32_t port)
{
    unsigned k = 0;

    while (k < t->n_from && t->from[k] != port)
        k++;
    if (k == t->n_from) {
        t->from[k] = (uint16_t)port;
        t->from_queues[k] = 0;
        t->n_from++;
    }
    return k;
}

/* Take the ports and queues that a task reads. */
static void link_from(struct loader *l, uint16_t task, const config_setting_t *s, struct readers *r)
{
    const config_setting_t *e[MAX_LINKS];
    unsigned n = read_strings(l, s, "from", e, MAX_LINKS);

    for (unsigned i = 0; i < n; i++) {
        uint32_t other = CFG_NONE, port;
        uint64_t queues;

        port = find_source(l, e[i], &queues);
        if (port == CFG_NONE)
            continue;
        for (unsigned q = 0; q < CFG_MAX_QUEUES; q++)
            if ((queues >> q & 1) != 0 && other == CFG_NONE)
                other = r->of[port][q];
        if (other != CFG_NONE) {
            key_error(l, e[i], "from", "already read by task '%s' at %s:%u",
                      l->m->tasks[other].name, l->m->tasks[other].loc.file,
                      l->m->tasks[other].loc.line);
            continue;
        }
        for (unsigned q = 0; q < CFG_MAX_QUEUES; q++)
            if ((queues >> q & 1) != 0)
                r->of[port][q] = task;
        l->m->tasks[task].from_queues[place_of(&l->m->tasks[task], port)] |= queues;
    }
}

/* Report queues that no task reads, of ports whose other queues a task does. */
static void check_queues_read(struct loader *l, const struct readers *r)
{
    for (unsigned i = 0; i < l->m->n_ports; i++) {
        const struct cfg_receive *receive = &l->m->ports[i].receive;
        bool some = false;

        for (unsigned q = 0; q < receive->n_queues; q++)
            some |= r->of[i][q] != CFG_NONE;
        for (unsigned q = 0; some && q < receive->n_queues; q++)
            if (r->of[i][q] == CFG_NONE)
                diag_error(l->d, receive->queues[q].loc,
                           "queue '%s': no task reads it, so that what comes to it would be lost: "
                           "expected \"%s.%s\" in a from",
                           receive->queues[q].name, l->m->ports[i].name, receive->queues[q].name);
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
    struct readers readers;

    memset(&readers, 0xff, sizeof(readers));
    for (unsigned i = 0; i < l->m->n_tasks; i++) {
        struct cfg_task *t = &l->m->tasks[i];
        const config_setting_t *from = config_setting_get_member(settings[i], "from");

        if (t->schema == NULL)
            continue;
        if (from != NULL && t->schema->kind == TASK_SOURCE)
            key_error(l, from, "from", "a task of type %s is a source: it reads no port",
                      t->schema->type);
        else if (from != NULL)
            link_from(l, (uint16_t)i, from, &readers);
        link_outputs(l, t, settings[i]);
    }
    if (l->d->n_errors == 0)
        check_queues_read(l, &readers);
    if (l->d->n_errors == 0)
        warn_unused(l);
}
