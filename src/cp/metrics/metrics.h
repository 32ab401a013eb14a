/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of the control plane. One row of a table says all of a metric: its name, type, unit,
 * labels and meaning, and who reads it. The exporter asks for them: doc/telemetry.md. */
#ifndef CP_METRICS_METRICS_H
#define CP_METRICS_METRICS_H

#include <jansson.h>

#include "cp/cp.h"

/** A list of all metrics, each with its series; NULL without memory. */
json_t *metrics_json(const struct cp *cp);

#endif
