/* SPDX-License-Identifier: BSD-3-Clause */
/* qos.profiles = { NAME = { rate; burst; ...; up = { ... }; down = { ... }; }; }: how a subscriber
 * is shaped. */
#include <string.h>

#include "config/load_qos.h"

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
    [SHAPE_RATE] = {"rate", KEY_RATE, .min = 8000, .max = 1000000000000},
    [SHAPE_BURST] = {"burst", KEY_STRING},
    [SHAPE_PERIOD] = {"tc_period", KEY_DURATION, .min = NS_PER_MS, .max = MAX_PERIOD},
    [SHAPE_CLASSES] = {"class_rates", KEY_OTHER},
    [SHAPE_WEIGHTS] = {"weights", KEY_OTHER},
    [SHAPE_OV_WEIGHT] = {"oversubscription_weight", KEY_COUNT, .def = "1", .min = 1, .max = 255},
    [PROFILE_UP] = {"up", KEY_OTHER},
    [PROFILE_DOWN] = {"down", KEY_OTHER},
};

uint32_t find_profile(const struct loader *l, const char *name)
{
    for (unsigned i = 0; i < l->m->qos.n_profiles; i++)
        if (strcmp(l->m->qos.profiles[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

const char *nearest_profile(const struct loader *l, const char *name)
{
    const char *names[QOS_MAX_PROFILES];

    for (unsigned i = 0; i < l->m->qos.n_profiles; i++)
        names[i] = l->m->qos.profiles[i].name;
    return nearest_name(name, names, l->m->qos.n_profiles);
}

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
