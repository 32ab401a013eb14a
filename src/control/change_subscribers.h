/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers come and go while traffic flows. Everything is checked before anything is changed. */
#ifndef CONTROL_CHANGE_SUBSCRIBERS_H
#define CONTROL_CHANGE_SUBSCRIBERS_H

#include "control/change.h"

/** Which of a list was refused. */
#define CHANGE_NONE UINT32_MAX

/**
 * Add n subscribers (pipe is not read). Each is found by packets at once and with all that he has,
 * or not at all. Returns 0 with the ids in id[]; or -errno: none was added, and *which of them is
 * wrong (CHANGE_NONE: not one alone).
 */
int add_subscribers(struct control *c, const struct cfg_subscriber *list, uint32_t n, uint32_t *id,
                    uint32_t *which, struct refusal *why);

/**
 * Remove n subscribers, by id. From now on their packets are dropped as unknown; what waits in
 * their queues is dropped, too (not_shaped; librte_sched sends it). Returns 0, -EINVAL: none was
 * removed; -ETIMEDOUT: a core does not answer: they are removed, and what waits may still be sent.
 */
int remove_subscribers(struct control *c, const uint32_t *id, uint32_t n, struct refusal *why);

/** Give a subscriber a static MAC, or (NULL) have it learned. */
int change_mac(struct control *c, uint32_t id, const uint8_t *mac, struct refusal *why);

#endif
