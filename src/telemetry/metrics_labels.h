/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of a group whose objects have names of people, and can be looked for. */
#ifndef TELEMETRY_METRICS_LABELS_H
#define TELEMETRY_METRICS_LABELS_H

#include <rte_telemetry.h>

#include "telemetry/metrics.h"

/** NUMBER,NUMBER...: a line with the name of each, percent-encoded; empty: it has none. Returns 0
 * or -EINVAL: these are no numbers, or too many. */
int labels_of(const struct metric_group *g, const char *params, struct rte_tel_data *d);

/** FIRST: "NUMBER,NAME" of those from number FIRST on that have a name, a line each; "": none any
 * more. Returns 0 or -EINVAL. */
int labels_all(const struct metric_group *g, const char *params, struct rte_tel_data *d);

/** FIRST,TEXT (percent-encoded): a line with the number to go on from (empty: the end), and one
 * with the numbers that are found. Returns 0 or -EINVAL. */
int labels_find(const struct metric_group *g, const char *params, struct rte_tel_data *d);

#endif
