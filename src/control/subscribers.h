/* SPDX-License-Identifier: BSD-3-Clause */
/* All subscribers, one by one: what was delivered, how long packets waited, each queue's depth and
 * drops. */
#ifndef CONTROL_SUBSCRIBERS_H
#define CONTROL_SUBSCRIBERS_H

#include <stdio.h>

#include <jansson.h>

#include "control/control.h"

/** Read the queues of n subscribers from id first on, on the cores of their schedulers. Returns 0,
 * -ENOMEM or -ETIMEDOUT. */
int subscribers_read(struct control *c, uint32_t first, uint32_t n);

/** CSV: the names of the columns, and one subscriber as subscribers_read() left him. Both end with
 * a line end. */
void subscribers_header(const struct control *c, FILE *to);
void subscribers_row(const struct control *c, uint32_t id, FILE *to);

/** Read and write all of them. Returns 0 or -errno. */
int subscribers_dump(struct control *c, FILE *to);

/** One subscriber as an object, as subscribers_read() left him. */
json_t *subscriber_json(const struct control *c, uint32_t id);

#endif
