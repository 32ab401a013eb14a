/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents on DPDK's telemetry socket: what the figures there are figures of, as JSON in pieces:
 * the schemas of all types of task (doc/schemas/tasks.json) and the plan. */
#ifndef TELEMETRY_DOCUMENTS_H
#define TELEMETRY_DOCUMENTS_H

#include <stdbool.h>

#include "plan/plan.h"

/**
 * Offer the schemas of all types of task as /vbng/schema/json and the plan as /vbng/plan/json. The
 * texts are made here, and released by documents_close(). Returns 0 or -errno.
 */
int documents_add(const struct plan *p);

/** To be called after metrics_close(). */
void documents_close(void);

/**
 * Every type of task with its parameters, outputs, facts and drops, and the words of what the
 * engine counts, as JSON; indented for people. To be freed; NULL: no memory.
 */
char *schema_json(bool indented);

#endif
