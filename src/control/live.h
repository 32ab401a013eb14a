/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model that holds now: at first a copy of the configuration's, with room for what comes while
 * it runs. Only the main thread changes it, between metrics_hold() and metrics_release(), so that
 * telemetry may read it.
 *
 * A subscriber keeps his id as long as he is there. subscribers[] is as long as the highest id that
 * was ever in use, and has holes: live_has().
 */
#ifndef CONTROL_LIVE_H
#define CONTROL_LIVE_H

#include "config/model.h"

/** Returns NULL without memory. The copy shares with m what cannot change while it runs. */
struct cfg_model *live_open(const struct cfg_model *m);
void live_close(struct cfg_model *live);

/** Is there a subscriber of that id (any number)? */
static inline bool live_has(const struct cfg_model *live, uint32_t id)
{
    return id >= 1 && id <= live->n_subscribers && live->subscribers[id - 1].port != CFG_NONE;
}

#endif
