/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of prefixes by their place among their neighbours: a page has those of 4096 prefixes of one
 * length that lie side by side, as operators give them to subscribers. So a prefix takes four
 * bytes, and the pages of a million subscribers fit into a processor's last cache.
 *
 * A page belongs to its region for good, from the region's first prefix on. Regions that come when
 * all pages are taken have none; where prefixes are so far apart that the pages are all but empty
 * then, they are not asked any more.
 *
 * One writer (control), many readers (data path).
 */
#ifndef TABLES_PAGES6_H
#define TABLES_PAGES6_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#define PAGES6_BITS 12u
#define PAGES6_PAGE (1u << PAGES6_BITS) /* ids */
#define PAGES6_FEW  64u                 /* prefixes for each page that are not worth asking */

struct pages6_slot {
    uint64_t key; /* pages6_key(); 0: free */
    uint32_t *id; /* of the page's prefixes */
};

struct pages6 {
    struct pages6_slot *slot; /* four for each page, and one that stays free */
    uint32_t *id;
    uint32_t n, room; /* pages that are taken, and that there are */
    bool is_off;      /* nobody asks them */
};

/** How many pages there are for so many prefixes: twice as many as they need where all lie side by
 * side. */
static inline uint32_t pages6_room(uint32_t prefixes)
{
    return prefixes / (PAGES6_PAGE / 2);
}

static inline uint32_t pages6_slots(uint32_t room)
{
    return 4 * room + 1;
}

/** Bytes of the ids in so many pages, and one: there may be none. */
static inline uint64_t pages6_id_bytes(uint32_t room)
{
    return (room * (uint64_t)PAGES6_PAGE + 1) * sizeof(uint32_t);
}

/** The region of a prefix, and its length: not 0. */
static inline uint64_t pages6_key(uint64_t upper, uint32_t bit)
{
    return upper >> (16 - bit + PAGES6_BITS) << 5 | UINT64_C(1) << 63 | bit;
}

/** The slot where the search for a key begins. */
static inline uint32_t pages6_home(const struct pages6 *p, uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15) >> 32) * pages6_slots(p->room) >> 32);
}

/** Where the id of an address's prefix of 48 + bit bits is, with which all ids of its region are;
 * NULL: the region has no page. */
static inline uint32_t *pages6_place(const struct pages6 *p, uint64_t upper, uint32_t bit)
{
    uint64_t key = pages6_key(upper, bit), found;

    for (uint32_t i = pages6_home(p, key);; i = i + 1 < pages6_slots(p->room) ? i + 1 : 0) {
        found = __atomic_load_n(&p->slot[i].key, __ATOMIC_ACQUIRE);
        if (likely(found == key))
            return &p->slot[i].id[upper >> (16 - bit) & (PAGES6_PAGE - 1)];
        if (found == 0)
            return NULL;
    }
}

/** The same for readers, who may have been told not to ask. */
static inline const uint32_t *pages6_find(const struct pages6 *p, uint64_t upper, uint32_t bit)
{
    if (unlikely(__atomic_load_n(&p->is_off, __ATOMIC_RELAXED)))
        return NULL;
    return pages6_place(p, upper, bit);
}

#endif
