/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of qos = { profiles; dscp_maps; schedulers; }, in the order in which they are read. */
#ifndef CONFIG_LOAD_QOS_H
#define CONFIG_LOAD_QOS_H

#include "config/load_value.h"

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
