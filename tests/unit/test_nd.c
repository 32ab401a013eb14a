/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of packet/icmpv6.h and packet/nd.h, against frames that Scapy has made: checksums,
 * messages with each byte changed, cut off everywhere, and options of all lengths. */
#include <arpa/inet.h>
#include <string.h>

#include "common/program.h"
#include "packet/nd.h"

#define ROOM 1600

static const uint8_t our_mac[8] = {2, 0, 0, 0, 0, 1};

/* The bytes of hexadecimal text. Returns their number. */
static uint32_t bytes_of(const char *hex, uint8_t *out)
{
    uint32_t n = 0;
    unsigned byte;

    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (uint8_t)byte;
    return n;
}

#define ADVERT                                                                                     \
    "6000000000203afffe80000000000000000000fffe00000120010db800010000"                             \
    "000000000000000788006adde0000000fe80000000000000000000fffe000001"                             \
    "0201020000000001"
#define SOLICIT                                                                                    \
    "6000000000203afffe80000000000000000000fffe000001ff02000000000000"                             \
    "00000001ff34567887008d090000000020010db8000100000000000012345678"                             \
    "0101020000000001"
#define PROBE                                                                                      \
    "6000000000183aff00000000000000000000000000000000ff02000000000000"                             \
    "00000001ff00000187007d2500000000fe80000000000000000000fffe000001"
#define ROUTER_SOLICIT                                                                             \
    "6000000000103afffe800000000000000000000000000009ff02000000000000"                             \
    "000000000000000285007a1c000000000101020000000009"
#define ROUTER                                                                                     \
    "6000000000403afffe80000000000000000000fffe000001ff02000000000000"                             \
    "00000000000000018600eeae4040070800000000000000000101020000000001"                             \
    "05010000000005d4030440c000278d0000093a800000000020010db800010002"                             \
    "0000000000000000"
#define ECHO                                                                                       \
    "60000000000d3a4020010db800000000000000000000000120010db800000000"                             \
    "00000000000000028000e846123400016162636465"

/* Parse a packet of n bytes after its checksum was made right. */
static bool parse(uint8_t *p, uint32_t n, struct nd *out)
{
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;

    ip->payload_length = htons((uint16_t)(n - IPV6_LEN));
    icmpv6_seal(ip, p + IPV6_LEN, n - IPV6_LEN);
    return nd_parse(ip, n, out);
}

static void checksums(void)
{
    static const char *const packets[] = {ADVERT, SOLICIT, PROBE, ROUTER_SOLICIT, ECHO};

    for (unsigned i = 0; i < RTE_DIM(packets); i++) {
        uint8_t p[ROOM], was[ROOM];
        uint32_t n = bytes_of(packets[i], p), len = n - IPV6_LEN;
        struct ipv6_hdr *ip = (struct ipv6_hdr *)p;

        memcpy(was, p, n);
        CU_ASSERT(icmpv6_checksum_ok(ip, p + IPV6_LEN, len));
        for (uint32_t k = 8; k < n; k++) { /* addresses and message are covered */
            p[k] ^= 0x10;
            CU_ASSERT_FALSE(icmpv6_checksum_ok(ip, p + IPV6_LEN, len));
            p[k] ^= 0x10;
        }
        CU_ASSERT_FALSE(icmpv6_checksum_ok(ip, p + IPV6_LEN, len - 1));
        icmpv6_seal(ip, p + IPV6_LEN, len);
        CU_ASSERT_EQUAL(memcmp(p, was, n), 0);
    }
}

static void writing(void)
{
    uint8_t want[ROOM], p[ROOM], from[16], to[16], target[16], mac[6];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    uint32_t n = bytes_of(ADVERT, want);

    memset(p, 0xa5, sizeof(p));
    nd_link_local(our_mac, from);
    nd_write(ip, ICMPV6_ADVERT, ND_FLAG_ROUTER | ND_FLAG_SOLICITED | ND_FLAG_OVERRIDE, from,
             want + 24, from, our_mac);
    CU_ASSERT_EQUAL(n, ND_NEIGHBOUR_SIZE);
    CU_ASSERT_EQUAL(memcmp(p, want, n), 0);
    CU_ASSERT_EQUAL(p[n], 0xa5);

    bytes_of(SOLICIT, want);
    memcpy(target, want + 48, 16);
    nd_solicited_node(target, to);
    CU_ASSERT_EQUAL(memcmp(to, want + 24, 16), 0);
    nd_group_mac(to, mac);
    CU_ASSERT_EQUAL(memcmp(mac, "\x33\x33\xff\x34\x56\x78", 6), 0);
    nd_write(ip, ICMPV6_SOLICIT, 0, from, to, target, our_mac);
    CU_ASSERT_EQUAL(memcmp(p, want, n), 0);
    nd_solicited_node(target, target); /* in place */
    CU_ASSERT_EQUAL(memcmp(to, target, 16), 0);
    nd_all_nodes(to);
    nd_group_mac(to, mac);
    CU_ASSERT_EQUAL(memcmp(mac, "\x33\x33\0\0\0\x01", 6), 0);
}

static void routers(void)
{
    struct nd_router r = {.flags = ND_FLAG_OTHER,
                          .has_prefix = true,
                          .lifetime = 1800,
                          .mtu = 1492,
                          .prefix = UINT64_C(0x20010db800010002),
                          .valid = 2592000,
                          .preferred = 604800};
    uint8_t want[ROOM], p[ROOM], from[16], to[16];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    uint32_t n = bytes_of(ROUTER, want);

    memset(p, 0xa5, sizeof(p));
    nd_link_local(our_mac, from);
    nd_all_nodes(to);
    CU_ASSERT_EQUAL(nd_write_router(ip, &r, from, to, our_mac), n);
    CU_ASSERT_EQUAL(n, ND_ROUTER_MOST);
    CU_ASSERT_EQUAL(memcmp(p, want, n), 0);
    CU_ASSERT_EQUAL(p[n], 0xa5);
    CU_ASSERT_FALSE(nd_is(ip, n)); /* none of what the gateway is told */
    r = (struct nd_router){.flags = ND_FLAG_MANAGED};
    CU_ASSERT_EQUAL(nd_write_router(ip, &r, from, to, our_mac), 40 + 16 + 8);
    CU_ASSERT(p[45] == 0x80 && p[46] == 0 && p[47] == 0 && ipv6_len(ip) == 64);
    CU_ASSERT(icmpv6_checksum_ok(ip, p + 40, 24));
}

static void right_ones(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    struct nd nd;
    uint32_t n;

    n = bytes_of(ADVERT, p);
    CU_ASSERT(nd_is(ip, n) && nd_parse(ip, n, &nd));
    CU_ASSERT(nd.type == ICMPV6_ADVERT && nd.flags == 0xe0 && nd.target == p + 48);
    CU_ASSERT(nd.mac == p + 66);
    n = bytes_of(SOLICIT, p);
    CU_ASSERT(nd_is(ip, n) && nd_parse(ip, n + 20, &nd)); /* padding behind */
    CU_ASSERT(nd.type == ICMPV6_SOLICIT && nd.target == p + 48 && nd.mac == p + 66);
    n = bytes_of(PROBE, p);
    CU_ASSERT(nd_is(ip, n) && nd_parse(ip, n, &nd));
    CU_ASSERT(nd.target == p + 48 && nd.mac == NULL);
    n = bytes_of(ECHO, p);
    CU_ASSERT_FALSE(nd_is(ip, n));
}

static void wrong_headers(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;
    struct nd nd;
    uint32_t n = bytes_of(SOLICIT, p);

    for (unsigned hops = 0; hops < 256; hops++) {
        ip->hop_limit = (uint8_t)hops;
        CU_ASSERT_EQUAL(parse(p, n, &nd), hops == 255);
    }
    p[41] = 1; /* code */
    CU_ASSERT_FALSE(parse(p, n, &nd));
    p[41] = 0;
    p[48] = 0xff; /* a group as target */
    CU_ASSERT_FALSE(parse(p, n, &nd));
    p[48] = 0x20;
    p[8] = 0xff; /* and as source */
    CU_ASSERT_FALSE(parse(p, n, &nd));
    p[8] = 0xfe;
    CU_ASSERT(parse(p, n, &nd));
    p[42] ^= 1; /* checksum */
    CU_ASSERT_FALSE(nd_parse(ip, n, &nd));
    memset(p + 8, 0, 16); /* a probe says no MAC, */
    CU_ASSERT_FALSE(parse(p, n, &nd));
    CU_ASSERT(parse(p, n - 8, &nd));
    p[39] ^= 1; /* and goes to the group of its target */
    CU_ASSERT_FALSE(parse(p, n - 8, &nd));

    n = bytes_of(ADVERT, p);
    memcpy(p + 24, "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
    CU_ASSERT_FALSE(parse(p, n, &nd)); /* to all, and solicited */
    p[44] = 0x20;
    CU_ASSERT(parse(p, n, &nd));
    ip->next_header = IPPROTO_DSTOPTS;
    CU_ASSERT_FALSE(nd_is(ip, n));
}

static void cut_off(void)
{
    static const char *const packets[] = {ADVERT, SOLICIT, ROUTER_SOLICIT};
    static const uint32_t fixed[] = {64, 64, 48};

    for (unsigned i = 0; i < RTE_DIM(packets); i++) {
        uint8_t p[ROOM];
        struct nd nd;
        uint32_t n = bytes_of(packets[i], p);

        for (uint32_t len = IPV6_LEN + 4; len < n; len++) { /* the length agrees */
            bytes_of(packets[i], p);
            CU_ASSERT_EQUAL(parse(p, len, &nd), len == fixed[i]);
        }
        bytes_of(packets[i], p);
        for (uint32_t avail = IPV6_LEN + 1; avail < n; avail++) /* the frame ends before */
            CU_ASSERT_FALSE(nd_parse((struct ipv6_hdr *)p, avail, &nd));
    }
}

static void options(void)
{
    struct nd nd;
    uint8_t p[ROOM];

    for (unsigned units = 0; units < 256; units++) {
        uint32_t n = bytes_of(SOLICIT, p);

        memset(p + n, 0, 40);
        p[n - 7] = (uint8_t)units;
        p[n] = ND_SOURCE_LINK; /* what follows where the first one has 8 bytes */
        p[n + 1] = 5;
        CU_ASSERT_EQUAL(parse(p, n + 40, &nd), units == 1 || units == 6);
        if (units == 1)
            CU_ASSERT_PTR_EQUAL(nd.mac, p + n - 6);
        if (units == 6) /* no MAC of Ethernet has 46 bytes */
            CU_ASSERT_PTR_NULL(nd.mac);
    }
    for (unsigned many = 1; many <= ND_MOST_OPTIONS + 2; many++) {
        uint32_t n = bytes_of(SOLICIT, p) - 8;

        for (unsigned i = 0; i < many; i++, n += 8)
            memcpy(p + n, (const uint8_t[8]){(uint8_t)(i + 1 < many ? 14 : 1), 1, 2}, 8);
        CU_ASSERT_EQUAL(parse(p, n, &nd), many <= ND_MOST_OPTIONS);
        CU_ASSERT(many > ND_MOST_OPTIONS || nd.mac == p + n - 6);
    }
}

static const struct test tests[] = {
    {"checksums", checksums},
    {"what is written", writing},
    {"routers", routers},
    {"right ones", right_ones},
    {"wrong headers", wrong_headers},
    {"cut off", cut_off},
    {"options", options},
    {NULL, NULL},
};

const struct test_program test_program = {"nd", tests, NULL, NULL};
