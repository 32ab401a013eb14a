/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of all tasks over time, as CSV: for plots. */
#ifndef TELEMETRY_SAMPLE_H
#define TELEMETRY_SAMPLE_H

#include "engine/engine.h"

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

/** A last sample, then close the file; s may be NULL. Returns 0 or -errno with the reason on
 * stderr. */
int sample_close(struct sample *s);

#endif
