/* SPDX-License-Identifier: BSD-3-Clause */
/* What may be changed while traffic flows. Everything is checked before anything is changed. */
#ifndef CONTROL_CHANGE_H
#define CONTROL_CHANGE_H

#include "control/control.h"

/** Why a change was refused, in words. */
struct refusal {
    char text[256];
};

/** Says why, for those that return NULL or an error. Returns -EINVAL. */
int refuse(struct refusal *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct profile_change {
    uint32_t subscriber; /* id, from 1 */
    uint32_t profile;    /* index in qos.profiles[] */
};

/**
 * Give n subscribers other profiles, in all directions in which they are shaped. Each subscriber
 * changes at once, as seen by his packets in one direction; the list takes its time. Returns 0;
 * -EINVAL: nothing was changed; -ETIMEDOUT: a core did not answer and the rest was not changed.
 */
int change_profiles(struct control *c, const struct profile_change *list, uint32_t n,
                    struct refusal *why);

/** Change a subport's rate, bit/s. */
int change_subport_rate(struct control *c, unsigned scheduler, unsigned subport,
                        enum qos_direction direction, uint64_t rate, struct refusal *why);

/** Send what comes with a DSCP (0..63) to another queue (0..15). */
int change_dscp(struct control *c, unsigned scheduler, enum qos_direction direction, unsigned dscp,
                unsigned queue, struct refusal *why);

#endif
