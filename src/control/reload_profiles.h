/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles that a reload brings or changes. One that is gone stays, for those who have it. */
#ifndef CONTROL_RELOAD_PROFILES_H
#define CONTROL_RELOAD_PROFILES_H

#include <jansson.h>

#include "control/change.h"

struct profile_delta {
    const struct cfg_qos *other;
    unsigned n_added, n_changed;
    uint16_t added[QOS_MAX_PROFILES]; /* index in other->profiles[] */
    struct {
        uint16_t now, other; /* indices */
    } changed[QOS_MAX_PROFILES];
};

void profiles_compare(struct profile_delta *p, const struct control *c,
                      const struct cfg_model *other);

/** Have the schedulers room for them? Each change takes a place, too. Returns 0 or -EINVAL. */
int profiles_check(const struct profile_delta *p, const struct control *c, struct refusal *why);

/** Add them, and give who has a changed one its new shape. Returns 0 or -errno. */
int profiles_apply(const struct profile_delta *p, struct control *c, struct refusal *why);

/** {"added": [names], "changed": [names]} */
json_t *profile_names(const struct profile_delta *p);

#endif
