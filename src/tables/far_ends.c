/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/far_ends.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "tables/memory.h"

#define MIN_PLACES 8u

/* At most half of the places are taken. */
static uint32_t n_places(uint32_t capacity)
{
    return RTE_MAX(rte_align32pow2(capacity * 2), MIN_PLACES);
}

int far_ends_create(struct far_ends *f, uint32_t capacity, int socket)
{
    uint32_t n = n_places(capacity);

    f->pair = table_zalloc(n * sizeof(f->pair[0]), socket);
    f->uses = table_zalloc(n * sizeof(f->uses[0]), socket);
    f->mask = n - 1;
    f->shift = 64 - (unsigned)__builtin_ctz(n);
    return f->pair != NULL && f->uses != NULL ? 0 : -ENOMEM;
}

void far_ends_free(struct far_ends *f)
{
    rte_free(f->pair);
    rte_free(f->uses);
}

uint64_t far_ends_bytes(uint32_t capacity)
{
    return (uint64_t)n_places(capacity) * (sizeof(uint64_t) + sizeof(uint32_t));
}

/* The place of a pair, or else the one where it may be added: the first that has none. */
static uint32_t place_of(const struct far_ends *f, uint64_t pair)
{
    uint32_t at = far_ends_home(f, pair), gap = UINT32_MAX;

    for (uint32_t left = f->mask + 1; left > 0 && f->pair[at] != FAR_END_NONE; left--) {
        if (f->pair[at] == pair)
            return at;
        if (f->pair[at] == FAR_END_REMOVED && gap == UINT32_MAX)
            gap = at;
        at = (at + 1) & f->mask;
    }
    return gap != UINT32_MAX ? gap : at;
}

void far_ends_add(struct far_ends *f, uint64_t pair)
{
    uint32_t at = place_of(f, pair);

    if (f->uses[at]++ == 0)
        __atomic_store_n(&f->pair[at], pair, __ATOMIC_RELEASE);
}

void far_ends_remove(struct far_ends *f, uint64_t pair)
{
    uint32_t at = place_of(f, pair);

    if (--f->uses[at] > 0)
        return;
    __atomic_store_n(&f->pair[at], FAR_END_REMOVED, __ATOMIC_RELEASE);
    /* marks before a free place are on nobody's way */
    while (f->pair[at] == FAR_END_REMOVED && f->pair[(at + 1) & f->mask] == FAR_END_NONE) {
        __atomic_store_n(&f->pair[at], FAR_END_NONE, __ATOMIC_RELEASE);
        at = (at - 1) & f->mask;
    }
}
