/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is not as the configuration says, as the requests (doc/control.md) that make it so: for a
 * snapshot, and to show. A vbng that has just started with the same configuration becomes what this
 * one is when they are given to request_answer() one by one, in their order; only ids of
 * subscribers may differ. What the last reload has read counts as the configuration.
 *
 * Not among them: learned MACs, counters, packets, streams of generators.
 *
 * To be called by the main thread, as all of control.
 */
#ifndef CONTROL_LIVE_CHANGES_H
#define CONTROL_LIVE_CHANGES_H

#include <jansson.h>

#include "control/control.h"

/**
 * A new array of objects {"cmd": ...}; empty: nothing differs. Each is a right request and below
 * the length that a request may have. NULL without memory.
 */
json_t *live_changes(const struct control *c);

/** A route as add-route says it, without "cmd". */
json_t *route_json(const struct cfg_model *m, const struct cfg_route *r);

#endif
