/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 out of tunnels (RFC 7676): gre_decap, byte by byte. SUB_CPE0 has the link 2001:db8:a::/64
 * and the delegated prefix 2001:db8:100::/56. */
#include "frames.h"
#include "tasks/task_types.h"

#define DELEGATED UINT64_C(0x20010db801000000)
#define LINK      UINT64_C(0x20010db8000a0000)

static const struct ip6 packet = {.src = {UINT64_C(0x2001000200000000), 1},
                                  .dst = {DELEGATED | 7, 2},
                                  .class = 0xb8,
                                  .hops = 60,
                                  .next = 17,
                                  .label = 0x12345,
                                  .payload = 40};

static int give_ipv6(void)
{
    const struct cpe_prefixes spec = {.wan = {LINK, 0},
                                      .wan_len = 64,
                                      .delegated = {DELEGATED},
                                      .delegated_len = {56},
                                      .n_delegated = 1};
    struct subscriber_table *t;

    if (harness_open() != 0)
        return -1;
    t = harness_tables()->subscribers;
    if (t->v6 == NULL)
        t->v6 = subscriber6_table_create(N_TEST_SUBSCRIBERS, 16, SOCKET_ID_ANY);
    if (t->v6 == NULL || subscriber6_check(t->v6, &spec) != 0)
        return -1;
    subscriber6_fill(t->v6, SUB_CPE0, &spec);
    subscriber6_publish(t->v6, SUB_CPE0);
    subscriber_write_first_line(t, SUB_CPE0);
    return 0;
}

/* In the tunnel of NH_GRE_MPLS; key 0: none. */
static struct frame tunnelled(const struct ip6 *ip, uint32_t key, uint8_t tos)
{
    struct ip outer = {
        .src = 0xc0000200 + NH_GRE_MPLS, .dst = ADDR_CORE0, .tos = tos, .ttl = 64, .proto = 47};
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip_header(&f, &outer, (key != 0 ? 8u : 4u) + 40u + ip->payload);
    put16(&f, key != 0 ? 0x2000 : 0);
    put16(&f, 0x86dd);
    if (key != 0)
        put32(&f, key);
    put_ip6(&f, ip);
    return f;
}

static struct frame plain(const struct ip6 *ip)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x86dd);
    put_ip6(&f, ip);
    return f;
}

static void by_key(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct ip6 ip = packet;

    for (ip.payload = 0; ip.payload < 100; ip.payload++) {
        struct frame f = tunnelled(&ip, 0x1001, 0), expected = plain(&ip);

        put_pad(&f, 90, 0xee);
        BECOMES(r, &f, CORE0, "to", &expected);
        CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
        rig_clear(r);
    }
    rig_close(r);
}

static void by_address(void)
{
    struct rig *r = rig_open(&task_gre_decap, "key=optional", NULL);
    struct ip6 ip = packet;
    struct frame f = tunnelled(&ip, 0, 0), expected = plain(&ip);

    BECOMES(r, &f, CORE0, "to", &expected);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
    ip.dst[0] = LINK;
    f = tunnelled(&ip, 0, 0);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    ip.dst[0] = DELEGATED + 0x100;
    f = tunnelled(&ip, 0, 0);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_address");
    rig_close(r);
    r = rig_open(&task_gre_decap, "", NULL);
    FATE(r, frame_mbuf(&f, CORE0), "drop no_key");
    rig_close(r);
}

static void refused(void)
{
    static const struct {
        uint64_t dst[2], src[2];
        const char *fate;
    } all[] = {
        {{DELEGATED, 1}, {0x2a00000000000000, 1}, "to"},
        {{DELEGATED | 0xff, UINT64_MAX}, {0xfd00000000000000, 1}, "to"},
        {{DELEGATED | 0x100, 1}, {0x2a00000000000000, 1}, "drop misdelivered"},
        {{0xfe80000000000000, 1}, {0x2a00000000000000, 1}, "drop misdelivered"},
        {{0xff02000000000000, 1}, {0x2a00000000000000, 1}, "drop misdelivered"},
        {{0, 0}, {0x2a00000000000000, 1}, "drop misdelivered"},
        {{DELEGATED, 1}, {0xfe80000000000000, 1}, "drop martian_source"},
        {{DELEGATED, 1}, {0xff02000000000000, 1}, "drop martian_source"},
        {{DELEGATED, 1}, {0, 0}, "drop martian_source"},
        {{DELEGATED, 1}, {0, 1}, "drop martian_source"},
        {{DELEGATED, 1}, {0, 0xffff0a000001}, "drop martian_source"},
        {{DELEGATED, 1}, {LINK, 9}, "drop martian_source"},
        {{DELEGATED, 1}, {DELEGATED | 3, 9}, "drop martian_source"},
    };
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct ip6 ip = packet;
    struct frame f;

    for (unsigned i = 0; i < RTE_DIM(all); i++) {
        memcpy(ip.dst, all[i].dst, sizeof(ip.dst));
        memcpy(ip.src, all[i].src, sizeof(ip.src));
        f = tunnelled(&ip, 0x1001, 0);
        FATE(r, frame_mbuf(&f, CORE0), all[i].fate);
        rig_clear(r);
    }
    f = tunnelled(&packet, 0x1002, 0); /* who has no IPv6 */
    FATE(r, frame_mbuf(&f, CORE0), "drop misdelivered");
    f = tunnelled(&packet, 0x9999, 0);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_key");
    f = tunnelled(&packet, 0x1001, 0);
    f.b[42] = 0x45; /* the protocol type says IPv6 */
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_ipv6");
    f.b[42] = 0x6b;
    f.b[47]++;
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_length");
    f.b[47]--;
    f.b[36] = 0x08;
    f.b[37] = 0x00; /* the protocol type says IPv4 */
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_ipv4");
    f = tunnelled(&packet, 0x1001, 0);
    cut_everywhere(r, &f, CORE0, f.len);
    rig_close(r);
}

/* RFC 6040 figure 4: what the outer header tells of congestion. */
static void congestion(void)
{
    static const int merged[4][4] = {
        /* inner Not-ECT, ECT(1), ECT(0), CE; outer in the columns: Not-ECT, ECT(1), ECT(0), CE */
        {0, 0, 0, -1},
        {1, 1, 1, 3},
        {2, 1, 2, 3},
        {3, 3, 3, 3}};
    struct rig *r = rig_open(&task_gre_decap, "", NULL);

    for (unsigned inner = 0; inner < 4; inner++)
        for (unsigned outer = 0; outer < 4; outer++) {
            struct ip6 ip = packet;
            struct frame f, expected;

            ip.class = (uint8_t)(0x28 | inner);
            f = tunnelled(&ip, 0x1001, (uint8_t)(0xb8 | outer));
            if (merged[inner][outer] < 0) {
                FATE(r, frame_mbuf(&f, CORE0), "drop congested");
                continue;
            }
            ip.class = (uint8_t)(0x28 | merged[inner][outer]);
            expected = plain(&ip);
            BECOMES(r, &f, CORE0, "to", &expected);
        }
    rig_close(r);
}

static const struct test tests[] = {
    {"by the key", by_key}, {"by the address", by_address},
    {"refused", refused},   {"ECN", congestion},
    {NULL, NULL},
};

const struct test_program test_program = {"ipv6_down", tests, give_ipv6, harness_close};
