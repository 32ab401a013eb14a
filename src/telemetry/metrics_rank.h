/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of a group in the order of a figure. */
#ifndef TELEMETRY_METRICS_RANK_H
#define TELEMETRY_METRICS_RANK_H

#include "telemetry/metrics.h"

struct ranked {
    uint64_t value;
    unsigned i; /* number of the object */
};

/**
 * All n objects of a group, those with the greatest value first: the sum of the figures whose key
 * is, or ends in '_' and, the len characters of key. "drops" is up_drops and down_drops. To be
 * freed. NULL where no metric has such a key, and without memory.
 */
struct ranked *metrics_rank(const struct metric_group *g, const char *key, size_t len, unsigned *n);

#endif
