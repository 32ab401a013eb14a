/* SPDX-License-Identifier: BSD-3-Clause */
/* gre_encap and gre_decap of tunnels whose outer header is IPv6: RFC 7676. */
#include "frames.h"
#include "tasks/task_types.h"

#define LABEL_MASK 0xfffffu
#define OURS       UINT64_C(0x20010db8fff00000) /* 2001:db8:fff0::1 */
#define FAR_END    UINT64_C(0x20010db8fff10000) /* 2001:db8:fff1::1 */

static const struct ip inner = {
    .src = 0x14000001, .dst = 0x0a000001, .tos = 0xb9, .ttl = 60, .proto = 17, .payload = 8};
static const struct ip6 outer = {
    .src = {FAR_END, 1}, .dst = {OURS, 1}, .class = 0xb8, .hops = 62, .next = 47};
static uint16_t nexthop;

static uint16_t add_tunnel(void)
{
    static const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, 6};
    struct nexthop_spec spec = {.port = CORE0,
                                .mtu = 1500,
                                .mac = mac,
                                .gateway_mac = harness_model.ports[CORE0].mac,
                                .has_gre = true,
                                .gre_source = {OURS, 1},
                                .gre_destination = {FAR_END, 1}};

    return (uint16_t)route_add_nexthop(harness_tables()->routes, &spec);
}

static int open_tables(void)
{
    int rc = harness_open();

    if (rc != 0)
        return rc;
    nexthop = add_tunnel();
    return route_add_local6(harness_tables()->routes, (struct ipv6){OURS, 1});
}

/* --- gre_encap --- */

static struct frame routed(const struct ip *ip)
{
    struct frame f = {0};

    put_eth(&f, CORE_MAC(6), GATEWAY_MAC(CORE0), 0x0800);
    put_ip(&f, ip);
    return f;
}

static struct rte_mbuf *to_tunnel(struct rte_mbuf *m, uint32_t subscriber)
{
    meta_set_subscriber(m, subscriber);
    meta_set_nexthop(m, nexthop);
    return m;
}

/* The flow label that a packet of a subscriber gets. */
static uint32_t label_of(struct rig *r, const struct frame *f)
{
    const uint8_t *out;
    uint32_t label;

    FATE(r, to_tunnel(frame_mbuf(f, CPE0), SUB_CPE0), "to");
    out = rte_pktmbuf_mtod(rig_last(r), uint8_t *);
    label = (uint32_t)out[15] << 16 | (uint32_t)out[16] << 8 | out[17];
    rig_clear(r);
    return label & LABEL_MASK;
}

/* All packets of a flow have one label, which is not 0, and flows have different ones: RFC 6438. */
static void flow_labels(void)
{
    enum { FLOWS = 64 };
    struct rig *r = rig_open(&task_gre_encap, "", NULL);
    uint32_t seen[FLOWS];
    unsigned twice = 0;

    for (unsigned i = 0; i < FLOWS; i++) {
        struct ip ip = inner;
        struct frame f;

        ip.src += i / 8;
        f = routed(&ip);
        f.b[14 + 20] = (uint8_t)(i % 8); /* of the source port */
        seen[i] = label_of(r, &f);
        CU_ASSERT_NOT_EQUAL(seen[i], 0);
        ip.payload += 100;
        ip.tos = 0;
        ip.ttl = 9;
        f = routed(&ip);
        f.b[14 + 20] = (uint8_t)(i % 8);
        CU_ASSERT_EQUAL(label_of(r, &f), seen[i]);
        for (unsigned k = 0; k < i; k++)
            twice += seen[k] == seen[i];
    }
    CU_ASSERT(twice <= 1);
    rig_close(r);
}

/* The same fragment by fragment: only the first has ports. */
static void fragments_stay_together(void)
{
    struct rig *r = rig_open(&task_gre_encap, "", NULL);
    struct ip ip = inner;
    struct frame first, second;

    ip.fragment = 0x2000;
    first = routed(&ip);
    ip.fragment = 1;
    second = routed(&ip);
    memset(second.b + 34, 0xee, 8);
    CU_ASSERT_EQUAL(label_of(r, &first), label_of(r, &second));
    rig_close(r);
}

static void headroom(const char *params, uint16_t need)
{
    struct rig *r = rig_open(&task_gre_encap, params, NULL);
    struct frame f = routed(&inner);

    for (uint16_t room = 0; room <= need; room++)
        FATE(r, to_tunnel(with_headroom(&f, CPE0, room), SUB_CPE0),
             room < need ? "drop no_headroom" : "to");
    CU_ASSERT_EQUAL(rig_last(r)->data_off, 0);
    CU_ASSERT_EQUAL(rig_last(r)->data_len, f.len + need);
    rig_close(r);
}

static void rooms(void)
{
    struct rig *r = rig_open(&task_gre_encap, "", NULL);
    struct frame f = routed(&inner);

    headroom("", 48);
    headroom("key=false", 44);
    FATE(r, to_tunnel(frame_mbuf(&f, CPE0), SUB_NO_KEY), "drop no_key");
    rig_close(r);
}

/* --- gre_decap --- */

static struct frame tunnelled(const struct ip6 *out, uint32_t key, const struct ip *in)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x86dd);
    put_ip6_header(&f, out, 8u + 20 + in->payload);
    put32(&f, 0x20000800);
    put32(&f, key);
    put_ip(&f, in);
    return f;
}

static void comes_out(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct ip in = inner;

    for (in.payload = 0; in.payload <= 1424; in.payload += 8) {
        struct frame f = tunnelled(&outer, 0x1001, &in), expected = {0};

        put_eth(&expected, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
        put_ip(&expected, &in);
        BECOMES(r, &f, CORE0, "to", &expected);
        CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
        rig_clear(r);
    }
    rig_close(r);
}

/* As next hops with tunnels come and go. */
static void far_ends(void)
{
    static const uint8_t mac[6] = {2, 0xc0, 0, 0, 0, 7};
    struct route_table *t = harness_tables()->routes;
    struct nexthop_spec spec = {.port = CORE1,
                                .mtu = 1500,
                                .mac = mac,
                                .gateway_mac = harness_model.ports[CORE1].mac,
                                .has_gre = true,
                                .gre_source = {OURS, 1},
                                .gre_destination = {FAR_END, 2}};
    struct rig *r = rig_open(&task_gre_decap, "", "to punt:4");
    struct ip6 out = outer;
    struct frame f;
    int id;

    out.src[1] = 2;
    f = tunnelled(&out, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_far_end");
    id = route_add_nexthop(t, &spec);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    route_release_nexthop(t, (uint32_t)id);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_far_end");
    /* without any tunnel of IPv6, too */
    f = tunnelled(&outer, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    route_release_nexthop(t, nexthop);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_far_end");
    spec.gre_destination.lower = 1;
    nexthop = (uint16_t)route_add_nexthop(t, &spec);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    rig_close(r);
}

/* What is in no tunnel counts as with IPv4, whoever may send tunnels and whether there is one. */
static void strays(void)
{
    static const char *const params[] = {"", "far_ends=any"};
    struct ip6 other = outer, ping = outer;

    other.dst[1] = 9;
    other.next = 17;
    ping.next = 58;
    for (unsigned i = 0; i < 2 * RTE_DIM(params); i++) {
        struct rig *r = rig_open(&task_gre_decap, params[i / 2], "to punt:4");
        struct frame stray = tunnelled(&other, 0x1001, &inner), bad = stray, cut = stray,
                     ours = tunnelled(&ping, 0x1001, &inner);

        if (i % 2 != 0)
            route_release_nexthop(harness_tables()->routes, nexthop);
        bad.b[14] = 0x50;
        cut.len--;
        FATE(r, frame_mbuf(&stray, CORE0), "drop not_for_us");
        FATE(r, frame_mbuf(&bad, CORE0), "drop bad_ipv6");
        FATE(r, frame_mbuf(&cut, CORE0), "drop bad_length");
        FATE(r, frame_mbuf(&ours, CORE0), "punt/2");
        rig_close(r);
        if (i % 2 != 0)
            nexthop = add_tunnel();
    }
}

static void cut_and_noise(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", "to punt:4");
    struct frame f = tunnelled(&outer, 0x1001, &inner);

    cut_everywhere(r, &f, CORE0, f.len);
    throw_noise(r, &f, CORE0, 20000);
    f.b[20] = 60; /* destination options, which lead anywhere */
    cut_everywhere(r, &f, CORE0, f.len);
    throw_noise(r, &f, CORE0, 20000);
    rig_close(r);
}

static const struct test tests[] = {
    {"flow labels", flow_labels},
    {"flow labels of fragments", fragments_stay_together},
    {"headroom", rooms},
    {"out of the tunnel", comes_out},
    {"the tunnel's far end", far_ends},
    {"in no tunnel", strays},
    {"cut at every byte, and noise", cut_and_noise},
    {NULL, NULL},
};

const struct test_program test_program = {"gre6", tests, open_tables, harness_close};
