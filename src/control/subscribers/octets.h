/* SPDX-License-Identifier: BSD-3-Clause */
/* What each subscriber has sent and was sent since he was added: the sums of the tasks of type
 * account, less what those had counted under his id before. */
#ifndef CONTROL_SUBSCRIBERS_OCTETS_H
#define CONTROL_SUBSCRIBERS_OCTETS_H

#include <jansson.h>

#include "control/control.h"

/** After the running config is open. Returns 0, also where no task counts, or -1 without memory. */
int accounts_open(struct control *c);
void accounts_close(struct control *c);

/** Begin to count for a new subscriber, before packets can find him. */
void accounts_begin(struct control *c, uint32_t id);

/** Since when his packets count, in us since 1970; 0: nobody counts. */
uint64_t accounts_since(const struct control *c, uint32_t id);

/** Of a subscriber: a list of ten numbers (doc/control.md). */
json_t *account_json(const struct control *c, uint32_t id);

/** The octets of a subscriber removed from a line (subscriber_vlan_key()), whose id is retired and
 * not yet reused; kept for account_kept(). null: no task counts. */
json_t *account_end(struct control *c, uint32_t id, uint32_t line);

/** What account_end() has said last of a line, where that is not too long ago; else null. Who had
 * somebody removed, and was killed before he heard the answer, asks again. */
json_t *account_kept(const struct control *c, uint32_t line);

#endif
