/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of qos = { profiles; dscp_maps; schedulers; }, in the order in which they are read. */
#ifndef CONFIG_QOS_PROFILES_H
#define CONFIG_QOS_PROFILES_H

#include "config/keys.h"

/** "0".."11" and "be", in the order of the classes: for KEY_ENUM. */
extern const char *const qos_class_names[];

#define MAX_DSCP_MAPS 64

void load_profiles(struct loader *l, const config_setting_t *profiles);
void load_dscp_maps(struct loader *l, const config_setting_t *maps);
void load_schedulers(struct loader *l, const config_setting_t *schedulers);

/** classes = ( { class; queue; red; pie; }, ... ) of a scheduler. */
void load_classes(struct loader *l, const config_setting_t *classes, struct cfg_scheduler *s);

/** Its subports, as v says; without any, each of its n ports is one. */
void load_subports(struct loader *l, const struct value *v, struct cfg_scheduler *s,
                   const uint32_t *ports, unsigned n);

/** Is a port one of these? */
bool is_among(const uint32_t *ports, unsigned n, uint32_t port);

/* Keys that entries of a DSCP map and requests have alike. */
#define KEY_DSCP                                                                                   \
    {                                                                                              \
        "dscp", KEY_COUNT, .many = KEY_RANGE, .max = 63, .required = true,                         \
                           .help = "the DSCP of packets"                                           \
    }
#define KEY_CLASS                                                                                  \
    {                                                                                              \
        "class", KEY_ENUM, .choices = qos_class_names, .required = true,                           \
                           .help = "the class that they are sent to"                               \
    }
#define KEY_QUEUE                                                                                  \
    {                                                                                              \
        "queue", KEY_COUNT, .def = "0", .max = QOS_BE_QUEUES - 1,                                  \
                            .help = "the queue there, of best effort only"                         \
    }

/** The rate of a subport, of both directions or of one. */
#define KEY_SUBPORT_RATE(key, must)                                                                \
    {                                                                                              \
        key, KEY_RATE, .min = 8000, .max = QOS_MAX_RATE, .required = (must),                       \
                       .help = "what its subscribers get together at most"                         \
    }

/** Queue 0..15 of a pipe that right values of KEY_CLASS and KEY_QUEUE name. Reports a queue of a
 * class that has but one. */
uint8_t take_queue(struct loader *l, const struct value *class, const struct value *queue);

/** Is a subport's rate at most that of its scheduler? Reports where it is not. */
bool check_subport_rate(struct loader *l, const struct value *v, const char *key,
                        const struct cfg_scheduler *s);

/** Report at loc what a scheduler, on clocks as of qos_check_clock(), cannot do of a profile. */
void check_profile(struct loader *l, struct loc loc, const struct cfg_scheduler *s,
                   const struct cfg_profile *p, const uint64_t clock[QOS_DIRECTIONS]);

/** Queue 0..15 of a pipe that a { class; queue; } group names. */
uint8_t read_queue(struct loader *l, const config_setting_t *group, const char *what);

/**
 * Call read for each group in a group of groups, { NAME = { ... }; ... }, whose name is right.
 * Returns how many there were; names that are not right are reported.
 */
unsigned each_named(struct loader *l, const config_setting_t *groups, const char *key, unsigned max,
                    void (*read)(struct loader *l, const config_setting_t *group,
                                 const char *name));

#endif
