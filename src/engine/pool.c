/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/pool.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

/*
 * Without huge pages the library keeps each mbuf within one page of 4 KiB, for devices that know
 * memory by its physical address. Of mbufs that do not fit in twice, it puts one at the beginning
 * of every page: that takes twice the memory, and the first lines of all mbufs, and of all frames,
 * share one set of the first-level cache, which cannot hold those of one burst. No device here
 * needs it: without huge pages, devices use virtual addresses.
 */
static struct rte_mempool *create_dense(const char *name, uint32_t mbufs, uint16_t cache,
                                        uint16_t data_room, int socket)
{
    struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = data_room};
    struct rte_mempool *p =
        rte_mempool_create_empty(name, mbufs, sizeof(struct rte_mbuf) + data_room, cache,
                                 sizeof(private), socket, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    int rc;

    if (p == NULL)
        return NULL;
    rc = rte_mempool_set_ops_byname(p, rte_mbuf_best_mempool_ops(), NULL);
    if (rc == 0) {
        rte_pktmbuf_pool_init(p, &private);
        rc = rte_mempool_populate_default(p);
    }
    if (rc < 0) {
        rte_mempool_free(p);
        rte_errno = -rc;
        return NULL;
    }
    rte_mempool_obj_iter(p, rte_pktmbuf_init, NULL);
    return p;
}

struct rte_mempool *pool_create(const char *name, uint32_t mbufs, uint16_t cache,
                                uint16_t data_room, int socket)
{
    return rte_eal_has_hugepages()
               ? rte_pktmbuf_pool_create(name, mbufs, cache, 0, data_room, socket)
               : create_dense(name, mbufs, cache, data_room, socket);
}
