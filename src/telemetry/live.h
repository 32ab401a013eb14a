/* SPDX-License-Identifier: BSD-3-Clause */
/* The live table: ports, tasks, cores and the ledger, once a second, on the terminal. */
#ifndef TELEMETRY_LIVE_H
#define TELEMETRY_LIVE_H

#include <stdio.h>

#include "engine/engine.h"

struct live;

/** Start with all counters as they are now. Returns NULL without memory. */
struct live *live_start(const struct engine *e);

/**
 * Print the table: rates since the last call, totals since the start. On a terminal the table
 * replaces the former one. seconds: time since the last call.
 */
void live_print(struct live *l, FILE *to, double seconds);

void live_free(struct live *l);

/** Print the table of a whole run, with mean rates over its seconds, and the ledger. */
void live_print_totals(const struct engine *e, FILE *to, double seconds);

#endif
