/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of mbufs, as the plan has them. */
#ifndef ENGINE_POOLS_POOLS_H
#define ENGINE_POOLS_POOLS_H

#include <stdint.h>

#include <rte_mempool.h>

struct engine;

/**
 * Make a pool of mbufs. data_room: bytes of a frame and its headroom; socket: NUMA socket or
 * SOCKET_ID_ANY. Returns NULL with the reason in rte_errno. Release it with rte_mempool_free().
 */
struct rte_mempool *pool_create(const char *name, uint32_t mbufs, uint16_t cache,
                                uint16_t data_room, int socket);

/** Make all pools of an engine, and measure on them how far ahead to prefetch (prefetch.h). Returns
 * 0 or -errno; the reason is in the log. Pools that were made are the engine's. */
int pools_open(struct engine *e);

#endif
