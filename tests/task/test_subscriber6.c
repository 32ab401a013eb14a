/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 of subscribers: records, and the index of prefixes against a list that is searched from end
 * to end. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_pause.h>

#include "packet/ipv6.h"
#include "tables/subscriber.h"
#include "tables_bed.h"

#define DOC UINT64_C(0x20010db800000000) /* 2001:db8::/32 */

static const uint8_t gateway_mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};

/* Find an address as the data path does. */
static uint32_t in_stages(const struct subscriber6_table *t, struct ipv6 addr)
{
    struct subscriber6_search s = subscriber6_begin(t, addr);

    return subscriber6_end(t, &s, addr);
}

static void record(void)
{
    static const uint8_t in_56[16] = {0x20, 1, 0x0d, 0xb8, 0, 1, 2, 0xff, 9, [15] = 7};
    struct subscriber6_table *t = subscriber6_table_create(2, 8, SOCKET_ID_ANY);
    struct cpe_prefixes s = {.wan = {DOC, 0},
                             .wan_len = 64,
                             .delegated = {DOC + 0x10200, DOC + 0x20000},
                             .delegated_len = {56, 48},
                             .n_delegated = 2};
    const struct subscriber6 *r;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(subscriber6_table_bytes(t, 2), sizeof(*t) + 3 * 64 + (8 / 4 + 1 + 8) * 64 + 16);
    CU_ASSERT_EQUAL(subscriber6_check(t, &s), 0);
    subscriber6_fill(t, 1, &s);
    r = &t->record[1];
    CU_ASSERT_EQUAL((uintptr_t)r % 64, 0);
    CU_ASSERT_TRUE(subscriber6_owns(r, (struct ipv6){DOC, 0}));
    CU_ASSERT_TRUE(subscriber6_owns(r, (struct ipv6){DOC, UINT64_MAX}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){DOC + 1, 0}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){DOC + 0x101ff, UINT64_MAX}));
    CU_ASSERT_TRUE(subscriber6_owns(r, (struct ipv6){DOC + 0x10200, 0}));
    CU_ASSERT_TRUE(subscriber6_owns(r, ipv6_of(in_56)));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){DOC + 0x10300, 0}));
    CU_ASSERT_TRUE(subscriber6_owns(r, (struct ipv6){DOC + 0x2ffff, 1}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){DOC + 0x30000, 1}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){0, 0}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){0, 1}));
    s = (struct cpe_prefixes){.wan = {DOC, 5}, .wan_len = 128};
    subscriber6_fill(t, 2, &s);
    r = &t->record[2];
    CU_ASSERT_TRUE(subscriber6_owns(r, (struct ipv6){DOC, 5}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){DOC, 4}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){DOC + 1, 5}));
    s = (struct cpe_prefixes){.delegated = {DOC}, .delegated_len = {64}, .n_delegated = 1};
    subscriber6_fill(t, 2, &s);
    CU_ASSERT_TRUE(subscriber6_owns(r, (struct ipv6){DOC, 4}));
    CU_ASSERT_FALSE(subscriber6_owns(r, (struct ipv6){0, 0}));
    s.delegated_len[0] = 47;
    CU_ASSERT_EQUAL(subscriber6_check(t, &s), -EINVAL);
    s.delegated_len[0] = 65;
    CU_ASSERT_EQUAL(subscriber6_check(t, &s), -EINVAL);
    s = (struct cpe_prefixes){.wan = {DOC, 0}, .wan_len = 63};
    CU_ASSERT_EQUAL(subscriber6_check(t, &s), -EINVAL);
    subscriber6_table_free(t);
    subscriber6_table_free(NULL);
}

/* --- the index against a list --- */

#define MOST 60 /* subscribers */

static struct cpe_prefixes listed[MOST + 1]; /* by id; without entries: he is not there */
/* Few addresses, near one another: prefixes lie in prefixes, and links have several addresses. */
static struct ipv6 some_address(void)
{
    return (struct ipv6){DOC + (random_below(2) << 16) + (random_below(3) << 8) + random_below(12),
                         random_below(3)};
}

static uint8_t some_length(void)
{
    return (uint8_t)(random_below(3) == 0 ? 48 + random_below(17) : 62 + random_below(3));
}

static bool overlap(struct ipv6 a, uint8_t a_len, struct ipv6 b, uint8_t b_len)
{
    uint8_t len = a_len < b_len ? a_len : b_len;

    return same6(first6(a, len), first6(b, len));
}

/* Who has a part of a prefix, by the list; *n counts them. */
static uint32_t listed_holder(struct ipv6 a, uint8_t len, unsigned *n)
{
    uint32_t holder = 0;

    *n = 0;
    for (uint32_t id = 1; id <= MOST; id++) {
        const struct cpe_prefixes *s = &listed[id];
        bool holds = s->wan_len != 0 && overlap(a, len, s->wan, s->wan_len);

        for (unsigned i = 0; i < s->n_delegated; i++)
            holds |= overlap(a, len, (struct ipv6){s->delegated[i], 0}, s->delegated_len[i]);
        if (holds) {
            holder = id;
            ++*n;
        }
    }
    return holder;
}

static bool is_free(const struct subscriber6_table *t, struct ipv6 a, uint8_t len)
{
    unsigned n;
    uint32_t expected = listed_holder(a, len, &n), holder = subscriber6_holder(t, a, len);

    CU_ASSERT_EQUAL(holder != 0, expected != 0);
    if (n == 1) {
        CU_ASSERT_EQUAL(holder, expected);
    }
    return holder == 0;
}

static void add_one(struct subscriber6_table *t, uint32_t id)
{
    struct cpe_prefixes s = {0};
    struct ipv6 a = some_address();

    if (random_below(3) != 0) {
        s.wan_len = random_below(2) == 0 ? 64 : 128;
        s.wan = first6(a, s.wan_len);
        if (!is_free(t, s.wan, s.wan_len))
            return;
    }
    for (unsigned i = random_below(3); i-- > 0;) {
        uint8_t len = some_length();
        struct ipv6 p = first6(some_address(), len);
        bool mine = s.wan_len != 0 && overlap(p, len, s.wan, s.wan_len);

        for (unsigned k = 0; k < s.n_delegated; k++)
            mine |= overlap(p, len, (struct ipv6){s.delegated[k], 0}, s.delegated_len[k]);
        if (mine || !is_free(t, p, len))
            continue;
        s.delegated[s.n_delegated] = p.upper;
        s.delegated_len[s.n_delegated++] = len;
    }
    if (subscriber6_entries(&s) == 0)
        return;
    CU_ASSERT_EQUAL_FATAL(subscriber6_check(t, &s), 0);
    subscriber6_fill(t, id, &s);
    subscriber6_publish(t, id);
    CU_ASSERT_EQUAL(subscriber6_check(t, &s), -EEXIST);
    listed[id] = s;
}

static void remove_one(struct subscriber6_table *t, uint32_t id)
{
    subscriber6_unpublish(t, id);
    subscriber6_release(t, id);
    memset(&listed[id], 0, sizeof(listed[id]));
}

static void against_a_list(void)
{
    unsigned n;

    for (unsigned round = 1; round <= 20; round++) {
        /* without pages, with too few, and with one for each region */
        const uint32_t entries[] = {MOST * 5, 2 * PAGES6_PAGE, 32 * PAGES6_PAGE};
        struct subscriber6_table *t =
            subscriber6_table_create(MOST, entries[round % RTE_DIM(entries)], SOCKET_ID_ANY);

        CU_ASSERT_PTR_NOT_NULL_FATAL(t);
        random_state = round * UINT64_C(0x9e3779b97f4a7c15);
        memset(listed, 0, sizeof(listed));
        if (round % 2 == 0)
            t->n_buckets = MOST / 2; /* buckets run over */
        for (unsigned i = 0; i < 400; i++) {
            uint32_t id = 1 + random_below(MOST);
            struct ipv6 a = some_address();

            if (subscriber6_entries(&listed[id]) == 0)
                add_one(t, id);
            else
                remove_one(t, id);
            t->pages.is_off = t->pages.room == 0 || (round % 2 == 0 && random_below(4) == 0);
            for (unsigned k = 0; k < 8; k++, a = some_address()) {
                uint32_t expected = listed_holder(a, 128, &n);

                CU_ASSERT(n <= 1);
                CU_ASSERT_EQUAL(subscriber6_find(t, a), expected);
                CU_ASSERT_EQUAL(in_stages(t, a), expected);
                CU_ASSERT(expected == 0 || subscriber6_suspects(t, a.upper));
                CU_ASSERT_EQUAL(expected != 0 && !subscriber6_owns(&t->record[expected], a), 0);
            }
        }
        for (uint32_t id = 1; id <= MOST; id++)
            if (subscriber6_entries(&listed[id]) != 0)
                remove_one(t, id);
        CU_ASSERT_EQUAL(t->n, 0);
        CU_ASSERT_EQUAL(t->in_use, 0);
        CU_ASSERT_EQUAL(t->pages.n == t->pages.room, round % RTE_DIM(entries) != 2);
        for (size_t i = 0; i < t->pages.room * (size_t)PAGES6_PAGE; i++)
            CU_ASSERT_EQUAL(t->pages.page[i / PAGES6_PAGE].id[i % PAGES6_PAGE], 0);
        for (uint32_t i = 0; i < t->n_buckets; i++)
            CU_ASSERT_EQUAL(t->bucket[i].passed, 0);
        subscriber6_table_free(t);
    }
}

/* Two addresses whose hashes are the same, since upper and lower half make up for each other. */
static void same_hash(void)
{
    struct subscriber6_table *t = subscriber6_table_create(2, 8, SOCKET_ID_ANY);
    struct ipv6 a = {DOC, 1}, b = {0, 2};
    struct cpe_prefixes s = {.wan = a, .wan_len = 128};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    b.upper = subscriber6_key(a, 17) ^ subscriber6_hash(2, 17);
    CU_ASSERT_EQUAL(subscriber6_key(b, 17), subscriber6_key(a, 17));
    subscriber6_fill(t, 1, &s);
    subscriber6_publish(t, 1);
    CU_ASSERT_EQUAL(subscriber6_find(t, b), 0);
    s.wan = b;
    CU_ASSERT_EQUAL(subscriber6_check(t, &s), 0);
    subscriber6_fill(t, 2, &s);
    subscriber6_publish(t, 2);
    CU_ASSERT_EQUAL(subscriber6_find(t, a), 1);
    CU_ASSERT_EQUAL(subscriber6_find(t, b), 2);
    subscriber6_unpublish(t, 1);
    CU_ASSERT_EQUAL(subscriber6_find(t, a), 0);
    CU_ASSERT_EQUAL(subscriber6_find(t, b), 2);
    subscriber6_table_free(t);
}

/* --- pages whose ids follow one another --- */

#define SIDE_BY_SIDE PAGES6_PAGE /* links: a page of them */

/* Subscribers of one link each, in a table with a page for them. A number is a place in the page.
 */
static struct subscriber6_table *page_of_links(void)
{
    struct subscriber6_table *t =
        subscriber6_table_create(2 * SIDE_BY_SIDE, 2 * SIDE_BY_SIDE, SOCKET_ID_ANY);

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

static void publish_link(struct subscriber6_table *t, uint32_t id, uint32_t number)
{
    struct cpe_prefixes s = {.wan = {DOC + number, 0}, .wan_len = 64};

    subscriber6_fill(t, id, &s);
    subscriber6_publish(t, id);
}

/* What readers are told of the page: its first id, or 0. */
static uint32_t told_in_order(const struct subscriber6_table *t)
{
    const struct pages6_slot *s = pages6_find(&t->pages, DOC, subscriber6_bit(64));

    return s != NULL ? s->first : 0;
}

/* Complete pages in random order, and break the order in all ways there are. */
static void in_order(void)
{
    static uint32_t id_at[SIDE_BY_SIDE];
    const uint32_t step[] = {1, 1237, SIDE_BY_SIDE - 1}; /* first to last, about, last to first */

    for (unsigned round = 0; round < RTE_DIM(step); round++) {
        struct subscriber6_table *t = page_of_links();
        uint32_t base = 1 + round * 100, spare = 2 * SIDE_BY_SIDE;

        for (uint32_t i = 0; i < SIDE_BY_SIDE; i++) {
            uint32_t number = i * step[round] % SIDE_BY_SIDE;

            CU_ASSERT_EQUAL(told_in_order(t), 0);
            id_at[number] = base + number;
            publish_link(t, id_at[number], number);
        }
        CU_ASSERT_EQUAL(told_in_order(t), base);
        random_state = round + 1;
        for (unsigned turn = 0; turn < 200; turn++) {
            uint32_t number = turn == 0   ? 0
                              : turn == 1 ? SIDE_BY_SIDE - 1
                                          : random_below(SIDE_BY_SIDE);
            bool another = random_below(2) == 0;

            subscriber6_unpublish(t, id_at[number]);
            CU_ASSERT_EQUAL(told_in_order(t), 0);
            CU_ASSERT_EQUAL(in_stages(t, (struct ipv6){DOC + number, 1}), 0);
            if (another) {
                publish_link(t, spare, number);
                CU_ASSERT_EQUAL(told_in_order(t), 0);
                CU_ASSERT_EQUAL(in_stages(t, (struct ipv6){DOC + number, 1}), spare);
                subscriber6_unpublish(t, spare);
            }
            publish_link(t, id_at[number], number);
            CU_ASSERT_EQUAL(told_in_order(t), base);
            for (unsigned k = 0; k < 8; k++, number = random_below(SIDE_BY_SIDE)) {
                CU_ASSERT_EQUAL(in_stages(t, (struct ipv6){DOC + number, 1}), id_at[number]);
                CU_ASSERT_EQUAL(subscriber6_find(t, (struct ipv6){DOC + number, 1}), id_at[number]);
            }
        }
        subscriber6_table_free(t);
    }
}

/* --- a reader beside the writer --- */

static struct subscriber6_table *shared;
static bool stopped;
static uint64_t looks; /* that the reader has ended */

/* Who stays is found always; who comes and goes is found or not, and nobody else in his place. */
static void *look(void *arg)
{
    uint64_t *wrong = arg;
    uint32_t id;

    while (!__atomic_load_n(&stopped, __ATOMIC_ACQUIRE)) {
        for (uint64_t i = 0; i < 16; i++) {
            *wrong += in_stages(shared, (struct ipv6){DOC + (i << 8), 7}) != 1 + i;
            id = in_stages(shared, (struct ipv6){DOC + 0x10000 + (i << 8), 7});
            *wrong += id != 0 && id != 17 + i;
        }
        __atomic_store_n(&looks, looks + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Wait for the reader to begin anew, as control does before an id is given to somebody again. */
static void grace(void)
{
    uint64_t last = __atomic_load_n(&looks, __ATOMIC_ACQUIRE) + 1;

    while (__atomic_load_n(&looks, __ATOMIC_ACQUIRE) <= last)
        rte_pause();
}

static void beside_a_reader(uint32_t entries, unsigned turns)
{
    pthread_t reader;
    uint64_t wrong = 0;

    stopped = false;
    shared = subscriber6_table_create(32, entries, SOCKET_ID_ANY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
    shared->n_buckets = 7; /* all of them are crowded */
    for (uint32_t id = 1; id <= 32; id++) {
        struct cpe_prefixes s = {
            .delegated = {DOC + ((id - 1) % 16 << 8) + (id > 16 ? 0x10000 : 0)},
            .delegated_len = {(uint8_t)(id % 3 == 0 ? 56 : 60)},
            .n_delegated = 1};

        subscriber6_fill(shared, id, &s);
        if (id <= 16)
            subscriber6_publish(shared, id);
    }
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, look, &wrong), 0);
    random_state = 1;
    for (unsigned i = 0; i < turns; i++) {
        uint32_t a = 17 + random_below(8), b = 25 + random_below(8);

        subscriber6_publish(shared, a);
        subscriber6_unpublish(shared, a);
        subscriber6_publish(shared, b); /* often where the other one was */
        subscriber6_unpublish(shared, b);
        grace();
    }
    __atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
    pthread_join(reader, NULL);
    CU_ASSERT_EQUAL(wrong, 0);
    subscriber6_table_free(shared);
}

/* One of those who are there always is there sometimes, or another in his place. */
static void *look_at_page(void *arg)
{
    uint64_t *wrong = arg;
    uint32_t id;

    while (!__atomic_load_n(&stopped, __ATOMIC_ACQUIRE)) {
        for (uint64_t i = 0; i < 16; i++) {
            id = in_stages(shared, (struct ipv6){DOC + i, 7});
            *wrong += i == 5 ? id != 0 && id != 6 && id != SIDE_BY_SIDE + 1 : id != 1 + i;
        }
        __atomic_store_n(&looks, looks + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void order_beside_a_reader(void)
{
    pthread_t reader;
    uint64_t wrong = 0;

    stopped = false;
    shared = page_of_links();
    for (uint32_t number = 0; number < SIDE_BY_SIDE; number++)
        publish_link(shared, 1 + number, number);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, look_at_page, &wrong), 0);
    for (unsigned i = 0; i < 4000; i++) {
        subscriber6_unpublish(shared, i % 2 == 0 ? 6 : SIDE_BY_SIDE + 1);
        grace();
        publish_link(shared, i % 2 == 0 ? SIDE_BY_SIDE + 1 : 6, 5);
    }
    __atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
    pthread_join(reader, NULL);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(told_in_order(shared), 1);
    subscriber6_table_free(shared);
}

static void with_readers(void)
{
    beside_a_reader(32, 60000);
    beside_a_reader(32 * PAGES6_PAGE, 40000);
    order_beside_a_reader();
}

/* --- beside IPv4 --- */

static void subscribers(void)
{
    struct subscriber_table *t = subscriber_table_create(3, 4, SOCKET_ID_ANY);
    struct subscriber_spec s = {.port = 3,
                                .svlan = 5,
                                .cvlan = 6,
                                .tpid = 0x88a8,
                                .ipv4 = 0x0a000001,
                                .ipv4_len = 32,
                                .gateway_mac = gateway_mac};

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(subscriber_add(t, &s), 1);
    CU_ASSERT_TRUE(t->record[1].ipv4_mask != 0 && !t->record[1].has_ipv6);
    s.cvlan = 7;
    s.ipv4_len = 0; /* IPv6 alone */
    CU_ASSERT_EQUAL(subscriber_add(t, &s), -EINVAL);
    s.ipv6 = (struct cpe_prefixes){.wan = {DOC, 9},
                                   .wan_len = 128,
                                   .delegated = {DOC + 0x100},
                                   .delegated_len = {56},
                                   .n_delegated = 1};
    CU_ASSERT_EQUAL(subscriber_add(t, &s), 2);
    CU_ASSERT_TRUE(t->record[2].ipv4_mask == 0 && t->record[2].has_ipv6);
    for (unsigned bit = 0; bit <= 32; bit++) { /* no address is his, whichever it is */
        CU_ASSERT_FALSE(subscriber_has_ipv4(&t->record[2], (rte_be32_t)(UINT64_C(1) << bit)));
        CU_ASSERT_FALSE(subscriber_has_ipv4(&t->record[2], ~(rte_be32_t)(UINT64_C(1) << bit)));
    }
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, UINT32_MAX), 0);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC, 9}), 2);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC + 0x1ff, 0}), 2);
    s.cvlan = 8; /* a prefix of another: nothing changes */
    s.ipv4_len = 32;
    s.ipv4 = 0x0a000002;
    CU_ASSERT_EQUAL(subscriber_add(t, &s), -EEXIST);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a000002), 0);
    s.ipv6 = (struct cpe_prefixes){.wan = {DOC, 10}, .wan_len = 128};
    CU_ASSERT_EQUAL(subscriber_add(t, &s), -ENOSPC); /* one entry is left */
    s.ipv6.wan_len = 64;
    s.ipv6.wan = (struct ipv6){DOC + 1, 0};
    CU_ASSERT_EQUAL(subscriber_add(t, &s), 3);
    subscriber_unpublish(t, 2);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC, 9}), 0);
    CU_ASSERT_EQUAL(t->v6->record[2].wan_len, 128); /* for those who have found it */
    subscriber_release(t, 2);
    CU_ASSERT_EQUAL(t->v6->record[2].wan_len, 0);
    CU_ASSERT_EQUAL(t->v6->n, 1);
    subscriber_table_free(t);
    t = subscriber_table_create(3, 0, SOCKET_ID_ANY); /* nobody can have IPv6 */
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(subscriber_add(t, &s), -ENOSPC);
    subscriber_table_free(t);
}

/* Who is there gets other addresses, while packets name him. */
static void changes(void)
{
    struct subscriber_table *t = subscriber_table_create(2, 16, SOCKET_ID_ANY);
    struct subscriber_spec s = {.port = 3,
                                .svlan = 5,
                                .cvlan = 6,
                                .tpid = 0x88a8,
                                .ipv4 = 0x0a000001,
                                .ipv4_len = 32,
                                .gateway_mac = gateway_mac};
    struct subscriber6 *r6;
    struct subscriber *r;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(subscriber_add(t, &s), 1);
    r = &t->record[1];
    r6 = &t->v6->record[1];
    s.ipv6 = (struct cpe_prefixes){.wan = {DOC, 9},
                                   .wan_len = 128,
                                   .delegated = {DOC + 0x100, DOC + 0x200},
                                   .delegated_len = {56, 60},
                                   .n_delegated = 2};
    CU_ASSERT_EQUAL(subscriber_prepare(t, 1, &s), 0);
    CU_ASSERT_FALSE(subscriber_withdraw(t, 1, &s)); /* more: nothing has to be waited for */
    subscriber_extend(t, 1, &s);
    CU_ASSERT_TRUE(r->ipv4_mask != 0 && r->has_ipv6);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a000001), 1);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC, 9}), 1);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC + 0x1ff, 1}), 1);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC + 0x20f, 1}), 1);
    CU_ASSERT_TRUE(subscriber6_owns(r6, (struct ipv6){DOC, 9}));
    CU_ASSERT_TRUE(subscriber6_owns(r6, (struct ipv6){DOC + 0x20f, 1}));
    CU_ASSERT_FALSE(subscriber6_owns(r6, (struct ipv6){DOC, 8}));

    s.ipv4 = 0x0b000001; /* another page of the index; a prefix goes, and one comes */
    s.ipv6.wan = (struct ipv6){DOC, 10};
    s.ipv6.delegated[0] = DOC + 0x200;
    s.ipv6.delegated_len[0] = 60;
    s.ipv6.delegated[1] = DOC + 0x300;
    s.ipv6.delegated_len[1] = 64;
    CU_ASSERT_EQUAL(subscriber_prepare(t, 1, &s), 0);
    CU_ASSERT_TRUE(subscriber_withdraw(t, 1, &s));
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC + 0x1ff, 1}), 0);
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC + 0x20f, 1}), 1); /* all the time */
    CU_ASSERT_TRUE(subscriber6_owns(r6, (struct ipv6){DOC + 0x20f, 1}));
    CU_ASSERT_FALSE(subscriber6_owns(r6, (struct ipv6){DOC, 9}));
    CU_ASSERT_FALSE(subscriber6_owns(r6, (struct ipv6){DOC + 0x100, 1}));
    CU_ASSERT_FALSE(subscriber_has_ipv4(r, RTE_BE32(0x0a000001)));
    subscriber_extend(t, 1, &s);
    CU_ASSERT_TRUE(subscriber6_owns(r6, (struct ipv6){DOC, 10}));
    CU_ASSERT_TRUE(subscriber6_owns(r6, (struct ipv6){DOC + 0x300, 1}));
    CU_ASSERT_FALSE(subscriber6_owns(r6, (struct ipv6){DOC + 0x301, 1}));
    CU_ASSERT_EQUAL(subscriber6_find(t->v6, (struct ipv6){DOC + 0x300, 1}), 1);
    CU_ASSERT_TRUE(subscriber_has_ipv4(r, RTE_BE32(0x0b000001)));
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0a000001), 0);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0b000001), 1);
    CU_ASSERT_EQUAL(t->v6->n, 4);

    s.ipv4_len = 0; /* IPv6 alone, of which the first prefix goes */
    s.ipv6 =
        (struct cpe_prefixes){.delegated = {DOC + 0x300}, .delegated_len = {64}, .n_delegated = 1};
    CU_ASSERT_EQUAL(subscriber_prepare(t, 1, &s), 0);
    CU_ASSERT_TRUE(subscriber_withdraw(t, 1, &s));
    subscriber_extend(t, 1, &s);
    CU_ASSERT_EQUAL(r->ipv4_mask, 0);
    CU_ASSERT_FALSE(subscriber_has_ipv4(r, RTE_BE32(0x0b000001)) || subscriber_has_ipv4(r, 0));
    CU_ASSERT_EQUAL(t->v6->n, 1);
    CU_ASSERT_EQUAL(t->v6->in_use, UINT32_C(1) << subscriber6_bit(64));

    s.ipv4_len = 32; /* and IPv4 alone again */
    s.ipv6 = (struct cpe_prefixes){0};
    CU_ASSERT_TRUE(subscriber_withdraw(t, 1, &s));
    subscriber_extend(t, 1, &s);
    CU_ASSERT_TRUE(r->ipv4_mask != 0 && !r->has_ipv6);
    CU_ASSERT_EQUAL(t->v6->n, 0);
    s.ipv4_len = 29; /* hosts: not in place */
    CU_ASSERT_EQUAL(subscriber_prepare(t, 1, &s), -EINVAL);
    subscriber_unpublish(t, 1);
    subscriber_release(t, 1);
    CU_ASSERT_EQUAL(idmap_get(t->by_ipv4, 0x0b000001), 0);
    subscriber_table_free(t);
}

static void no_memory(void)
{
    take_memory();
    CU_ASSERT_PTR_NULL(subscriber6_table_create(1000, 1000, SOCKET_ID_ANY));
    give_memory();
}

static const struct test tests[] = {
    {"records", record},
    {"the index against a list", against_a_list},
    {"addresses with one hash", same_hash},
    {"ids in the order of prefixes", in_order},
    {"readers beside the writer", with_readers},
    {"subscribers with both families", subscribers},
    {"other addresses in place", changes},
    {"without memory", no_memory},
    {NULL, NULL},
};

const struct test_program test_program = {"subscriber6", tests, harness_open, harness_close};
