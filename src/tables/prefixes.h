/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers by prefix: a hash table of IPv4 prefixes, in memory that its user gives. It finds exactly
 * the prefix that is asked for; the longest one of an address is found by asking for each length.
 * Only the control thread uses it. Prefixes are in host byte order, without bits behind the length.
 */
#ifndef TABLES_PREFIXES_H
#define TABLES_PREFIXES_H

#include <stdint.h>

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

#endif
