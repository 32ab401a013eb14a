/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/qos_profiles.h"

/* qos.schedulers = { NAME = { ports; rate; classes; subports; ... }; }: ports with their
 * subscribers' queues. */

#define MAX_SCHEDULERS  64
#define MAX_CATCH_UP_NS 1000000000

enum {
    SCHED_BACKEND,
    SCHED_PORTS,
    SCHED_RATE,
    SCHED_OVERHEAD,
    SCHED_MTU,
    SCHED_OVERSUBSCRIPTION,
    SCHED_CATCH_UP,
    SCHED_CLASSES,
    SCHED_MAP,
    SCHED_MAP_UP,
    SCHED_MAP_DOWN,
    SCHED_NON_IP,
    SCHED_SUBPORTS,
    N_SCHED_KEYS
};

static const char *const backends[] = {
    [QOS_WHEEL] = "wheel", [QOS_LIBRTE_SCHED] = "librte_sched", NULL};

static const struct key sched_keys[N_SCHED_KEYS] = {
    [SCHED_BACKEND] = {"backend", KEY_ENUM, .def = "wheel", .choices = backends, .old = "engine"},
    [SCHED_PORTS] = {"ports", KEY_OTHER, .required = true},
    [SCHED_RATE] = {"rate", KEY_RATE, .def = "10G", .min = 1000000, .max = QOS_MAX_RATE},
    [SCHED_OVERHEAD] = {"overhead", KEY_COUNT, .def = "4", .max = 64},
    [SCHED_MTU] = {"mtu", KEY_SIZE, .def = "1522", .min = 64, .max = 9216},
    [SCHED_OVERSUBSCRIPTION] = {"oversubscription", KEY_BOOL, .def = "false"},
    [SCHED_CATCH_UP] = {"catch_up", KEY_DURATION, .def = "20ms", .max = MAX_CATCH_UP_NS},
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

/* How long the wheel makes up for an absence. librte_sched cannot; whether there are shards, which
 * cannot either, is known when the layout is. */
static void take_catch_up(struct loader *l, const struct value *v, struct cfg_scheduler *s)
{
    s->catch_up_ns = v->v.u;
    if (v->setting != NULL)
        s->catch_up_at = setting_loc(l, v->setting);
    if (s->backend == QOS_WHEEL)
        return;
    if (v->setting != NULL && v->set && v->v.u != 0)
        value_error(l, v, "catch_up",
                    "expected 0s with librte_sched, which does not make up for a "
                    "core that was away");
    s->catch_up_ns = 0;
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
    s.backend = (enum qos_backend)v[SCHED_BACKEND].v.u;
    s.rate = v[SCHED_RATE].v.u;
    s.overhead = (uint8_t)v[SCHED_OVERHEAD].v.u;
    s.mtu = (uint32_t)v[SCHED_MTU].v.u;
    s.oversubscription = v[SCHED_OVERSUBSCRIPTION].v.u != 0;
    take_catch_up(l, &v[SCHED_CATCH_UP], &s);
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

/* subports = ( { name; port; svlan; rate; }, ... ) of a scheduler: groups of its subscribers. */

static void add_subport(struct cfg_scheduler *s, const struct cfg_subport *new)
{
    GROW_ONE(s->subports, s->n_subports);
    s->subports[s->n_subports++] = *new;
}

struct subport_list {
    struct cfg_scheduler *s;
    const uint32_t *ports;
    unsigned n_ports;
};

enum {
    SUBPORT_NAME,
    SUBPORT_PORT,
    SUBPORT_SVLAN,
    SUBPORT_RATE,
    SUBPORT_UP,
    SUBPORT_DOWN,
    SUBPORT_WHOLE,
    SUBPORT_MAX,
    N_SUBPORT_KEYS
};

static const struct key subport_keys[N_SUBPORT_KEYS] = {
    [SUBPORT_NAME] = {"name", KEY_NAME, .required = true, .help = "its name"},
    [SUBPORT_PORT] = {"port", KEY_PORT, .help = "the access port of its subscribers"},
    [SUBPORT_SVLAN] = {"svlan", KEY_RANGE, .def = "1-4094", .min = 1, .max = 4094,
                       .help = "their outer VLANs"},
    [SUBPORT_RATE] = KEY_SUBPORT_RATE("rate", false),
    [SUBPORT_UP] = KEY_SUBPORT_RATE("rate_up", false),
    [SUBPORT_DOWN] = KEY_SUBPORT_RATE("rate_down", false),
    [SUBPORT_WHOLE] = {"whole", KEY_BOOL, .def = "false",
                       .help =
                           "all its subscribers are on one core, where the scheduler has several"},
    [SUBPORT_MAX] = {"max_subscribers", KEY_COUNT, .min = 1, .max = CFG_MAX_SUBSCRIBERS,
                     .help = "subscribers that it has room for; default: the configured ones and a "
                             "part of the room for more"},
};

bool check_subport_rate(struct loader *l, const struct value *v, const char *key,
                        const struct cfg_scheduler *s)
{
    char text[32];

    if (!v->set || v->v.u <= s->rate)
        return true;
    value_error(l, v, key, "expected at most the scheduler's own rate, %s",
                format_rate(s->rate, text, sizeof(text)));
    return false;
}

/* The rate that a key gives, or that of both directions. */
static uint64_t subport_rate(struct loader *l, const struct value *v, unsigned k, uint64_t both,
                             const struct cfg_scheduler *s)
{
    if (!check_subport_rate(l, &v[k], subport_keys[k].name, s))
        return s->rate;
    return v[k].set ? v[k].v.u : both;
}

bool is_among(const uint32_t *ports, unsigned n, uint32_t port)
{
    for (unsigned i = 0; i < n; i++)
        if (ports[i] == port)
            return true;
    return false;
}

/* A subport's name and subscribers are its own. */
static void check_subport(struct loader *l, const struct cfg_scheduler *s, const struct value *v,
                          const config_setting_t *group, const struct cfg_subport *new)
{
    for (unsigned k = 0; k < s->n_subports; k++) {
        const struct cfg_subport *old = &s->subports[k];

        if (strcmp(old->name, new->name) == 0)
            key_error(l, v[SUBPORT_NAME].setting, "name", "already a subport at %s:%u",
                      old->loc.file, old->loc.line);
        else if (old->port == new->port &&
                 old->svlan_first <= new->svlan_last &&new->svlan_first <= old->svlan_last)
            key_error(l, v[SUBPORT_SVLAN].setting != NULL ? v[SUBPORT_SVLAN].setting : group,
                      "svlan", "overlaps subport '%s' at %s:%u", old->name, old->loc.file,
                      old->loc.line);
    }
}

static void read_subport(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct subport_list *list = ctx;
    struct value v[N_SUBPORT_KEYS];
    struct cfg_subport new = {.loc = setting_loc(l, group),
                              .port = list->n_ports > 0 ? list->ports[0] : 0};
    uint64_t both;

    (void)i;
    if (!read_group(l, group, "subport", subport_keys, N_SUBPORT_KEYS, v))
        return;
    if (v[SUBPORT_PORT].set) {
        new.port = (uint32_t)v[SUBPORT_PORT].v.u;
        if (!is_among(list->ports, list->n_ports, new.port)) {
            key_error(l, v[SUBPORT_PORT].setting, "port", "is not among the scheduler's ports");
            return;
        }
    } else if (list->n_ports > 1) {
        key_error(l, group, "port", "missing in this subport: the scheduler has several ports");
        return;
    }
    new.name = v[SUBPORT_NAME].v.s;
    new.svlan_first = (uint16_t)v[SUBPORT_SVLAN].v.u;
    new.svlan_last = (uint16_t)v[SUBPORT_SVLAN].v.u2;
    both = subport_rate(l, v, SUBPORT_RATE, list->s->rate, list->s);
    new.rate[QOS_UP] = subport_rate(l, v, SUBPORT_UP, both, list->s);
    new.rate[QOS_DOWN] = subport_rate(l, v, SUBPORT_DOWN, both, list->s);
    new.whole = v[SUBPORT_WHOLE].v.u != 0;
    new.max_subscribers = (uint32_t)v[SUBPORT_MAX].v.u;
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        new.class_rate[c] = list->s->rate;
    check_subport(l, list->s, v, group, &new);
    if (list->s->n_subports == QOS_MAX_SUBPORTS)
        key_error(l, group, "subports", "expected at most %d", QOS_MAX_SUBPORTS);
    else
        add_subport(list->s, &new);
}

static void check_ports_used(struct loader *l, const config_setting_t *setting,
                             const struct subport_list *list)
{
    for (unsigned i = 0; i < list->n_ports; i++) {
        bool used = false;

        for (unsigned k = 0; k < list->s->n_subports; k++)
            used |= list->s->subports[k].port == list->ports[i];
        if (!used)
            key_error(l, setting, "subports", "the scheduler's port '%s' has none",
                      l->m->ports[list->ports[i]].name);
    }
}

/* Without subports each port is one. */
void load_subports(struct loader *l, const struct value *v, struct cfg_scheduler *s,
                   const uint32_t *ports, unsigned n)
{
    struct subport_list list = {.s = s, .ports = ports, .n_ports = n};
    size_t errors = l->d->n_errors;

    if (v->setting != NULL) {
        each_group(l, v->setting, "subports", read_subport, &list);
        if (l->d->n_errors == errors)
            check_ports_used(l, v->setting, &list);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        struct cfg_subport all = {.loc = s->loc,
                                  .name = l->m->ports[ports[i]].name,
                                  .port = ports[i],
                                  .svlan_first = 1,
                                  .svlan_last = 4094,
                                  .rate = {s->rate, s->rate}};

        for (unsigned c = 0; c < QOS_CLASSES; c++)
            all.class_rate[c] = s->rate;
        add_subport(s, &all);
    }
}
