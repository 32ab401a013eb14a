/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of links: every way from an instance of a task to the next, or to a port. */
#ifndef TELEMETRY_METRICS_LINKS_H
#define TELEMETRY_METRICS_LINKS_H

#include "engine/engine.h"

/** Offer them; e must be built and live until metrics_close(). Returns 0 or -errno. */
int metrics_links_add(const struct engine *e);

#endif
