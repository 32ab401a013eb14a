/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of tables: zeroed, cache-aligned, on the socket asked for or, where that has none left, on
 * any. */
#ifndef TABLES_MEMORY_H
#define TABLES_MEMORY_H

#include <rte_common.h>
#include <rte_malloc.h>

/** Returns NULL without memory. Free it with rte_free(). */
static inline void *table_zalloc(size_t bytes, int socket)
{
    void *p = rte_zmalloc_socket("table", bytes, RTE_CACHE_LINE_SIZE, socket);

    return p != NULL ? p : rte_zmalloc_socket("table", bytes, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY);
}

#endif
