/* SPDX-License-Identifier: BSD-3-Clause */
/* How far ahead the cores prefetch on this processor (base/cpu/prefetch.h), measured on mbufs. */
#ifndef ENGINE_POOLS_PREFETCH_H
#define ENGINE_POOLS_PREFETCH_H

#include <rte_mempool.h>

/** Set prefetch_step by what this processor does with the lines of mbufs and their frames; within a
 * millisecond. pool: of mbufs, none of which is in use. */
void prefetch_measure(struct rte_mempool *pool);

#endif
