/* SPDX-License-Identifier: BSD-3-Clause */
/* What of packet/icmpv6.h makes and judges errors and echoes, against packets that Scapy has made.
 */
#include <string.h>

#include "common/program.h"
#include "packet/nd.h"

#define ROOM 1600

#define ABOUT                                                                                      \
    "60012345000b110120010db80000000000000000000000012400cb0000000000000000000000000100010002"     \
    "000b1eb7616263"
#define FROM "6c000000003b3a4020010db800c00000000000000000000120010db8000000000000000000000001"
#define PING                                                                                       \
    "60000000000d3a4020010db800000000000000000000000120010db80000000000000000000000028000e846"     \
    "123400016162636465"
#define PONG                                                                                       \
    "60000000000d3a4020010db800000000000000000000000220010db80000000000000000000000018100e746"     \
    "123400016162636465"

/* The bytes of hexadecimal text. Returns their number. */
static uint32_t bytes_of(const char *hex, uint8_t *out)
{
    uint32_t n = 0;
    unsigned byte;

    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (uint8_t)byte;
    return n;
}

static void errors(void)
{
    static const struct {
        uint8_t type, code;
        uint32_t value;
        const char *expected;
    } cases[] = {
        {ICMPV6_TIME_EXCEEDED, ICMPV6_HOP_LIMIT_CODE, 0, FROM "03000c2000000000" ABOUT},
        {ICMPV6_TOO_BIG, 0, 1400, FROM "020007a800000578" ABOUT},
        {ICMPV6_PARAMETER, ICMPV6_NEXT_HEADER_CODE, 6, FROM "04010b1900000006" ABOUT},
    };

    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        uint8_t expected[ROOM], p[ROOM];
        struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
        uint32_t len = bytes_of(cases[i].expected, expected);
        const uint8_t *about = p + IPV6_LEN + ICMPV6_LEN;
        uint32_t quote = bytes_of(ABOUT, p + IPV6_LEN + ICMPV6_LEN);

        /* the receiver's address lies in the quote */
        icmpv6_write_error(ip, 0xc0, expected + 8, about + 8, cases[i].type, cases[i].code,
                           cases[i].value, quote);
        CU_ASSERT_EQUAL(IPV6_LEN + ICMPV6_LEN + quote, len);
        CU_ASSERT_EQUAL(memcmp(p, expected, len), 0);
        CU_ASSERT_FALSE(icmpv6_may_answer(ip, len, true)); /* never about an error */
    }
}

static void echoes(void)
{
    uint8_t p[ROOM], expected[ROOM];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p, was;
    uint32_t len = bytes_of(PING, p);

    bytes_of(PONG, expected);
    CU_ASSERT(icmpv6_is_ping(ip, len));
    CU_ASSERT_FALSE(icmpv6_is_ping(ip, IPV6_LEN + ICMPV6_LEN - 1));
    CU_ASSERT_FALSE(nd_is_for_link(ip, len)); /* to an address that routers forward to */
    memcpy(&was, ip, sizeof(was));
    icmpv6_write_ipv6(ip, 0, was.destination, was.source, ICMPV6_OUR_HOPS, len - IPV6_LEN);
    icmpv6_make_reply(p + IPV6_LEN);
    CU_ASSERT_EQUAL(memcmp(p, expected, len), 0);
    CU_ASSERT_FALSE(icmpv6_is_ping(ip, len));
    /* whatever the checksum is: every value of a word of data */
    for (uint32_t word = 0; word < 65536; word++) {
        bytes_of(PING, p);
        store16(p + 46, (uint16_t)word);
        icmpv6_seal(ip, p + IPV6_LEN, len - IPV6_LEN);
        icmpv6_make_reply(p + IPV6_LEN);
        if (!icmpv6_checksum_ok(ip, p + IPV6_LEN, len - IPV6_LEN))
            CU_FAIL("the checksum of a reply");
    }
}

static void of_a_link(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    uint32_t len = bytes_of(PING, p);

    memcpy(ip->destination, "\xfe\x80\0\0\0\0\0\0", 8);
    CU_ASSERT(nd_is_for_link(ip, len));
    p[40] = ICMPV6_ECHO_REPLY;
    CU_ASSERT_FALSE(nd_is_for_link(ip, len));
    p[40] = ICMPV6_ECHO_REQUEST;
    memcpy(ip->destination, "\xff\x02\0\0\0\0\0\0", 8);
    CU_ASSERT_FALSE(nd_is_for_link(ip, len));
}

/* May an error be sent about a packet with these addresses' first bytes, next header and type? */
static bool may(uint8_t source, uint8_t destination, uint8_t next, uint8_t type, bool too_big)
{
    uint8_t p[ROOM] = {0};
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;

    bytes_of(ABOUT, p);
    ip->source[0] = source;
    ip->destination[0] = destination;
    ip->next_header = next;
    p[IPV6_LEN] = type;
    return icmpv6_may_answer(ip, ROOM, too_big);
}

static void when_to_answer(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    uint32_t len = bytes_of(ABOUT, p);

    for (unsigned type = 0; type < 256; type++)
        CU_ASSERT_EQUAL(may(0x20, 0x20, IPPROTO_ICMPV6, (uint8_t)type, false),
                        type >= 128 && type != ICMPV6_REDIRECT);
    CU_ASSERT(may(0x20, 0x20, IPPROTO_UDP, 0, false) && may(0x20, 0x20, IPPROTO_UDP, 0, true));
    CU_ASSERT_FALSE(may(0x20, 0xff, IPPROTO_UDP, 0, false)); /* to a group: */
    CU_ASSERT(may(0x20, 0xff, IPPROTO_UDP, 0, true));        /* (e.3), the exception */
    CU_ASSERT_FALSE(may(0xff, 0x20, IPPROTO_UDP, 0, true));
    CU_ASSERT(icmpv6_may_answer(ip, len, false));
    memset(ip->source, 0, 16);
    CU_ASSERT_FALSE(icmpv6_may_answer(ip, len, true)); /* unspecified, and ::1 */
    ip->source[15] = 1;
    CU_ASSERT_FALSE(icmpv6_may_answer(ip, len, true));
    memcpy(ip->source, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
    CU_ASSERT_FALSE(icmpv6_may_answer(ip, len, true));
}

static void quotes(void)
{
    struct ipv6_hdr ip = {.first = {0x60}};

    for (uint32_t len = 0; len <= 65535; len += 13) {
        uint32_t total = IPV6_LEN + len;

        ip.payload_length = net16((uint16_t)len);
        CU_ASSERT_EQUAL(icmpv6_quote_len(&ip), total < 1232 ? total : 1232);
    }
}

static const struct test tests[] = {
    {"errors", errors},       {"echoes", echoes},
    {"of a link", of_a_link}, {"when to answer", when_to_answer},
    {"quotes", quotes},       {NULL, NULL},
};

const struct test_program test_program = {"icmp6", tests, NULL, NULL};
