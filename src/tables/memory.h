/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of tables: zeroed, aligned to cache lines, on a NUMA socket or, where that has none left,
 * on any. */
#ifndef TABLES_MEMORY_H
#define TABLES_MEMORY_H

#include <rte_common.h>
#include <rte_malloc.h>

/** Allocate bytes of it. Returns NULL without memory; rte_free() releases it. */
static inline void *table_zalloc(size_t bytes, int socket)
{
    void *p = rte_zmalloc_socket("table", bytes, RTE_CACHE_LINE_SIZE, socket);

    return p != NULL ? p : rte_zmalloc_socket("table", bytes, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY);
}

#endif
