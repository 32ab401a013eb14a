/* SPDX-License-Identifier: BSD-3-Clause */
/* gre_encap: outer IPv4 and GRE, byte by byte. */
#include "frames.h"
#include "tasks/task_types.h"

static const struct ip packet = {
    .src = 0x0a000001, .dst = 0x14000001, .tos = 0xb9, .ttl = 63, .proto = 17, .payload = 8};

static struct frame routed(const struct ip *ip, unsigned nexthop)
{
    struct frame f = {0};

    put_eth(&f, CORE_MAC(nexthop), GATEWAY_MAC(CORE0), 0x0800);
    put_ip(&f, ip);
    return f;
}

/* The tunnel of NH_GRE_MPLS with a key, or without (key 0). */
static struct frame tunnelled(const struct ip *ip, uint32_t key, uint8_t tos)
{
    struct ip outer = {.src = ADDR_CORE0,
                       .dst = 0xc0000200 + NH_GRE_MPLS,
                       .tos = tos,
                       .ttl = 64,
                       .proto = 47,
                       .fragment = 0x4000};
    struct frame f = {0};

    put_eth(&f, CORE_MAC(NH_GRE_MPLS), GATEWAY_MAC(CORE0), 0x0800);
    put_ip_header(&f, &outer, (key != 0 ? 8u : 4u) + 20u + ip->options * 4u + ip->payload);
    put16(&f, key != 0 ? 0x2000 : 0);
    put16(&f, 0x0800);
    if (key != 0)
        put32(&f, key);
    put_ip(&f, ip);
    return f;
}

static struct rte_mbuf *packet_for(const struct frame *f, uint32_t subscriber, uint16_t nexthop)
{
    struct rte_mbuf *m = frame_mbuf(f, CPE0);

    meta_set_subscriber(m, subscriber);
    meta_set_nexthop(m, nexthop);
    return m;
}

#define ENCAPSULATED(r, f, subscriber, expected)                                                   \
    do {                                                                                           \
        FATE(r, packet_for((f), (subscriber), NH_GRE_MPLS), "to");                                 \
        CU_ASSERT(mbuf_is(rig_last(r), (expected)->b, (expected)->len));                           \
        rig_clear(r);                                                                              \
    } while (0)

static void with_key(void)
{
    struct rig *r = rig_open(&task_gre_encap, "", NULL);
    struct ip ip = packet;

    for (unsigned tos = 0; tos < 256; tos++) {
        struct frame f, expected;

        ip.tos = (uint8_t)tos;
        f = routed(&ip, NH_GRE_MPLS);
        expected = tunnelled(&ip, 0x1001, (uint8_t)(tos & 0xfc)); /* DSCP, not ECN */
        ENCAPSULATED(r, &f, SUB_CPE0, &expected);
    }
    /* the paper's largest access frame, and every size below: the predecessor aborted here */
    for (ip.payload = 0; ip.payload <= 1480; ip.payload++) {
        struct frame f = routed(&ip, NH_GRE_MPLS);
        struct frame expected = tunnelled(&ip, 0x1002, (uint8_t)(ip.tos & 0xfc));

        put_pad(&f, 60, 0xee); /* what is behind the packet stays behind */
        ENCAPSULATED(r, &f, SUB_CPE1, &expected);
    }
    rig_close(r);
}

static void parameters(void)
{
    struct ip ip = packet;
    struct frame f = routed(&ip, NH_GRE_MPLS), expected;
    struct rig *r = rig_open(&task_gre_encap, "dscp=zero", NULL);

    expected = tunnelled(&ip, 0x1001, 0);
    ENCAPSULATED(r, &f, SUB_CPE0, &expected);
    rig_close(r);
    r = rig_open(&task_gre_encap, "key=false", NULL);
    for (ip.payload = 0; ip.payload < 40; ip.payload++) {
        f = routed(&ip, NH_GRE_MPLS);
        expected = tunnelled(&ip, 0, 0xb8);
        ENCAPSULATED(r, &f, SUB_NO_KEY, &expected);
    }
    rig_close(r);
    r = rig_open(&task_gre_encap, "key=false dscp=zero", NULL);
    expected = tunnelled(&ip, 0, 0);
    f = routed(&ip, NH_GRE_MPLS);
    ENCAPSULATED(r, &f, SUB_CPE0, &expected);
    rig_close(r);
}

static void refusals(void)
{
    struct rig *r = rig_open(&task_gre_encap, "", NULL);
    struct frame f = routed(&packet, NH_MPLS), expected = tunnelled(&packet, 0x1001, 0xb8);

    /* a next hop without a tunnel */
    FATE(r, packet_for(&f, SUB_NO_KEY, NH_MPLS), "to");
    CU_ASSERT(mbuf_is(rig_last(r), f.b, f.len));
    FATE(r, packet_for(&f, SUB_NO_KEY, NH_GRE_MPLS), "drop no_key");
    for (uint16_t room = 0; room <= 28; room++) {
        struct rte_mbuf *m = with_headroom(&f, CPE0, room);

        meta_set_subscriber(m, SUB_CPE0);
        meta_set_nexthop(m, NH_GRE_MPLS);
        FATE(r, m, room < 28 ? "drop no_headroom" : "to");
    }
    CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
    rig_close(r);
    r = rig_open(&task_gre_encap, "key=false", NULL);
    for (uint16_t room = 0; room <= 24; room++) {
        struct rte_mbuf *m = with_headroom(&f, CPE0, room);

        meta_set_subscriber(m, SUB_CPE0);
        meta_set_nexthop(m, NH_GRE_MPLS);
        FATE(r, m, room < 24 ? "drop no_headroom" : "to");
    }
    rig_close(r);
}

static const struct test tests[] = {
    {"with key", with_key},
    {"parameters", parameters},
    {"refusals", refusals},
    {NULL, NULL},
};

const struct test_program test_program = {"gre_encap", tests, harness_open, harness_close};
