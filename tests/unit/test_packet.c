/* SPDX-License-Identifier: BSD-3-Clause */
/* The pure functions of src/packet, against definitions written out the slow way. */
#include <string.h>

#include "common/program.h"
#include "packet/ethernet.h"
#include "packet/gre.h"
#include "packet/ipv4.h"
#include "packet/mpls.h"
#include "packet/qinq.h"

static uint32_t random32(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* RFC 1071: the sum of big-endian words, carries added at the end. */
static uint16_t slow_sum(const uint8_t *p, unsigned len)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < len; i++)
        sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static void put_checksum(uint8_t *header, unsigned len)
{
    uint16_t sum;

    header[10] = header[11] = 0;
    sum = (uint16_t)~slow_sum(header, len);
    header[10] = (uint8_t)(sum >> 8);
    header[11] = (uint8_t)sum;
}

/* A header whose id takes the checksum through all its values. */
static void fill_header(uint8_t *h, unsigned words, uint16_t id)
{
    for (unsigned i = 0; i < words * 4; i++)
        h[i] = (uint8_t)random32();
    h[0] = (uint8_t)(0x40 | words);
    h[2] = 0;
    h[3] = (uint8_t)(words * 4);
    h[4] = (uint8_t)(id >> 8);
    h[5] = (uint8_t)id;
    put_checksum(h, words * 4);
}

static void sums(void)
{
    uint8_t h[60];

    for (unsigned round = 0; round < 20000; round++) {
        unsigned len = 20 + round % 11 * 4;

        for (unsigned i = 0; i < len; i++)
            h[i] = round % 7 == 0 ? 0xff : (uint8_t)random32();
        h[0] |= 1; /* a header of IPv4 is not all zeros */
        if (round % 2 == 0)
            put_checksum(h, len);
        if (ipv4_sum_is_right(h, len) != (slow_sum(h, len) == 0xffff))
            CU_FAIL("sum of a header");
    }
    for (uint32_t sum = 0; sum < 0x10000;
         sum++) { /* all checksums, of which one or two are right */
        h[10] = (uint8_t)(sum >> 8);
        h[11] = (uint8_t)sum;
        if (ipv4_sum_is_right(h, 20) != (slow_sum(h, 20) == 0xffff))
            CU_FAIL("checksum of a header");
    }
    CU_ASSERT_EQUAL(csum_fold(0), 0);
    CU_ASSERT_EQUAL(csum_fold(0xffff), 0xffff);
    CU_ASSERT_EQUAL(csum_fold(0x10000), 1);
    CU_ASSERT_EQUAL(csum_fold(0xffffffff), 0xffff);
    CU_ASSERT_EQUAL(csum_fold(0x1ffff), 1);
}

/* Changing any byte or word of a header and mending its checksum gives what computing it anew
 * gives: for every value of the checksum, 0x0000 among them. */
static void incremental(void)
{
    unsigned seen_zero = 0;

    for (unsigned ttl = 1; ttl < 256; ttl += 127) {
        for (unsigned id = 0; id < 65536; id++) {
            uint8_t h[60], expected[60];

            fill_header(h, 5 + id % 2, (uint16_t)id);
            h[8] = (uint8_t)ttl;
            memset(h + 12, 0, 8); /* so that the sum runs through all values with the id */
            put_checksum(h, (5 + id % 2) * 4);
            memcpy(expected, h, sizeof(h));
            expected[8]--;
            put_checksum(expected, (5 + id % 2) * 4);
            seen_zero += expected[10] == 0 && expected[11] == 0;
            ipv4_ttl_decrement((struct rte_ipv4_hdr *)h);
            if (memcmp(h, expected, (5 + id % 2) * 4) != 0)
                CU_FAIL("TTL");
        }
    }
    CU_ASSERT(seen_zero > 0);
}

static void dscp(void)
{
    for (unsigned from = 0; from < 256; from++) {
        for (unsigned to = 0; to < 64; to++) {
            uint8_t h[60], expected[60];

            fill_header(h, 5, (uint16_t)random32());
            h[1] = (uint8_t)from;
            put_checksum(h, 20);
            memcpy(expected, h, sizeof(h));
            expected[1] = (uint8_t)(to << 2 | (from & 3));
            put_checksum(expected, 20);
            ipv4_set_dscp((struct rte_ipv4_hdr *)h, (uint8_t)to);
            if (memcmp(h, expected, 20) != 0 || ipv4_dscp((const struct rte_ipv4_hdr *)h) != to)
                CU_FAIL("DSCP");
        }
    }
}

/*
 * csum_replace() over all old and new values of a word, for several rests of a header. A checksum
 * of 0xffff (sum 0) cannot be: the version is never 0. RFC 1624 section 3 has the trap: the older
 * equation gives 0xffff where 0x0000 is right.
 */
static void replace(void)
{
    static const uint16_t rests[] = {0x0001, 0x4500, 0x7fff, 0xfffe, 0xffff};

    for (unsigned r = 0; r < sizeof(rests) / sizeof(rests[0]); r++) {
        for (unsigned old = 0; old < 65536; old++) {
            uint16_t new = (uint16_t)(r == 0 ? ~old : random32());
            uint16_t before = (uint16_t)~csum_fold((uint32_t)rests[r] + old);
            uint16_t after = (uint16_t)~csum_fold((uint32_t)rests[r] + new);

            if (csum_replace(before, (uint16_t)old, new) != after)
                CU_FAIL("replaced word");
        }
    }
    CU_ASSERT_EQUAL(csum_replace(0xdd2f, 0x5555, 0x3285), 0x0000); /* RFC 1624 section 4 */
}

static void header_check(void)
{
    uint8_t h[64];
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)h;

    for (unsigned words = 5; words <= 15; words++) {
        fill_header(h, words, 1);
        for (unsigned avail = 0; avail <= 64; avail++)
            CU_ASSERT_EQUAL(ipv4_check(ip, avail), avail < words * 4 ? IPV4_BAD_HEADER : IPV4_OK);
    }
    fill_header(h, 5, 1);
    h[3] = 21;
    put_checksum(h, 20);
    CU_ASSERT_EQUAL(ipv4_check(ip, 20), IPV4_BAD_LENGTH);
    CU_ASSERT_EQUAL(ipv4_check(ip, 21), IPV4_OK);
    h[3] = 19;
    put_checksum(h, 20);
    CU_ASSERT_EQUAL(ipv4_check(ip, 64), IPV4_BAD_LENGTH);
    for (unsigned bit = 0; bit < 160; bit++) {
        fill_header(h, 5, (uint16_t)bit);
        h[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CU_ASSERT_NOT_EQUAL(ipv4_check(ip, 20), IPV4_OK);
    }
    for (unsigned first = 0; first < 256; first++) {
        fill_header(h, 5, 1);
        h[0] = (uint8_t)first;
        if (first >> 4 != 4 || (first & 15) < 5)
            CU_ASSERT_EQUAL(ipv4_check(ip, 64), IPV4_BAD_HEADER);
    }
}

static void unicast(void)
{
    for (uint32_t net = 0; net < 256; net++) {
        bool good = net != 0 && net != 127 && net < 224;

        CU_ASSERT_EQUAL(ipv4_is_unicast(net << 24), good);
        CU_ASSERT_EQUAL(ipv4_is_unicast(net << 24 | 0xffffff), good);
    }
}

static void tags(void)
{
    uint8_t f[QINQ_LEN] = {[12] = 0x88, [13] = 0xa8, [16] = 0x81, [17] = 0x00, [20] = 8, [21] = 0};

    for (unsigned tci = 0; tci < 65536; tci++) {
        uint16_t other = (uint16_t)random32();
        uint64_t t;

        f[12] = tci % 2 ? 0x88 : 0x81;
        f[13] = tci % 2 ? 0xa8 : 0x00;
        f[14] = (uint8_t)(tci >> 8);
        f[15] = (uint8_t)tci;
        f[18] = (uint8_t)(other >> 8);
        f[19] = (uint8_t)other;
        t = qinq_tags(f);
        if (!qinq_is_double(t) || qinq_svlan(t) != (tci & 0xfff) ||
            qinq_cvlan(t) != (other & 0xfff) || qinq_pcp(t) != tci >> 13)
            CU_FAIL("tags");
    }
    CU_ASSERT_EQUAL(qinq_type(f), RTE_BE16(0x0800));
    for (unsigned tpid = 0; tpid < 65536; tpid++) {
        f[12] = (uint8_t)(tpid >> 8);
        f[13] = (uint8_t)tpid;
        f[16] = 0x81;
        f[17] = 0x00;
        if (qinq_is_double(qinq_tags(f)) != (tpid == 0x88a8 || tpid == 0x8100))
            CU_FAIL("outer TPID");
        f[12] = 0x88;
        f[13] = 0xa8;
        f[16] = (uint8_t)(tpid >> 8);
        f[17] = (uint8_t)tpid;
        if (qinq_is_double(qinq_tags(f)) != (tpid == 0x8100))
            CU_FAIL("inner TPID");
    }
}

static void tags_written(void)
{
    uint8_t header[QINQ_LEN], expected[QINQ_LEN], f[QINQ_LEN + 1];

    for (unsigned i = 0; i < QINQ_LEN; i++)
        header[i] = (uint8_t)(i + 1);
    header[14] = header[18] = 0x0f; /* VLAN ids; priority 0 */
    for (uint8_t pcp = 0; pcp < 8; pcp++) {
        memset(f, 0xa5, sizeof(f));
        memcpy(expected, header, sizeof(header));
        expected[14] = expected[18] = (uint8_t)(0x0f | pcp << 5);
        qinq_write(f, header, pcp);
        CU_ASSERT_EQUAL(memcmp(f, expected, QINQ_LEN), 0);
        CU_ASSERT_EQUAL(f[QINQ_LEN], 0xa5); /* and not a byte more */
    }
}

static void macs(void)
{
    for (int by = -12; by <= 12; by++) {
        uint8_t f[48], expected[48];

        for (unsigned i = 0; i < sizeof(f); i++)
            f[i] = expected[i] = (uint8_t)i;
        for (int i = 0; i < 12; i++)
            expected[16 + by + i] = (uint8_t)(16 + i);
        eth_move_macs(f + 16 + by, f + 16);
        CU_ASSERT_EQUAL(memcmp(f, expected, sizeof(f)), 0);
    }
}

static void labels(void)
{
    uint8_t p[40] = {0};

    for (unsigned n = 1; n <= 10; n++) { /* the bottom is entry n */
        memset(p, 0, sizeof(p));
        p[n * 4 - 2] = 1;
        for (unsigned avail = 0; avail <= sizeof(p); avail++)
            for (unsigned max = 1; max <= 12; max++) {
                int expected = n <= max && n * 4 <= avail    ? (int)n * 4
                               : max * 4 <= avail && max < n ? MPLS_TOO_MANY
                                                             : MPLS_NO_BOTTOM;
                if (mpls_stack_len(p, avail, max) != expected)
                    CU_FAIL("stack");
            }
    }
    CU_ASSERT_EQUAL(mpls_label(0x12345fff), 0x12345);
    CU_ASSERT_EQUAL(mpls_ttl(0xffffff07), 7);
    CU_ASSERT(mpls_is_bottom(0x100) && !mpls_is_bottom(0xfffffeff));
    CU_ASSERT_EQUAL(rte_be_to_cpu_32(mpls_entry(rte_cpu_to_be_32(0x112 << 12 | 0x100), 5, 63)),
                    0x00112b3f);
}

static void gre_headers(void)
{
    uint8_t p[64] = {0};

    CU_ASSERT_EQUAL(gre_len(0), 4);
    CU_ASSERT_EQUAL(gre_len(GRE_HAS_KEY), 8);
    CU_ASSERT_EQUAL(gre_len(GRE_HAS_KEY | GRE_HAS_SEQ), 12);
    CU_ASSERT_EQUAL(gre_len(0xffff), 16);
    for (unsigned flags = 0; flags < 65536; flags++) {
        /* bit 0 is the most significant: RFC 2784 section 2 */
        bool routing = flags >> 14 & 1, reserved = flags >> 10 & 3;
        unsigned version = flags & 7;

        if (gre_flags_ok((uint16_t)flags) != (!routing && !reserved && version == 0))
            CU_FAIL("flags");
    }
    p[0] = 0x20;
    p[2] = 0x08;
    p[7] = 42;
    CU_ASSERT_EQUAL(gre_flags(p), GRE_HAS_KEY);
    CU_ASSERT_EQUAL(gre_protocol(p), RTE_BE16(GRE_PROTO_IPV4));
    CU_ASSERT_EQUAL(gre_key(p, gre_flags(p)), RTE_BE32(42));
    p[0] = 0xb0;
    p[11] = 43;
    CU_ASSERT_EQUAL(gre_key(p, gre_flags(p)), RTE_BE32(43)); /* behind the checksum */
}

static void gre_checksums(void)
{
    uint8_t p[64];

    for (unsigned len = 8; len <= sizeof(p); len++) { /* odd ones, too */
        uint16_t sum;

        for (unsigned i = 0; i < len; i++)
            p[i] = (uint8_t)random32();
        memset(p + 4, 0, 4);
        sum = (uint16_t)~slow_sum(p, len);
        p[4] = (uint8_t)(sum >> 8);
        p[5] = (uint8_t)sum;
        CU_ASSERT(gre_checksum_ok(p, len));
        p[len - 1] ^= 0x40;
        CU_ASSERT(!gre_checksum_ok(p, len));
    }
}

static const struct test tests[] = {
    {"sums", sums},
    {"TTL decrement", incremental},
    {"DSCP", dscp},
    {"replaced words", replace},
    {"IPv4 header check", header_check},
    {"unicast", unicast},
    {"double tags", tags},
    {"double tags written", tags_written},
    {"MACs moved", macs},
    {"label stacks", labels},
    {"GRE headers", gre_headers},
    {"GRE checksums", gre_checksums},
    {NULL, NULL},
};

const struct test_program test_program = {"packet", tests, NULL, NULL};
