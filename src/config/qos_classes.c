/* SPDX-License-Identifier: BSD-3-Clause */
/* classes = ( { class; queue; aqm; red; pie; codel; l4s; }, ... ) of a scheduler: queues, the same
 * for all its subscribers. */
#include "config/qos_profiles.h"

#define SMALLEST_FRAME 64    /* bytes */
#define LARGEST_QUEUE  32768 /* packets */
#define DEFAULT_QUEUE  "5ms"
#define MANAGED_NS                                                                                 \
    UINT64_C(200000000)  /* of a queue with FQ-CoDel by default: it is not to limit                \
                          */
#define LEAST_MANAGED 16 /* packets */
#define US            1000
#define MS            1000000
#define MOST_ACTIVE   (1u << 20)

enum {
    CLASS_CLASS,
    CLASS_QUEUE,
    CLASS_AQM,
    CLASS_RED,
    CLASS_PIE,
    CLASS_CODEL,
    CLASS_L4S,
    N_CLASS_KEYS
};

static const char *const aqm_names[] = {[AQM_TAIL] = "none",   [AQM_RED] = "red", [AQM_PIE] = "pie",
                                        [AQM_CODEL] = "codel", [AQM_L4S] = "l4s", NULL};

static const struct key class_keys[N_CLASS_KEYS] = {
    [CLASS_CLASS] = {"class", KEY_ENUM, .choices = qos_class_names, .required = true},
    [CLASS_QUEUE] = {"queue", KEY_OTHER}, /* packets or a time */
    [CLASS_AQM] = {"aqm", KEY_ENUM, .choices = aqm_names},
    [CLASS_RED] = {"red", KEY_OTHER},
    [CLASS_PIE] = {"pie", KEY_OTHER},
    [CLASS_CODEL] = {"codel", KEY_OTHER},
    [CLASS_L4S] = {"l4s", KEY_OTHER},
};

/* The highest rate at which a profile lets a class fill its queue. */
static uint64_t fastest(const struct cfg_qos *q, unsigned class)
{
    uint64_t rate = 0;

    for (unsigned i = 0; i < q->n_profiles; i++)
        for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
            if (q->profiles[i].shape[d].class_rate[class] > rate)
                rate = q->profiles[i].shape[d].class_rate[class];
    return rate;
}

static uint16_t size_in_packets(struct loader *l, const config_setting_t *s, uint64_t packets)
{
    if (packets >= 1 && packets <= LARGEST_QUEUE && (packets & (packets - 1)) == 0)
        return (uint16_t)packets;
    key_error(l, s, "queue", "expected a power of two, 1..%d packets, or a time such as \"5ms\"",
              LARGEST_QUEUE);
    return 64;
}

/* The fewest packets, a power of two, that hold what a time does of the smallest frames at the
 * fastest profile's rate, or the two largest frames that every queue has room for. More than
 * LARGEST_QUEUE is an error where the time was configured. */
static uint16_t size_of_time(struct loader *l, const config_setting_t *setting, uint64_t ns,
                             unsigned class, const struct cfg_scheduler *s)
{
    double need = (double)fastest(&l->m->qos, class) / 8 * (double)ns / 1e9,
           least = (double)QOS_QUEUE_FRAMES * qos_largest_frame(s);
    uint64_t size = 1;

    need = (need > least ? need : least) / SMALLEST_FRAME;
    while (size < LARGEST_QUEUE && (double)size < need)
        size *= 2;
    if ((double)size < need && setting != NULL)
        key_error(
            l, setting, "queue",
            "takes %.0f packets of 64 bytes at the fastest profile's rate: expected at most %d",
            need, LARGEST_QUEUE);
    return (uint16_t)size;
}

/* The length of a queue with FQ-CoDel of which nothing is said: a time, and as many of the largest
 * frames as the fastest profile sends in it. */
static void manage_length(struct loader *l, unsigned class, const struct cfg_scheduler *s,
                          struct cfg_class *c)
{
    double bytes = (double)fastest(&l->m->qos, class) / 8 * (double)MANAGED_NS / 1e9,
           need = bytes / qos_largest_frame(s);

    c->hold_ns = MANAGED_NS;
    c->size = LEAST_MANAGED;
    while (c->size < LARGEST_QUEUE && c->size < need)
        c->size *= 2;
}

/* Read the length of a class's queues: packets, or a time. setting NULL: not given. */
static void read_queue_length(struct loader *l, const config_setting_t *setting, unsigned class,
                              const struct cfg_scheduler *s, struct cfg_class *c)
{
    const char *text = DEFAULT_QUEUE;
    uint64_t packets, ns;

    if (setting != NULL && config_setting_type(setting) == CONFIG_TYPE_INT) {
        c->size = size_in_packets(l, setting, (uint64_t)config_setting_get_int(setting));
        return;
    }
    if (setting != NULL)
        text = config_setting_get_string(setting);
    if (text != NULL && parse_count(text, &packets) == 0) {
        c->size = size_in_packets(l, setting, packets);
        return;
    }
    if (text == NULL || parse_duration(text, &ns) != 0 || ns == 0) {
        key_error(l, setting, "queue", "expected packets, such as 64, or a time, such as \"5ms\"");
        c->size = 64;
        return;
    }
    c->size = size_of_time(l, setting, ns, class, s);
    c->hold_ns = ns;
}

/* Does a class mark? The wheel does where nothing is said, librte_sched cannot. */
static bool read_ecn(struct loader *l, const struct value *ecn, const struct cfg_scheduler *s)
{
    if (s->backend == QOS_WHEEL)
        return ecn->v.u != 0;
    if (ecn->setting != NULL && ecn->v.u != 0)
        key_error(l, ecn->setting, "ecn",
                  "librte_sched marks nothing: expected false, or the wheel");
    return false;
}

static void read_red(struct loader *l, const config_setting_t *group, const struct cfg_scheduler *s,
                     struct cfg_class *c)
{
    enum { RED_MIN, RED_MAX, RED_PROBABILITY, RED_WEIGHT, RED_ECN, N_KEYS };
    static const struct key keys[N_KEYS] = {
        [RED_MIN] = {"min", KEY_COUNT, .min = 1, .max = 1022, .required = true},
        [RED_MAX] = {"max", KEY_COUNT, .min = 2, .max = 1023, .required = true},
        [RED_PROBABILITY] = {"inverse_probability", KEY_COUNT, .def = "10", .min = 1, .max = 255},
        [RED_WEIGHT] = {"weight_log2", KEY_COUNT, .def = "9", .min = 1, .max = 12},
        [RED_ECN] = {"ecn", KEY_BOOL, .def = "true"},
    };
    struct value v[N_KEYS];

    if (!read_group(l, group, "RED", keys, N_KEYS, v))
        return;
    c->aqm = AQM_RED;
    c->red_min = (uint16_t)v[RED_MIN].v.u;
    c->red_max = (uint16_t)v[RED_MAX].v.u;
    c->red_inverse_probability = (uint8_t)v[RED_PROBABILITY].v.u;
    c->red_weight_log2 = (uint8_t)v[RED_WEIGHT].v.u;
    c->ecn = read_ecn(l, &v[RED_ECN], s);
}

static void read_pie(struct loader *l, const config_setting_t *group, const struct cfg_scheduler *s,
                     struct cfg_class *c)
{
    enum { PIE_TARGET, PIE_UPDATE, PIE_BURST, PIE_TAIL, PIE_ECN, N_KEYS };
    static const struct key keys[N_KEYS] = {
        [PIE_TARGET] = {"target", KEY_DURATION, .def = "15ms", .min = MS, .max = 60000ull * MS},
        [PIE_UPDATE] = {"update", KEY_DURATION, .def = "15ms", .min = MS, .max = 60000ull * MS},
        [PIE_BURST] = {"max_burst", KEY_DURATION, .def = "150ms", .min = MS, .max = 60000ull * MS},
        [PIE_TAIL] = {"tail", KEY_COUNT, .min = 1, .max = LARGEST_QUEUE},
        [PIE_ECN] = {"ecn", KEY_BOOL, .def = "true"},
    };
    struct value v[N_KEYS];

    if (!read_group(l, group, "PIE", keys, N_KEYS, v))
        return;
    c->aqm = AQM_PIE;
    c->pie_target_ms = (uint16_t)(v[PIE_TARGET].v.u / MS);
    c->pie_update_ms = (uint16_t)(v[PIE_UPDATE].v.u / MS);
    c->pie_max_burst_ms = (uint16_t)(v[PIE_BURST].v.u / MS);
    c->pie_tail = v[PIE_TAIL].setting != NULL ? (uint16_t)v[PIE_TAIL].v.u : c->size;
    c->ecn = read_ecn(l, &v[PIE_ECN], s);
}

static void read_codel(struct loader *l, const config_setting_t *group,
                       const struct cfg_scheduler *s, struct cfg_class *c)
{
    enum { CODEL_TARGET, CODEL_INTERVAL, CODEL_ECN, CODEL_ACTIVE, N_KEYS };
    static const struct key keys[N_KEYS] = {
        [CODEL_TARGET] = {"target", KEY_DURATION, .def = "5ms", .min = US, .max = 1000ull * MS},
        [CODEL_INTERVAL] = {"interval", KEY_DURATION, .def = "100ms", .min = MS,
                            .max = 1000ull * MS},
        [CODEL_ECN] = {"ecn", KEY_BOOL, .def = "true"},
        [CODEL_ACTIVE] = {"active", KEY_COUNT, .def = "4K", .min = 1, .max = MOST_ACTIVE},
    };
    struct value v[N_KEYS];

    if (!read_group(l, group, "FQ-CoDel", keys, N_KEYS, v))
        return;
    c->aqm = AQM_CODEL;
    c->codel_target_us = (uint32_t)(v[CODEL_TARGET].v.u / US);
    c->codel_interval_us = (uint32_t)(v[CODEL_INTERVAL].v.u / US);
    c->ecn = read_ecn(l, &v[CODEL_ECN], s);
    c->codel_active = (uint32_t)v[CODEL_ACTIVE].v.u;
}

static void read_l4s(struct loader *l, const config_setting_t *group, const struct cfg_scheduler *s,
                     struct cfg_class *c)
{
    enum { L4S_TARGET, L4S_STEP, L4S_COUPLING, N_KEYS };
    static const struct key keys[N_KEYS] = {
        [L4S_TARGET] = {"target", KEY_DURATION, .def = "15ms", .min = US, .max = 1000ull * MS},
        [L4S_STEP] = {"step", KEY_DURATION, .def = "1ms", .min = US, .max = 1000ull * MS},
        [L4S_COUPLING] = {"coupling", KEY_COUNT, .def = "2", .min = 1, .max = QOS_L4S_COUPLING_MAX},
    };
    struct value v[N_KEYS];

    (void)s;
    if (!read_group(l, group, "L4S", keys, N_KEYS, v))
        return;
    c->aqm = AQM_L4S;
    c->l4s_target_us = (uint32_t)(v[L4S_TARGET].v.u / US);
    c->l4s_step_us = (uint32_t)(v[L4S_STEP].v.u / US);
    c->l4s_coupling = (uint8_t)v[L4S_COUPLING].v.u;
}

static const struct discipline {
    const char *title, *example;
    unsigned key;
    void (*read)(struct loader *l, const config_setting_t *group, const struct cfg_scheduler *s,
                 struct cfg_class *c);
} disciplines[] = {
    [AQM_RED] = {"RED", "{ min = 16; max = 48; }", CLASS_RED, read_red},
    [AQM_PIE] = {"PIE", "{ target = \"15ms\"; }", CLASS_PIE, read_pie},
    [AQM_CODEL] = {"FQ-CoDel", "{ target = \"5ms\"; }", CLASS_CODEL, read_codel},
    [AQM_L4S] = {"L4S", "{ target = \"15ms\"; }", CLASS_L4S, read_l4s},
};

/* The discipline that a group chooses, or AQM_TAIL after an error. chosen: by what was read so far.
 */
static enum qos_aqm by_group(struct loader *l, const config_setting_t *group, enum qos_aqm aqm,
                             bool chosen, enum qos_aqm before)
{
    const struct discipline *d = &disciplines[aqm];

    if (!config_setting_is_group(group))
        key_error(l, group, aqm_names[aqm], "expected a group: %s", d->example);
    else if (chosen && before == AQM_TAIL)
        key_error(l, group, aqm_names[aqm], "aqm is \"none\" in this class");
    else if (chosen && before != aqm)
        key_error(l, group, aqm_names[aqm], "this class has %s already", disciplines[before].title);
    else
        return aqm;
    return AQM_TAIL;
}

/* Does a class have FQ-CoDel where nothing is said? Best effort does, where the backend knows it.
 */
static bool is_managed(const struct cfg_scheduler *s, unsigned class)
{
    return class == QOS_BE && s->backend == QOS_WHEEL;
}

/* Read the discipline of a class: aqm says which, its group how, and a group alone says both. */
static void read_aqm(struct loader *l, const struct value *v, const struct cfg_scheduler *s,
                     struct cfg_class *c)
{
    bool chosen = v[CLASS_AQM].set;
    enum qos_aqm aqm = chosen ? (enum qos_aqm)v[CLASS_AQM].v.u : AQM_TAIL;
    const config_setting_t *group = NULL;

    for (enum qos_aqm i = AQM_RED; i <= AQM_L4S; i++) {
        const config_setting_t *g = v[disciplines[i].key].setting;

        if (g == NULL || by_group(l, g, i, chosen, aqm) != i)
            continue;
        chosen = true;
        aqm = i;
        group = g;
    }
    if (!chosen && is_managed(s, (unsigned)v[CLASS_CLASS].v.u))
        aqm = AQM_CODEL;
    if (aqm == AQM_RED && group == NULL)
        key_error(l, v[CLASS_AQM].setting, "aqm", "RED needs its thresholds: red = %s",
                  disciplines[AQM_RED].example);
    else if (aqm != AQM_TAIL)
        disciplines[aqm].read(l, group, s, c);
}

static void read_class(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct cfg_scheduler *s = ctx;
    struct value v[N_CLASS_KEYS];
    struct cfg_class *c;

    (void)i;
    if (!read_group(l, group, "class", class_keys, N_CLASS_KEYS, v))
        return;
    c = &s->class[v[CLASS_CLASS].v.u];
    if (c->size != 0) {
        key_error(l, v[CLASS_CLASS].setting, "class", "is in this scheduler already");
        return;
    }
    read_queue_length(l, v[CLASS_QUEUE].setting, (unsigned)v[CLASS_CLASS].v.u, s, c);
    read_aqm(l, v, s, c);
    if (qos_drops_late(c->aqm) && v[CLASS_QUEUE].setting == NULL)
        manage_length(l, (unsigned)v[CLASS_CLASS].v.u, s, c);
}

void load_classes(struct loader *l, const config_setting_t *classes, struct cfg_scheduler *s)
{
    each_group(l, classes, "classes", read_class, s);
    /* best effort is always there: librte_sched cannot do without it */
    if (s->class[QOS_BE].size != 0)
        return;
    read_queue_length(l, NULL, QOS_BE, s, &s->class[QOS_BE]);
    if (is_managed(s, QOS_BE)) {
        read_codel(l, NULL, s, &s->class[QOS_BE]);
        manage_length(l, QOS_BE, s, &s->class[QOS_BE]);
    }
}
