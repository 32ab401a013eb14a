/* SPDX-License-Identifier: BSD-3-Clause */
/* What the first line of a subscriber says of his IPv6, against the second, which has all of it;
 * and pages of ids, which are asked where prefixes lie side by side. */
#include <string.h>

#include "packet/ipv6.h"
#include "tables/subscriber.h"
#include "tables_bed.h"

#define DOC    UINT64_C(0x20010db800000000) /* 2001:db8::/32 */
#define OTHER  UINT64_C(0x20010db900000000)
#define ROUNDS 3000

static const uint8_t gateway_mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};

static struct subscriber_spec spec_of(uint32_t n)
{
    return (struct subscriber_spec){.svlan = (uint16_t)(1 + n / 1000),
                                    .cvlan = (uint16_t)(1 + n % 1000),
                                    .tpid = 0x88a8,
                                    .gateway_mac = gateway_mac};
}

static bool has(const struct subscriber_table *t, uint32_t id, struct ipv6 addr)
{
    return subscriber_has_ipv6(&t->record[id], t->v6, &t->v6->record[id], addr);
}

/* An upper half of one of two nets; delegated: with bits set where a link has none. */
static uint64_t some_upper(bool delegated)
{
    return (random_below(8) != 0 ? DOC : OTHER) | (uint64_t)delegated << 31 |
           random_below(UINT32_C(1) << 30);
}

static struct cpe_prefixes some_prefixes(void)
{
    static const unsigned n_delegated[] = {0, 1, 1, 1, 2, 4};
    struct cpe_prefixes s = {0};

    if (random_below(4) != 0) {
        s.wan_len = random_below(5) != 0 ? 64 : 128;
        s.wan = (struct ipv6){some_upper(false), s.wan_len == 64 ? 0 : random_below(UINT32_MAX)};
    }
    s.n_delegated = (uint8_t)n_delegated[random_below(RTE_DIM(n_delegated))];
    for (unsigned i = 0; i < s.n_delegated; i++) {
        s.delegated_len[i] = (uint8_t)(48 + random_below(17));
        /* prefixes of one subscriber lie apart */
        s.delegated[i] = (some_upper(true) & ~(UINT64_C(3) << 29)) | (uint64_t)i << 29;
        s.delegated[i] &= UINT64_MAX << (64 - s.delegated_len[i]);
    }
    return s;
}

/* Compare both lines at the ends of a prefix, and where it differs in a bit. */
static void compare_near(const struct subscriber_table *t, uint32_t id, uint64_t upper, uint8_t len)
{
    const struct subscriber6 *r = &t->v6->record[id];
    uint64_t hosts = len < 64 ? UINT64_MAX >> len : 0;
    const uint64_t ends[] = {upper, upper | hosts, upper - 1, (upper | hosts) + 1};

    for (unsigned i = 0; i < RTE_DIM(ends); i++)
        CU_ASSERT_EQUAL(has(t, id, (struct ipv6){ends[i], 1}),
                        subscriber6_owns(r, (struct ipv6){ends[i], 1}));
    for (unsigned bit = 0; bit < 64; bit++) {
        struct ipv6 a = {upper ^ UINT64_C(1) << bit, 0};

        CU_ASSERT_EQUAL(has(t, id, a), subscriber6_owns(r, a));
    }
}

static void compare(const struct subscriber_table *t, uint32_t id, const struct cpe_prefixes *s)
{
    compare_near(t, id, s->wan_len != 0 ? s->wan.upper : DOC, 64);
    for (unsigned i = 0; i < s->n_delegated; i++) {
        compare_near(t, id, s->delegated[i], s->delegated_len[i]);
        compare_near(t, id, s->delegated[i] + (OTHER - DOC), s->delegated_len[i]);
    }
    CU_ASSERT_FALSE(has(t, id, (struct ipv6){0, 0}));
    CU_ASSERT_FALSE(has(t, id, (struct ipv6){0, t->record[id].wan6}));
    CU_ASSERT_FALSE(has(t, id, (struct ipv6){t->record[id].wan6, 0}));
}

/* Can the first line say all? */
static bool is_short(const struct cpe_prefixes *s)
{
    bool link = s->wan_len == 64;

    if (s->wan_len == 128 || s->n_delegated > 1)
        return false;
    return s->n_delegated == 0 ||
           (!link || (s->delegated_len[0] < 64 && s->delegated[0] >> 32 == s->wan.upper >> 32));
}

/* Who has just been given prefixes. */
static void random_prefixes(void)
{
    struct subscriber_table *t = subscriber_table_create(2, 8, SOCKET_ID_ANY);
    unsigned n_short = 0, n_long = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct subscriber_spec s = spec_of(0);

        s.ipv6 = some_prefixes();
        if (subscriber6_entries(&s.ipv6) == 0)
            continue;
        CU_ASSERT_EQUAL_FATAL(subscriber_add(t, &s), 1);
        CU_ASSERT_EQUAL(t->record[1].has_ipv6 >= SUBSCRIBER_FIRST_LINE, is_short(&s.ipv6));
        n_short += t->record[1].has_ipv6 >= SUBSCRIBER_FIRST_LINE;
        n_long += t->record[1].has_ipv6 == SUBSCRIBER_SECOND_LINE;
        compare(t, 1, &s.ipv6);
        subscriber_unpublish(t, 1);
        subscriber_release(t, 1);
    }
    CU_ASSERT(n_short > ROUNDS / 4 && n_long > ROUNDS / 4);
    CU_ASSERT_EQUAL(t->v6->n_common, 4);
    subscriber_table_free(t);
}

/* Who gets others while packets name him. */
static void random_changes(void)
{
    struct subscriber_table *t = subscriber_table_create(2, 16, SOCKET_ID_ANY);
    struct subscriber_spec s = spec_of(0);

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    s.ipv4 = 0x0a000001;
    s.ipv4_len = 32;
    CU_ASSERT_EQUAL_FATAL(subscriber_add(t, &s), 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct cpe_prefixes next = some_prefixes(), was = s.ipv6;

        if (random_below(2) == 0) /* the link stays, or what is delegated does */
            next = (struct cpe_prefixes){.wan = was.wan, .wan_len = was.wan_len};
        else if (random_below(2) == 0)
            next = (struct cpe_prefixes){.delegated = {was.delegated[0]},
                                         .delegated_len = {was.delegated_len[0]},
                                         .n_delegated = was.n_delegated != 0};
        s.ipv6 = next;
        subscriber_withdraw(t, 1, &s);
        if (t->record[1].has_ipv6 != 0)
            compare(t, 1, &was);
        subscriber_extend(t, 1, &s);
        if (subscriber6_entries(&next) == 0) {
            CU_ASSERT_EQUAL(t->record[1].has_ipv6, 0);
            continue;
        }
        CU_ASSERT_EQUAL(t->record[1].has_ipv6 >= SUBSCRIBER_FIRST_LINE, is_short(&next));
        compare(t, 1, &was);
        compare(t, 1, &next);
    }
    subscriber_table_free(t);
}

/* While something is taken away, and until a grace period has ended, the second line is asked, so
 * that nobody reads a mixture of what was there and what comes. */
static void waits_for_readers(void)
{
    struct subscriber_table *t = subscriber_table_create(2, 16, SOCKET_ID_ANY);
    struct subscriber_spec s = spec_of(0);
    const struct subscriber *r;

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    r = &t->record[1];
    s.ipv6 = (struct cpe_prefixes){.wan = {DOC, 0}, .wan_len = 64};
    CU_ASSERT_EQUAL_FATAL(subscriber_add(t, &s), 1);
    CU_ASSERT_EQUAL(r->has_ipv6, SUBSCRIBER_FIRST_LINE);
    s.ipv6.delegated[0] = DOC + 0x100;
    s.ipv6.delegated_len[0] = 56;
    s.ipv6.n_delegated = 1;
    CU_ASSERT_FALSE(subscriber_withdraw(t, 1, &s)); /* more: it can be said at once */
    CU_ASSERT_EQUAL(r->has_ipv6, SUBSCRIBER_FIRST_LINE);
    subscriber_extend(t, 1, &s);
    CU_ASSERT_EQUAL(r->has_ipv6, SUBSCRIBER_FIRST_LINE + 1);
    s.ipv6.wan.upper = OTHER;
    s.ipv6.delegated[0] = OTHER + 0x100;
    CU_ASSERT_TRUE(subscriber_withdraw(t, 1, &s));
    CU_ASSERT_EQUAL(r->has_ipv6, SUBSCRIBER_SECOND_LINE);
    CU_ASSERT_EQUAL(r->delegated6, 0x180); /* as it was */
    CU_ASSERT_FALSE(has(t, 1, (struct ipv6){DOC, 1}));
    CU_ASSERT_FALSE(has(t, 1, (struct ipv6){DOC + 0x100, 1}));
    subscriber_extend(t, 1, &s);
    CU_ASSERT_TRUE(has(t, 1, (struct ipv6){OTHER + 0x1ff, 1}));
    subscriber_table_free(t);
}

/* More first halves than the first line can name. */
static void many_nets(void)
{
    const uint32_t n = SUBSCRIBER6_COMMON + 10;
    struct subscriber_table *t = subscriber_table_create(n, n, SOCKET_ID_ANY);

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    for (uint32_t i = 0; i < n; i++) {
        struct subscriber_spec s = spec_of(i);

        s.ipv6 = (struct cpe_prefixes){.wan = {DOC + ((uint64_t)i << 32), 0}, .wan_len = 64};
        CU_ASSERT_EQUAL_FATAL(subscriber_add(t, &s), i + 1);
        CU_ASSERT_EQUAL(t->record[i + 1].has_ipv6 >= SUBSCRIBER_FIRST_LINE, i < SUBSCRIBER6_COMMON);
        compare(t, i + 1, &s.ipv6);
    }
    subscriber_table_free(t);
}

/* Find an address as the data path does. */
static uint32_t in_stages(const struct subscriber6_table *t, uint64_t upper)
{
    struct subscriber6_search s = subscriber6_begin(t, (struct ipv6){upper, 1});

    return subscriber6_end(t, &s, (struct ipv6){upper, 1});
}

/* Prefixes far apart: the pages are asked no more when they are taken; neighbours: they are. */
static void far_apart(void)
{
    for (unsigned bits = 0; bits <= 16; bits += 16) {
        struct subscriber6_table *t =
            subscriber6_table_create(4 * PAGES6_PAGE, 4 * PAGES6_PAGE, SOCKET_ID_ANY);

        CU_ASSERT_PTR_NOT_NULL_FATAL(t);
        for (uint32_t id = 1; id <= 4 * PAGES6_PAGE; id++) {
            struct cpe_prefixes s = {.delegated = {DOC + ((uint64_t)id << (8 + bits))},
                                     .delegated_len = {56},
                                     .n_delegated = 1};

            subscriber6_fill(t, id, &s);
            subscriber6_publish(t, id);
            CU_ASSERT_EQUAL(in_stages(t, s.delegated[0] + 255), id);
        }
        CU_ASSERT_EQUAL(t->pages.is_off, bits != 0);
        CU_ASSERT_EQUAL(t->pages.n, bits != 0 ? t->pages.room : 5);
        for (uint32_t id = 1; id <= 4 * PAGES6_PAGE; id++)
            CU_ASSERT_EQUAL(
                subscriber6_find(t, (struct ipv6){DOC + ((uint64_t)id << (8 + bits)), 0}), id);
        subscriber6_table_free(t);
    }
}

static const struct test tests[] = {
    {"random prefixes", random_prefixes},      {"random changes", random_changes},
    {"what is taken away", waits_for_readers}, {"many nets", many_nets},
    {"prefixes far apart", far_apart},         {NULL, NULL},
};

const struct test_program test_program = {"first_line", tests, harness_open, harness_close};
