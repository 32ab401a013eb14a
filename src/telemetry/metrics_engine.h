/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of what the engine counts: tasks, ports, pools, cores, the ledger, links. */
#ifndef TELEMETRY_METRICS_ENGINE_H
#define TELEMETRY_METRICS_ENGINE_H

#include "engine/engine.h"

/** Register the metrics; e must be built and live until metrics_close(). Returns 0 or -errno. */
int metrics_engine_add(const struct engine *e);

#endif
