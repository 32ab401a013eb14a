/* SPDX-License-Identifier: BSD-3-Clause */
/* qos.schedulers = { NAME = { ports; rate; classes; subports; ... }; }: ports with their
 * subscribers' queues. */
#include <string.h>

#include "config/load_qos.h"
#include "config/qos_fit.h"

#define MAX_SCHEDULERS 64

enum {
    SCHED_ENGINE,
    SCHED_PORTS,
    SCHED_RATE,
    SCHED_OVERHEAD,
    SCHED_MTU,
    SCHED_OVERSUBSCRIPTION,
    SCHED_CLASSES,
    SCHED_MAP,
    SCHED_MAP_UP,
    SCHED_MAP_DOWN,
    SCHED_NON_IP,
    SCHED_SUBPORTS,
    N_SCHED_KEYS
};

static const char *const engines[] = {
    [QOS_WHEEL] = "wheel", [QOS_LIBRTE_SCHED] = "librte_sched", NULL};

static const struct key sched_keys[N_SCHED_KEYS] = {
    [SCHED_ENGINE] = {"engine", KEY_ENUM, .def = "wheel", .choices = engines},
    [SCHED_PORTS] = {"ports", KEY_OTHER, .required = true},
    [SCHED_RATE] = {"rate", KEY_RATE, .def = "10G", .min = 1000000, .max = QOS_MAX_RATE},
    [SCHED_OVERHEAD] = {"overhead", KEY_COUNT, .def = "4", .max = 64},
    [SCHED_MTU] = {"mtu", KEY_SIZE, .def = "1522", .min = 64, .max = 9216},
    [SCHED_OVERSUBSCRIPTION] = {"oversubscription", KEY_BOOL, .def = "false"},
    [SCHED_CLASSES] = {"classes", KEY_OTHER},
    [SCHED_MAP] = {"dscp_map", KEY_STRING},
    [SCHED_MAP_UP] = {"dscp_map_up", KEY_STRING},
    [SCHED_MAP_DOWN] = {"dscp_map_down", KEY_STRING},
    [SCHED_NON_IP] = {"non_ip", KEY_OTHER},
    [SCHED_SUBPORTS] = {"subports", KEY_OTHER},
};

uint32_t find_scheduler(const struct loader *l, const char *name)
{
    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++)
        if (strcmp(l->m->qos.schedulers[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

const char *nearest_scheduler(const struct loader *l, const char *name)
{
    const char *names[MAX_SCHEDULERS];

    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++)
        names[i] = l->m->qos.schedulers[i].name;
    return nearest_name(name, names, l->m->qos.n_schedulers);
}

/* DSCP to best effort, all of it, where the configuration has no map. */
static uint32_t plain_map(struct loader *l)
{
    struct cfg_qos *q = &l->m->qos;
    struct cfg_dscp_map map = {.loc = {l->m->path, 0}, .name = ""};

    for (unsigned i = 0; i < q->n_dscp_maps; i++)
        if (q->dscp_maps[i].name[0] == '\0')
            return i;
    memset(map.queue, QOS_BE, sizeof(map.queue));
    GROW_ONE(q->dscp_maps, q->n_dscp_maps);
    q->dscp_maps[q->n_dscp_maps] = map;
    return q->n_dscp_maps++;
}

static uint32_t resolve_map(struct loader *l, const char *key, const struct value *one,
                            const struct value *both)
{
    const struct value *v = one->setting != NULL ? one : both;
    struct cfg_qos *q = &l->m->qos;
    const char *names[MAX_DSCP_MAPS + 1];
    unsigned n = 0;

    if (v->setting == NULL || !v->set)
        return plain_map(l);
    for (unsigned i = 0; i < q->n_dscp_maps; i++) {
        if (strcmp(q->dscp_maps[i].name, v->v.s) == 0)
            return i;
        if (q->dscp_maps[i].name[0] != '\0') /* not that of plain_map() */
            names[n++] = q->dscp_maps[i].name;
    }
    unknown_name(l, v->setting, one->setting != NULL ? key : "dscp_map", "DSCP map",
                 nearest_name(v->v.s, names, n));
    return plain_map(l);
}

static unsigned read_ports(struct loader *l, const struct value *v, uint32_t *ports)
{
    const config_setting_t *names[CFG_MAX_PORTS];
    unsigned n, found = 0;

    if (v->setting == NULL)
        return 0;
    n = read_strings(l, v->setting, "ports", names, CFG_MAX_PORTS);
    for (unsigned i = 0; i < n; i++) {
        const char *name = config_setting_get_string(names[i]);

        ports[found] = find_port(l, name);
        if (ports[found] == CFG_NONE && !l->port_nameless)
            unknown_name(l, names[i], "ports", "port", nearest_port(l, name));
        else if (ports[found] != CFG_NONE && is_among(ports, found, ports[found]))
            key_error(l, names[i], "ports", "is there twice");
        else if (ports[found] != CFG_NONE)
            found++;
    }
    return found;
}

static unsigned class_of(uint8_t queue)
{
    return queue < QOS_BE ? queue : QOS_BE;
}

/* A queue that a packet is sent to must be there, or all such packets would be dropped. */
static void check_queues(struct loader *l, const config_setting_t *group, const char *name,
                         const struct cfg_scheduler *s)
{
    for (unsigned d = 0; d < QOS_DIRECTIONS; d++) {
        const struct cfg_dscp_map *map = &l->m->qos.dscp_maps[s->dscp_map[d]];

        if (d > 0 && s->dscp_map[d] == s->dscp_map[0])
            continue;
        for (unsigned dscp = 0; dscp < 64; dscp++) {
            unsigned class = class_of(map->queue[dscp]);

            if (s->class[class].size != 0)
                continue;
            key_error(l, group, name,
                      "map '%s' sends DSCP %u to class '%s', which has no queue here: add it to "
                      "classes",
                      map->name, dscp, qos_class_names[class]);
            break;
        }
    }
    if (s->class[class_of(s->non_ip_queue)].size == 0)
        key_error(l, group, name,
                  "non_ip is class '%s', which has no queue here: add it to classes",
                  qos_class_names[class_of(s->non_ip_queue)]);
}

static void read_scheduler(struct loader *l, const config_setting_t *group, const char *name)
{
    struct cfg_qos *q = &l->m->qos;
    struct value v[N_SCHED_KEYS];
    uint32_t ports[CFG_MAX_PORTS];
    struct cfg_scheduler s = {.loc = setting_loc(l, group), .name = name, .non_ip_queue = QOS_BE};
    size_t errors;
    unsigned n;

    read_group(l, group, "scheduler", sched_keys, N_SCHED_KEYS, v);
    s.engine = (enum qos_engine)v[SCHED_ENGINE].v.u;
    s.rate = v[SCHED_RATE].v.u;
    s.overhead = (uint8_t)v[SCHED_OVERHEAD].v.u;
    s.mtu = (uint32_t)v[SCHED_MTU].v.u;
    s.oversubscription = v[SCHED_OVERSUBSCRIPTION].v.u != 0;
    s.dscp_map[QOS_UP] = resolve_map(l, "dscp_map_up", &v[SCHED_MAP_UP], &v[SCHED_MAP]);
    s.dscp_map[QOS_DOWN] = resolve_map(l, "dscp_map_down", &v[SCHED_MAP_DOWN], &v[SCHED_MAP]);
    if (v[SCHED_NON_IP].setting != NULL)
        s.non_ip_queue = read_queue(l, v[SCHED_NON_IP].setting, "class for what is not IP");
    n = read_ports(l, &v[SCHED_PORTS], ports);
    errors = l->d->n_errors;
    load_classes(l, v[SCHED_CLASSES].setting, &s);
    if (l->d->n_errors == errors)
        check_queues(l, group, name, &s);
    load_subports(l, &v[SCHED_SUBPORTS], &s, ports, n);
    GROW_ONE(q->schedulers, q->n_schedulers);
    q->schedulers[q->n_schedulers++] = s;
}

void load_schedulers(struct loader *l, const config_setting_t *schedulers)
{
    each_named(l, schedulers, "schedulers", MAX_SCHEDULERS, read_scheduler);
}
