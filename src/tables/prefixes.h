/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers by prefix: a hash table of IPv4 prefixes, in memory that its user gives, and one of IPv6
 * prefixes. They find exactly the prefix that is asked for; the longest one of an address is found
 * by asking for each length. Only the control thread uses them. Prefixes are in host byte order,
 * without bits behind the length.
 */
#ifndef TABLES_PREFIXES_H
#define TABLES_PREFIXES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ipv6.h"

#define PREFIXES_MOST UINT32_C(0xffffff) /* the largest number */
#define PREFIXES_NONE UINT32_MAX

struct prefixes {
    uint64_t *place;     /* prefix << 32 | (length + 1) << 24 | number; 0: free */
    uint32_t n_places;   /* at least one is free */
    uint32_t of_len[33]; /* how many there are of each length */
};

/** Places of a table for n prefixes. */
static inline uint32_t prefixes_places(uint32_t n)
{
    return n + n / 2 + 8;
}

/** Find the number of a prefix. Returns PREFIXES_NONE where there is none. */
uint32_t prefixes_get(const struct prefixes *p, uint32_t prefix, uint8_t len);

/** Give a prefix a number, a new one where it has one; there must be room. */
void prefixes_put(struct prefixes *p, uint32_t prefix, uint8_t len, uint32_t number);

/** Remove a prefix. Returns the number that it had, or PREFIXES_NONE. */
uint32_t prefixes_remove(struct prefixes *p, uint32_t prefix, uint8_t len);

/**
 * Find the longest prefix of an address that is no longer than most (0..32). Returns its number,
 * and its length in *len; PREFIXES_NONE where there is none.
 */
uint32_t prefixes_match(const struct prefixes *p, uint32_t addr, uint8_t most, uint8_t *len);

/** The mask of a length of 0..32. */
static inline uint32_t prefix_mask(uint8_t len)
{
    return len == 0 ? 0 : UINT32_MAX << (32 - len);
}

/* --- IPv6: chains, where the table above has none --- */

#define PREFIX6_BITS   128u /* of an address */
#define PREFIXES6_NONE UINT32_MAX

/** How many bits two addresses have in common, from the first one: 0..128. */
static inline unsigned prefix6_common(struct ipv6 a, struct ipv6 b)
{
    uint64_t upper = a.upper ^ b.upper, lower = a.lower ^ b.lower;

    if (upper != 0)
        return (unsigned)__builtin_clzll(upper);
    return lower != 0 ? 64 + (unsigned)__builtin_clzll(lower) : PREFIX6_BITS;
}

struct prefix6 {
    struct ipv6 prefix;
    uint32_t number, next; /* next: of the chain, or of those that are free; index + 1 */
    uint8_t len;
};

struct prefixes6 {
    struct prefix6 *entry; /* room of them */
    uint32_t *head;        /* by hash: index + 1, or 0; n_heads of them, a power of two */
    uint32_t room, n_heads, n, n_touched, free;
    uint32_t of_len[PREFIX6_BITS + 1]; /* how many there are of each length */
};

/** Heads of a table for n prefixes. */
static inline uint32_t prefixes6_heads(uint32_t n)
{
    uint32_t heads = 1;

    while (heads < n)
        heads *= 2;
    return heads;
}

/** Make a table for n prefixes. Returns 0 or -ENOMEM; call prefixes6_free() in either case. */
int prefixes6_create(struct prefixes6 *p, uint32_t n, int socket);
void prefixes6_free(struct prefixes6 *p);

/** Bytes of a table for n prefixes, without the structure itself. */
uint64_t prefixes6_bytes(uint32_t n);

/** Find the number of a prefix. Returns PREFIXES6_NONE where there is none. */
uint32_t prefixes6_get(const struct prefixes6 *p, struct ipv6 prefix, unsigned len);

/** Give a prefix a number, a new one where it has one. Returns false where there is no room. */
bool prefixes6_put(struct prefixes6 *p, struct ipv6 prefix, unsigned len, uint32_t number);

/** Remove a prefix. Returns the number that it had, or PREFIXES6_NONE. */
uint32_t prefixes6_remove(struct prefixes6 *p, struct ipv6 prefix, unsigned len);

/**
 * Find the longest prefix of an address that is no longer than most (0..128). Returns its number,
 * and its length in *len; PREFIXES6_NONE where there is none.
 */
uint32_t prefixes6_match(const struct prefixes6 *p, struct ipv6 addr, unsigned most, unsigned *len);

#endif
