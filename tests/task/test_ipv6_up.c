/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 on the way from a subscriber to the core, and under labels: qinq_decap, route, gre_encap,
 * mpls_push and mpls_pop, byte by byte. */
#include "frames.h"
#include "tasks/task_types.h"

#define NET UINT64_C(0x20010db800000000) /* 2001:db8:ID::/48 leads to next hop ID */

static const struct ip6 packet = {.src = {NET | 0x10000000, 1},
                                  .dst = {NET | NH_PLAIN << 16, 2},
                                  .class = 0xb9,
                                  .hops = 64,
                                  .next = 17,
                                  .label = 0xabcde,
                                  .payload = 20};

static struct ip6 to_nexthop(unsigned id)
{
    struct ip6 ip = packet;

    ip.dst[0] = NET | (uint64_t)id << 16;
    return ip;
}

static struct frame framed(const struct ip6 *ip, uint64_t dst, uint64_t src)
{
    struct frame f = {0};

    put_eth(&f, dst, src, 0x86dd);
    put_ip6(&f, ip);
    return f;
}

static struct frame incoming(const struct ip6 *ip)
{
    return framed(ip, GATEWAY_MAC(CPE0), CPE_MAC(1));
}

static struct frame routed(const struct ip6 *ip, unsigned nexthop, unsigned port)
{
    struct ip6 less = *ip;

    less.hops--;
    return framed(&less, CORE_MAC(nexthop), GATEWAY_MAC(port));
}

static void decap(void)
{
    struct rig *r = rig_open(&task_qinq_decap, "", NULL);
    struct frame f = {0}, expected = framed(&packet, GATEWAY_MAC(CPE0), CPE_MAC(1));
    struct ip6 ip = packet;

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x86dd);
    put_ip6(&f, &packet);
    put_pad(&f, 100, 0xee);
    BECOMES(r, &f, CPE0, "to", &expected);
    rig_close(r);
    r = rig_open(&task_qinq_decap, "dscp=pcp", NULL);
    for (unsigned pcp = 0; pcp < 8; pcp++) {
        put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, (uint16_t)(pcp << 13 | 128), 256,
                 0x86dd);
        put_ip6(&f, &packet);
        ip.class = (uint8_t)(pcp << 5 | (packet.class & 3)); /* the ECN bits stay */
        expected = framed(&ip, GATEWAY_MAC(CPE0), CPE_MAC(1));
        BECOMES(r, &f, CPE0, "to", &expected);
    }
    rig_close(r);
}

static void to_next_hops(void)
{
    static const uint8_t ports[] = {0, CORE0, CORE1, CORE0, CORE1};
    static const char *const ways[] = {"to/0", "to/1", "to/2", "to/3"};
    struct rig *r = rig_open(&task_route, "", "to:4");

    for (unsigned nh = NH_GRE_MPLS; nh <= NH_PLAIN; nh++) {
        struct ip6 ip = to_nexthop(nh);
        struct frame f, expected;

        for (ip.payload = 0; ip.payload < 30; ip.payload++) {
            f = incoming(&ip);
            expected = routed(&ip, nh, ports[nh]);
            if (nh == NH_PLAIN ||
                nh == NH_MPLS) /* zeros up to the shortest frame, less its label */
                expected.len = RTE_MAX(expected.len, (uint16_t)(nh == NH_MPLS ? 56 : 60));
            BECOMES(r, &f, CPE0, ways[ports[nh]], &expected);
            CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), nh);
            CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), ports[nh]);
        }
    }
    rig_close(r);
}

/* Is the packet's sender to be told of that, or where nobody tells, is it dropped for the reason?
 */
static void is_told(const struct frame *f, enum punt_reason why, const char *dropped)
{
    struct rig *r = rig_open(&task_route, "", "to");

    FATE(r, frame_mbuf(f, CPE0), dropped);
    rig_close(r);
    r = rig_open(&task_route, "", NULL);
    FATE(r, frame_mbuf(f, CPE0), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), why);
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE0);
    CU_ASSERT(mbuf_is(rig_last(r), f->b, f->len)); /* as it came */
    rig_close(r);
}

static void hop_limit(void)
{
    struct rig *r = rig_open(&task_route, "", NULL);
    struct ip6 ip = packet;

    for (unsigned n = 0; n < 256; n++) {
        struct frame f, expected;

        ip.hops = (uint8_t)n;
        f = incoming(&ip);
        expected = routed(&ip, NH_PLAIN, CORE1);
        if (n >= 2)
            BECOMES(r, &f, CPE0, "to", &expected);
        rig_clear(r);
    }
    rig_close(r);
    for (ip.hops = 0; ip.hops < 2; ip.hops++) {
        struct frame f = incoming(&ip);

        is_told(&f, PUNT_TTL_EXPIRED, "drop ipv6_hop_limit");
    }
}

/* No router cuts IPv6 (RFC 8200 section 5): too large is too large, whatever is connected. */
static void size(void)
{
    static const uint16_t limit[] = {0, 1468, 1472, 1496, 1500};

    for (unsigned nh = NH_GRE_MPLS; nh <= NH_PLAIN; nh++) {
        struct rig *r = rig_open(&task_route, "", NULL);
        struct ip6 ip = to_nexthop(nh);
        struct frame f;

        ip.payload = limit[nh] - 40;
        f = incoming(&ip);
        FATE(r, frame_mbuf(&f, CPE0), "to");
        rig_close(r);
        ip.payload++;
        f = incoming(&ip);
        is_told(&f, PUNT_TOO_BIG, "drop ipv6_too_big");
    }
}

static void no_way(void)
{
    static const struct {
        uint64_t dst[2];
        const char *fate;
    } bad[] = {
        {{0xff02000000000000, 1}, "drop not_unicast"},
        {{0, 0}, "drop not_unicast"},
        {{0, 1}, "drop not_unicast"},
        {{0, 0xffff0a000001}, "drop not_unicast"},
        {{0xfe80000000000000, 1}, "drop link_local"},
        {{0xfebf000000000000, 1}, "drop link_local"},
    };
    struct route_table *t = harness_tables()->routes;
    struct ip6 ip = packet;
    struct frame f;
    struct rig *r;

    ip.dst[0] = 0x2a00000000000000;
    f = incoming(&ip);
    is_told(&f, PUNT_NO_ROUTE, "drop no_route");
    r = rig_open(&task_route, "", NULL);
    CU_ASSERT_EQUAL(route_add6(t, (struct ipv6){0, 0}, 0, NH_PLAIN), 0);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    for (unsigned i = 0; i < RTE_DIM(bad); i++) { /* even with a default route */
        memcpy(ip.dst, bad[i].dst, sizeof(ip.dst));
        f = incoming(&ip);
        FATE(r, frame_mbuf(&f, CPE0), bad[i].fate);
    }
    CU_ASSERT_EQUAL(route_remove6(t, (struct ipv6){0, 0}, 0), 0);
    CU_ASSERT_EQUAL(route_remove6(t, (struct ipv6){0, 0}, 0), -ENOENT);
    rig_close(r);
}

static void unknown_mac(void)
{
    struct rig *r = rig_open(&task_route, "", NULL);
    struct ip6 ip = to_nexthop(NH_NO_MAC);
    struct frame f = incoming(&ip);

    BECOMES(r, &f, CPE0, "punt", &f);
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_NO_MAC);
    CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), NH_NO_MAC);
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CORE0);
    rig_close(r);
}

/* Both families in one burst, in any order: each packet comes out once, as it does alone, and the
 * packets of a family stay in order. */
static void mixed_bursts(void)
{
    static const struct ip v4 = {
        .src = 0x0a000001, .dst = 0x17000001, .ttl = 64, .proto = 17, .payload = 30};
    struct rig *r = rig_open(&task_route, "", "to");

    for (unsigned pattern = 0; pattern < 256; pattern++) {
        struct rte_mbuf *m[8];
        unsigned next[2] = {0};

        for (unsigned i = 0; i < 8; i++) {
            struct ip6 ip6 = packet;
            struct ip ip = v4;
            struct frame f = {0};

            ip6.label = ip.id = (uint16_t)i;
            put_eth(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x0800);
            put_ip(&f, &ip);
            if ((pattern >> i & 1) != 0)
                f = incoming(&ip6);
            m[i] = frame_mbuf(&f, CPE0);
        }
        rig_burst(r, m, 8);
        CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 8);
        for (unsigned i = 0; i < 8; i++) {
            const uint8_t *f = rte_pktmbuf_mtod(rig_out(r, "to", 0, i), uint8_t *);
            unsigned six = f[12] == 0x86, which = six ? f[17] : f[19];

            CU_ASSERT_EQUAL(f[six ? 21 : 22], 63);
            while (next[six] < which && (pattern >> next[six] & 1) != six)
                next[six]++;
            CU_ASSERT_EQUAL(next[six], which);
            next[six]++;
        }
        rig_clear(r);
    }
    rig_close(r);
}

static struct rte_mbuf *packet_for(const struct frame *f, uint32_t subscriber, uint16_t nexthop)
{
    struct rte_mbuf *m = frame_mbuf(f, CPE0);

    meta_set_subscriber(m, subscriber);
    meta_set_nexthop(m, nexthop);
    return m;
}

/* RFC 7676: protocol type 0x86DD; with a key (RFC 2890) or without. */
static void tunnels(void)
{
    for (unsigned key = 0; key < 2; key++) {
        struct rig *r = rig_open(&task_gre_encap, key ? "" : "key=false", NULL);
        struct ip6 ip = packet;

        for (ip.payload = 0; ip.payload < 1400; ip.payload += ip.payload < 40 ? 1 : 97) {
            struct ip outer = {.src = ADDR_CORE0,
                               .dst = 0xc0000200 + NH_GRE_MPLS,
                               .tos = ip.class & 0xfc,
                               .ttl = 64,
                               .proto = 47,
                               .fragment = 0x4000};
            struct frame f = framed(&ip, CORE_MAC(NH_GRE_MPLS), GATEWAY_MAC(CORE0)), expected = {0};

            put_eth(&expected, CORE_MAC(NH_GRE_MPLS), GATEWAY_MAC(CORE0), 0x0800);
            put_ip_header(&expected, &outer, (key ? 8u : 4u) + 40u + ip.payload);
            put16(&expected, key ? 0x2000 : 0);
            put16(&expected, 0x86dd);
            if (key)
                put32(&expected, 0x1001);
            put_ip6(&expected, &ip);
            FATE(r, packet_for(&f, SUB_CPE0, NH_GRE_MPLS), "to");
            CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
            rig_clear(r);
        }
        rig_close(r);
    }
}

static struct frame labelled(const struct ip6 *ip, uint32_t label, uint8_t ttl, uint8_t tc)
{
    struct frame f = {0};

    put_eth(&f, CORE_MAC(NH_MPLS), GATEWAY_MAC(CORE0), 0x8847);
    put32(&f, label << 12 | (uint32_t)tc << 9 | 0x100 | ttl);
    put_ip6(&f, ip);
    return f;
}

static void labels(void)
{
    struct rig *r = rig_open(&task_mpls_push, "", NULL);
    struct ip6 ip = packet;

    for (unsigned class = 0; class < 256; class ++) {
        struct frame f, expected;

        ip.class = (uint8_t) class;
        ip.hops = (uint8_t)(255 - class);
        f = framed(&ip, CORE_MAC(NH_MPLS), GATEWAY_MAC(CORE0));
        expected = labelled(&ip, 16 + NH_MPLS, ip.hops, (uint8_t)(class >> 5));
        FATE(r, packet_for(&f, SUB_CPE0, NH_MPLS), "to");
        CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
        rig_clear(r);
    }
    rig_close(r);
}

/* What comes out of the core under a label: 6PE (RFC 4798), or IPv6 explicit null (RFC 3032). */
static void below_labels(void)
{
    static const struct {
        uint32_t label;
        const char *fate;
    } bottom[] = {{16, "to"},         {1048575, "to"},           {2, "to"},
                  {0, "drop not_ip"}, {1, "drop special_label"}, {3, "drop special_label"}};
    struct rig *r = rig_open(&task_mpls_pop, "", NULL);
    struct ip6 ip = packet;
    struct frame f, expected;

    for (unsigned i = 0; i < RTE_DIM(bottom); i++) {
        f = labelled(&packet, bottom[i].label, 255, 0);
        memcpy(f.b, (const uint8_t[]){2, 0, 0, 0, 0, CORE0 + 1}, 6);
        FATE(r, frame_mbuf(&f, CORE0), bottom[i].fate);
    }
    for (unsigned ttl = 2; ttl < 256; ttl++) {
        f = labelled(&packet, 2, (uint8_t)ttl, 0);
        memcpy(f.b, (const uint8_t[]){2, 0, 0, 0, 0, CORE0 + 1}, 6);
        ip.hops = (uint8_t)RTE_MIN(ttl, (unsigned)packet.hops);
        expected = framed(&ip, GATEWAY_MAC(CORE0), GATEWAY_MAC(CORE0));
        BECOMES(r, &f, CORE0, "to", &expected);
    }
    cut_everywhere(r, &f, CORE0, 14 + 4 + 40);
    rig_close(r);
    r = rig_open(&task_mpls_pop, "", NULL);
    f = framed(&packet, GATEWAY_MAC(CORE0), CORE_MAC(1));
    BECOMES(r, &f, CORE0, "to", &f);
    rig_close(r);
    r = rig_open(&task_mpls_pop, "unlabelled=drop", NULL);
    FATE(r, frame_mbuf(&f, CORE0), "drop unlabelled");
    rig_close(r);
}

static const struct test tests[] = {
    {"tags and padding off", decap},
    {"next hops, short packets", to_next_hops},
    {"hop limit", hop_limit},
    {"size", size},
    {"no route, not unicast", no_way},
    {"next hop without MAC", unknown_mac},
    {"both families in a burst", mixed_bursts},
    {"tunnels", tunnels},
    {"labels pushed", labels},
    {"labels popped", below_labels},
    {NULL, NULL},
};

const struct test_program test_program = {"ipv6_up", tests, harness_open, harness_close};
