/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan on DPDK's telemetry socket: what the figures are figures of. */
#ifndef TELEMETRY_METRICS_PLAN_H
#define TELEMETRY_METRICS_PLAN_H

#include "config/plan.h"

/** Offer it as /vbng/plan/json. The text is made here, and released by metrics_plan_close().
 * Returns 0 or -errno. */
int metrics_plan_add(const struct plan *p);

/** No reader may ask any more: after metrics_close(). */
void metrics_plan_close(void);

#endif
