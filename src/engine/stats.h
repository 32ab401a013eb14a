/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics: counters summed over the instances of a task, and counters of a port with the bytes
 * that its device does not count. For live table, report and metrics. */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "engine/engine.h"

struct task_stats {
    uint64_t in, created, sent, consumed, held;
    uint64_t drops[TASK_MAX_DROPS + 1]; /* by the schema's reasons, and DROP_NO_PATH */
    uint64_t full;                      /* dropped because a link or a port was full */
    uint64_t stalled;                   /* polls left out because of back-pressure */
};

/** Sum the counters of the configuration's task number i over its instances. */
void stats_task(const struct engine *e, unsigned i, struct task_stats *out);

/** Names of the figures beyond the common counters that the type of the configuration's task number
 * i has (task_type.stat_names), NULL at the end; NULL: none. */
const char *const *stats_figure_names(const struct engine *e, unsigned i);

/** Sum that task's figure number k over its instances. */
uint64_t stats_figure(const struct engine *e, unsigned i, unsigned k);

/** Read the counters of port i. Bytes of a wire are those that its sender counts. Bytes are without
 * FCS. */
void stats_port(const struct engine *e, unsigned i, struct port_counters *out);

/** Share of its time that a core was busy since it started, 0..1. */
double stats_busy(const struct core *c);

#endif
