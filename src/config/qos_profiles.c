/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/qos_profiles.h"

#include <string.h>

/* qos = { profiles; dscp_maps; schedulers; }: what they share, and the DSCP maps. */

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
    [QUEUE_CLASS] = KEY_CLASS, [QUEUE_QUEUE] = KEY_QUEUE};

uint8_t take_queue(struct loader *l, const struct value *class, const struct value *queue)
{
    if (class->v.u == QOS_BE)
        return (uint8_t)(QOS_BE + queue->v.u);
    if (value_given(queue) && queue->v.u > 0)
        value_error(l, queue, "queue", "only class 'be' has more than one queue");
    return (uint8_t) class->v.u;
}

uint8_t read_queue(struct loader *l, const config_setting_t *group, const char *what)
{
    struct value v[N_QUEUE_KEYS];

    if (!config_setting_is_group(group)) {
        key_error(l, group, config_setting_name(group),
                  "expected a group: { class = \"be\"; queue = 0; }");
        return QOS_BE;
    }
    return read_group(l, group, what, queue_keys, N_QUEUE_KEYS, v)
               ? take_queue(l, &v[QUEUE_CLASS], &v[QUEUE_QUEUE])
               : QOS_BE;
}

enum { ENTRY_DSCP, ENTRY_CLASS, ENTRY_QUEUE, N_ENTRY_KEYS };

static const struct key entry_keys[N_ENTRY_KEYS] = {
    [ENTRY_DSCP] = KEY_DSCP,
    [ENTRY_CLASS] = KEY_CLASS,
    [ENTRY_QUEUE] = KEY_QUEUE,
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
    queue = take_queue(l, &v[ENTRY_CLASS], &v[ENTRY_QUEUE]);
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

/* qos.profiles = { NAME = { rate; burst; ...; up = { ... }; down = { ... }; }; }: how a subscriber
 * is shaped. */

#define FRAME_MAX  1522u   /* a default burst holds two of them */
#define BURST_NS   5000000 /* and what the rate makes in this time */
#define CAPPED_MS  40      /* default time over which class rates are enforced */
#define NS_PER_MS  1000000
#define MAX_PERIOD (60000ull * NS_PER_MS)

enum {
    SHAPE_RATE,
    SHAPE_BURST,
    SHAPE_PERIOD,
    SHAPE_CLASSES,
    SHAPE_WEIGHTS,
    SHAPE_OV_WEIGHT,
    N_SHAPE_KEYS
};
enum { PROFILE_UP = N_SHAPE_KEYS, PROFILE_DOWN, N_PROFILE_KEYS };

static const struct key profile_keys[N_PROFILE_KEYS] = {
    [SHAPE_RATE] = {"rate", KEY_RATE, .min = 8000, .max = 1000000000000,
                    .help = "what a subscriber gets at most"},
    [SHAPE_BURST] = {"burst", KEY_STRING,
                     .help = "what may leave at once: bytes, or a time at the rate (default 5ms)"},
    [SHAPE_PERIOD] = {"tc_period", KEY_DURATION, .min = NS_PER_MS, .max = MAX_PERIOD,
                      .help = "the time over which the rates of classes hold (default 40ms)"},
    [SHAPE_CLASSES] = {"class_rates", KEY_LIST,
                       .help = "classes that get less: ( { class; rate; }, ... )"},
    [SHAPE_WEIGHTS] = {"weights", KEY_LIST, .help = "of the four queues of best effort"},
    [SHAPE_OV_WEIGHT] = {"oversubscription_weight", KEY_COUNT, .def = "1", .min = 1, .max = 255,
                         .help =
                             "share of best effort in a subport that has sold more than it has"},
    [PROFILE_UP] = {"up", KEY_OTHER, .help = "what is different upstream: { rate; ... }"},
    [PROFILE_DOWN] = {"down", KEY_OTHER, .help = "what is different downstream: { rate; ... }"},
};

static void read_class_rate(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    static const struct key keys[] = {
        {"class", KEY_ENUM, .choices = qos_class_names, .required = true},
        {"rate", KEY_RATE, .min = 8, .max = 1000000000000, .required = true}};
    struct qos_shape *shape = ctx;
    struct value v[2];

    (void)i;
    if (!read_group(l, group, "class rate", keys, 2, v))
        return;
    if (v[1].v.u > shape->rate) {
        key_error(l, v[1].setting, "rate", "expected at most the profile's own rate");
        return;
    }
    shape->class_rate[v[0].v.u] = v[1].v.u;
}

static void read_weights(struct loader *l, const config_setting_t *list, struct qos_shape *shape)
{
    if (!config_setting_is_array(list) || config_setting_length(list) != QOS_BE_QUEUES ||
        config_setting_type(config_setting_get_elem(list, 0)) != CONFIG_TYPE_INT) {
        key_error(l, list, "weights", "expected an array of %d numbers, such as [1, 1, 1, 1]",
                  QOS_BE_QUEUES);
        return;
    }
    for (unsigned i = 0; i < QOS_BE_QUEUES; i++) {
        int weight = config_setting_get_int_elem(list, (int)i);

        if (weight < 1 || weight > 255)
            key_error(l, list, "weights", "%d: expected 1..255", weight);
        else
            shape->weight[i] = (uint8_t)weight;
    }
}

/* As bytes, or as the time in which the rate makes so much. */
static uint64_t read_burst(struct loader *l, const struct value *v, uint64_t rate)
{
    uint64_t bytes, ns = BURST_NS;

    if (v->setting != NULL && v->set && parse_size(v->v.s, &bytes) == 0)
        return bytes;
    if (v->setting != NULL && v->set && parse_duration(v->v.s, &ns) != 0) {
        key_error(l, v->setting, "burst",
                  "expected bytes, such as \"16K\", or a time at the rate, such as \"5ms\"");
        ns = BURST_NS;
    }
    bytes = (uint64_t)((double)rate / 8 * (double)ns / 1e9);
    return v->setting != NULL || bytes >= 2 * FRAME_MAX ? bytes : 2 * FRAME_MAX;
}

static void take_shape(struct loader *l, const struct value *v, struct qos_shape *shape)
{
    bool new_rate = v[SHAPE_RATE].setting != NULL;
    uint64_t old = shape->rate;

    if (new_rate)
        shape->rate = v[SHAPE_RATE].v.u;
    if (new_rate || v[SHAPE_BURST].setting != NULL)
        shape->burst = read_burst(l, &v[SHAPE_BURST], shape->rate);
    if (new_rate)
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            if (shape->class_rate[c] == old || shape->class_rate[c] > shape->rate)
                shape->class_rate[c] = shape->rate; /* it has no cap, or one above all it gets */
    if (v[SHAPE_CLASSES].setting != NULL) {
        if (shape->tc_period_ms == 0)
            shape->tc_period_ms = CAPPED_MS;
        each_group(l, v[SHAPE_CLASSES].setting, "class_rates", read_class_rate, shape);
    }
    if (v[SHAPE_PERIOD].setting != NULL)
        shape->tc_period_ms = (uint32_t)(v[SHAPE_PERIOD].v.u / NS_PER_MS);
    if (v[SHAPE_WEIGHTS].setting != NULL)
        read_weights(l, v[SHAPE_WEIGHTS].setting, shape);
    if (v[SHAPE_OV_WEIGHT].setting != NULL)
        shape->oversubscription_weight = (uint8_t)v[SHAPE_OV_WEIGHT].v.u;
}

/* both: what the profile says for both directions, of which this one gives the rest. */
static void read_direction(struct loader *l, const struct value *given, const struct value *both,
                           struct qos_shape *shape)
{
    struct value v[N_SHAPE_KEYS];
    uint64_t unused;

    if (given->setting == NULL)
        return;
    if (!config_setting_is_group(given->setting)) {
        key_error(l, given->setting, config_setting_name(given->setting),
                  "expected a group: { rate = \"10M\"; }");
        return;
    }
    if (!read_group(l, given->setting, "direction of a profile", profile_keys, N_SHAPE_KEYS, v))
        return;
    if (v[SHAPE_BURST].setting == NULL && both[SHAPE_BURST].set &&
        (parse_size(both[SHAPE_BURST].v.s, &unused) == 0 ||
         parse_duration(both[SHAPE_BURST].v.s, &unused) == 0))
        v[SHAPE_BURST] = both[SHAPE_BURST];
    take_shape(l, v, shape);
}

static void read_profile(struct loader *l, const config_setting_t *group, const char *name)
{
    struct cfg_qos *q = &l->m->qos;
    struct cfg_profile p = {.loc = setting_loc(l, group), .name = name};
    struct qos_shape *up = &p.shape[QOS_UP], *down = &p.shape[QOS_DOWN];
    struct value v[N_PROFILE_KEYS];
    bool ok = read_group(l, group, "profile", profile_keys, N_PROFILE_KEYS, v);

    memset(up->weight, 1, sizeof(up->weight));
    up->oversubscription_weight = 1;
    take_shape(l, v, up);
    *down = *up;
    read_direction(l, &v[PROFILE_UP], v, up);
    read_direction(l, &v[PROFILE_DOWN], v, down);
    if (ok && (up->rate == 0 || down->rate == 0))
        key_error(
            l, group, name,
            "has no rate: expected rate = \"10M\", or up = { rate = ...; } and down = { ... }");
    GROW_ONE(q->profiles, q->n_profiles);
    q->profiles[q->n_profiles++] = p;
}

void load_profiles(struct loader *l, const config_setting_t *profiles)
{
    each_named(l, profiles, "profiles", QOS_MAX_PROFILES, read_profile);
}
