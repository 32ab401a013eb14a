/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of tables: zeroed, aligned to cache lines, on a NUMA socket or, where that has none left,
 * on any. */
#ifndef TABLES_MEMORY_H
#define TABLES_MEMORY_H

#include <sys/mman.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_memory.h>

/** Allocate bytes of it. Returns NULL without memory; rte_free() releases it. */
static inline void *table_zalloc(size_t bytes, int socket)
{
    void *p = rte_zmalloc_socket("table", bytes, RTE_CACHE_LINE_SIZE, socket);

    return p != NULL ? p : rte_zmalloc_socket("table", bytes, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY);
}

/** Allocate memory of a large table that is written in few places. Without huge pages EAL's heap is
 * a file in memory, of which a start populates and an end clears each 4 KiB; so there the memory
 * lies outside of the heap, where what is not written is the kernel's page of zeros. What packets
 * find has been written; who else reads waits a microsecond for that page, once. Returns NULL
 * without memory; table_free_sparse() releases it. */
static inline void *table_zalloc_sparse(size_t bytes, int socket)
{
    void *p;

    if (rte_eal_has_hugepages())
        return table_zalloc(bytes, socket);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0);
    return p != MAP_FAILED ? p : NULL;
}

static inline void table_free_sparse(void *p, size_t bytes)
{
    if (rte_eal_has_hugepages())
        rte_free(p);
    else if (p != NULL)
        munmap(p, bytes);
}

/** The socket on which memory of a table begins; SOCKET_ID_ANY where DPDK does not know. */
static inline int table_socket(const void *p)
{
    const struct rte_memseg *at = rte_mem_virt2memseg(p, NULL);

    return at != NULL ? at->socket_id : SOCKET_ID_ANY;
}

#endif
