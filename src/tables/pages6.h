/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of prefixes by their place among their neighbours: a page has those of 4096 prefixes of one
 * length that lie side by side, as operators give them to subscribers. So a prefix takes four
 * bytes, and the pages of a million subscribers fit into a processor's last cache. Where all ids of
 * a page follow one another, as those of a range of subscribers do, the first one tells them all,
 * and readers leave the page alone.
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
#include <rte_common.h>

#define PAGES6_BITS 12u
#define PAGES6_PAGE (1u << PAGES6_BITS) /* ids */
#define PAGES6_FEW  64u                 /* prefixes for each page that are not worth asking */

struct pages6_page {
    uint32_t id[PAGES6_PAGE]; /* 0: nobody's */
    uint32_t n_following;     /* ids that are by one higher than the one before; the writer's own */
} __rte_cache_aligned;

struct pages6_slot {
    uint64_t key;   /* pages6_key(); 0: free */
    uint32_t page;  /* number */
    uint32_t first; /* id[0] of a page all of whose ids follow one another; else 0 */
};

struct pages6 {
    struct pages6_slot *slot; /* four for each page, and one that stays free */
    struct pages6_page *page;
    uint32_t n, room; /* pages that are taken, and that there are */
    bool is_off;      /* nobody asks them */
};

/** Make pages for so many prefixes: twice as many as they need where all lie side by side. Returns
 * false without memory. */
bool pages6_create(struct pages6 *p, uint32_t prefixes, int socket);

/** Release all memory (of a struct of zeros: nothing to do). */
void pages6_free(struct pages6 *p);

/** Bytes that pages and slots take. */
uint64_t pages6_bytes(const struct pages6 *p);

/** Write the id of a prefix of 48 + bit bits, or 0, where its region has a page or can have one.
 * prefixes: how many there are in all regions. */
void pages6_set(struct pages6 *p, uint64_t upper, uint32_t bit, uint32_t id, uint32_t prefixes);

static inline uint32_t pages6_slots(uint32_t room)
{
    return 4 * room + 1;
}

/** The region of a prefix, and its length: not 0. */
static inline uint64_t pages6_key(uint64_t upper, uint32_t bit)
{
    return upper >> (16 - bit + PAGES6_BITS) << 5 | UINT64_C(1) << 63 | bit;
}

/** The number of a prefix in its region. */
static inline uint32_t pages6_number(uint64_t upper, uint32_t bit)
{
    return upper >> (16 - bit) & (PAGES6_PAGE - 1);
}

/** The slot where the search for a key begins. */
static inline uint32_t pages6_home(const struct pages6 *p, uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15) >> 32) * pages6_slots(p->room) >> 32);
}

/** The slot of an address's prefix of 48 + bit bits; NULL: the region has no page. */
static inline struct pages6_slot *pages6_slot_of(const struct pages6 *p, uint64_t upper,
                                                 uint32_t bit)
{
    uint64_t key = pages6_key(upper, bit), found;

    for (uint32_t i = pages6_home(p, key);; i = i + 1 < pages6_slots(p->room) ? i + 1 : 0) {
        found = __atomic_load_n(&p->slot[i].key, __ATOMIC_ACQUIRE);
        if (likely(found == key))
            return &p->slot[i];
        if (found == 0)
            return NULL;
    }
}

/** The same for readers, who may have been told not to ask. */
static inline const struct pages6_slot *pages6_find(const struct pages6 *p, uint64_t upper,
                                                    uint32_t bit)
{
    if (unlikely(__atomic_load_n(&p->is_off, __ATOMIC_RELAXED)))
        return NULL;
    return pages6_slot_of(p, upper, bit);
}

/** The id of a prefix by its slot alone; 0: it is at pages6_place(). */
static inline uint32_t pages6_by_order(const struct pages6_slot *s, uint64_t upper, uint32_t bit)
{
    uint32_t first = __atomic_load_n(&s->first, __ATOMIC_ACQUIRE);

    return likely(first != 0) ? first + pages6_number(upper, bit) : 0;
}

/** Where the id of a prefix is, or 0 if it is nobody's. */
static inline const uint32_t *pages6_place(const struct pages6 *p, const struct pages6_slot *s,
                                           uint64_t upper, uint32_t bit)
{
    return &p->page[s->page].id[pages6_number(upper, bit)];
}

/** The id of a prefix, or 0. */
static inline uint32_t pages6_id(const struct pages6 *p, const struct pages6_slot *s,
                                 uint64_t upper, uint32_t bit)
{
    uint32_t id = pages6_by_order(s, upper, bit);

    return id != 0 ? id : __atomic_load_n(pages6_place(p, s, upper, bit), __ATOMIC_ACQUIRE);
}

#endif
