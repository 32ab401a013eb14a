/* SPDX-License-Identifier: BSD-3-Clause */
/* mpls_push: one label stack entry. The predecessor sent label 0x112 as 0x12010 with TTL 0. */
#include "frames.h"
#include "tasks/task_types.h"

static struct frame routed(const struct ip *ip)
{
    struct frame f = {0};

    put_eth(&f, CORE_MAC(NH_MPLS), GATEWAY_MAC(CORE0), 0x0800);
    put_ip(&f, ip);
    return f;
}

static struct frame labelled(const struct ip *ip, uint32_t label, unsigned tc)
{
    struct frame f = {0};

    put_eth(&f, CORE_MAC(NH_MPLS), GATEWAY_MAC(CORE0), 0x8847);
    put32(&f, label << 12 | tc << 9 | 0x100 | ip->ttl);
    put_ip(&f, ip);
    return f;
}

static struct rte_mbuf *packet_for(const struct frame *f, uint16_t nexthop)
{
    struct rte_mbuf *m = frame_mbuf(f, CPE0);

    meta_set_nexthop(m, nexthop);
    return m;
}

static void labels(void)
{
    static const uint32_t values[] = {16, 0x112, 0x12010, 0xfffff, 0};
    struct ip ip = {.src = 1, .dst = 0x16000001, .tos = 0xb8, .ttl = 63, .proto = 17, .payload = 8};
    struct rig *r = rig_open(&task_mpls_push, "", NULL);
    struct nexthop *nh = &harness_tables()->routes->nexthop[NH_MPLS];
    rte_be32_t before = nh->mpls;

    for (unsigned i = 0; i < RTE_DIM(values); i++) {
        struct frame f = routed(&ip), expected = labelled(&ip, values[i], 5);

        nh->mpls = rte_cpu_to_be_32(values[i] << 12 | 0x100);
        FATE(r, packet_for(&f, NH_MPLS), "to");
        CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
    }
    nh->mpls = before;
    rig_close(r);
}

static void ttl_and_class(void)
{
    struct ip ip = {.src = 1, .dst = 0x16000001, .proto = 17, .payload = 8};
    struct rig *r = rig_open(&task_mpls_push, "", NULL);
    struct rig *zero = rig_open(&task_mpls_push, "exp=zero", NULL);

    for (unsigned n = 0; n < 256; n++) {
        struct frame f, expected;

        ip.ttl = (uint8_t)(255 - n);
        ip.tos = (uint8_t)n;
        f = routed(&ip);
        expected = labelled(&ip, 16 + NH_MPLS, n >> 5);
        FATE(r, packet_for(&f, NH_MPLS), "to");
        CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
        expected = labelled(&ip, 16 + NH_MPLS, 0);
        FATE(zero, packet_for(&f, NH_MPLS), "to");
        CU_ASSERT(mbuf_is(rig_last(zero), expected.b, expected.len));
        rig_clear(r);
        rig_clear(zero);
    }
    rig_close(zero);
    rig_close(r);
}

static void no_label_no_room(void)
{
    struct ip ip = {.src = 1, .dst = 0x16000001, .ttl = 9, .proto = 17, .payload = 1472};
    struct rig *r = rig_open(&task_mpls_push, "", NULL);
    struct frame f = routed(&ip), expected = labelled(&ip, 16 + NH_MPLS, 0);

    FATE(r, packet_for(&f, NH_PLAIN), "to");
    CU_ASSERT(mbuf_is(rig_last(r), f.b, f.len));
    for (uint16_t room = 0; room <= 4; room++) {
        struct rte_mbuf *m = with_headroom(&f, CPE0, room);

        meta_set_nexthop(m, NH_MPLS);
        FATE(r, m, room < 4 ? "drop no_headroom" : "to");
    }
    CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
    rig_close(r);
}

static const struct test tests[] = {
    {"labels", labels},
    {"TTL and traffic class", ttl_and_class},
    {"no label, no room", no_label_no_room},
    {NULL, NULL},
};

const struct test_program test_program = {"mpls_push", tests, harness_open, harness_close};
