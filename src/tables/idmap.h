/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A map from 32-bit keys to dense 32-bit ids, by direct index in two levels: a page for the high
 * half of a key, in it a slot for the low half. All missing pages are one shared page of zeros, so
 * that a lookup has no branch. Id 0 means "not there".
 *
 * One writer (control), many readers (data path). The writer stores slots and page pointers with
 * release order. Pages are not freed while the map lives, so a reader may keep the address of a
 * slot.
 */
#ifndef TABLES_IDMAP_H
#define TABLES_IDMAP_H

#include <stdint.h>

#include <rte_prefetch.h>

#define IDMAP_SLOTS 65536u /* ids in a page, and pages */

struct idmap {
    uint32_t *page[IDMAP_SLOTS]; /* 512 KiB */
    uint32_t *zeros;
    unsigned n_pages;
    int socket;
};

/** Make an empty map on a NUMA socket. Returns NULL without memory. */
struct idmap *idmap_create(int socket);

/** Release a map (NULL: nothing to do). */
void idmap_free(struct idmap *m);

/** Map a key to an id (0: to none). Returns 0, -EEXIST where the key has another id, or -ENOMEM. */
int idmap_set(struct idmap *m, uint32_t key, uint32_t id);

/** Have memory for a key, so that idmap_set() of it does not fail for want of it. Returns 0 or
 * -ENOMEM. */
int idmap_reserve(struct idmap *m, uint32_t key);

/** Bytes that the map holds. */
uint64_t idmap_bytes(const struct idmap *m);

/** The slot of a key, to be prefetched and read later. */
static inline const uint32_t *idmap_slot(const struct idmap *m, uint32_t key)
{
    return &m->page[key >> 16][key & 0xffff];
}

/** A slot with id 0, for what has no key. */
static inline const uint32_t *idmap_no_slot(void)
{
    static const uint32_t none;

    return &none;
}

/** The id of a key, or 0. */
static inline uint32_t idmap_get(const struct idmap *m, uint32_t key)
{
    return __atomic_load_n(idmap_slot(m, key), __ATOMIC_RELAXED);
}

#endif
