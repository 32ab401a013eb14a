/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of mbufs. */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include <stdint.h>

#include <rte_mempool.h>

/**
 * Make a pool. data_room: bytes of a frame and its headroom; socket: NUMA socket or SOCKET_ID_ANY.
 * Returns NULL with the reason in rte_errno. Release it with rte_mempool_free().
 */
struct rte_mempool *pool_create(const char *name, uint32_t mbufs, uint16_t cache,
                                uint16_t data_room, int socket);

#endif
