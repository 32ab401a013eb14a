/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers by prefix of IPv6: a hash table with chains, as prefixes.h for IPv4 is one without. Only
 * the control thread uses it.
 */
#ifndef TABLES_PREFIXES6_H
#define TABLES_PREFIXES6_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/ipv6.h"

#define PREFIX6_BITS   128u
#define PREFIXES6_NONE UINT32_MAX

/** An address, or a prefix without bits behind its length: the upper half and the lower one, in
 * host order. */
struct ipv6_words {
    uint64_t at[2];
};

/** The words of an address of 16 bytes. */
static inline struct ipv6_words ipv6_words(const uint8_t *addr)
{
    return (struct ipv6_words){{ipv6_upper(addr), ipv6_lower(addr)}};
}

/** The mask of a length of 0..128. */
static inline struct ipv6_words prefix6_mask(unsigned len)
{
    return (struct ipv6_words){{len == 0   ? 0
                                : len < 64 ? UINT64_MAX << (64 - len)
                                           : UINT64_MAX,
                                len <= 64 ? 0 : UINT64_MAX << (128 - len)}};
}

/** An address without the bits behind a length of 0..128. */
static inline struct ipv6_words prefix6_of(struct ipv6_words addr, unsigned len)
{
    struct ipv6_words mask = prefix6_mask(len);

    return (struct ipv6_words){{addr.at[0] & mask.at[0], addr.at[1] & mask.at[1]}};
}

/** How many bits two addresses have in common, from the first one: 0..128. */
static inline unsigned prefix6_common(struct ipv6_words a, struct ipv6_words b)
{
    uint64_t upper = a.at[0] ^ b.at[0], lower = a.at[1] ^ b.at[1];

    if (upper != 0)
        return (unsigned)__builtin_clzll(upper);
    return lower != 0 ? 64 + (unsigned)__builtin_clzll(lower) : PREFIX6_BITS;
}

struct prefix6 {
    struct ipv6_words prefix;
    uint32_t number, next; /* next: of the chain, or of those that are free; index + 1 */
    uint8_t len;
};

struct prefixes6 {
    struct prefix6 *entry; /* room of them */
    uint32_t *head;        /* by hash: index + 1, or 0; n_heads of them, a power of two */
    uint32_t room, n_heads, n, n_touched, free;
    uint32_t of_len[PREFIX6_BITS + 1]; /* how many there are of each length */
};

/** Make a table for n prefixes. Returns 0 or -ENOMEM; call prefixes6_free() in either case. */
int prefixes6_create(struct prefixes6 *p, uint32_t n, int socket);
void prefixes6_free(struct prefixes6 *p);

/** Bytes of a table for n prefixes, without the structure itself. */
uint64_t prefixes6_bytes(uint32_t n);

/** Find the number of a prefix. Returns PREFIXES6_NONE where there is none. */
uint32_t prefixes6_get(const struct prefixes6 *p, struct ipv6_words prefix, unsigned len);

/** Give a prefix a number, a new one where it has one. Returns false where there is no room. */
bool prefixes6_put(struct prefixes6 *p, struct ipv6_words prefix, unsigned len, uint32_t number);

/** Remove a prefix. Returns the number that it had, or PREFIXES6_NONE. */
uint32_t prefixes6_remove(struct prefixes6 *p, struct ipv6_words prefix, unsigned len);

/**
 * Find the longest prefix of an address that is no longer than most (0..128). Returns its number,
 * and its length in *len; PREFIXES6_NONE where there is none.
 */
uint32_t prefixes6_match(const struct prefixes6 *p, struct ipv6_words addr, unsigned most,
                         unsigned *len);

#endif
