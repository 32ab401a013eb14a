/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv6 of subscribers: a record of one cache line by the subscriber's id, which packets of IPv4
 * never touch, and an index of all prefixes by which a packet's destination finds its subscriber.
 *
 * The index is one hash table for all lengths. A lookup tries each prefix length in use around the
 * address, the longest first; operators give links and delegated prefixes of one length each out of
 * separate blocks, so that one try is the rule. The pages (pages6.h) are tried first: an array in
 * place of the hash, for regions that are dense. A bucket is a cache line of four prefixes;
 * overflow goes to the following buckets, and the bucket counts how many prefixes passed it.
 *
 * One writer (control), many readers (data path).
 */
#ifndef TABLES_SUBSCRIBER6_H
#define TABLES_SUBSCRIBER6_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "base/ipv6.h"
#include "tables/pages6.h"

#define SUBSCRIBER6_SHORTEST 48 /* prefix; the longest is 64, or 128 for one address */

/**
 * What the data path knows of a subscriber's IPv6, in host order. While the subscriber is
 * published, a prefix is only added in a free place or removed, never overwritten.
 */
struct subscriber6 {
    /* The prefix of the link to the CPE, of 64 bits, or the CPE's address there. ffff:..., which is
     * multicast, where there is none. */
    uint64_t wan_upper, wan_lower, wan_lower_mask;
    /* An address is in prefix i where its upper half >> shift[i] is delegated[i]; ffff:... in
     * unused places. */
    uint64_t delegated[CPE_DELEGATED];
    uint8_t shift[CPE_DELEGATED]; /* 64 - length: 0..16 */
    uint8_t wan_len;              /* 64, 128, or 0: none */
    uint8_t n_delegated;          /* places up to the last one in use */
} __rte_cache_aligned;

static_assert(sizeof(struct subscriber6) == 64, "one cache line per subscriber");

#define SUBSCRIBER6_WAYS 4 /* prefixes in a bucket */

struct subscriber6_bucket {
    uint64_t key[SUBSCRIBER6_WAYS]; /* upper half; of an address a hash, and the record has it */
    uint32_t id[SUBSCRIBER6_WAYS];  /* 0: free */
    uint8_t len[SUBSCRIBER6_WAYS];
    uint16_t passed; /* prefixes whose search begins here or before, and that are stored behind this
                        bucket */
} __rte_cache_aligned;

static_assert(sizeof(struct subscriber6_bucket) == 64, "one cache line per bucket");

/** The first 32 bits of the prefixes of subscribers whose IPv6 the first line of their records can
 * say: a link of 64 bits, a delegated prefix, or both. no_delegated: not 0 for subscribers with a
 * link only. */
struct subscriber6_common {
    uint32_t first, no_delegated;
};

#define SUBSCRIBER6_COMMON 254u /* subscriber.h: what has_ipv6 can say */

#define SUBSCRIBER6_BLOCKS 4096u /* a power of two: one for each /48 of a million /56 */

struct subscriber6_table {
    struct subscriber6 *record; /* by id; record[0] is empty */
    struct subscriber6_bucket *bucket;
    struct pages6 pages; /* of prefixes; all of them are in buckets, too */
    uint32_t n_buckets;
    uint32_t in_use; /* a bit for each length that there is: subscriber6_bit() */
    uint32_t of_len[18];
    /* Entries: one for a prefix or an address, and one for each /64 around addresses. */
    uint32_t n, capacity;
    /* Never removed; subscribers beyond so many are looked up in the records of IPv6 only. */
    struct subscriber6_common common[SUBSCRIBER6_COMMON];
    uint32_t n_common;
    uint64_t nets[4]; /* a bit for subscriber6_net() of each prefix ever added */
    /* As in_use, of the prefixes ever added in a block: a removed prefix costs a try, a length that
     * is in use nowhere none. */
    uint32_t block[SUBSCRIBER6_BLOCKS];
};

/** The block of an address: neighbouring /48s have neighbouring ones. Several /48s may share one.
 */
static inline uint32_t subscriber6_block(uint64_t upper)
{
    return (uint32_t)(upper >> 16 ^ (upper >> 32) * 2654435761u) & (SUBSCRIBER6_BLOCKS - 1);
}

/** The lengths that an address is to be asked for, as in_use has them. */
static inline uint32_t subscriber6_lengths(const struct subscriber6_table *t, uint64_t upper)
{
    return __atomic_load_n(&t->block[subscriber6_block(upper)], __ATOMIC_RELAXED) &
           __atomic_load_n(&t->in_use, __ATOMIC_RELAXED);
}

/** Read the id of an entry, or 0 where the entry has another key. A reader that meets the writer
 * sees the id of the old key, of the new key, or 0 in between. */
static inline uint32_t subscriber6_id_at(const struct subscriber6_bucket *b, unsigned way,
                                         uint64_t key, uint8_t len)
{
    uint32_t id = __atomic_load_n(&b->id[way], __ATOMIC_ACQUIRE);

    if (id == 0 || __atomic_load_n(&b->key[way], __ATOMIC_RELAXED) != key ||
        __atomic_load_n(&b->len[way], __ATOMIC_RELAXED) != len)
        return 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&b->id[way], __ATOMIC_RELAXED) == id ? id : 0;
}

/** A hash of the first 32 bits of an address, 0..255: the index into subscriber6_table.nets. */
static inline uint8_t subscriber6_net(uint64_t upper)
{
    return (uint8_t)(((uint32_t)(upper >> 32) * 2654435761u) >> 24);
}

/** Add an address that is no subscriber's to those that subscriber6_suspects() cannot rule out. */
static inline void subscriber6_suspect(struct subscriber6_table *t, uint64_t upper)
{
    uint8_t net = subscriber6_net(upper);

    t->nets[net / 64] |= UINT64_C(1) << net % 64;
}

/** May an address be a subscriber's or the gateway's own? Where not, no record needs to be read. */
static inline bool subscriber6_suspects(const struct subscriber6_table *t, uint64_t upper)
{
    uint8_t net = subscriber6_net(upper);

    return (__atomic_load_n(&t->nets[net / 64], __ATOMIC_RELAXED) >> net % 64 & 1) != 0;
}

/** The number of buckets for so many entries: two thirds of their places are taken then. */
static inline uint32_t subscriber6_buckets(uint32_t prefixes)
{
    return prefixes / SUBSCRIBER6_WAYS + prefixes / (2 * SUBSCRIBER6_WAYS) + 8;
}

/** Make a table for ids up to subscribers, and so many entries of the index. Returns NULL without
 * memory. */
struct subscriber6_table *subscriber6_table_create(uint32_t subscribers, uint32_t entries,
                                                   int socket);

/** Release a table (NULL: nothing to do). */
void subscriber6_table_free(struct subscriber6_table *t);

/** The entries of the index that a subscriber takes. */
uint32_t subscriber6_entries(const struct cpe_prefixes *spec);

/** Can subscriber6_publish() take a subscriber? Returns 0, -EINVAL (a length), -EEXIST (somebody
 * has just that prefix or address) or -ENOSPC. */
int subscriber6_check(const struct subscriber6_table *t, const struct cpe_prefixes *spec);

/** Write the record of an id that nobody reads yet. */
void subscriber6_fill(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *spec);

/** The summary of a record for the first line (struct subscriber): bits 32..63 of the link's prefix
 * and of the delegated prefix, the latter with a 1 behind the prefix, or 0 for none; wan without a
 * link: a value inside delegated; common: index in subscriber6_table.common. */
struct subscriber6_brief {
    uint32_t wan, delegated, common;
};

/** Summarize a record. Returns false where the first line has no room for it: a single address,
 * several delegated prefixes, a delegated /64 beside a link, no prefix at all, or prefixes with
 * different first 32 bits. */
bool subscriber6_brief(struct subscriber6_table *t, uint32_t id, struct subscriber6_brief *out);

/** Put the prefixes of a record into the index, after subscriber6_check(). An id that was in the
 * index before must have been out for a grace period: a reader that was interrupted in between
 * could not tell the two apart. */
void subscriber6_publish(struct subscriber6_table *t, uint32_t id);

/** Take the prefixes of a record out of the index; the record stays for packets that name it. */
void subscriber6_unpublish(struct subscriber6_table *t, uint32_t id);

/** Remove the prefixes that are not in a description. Returns whether there was one: then a grace
 * period has to end before subscriber6_extend(). */
bool subscriber6_withdraw(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *to);

/** Add the prefixes of a description that the subscriber does not have, after
 * subscriber6_withdraw() with the same description. */
void subscriber6_extend(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *to);

/** Empty the record of an id that no packet bears any more. */
void subscriber6_release(struct subscriber6_table *t, uint32_t id);

/**
 * Find a subscriber whose prefix overlaps a prefix of 48 to 64 or of 128 bits. Returns the id, or
 * 0. Takes up to 2^(64 - len) steps.
 */
uint32_t subscriber6_holder(const struct subscriber6_table *t, struct ipv6 prefix, uint8_t len);

/** The lengths that can be in use, from the shortest on: 48..64, then 128. */
static inline uint32_t subscriber6_bit(uint8_t len)
{
    return len == 128 ? 17 : len - SUBSCRIBER6_SHORTEST;
}

/** A hash of 64 bits and a length, all of whose bits are good. */
static inline uint64_t subscriber6_hash(uint64_t key, uint32_t bit)
{
    uint64_t h = (key ^ bit) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 32) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

/** The key of an address (bit 17), or of the prefix of its upper half whose length a bit stands
 * for. */
static inline uint64_t subscriber6_key(struct ipv6 addr, uint32_t bit)
{
    return bit == 17 ? addr.upper ^ subscriber6_hash(addr.lower, bit)
                     : addr.upper & UINT64_MAX << (64 - SUBSCRIBER6_SHORTEST - bit);
}

/** The bucket where the search for a key begins. */
static inline uint32_t subscriber6_home(const struct subscriber6_table *t, uint64_t key,
                                        uint32_t bit)
{
    return (uint32_t)((subscriber6_hash(key, bit) >> 32) * t->n_buckets >> 32);
}

/** Find the subscriber with the longest prefix of an address. Returns the id, or 0. */
uint32_t subscriber6_find(const struct subscriber6_table *t, struct ipv6 addr);

/** The state of a lookup between its two stages: where the longest possible prefix of the address
 * would be. */
struct subscriber6_search {
    const uint32_t *place; /* in a page; NULL: not needed, or the region has none */
    const struct subscriber6_bucket *home;
    uint64_t key;
    uint32_t bit; /* of the length; 32 or more: no prefix has such an address */
    uint32_t id;  /* where a page's first id tells it; else 0 */
};

/** First stage of a lookup: find the place, and prefetch what subscriber6_end() will read. */
static inline struct subscriber6_search subscriber6_begin(const struct subscriber6_table *t,
                                                          struct ipv6 addr)
{
    uint32_t bits = subscriber6_lengths(t, addr.upper);
    struct subscriber6_search s = {.bit = UINT32_MAX};
    const struct pages6_slot *slot;

    if (unlikely(bits == 0))
        return s;
    s.bit = 31 - (uint32_t)__builtin_clz(bits);
    slot = likely(s.bit < 17) ? pages6_find(&t->pages, addr.upper, s.bit) : NULL;
    if (likely(slot != NULL)) {
        s.id = pages6_by_order(slot, addr.upper, s.bit);
        if (s.id == 0) {
            s.place = pages6_place(&t->pages, slot, addr.upper, s.bit);
            rte_prefetch0(s.place);
        }
        return s;
    }
    s.key = subscriber6_key(addr, s.bit);
    s.home = &t->bucket[subscriber6_home(t, s.key, s.bit)];
    rte_prefetch0(s.home);
    for (bits ^= UINT32_C(1) << s.bit; unlikely(bits != 0); bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(bits);

        rte_prefetch0(&t->bucket[subscriber6_home(t, subscriber6_key(addr, bit), bit)]);
    }
    return s;
}

/** Second stage: the result of subscriber6_find(). The usual prefix is in the first bucket, whose
 * four keys are compared without branches, because the processor would mispredict them. */
static inline uint32_t subscriber6_end(const struct subscriber6_table *t,
                                       const struct subscriber6_search *s, struct ipv6 addr)
{
    const struct subscriber6_bucket *b = s->home;
    uint32_t found = 0, way, id;

    if (likely(s->id != 0))
        return s->id;
    if (likely(s->place != NULL)) {
        id = __atomic_load_n(s->place, __ATOMIC_ACQUIRE);
        return likely(id != 0) ? id : subscriber6_find(t, addr);
    }
    if (unlikely(s->bit >= 17)) /* an address, or nothing */
        return s->bit == 17 ? subscriber6_find(t, addr) : 0;
    for (unsigned i = 0; i < SUBSCRIBER6_WAYS; i++)
        found |= (uint32_t)(__atomic_load_n(&b->key[i], __ATOMIC_RELAXED) == s->key) << i;
    way = (uint32_t)__builtin_ctz(found | 1u << (SUBSCRIBER6_WAYS - 1));
    id = subscriber6_id_at(b, way, s->key, (uint8_t)(SUBSCRIBER6_SHORTEST + s->bit));
    return likely(id != 0) ? id : subscriber6_find(t, addr);
}

/** Is a unicast address in a prefix of a record? */
static inline bool subscriber6_owns(const struct subscriber6 *s, struct ipv6 addr)
{
    if (addr.upper == s->wan_upper && ((addr.lower ^ s->wan_lower) & s->wan_lower_mask) == 0)
        return true;
    return addr.upper >> s->shift[0] == s->delegated[0] ||
           addr.upper >> s->shift[1] == s->delegated[1] ||
           addr.upper >> s->shift[2] == s->delegated[2] ||
           addr.upper >> s->shift[3] == s->delegated[3];
}

/** Bytes that a table takes. */
uint64_t subscriber6_table_bytes(const struct subscriber6_table *t, uint32_t subscribers);

#endif
