/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run, as JSON, for tests and measuring tools. Its keys are stable (doc/report.md).
 */
#ifndef TELEMETRY_REPORT_H
#define TELEMETRY_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "engine/engine.h"
#include "engine/ledger.h"

/** Write the report of an engine that has stopped. seconds: the time that it ran. qos: the QoS as
 * JSON, from src/control, as telemetry knows no type of task; routes: where their copies lie, from
 * there, too. Both references are stolen. Returns 0, or -ENOMEM where the report is not whole. */
int report_write(const struct engine *e, FILE *to, double seconds, json_t *qos, json_t *routes);

/** Of a report, what ports[], directions and tasks[] hold, also while the engine runs; NULL without
 * memory. measured: tasks with what their types measure by themselves. */
json_t *report_ports_json(const struct engine *e, const struct ledger *l);
json_t *report_directions_json(const struct engine *e);
json_t *report_tasks_json(const struct engine *e, bool measured);

/* The counters of all tasks over time, as CSV: for plots. */

struct sample;

/**
 * Write to a file from now on: a line of names, then for each sample a line for each task with the
 * seconds since now, the task's name, and its packets since the start: in, created, sent, dropped
 * (for all reasons), and held now. Returns NULL with the reason on stderr.
 */
struct sample *sample_open(const struct engine *e, const char *path, uint64_t period_ns);

/** Take a sample if the period since the last one is over. Runs on the main thread; reads what the
 * cores write without stopping them, so that a packet under way may be in one counter only. */
void sample_take(struct sample *s);

/** Take a last sample and close the file; s may be NULL. Returns 0 or -errno with the reason on
 * stderr. */
int sample_close(struct sample *s);

#endif
