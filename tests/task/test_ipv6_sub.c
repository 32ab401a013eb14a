/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 of subscribers: classify on both sides, and the way to the access port, byte by byte. */
#include "engine/meta.h"
#include "frames.h"
#include "tasks/task_types.h"

#define NET UINT64_C(0x20010db800000000)

/* SUB_CPE0: 2001:db8:1::/64, 2001:db8:2:100::/56 and 2001:db8:3::/48; SUB_CPE1: the address
 * 2001:db8:4::9; SUB_NO_MAC: 2001:db8:5::/64; SUB_NO_KEY: none. */
static const struct cpe_prefixes prefixes[N_TEST_SUBSCRIBERS + 1] = {
    [SUB_CPE0] = {.wan = {NET | 0x10000, 0},
                  .wan_len = 64,
                  .delegated = {NET | 0x20100, NET | 0x30000},
                  .delegated_len = {56, 48},
                  .n_delegated = 2},
    [SUB_CPE1] = {.wan = {NET | 0x40000, 9}, .wan_len = 128},
    [SUB_NO_MAC] = {.wan = {NET | 0x50000, 0}, .wan_len = 64},
};

static const struct ip6 packet = {.src = {NET | 0x201ff, 77},
                                  .dst = {0x2400000000000000, 2},
                                  .class = 0xb9,
                                  .hops = 64,
                                  .next = 17,
                                  .label = 0xabcde,
                                  .payload = 20};

static int open_with_ipv6(void)
{
    struct subscriber_table *t;

    if (harness_open() != 0)
        return -1;
    t = harness_tables()->subscribers;
    t->v6 = subscriber6_table_create(N_TEST_SUBSCRIBERS, 16, SOCKET_ID_ANY);
    if (t->v6 == NULL)
        return -1;
    for (uint32_t id = 1; id <= N_TEST_SUBSCRIBERS; id++) {
        if (subscriber6_entries(&prefixes[id]) == 0)
            continue;
        subscriber6_fill(t->v6, id, &prefixes[id]);
        subscriber6_publish(t->v6, id);
        subscriber_write_first_line(t, id);
    }
    return 0;
}

static struct frame up(const struct ip6 *ip, uint64_t dst, uint16_t cvlan)
{
    struct frame f = {0};

    put_qinq(&f, dst, CPE_MAC(1), 0x88a8, 128, cvlan, 0x86dd);
    put_ip6(&f, ip);
    return f;
}

static struct frame down(const struct ip6 *ip, uint64_t dst)
{
    struct frame f = {0};

    put_eth(&f, dst, CORE_MAC(1), 0x86dd);
    put_ip6(&f, ip);
    return f;
}

/* A source, and what becomes of it from SUB_CPE0 with and without anti-spoofing. */
static const struct {
    uint64_t src[2];
    const char *fate, *unchecked;
} sources[] = {
    {{NET | 0x10000, 0}, "to", "to"},
    {{NET | 0x10000, UINT64_MAX}, "to", "to"},
    {{NET | 0x10001, 0}, "drop spoofed", "to"},
    {{NET | 0x0ffff, UINT64_MAX}, "drop spoofed", "to"},
    {{NET | 0x200ff, UINT64_MAX}, "drop spoofed", "to"},
    {{NET | 0x20100, 1}, "to", "to"},
    {{NET | 0x201ff, UINT64_MAX}, "to", "to"},
    {{NET | 0x20200, 0}, "drop spoofed", "to"},
    {{NET | 0x30000, 0}, "to", "to"},
    {{NET | 0x3ffff, 5}, "to", "to"},
    {{NET | 0x40000, 9}, "drop spoofed", "to"}, /* another's */
    {{0, 0}, "drop ipv6_link_local", "drop ipv6_link_local"},
    {{0, 1}, "drop martian_source", "drop martian_source"},
    {{0, 0x0000ffff0a000001}, "drop martian_source", "drop martian_source"},
    {{0xfe80000000000000, 1}, "drop ipv6_link_local", "drop ipv6_link_local"},
    {{0xfebfffffffffffff, 1}, "drop ipv6_link_local", "drop ipv6_link_local"},
    {{0xfec0000000000000, 1}, "drop spoofed", "to"}, /* site-local is global: RFC 3879 */
    {{0xfd00000000000000, 1}, "drop spoofed", "to"},
    {{0xff02000000000000, 1}, "drop martian_source", "drop martian_source"},
    {{UINT64_MAX, UINT64_MAX}, "drop martian_source", "drop martian_source"},
};

static void anti_spoofing(void)
{
    for (unsigned on = 0; on < 2; on++) {
        struct rig *r = rig_open(&task_classify, on ? "" : "anti_spoof=false", NULL);

        for (unsigned i = 0; i < RTE_DIM(sources); i++) {
            struct ip6 ip = packet;
            struct frame f;

            memcpy(ip.src, sources[i].src, sizeof(ip.src));
            f = up(&ip, GATEWAY_MAC(CPE0), 256);
            FATE(r, frame_mbuf(&f, CPE0), on ? sources[i].fate : sources[i].unchecked);
            if (strcmp(on ? sources[i].fate : sources[i].unchecked, "to") == 0) {
                CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
                CU_ASSERT(mbuf_is(rig_last(r), f.b, f.len));
            }
            rig_clear(r);
        }
        rig_close(r);
    }
}

static void of_others(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct ip6 ip = packet;
    struct frame f = up(&ip, GATEWAY_MAC(CPE0), 258);

    FATE(r, frame_mbuf(&f, CPE0), "drop not_ipv4"); /* SUB_NO_KEY has no IPv6 */
    f = up(&ip, GATEWAY_MAC(CPE0), 300);
    FATE(r, frame_mbuf(&f, CPE0), "drop unknown_subscriber");
    f = up(&ip, GATEWAY_MAC(CPE1), 256);
    FATE(r, frame_mbuf(&f, CPE0), "drop foreign_mac");
    f = up(&ip, UINT64_C(0x333300000001), 256);
    FATE(r, frame_mbuf(&f, CPE0), "drop group_mac");
    f = up(&ip, GATEWAY_MAC(CPE0), 256);
    f.b[22] = 0x50;
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_ipv6");
    f = up(&ip, GATEWAY_MAC(CPE0), 256);
    f.len--;
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_ipv6_length");
    f.len = 22 + 39;
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_ipv6");
    f = up(&ip, GATEWAY_MAC(CPE0), 256);
    FATE(r, segmented(&f, CPE0), "drop segmented");
    cut_everywhere(r, &f, CPE0, f.len);
    throw_noise(r, &f, CPE0, 3000);
    rig_close(r);
    /* what is no IP passes; IPv6 of who has it is looked at */
    r = rig_open(&task_classify, "match=any", NULL);
    f = up(&ip, GATEWAY_MAC(CPE0), 258);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    ip.src[0] = 0xfe80000000000000;
    f = up(&ip, UINT64_C(0x333300000001), 256);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    ip.src[0] = NET;
    f = up(&ip, GATEWAY_MAC(CPE0), 256);
    FATE(r, frame_mbuf(&f, CPE0), "drop spoofed");
    rig_close(r);
}

static void by_prefix(void)
{
    static const struct {
        uint64_t dst[2];
        uint32_t id;
    } cases[] = {
        {{NET | 0x10000, 3}, SUB_CPE0},
        {{NET | 0x10001, 3}, 0},
        {{NET | 0x201aa, 0}, SUB_CPE0},
        {{NET | 0x20200, 0}, 0},
        {{NET | 0x3beef, 0}, SUB_CPE0},
        {{NET | 0x40000, 9}, SUB_CPE1},
        {{NET | 0x40000, 8}, 0},
        {{NET | 0x50000, 1}, SUB_NO_MAC},
        {{0, 0}, 0},
    };
    struct rig *r = rig_open(&task_classify, "match=ipv4", NULL);
    struct ip6 ip = packet;
    struct frame f;

    ip.src[0] = 0x2400000000000000;
    for (unsigned i = 0; i < RTE_DIM(cases); i++) {
        const char *nobody =
            cases[i].dst[0] == 0 ? "drop ipv6_link_local" : "drop unknown_subscriber";

        memcpy(ip.dst, cases[i].dst, sizeof(ip.dst));
        f = down(&ip, GATEWAY_MAC(CORE0));
        FATE(r, frame_mbuf(&f, CORE0), cases[i].id != 0 ? "to" : nobody);
        if (cases[i].id != 0) {
            CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), cases[i].id);
        }
        rig_clear(r);
    }
    ip.dst[0] = NET | 0x10000;
    f = down(&ip, GATEWAY_MAC(CORE1));
    FATE(r, frame_mbuf(&f, CORE0), "drop foreign_mac");
    cut_everywhere(r, &f, CORE0, UINT16_MAX); /* none passes: it is not for this port */
    f = down(&ip, GATEWAY_MAC(CORE0));
    cut_everywhere(r, &f, CORE0, f.len);
    throw_noise(r, &f, CORE0, 3000);
    for (unsigned i = 0; i < RTE_DIM(sources); i++) {
        bool global = strcmp(sources[i].unchecked, "to") == 0;

        /* out of the core come neither what no router forwards nor his own addresses */
        memcpy(ip.src, sources[i].src, sizeof(ip.src));
        f = down(&ip, GATEWAY_MAC(CORE0));
        FATE(r, frame_mbuf(&f, CORE0),
             !global                              ? sources[i].unchecked
             : strcmp(sources[i].fate, "to") == 0 ? "drop martian_source"
                                                  : "to");
        rig_clear(r);
    }
    rig_close(r);
}

static void to_the_access_port(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);

    for (unsigned payload = 0; payload < 40; payload += 13) {
        struct ip6 ip = packet, less;
        struct frame f, expected = {0};
        struct rte_mbuf *m;

        ip.payload = (uint16_t)payload;
        ip.dst[0] = NET | 0x10000;
        f = down(&ip, GATEWAY_MAC(CORE0));
        less = ip;
        less.hops--;
        /* the class selector is the priority in both tags, and the flow label stays */
        put_qinq(&expected, CPE_MAC(SUB_CPE0), GATEWAY_MAC(CPE0), 0x88a8, 5u << 13 | 128,
                 5u << 13 | 256, 0x86dd);
        put_ip6(&expected, &less);
        m = frame_mbuf(&f, CORE0);
        meta_set_subscriber(m, SUB_CPE0);
        FATE(r, m, "to");
        CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
        CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE0);
        rig_clear(r);
    }
    rig_close(r);
}

/* One packet of IPv6 to a subscriber, with so many hops and so much payload. */
static struct rte_mbuf *to_sub(uint32_t id, uint8_t hops, uint16_t payload)
{
    struct ip6 ip = packet;
    struct frame f;
    struct rte_mbuf *m;

    ip.hops = hops;
    ip.payload = payload;
    f = down(&ip, GATEWAY_MAC(CORE0));
    m = frame_mbuf(&f, CORE0);
    meta_set_subscriber(m, id);
    return m;
}

static void not_to_the_access_port(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", "to");
    struct rte_mbuf *m;

    FATE(r, to_sub(SUB_CPE0, 1, 20), "drop ipv6_hop_limit");
    FATE(r, to_sub(SUB_CPE0, 0, 20), "drop ipv6_hop_limit");
    FATE(r, to_sub(SUB_CPE0, 2, 1460), "to"); /* 1500 bytes */
    FATE(r, to_sub(SUB_CPE0, 2, 1461), "drop ipv6_too_big");
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", NULL);
    FATE(r, to_sub(SUB_CPE0, 1, 20), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TTL_EXPIRED);
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CORE0);
    rig_clear(r);
    FATE(r, to_sub(SUB_CPE0, 2, 1461), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TOO_BIG);
    rig_clear(r);
    FATE(r, to_sub(SUB_NO_MAC, 64, 20), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_NO_MAC);
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE0);
    rig_clear(r);
    m = to_sub(SUB_CPE0, 64, 20);
    memmove((uint8_t *)m->buf_addr + 7, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
    m->data_off = 7;
    FATE(r, m, "drop no_headroom");
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", "to");
    FATE(r, to_sub(SUB_NO_MAC, 64, 20), "drop no_cpe_mac");
    rig_close(r);
}

static const struct test tests[] = {
    {"anti-spoofing", anti_spoofing},
    {"other frames from a subscriber", of_others},
    {"a subscriber by prefix", by_prefix},
    {"to the access port", to_the_access_port},
    {"not to the access port", not_to_the_access_port},
    {NULL, NULL},
};

const struct test_program test_program = {"ipv6_sub", tests, open_with_ipv6, harness_close};
