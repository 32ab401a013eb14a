/* SPDX-License-Identifier: BSD-3-Clause */
/* Adding subscribers, for the requests that do. */
#ifndef CONTROL_SUBSCRIBERS_ADD_H
#define CONTROL_SUBSCRIBERS_ADD_H

#include "control/request.h"

/**
 * Add n subscribers, which are entries of r's list: all, or none. Packets find a subscriber with
 * all that belongs to him, or not at all. Returns 0 with the ids in id[]; or -errno, with the
 * reason as an error in r->l.d at its entry, or in why, where it is none of one subscriber alone.
 */
int add_subscribers(struct control *c, struct request *r, struct cfg_subscriber *list, uint32_t n,
                    uint32_t *id, struct refusal *why);

/** Read all entries of r's list of subscribers. Returns false after an error. */
bool read_subscribers(struct request *r, struct cfg_subscriber *list, size_t n);

#endif
