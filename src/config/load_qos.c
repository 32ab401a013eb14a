/* SPDX-License-Identifier: BSD-3-Clause */
/* qos = { profiles; dscp_maps; schedulers; }: what they share, and the DSCP maps. */
#include <string.h>

#include "config/load_qos.h"

const char *const qos_class_names[] = {"0", "1", "2", "3",  "4",  "5",  "6",
                                       "7", "8", "9", "10", "11", "be", NULL};

unsigned each_named(struct loader *l, const config_setting_t *groups, const char *key, unsigned max,
                    void (*read)(struct loader *l, const config_setting_t *group, const char *name))
{
    const struct key name_key = {.name = "name", .type = KEY_NAME};
    struct param_value unused;
    unsigned n = 0;

    if (groups == NULL)
        return 0;
    if (!config_setting_is_group(groups)) {
        key_error(l, groups, key, "expected a group: { NAME = { ... }; }");
        return 0;
    }
    for (int i = 0; i < config_setting_length(groups); i++) {
        const config_setting_t *group = config_setting_get_elem(groups, (unsigned)i);
        const char *name = config_setting_name(group);

        if (!config_setting_is_group(group))
            key_error(l, group, name, "expected a group: { ... }");
        else if (key_parse(&name_key, name, &unused) != 0)
            key_error(l, group, name, "a name has at most %d letters, digits, '_' and '-'",
                      CFG_MAX_NAME);
        else if (n == max)
            key_error(l, group, name, "expected at most %u in %s", max, key);
        else
            n++, read(l, group, keep_string(l, name));
    }
    return n;
}

enum { QUEUE_CLASS, QUEUE_QUEUE, N_QUEUE_KEYS };

static const struct key queue_keys[N_QUEUE_KEYS] = {
    [QUEUE_CLASS] = {"class", KEY_ENUM, .choices = qos_class_names, .required = true},
    [QUEUE_QUEUE] = {"queue", KEY_COUNT, .def = "0", .max = QOS_BE_QUEUES - 1},
};

static uint8_t queue_of(struct loader *l, const struct value *v)
{
    uint64_t class = v[QUEUE_CLASS].v.u, queue = v[QUEUE_QUEUE].v.u;

    if (class != QOS_BE && v[QUEUE_QUEUE].setting != NULL && queue > 0)
        key_error(l, v[QUEUE_QUEUE].setting, "queue", "only class 'be' has more than one queue");
    return (uint8_t)(class == QOS_BE ? QOS_BE + queue : class);
}

uint8_t read_queue(struct loader *l, const config_setting_t *group, const char *what)
{
    struct value v[N_QUEUE_KEYS];

    if (!config_setting_is_group(group)) {
        key_error(l, group, config_setting_name(group),
                  "expected a group: { class = \"be\"; queue = 0; }");
        return QOS_BE;
    }
    return read_group(l, group, what, queue_keys, N_QUEUE_KEYS, v) ? queue_of(l, v) : QOS_BE;
}

enum { ENTRY_DSCP, ENTRY_CLASS, ENTRY_QUEUE, N_ENTRY_KEYS };

static const struct key entry_keys[N_ENTRY_KEYS] = {
    [ENTRY_DSCP] = {"dscp", KEY_RANGE, .max = 63, .required = true},
    [ENTRY_CLASS] = {"class", KEY_ENUM, .choices = qos_class_names, .required = true},
    [ENTRY_QUEUE] = {"queue", KEY_COUNT, .def = "0", .max = QOS_BE_QUEUES - 1},
};

#define UNMAPPED 0xff

static void read_entry(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct cfg_dscp_map *map = ctx;
    struct value v[N_ENTRY_KEYS];
    uint8_t queue;

    (void)i;
    if (!read_group(l, group, "entry of a DSCP map", entry_keys, N_ENTRY_KEYS, v))
        return;
    queue = queue_of(l, &v[ENTRY_CLASS]);
    for (uint64_t dscp = v[ENTRY_DSCP].v.u; dscp <= v[ENTRY_DSCP].v.u2; dscp++) {
        if (map->queue[dscp] != UNMAPPED) {
            key_error(l, v[ENTRY_DSCP].setting, "dscp", "%u is mapped by an entry before this one",
                      (unsigned)dscp);
            return; /* one message for all of them */
        }
        map->queue[dscp] = queue;
    }
}

static void read_map(struct loader *l, const config_setting_t *group, const char *name)
{
    enum { MAP_QUEUES, MAP_DEFAULT, N_MAP_KEYS };
    static const struct key keys[N_MAP_KEYS] = {{.name = "queues", .type = KEY_OTHER},
                                                {.name = "default", .type = KEY_OTHER}};
    struct cfg_qos *q = &l->m->qos;
    struct value v[N_MAP_KEYS];
    struct cfg_dscp_map map = {.loc = setting_loc(l, group), .name = name};
    uint8_t fallback = UNMAPPED;
    size_t errors = l->d->n_errors;

    memset(map.queue, UNMAPPED, sizeof(map.queue));
    read_group(l, group, "DSCP map", keys, N_MAP_KEYS, v);
    each_group(l, v[MAP_QUEUES].setting, "queues", read_entry, &map);
    if (v[MAP_DEFAULT].setting != NULL)
        fallback = read_queue(l, v[MAP_DEFAULT].setting, "default of a DSCP map");
    if (l->d->n_errors > errors && fallback == UNMAPPED)
        fallback = QOS_BE; /* an entry that is wrong maps nothing, and is reported */
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        if (map.queue[dscp] != UNMAPPED)
            continue;
        if (fallback == UNMAPPED) {
            key_error(l, group, name,
                      "DSCP %u is not mapped: add it, or default = { class = \"be\"; }", dscp);
            fallback = QOS_BE; /* one message for all holes */
        }
        map.queue[dscp] = fallback;
    }
    GROW_ONE(q->dscp_maps, q->n_dscp_maps);
    q->dscp_maps[q->n_dscp_maps++] = map;
}

void load_dscp_maps(struct loader *l, const config_setting_t *maps)
{
    each_named(l, maps, "dscp_maps", MAX_DSCP_MAPS, read_map);
}

void load_qos(struct loader *l, const config_setting_t *qos)
{
    enum { QOS_KEY_PROFILES, QOS_KEY_MAPS, QOS_KEY_SCHEDULERS, QOS_KEY_MAX, N_KEYS };
    static const struct key keys[N_KEYS] = {
        {.name = "profiles", .type = KEY_OTHER},
        {.name = "dscp_maps", .type = KEY_OTHER},
        {.name = "schedulers", .type = KEY_OTHER},
        {.name = "max_profiles", .type = KEY_COUNT, .min = 1, .max = QOS_MAX_PROFILES}};
    struct value v[N_KEYS];

    if (qos == NULL)
        return;
    if (!config_setting_is_group(qos)) {
        key_error(l, qos, "qos", "expected a group: { profiles = ...; schedulers = ...; }");
        return;
    }
    read_group(l, qos, "group qos", keys, N_KEYS, v);
    load_profiles(l, v[QOS_KEY_PROFILES].setting);
    load_room(l, &v[QOS_KEY_MAX], "max_profiles", l->m->qos.n_profiles, &l->m->qos.max_profiles);
    load_dscp_maps(l, v[QOS_KEY_MAPS].setting);
    load_schedulers(l, v[QOS_KEY_SCHEDULERS].setting);
}
