/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 addresses and prefixes as texts and as numbers. */
#include "base/ipv6.h"
#include "common/program.h"

#include <errno.h>
#include <string.h>

/* Each text, the number that it is, and how it is written again. */
static void addresses(void)
{
    static const struct {
        const char *text, *again;
        struct ipv6 addr;
    } cases[] = {
        {"::", "::", {0, 0}},
        {"::1", "::1", {0, 1}},
        {"2001:db8::1", "2001:db8::1", {0x20010db800000000, 1}},
        {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1", {0x20010db800000000, 0x0001000000000001}},
        {"fe80:0:0:0:0202:b3ff:fe1e:8329",
         "fe80::202:b3ff:fe1e:8329",
         {0xfe80000000000000, 0x0202b3fffe1e8329}},
        {"::ffff:192.0.2.1", "::ffff:192.0.2.1", {0, 0x0000ffffc0000201}},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         {UINT64_MAX, UINT64_MAX}},
    };
    static const char *const bad[] = {"",     "1",       "192.0.2.1", "2001:db8", "fe80::1%eth0",
                                      ":::",  "1::2::3", "12345::",   "::g",      " ::1",
                                      "::1 ", "::/0"};
    struct ipv6 a = {7, 9};
    char buf[IPV6_TEXT];

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CU_ASSERT_EQUAL(parse_ipv6(cases[i].text, &a), 0);
        CU_ASSERT_TRUE(same6(a, cases[i].addr));
        CU_ASSERT_STRING_EQUAL(format_ipv6(a, buf), cases[i].again);
    }
    a = (struct ipv6){7, 9};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(parse_ipv6(bad[i], &a), -EINVAL);
        CU_ASSERT_TRUE(same6(a, (struct ipv6){7, 9}));
    }
}

/* One number holds an address of either family. */
static void families(void)
{
    struct ipv6 four = mapped6(0xc0000201), six = {0xfe80000000000000, 1};
    char buf[IPV6_TEXT];

    CU_ASSERT(is_mapped6(four) && (uint32_t)four.lower == 0xc0000201 && !is_none6(four));
    CU_ASSERT_STRING_EQUAL(format_address(four, buf), "192.0.2.1");
    CU_ASSERT(is_mapped6(mapped6(0)) && !is_none6(mapped6(0)));
    CU_ASSERT(!is_mapped6(six) && is_link_local6(six) && !is_link_local6(four));
    CU_ASSERT_STRING_EQUAL(format_address(six, buf), "fe80::1");
    CU_ASSERT_STRING_EQUAL(
        format_ipv6(link_local6((const uint8_t *)"\x02\xb0\x01\x02\x03\xfd"), buf),
        "fe80::b0:1ff:fe02:3fd");
    CU_ASSERT(is_none6((struct ipv6){0, 0}) && !is_mapped6((struct ipv6){0, 0}));
    CU_ASSERT(!is_link_local6((struct ipv6){0xfec0000000000000, 1}) &&
              is_link_local6((struct ipv6){0xfebf000000000000, 0}));
}

static void prefixes(void)
{
    static const char *const bad[] = {"2001:db8::/",
                                      "2001:db8::/129",
                                      "2001:db8::/-1",
                                      "2001:db8::/6 4",
                                      "2001:db8::/0x40",
                                      "/64",
                                      "2001:db8::/0064",
                                      "10.0.0.0/8",
                                      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"};
    struct ipv6 a = {7, 9};
    uint8_t len = 3;
    char buf[IPV6_TEXT];

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(parse_prefix6(bad[i], &a, &len), -EINVAL);
        CU_ASSERT_TRUE(same6(a, (struct ipv6){7, 9}) && len == 3);
    }
    CU_ASSERT_EQUAL(parse_prefix6("2001:db8:1::5/56", &a, &len), 0);
    CU_ASSERT_STRING_EQUAL(format_prefix6(a, len, buf), "2001:db8:1::5/56");
    CU_ASSERT_STRING_EQUAL(format_prefix6(first6(a, len), len, buf), "2001:db8:1::/56");
    CU_ASSERT_EQUAL(parse_prefix6("2001:db8::5", &a, &len), 0);
    CU_ASSERT_EQUAL(len, 128);
    CU_ASSERT_EQUAL(parse_prefix6("::/0", &a, &len), 0);
    CU_ASSERT_EQUAL(len, 0);
    CU_ASSERT_EQUAL(strlen(format_prefix6((struct ipv6){UINT64_MAX, UINT64_MAX}, 128, buf)), 43);
}

static void lists(void)
{
    struct ipv6 a[2];
    uint8_t len[2];

    CU_ASSERT_EQUAL(parse_prefixes6("2001:db8::/56", a, len, 2), 1);
    CU_ASSERT_EQUAL(parse_prefixes6(" 2001:db8:1::/56   2001:db8::5 ", a, len, 2), 2);
    CU_ASSERT_TRUE(same6(a[1], (struct ipv6){0x20010db800000000, 5}));
    CU_ASSERT_EQUAL(len[0], 56);
    CU_ASSERT_EQUAL(len[1], 128);
    CU_ASSERT_EQUAL(parse_prefixes6("::/1 ::/2 ::/3", a, len, 2), -EINVAL);
    CU_ASSERT_EQUAL(parse_prefixes6("::/1,::/2", a, len, 2), -EINVAL);
    CU_ASSERT_EQUAL(parse_prefixes6("", a, len, 2), -EINVAL);
    CU_ASSERT_EQUAL(parse_prefixes6("  ", a, len, 2), -EINVAL);
}

static void masks(void)
{
    CU_ASSERT_TRUE(same6(mask6(0), (struct ipv6){0, 0}));
    CU_ASSERT_TRUE(same6(mask6(1), (struct ipv6){UINT64_C(1) << 63, 0}));
    CU_ASSERT_TRUE(same6(mask6(64), (struct ipv6){UINT64_MAX, 0}));
    CU_ASSERT_TRUE(same6(mask6(65), (struct ipv6){UINT64_MAX, UINT64_C(1) << 63}));
    CU_ASSERT_TRUE(same6(mask6(128), (struct ipv6){UINT64_MAX, UINT64_MAX}));
}

static const struct test tests[] = {
    {"addresses", addresses}, {"addresses of both families", families},
    {"prefixes", prefixes},   {"lists of prefixes", lists},
    {"masks", masks},         {NULL, NULL},
};

const struct test_program test_program = {"ipv6_text", tests, NULL, NULL};
