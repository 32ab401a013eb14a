/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/pools/pools.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include "base/log.h"
#include "engine/eal.h"
#include "engine/engine.h"
#include "engine/pools/prefetch.h"

#define MIB (UINT64_C(1) << 20)

/*
 * Make a pool whose mbufs may cross pages. Without huge pages, rte_pktmbuf_pool_create() keeps each
 * mbuf within one page of 4 KiB, for devices that use physical addresses: an mbuf of more than half
 * a page then begins each page. That doubles the memory, and puts the first cache lines of all
 * mbufs and frames into one set of the first-level cache, which cannot hold those of one burst.
 * Without huge pages devices use virtual addresses, so that no device needs it; but the library
 * knows none of an object that need not lie within a page, so the mbufs are told theirs.
 */
static void init_dense(struct rte_mempool *p, void *unused, void *object, unsigned number)
{
    struct rte_mbuf *m = object;

    rte_pktmbuf_init(p, unused, object, number);
    rte_mbuf_iova_set(m, (rte_iova_t)(uintptr_t)m->buf_addr);
}

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
    rte_mempool_obj_iter(p, init_dense, NULL);
    return p;
}

struct rte_mempool *pool_create(const char *name, uint32_t mbufs, uint16_t cache,
                                uint16_t data_room, int socket)
{
    return rte_eal_has_hugepages()
               ? rte_pktmbuf_pool_create(name, mbufs, cache, 0, data_room, socket)
               : create_dense(name, mbufs, cache, data_room, socket);
}

/* The name of a pool for DPDK, which has less room for it. Those of sets that a pool has several of
 * end in their number, behind a dot, which no name in a configuration has. */
static void name_pool(const struct plan *p, unsigned i, char name[RTE_MEMPOOL_NAMESIZE])
{
    const char *all = p->cfg->pools[p->pools[i].cfg].name;

    static_assert(CFG_MAX_NAME < RTE_MEMPOOL_NAMESIZE, "a mempool may have the name of a pool");
    static_assert(PLAN_MAX_POOLS <= UINT8_MAX, "a pool's number has room behind 20 characters");
    if (strcmp(p->pools[i].name, all) == 0)
        snprintf(name, RTE_MEMPOOL_NAMESIZE, "%s", all);
    else
        snprintf(name, RTE_MEMPOOL_NAMESIZE, "%.20s.%u", all, (uint8_t)i);
}

static struct rte_mempool *create_on(const struct plan *p, unsigned i, int socket)
{
    const struct cfg_pool *cfg = &p->cfg->pools[p->pools[i].cfg];
    char name[RTE_MEMPOOL_NAMESIZE];

    name_pool(p, i, name);
    return pool_create(name, p->memory.pool_mbufs[i], cfg->cache, cfg->data_room, socket);
}

/* Make a pool on its socket. Where that has no room, and is the plan's choice, the pool lies
 * elsewhere: huge pages of one socket are enough to start, as for the tables. */
static struct rte_mempool *create_planned(const struct plan *p, unsigned i)
{
    const struct plan_pool *set = &p->pools[i];
    const struct cfg_pool *cfg = &p->cfg->pools[set->cfg];
    int socket = eal_socket(set->socket);
    struct rte_mempool *pool = create_on(p, i, socket);

    if (pool != NULL || socket == SOCKET_ID_ANY || cfg->socket >= 0)
        return pool;
    pool = create_on(p, i, SOCKET_ID_ANY);
    if (pool != NULL)
        log_warning("%s:%u: pool %s: socket %u has no room for %llu MiB of mbufs, which lie on "
                    "another one: its cores reach them by the link between the sockets; reserve "
                    "huge pages in /sys/devices/system/node/node%u/hugepages",
                    cfg->loc.file, cfg->loc.line, set->name, set->socket,
                    (unsigned long long)(p->memory.mbufs[i] + MIB - 1) / MIB, set->socket);
    return pool;
}

static int open_pool(struct engine *e, unsigned i)
{
    const struct plan_pool *set = &e->plan->pools[i];
    const struct cfg_pool *cfg = &e->plan->cfg->pools[set->cfg];
    uint32_t mbufs = e->plan->memory.pool_mbufs[i];

    e->pools[i] = create_planned(e->plan, i);
    if (e->pools[i] == NULL) {
        log_error("%s:%u: pool %s: %u mbufs of %u bytes cannot be allocated on socket %u: %s; ask "
                  "for fewer mbufs or "
                  "give the machine more memory (huge pages, see doc/plan.md)",
                  cfg->loc.file, cfg->loc.line, set->name, mbufs, cfg->data_room, set->socket,
                  rte_strerror(rte_errno));
        return rte_errno != 0 ? -rte_errno : -ENOMEM;
    }
    return 0;
}

/* Let the cores prefetch as far ahead as suits this processor, as told by the largest pool. */
static void choose_prefetch(const struct engine *e)
{
    const uint32_t *mbufs = e->plan->memory.pool_mbufs;
    unsigned largest = 0;

    for (unsigned i = 1; i < e->plan->n_pools; i++)
        if (mbufs[i] > mbufs[largest])
            largest = i;
    if (e->plan->n_pools > 0)
        prefetch_measure(e->pools[largest]);
}

int pools_open(struct engine *e)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < e->plan->n_pools; i++)
        rc = open_pool(e, i);
    if (rc == 0)
        choose_prefetch(e);
    return rc;
}
