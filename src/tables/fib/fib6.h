/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Longest-prefix match from an IPv6 address to a number: the first bits index a table, whose entry
 * is the number, or leads to a node (a path-compressed trie of 4 bits a level). A node stands where
 * prefixes differ or end. A node has the prefix that all routes below share, so that a lookup
 * compares the shared bits once, and 16 entries for the next 4 bits: numbers, or further nodes. So
 * a lookup takes as many steps as there are branches on the way, however long the prefix is. A node
 * also has the number of addresses that differ from its prefix (miss), so that a lookup never goes
 * back. The entry that leads to a node tells whether the node's bits follow directly (FIB6_NEXT):
 * then a lookup compares nothing and reads only the line of entries, which is the usual case where
 * routes are dense.
 *
 * A /32 with many longer routes, as operators have them, has a page: an index by the next 16 bits,
 * in place of the first index and of all nodes before bit 48. So a lookup of a /48 there is one
 * access, as of most IPv4 routes. A page is filled from the nodes, and a change writes both.
 *
 * A change writes the entries of its own range only, each by one store, so that a reader meets the
 * old or the new number and never none. A removed node is used again after a grace period, when no
 * reader can be in it. doc/scale.md has what rte_fib6 and rte_lpm6 cost beside this.
 *
 * A table may have copies on other NUMA sockets, as those of fib.h.
 *
 * One writer (control), many readers (data path).
 */
#ifndef TABLES_FIB6_H
#define TABLES_FIB6_H

#include <stdalign.h>
#include <stdint.h>

#include <rte_common.h>

#include "tables/fib/lines.h"
#include "tables/prefixes.h"

#define FIB6_FIRST_BITS 20u
#define FIB6_REGION     32u /* bits of a prefix that can have a page, */
#define FIB6_PAGE_END   48u /* and those that have been looked at behind it */
#define FIB6_PAGE       (1u << (FIB6_PAGE_END - FIB6_REGION)) /* entries */
#define FIB6_DENSE      1024u /* routes longer than /32 that make a page; with half it goes */
#define FIB6_PAGES      64u   /* at most */
#define FIB6_SLOT_BITS  8u
#define FIB6_SLOTS      (1u << FIB6_SLOT_BITS)
#define FIB6_NODE_BITS  4u
#define FIB6_NODE       (1u << FIB6_NODE_BITS) /* entries */
#define FIB6_MORE       0x80000000u            /* of an entry: it leads to a node; the rest: */
#define FIB6_NEXT       0x40000000u            /* whose bits are those behind the entry's own, */
#define FIB6_DEPTH_AT   25                     /* whose depth is so many times 4, */
#define FIB6_INDEX      0x1ffffffu             /* and where that node is */
#define FIB6_NUMBER     0x7fffffu              /* else: the number; the length is between */
#define FIB6_MOST       (FIB6_INDEX / 2 - FIB6_SPARE) /* routes */
#define FIB6_SPARE                                                                                 \
    1024u /* nodes more than all routes can need, until nodes                                      \
             are free again */

struct fib6_node {
    struct ipv6 prefix, mask; /* what all routes below share, and its mask */
    uint32_t miss;            /* number of addresses that do not match prefix */
    uint8_t depth;            /* bits of prefix: a multiple of 4 */
    alignas(RTE_CACHE_LINE_SIZE) uint32_t entry[FIB6_NODE];
} __rte_cache_aligned;

/** What readers read. */
struct fib6_copy {
    uint32_t *first; /* 2^20 entries, and those of the pages */
    struct fib6_node *node;
    /* By fib6_slot(): region << 32 | index in first[] of the region's page. Without a page: a
     * region that another slot belongs to, so that no address matches. */
    uint64_t slot[FIB6_SLOTS];
};

struct fib6 {
    struct fib6_copy own; /* the first copy, which the writer reads, too */
    struct fib6_copy *more[TABLE_COPIES - 1];
    unsigned n_more;
    struct lines nodes, pages; /* which of them are in use */
    struct prefixes6 routes;
    struct prefixes6 regions; /* by region: how many routes are longer */
};

/** Make a table for n routes, FIB6_MOST at most. Returns 0 or -ENOMEM; call fib6_free() in either
 * case. */
int fib6_create(struct fib6 *f, uint32_t n, int socket);
void fib6_free(struct fib6 *f);

/** Make another copy, on a socket, with what the first one has. Returns 0, or -ENOMEM; fib6_free()
 * releases it in either case. */
int fib6_add_copy(struct fib6 *f, int socket);

/** Bytes of a table for n routes, without the structure itself, and of each further copy. */
uint64_t fib6_bytes(uint32_t n);
uint64_t fib6_copy_bytes(uint32_t n);

/** A copy by its number, the first being 0. */
static inline const struct fib6_copy *fib6_copy(const struct fib6 *f, unsigned i)
{
    return i == 0 ? &f->own : f->more[i - 1];
}

/** Let a prefix (no bits behind len, 0..128) lead to a number of at most FIB6_NUMBER; 0 is what
 * addresses without a prefix have. Returns 0, or -ENOSPC where there is no room for another route,
 * or where readers have blocked for a second the memory that is needed: of a prefix that is new. */
int fib6_add(struct fib6 *f, struct ipv6 prefix, unsigned len, uint32_t number);

/** Remove a prefix: its addresses follow the next shorter one. Returns 0 or -ENOENT. */
int fib6_remove(struct fib6 *f, struct ipv6 prefix, unsigned len);

/** Let a table have readers, who say when they have left what they read. */
void fib6_set_readers(struct fib6 *f, struct rte_rcu_qsbr *readers);

/** Read an entry while the writer may store it. */
static inline uint32_t fib6_read(const uint32_t *entry)
{
    return __atomic_load_n(entry, __ATOMIC_RELAXED);
}

/** The only slot in which a region can be. */
static inline uint32_t fib6_slot(uint32_t region)
{
    return region * UINT32_C(0x9e3779b1) >> (32 - FIB6_SLOT_BITS);
}

/** Where in first[] the first entry of an address is: in the page of its region, or by its first
 * bits. */
static inline uint32_t fib6_first(const struct fib6_copy *f, struct ipv6 addr)
{
    uint32_t region = (uint32_t)(addr.upper >> (64 - FIB6_REGION));
    uint64_t slot = __atomic_load_n(&f->slot[fib6_slot(region)], __ATOMIC_RELAXED);
    uint32_t in_page = (uint32_t)slot + ((uint32_t)addr.upper >> (64 - FIB6_PAGE_END));

    return slot >> 32 == region ? in_page : (uint32_t)(addr.upper >> (64 - FIB6_FIRST_BITS));
}

/** Which entry of its node, whose depth it has, an entry leads an address to. */
static inline uint32_t fib6_place(uint32_t entry, struct ipv6 addr)
{
    uint32_t depth = (entry & ~(FIB6_MORE | FIB6_NEXT)) >> FIB6_DEPTH_AT; /* in 4 bits */
    uint64_t half = depth < 64 / FIB6_NODE_BITS ? addr.upper : addr.lower;

    return half << (depth * FIB6_NODE_BITS & 63) >> (64 - FIB6_NODE_BITS);
}

/** Prefetch what fib6_step() reads; of an entry that is a number, the first node of all, which
 * costs less than a branch. */
static inline void fib6_prefetch(const struct fib6_copy *f, uint32_t entry)
{
    const struct fib6_node *node = &f->node[(entry & FIB6_MORE) != 0 ? entry & FIB6_INDEX : 0];

    __builtin_prefetch(node->entry, 0, 3);
    __builtin_prefetch((entry & FIB6_NEXT) != 0 ? (const void *)node->entry : node, 0, 3);
}

/** What the node of an entry says of an address: an entry again. */
static inline uint32_t fib6_step(const struct fib6_copy *f, uint32_t entry, struct ipv6 addr)
{
    const struct fib6_node *node = &f->node[entry & FIB6_INDEX];
    const uint32_t *next = &node->entry[fib6_place(entry, addr)];

    if ((entry & FIB6_NEXT) == 0 && (((addr.upper ^ node->prefix.upper) & node->mask.upper) |
                                     ((addr.lower ^ node->prefix.lower) & node->mask.lower)) != 0)
        next = &node->miss;
    return fib6_read(next);
}

/** The number of an address. */
static inline uint32_t fib6_lookup(const struct fib6_copy *f, struct ipv6 addr)
{
    uint32_t entry = fib6_read(&f->first[fib6_first(f, addr)]);

    while ((entry & FIB6_MORE) != 0)
        entry = fib6_step(f, entry, addr);
    return entry & FIB6_NUMBER;
}

/** Follow the entries of n addresses, whose nodes have been prefetched, until they are numbers. */
static inline void fib6_follow(const struct fib6_copy *f, const struct ipv6 *addr, uint32_t n,
                               uint32_t *entry)
{
    uint32_t more;

    do {
        more = 0;
        for (uint32_t i = 0; i < n; i++) {
            if ((entry[i] & FIB6_MORE) == 0)
                continue;
            entry[i] = fib6_step(f, entry[i], addr[i]);
            more |= entry[i];
            fib6_prefetch(f, entry[i]);
        }
    } while ((more & FIB6_MORE) != 0);
}

/** The numbers of n addresses, in stages that prefetch what the next one reads. */
static inline void fib6_lookup_burst(const struct fib6_copy *f, const struct ipv6 *addr, uint32_t n,
                                     uint32_t *number)
{
    for (uint32_t i = 0; i < n; i++) {
        number[i] = fib6_first(f, addr[i]);
        __builtin_prefetch(&f->first[number[i]], 0, 3);
    }
    for (uint32_t i = 0; i < n; i++) {
        number[i] = fib6_read(&f->first[number[i]]);
        fib6_prefetch(f, number[i]);
    }
    fib6_follow(f, addr, n, number);
    for (uint32_t i = 0; i < n; i++)
        number[i] &= FIB6_NUMBER;
}

#endif
