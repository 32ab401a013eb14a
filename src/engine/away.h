/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports whose peer goes and comes back while the gateway runs. */
#ifndef ENGINE_AWAY_H
#define ENGINE_AWAY_H

#include "engine/engine.h"

/**
 * Look whether the peer of port number i is there. When it has gone, the cores are told to leave
 * the port alone: what would be sent there is dropped as link_full, and nothing waits for it. When
 * it is back, the device is made to connect again where it does not do so by itself, and the cores
 * are told. To be called now and then by the main thread, between engine_start() and engine_stop().
 */
void away_watch(struct engine *e, unsigned i);

#endif
