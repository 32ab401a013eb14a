/* SPDX-License-Identifier: BSD-3-Clause */
/* A rate for each of many sources: exact for one, and no source takes from another. */
#include "base/source_limit.h"
#include "common/program.h"

#include <string.h>

#define HZ UINT64_C(2500000000)

static struct source_limit limit;

static unsigned take(uint32_t key, uint64_t now, const struct source_rate *r, unsigned n)
{
    unsigned got = 0;

    while (n-- > 0)
        got += source_limit_take(&limit, key, now, r);
    return got;
}

static void one_source(void)
{
    struct source_rate r = source_rate_of(HZ, 20, 20);
    uint64_t now = HZ * 1000;

    memset(&limit, 0, sizeof(limit));
    CU_ASSERT_EQUAL(take(1, now, &r, 100), 20);
    CU_ASSERT_EQUAL(take(1, now + HZ / 20 - 1, &r, 100), 0);
    CU_ASSERT_EQUAL(take(1, now + HZ / 20, &r, 100), 1);
    CU_ASSERT_EQUAL(take(1, now + HZ / 2, &r, 100), 9);
    CU_ASSERT_EQUAL(take(1, now + HZ * 3600, &r, 100), 20);     /* full, and no fuller */
    CU_ASSERT_EQUAL(take(1, now + HZ * 3600 - 1000, &r, 1), 0); /* another core's clock */
    for (unsigned i = 1; i <= 400; i++)                         /* twice the rate for 10 s */
        take(2, now + i * HZ / 40, &r, 1);
    CU_ASSERT_EQUAL(take(2, now + 10 * HZ, &r, 1), 0);
}

static void rates(void)
{
    struct source_rate none = source_rate_of(HZ, 0, 1), all = source_rate_of(HZ, HZ * 2, 1),
                       one = source_rate_of(HZ, 1, 1);

    memset(&limit, 0, sizeof(limit));
    CU_ASSERT_EQUAL(take(1, HZ, &none, 100), 1);
    CU_ASSERT_EQUAL(take(1, HZ * 100, &none, 100), 0);
    CU_ASSERT_EQUAL(take(2, HZ, &all, 1000), 1000);
    CU_ASSERT_EQUAL(take(3, HZ, &one, 100), 1);
    CU_ASSERT_EQUAL(take(3, HZ * 2, &one, 100), 1);
}

/* One source sends without end, 100 for each of 65536 others, who all get what is theirs. */
static void others(void)
{
    struct source_rate r = source_rate_of(HZ, 20, 20);
    uint64_t now = HZ;
    unsigned got = 0, attacker = 0;

    memset(&limit, 0, sizeof(limit));
    for (uint32_t key = 1; key <= 65536; key++) {
        attacker += take(0, now, &r, 100);
        got += take(key, now, &r, 3);
        now += HZ / 10000;
    }
    CU_ASSERT_EQUAL(got, 3 * 65536);
    /* 6.5 s; a crowded set may have forgotten the attacker's bucket, but not often */
    CU_ASSERT(attacker >= 20 + 130 && attacker <= 20 + 2 * 131);
}

static const struct test tests[] = {
    {"one source", one_source},
    {"rates", rates},
    {"no source takes from another", others},
    {NULL, NULL},
};

const struct test_program test_program = {"source_limit", tests, NULL, NULL};
