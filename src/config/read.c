/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_load(): a file is parsed into libconfig's tree of settings, values of the command line are
 * put into the tree, and each section is read into the model by a file of its own.
 */
#include "config/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"

/* --- the keys of the whole file --- */

static const char *const idle_names[] = {"spin", "pause", "sleep", NULL}; /* enum idle_policy */
static const char *const memory_names[] = {"auto", "hugepages", "shared", "no-huge", NULL};
static const char *const routes_per_names[] = {"gateway", "socket", NULL}; /* enum routes_per */

enum {
    TOP_NAME,
    TOP_TOPOLOGY,
    TOP_IDLE,
    TOP_FUSE,
    TOP_DRAIN,
    TOP_MEMORY,
    TOP_EAL,
    TOP_PUNT_SOCKET,
    TOP_MAX_SUBSCRIBERS,
    TOP_MAX_ROUTES,
    TOP_MAX_ROUTES6,
    TOP_MAX_PREFIXES,
    TOP_ROUTES_PER,
    TOP_POOLS,
    TOP_PORTS,
    TOP_SUBSCRIBERS,
    TOP_ROUTES,
    TOP_QOS,
    TOP_TASKS,
    TOP_LAYOUT,
    N_TOP
};

static const struct key top_keys[N_TOP] = {
    [TOP_NAME] = {"name", KEY_NAME, .def = "vbng"},
    [TOP_TOPOLOGY] = {"topology", KEY_STRING},
    [TOP_IDLE] = {"idle", KEY_ENUM, .def = "pause", .choices = idle_names},
    [TOP_FUSE] = {"fuse", KEY_BOOL, .def = "true"},
    [TOP_DRAIN] = {"drain", KEY_DURATION, .def = "1s", .max = 3600000000000},
    [TOP_MEMORY] = {"memory", KEY_ENUM, .def = "auto", .choices = memory_names},
    [TOP_EAL] = {"eal", KEY_STRING, .def = ""},
    [TOP_PUNT_SOCKET] = {"punt_socket", KEY_STRING},
    [TOP_MAX_SUBSCRIBERS] = {"max_subscribers", KEY_COUNT, .min = 1, .max = CFG_MAX_SUBSCRIBERS},
    [TOP_MAX_ROUTES] = {"max_routes", KEY_COUNT, .min = 1, .max = CFG_MAX_ROUTES},
    [TOP_MAX_ROUTES6] = {"max_routes6", KEY_COUNT, .min = 1, .max = CFG_MAX_ROUTES},
    [TOP_MAX_PREFIXES] = {"max_prefixes", KEY_COUNT, .min = 1, .max = CFG_MAX_PREFIXES},
    [TOP_ROUTES_PER] = {"routes_per", KEY_ENUM, .def = "gateway", .choices = routes_per_names},
    [TOP_POOLS] = {"pools", KEY_OTHER},
    [TOP_PORTS] = {"ports", KEY_OTHER},
    [TOP_SUBSCRIBERS] = {"subscribers", KEY_OTHER},
    [TOP_ROUTES] = {"routes", KEY_OTHER},
    [TOP_QOS] = {"qos", KEY_OTHER},
    [TOP_TASKS] = {"tasks", KEY_OTHER, .required = true},
    [TOP_LAYOUT] = {"layout", KEY_OTHER},
};

void load_room(struct loader *l, const struct value *v, const char *key, uint32_t configured,
               uint32_t *room)
{
    if (v->set && v->v.u < configured)
        key_error(l, v->setting, key, "%u are configured: expected at least as many", configured);
    else if (v->set)
        *room = (uint32_t)v->v.u;
}

/* Does a task read frames of lines, and find their subscribers? */
static bool knows_lines(const struct cfg_task *t)
{
    for (unsigned i = 0; i < t->schema->n_params; i++) {
        const uint32_t *gives = t->schema->params[i].choice_gives;

        if (gives != NULL && t->param[i].set && (gives[t->param[i].u] & FACT_QINQ_IPV4) != 0)
            return true;
    }
    return false;
}

/* Does a task send what it punts to the slow path? */
static bool punts(const struct cfg_model *m, const struct cfg_task *t)
{
    for (unsigned o = 1; o < TASK_MAX_OUTPUTS && t->schema->outputs[o].name != NULL; o++)
        for (unsigned k = 0; k < t->output[o].n_dests; k++)
            if (strcmp(t->schema->outputs[o].name, "punt") == 0 && !t->output[o].dest[k].is_port &&
                m->tasks[t->output[o].dest[k].index].schema->egress == EGRESS_ALL_PORTS)
                return true;
    return false;
}

/* Take the path of the control plane's socket, to which frames come by the slow path. */
static void load_punt_socket(struct loader *l, const struct value *v)
{
    struct cfg_model *m = l->m;
    bool any = l->d->n_errors > 0; /* of the tasks, perhaps: one is enough */

    if (!v->set)
        return;
    m->punt_socket = v->v.s;
    if (v->v.s[0] == '\0' || strlen(v->v.s) >= CFG_MAX_SOCKET)
        key_error(l, v->setting, "punt_socket", "expected a path of 1 to %u characters",
                  CFG_MAX_SOCKET - 1);
    for (unsigned i = 0; i < m->n_tasks && !any; i++)
        any = knows_lines(&m->tasks[i]) && punts(m, &m->tasks[i]);
    if (!any)
        key_error(l, v->setting, "punt_socket",
                  "nothing comes to it: expected a task of type classify with match = "
                  "\"qinq\" and punt = \"NAME\", where NAME is a task of type arp");
}

/* Read all sections, each before those that refer to it. */
static void load_root(struct loader *l, const config_setting_t *root)
{
    struct value top[N_TOP];
    struct cfg_model *m = l->m;

    read_group(l, root, "configuration", top_keys, N_TOP, top);
    if (l->layout != NULL)
        top[TOP_LAYOUT].setting = config_lookup(l->layout, "layout");
    m->name = top[TOP_NAME].v.s;
    m->idle = (enum idle_policy)top[TOP_IDLE].v.u;
    m->fuse = top[TOP_FUSE].v.u != 0;
    m->drain_ns = top[TOP_DRAIN].v.u;
    m->memory = top[TOP_MEMORY].v.s;
    m->eal = top[TOP_EAL].v.s;
    m->routes_per = (enum routes_per)top[TOP_ROUTES_PER].v.u;
    load_topology(l, &top[TOP_TOPOLOGY]);
    load_pools(l, top[TOP_POOLS].setting);
    load_ports(l, top[TOP_PORTS].setting);
    load_qos(l, top[TOP_QOS].setting);
    load_subscribers(l, top[TOP_SUBSCRIBERS].setting);
    load_routes(l, top[TOP_ROUTES].setting);
    load_room(l, &top[TOP_MAX_SUBSCRIBERS], "max_subscribers", m->n_subscribers,
              &m->max_subscribers);
    load_room(l, &top[TOP_MAX_ROUTES], "max_routes", m->n_routes, &m->max_routes);
    load_room(l, &top[TOP_MAX_ROUTES6], "max_routes6", m->n_routes6, &m->max_routes6);
    load_room(l, &top[TOP_MAX_PREFIXES], "max_prefixes", m->n_prefixes, &m->max_prefixes);
    load_tasks(l, top[TOP_TASKS].setting);
    load_punt_socket(l, &top[TOP_PUNT_SOCKET]);
    load_layout(l, top[TOP_LAYOUT].setting);
    load_pipes(l); /* by the cores of the tasks that shape */
}

/* --- files --- */

/* Parse the file of --layout, of which only the key layout is used. Returns 0, or -EINVAL after an
 * error. */
static int parse_layout(struct loader *l, config_t *config)
{
    const char *path = l->opt->layout;

    if (path == NULL)
        return 0;
    if (parse_file(l, path, config) != 0)
        return -EINVAL;
    if (config_lookup(config, "layout") == NULL)
        diag_error(l->d, (struct loc){path, 0},
                   "key 'layout': missing in the file of --layout: expected layout = ( { core; "
                   "tasks; }, ... );");
    l->layout = config;
    return 0;
}

struct cfg_model *config_load(const char *path, const struct config_options *opt, struct diags *d)
{
    struct cfg_model *m = model_open(path);
    struct loader l = {.m = m, .d = d, .opt = opt};
    size_t errors_before = d->n_errors;
    config_t config, layout;

    config_init(&config);
    config_init(&layout);
    if (parse_file(&l, m->path, &config) == 0 && parse_layout(&l, &layout) == 0) {
        load_wide_numbers(&l, config_root_setting(&config));
        override_values(&l, config_root_setting(&config));
        load_root(&l, config_root_setting(&config));
    }
    config_destroy(&layout);
    config_destroy(&config);
    free(l.wide);
    free(l.templates);
    if (d->n_errors == errors_before)
        return m;
    config_free(m);
    return NULL;
}

void config_free(struct cfg_model *m)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < m->n_templates; i++)
        template_free(m->templates[i]);
    free(m->templates);
    for (unsigned i = 0; i < m->n_ports; i++)
        free(m->ports[i].receive.queues);
    for (unsigned i = 0; i < m->n_tasks; i++)
        free(m->tasks[i].items);
    free(m->tasks);
    free(m->placements);
    free(m->subscribers);
    free(m->routes);
    free(m->routes6);
    free(m->nexthops);
    free(m->sets);
    for (unsigned i = 0; i < m->qos.n_schedulers; i++)
        free(m->qos.schedulers[i].subports);
    free(m->qos.schedulers);
    free(m->qos.profiles);
    free(m->qos.dscp_maps);
    model_close(m);
}
