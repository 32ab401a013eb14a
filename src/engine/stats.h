/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters summed for people and programs: a task over its instances, a port with the bytes that
 * its device leaves out. */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "engine/engine.h"

struct task_stats {
    uint64_t in, created, sent, consumed, held;
    uint64_t drops[TASK_MAX_DROPS + 1]; /* by the schema's reasons, and DROP_NO_PATH */
    uint64_t full;                      /* dropped because a link or a port was full */
    uint64_t stalled;                   /* polls left out because of back-pressure */
};

/** Name of a drop reason of a task, i in 0..TASK_MAX_DROPS, or NULL where the task has no such
 * reason. */
const char *drop_name(const struct task_schema *schema, unsigned i);

/** The configuration's task number i, over all its instances. */
void stats_task(const struct engine *e, unsigned i, struct task_stats *out);

/** Names of the figures that the type of the configuration's task number i has beyond these, NULL
 * at the end; NULL: none. */
const char *const *stats_figure_names(const struct engine *e, unsigned i);

/** The figure number k of them, summed over all instances. */
uint64_t stats_figure(const struct engine *e, unsigned i, unsigned k);

/** Port i as its device counts; bytes of a wire as its sender counts. Bytes are without FCS. */
void stats_port(const struct engine *e, unsigned i, struct port_counters *out);

/** Share of its time that a core was busy since it started, 0..1. */
double stats_busy(const struct core *c);

#endif
