/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ledger: every packet is accounted for.
 *
 *   received + created = sent + consumed + dropped + held
 *
 * received and sent are counted by the devices, the rest by the tasks. Each device, link and task
 * is also audited by itself, so that a difference names its place. The ledger is exact when no core
 * runs. In a running gateway the counters are read one after the other, so that packets on their
 * way show as a small difference.
 */
#ifndef ENGINE_LEDGER_H
#define ENGINE_LEDGER_H

#include <stdint.h>
#include <stdio.h>

#include "engine/engine.h"

struct ledger {
    uint64_t received, created;
    uint64_t sent, consumed, dropped, held;
    int64_t unexplained;  /* left side minus right side */
    unsigned n_unaudited; /* devices that reset their counters: those of the tasks are used */
    unsigned n_faults;    /* devices, links and tasks that do not balance by themselves */
    uint64_t lost[CFG_MAX_PORTS]; /* of dropped: packets that a device took and failed to send */
};

/** Audit all counters. Each fault is one line on faults (may be NULL). */
struct ledger ledger_read(const struct engine *e, FILE *faults);

static inline bool ledger_balances(const struct ledger *l)
{
    return l->unexplained == 0 && l->n_faults == 0;
}

/** Packets that a task instance dropped: by itself and because a destination was full. */
uint64_t task_dropped(const struct task *t);

/** Packets that wait in a task instance: in its queues, and in outputs to ports that were full. */
uint64_t task_held(const struct task *t);

/** Counters of a task, summed over its instances: for live table, report and metrics. */
struct task_stats {
    uint64_t in, created, sent, consumed, held;
    uint64_t drops[N_TASK_DROPS]; /* by the schema's reasons, and DROP_NO_PATH */
    uint64_t full;                /* dropped because a link or a port was full */
    uint64_t stalled;             /* polls left out because of back-pressure */
};

/** Sum the counters of the configuration's task number i over its instances. */
void stats_task(const struct engine *e, unsigned i, struct task_stats *out);

/** Sum what the tasks have counted of a direction and a family. Subscribers' packets count where
 * they have been found good: before they are shaped, routed or fragmented. */
struct traffic stats_traffic(const struct engine *e, enum direction direction, enum family family);

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
