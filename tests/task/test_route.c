/* SPDX-License-Identifier: BSD-3-Clause */
/* route: next hop, TTL, size, Ethernet header. */
#include "frames.h"
#include "tasks/task_types.h"

static const struct ip packet = {
    .src = 0x0a000001, .dst = 0x14000001, .ttl = 64, .proto = 17, .payload = 8, .id = 0x1234};

static struct frame frame_with(const struct ip *ip, uint64_t dst, uint64_t src)
{
    struct frame f = {0};

    put_eth(&f, dst, src, 0x0800);
    put_ip(&f, ip);
    return f;
}

static struct frame incoming(const struct ip *ip)
{
    return frame_with(ip, GATEWAY_MAC(CPE0), CPE_MAC(1));
}

/* As it leaves by a next hop. */
static struct frame outgoing(const struct ip *ip, unsigned nexthop, unsigned port)
{
    struct ip less = *ip;

    less.ttl--;
    return frame_with(&less, CORE_MAC(nexthop), GATEWAY_MAC(port));
}

static void to_next_hops(void)
{
    static const uint8_t ports[] = {0, CORE0, CORE1, CORE0, CORE1};
    /* the label makes 60 of 56 */
    static const uint16_t shortest[] = {[NH_MPLS] = 56, [NH_PLAIN] = 60};
    struct rig *r = rig_open(&task_route, "", "to:4");
    struct ip ip = packet;
    static const char *const ways[] = {"to/0", "to/1", "to/2", "to/3"};

    for (unsigned nh = NH_GRE_MPLS; nh <= NH_PLAIN; nh++) {
        struct frame f, expected;

        ip.dst = (19 + nh) << 24 | 0xabcdef;
        f = incoming(&ip);
        expected = outgoing(&ip, nh, ports[nh]);
        expected.len = RTE_MAX(expected.len, shortest[nh]);
        BECOMES(r, &f, CPE0, ways[ports[nh]], &expected);
        CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), nh);
        CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), ports[nh]);
    }
    rig_close(r);
}

/* A short packet that leaves without a tunnel is padded with zeros, if its buffer has room. */
static void pads(void)
{
    struct rig *r = rig_open(&task_route, "", NULL);
    struct ip ip = packet;
    struct frame f, expected;

    ip.dst = 0x17000001; /* NH_PLAIN */
    for (uint16_t payload = 8; payload <= 40; payload++) {
        ip.payload = payload;
        f = incoming(&ip);
        expected = outgoing(&ip, NH_PLAIN, CORE1);
        expected.len = RTE_MAX(expected.len, (uint16_t)60);
        BECOMES(r, &f, CPE0, "to", &expected);
    }
    ip.payload = 8;
    f = incoming(&ip);
    FATE(r, with_headroom(&f, CPE0, (uint16_t)(RTE_MBUF_DEFAULT_BUF_SIZE - 60)), "to");
    FATE(r, with_headroom(&f, CPE0, (uint16_t)(RTE_MBUF_DEFAULT_BUF_SIZE - 59)),
         "drop no_tailroom");
    ip.dst = 0x14000001; /* NH_GRE_MPLS: its headers make it long enough */
    f = incoming(&ip);
    FATE(r, with_headroom(&f, CPE0, (uint16_t)(RTE_MBUF_DEFAULT_BUF_SIZE - f.len)), "to");
    CU_ASSERT_EQUAL(rig_last(r)->data_len, f.len);
    rig_close(r);
}

static void longest_prefix(void)
{
    struct rig *r = rig_open(&task_route, "", NULL);
    struct route_table *t = harness_tables()->routes;
    struct ip ip = packet;
    struct frame f;

    CU_ASSERT_EQUAL(route_add(t, 0x14010200, 24, NH_GRE), 0);
    CU_ASSERT_EQUAL(route_add(t, 0x14010280, 32, NH_PLAIN), 0);
    ip.dst = 0x14010280;
    f = incoming(&ip);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), NH_PLAIN);
    ip.dst = 0x14010281;
    f = incoming(&ip);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), NH_GRE);
    ip.dst = 0x14010300;
    f = incoming(&ip);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), NH_GRE_MPLS);
    CU_ASSERT_EQUAL(route_remove(t, 0x14010200, 24), 0);
    CU_ASSERT_EQUAL(route_remove(t, 0x14010280, 32), 0);
    rig_close(r);
}

static void no_way(void)
{
    static const uint32_t bad[] = {0x00000001, 0x7f000001, 0xe0000001,
                                   0xefffffff, 0xf0000001, 0xffffffff};
    struct rig *r = rig_open(&task_route, "", NULL);
    struct ip ip = packet;
    struct frame f;

    ip.dst = 0x63000001;
    f = incoming(&ip);
    FATE(r, frame_mbuf(&f, CPE0), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_NO_ROUTE);
    /* even with a default route, these are not forwarded */
    CU_ASSERT_EQUAL(route_add(harness_tables()->routes, 0, 0, NH_PLAIN), 0);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    for (unsigned i = 0; i < RTE_DIM(bad); i++) {
        ip.dst = bad[i];
        f = incoming(&ip);
        FATE(r, frame_mbuf(&f, CPE0), "drop not_unicast");
    }
    ip.dst = 0xa9fea9fe;
    f = incoming(&ip);
    FATE(r, frame_mbuf(&f, CPE0), "drop link_local");
    CU_ASSERT_EQUAL(route_remove(harness_tables()->routes, 0, 0), 0);
    rig_close(r);
}

/* Upstream packets lose one of their TTL, at every value, with the checksum of a new header. */
static void ttl(void)
{
    struct rig *r = rig_open(&task_route, "", "to punt:4");
    struct ip ip = packet;

    for (unsigned n = 0; n < 256; n++) {
        struct frame f, expected;

        ip.ttl = (uint8_t)n;
        f = incoming(&ip);
        if (n >= 2) {
            expected = outgoing(&ip, NH_GRE_MPLS, CORE0);
            BECOMES(r, &f, CPE0, "to", &expected);
        } else {
            BECOMES(r, &f, CPE1, "punt/1", &f); /* as it came, to be quoted; back where it came */
            CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TTL_EXPIRED);
            CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CPE1);
        }
        rig_clear(r);
    }
    rig_close(r);
    r = rig_open(&task_route, "", "to");
    ip.ttl = 1;
    {
        struct frame f = incoming(&ip);

        FATE(r, frame_mbuf(&f, CPE0), "drop ttl_expired");
    }
    rig_close(r);
}

/* Every value that an incremental checksum can go wrong at. */
static void ttl_checksums(void)
{
    struct rig *r = rig_open(&task_route, "", NULL);
    struct ip ip = packet;

    for (unsigned id = 0; id < 65536; id++) {
        struct frame f, expected;

        ip.id = (uint16_t)id;
        f = incoming(&ip);
        expected = outgoing(&ip, NH_GRE_MPLS, CORE0);
        rig_fate(r, frame_mbuf(&f, CPE0));
        if (!mbuf_is(rig_last(r), expected.b, expected.len))
            CU_FAIL("checksum");
        rig_clear(r);
    }
    rig_close(r);
}

static void for_us(void)
{
    static const uint32_t ours[] = {ADDR_CPE0, ADDR_CPE1, ADDR_CORE0, ADDR_CORE1};
    struct rig *r = rig_open(&task_route, "", "to punt:4");
    struct ip ip = packet;
    struct frame f;

    for (unsigned i = 0; i < RTE_DIM(ours); i++) {
        ip.dst = ours[i];
        ip.ttl = (uint8_t)(i % 2); /* TTL 0 or 1 is enough for those that end here */
        f = incoming(&ip);
        BECOMES(r, &f, CPE0, "punt/0", &f);
        CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_FOR_US);
    }
    rig_close(r);
    r = rig_open(&task_route, "", "to");
    FATE(r, frame_mbuf(&f, CPE0), "drop for_us");
    rig_close(r);
}

static void unknown_mac(void)
{
    struct rig *r = rig_open(&task_route, "", "to punt:4");
    struct nexthop *nh = &harness_tables()->routes->nexthop[NH_NO_MAC];
    const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, NH_NO_MAC};
    struct ip ip = packet;
    struct frame f, expected;

    ip.dst = 0x18000001;
    f = incoming(&ip);
    BECOMES(r, &f, CPE0, "punt/2", &f); /* to where the neighbour is */
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_NO_MAC);
    CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), NH_NO_MAC);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CPE0);
    nexthop_set_mac(nh, mac);
    expected = outgoing(&ip, NH_NO_MAC, CORE0);
    BECOMES(r, &f, CPE0, "to", &expected);
    nexthop_set_mac(nh, NULL);
    rig_close(r);
    r = rig_open(&task_route, "", "to");
    FATE(r, frame_mbuf(&f, CPE0), "drop no_nexthop_mac");
    rig_close(r);
}

/* The limit is the port's 1500 less what will be put before the packet. */
static void size(void)
{
    static const uint16_t limit[] = {0, 1468, 1472, 1496, 1500};
    struct ip ip = packet;

    for (unsigned nh = NH_GRE_MPLS; nh <= NH_PLAIN; nh++) {
        struct rig *r = rig_open(&task_route, "", NULL);
        struct frame f, expected;

        ip.dst = (19 + nh) << 24 | 1;
        ip.payload = limit[nh] - 20;
        ip.fragment = 0x4000;
        f = incoming(&ip);
        FATE(r, frame_mbuf(&f, CPE0), "to");
        ip.payload++;
        f = incoming(&ip);
        BECOMES(r, &f, CPE0, "punt", &f); /* DF */
        CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TOO_BIG);
        CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), nh);
        ip.fragment = 0;
        f = incoming(&ip);
        expected = outgoing(&ip, nh, nh % 2 == 1 ? CORE0 : CORE1);
        BECOMES(r, &f, CPE0, "fragment", &expected); /* complete, to be cut */
        CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), nh);
        rig_close(r);
        r = rig_open(&task_route, "", "to");
        FATE(r, frame_mbuf(&f, CPE0), "drop too_big");
        ip.fragment = 0x4000;
        f = incoming(&ip);
        FATE(r, frame_mbuf(&f, CPE0), "drop too_big");
        rig_close(r);
    }
}

/* The next hop that a packet of the rig's set got, and whether it left by that one's port. */
static unsigned way_of(struct rig *r, const struct ip *ip)
{
    static const uint8_t ports[] = {[NH_GRE_MPLS] = CORE0, [NH_GRE] = CORE1, [NH_PLAIN] = CORE1};
    struct frame f = incoming(ip), expected;
    unsigned id;

    FATE(r, frame_mbuf(&f, CPE0), "to");
    id = meta_nexthop(rig_last(r));
    CU_ASSERT_FATAL(id == NH_GRE_MPLS || id == NH_GRE || id == NH_PLAIN || id == NH_NO_MAC);
    if (id != NH_NO_MAC) {
        expected = outgoing(ip, id, ports[id]);
        CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
        CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), ports[id]);
    }
    return id;
}

/* A route with several next hops: each flow has one, and all are used. One whose MAC is not known
 * leaves its flows to the others, which keep theirs. */
static void several(void)
{
    static const uint32_t ids[] = {NH_GRE_MPLS, NH_GRE, NH_PLAIN, NH_NO_MAC};
    static const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, NH_NO_MAC};
    enum { FLOWS = 200 };
    struct route_table *t = harness_tables()->routes;
    struct rig *r = rig_open(&task_route, "", NULL);
    unsigned without[FLOWS], used[NH_NO_MAC + 1] = {0}, all[NH_NO_MAC + 1] = {0};
    int set = route_add_set(t, ids, RTE_DIM(ids));
    struct ip ip = packet;

    CU_ASSERT_EQUAL(route_add(t, 0x1a000000, 8, (uint32_t)set), 0);
    ip.payload = 40;
    for (unsigned i = 0; i < FLOWS; i++) {
        ip.dst = 0x1a000000 + i;
        ip.ttl = 64;
        used[without[i] = way_of(r, &ip)]++;
        ip.id++;
        ip.ttl = 2;
        CU_ASSERT_EQUAL(way_of(r, &ip), without[i]);
        rig_clear(r);
    }
    CU_ASSERT(used[NH_GRE_MPLS] > 30 && used[NH_GRE] > 30 && used[NH_PLAIN] > 30);
    CU_ASSERT_EQUAL(used[NH_NO_MAC], 0);
    nexthop_set_mac(&t->nexthop[NH_NO_MAC], mac);
    for (unsigned i = 0; i < FLOWS; i++) {
        unsigned id;

        ip.dst = 0x1a000000 + i;
        id = way_of(r, &ip);
        all[id]++;
        CU_ASSERT(id == NH_NO_MAC || id == without[i]);
        rig_clear(r);
    }
    CU_ASSERT(all[NH_NO_MAC] > 20 && all[NH_NO_MAC] < 90);
    nexthop_set_mac(&t->nexthop[NH_NO_MAC], NULL);
    CU_ASSERT_EQUAL(route_remove(t, 0x1a000000, 8), 0);
    route_release_set(t, (uint32_t)set);
    rig_close(r);
}

/* Nobody's MAC is known: the packet asks for that of its own next hop. TTL and size count as ever.
 */
static void several_unknown(void)
{
    struct route_table *t = harness_tables()->routes;
    struct nexthop_spec spec = {.port = CORE1,
                                .mtu = 1500,
                                .gateway_mac = harness_model.ports[CORE1].mac,
                                .via = mapped6(0xc6336509)};
    uint32_t ids[2] = {NH_NO_MAC, (uint32_t)route_add_nexthop(t, &spec)};
    static const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, 7};
    int set = route_add_set(t, ids, 2);
    struct rig *r = rig_open(&task_route, "", "to punt:4");
    unsigned asked[2] = {0};
    struct ip ip = packet;
    struct frame f;

    CU_ASSERT_EQUAL(route_add(t, 0x1a000000, 8, (uint32_t)set), 0);
    for (unsigned i = 0; i < 100; i++) {
        ip.dst = 0x1a000000 + i;
        f = incoming(&ip);
        rig_fate(r, frame_mbuf(&f, CPE0));
        CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_NO_MAC);
        CU_ASSERT_EQUAL(meta_out_port(rig_last(r)),
                        meta_nexthop(rig_last(r)) == NH_NO_MAC ? CORE0 : CORE1);
        asked[meta_nexthop(rig_last(r)) == ids[1]]++;
        rig_clear(r);
    }
    CU_ASSERT(asked[0] > 20 && asked[1] > 20);
    nexthop_set_mac(&t->nexthop[ids[1]], mac);
    for (unsigned i = 0; i < 100; i++) {
        ip.dst = 0x1a000000 + i;
        ip.ttl = i < 50 ? 64 : 1;
        f = incoming(&ip);
        FATE(r, frame_mbuf(&f, CPE0), i < 50 ? "to" : "punt/0");
        CU_ASSERT_EQUAL(meta_nexthop(rig_last(r)), ids[1]);
        rig_clear(r);
    }
    CU_ASSERT_EQUAL(route_remove(t, 0x1a000000, 8), 0);
    route_release_set(t, (uint32_t)set);
    route_release_nexthop(t, ids[1]);
    rig_close(r);
}

static const struct test tests[] = {
    {"next hops", to_next_hops},
    {"short frames", pads},
    {"longest prefix", longest_prefix},
    {"no route, not unicast", no_way},
    {"TTL", ttl},
    {"checksums after TTL", ttl_checksums},
    {"for the gateway", for_us},
    {"next hop without MAC", unknown_mac},
    {"size", size},
    {"several next hops", several},
    {"several next hops without MAC", several_unknown},
    {NULL, NULL},
};

const struct test_program test_program = {"route", tests, harness_open, harness_close};
