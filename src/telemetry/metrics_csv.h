/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of a group as lines "NAME,FIGURE,FIGURE". */
#ifndef TELEMETRY_METRICS_CSV_H
#define TELEMETRY_METRICS_CSV_H

#include "telemetry/metrics.h"

/** Those from number first on, as many as there is room for, in room bytes with the 0 at the end.
 */
void metrics_csv(const struct metric_group *g, unsigned first, char *text, size_t room);

#endif
