/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A map from 32-bit keys to dense 32-bit ids, by direct index in two levels: a page for the high
 * half of a key, in it a slot for the low half. All missing pages are one shared page of zeros, so
 * that a lookup has no branch. Id 0 means "not there".
 *
 * Ids of neighbouring keys often follow one another, as those of a range of subscribers do. Such a
 * run is told by a word for each 4096 keys (the customer VLANs of a service VLAN), and readers
 * leave its slots alone: the words of a million subscribers stay in the second-level cache, their
 * slots do not. There is one run among 4096 keys; ids outside it are read from their slots, and all
 * ids of a map without a long run, as of subscribers in sessions.
 *
 * One writer (control), many readers (data path). The writer stores slots, runs and page pointers
 * with release order, and ends a run before it clears a slot. Pages are not freed while the map
 * lives, so a reader may keep the address of a slot.
 */
#ifndef TABLES_IDMAP_H
#define TABLES_IDMAP_H

#include <stdint.h>

#include <rte_prefetch.h>

#include "base/cpu/either.h"

#define IDMAP_SLOTS 65536u /* ids in a page, and pages */
#define IDMAP_BLOCK 4096u  /* keys that may have a run */
#define IDMAP_LONG  64u    /* keys of a run for which it pays to look at runs */

struct idmap_page {
    uint64_t run[IDMAP_SLOTS / IDMAP_BLOCK]; /* idmap_run_word() */
    uint32_t id[IDMAP_SLOTS];
};

struct idmap {
    uint32_t n_long; /* runs of IDMAP_LONG keys or more; 0: all ids are read from their slots */
    unsigned n_pages;
    int socket;
    struct idmap_page *zeros;
    struct idmap_page *page[IDMAP_SLOTS]; /* 512 KiB */
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

/** The id of a key, or 0. */
static inline uint32_t idmap_get(const struct idmap *m, uint32_t key)
{
    return __atomic_load_n(&m->page[key >> 16]->id[key % IDMAP_SLOTS], __ATOMIC_RELAXED);
}

/* A run: n keys (0: none) from a place in their block on, the first of which has this id. One word,
 * so that a reader sees all of it change at once. */
struct idmap_run {
    uint32_t from, n, id;
};

static inline uint64_t idmap_run_word(struct idmap_run r)
{
    return (uint64_t)r.id << 32 | r.n * IDMAP_BLOCK | r.from;
}

static inline struct idmap_run idmap_run_of(uint64_t word)
{
    return (struct idmap_run){(uint32_t)word % IDMAP_BLOCK, (uint32_t)word / IDMAP_BLOCK,
                              (uint32_t)(word >> 32)};
}

/**
 * Where the id of a key is, to be prefetched and read later: in its slot or, of a run, in *own,
 * which may be overwritten in either case. The choice is no branch, as some of a gateway's
 * subscribers may have runs and others, such as those in sessions, none.
 */
static __rte_always_inline const uint32_t *idmap_slot(const struct idmap *m, uint32_t key,
                                                      uint32_t *own)
{
    const struct idmap_page *p = m->page[key >> 16];
    const uint32_t low = key % IDMAP_SLOTS;
    struct idmap_run r;
    uint32_t nth;

    if (__atomic_load_n(&m->n_long, __ATOMIC_RELAXED) == 0)
        return &p->id[low];
    r = idmap_run_of(__atomic_load_n(&p->run[low / IDMAP_BLOCK], __ATOMIC_ACQUIRE));
    nth = (key - r.from) % IDMAP_BLOCK;
    *own = r.id + nth;
    return (const uint32_t *)(uintptr_t)either_if_below(nth, r.n, (uintptr_t)own,
                                                        (uintptr_t)&p->id[low]);
}

/** A slot with id 0, for what has no key. */
static inline const uint32_t *idmap_no_slot(void)
{
    static const uint32_t none;

    return &none;
}

#endif
