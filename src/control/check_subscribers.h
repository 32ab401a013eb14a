/* SPDX-License-Identifier: BSD-3-Clause */
/* Can these subscribers be added? */
#ifndef CONTROL_CHECK_SUBSCRIBERS_H
#define CONTROL_CHECK_SUBSCRIBERS_H

#include "control/change.h"

/** As add_subscribers() says. Waits until there is room where some of it rests (ids.h). Returns 0
 * or -errno. */
int check_subscribers(struct control *c, const struct cfg_subscriber *list, uint32_t n,
                      uint32_t *which, struct refusal *why);

/** The subport of a scheduler that has a subscriber's S-VLAN, or CFG_NONE. */
uint32_t subport_of(const struct cfg_scheduler *shape, const struct cfg_subscriber *s);

#endif
