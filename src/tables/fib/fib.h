/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Longest-prefix match from an IPv4 address to a number, by direct index: 24 bits in the first
 * level (64 MiB), and where there are longer prefixes 4 bits in a cache line, and the last 4 bits
 * in another. A change writes the entries of its own range only, each by one store, so that a
 * reader meets the old or the new number and never none. A line that is not needed any more is used
 * again when no reader can be in it.
 *
 * A table may have copies on other NUMA sockets, for the readers there. All of them are alike,
 * entry by entry: a store into the first one goes into the others at once, and one list says for
 * all which lines are in use.
 *
 * rte_lpm finds a prefix by a walk through all of its length, and has room for longer prefixes in
 * 65536 /24s; rte_fib of DPDK 22.11 takes memory back while readers are in it.
 *
 * One writer (control), many readers (data path). Addresses are in host byte order.
 */
#ifndef TABLES_FIB_H
#define TABLES_FIB_H

#include <stdint.h>

#include <rte_common.h>

#include "tables/fib/lines.h"
#include "tables/prefixes.h"

#define FIB_FIRST_BITS  24u
#define FIB_FIRST_BYTES (sizeof(uint32_t) << FIB_FIRST_BITS)
#define FIB_LINE_BITS   4u
#define FIB_LINE        (1u << FIB_LINE_BITS) /* entries */
#define FIB_MORE        0x80000000u           /* of an entry: the rest is the index of a line */
#define FIB_NUMBER      PREFIXES_MOST /* else: the number; the length is in the bits between */
#define FIB_SPARE       1024u /* lines more than all routes can need, until lines are free again */

struct fib_line {
    uint32_t entry[FIB_LINE];
} __rte_cache_aligned;

/** What readers read. */
struct fib_copy {
    uint32_t *first; /* 2^24 entries */
    struct fib_line *line;
};

struct fib {
    struct fib_copy own; /* the first copy, which the writer reads, too */
    struct fib_copy more[TABLE_COPIES - 1];
    unsigned n_more;
    struct lines lines; /* which lines are in use */
    struct prefixes routes;
};

/** Make a table for n routes. Returns 0 or -ENOMEM; call fib_free() in either case. */
int fib_create(struct fib *f, uint32_t n, int socket);
void fib_free(struct fib *f);

/** Make another copy, on a socket, with what the first one has. Returns 0, or -ENOMEM; fib_free()
 * releases it in either case. */
int fib_add_copy(struct fib *f, int socket);

/** Bytes of a table for n routes, without the structure itself, and of each further copy. */
uint64_t fib_bytes(uint32_t n);
uint64_t fib_copy_bytes(uint32_t n);

/** A copy by its number, the first being 0. */
static inline const struct fib_copy *fib_copy(const struct fib *f, unsigned i)
{
    return i == 0 ? &f->own : &f->more[i - 1];
}

/** Let a prefix (no bits behind len, 0..32) lead to a number of at most FIB_NUMBER; 0 is what
 * addresses without a prefix have. Returns 0, or -ENOSPC where readers have blocked for a second
 * the memory that is needed: of a prefix that is new. There must be room for another route. */
int fib_add(struct fib *f, uint32_t prefix, uint8_t len, uint32_t number);

/** Remove a prefix: its addresses follow the next shorter one. Returns 0 or -ENOENT. */
int fib_remove(struct fib *f, uint32_t prefix, uint8_t len);

/** The second level's entry of an address whose first entry is this. */
static inline const uint32_t *fib_second(const struct fib_line *line, uint32_t entry, uint32_t addr)
{
    return &line[entry & ~FIB_MORE].entry[addr >> FIB_LINE_BITS & (FIB_LINE - 1)];
}

/** The third level's entry of an address whose second entry is this. */
static inline const uint32_t *fib_third(const struct fib_line *line, uint32_t entry, uint32_t addr)
{
    return &line[entry & ~FIB_MORE].entry[addr & (FIB_LINE - 1)];
}

/** Read an entry while the writer may store it. */
static inline uint32_t fib_read(const uint32_t *entry)
{
    return __atomic_load_n(entry, __ATOMIC_RELAXED);
}

/** The number of an address. The route task does the same for a burst, and prefetches. */
static inline uint32_t fib_lookup(const struct fib_copy *f, uint32_t addr)
{
    uint32_t entry = fib_read(&f->first[addr >> (32 - FIB_FIRST_BITS)]);

    if ((entry & FIB_MORE) != 0)
        entry = fib_read(fib_second(f->line, entry, addr));
    if ((entry & FIB_MORE) != 0)
        entry = fib_read(fib_third(f->line, entry, addr));
    return entry & FIB_NUMBER;
}

#endif
