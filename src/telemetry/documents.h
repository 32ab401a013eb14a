/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents on DPDK's telemetry socket: what the figures there are figures of, as JSON in pieces.
 */
#ifndef TELEMETRY_DOCUMENTS_H
#define TELEMETRY_DOCUMENTS_H

#include "plan/plan.h"

/**
 * Offer the schemas of all types of task as /vbng/schema/json and the plan as /vbng/plan/json. The
 * texts are made here, and released by documents_close(). Returns 0 or -errno.
 */
int documents_add(const struct plan *p);

/** To be called after metrics_close(). */
void documents_close(void);

#endif
