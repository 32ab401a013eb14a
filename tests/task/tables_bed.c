/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables_bed.h"

#include <rte_malloc.h>

uint64_t random_state = 0x9e3779b97f4a7c15;

uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) * n >> 32);
}

#define MAX_CHUNKS 8192
static void *chunk[MAX_CHUNKS];
static unsigned n_chunks;

void take_memory(void)
{
    for (size_t size = 1 << 20; size >= 1 << 14; size /= 2)
        while (n_chunks < MAX_CHUNKS && (chunk[n_chunks] = rte_malloc(NULL, size, 0)) != NULL)
            n_chunks++;
    CU_ASSERT_FATAL(n_chunks < MAX_CHUNKS);
}

void give_memory(void)
{
    while (n_chunks > 0)
        rte_free(chunk[--n_chunks]);
}

uint32_t lookup(const struct route_table *t, uint32_t addr)
{
    return fib_lookup(&t->fib.own, addr);
}
