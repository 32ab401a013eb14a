/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The far ends whose tunnels end here: pairs of addresses, the far end's and that of the gateway
 * which the tunnel leads from. Every next hop with a tunnel has a pair; several may have the same.
 *
 * One writer (control), many readers (data path). A reader finds a pair that stays, whatever is
 * added or removed meanwhile. Open addressing; a removed pair leaves a mark (a tombstone), because
 * the search for other pairs goes on behind it.
 *
 * Pairs of IPv6 are in a set of their own, by a hash of the pair, with the pair beside the hash:
 * packets of IPv4 tunnels never touch that set.
 */
#ifndef TABLES_FAR_ENDS_H
#define TABLES_FAR_ENDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "packet/bytes.h"

#define FAR_END_NONE    UINT64_C(0) /* a free place */
#define FAR_END_REMOVED UINT64_C(1) /* no pair, as the gateway's address is not 0.0.0.0 */
#define FAR_END_BYTES6  32u         /* two addresses */

/** The set. Addresses of a pair have the order that they have in a packet from the far end. */
struct far_ends {
    uint64_t *pair;
    uint32_t *uses; /* next hops with the pair at the same place; the writer's */
    uint32_t mask;  /* places, a power of two, less one */
    unsigned shift; /* of a hash of 64 bits, to a place */
};

/** A set of pairs of IPv6. */
struct far_ends6 {
    struct far_ends of; /* pair: a hash of the pair, never FAR_END_NONE or FAR_END_REMOVED */
    uint8_t (*ends)[FAR_END_BYTES6]; /* parallel: the addresses */
    uint32_t n;                      /* pairs, with all their uses; readers ask whether it is 0 */
};

/** Make a set for so many pairs on a NUMA socket. Returns 0 or -ENOMEM. */
int far_ends_create(struct far_ends *f, uint32_t capacity, int socket);

/** Release what a set (of zeros: nothing) has. */
void far_ends_free(struct far_ends *f);

/** Add a pair once more, or remove it once; each next hop does so with its own. */
void far_ends_add(struct far_ends *f, uint64_t pair);
void far_ends_remove(struct far_ends *f, uint64_t pair);

/** Bytes that a set for so many pairs takes. */
uint64_t far_ends_bytes(uint32_t capacity);

/** The same of a set of pairs of IPv6; ends: the addresses of a pair, as in a packet. */
int far_ends6_create(struct far_ends6 *f, uint32_t capacity, int socket);
void far_ends6_free(struct far_ends6 *f);
void far_ends6_add(struct far_ends6 *f, const uint8_t ends[FAR_END_BYTES6]);
void far_ends6_remove(struct far_ends6 *f, const uint8_t ends[FAR_END_BYTES6]);
uint64_t far_ends6_bytes(uint32_t capacity);

/** The pair of a tunnel. */
static inline uint64_t far_ends_pair(rte_be32_t far_end, rte_be32_t ours)
{
    uint64_t pair;

    memcpy(&pair, &far_end, sizeof(far_end));
    memcpy((uint8_t *)&pair + sizeof(far_end), &ours, sizeof(ours));
    return pair;
}

/** The first place to look for a pair at. */
static inline uint32_t far_ends_home(const struct far_ends *f, uint64_t pair)
{
    return (uint32_t)((pair * UINT64_C(0x9e3779b97f4a7c15)) >> f->shift);
}

/** Is there this pair, source and destination of a packet as they lie in its IPv4 header? */
static inline bool far_ends_have(const struct far_ends *f, uint64_t pair)
{
    uint32_t at = far_ends_home(f, pair);

    if (unlikely(pair <= FAR_END_REMOVED))
        return false;
    for (uint32_t left = f->mask;; left--) {
        uint64_t found = __atomic_load_n(&f->pair[at], __ATOMIC_RELAXED);

        if (likely(found == pair))
            return true;
        if (found == FAR_END_NONE || left == 0)
            return false;
        at = (at + 1) & f->mask;
    }
}

/** The hash by which a pair of IPv6 is found. */
static inline uint64_t far_ends6_hash(const uint8_t *ends)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < FAR_END_BYTES6; i += sizeof(x)) {
        x = (x ^ load64(ends + i)) * UINT64_C(0xff51afd7ed558ccd);
        x ^= x >> 32;
    }
    return x <= FAR_END_REMOVED ? ~x : x;
}

/** Is there any pair of IPv6? */
static inline bool far_ends6_any(const struct far_ends6 *f)
{
    return __atomic_load_n(&f->n, __ATOMIC_RELAXED) != 0;
}

/** Is there this pair, source and destination of a packet as they lie in its IPv6 header? */
static inline bool far_ends6_have(const struct far_ends6 *f, const uint8_t *ends)
{
    uint64_t hash = far_ends6_hash(ends), found;
    uint32_t at = far_ends_home(&f->of, hash);

    for (uint32_t left = f->of.mask;; left--) {
        found = __atomic_load_n(&f->of.pair[at], __ATOMIC_ACQUIRE);
        /* looked at again: the place may have been given to another pair while it was compared */
        if (likely(found == hash) && memcmp(f->ends[at], ends, FAR_END_BYTES6) == 0 &&
            __atomic_load_n(&f->of.pair[at], __ATOMIC_ACQUIRE) == hash)
            return true;
        if (found == FAR_END_NONE || left == 0)
            return false;
        at = (at + 1) & f->of.mask;
    }
}

#endif
