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

/* The place of a pair, or else the one where it may be added: the first that has none. Several
 * pairs of IPv6 may have that hash: the pair with these ends is meant. */
static uint32_t place_of(const struct far_ends *f, uint64_t pair,
                         const uint8_t (*all)[FAR_END_BYTES6], const uint8_t *ends)
{
    uint32_t at = far_ends_home(f, pair), gap = UINT32_MAX;

    for (uint32_t left = f->mask + 1; left > 0 && f->pair[at] != FAR_END_NONE; left--) {
        if (f->pair[at] == pair && (all == NULL || memcmp(all[at], ends, FAR_END_BYTES6) == 0))
            return at;
        if (f->pair[at] == FAR_END_REMOVED && gap == UINT32_MAX)
            gap = at;
        at = (at + 1) & f->mask;
    }
    return gap != UINT32_MAX ? gap : at;
}

void far_ends_add(struct far_ends *f, uint64_t pair)
{
    uint32_t at = place_of(f, pair, NULL, NULL);

    if (f->uses[at]++ == 0)
        __atomic_store_n(&f->pair[at], pair, __ATOMIC_RELEASE);
}

/* Remove the pair of a place once. */
static void remove_from(struct far_ends *f, uint32_t at)
{
    if (--f->uses[at] > 0)
        return;
    __atomic_store_n(&f->pair[at], FAR_END_REMOVED, __ATOMIC_RELEASE);
    /* marks before a free place are on nobody's way */
    while (f->pair[at] == FAR_END_REMOVED && f->pair[(at + 1) & f->mask] == FAR_END_NONE) {
        __atomic_store_n(&f->pair[at], FAR_END_NONE, __ATOMIC_RELEASE);
        at = (at - 1) & f->mask;
    }
}

void far_ends_remove(struct far_ends *f, uint64_t pair)
{
    remove_from(f, place_of(f, pair, NULL, NULL));
}

/* --- IPv6 --- */

int far_ends6_create(struct far_ends6 *f, uint32_t capacity, int socket)
{
    f->ends = table_zalloc(n_places(capacity) * sizeof(f->ends[0]), socket);
    return f->ends != NULL ? far_ends_create(&f->of, capacity, socket) : -ENOMEM;
}

void far_ends6_free(struct far_ends6 *f)
{
    far_ends_free(&f->of);
    rte_free(f->ends);
}

uint64_t far_ends6_bytes(uint32_t capacity)
{
    return far_ends_bytes(capacity) + (uint64_t)n_places(capacity) * FAR_END_BYTES6;
}

static uint32_t place_of6(const struct far_ends6 *f, const uint8_t *ends)
{
    return place_of(&f->of, far_ends6_hash(ends), (const uint8_t(*)[FAR_END_BYTES6])f->ends, ends);
}

void far_ends6_add(struct far_ends6 *f, const uint8_t ends[FAR_END_BYTES6])
{
    uint32_t at = place_of6(f, ends);

    if (f->of.uses[at]++ == 0) {
        __atomic_thread_fence(__ATOMIC_RELEASE);
        memcpy(f->ends[at], ends, FAR_END_BYTES6);
        __atomic_store_n(&f->of.pair[at], far_ends6_hash(ends), __ATOMIC_RELEASE);
    }
    __atomic_store_n(&f->n, f->n + 1, __ATOMIC_RELAXED);
}

void far_ends6_remove(struct far_ends6 *f, const uint8_t ends[FAR_END_BYTES6])
{
    remove_from(&f->of, place_of6(f, ends));
    __atomic_store_n(&f->n, f->n - 1, __ATOMIC_RELAXED);
}
