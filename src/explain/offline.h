/* SPDX-License-Identifier: BSD-3-Clause */
/* The gateway of a configuration without its devices, so that it can be asked where there are none,
 * or beside the one that runs. */
#ifndef EXPLAIN_OFFLINE_H
#define EXPLAIN_OFFLINE_H

#include <stdio.h>

#include "config/plan.h"
#include "engine/engine.h"
#include "tables/tables.h"

/** Change what was loaded: no device but such that bring nothing, no huge pages, few mbufs. p is
 * m's plan. It can be built, and is not meant to be started. */
void offline_prepare(struct cfg_model *m, struct plan *p);

/** Explain a frame in words with an engine that was built and does not run. Returns 1 where it is
 * sent, 0 where not, or -EINVAL with the reason on stderr. */
int offline_explain(const struct engine *e, struct tables *tables, const char *text, FILE *to);

#endif
