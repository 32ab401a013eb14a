/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of packet/ipv6.h: headers cut at every byte, all values of the traffic class,
 * chains of extension headers, and addresses at the edges of each kind. */
#include <arpa/inet.h>
#include <string.h>

#include "common/program.h"
#include "packet/flow.h"
#include "packet/ipv6.h"

#define ROOM 512

static struct ipv6_hdr *fill(uint8_t *p, uint8_t next, uint16_t payload)
{
    struct ipv6_hdr *ip = (struct ipv6_hdr *)p;

    memset(p, 0xa5, ROOM);
    memcpy(ip->first, (const uint8_t[4]){0x60, 0, 0, 0}, 4);
    ip->payload_length = htons(payload);
    ip->next_header = next;
    ip->hop_limit = 64;
    return ip;
}

static void header_check(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = fill(p, IPPROTO_UDP, 60);

    for (uint32_t avail = 0; avail < 120; avail++)
        CU_ASSERT_EQUAL(ipv6_check(ip, avail), avail < 40    ? IPV6_BAD_HEADER
                                               : avail < 100 ? IPV6_BAD_LENGTH
                                                             : IPV6_OK);
    CU_ASSERT_EQUAL(ipv6_len(ip), 100);
    for (unsigned first = 0; first < 256; first++) {
        ip->first[0] = (uint8_t)first;
        CU_ASSERT_EQUAL(ipv6_check(ip, 100), first / 16 == 6 ? IPV6_OK : IPV6_BAD_HEADER);
    }
    ip = fill(p, IPPROTO_NONE, 0);
    CU_ASSERT_EQUAL(ipv6_check(ip, 40), IPV6_OK);
    ip->payload_length = 0xffff;
    CU_ASSERT_EQUAL(ipv6_check(ip, 65575), IPV6_OK);
    CU_ASSERT_EQUAL(ipv6_check(ip, 65574), IPV6_BAD_LENGTH);
    CU_ASSERT_EQUAL(ipv6_len(ip), 65575);
}

static void traffic_class(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = fill(p, IPPROTO_UDP, 60);

    memcpy(ip->first, (const uint8_t[4]){0x60, 0x0a, 0xbc, 0xde}, 4);
    CU_ASSERT_EQUAL(ipv6_flow_label(ip), 0xabcde);
    for (unsigned class = 0; class < 256; class ++) {
        ipv6_set_traffic_class(ip, (uint8_t) class);
        CU_ASSERT_EQUAL(ip->first[0], 0x60 | class >> 4);
        CU_ASSERT_EQUAL(ip->first[1], (class & 15) << 4 | 0xa);
        CU_ASSERT_EQUAL(ipv6_traffic_class(ip), class);
        CU_ASSERT_EQUAL(ipv6_dscp(ip), class >> 2);
        for (unsigned dscp = 0; dscp < 64; dscp++) {
            ipv6_set_traffic_class(ip, (uint8_t) class);
            ipv6_set_dscp(ip, (uint8_t)dscp);
            CU_ASSERT_EQUAL(ipv6_traffic_class(ip), dscp << 2 | (class & 3));
        }
        CU_ASSERT_EQUAL(ipv6_flow_label(ip), 0xabcde);
    }
    CU_ASSERT_EQUAL(load16(&ip->payload_length), htons(60));
}

/* RFC 6040 figure 4, of which IPv4's function is the tested model. */
static void congestion(void)
{
    for (unsigned inner = 0; inner < 256; inner++) {
        for (unsigned outer = 0; outer < 256; outer++) {
            uint8_t p[ROOM];
            struct ipv6_hdr *ip = fill(p, IPPROTO_UDP, 60);
            struct rte_ipv4_hdr v4 = {.type_of_service = (uint8_t)inner};

            if (!ipv4_tells_ecn((uint8_t)outer))
                continue;
            ipv6_set_traffic_class(ip, (uint8_t)inner);
            CU_ASSERT_EQUAL(ipv6_merge_ecn(ip, (uint8_t)outer),
                            ipv4_merge_ecn(&v4, (uint8_t)outer));
            CU_ASSERT_EQUAL(ipv6_traffic_class(ip), v4.type_of_service);
        }
    }
}

static void kinds(void)
{
    static const struct {
        const char *addr;
        enum ipv6_kind kind;
    } all[] = {
        {"::", IPV6_UNSPECIFIED},
        {"::1", IPV6_LOOPBACK},
        {"::2", IPV6_RESERVED},
        {"::192.0.2.1", IPV6_RESERVED},
        {"::ffff:0.0.0.0", IPV6_MAPPED},
        {"::ffff:255.255.255.255", IPV6_MAPPED},
        {"::fffe:192.0.2.1", IPV6_RESERVED},
        {"::1:0:0:0", IPV6_RESERVED},
        {"0:0:0:1::", IPV6_GLOBAL},
        {"64:ff9b::192.0.2.1", IPV6_GLOBAL},
        {"2001:db8::1", IPV6_GLOBAL},
        {"fbff:ffff::1", IPV6_GLOBAL},
        {"fc00::", IPV6_UNIQUE_LOCAL},
        {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", IPV6_UNIQUE_LOCAL},
        {"fe00::1", IPV6_GLOBAL},
        {"fe7f:ffff::1", IPV6_GLOBAL},
        {"fe80::", IPV6_LINK_LOCAL},
        {"febf:ffff::1", IPV6_LINK_LOCAL},
        {"fec0::1", IPV6_GLOBAL},
        {"feff:ffff::1", IPV6_GLOBAL},
        {"ff00::", IPV6_MULTICAST},
        {"ff02::1:ff00:1", IPV6_MULTICAST},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", IPV6_MULTICAST},
    };

    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        uint8_t addr[16];

        CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, all[i].addr, addr), 1);
        CU_ASSERT_EQUAL(ipv6_kind(addr), all[i].kind);
        CU_ASSERT_EQUAL(ipv6_is_forwarded(ipv6_upper(addr)), all[i].kind <= IPV6_UNIQUE_LOCAL);
    }
}

/* Put an extension header of len bytes at p. */
static uint8_t *put(uint8_t *p, uint8_t protocol, uint8_t next, uint32_t len)
{
    memset(p, 0, len);
    p[0] = next;
    p[1] = (uint8_t)(protocol == IPPROTO_AH ? len / 4 - 2 : len / 8 - 1);
    return p + len;
}

/* One header of each kind and several lengths, in packets cut at every byte. */
static void one_extension(void)
{
    static const uint8_t kind[] = {IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS, IPPROTO_AH,
                                   IPPROTO_MH};
    uint8_t p[ROOM];
    struct ipv6_payload to;

    for (unsigned k = 0; k < sizeof(kind); k++) {
        for (uint32_t len = 8; len <= 64; len += 8) {
            struct ipv6_hdr *ip = fill(p, kind[k], (uint16_t)(len + 8));

            put(p + 40, kind[k], IPPROTO_UDP, len);
            for (uint32_t avail = 40; avail <= 48 + len; avail++) {
                CU_ASSERT_EQUAL(ipv6_walk(ip, avail, &to),
                                avail < 40 + len ? IPV6_WALK_CUT : IPV6_WALK_OK);
                if (avail < 40 + len)
                    continue;
                CU_ASSERT(to.at == 40 + len && to.protocol == IPPROTO_UDP);
                CU_ASSERT(!to.has_fragment && !to.later);
            }
            ip->payload_length = htons((uint16_t)(len - 1)); /* its own end counts, not padding */
            CU_ASSERT_EQUAL(ipv6_walk(ip, ROOM, &to), IPV6_WALK_CUT);
        }
    }
}

static void fragments(void)
{
    uint8_t p[ROOM];
    struct ipv6_hdr *ip = fill(p, IPPROTO_FRAGMENT, 100);
    struct ipv6_payload to;

    put(p + 40, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS, 8);
    p[41] = 0xff; /* reserved: RFC 8200 section 4.5 */
    put(p + 48, IPPROTO_DSTOPTS, IPPROTO_TCP, 16);
    store16(p + 42, htons(1)); /* the first of several */
    CU_ASSERT_EQUAL(ipv6_walk(ip, ROOM, &to), IPV6_WALK_OK);
    CU_ASSERT(to.has_fragment && !to.later && to.at == 64 && to.protocol == IPPROTO_TCP);
    store16(p + 42, htons(8 | 1));
    CU_ASSERT_EQUAL(ipv6_walk(ip, ROOM, &to), IPV6_WALK_OK);
    CU_ASSERT(to.has_fragment && to.later && to.at == 48 && to.protocol == IPPROTO_DSTOPTS);
    for (uint32_t avail = 40; avail < 48; avail++)
        CU_ASSERT_EQUAL(ipv6_walk(ip, avail, &to), IPV6_WALK_CUT);
}

/* As many headers as are walked, one more, and where hop-by-hop options may be. */
static void chains(void)
{
    uint8_t p[ROOM];
    struct ipv6_payload to;

    for (unsigned n = 0; n <= IPV6_MOST_EXT + 2; n++) {
        struct ipv6_hdr *ip = fill(p, n > 0 ? IPPROTO_HOPOPTS : IPPROTO_ESP, 200);
        uint8_t *at = p + 40;

        for (unsigned i = 0; i < n; i++)
            at = put(at, IPPROTO_DSTOPTS, i + 1 < n ? IPPROTO_DSTOPTS : IPPROTO_ESP, 8);
        CU_ASSERT_EQUAL(ipv6_walk(ip, ROOM, &to),
                        n <= IPV6_MOST_EXT ? IPV6_WALK_OK : IPV6_WALK_TOO_MANY);
        if (n <= IPV6_MOST_EXT)
            CU_ASSERT(to.at == 40 + 8 * n && to.protocol == IPPROTO_ESP);
        if (n < 2 || n > IPV6_MOST_EXT)
            continue;
        p[40] = IPPROTO_HOPOPTS;
        CU_ASSERT_EQUAL(ipv6_walk(ip, ROOM, &to), IPV6_WALK_MISPLACED);
    }
    fill(p, IPPROTO_NONE, 0);
    CU_ASSERT_EQUAL(ipv6_walk((struct ipv6_hdr *)p, 40, &to), IPV6_WALK_OK);
    CU_ASSERT(to.at == 40 && to.protocol == IPPROTO_NONE);
}

static const struct test tests[] = {
    {"IPv6 header check", header_check},        {"traffic class", traffic_class},
    {"congestion out of a tunnel", congestion}, {"kinds of addresses", kinds},
    {"one extension header", one_extension},    {"fragments", fragments},
    {"chains of extension headers", chains},    {NULL, NULL},
};

const struct test_program test_program = {"ipv6", tests, NULL, NULL};
