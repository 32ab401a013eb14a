/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator should be told once and not find in a table of counters: a pool that runs out of
 * mbufs, a device that fails to send, a link that goes down. Of the main thread. */
#ifndef ENGINE_HEALTH_H
#define ENGINE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "config/model.h"

struct engine;

struct health {
    unsigned looks; /* since the start; a look in HEALTH_EVERY is one */
    bool pool_low[CFG_MAX_POOLS];
    bool link_down[CFG_MAX_PORTS]; /* of devices whose peers away.h does not watch */
    bool failing[CFG_MAX_PORTS];   /* the device fails to send */
    uint64_t tx_errors[CFG_MAX_PORTS];
};

/** To be called every 20 ms or so while the cores run; looks each half second. */
void health_look(struct engine *e);

#endif
