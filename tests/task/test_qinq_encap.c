/* SPDX-License-Identifier: BSD-3-Clause */
/* qinq_encap: the subscriber's header, TTL, size, padding. */
#include "frames.h"
#include "tasks/task_types.h"

static const struct ip packet = {
    .src = 0x14000001, .dst = 0x0a000001, .tos = 0xb8, .ttl = 60, .proto = 17, .payload = 8};

static struct frame untagged(const struct ip *ip)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip(&f, ip);
    return f;
}

/* As SUB_CPE0 gets it. */
static struct frame tagged(const struct ip *ip, unsigned pcp)
{
    struct ip less = *ip;
    struct frame f = {0};

    less.ttl--;
    put_qinq(&f, CPE_MAC(SUB_CPE0), GATEWAY_MAC(CPE0), 0x88a8, (uint16_t)(pcp << 13 | 128),
             (uint16_t)(pcp << 13 | 256), 0x0800);
    put_ip(&f, &less);
    put_pad(&f, 60, 0);
    return f;
}

static struct rte_mbuf *packet_for(const struct frame *f, uint32_t subscriber)
{
    struct rte_mbuf *m = frame_mbuf(f, CORE0);

    meta_set_subscriber(m, subscriber);
    return m;
}

#define SENT_AS(r, f, subscriber, output, expected)                                                \
    do {                                                                                           \
        FATE(r, packet_for((f), (subscriber)), (output));                                          \
        CU_ASSERT(mbuf_is(rig_last(r), (expected)->b, (expected)->len));                           \
        rig_clear(r);                                                                              \
    } while (0)

/* Short frames are padded with zeros: the mbuf held 0xa5 before, and none of it may leave. */
static void sizes_and_padding(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);
    struct ip ip = packet;

    for (ip.payload = 0; ip.payload <= 1480; ip.payload++) {
        struct frame f = untagged(&ip), expected = tagged(&ip, 5);

        mbuf_guard(f.len + 18u);
        SENT_AS(r, &f, SUB_CPE0, "to", &expected);
        put_pad(&f, 60, 0xee); /* of the core side's frame */
        SENT_AS(r, &f, SUB_CPE0, "to", &expected);
    }
    rig_close(r);
}

static void priorities(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);
    struct rig *zero = rig_open(&task_qinq_encap, "pcp=zero", NULL);
    struct ip ip = packet;

    for (unsigned tos = 0; tos < 256; tos++) {
        struct frame f, expected;

        ip.tos = (uint8_t)tos;
        f = untagged(&ip);
        expected = tagged(&ip, tos >> 5);
        SENT_AS(r, &f, SUB_CPE0, "to", &expected);
        expected = tagged(&ip, 0);
        SENT_AS(zero, &f, SUB_CPE0, "to", &expected);
    }
    rig_close(zero);
    rig_close(r);
}

static void to_the_port(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "pcp=zero", "to:4");
    struct ip ip = packet;
    struct frame f, expected = {0};

    ip.dst = 0x0a000163;
    f = untagged(&ip);
    put_qinq(&expected, CPE_MAC(SUB_CPE1), GATEWAY_MAC(CPE1), 0x8100, 129, 257, 0x0800);
    ip.ttl--;
    put_ip(&expected, &ip);
    put_pad(&expected, 60, 0);
    FATE(r, packet_for(&f, SUB_CPE1), "to/1");
    CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE1);
    FATE(r, packet_for(&f, SUB_CPE0), "to/0");
    rig_lose_path(r, "to", CPE1);
    FATE(r, packet_for(&f, SUB_CPE1), "drop no_path");
    rig_close(r);
}

static void ttl(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", "to punt:4");
    struct ip ip = packet;
    struct frame f, expected;

    for (unsigned n = 0; n < 256; n++) {
        ip.ttl = (uint8_t)n;
        f = untagged(&ip);
        expected = tagged(&ip, 5);
        if (n >= 2) {
            SENT_AS(r, &f, SUB_CPE0, "to", &expected);
            continue;
        }
        FATE(r, packet_for(&f, SUB_CPE0), "punt/2");
        CU_ASSERT(mbuf_is(rig_last(r), f.b, f.len));
        CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TTL_EXPIRED);
    }
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", "to");
    ip.ttl = 1;
    f = untagged(&ip);
    FATE(r, packet_for(&f, SUB_CPE0), "drop ttl_expired");
    rig_close(r);
}

static void size(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);
    struct ip ip = packet;
    struct frame f, expected;

    ip.payload = 1481;
    f = untagged(&ip);
    expected = tagged(&ip, 5);
    SENT_AS(r, &f, SUB_CPE0, "fragment", &expected);
    ip.fragment = 0x4000;
    f = untagged(&ip);
    FATE(r, packet_for(&f, SUB_CPE0), "punt");
    CU_ASSERT(mbuf_is(rig_last(r), f.b, f.len));
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TOO_BIG);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CORE0);
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", "to");
    FATE(r, packet_for(&f, SUB_CPE0), "drop too_big");
    ip.fragment = 0;
    f = untagged(&ip);
    FATE(r, packet_for(&f, SUB_CPE0), "drop too_big");
    rig_close(r);
    harness_set_mtu(CPE0, 9000); /* the other port's is still 1500 */
    r = rig_open(&task_qinq_encap, "", "to");
    expected = tagged(&ip, 5);
    SENT_AS(r, &f, SUB_CPE0, "to", &expected);
    FATE(r, packet_for(&f, SUB_CPE1), "drop too_big");
    rig_close(r);
    harness_set_mtu(CPE0, 1500);
}

static void unknown_mac(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", "to punt:4");
    struct ip ip = packet;
    struct frame f;

    ip.dst = 0x0a000004;
    f = untagged(&ip);
    FATE(r, packet_for(&f, SUB_NO_MAC), "punt/0"); /* to where the CPE is */
    CU_ASSERT(mbuf_is(rig_last(r), f.b, f.len));
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_NO_MAC);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_NO_MAC);
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", "to");
    FATE(r, packet_for(&f, SUB_NO_MAC), "drop no_cpe_mac");
    rig_close(r);
}

/* Each host of a prefix has its MAC; so has the CPE of all of them, where it is static. */
static void hosts(void)
{
    struct subscriber *s = &harness_tables()->subscribers->record[SUB_CPE1];
    static const uint8_t cpe[6] = {2, 0xce, 0, 0, 0, SUB_CPE1};
    struct ip ip = packet;

    for (unsigned is_static = 0; is_static <= 1; is_static++) {
        struct rig *r = rig_open(&task_qinq_encap, "", "to punt:4");

        subscriber_set_static_mac(s, is_static ? cpe : NULL);
        for (unsigned place = 0; place < HOSTS_MAX; place++) {
            const uint8_t mac[6] = {2, 0xaa, 0, 0, 0, (uint8_t)place};
            struct frame f;

            s->hosts->entry[place].addr = 0x0a000110 + place * 3;
            hosts_set(s->hosts, place, mac);
            for (ip.dst = 0x0a000110; ip.dst < 0x0a000110 + 3 * HOSTS_MAX; ip.dst++) {
                unsigned of = (ip.dst - 0x0a000110) / 3;
                bool known = ip.dst % 3 == 0x0a000110 % 3 && of <= place;
                const uint8_t want[6] = {2, 0xaa, 0, 0, 0, (uint8_t)of};

                f = untagged(&ip);
                FATE(r, packet_for(&f, SUB_CPE1), is_static || known ? "to" : "punt/1");
                if (is_static || known)
                    CU_ASSERT_EQUAL(
                        memcmp(rte_pktmbuf_mtod(rig_last(r), void *), is_static ? cpe : want, 6),
                        0);
                rig_clear(r);
            }
        }
        for (unsigned place = 0; place < HOSTS_MAX; place++)
            hosts_set(s->hosts, place, NULL);
        rig_close(r);
    }
}

static void room(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);
    struct frame f = untagged(&packet), expected = tagged(&packet, 5);
    struct rte_mbuf *m;

    for (uint16_t head = 0; head <= 8; head++) {
        m = with_headroom(&f, CORE0, head);
        meta_set_subscriber(m, SUB_CPE0);
        FATE(r, m, head < 8 ? "drop no_headroom" : "to");
    }
    CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
    /* the frame at the very end of its buffer leaves no room for padding */
    m = with_headroom(&f, CORE0, (uint16_t)(RTE_MBUF_DEFAULT_BUF_SIZE - f.len));
    meta_set_subscriber(m, SUB_CPE0);
    FATE(r, m, "drop no_tailroom");
    m = with_headroom(&f, CORE0, (uint16_t)(RTE_MBUF_DEFAULT_BUF_SIZE - f.len - 18));
    meta_set_subscriber(m, SUB_CPE0);
    FATE(r, m, "to");
    CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
    rig_close(r);
}

static const struct test tests[] = {
    {"sizes and padding", sizes_and_padding},
    {"priorities", priorities},
    {"egress port", to_the_port},
    {"TTL", ttl},
    {"size", size},
    {"CPE without MAC", unknown_mac},
    {"hosts of a prefix", hosts},
    {"room in the mbuf", room},
    {NULL, NULL},
};

const struct test_program test_program = {"qinq_encap", tests, harness_open, harness_close};
