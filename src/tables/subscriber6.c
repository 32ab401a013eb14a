/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/subscriber6.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tables/memory.h"

#define BIT_ADDRESS 17
#define BIT_LINK    18 /* no length of the data path: how many addresses a prefix of 64 bits has */
#define LEN_LINK    255

struct subscriber6_table *subscriber6_table_create(uint32_t subscribers, uint32_t entries,
                                                   int socket)
{
    struct subscriber6_table *t = table_zalloc(sizeof(*t), socket);

    if (t == NULL)
        return NULL;
    t->capacity = entries;
    t->n_buckets = subscriber6_buckets(entries);
    t->record = table_zalloc((subscribers + UINT64_C(1)) * sizeof(t->record[0]), socket);
    t->bucket = table_zalloc(t->n_buckets * sizeof(t->bucket[0]), socket);
    if (!pages6_create(&t->pages, entries, socket) || t->record == NULL || t->bucket == NULL) {
        subscriber6_table_free(t);
        return NULL;
    }
    return t;
}

void subscriber6_table_free(struct subscriber6_table *t)
{
    if (t == NULL)
        return;
    rte_free(t->record);
    rte_free(t->bucket);
    pages6_free(&t->pages);
    rte_free(t);
}

uint64_t subscriber6_table_bytes(const struct subscriber6_table *t, uint32_t subscribers)
{
    return sizeof(*t) + (subscribers + UINT64_C(1)) * sizeof(t->record[0]) +
           t->n_buckets * (uint64_t)sizeof(t->bucket[0]) + pages6_bytes(&t->pages);
}

/* --- the index --- */

struct place {
    struct subscriber6_bucket *bucket;
    unsigned way;
    uint32_t id; /* that was found there: by now it may be another's place */
};

static uint8_t len_of(uint32_t bit)
{
    return bit == BIT_LINK      ? LEN_LINK
           : bit == BIT_ADDRESS ? 128
                                : (uint8_t)(SUBSCRIBER6_SHORTEST + bit);
}

static struct subscriber6_bucket *next(const struct subscriber6_table *t,
                                       struct subscriber6_bucket *b)
{
    return b + 1 < t->bucket + t->n_buckets ? b + 1 : t->bucket;
}

/* Does the record of an id have this very address? Two addresses may have the same key. */
static inline bool has_address(const struct subscriber6_table *t, uint32_t id, struct ipv6 addr)
{
    const struct subscriber6 *r = &t->record[id];

    return r->wan_upper == addr.upper && r->wan_lower == addr.lower;
}

/* Find the entry of a prefix; bucket NULL and id 0: there is none. */
static inline struct place find(const struct subscriber6_table *t, struct ipv6 addr, uint32_t bit)
{
    uint64_t key = bit == BIT_LINK ? addr.upper : subscriber6_key(addr, bit);
    struct subscriber6_bucket *b = &t->bucket[subscriber6_home(t, key, bit)];

    for (;; b = next(t, b)) {
        for (unsigned i = 0; i < SUBSCRIBER6_WAYS; i++) {
            uint32_t id = subscriber6_id_at(b, i, key, len_of(bit));

            if (id != 0 && (bit != BIT_ADDRESS || has_address(t, id, addr)))
                return (struct place){b, i, id};
        }
        if (likely(__atomic_load_n(&b->passed, __ATOMIC_ACQUIRE) == 0))
            return (struct place){0};
    }
}

static inline uint32_t id_of(const struct subscriber6_table *t, struct ipv6 addr, uint32_t bit)
{
    return find(t, addr, bit).id;
}

uint32_t subscriber6_find(const struct subscriber6_table *t, struct ipv6 addr)
{
    uint32_t bits = subscriber6_lengths(t, addr.upper);

    while (bits != 0) {
        uint32_t bit = 31 - (uint32_t)__builtin_clz(bits);
        const struct pages6_slot *slot =
            bit < BIT_ADDRESS ? pages6_find(&t->pages, addr.upper, bit) : NULL;
        uint32_t id =
            slot != NULL ? pages6_id(&t->pages, slot, addr.upper, bit) : id_of(t, addr, bit);

        if (id != 0)
            return id;
        bits ^= UINT32_C(1) << bit;
    }
    return 0;
}

/* Write an entry that is not there yet; there is room. */
static void put(struct subscriber6_table *t, struct ipv6 addr, uint32_t bit, uint32_t id)
{
    uint64_t key = bit == BIT_LINK ? addr.upper : subscriber6_key(addr, bit);
    struct subscriber6_bucket *b = &t->bucket[subscriber6_home(t, key, bit)];

    for (;; b = next(t, b)) {
        for (unsigned i = 0; i < SUBSCRIBER6_WAYS; i++) {
            if (b->id[i] != 0)
                continue;
            __atomic_thread_fence(__ATOMIC_RELEASE); /* the id 0 that was here was seen before */
            __atomic_store_n(&b->key[i], key, __ATOMIC_RELAXED);
            __atomic_store_n(&b->len[i], len_of(bit), __ATOMIC_RELAXED);
            __atomic_store_n(&b->id[i], id, __ATOMIC_RELEASE);
            t->n++;
            return;
        }
        __atomic_store_n(&b->passed, (uint16_t)(b->passed + 1), __ATOMIC_RELEASE);
    }
}

/* Take an entry out; its neighbours stay where they are. */
static void take(struct subscriber6_table *t, struct ipv6 addr, uint32_t bit)
{
    struct place p = find(t, addr, bit);
    uint64_t key;

    if (p.bucket == NULL)
        return;
    key = p.bucket->key[p.way];
    __atomic_store_n(&p.bucket->id[p.way], 0, __ATOMIC_RELEASE);
    for (struct subscriber6_bucket *b = &t->bucket[subscriber6_home(t, key, bit)]; b != p.bucket;
         b = next(t, b))
        __atomic_store_n(&b->passed, (uint16_t)(b->passed - 1), __ATOMIC_RELEASE);
    t->n--;
}

/* Count a prefix of a length, or one less; a length comes into use before its first prefix. */
static void count(struct subscriber6_table *t, uint32_t bit, bool more)
{
    t->of_len[bit] += more ? 1 : UINT32_MAX;
    if (t->of_len[bit] == (more ? 1 : 0))
        __atomic_store_n(&t->in_use, t->in_use ^ UINT32_C(1) << bit, __ATOMIC_RELEASE);
}

/* How many addresses of the prefix of 64 bits around one are subscribers' are in the entry's id. */
static void count_on_link(struct subscriber6_table *t, struct ipv6 addr, bool more)
{
    struct place p = find(t, addr, BIT_LINK);

    if (p.bucket == NULL)
        put(t, addr, BIT_LINK, 1);
    else if (more || p.bucket->id[p.way] > 1)
        __atomic_store_n(&p.bucket->id[p.way], p.bucket->id[p.way] + (more ? 1 : UINT32_MAX),
                         __ATOMIC_RELAXED);
    else
        take(t, addr, BIT_LINK);
}

static void enter(struct subscriber6_table *t, struct ipv6 addr, uint8_t len, uint32_t id)
{
    uint8_t net = subscriber6_net(addr.upper);
    uint32_t *block = &t->block[subscriber6_block(addr.upper)];

    __atomic_store_n(block, *block | UINT32_C(1) << subscriber6_bit(len), __ATOMIC_RELEASE);
    __atomic_store_n(&t->nets[net / 64], t->nets[net / 64] | UINT64_C(1) << net % 64,
                     __ATOMIC_RELEASE);
    count(t, subscriber6_bit(len), true);
    put(t, addr, subscriber6_bit(len), id);
    if (len == 128)
        count_on_link(t, addr, true);
    else
        pages6_set(&t->pages, addr.upper, subscriber6_bit(len), id, t->n);
}

static void leave(struct subscriber6_table *t, struct ipv6 addr, uint8_t len)
{
    if (len == 128)
        count_on_link(t, addr, false);
    else
        pages6_set(&t->pages, addr.upper, subscriber6_bit(len), 0, t->n);
    take(t, addr, subscriber6_bit(len));
    count(t, subscriber6_bit(len), false);
}

/* --- subscribers --- */

uint32_t subscriber6_entries(const struct cpe_prefixes *spec)
{
    return (spec->wan_len == 128 ? 2 : spec->wan_len != 0) + spec->n_delegated;
}

static bool is_valid(const struct cpe_prefixes *s)
{
    if ((s->wan_len != 0 && s->wan_len != 64 && s->wan_len != 128) ||
        s->n_delegated > CPE_DELEGATED)
        return false;
    for (unsigned i = 0; i < s->n_delegated; i++)
        if (s->delegated_len[i] < SUBSCRIBER6_SHORTEST || s->delegated_len[i] > 64)
            return false;
    return true;
}

int subscriber6_check(const struct subscriber6_table *t, const struct cpe_prefixes *spec)
{
    if (!is_valid(spec))
        return -EINVAL;
    if (spec->wan_len != 0 && id_of(t, spec->wan, subscriber6_bit(spec->wan_len)) != 0)
        return -EEXIST;
    for (unsigned i = 0; i < spec->n_delegated; i++)
        if (id_of(t, (struct ipv6){spec->delegated[i], 0},
                  subscriber6_bit(spec->delegated_len[i])) != 0)
            return -EEXIST;
    return t->n + subscriber6_entries(spec) <= t->capacity ? 0 : -ENOSPC;
}

void subscriber6_fill(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *spec)
{
    struct subscriber6 *r = &t->record[id];

    *r = (struct subscriber6){.wan_len = spec->wan_len, .n_delegated = spec->n_delegated};
    r->wan_upper = spec->wan_len != 0 ? spec->wan.upper : UINT64_MAX;
    r->wan_lower = spec->wan_len != 0 ? spec->wan.lower : UINT64_MAX;
    r->wan_lower_mask = spec->wan_len != 64 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < CPE_DELEGATED; i++) {
        r->shift[i] = i < spec->n_delegated ? (uint8_t)(64 - spec->delegated_len[i]) : 0;
        r->delegated[i] = i < spec->n_delegated ? spec->delegated[i] >> r->shift[i] : UINT64_MAX;
    }
}

/* The index of what prefixes have in common, or SUBSCRIBER6_COMMON. */
static uint32_t common_of(struct subscriber6_table *t, uint32_t first, uint32_t no_delegated)
{
    uint32_t i = 0;

    while (i < t->n_common &&
           (t->common[i].first != first || t->common[i].no_delegated != no_delegated))
        i++;
    if (i == t->n_common && i < SUBSCRIBER6_COMMON)
        t->common[t->n_common++] = (struct subscriber6_common){first, no_delegated};
    return i;
}

bool subscriber6_brief(struct subscriber6_table *t, uint32_t id, struct subscriber6_brief *out)
{
    const struct subscriber6 *r = &t->record[id];
    uint64_t wan = r->wan_len != 0 ? r->wan_upper : UINT64_MAX, delegated = UINT64_MAX;
    uint8_t shift = 0;

    if (r->wan_len == 128)
        return false;
    for (unsigned i = 0; i < r->n_delegated; i++) {
        if (r->delegated[i] == UINT64_MAX)
            continue;
        if (delegated != UINT64_MAX)
            return false;
        shift = r->shift[i];
        delegated = r->delegated[i] << shift;
    }
    if (shift == 0 && delegated != UINT64_MAX) { /* as if the link were of that prefix */
        if (wan != UINT64_MAX)
            return false;
        wan = delegated;
        delegated = UINT64_MAX;
    }
    if (wan == UINT64_MAX)
        wan = delegated;
    if (wan == UINT64_MAX || (delegated != UINT64_MAX && delegated >> 32 != wan >> 32))
        return false;
    out->wan = (uint32_t)wan;
    out->delegated = delegated != UINT64_MAX ? (uint32_t)delegated | 1u << (shift - 1) : 0;
    out->common = common_of(t, (uint32_t)(wan >> 32), delegated == UINT64_MAX);
    return out->common < SUBSCRIBER6_COMMON;
}

typedef void entry_fn(struct subscriber6_table *t, struct ipv6 addr, uint8_t len, uint32_t id);

static void leave_of(struct subscriber6_table *t, struct ipv6 addr, uint8_t len, uint32_t id)
{
    (void)id;
    leave(t, addr, len);
}

static void each_entry(struct subscriber6_table *t, uint32_t id, entry_fn *one)
{
    const struct subscriber6 *r = &t->record[id];

    if (r->wan_len != 0)
        one(t, (struct ipv6){r->wan_upper, r->wan_lower}, r->wan_len, id);
    for (unsigned i = 0; i < r->n_delegated; i++)
        if (r->delegated[i] != UINT64_MAX)
            one(t, (struct ipv6){r->delegated[i] << r->shift[i], 0}, (uint8_t)(64 - r->shift[i]),
                id);
}

void subscriber6_publish(struct subscriber6_table *t, uint32_t id)
{
    each_entry(t, id, enter);
}

void subscriber6_unpublish(struct subscriber6_table *t, uint32_t id)
{
    each_entry(t, id, leave_of);
}

/* --- changes of one who is there --- */

static bool has_wan(const struct subscriber6 *r, const struct cpe_prefixes *s)
{
    return r->wan_len == s->wan_len && r->wan_len != 0 && r->wan_upper == s->wan.upper &&
           (r->wan_len == 64 || r->wan_lower == s->wan.lower);
}

/* The place of a delegated prefix in a record, or CPE_DELEGATED; prefix ~0: a place without one. */
static unsigned place_of(const struct subscriber6 *r, uint64_t prefix, uint8_t shift)
{
    unsigned i = 0;

    while (i < CPE_DELEGATED &&
           (r->delegated[i] != prefix || (prefix != UINT64_MAX && r->shift[i] != shift)))
        i++;
    return i;
}

static unsigned place_of_nth(const struct subscriber6 *r, const struct cpe_prefixes *s, unsigned n)
{
    uint8_t shift = (uint8_t)(64 - s->delegated_len[n]);

    return place_of(r, s->delegated[n] >> shift, shift);
}

/* Write an address's half, or what no address has. */
static void store_half(uint64_t *half, uint64_t value)
{
    __atomic_store_n(half, value, __ATOMIC_RELEASE);
}

bool subscriber6_withdraw(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *to)
{
    struct subscriber6 *r = &t->record[id];
    bool keep[CPE_DELEGATED] = {false}, taken = false;

    if (r->wan_len != 0 && !has_wan(r, to)) {
        leave(t, (struct ipv6){r->wan_upper, r->wan_lower}, r->wan_len);
        store_half(&r->wan_upper, UINT64_MAX);
        r->wan_len = 0;
        taken = true;
    }
    for (unsigned i = 0; i < to->n_delegated; i++)
        if (place_of_nth(r, to, i) < CPE_DELEGATED)
            keep[place_of_nth(r, to, i)] = true;
    for (unsigned i = 0; i < r->n_delegated; i++) {
        if (keep[i] || r->delegated[i] == UINT64_MAX)
            continue;
        leave(t, (struct ipv6){r->delegated[i] << r->shift[i], 0}, (uint8_t)(64 - r->shift[i]));
        store_half(&r->delegated[i], UINT64_MAX);
        taken = true;
    }
    return taken;
}

static void extend_wan(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *to)
{
    struct subscriber6 *r = &t->record[id];

    store_half(&r->wan_lower, to->wan.lower);
    store_half(&r->wan_lower_mask, to->wan_len != 64 ? UINT64_MAX : 0);
    store_half(&r->wan_upper, to->wan.upper);
    r->wan_len = to->wan_len;
    enter(t, to->wan, to->wan_len, id);
}

void subscriber6_extend(struct subscriber6_table *t, uint32_t id, const struct cpe_prefixes *to)
{
    struct subscriber6 *r = &t->record[id];

    if (to->wan_len != 0 && r->wan_len == 0)
        extend_wan(t, id, to);
    for (unsigned i = 0; i < to->n_delegated; i++) {
        unsigned place = place_of(r, UINT64_MAX, 0);

        if (place_of_nth(r, to, i) < CPE_DELEGATED)
            continue;
        r->shift[place] = (uint8_t)(64 - to->delegated_len[i]);
        store_half(&r->delegated[place], to->delegated[i] >> r->shift[place]);
        if (place >= r->n_delegated)
            r->n_delegated = (uint8_t)(place + 1);
        enter(t, (struct ipv6){to->delegated[i], 0}, to->delegated_len[i], id);
    }
}

void subscriber6_release(struct subscriber6_table *t, uint32_t id)
{
    memset(&t->record[id], 0, sizeof(t->record[id]));
}

/* --- who has a part of a prefix --- */

/* Find who has an address within a prefix of 64 bits, or 0: all of them are looked at, which only
 * happens where the answer is that there is somebody. */
static uint32_t on_link(const struct subscriber6_table *t, uint64_t upper)
{
    for (uint32_t i = 0; i < t->n_buckets; i++)
        for (unsigned k = 0; k < SUBSCRIBER6_WAYS; k++) {
            uint32_t id = t->bucket[i].len[k] == 128 ? t->bucket[i].id[k] : 0;

            if (id != 0 && t->record[id].wan_upper == upper)
                return id;
        }
    return 0;
}

/* Find who has something within a prefix that is longer than it. */
static uint32_t inside(const struct subscriber6_table *t, uint64_t upper, uint8_t len)
{
    for (uint8_t longer = (uint8_t)(len + 1); longer <= 64; longer++)
        for (uint64_t i = 0;
             t->of_len[subscriber6_bit(longer)] != 0 && i < UINT64_C(1) << (longer - len); i++) {
            uint32_t id =
                id_of(t, (struct ipv6){upper | i << (64 - longer), 0}, subscriber6_bit(longer));

            if (id != 0)
                return id;
        }
    for (uint64_t i = 0; t->of_len[BIT_ADDRESS] != 0 && i < UINT64_C(1) << (64 - len); i++)
        if (id_of(t, (struct ipv6){upper | i, 0}, BIT_LINK) != 0)
            return on_link(t, upper | i);
    return 0;
}

uint32_t subscriber6_holder(const struct subscriber6_table *t, struct ipv6 prefix, uint8_t len)
{
    uint32_t bits = t->in_use;

    for (; bits != 0; bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(bits), id;

        if (bit > subscriber6_bit(len))
            break;
        id = id_of(t, prefix, bit);
        if (id != 0)
            return id;
    }
    return len <= 64 ? inside(t, prefix.upper, len) : 0;
}
