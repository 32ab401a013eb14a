/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run did, as JSON: for tests and measuring tools. The keys are stable; see doc/report.md.
 */
#ifndef TELEMETRY_REPORT_H
#define TELEMETRY_REPORT_H

#include <stdio.h>

#include "engine/engine.h"

/** Write the report of an engine that has stopped. seconds: how long it ran. qos: JSON, what is
 * known of the shaping; the engine cannot know it. */
void report_write(const struct engine *e, FILE *to, double seconds, const char *qos);

#endif
