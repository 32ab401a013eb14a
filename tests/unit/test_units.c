/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities: every form, what does not fit, and what is not of the form. */
#include "base/units.h"
#include "common/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A failing case names its input. */
#define CHECK(cond, what)                                                                          \
    do {                                                                                           \
        bool ok_ = (cond);                                                                         \
        if (!ok_)                                                                                  \
            printf("\n    \"%s\": %s\n", what, #cond);                                             \
        CU_ASSERT(ok_);                                                                            \
    } while (0)

struct number_case {
    const char *s;
    int result;
    uint64_t value;
};

/* What *out must still hold after an error. */
#define UNTOUCHED 0x5ca1ab1e

static void check_numbers(int (*parse)(const char *, uint64_t *), const struct number_case *c,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = UNTOUCHED;

        CHECK(parse(c[i].s, &v) == c[i].result, c[i].s);
        CHECK(v == (c[i].result == 0 ? c[i].value : UNTOUCHED), c[i].s);
    }
}

static void counts(void)
{
    static const struct number_case c[] = {
        {"0", 0, 0},
        {"4096", 0, 4096},
        {"0x1000", 0, 4096},
        {"0xfF", 0, 255},
        {"256K", 0, 262144},
        {"2M", 0, 2097152},
        {"1G", 0, 1073741824},
        {"18446744073709551615", 0, UINT64_MAX},
        {"0xffffffffffffffff", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"0x10000000000000000", -ERANGE, 0},
        {"17179869184G", -ERANGE, 0},
        {"18014398509481983K", 0, 18014398509481983u * 1024},
        {"18014398509481984K", -ERANGE, 0},
        {"", -EINVAL, 0},
        {" ", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1 K", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"1.5K", -EINVAL, 0},
        {"1KK", -EINVAL, 0},
        {"1T", -EINVAL, 0},
        {"1k", -EINVAL, 0},
        {"K", -EINVAL, 0},
        {"0x", -EINVAL, 0},
        {"0x10K", -EINVAL, 0},
        {"0xg", -EINVAL, 0},
        {"12a", -EINVAL, 0},
        {"99999999999999999999x", -EINVAL, 0},
    };
    check_numbers(parse_count, c, COUNT(c));
}

static void sizes(void)
{
    static const struct number_case c[] = {
        {"2176", 0, 2176},    {"2K", 0, 2048},
        {"64M", 0, 67108864}, {"1G", 0, 1073741824},
        {"0", 0, 0},          {"0x10", -EINVAL, 0},
        {"2 K", -EINVAL, 0},  {"2KB", -EINVAL, 0},
        {"", -EINVAL, 0},     {"18446744073709551616", -ERANGE, 0},
    };
    check_numbers(parse_size, c, COUNT(c));
}

static void rates(void)
{
    static const struct number_case c[] = {
        {"10000000000", 0, 10000000000},
        {"10M", 0, 10000000},
        {"1.5G", 0, 1500000000},
        {"64k", 0, 64000},
        {"64K", 0, 64000},
        {"1T", 0, 1000000000000},
        {"10 Mbit/s", 0, 10000000},
        {"10Mbps", 0, 10000000},
        {"8bit/s", 0, 8},
        {"8 bps", 0, 8},
        {"0.5k", 0, 500},
        {"0", 0, 0},
        {"0.000000000001T", 0, 1},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744.073709551615T", 0, UINT64_MAX},
        {"18446744.073709551616T", -ERANGE, 0},
        {"18446745T", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"0.5", -EINVAL, 0},
        {"0.0000000000001T", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {".5M", -EINVAL, 0},
        {"1.5.5M", -EINVAL, 0},
        {"10m", -EINVAL, 0},
        {"10MB", -EINVAL, 0},
        {"10  M", -EINVAL, 0},
        {"10 ", -EINVAL, 0},
        {"10M ", -EINVAL, 0},
        {" 10M", -EINVAL, 0},
        {"-1M", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"M", -EINVAL, 0},
        {"", -EINVAL, 0},
        {" ", -EINVAL, 0},
    };
    check_numbers(parse_rate, c, COUNT(c));
}

static void durations(void)
{
    static const struct number_case c[] = {
        {"5ms", 0, 5000000},
        {"10s", 0, 10000000000},
        {"250us", 0, 250000},
        {"100ns", 0, 100},
        {"1.5s", 0, 1500000000},
        {"20min", 0, 1200000000000},
        {"1h", 0, 3600000000000},
        {"5 ms", 0, 5000000},
        {"0", 0, 0},
        {"0.0", 0, 0},
        {"0s", 0, 0},
        {"18446744073709551615ns", 0, UINT64_MAX},
        {"18446744073709551616ns", -ERANGE, 0},
        {"18446744074s", -ERANGE, 0},
        {"307445735min", -ERANGE, 0},
        {"5", -EINVAL, 0},
        {"0.5ns", -EINVAL, 0},
        {"0.1", -EINVAL, 0},
        {"5 m", -EINVAL, 0},
        {"5mss", -EINVAL, 0},
        {"-5ms", -EINVAL, 0},
        {"ms", -EINVAL, 0},
        {"", -EINVAL, 0},
        {" ", -EINVAL, 0},
        {"0 ", -EINVAL, 0},
    };
    check_numbers(parse_duration, c, COUNT(c));
}

static void ranges(void)
{
    static const struct {
        const char *s;
        int result;
        uint64_t first, last;
    } c[] = {
        {"128-255", 0, 128, 255},
        {"7", 0, 7, 7},
        {"7-7", 0, 7, 7},
        {"0x10-0x1f", 0, 16, 31},
        {"0-18446744073709551615", 0, 0, UINT64_MAX},
        {"0-18446744073709551616", -ERANGE, 0, 0},
        {"18446744073709551616", -ERANGE, 0, 0},
        {"255-128", -EINVAL, 0, 0},
        {"128-", -EINVAL, 0, 0},
        {"-128", -EINVAL, 0, 0},
        {"1-2-3", -EINVAL, 0, 0},
        {"1 - 2", -EINVAL, 0, 0},
        {"1-2 ", -EINVAL, 0, 0},
        {"1K-2K", -EINVAL, 0, 0},
        {"", -EINVAL, 0, 0},
        {"-", -EINVAL, 0, 0},
    };

    for (size_t i = 0; i < COUNT(c); i++) {
        uint64_t first = UNTOUCHED, last = UNTOUCHED;

        CHECK(parse_range(c[i].s, &first, &last) == c[i].result, c[i].s);
        CHECK(first == (c[i].result == 0 ? c[i].first : UNTOUCHED), c[i].s);
        CHECK(last == (c[i].result == 0 ? c[i].last : UNTOUCHED), c[i].s);
    }
}

static void loads(void)
{
    static const struct {
        const char *s;
        int result;
        enum load_unit unit;
        double value;
    } c[] = {
        {"14.88Mpps", 0, LOAD_PPS, 14.88e6},
        {"500 kpps", 0, LOAD_PPS, 5e5},
        {"1pps", 0, LOAD_PPS, 1},
        {"0.5pps", 0, LOAD_PPS, 0.5},
        {"10Gbit/s", 0, LOAD_BITS, 1e10},
        {"10 Gbps", 0, LOAD_BITS, 1e10},
        {"100%", 0, LOAD_PERCENT, 100},
        {"0.1 %", 0, LOAD_PERCENT, 0.1},
        {"100.1%", -ERANGE, 0, 0},
        {"0%", -ERANGE, 0, 0},
        {"0pps", -ERANGE, 0, 0},
        {"99999999999999999999999pps", -ERANGE, 0, 0},
        {"10", -EINVAL, 0, 0},
        {"10G", -EINVAL, 0, 0},
        {"5k%", -EINVAL, 0, 0},
        {"%", -EINVAL, 0, 0},
        {"-1pps", -EINVAL, 0, 0},
        {"1 pps ", -EINVAL, 0, 0},
        {"1ppsx", -EINVAL, 0, 0},
        {"", -EINVAL, 0, 0},
        {" ", -EINVAL, 0, 0},
    };

    for (size_t i = 0; i < COUNT(c); i++) {
        struct load l = {.value = -1};

        CHECK(parse_load(c[i].s, &l) == c[i].result, c[i].s);
        if (c[i].result == 0)
            CHECK(l.unit == c[i].unit && l.value > c[i].value * 0.999999 &&
                      l.value < c[i].value * 1.000001,
                  c[i].s);
        else
            CHECK(l.value == -1, c[i].s);
    }
}

static void shares(void)
{
    static const struct {
        const char *s;
        int result;
        uint64_t value;
    } c[] = {
        {"0", 0, 0},
        {"0%", 0, 0},
        {"0/5", 0, 0},
        {"100%", 0, UINT64_MAX},
        {"100.0 %", 0, UINT64_MAX},
        {"3/3", 0, UINT64_MAX},
        {"50%", 0, 1ull << 63},
        {"1/2", 0, 1ull << 63},
        {"25%", 0, 1ull << 62},
        {"1/3", 0, 0x5555555555555556},
        {"0.1%", 0, 0x4189374bc6a7f0}, /* 2^64 / 1000, rounded up */
        {"1/1000", 0, 0x4189374bc6a7f0},
        {"0.0001%", 0, 0x10c6f7a0b5ee},
        {"1/18446744073709551615", 0, 2}, /* a little more than 1 */
        {"100.1%", -ERANGE, 0},
        {"1000000%", -ERANGE, 0},
        {"2/1", -ERANGE, 0},
        {"1/0", -ERANGE, 0},
        {"0/0", -ERANGE, 0},
        {"99999999999999999999/1", -ERANGE, 0},
        {"99999999999999999999%", -ERANGE, 0},
        {"1/99999999999999999999", -ERANGE, 0},
        {"1", -EINVAL, 0},
        {"0.1", -EINVAL, 0},
        {"1/", -EINVAL, 0},
        {"/2", -EINVAL, 0},
        {"1/2%", -EINVAL, 0},
        {"1k%", -EINVAL, 0},
        {"-1%", -EINVAL, 0},
        {"%", -EINVAL, 0},
        {"", -EINVAL, 0},
    };

    for (size_t i = 0; i < COUNT(c); i++) {
        uint64_t v = UNTOUCHED;

        CHECK(parse_share(c[i].s, &v) == c[i].result, c[i].s);
        CHECK(v == (c[i].result == 0 ? c[i].value : UNTOUCHED), c[i].s);
    }
}

static void load_to_pps(void)
{
    struct load l = {.unit = LOAD_PPS, .value = 1000};

    CU_ASSERT_DOUBLE_EQUAL(load_pps(&l, 10000000000, 64), 1000, 1e-9);
    /* 10GbE at 64 B with preamble and gap: 14.88 Mpps; at 78 B the paper's 12.755 Mpps. */
    l = (struct load){.unit = LOAD_PERCENT, .value = 100};
    CU_ASSERT_DOUBLE_EQUAL(load_pps(&l, 10000000000, 64), 14880952.38, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(load_pps(&l, 10000000000, 78), 12755102.04, 0.01);
    l.value = 50;
    CU_ASSERT_DOUBLE_EQUAL(load_pps(&l, 10000000000, 78), 6377551.02, 0.01);
    l = (struct load){.unit = LOAD_BITS, .value = 84 * 8 * 1000};
    CU_ASSERT_DOUBLE_EQUAL(load_pps(&l, 1, 64), 1000, 1e-9);
}

static void addresses(void)
{
    static const char *const bad[] = {
        "",         " ",        "1.2.3",      "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "01.2.3.4",
        "1.2.3.4 ", " 1.2.3.4", "1.2.3.4/24", "1..3.4",    "0x1.2.3.4", "a.b.c.d",
    };
    uint32_t a = UNTOUCHED;

    CU_ASSERT_EQUAL(parse_ipv4("192.0.2.1", &a), 0);
    CU_ASSERT_EQUAL(a, 0xc0000201);
    CU_ASSERT_EQUAL(parse_ipv4("255.255.255.255", &a), 0);
    CU_ASSERT_EQUAL(a, UINT32_MAX);
    for (size_t i = 0; i < COUNT(bad); i++) {
        a = UNTOUCHED;
        CHECK(parse_ipv4(bad[i], &a) == -EINVAL && a == UNTOUCHED, bad[i]);
    }
}

static void prefixes(void)
{
    static const struct {
        const char *s;
        int result;
        uint32_t addr;
        uint8_t len;
    } c[] = {
        {"192.0.2.0/24", 0, 0xc0000200, 24},
        {"0.0.0.0/0", 0, 0, 0},
        {"192.0.2.1", 0, 0xc0000201, 32},
        {"192.0.2.1/24", 0, 0xc0000201, 24},
        {"1.2.3.4/32", 0, 0x01020304, 32},
        {"1.2.3.4/33", -ERANGE, 0, 0},
        {"1.2.3.4/", -EINVAL, 0, 0},
        {"1.2.3.4/a", -EINVAL, 0, 0},
        {"1.2.3.4/24x", -EINVAL, 0, 0},
        {"1.2.3.4/-1", -EINVAL, 0, 0},
        {"1.2.3.4/24/1", -EINVAL, 0, 0},
        {"1.2.3/24", -EINVAL, 0, 0},
        {"/24", -EINVAL, 0, 0},
        {"", -EINVAL, 0, 0},
        {"1.2.3.4 /24", -EINVAL, 0, 0},
        {"1111.1111.1111.1111/8", -EINVAL, 0, 0},
    };

    for (size_t i = 0; i < COUNT(c); i++) {
        uint32_t addr = UNTOUCHED;
        uint8_t len = 99;

        CHECK(parse_prefix(c[i].s, &addr, &len) == c[i].result, c[i].s);
        CHECK(addr == (c[i].result == 0 ? c[i].addr : UNTOUCHED), c[i].s);
        CHECK(len == (c[i].result == 0 ? c[i].len : 99), c[i].s);
    }
}

static void macs(void)
{
    static const char *const bad[] = {
        "",
        "02",
        "02:00:00:00:00",
        "02:00:00:00:00:",
        "02:00:00:00:00:0",
        "02:00:00:00:00:0g",
        "02:00:00:00:00:01:",
        "02:00:00:00:00:01 ",
        " 02:00:00:00:00:01",
        "2:0:0:0:0:1",
        "02-00-00-00-00-01",
        "020000000001",
    };
    static const uint8_t want[6] = {0x02, 0xaB, 0xcd, 0xef, 0x00, 0xff};
    uint8_t mac[6] = {0};

    CU_ASSERT_EQUAL(parse_mac("02:aB:Cd:ef:00:ff", mac), 0);
    CU_ASSERT_EQUAL(memcmp(mac, want, 6), 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        CHECK(parse_mac(bad[i], mac) == -EINVAL, bad[i]);
        CHECK(memcmp(mac, want, 6) == 0, bad[i]);
    }
}

static void formats(void)
{
    char buf[32], tiny[4];
    static const uint8_t mac[6] = {2, 0xaa, 0, 1, 0x10, 0xff};

    CU_ASSERT_STRING_EQUAL(format_rate(0, buf, sizeof(buf)), "0");
    CU_ASSERT_STRING_EQUAL(format_rate(999, buf, sizeof(buf)), "999");
    CU_ASSERT_STRING_EQUAL(format_rate(1000, buf, sizeof(buf)), "1k");
    CU_ASSERT_STRING_EQUAL(format_rate(1500000, buf, sizeof(buf)), "1.5M");
    CU_ASSERT_STRING_EQUAL(format_rate(10000000000, buf, sizeof(buf)), "10G");
    CU_ASSERT_STRING_EQUAL(format_rate(100000000, buf, sizeof(buf)), "100M");
    CU_ASSERT_STRING_EQUAL(format_rate(1234567, buf, sizeof(buf)), "1.235M");
    CU_ASSERT_STRING_EQUAL(format_rate(999999999, buf, sizeof(buf)), "1G");
    CU_ASSERT_STRING_EQUAL(format_rate(5000000000000000, buf, sizeof(buf)), "5000T");
    CU_ASSERT_STRING_EQUAL(format_duration(3500000, buf, sizeof(buf)), "3.5ms");
    CU_ASSERT_STRING_EQUAL(format_duration(0, buf, sizeof(buf)), "0ns");
    CU_ASSERT_STRING_EQUAL(format_duration(250, buf, sizeof(buf)), "250ns");
    CU_ASSERT_STRING_EQUAL(format_duration(90000000000, buf, sizeof(buf)), "90s");
    CU_ASSERT_STRING_EQUAL(format_size(512, buf, sizeof(buf)), "512 B");
    CU_ASSERT_STRING_EQUAL(format_size(2097152, buf, sizeof(buf)), "2 MiB");
    CU_ASSERT_STRING_EQUAL(format_size(1610612736, buf, sizeof(buf)), "1.5 GiB");
    CU_ASSERT_STRING_EQUAL(format_ipv4(0xc0000201, buf, sizeof(buf)), "192.0.2.1");
    CU_ASSERT_STRING_EQUAL(format_mac(mac, buf, sizeof(buf)), "02:aa:00:01:10:ff");
    /* A short buffer holds what fits, and always ends. */
    CU_ASSERT_STRING_EQUAL(format_ipv4(0xc0000201, tiny, sizeof(tiny)), "192");
}

static const struct test tests[] = {
    {"counts", counts},
    {"sizes", sizes},
    {"rates", rates},
    {"durations", durations},
    {"ranges", ranges},
    {"loads", loads},
    {"shares", shares},
    {"loads in packets per second", load_to_pps},
    {"IPv4 addresses", addresses},
    {"prefixes", prefixes},
    {"MACs", macs},
    {"formats", formats},
    {NULL, NULL},
};

const struct test_program test_program = {"units", tests, NULL, NULL};
