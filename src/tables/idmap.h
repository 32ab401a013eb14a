/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A 32-bit key to a dense 32-bit id, by direct index in two levels: page of the key's high half,
 * slot of its low half. Missing pages all point at one shared page of zeros, so that a lookup has
 * no branch. Id 0 means "not there".
 *
 * One writer (control), many readers (data path). The writer stores a slot or a page pointer with
 * release order; pages are never freed while the map lives, so that a reader may hold on to a slot.
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

/** Returns NULL without memory. */
struct idmap *idmap_create(int socket);
void idmap_free(struct idmap *m);

/** Map key to id (0 unmaps). Returns 0, -EEXIST when key has another id, -ENOMEM. */
int idmap_set(struct idmap *m, uint32_t key, uint32_t id);

/** Bytes that the map holds. */
uint64_t idmap_bytes(const struct idmap *m);

/** The slot of a key: to be prefetched, then read. */
static inline const uint32_t *idmap_slot(const struct idmap *m, uint32_t key)
{
    return &m->page[key >> 16][key & 0xffff];
}

static inline uint32_t idmap_get(const struct idmap *m, uint32_t key)
{
    return __atomic_load_n(idmap_slot(m, key), __ATOMIC_RELAXED);
}

#endif
