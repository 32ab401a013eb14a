/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether subscribers can be added or changed: nobody holds what they would, and there is room. */
#ifndef CONTROL_SUBSCRIBERS_ROOM_H
#define CONTROL_SUBSCRIBERS_ROOM_H

#include "control/request.h"

/** Can n new subscribers be added? Waits for ids and pipes of those who were removed, for a second
 * at most. Returns 0, or -EINVAL with errors in r or a reason in why. */
int check_new_subscribers(struct control *c, struct request *r, const struct cfg_subscriber *list,
                          uint32_t n, struct refusal *why);

/** Can n subscribers, whose ids are in id[], become what the list says? Their lines, ports, keys
 * and pipes are the same. What one gives up another of the list may get. The same returns. */
int check_changed_subscribers(struct control *c, struct request *r,
                              const struct cfg_subscriber *list, const uint32_t *id, uint32_t n,
                              struct refusal *why);

#endif
