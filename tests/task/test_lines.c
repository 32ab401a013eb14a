/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of lines for the control plane: which classify punts and how many of each line, what arp
 * gives to the control plane, and what it takes from there. */
#include <rte_cycles.h>

#include "frames.h"
#include "packet/punt.h"
#include "tasks/arp/arp.h"
#include "tasks/task_types.h"

#define BROADCAST UINT64_C(0xffffffffffff)
#define NO_LINE   300 /* a C-VLAN without a subscriber */

static struct ip dhcp = {.dst = 0xffffffff, .ttl = 64, .proto = 17, .inside = 16};

static void put_udp(struct frame *f, uint16_t from, uint16_t to)
{
    put16(f, from);
    put16(f, to);
    put16(f, 16);
    put16(f, 0);
    put32(f, 0x01010600);
    put32(f, 0);
}

static struct frame dhcp_frame(uint64_t to, uint16_t cvlan, uint32_t src, uint16_t port)
{
    struct frame f = {0};

    put_qinq(&f, to, CPE_MAC(1), 0x88a8, 128, cvlan, 0x0800);
    dhcp.src = src;
    put_ip_header(&f, &dhcp, 16);
    put_udp(&f, 68, port);
    put_pad(&f, 64, 0);
    return f;
}

static struct frame dhcp6_frame(uint16_t cvlan, uint64_t src)
{
    const struct ip6 ip = {
        .src = {src, 1}, .dst = {UINT64_C(0xff02) << 48, 0x10002}, .hops = 1, .next = 17};
    struct frame f = {0};

    put_qinq(&f, UINT64_C(0x333300010002), CPE_MAC(1), 0x88a8, 128, cvlan, 0x86dd);
    put_ip6_header(&f, &ip, 16);
    put_udp(&f, 546, 547);
    return f;
}

static struct frame padi_frame(uint64_t to, uint16_t cvlan)
{
    struct frame f = {0};

    put_qinq(&f, to, CPE_MAC(1), 0x88a8, 128, cvlan, 0x8863);
    put16(&f, 0x1109);
    put32(&f, 0);
    put_pad(&f, 64, 0);
    return f;
}

#define LINK_LOCAL (UINT64_C(0xfe80) << 48)
#define GLOBAL     (UINT64_C(0x20010db8) << 32)

static void what_is_punted(void)
{
    const uint64_t ours = GATEWAY_MAC(CPE0), other = 0x020000000077;
    const struct {
        struct frame f;
        const char *with, *without; /* punt_socket */
    } cases[] = {
        {dhcp_frame(BROADCAST, 256, 0, 67), "punt", "drop group_mac"},
        {dhcp_frame(BROADCAST, NO_LINE, 0, 67), "punt", "drop unknown_subscriber"},
        {dhcp_frame(ours, 256, 0, 67), "punt", "drop spoofed"},
        {dhcp_frame(ours, NO_LINE, 0, 67), "punt", "drop unknown_subscriber"},
        {dhcp_frame(other, 256, 0, 67), "drop foreign_mac", "drop foreign_mac"},
        {dhcp_frame(other, NO_LINE, 0, 67), "drop unknown_subscriber", "drop unknown_subscriber"},
        {dhcp_frame(BROADCAST, 256, 0x0a000001, 67), "punt", "drop group_mac"},
        {dhcp_frame(BROADCAST, 256, 0x0a000002, 67), "drop spoofed", "drop group_mac"},
        {dhcp_frame(BROADCAST, NO_LINE, 0x0a000002, 67), "punt", "drop unknown_subscriber"},
        {dhcp_frame(BROADCAST, 256, 0, 68), "drop group_mac", "drop group_mac"},
        {dhcp_frame(BROADCAST, 0, 0, 67), "drop unknown_subscriber", "drop unknown_subscriber"},
        {dhcp_frame(BROADCAST, 4095, 0, 67), "drop unknown_subscriber", "drop unknown_subscriber"},
        /* by the routes, to whoever has the address */
        {dhcp_frame(ours, 256, 0x0a000001, 67), "to", "to"},
        {dhcp6_frame(256, LINK_LOCAL), "punt", "drop not_ipv4"},
        {dhcp6_frame(NO_LINE, LINK_LOCAL), "punt", "drop unknown_subscriber"},
        {dhcp6_frame(256, GLOBAL), "drop spoofed", "drop not_ipv4"},
        {dhcp6_frame(NO_LINE, GLOBAL), "drop spoofed", "drop unknown_subscriber"},
        {padi_frame(BROADCAST, 256), "punt", "drop not_ipv4"},
        {padi_frame(ours, NO_LINE), "punt", "drop unknown_subscriber"},
        {padi_frame(other, 256), "drop not_ipv4", "drop not_ipv4"},
    };

    for (unsigned with = 0; with < 2; with++) {
        struct rig *r;

        harness_model.punt_socket = with ? "punt.sock" : NULL;
        r = rig_open(&task_classify, "", NULL);
        for (unsigned i = 0; i < RTE_DIM(cases); i++) {
            const char *fate = rig_fate(r, frame_mbuf(&cases[i].f, CPE0)),
                       *want = with ? cases[i].with : cases[i].without;

            EXPECT(strcmp(fate, want) == 0, "case %u with %u: %s instead of %s", i, with, fate,
                   want);
            if (strcmp(fate, "punt") == 0)
                CU_ASSERT(meta_punt_reason(rig_last(r)) == PUNT_LINE &&
                          meta_in_port(rig_last(r)) == CPE0);
        }
        rig_close(r);
        /* where all passes, that does, too; and nobody answers without a slow path */
        r = rig_open(&task_classify, "match=any", NULL);
        FATE(r, frame_mbuf(&cases[17].f, CPE0), "to");
        rig_close(r);
        r = rig_open(&task_classify, "", "to");
        FATE(r, frame_mbuf(&cases[0].f, CPE0), "drop group_mac");
        rig_close(r);
    }
}

static void cut_off(void)
{
    struct frame all[] = {dhcp_frame(BROADCAST, NO_LINE, 0, 67), dhcp6_frame(NO_LINE, LINK_LOCAL),
                          padi_frame(BROADCAST, NO_LINE)};
    struct rig *r = rig_open(&task_classify, "", NULL);

    all[0].len = 22 + 36; /* without the padding */
    all[2].len = 28;
    for (unsigned i = 0; i < RTE_DIM(all); i++) {
        mbuf_guard(0);
        for (uint16_t len = 0; len <= all[i].len; len++) {
            const char *fate = rig_fate(r, mbuf_from_bytes(all[i].b, len, CPE0));

            EXPECT((strcmp(fate, "punt") == 0) == (len == all[i].len), "frame %u cut at %u: %s", i,
                   len, fate);
        }
        mbuf_unguard();
        throw_noise(r, &all[i], CPE0, 2000);
    }
    rig_close(r);
}

/* Each line has its share of each kind, and lines without a subscriber have one together. */
static void shares(void)
{
    static struct punt_limit limit;
    struct punt_rates rates = {.line = source_rate_of(rte_get_tsc_hz(), 1, 10),
                               .lines = source_rate_of(rte_get_tsc_hz(), 1, 30)};
    struct frame f = dhcp_frame(BROADCAST, 256, 0, 67), p = padi_frame(BROADCAST, 256);
    struct rig *r = rig_open(&task_classify, "", NULL);

    limit.rates = &rates;
    rig_task(r)->punted = &limit;
    for (unsigned i = 0; i < 50; i++) {
        FATE(r, frame_mbuf(&f, CPE0), i < 10 ? "punt" : "drop punt_limited");
        FATE(r, frame_mbuf(&p, CPE0), i < 10 ? "punt" : "drop punt_limited");
    }
    for (uint16_t cvlan = NO_LINE; cvlan < NO_LINE + 50; cvlan++) {
        f = dhcp_frame(BROADCAST, cvlan, 0, 67);
        FATE(r, frame_mbuf(&f, CPE0), cvlan < NO_LINE + 30 ? "punt" : "drop punt_limited");
    }
    f = dhcp_frame(BROADCAST, 258, 0, 67); /* another subscriber's */
    FATE(r, frame_mbuf(&f, CPE0), "punt");
    rig_task(r)->punted = NULL;
    rig_close(r);
}

static struct rig *r;
static struct arp_control *c;

static void open_arp(const char *params)
{
    r = rig_open(&task_arp, params, "to:4 route");
    c = arp_control(rig_task(r));
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    rig_poll(r, 1);
}

static const char *give(const struct frame *f, enum punt_reason why)
{
    struct rte_mbuf *m = frame_mbuf(f, CPE0);

    meta_set_punt(m, why);
    meta_set_session(m, 0);
    return rig_fate(r, m);
}

/* Is the next message that of a frame, with the tags taken out? */
static bool out_is(const struct frame *f, enum punt_kind kind, uint32_t id, uint16_t cvlan,
                   uint32_t l2)
{
    const struct arp_message *m = slots_full(c->out, 0);
    struct punt_header h;
    bool same;

    if (m == NULL || m->bytes != sizeof(h) + 14 + f->len - l2)
        return false;
    memcpy(&h, m->message, sizeof(h));
    same = h.magic == PUNT_MAGIC && h.header_bytes == 64 && h.frame_bytes == 14 + f->len - l2 &&
           h.subscriber == id && h.session == 0 && h.svlan == 128 && h.cvlan == cvlan &&
           h.kind == kind && strcmp(h.port, "cpe0") == 0 &&
           memcmp(m->message + 64, f->b, 12) == 0 &&
           memcmp(m->message + 76, f->b + l2 - 2, f->len - l2 + 2) == 0;
    slots_take(c->out, 1);
    return same;
}

static void to_the_control_plane(void)
{
    struct frame f = dhcp_frame(BROADCAST, 256, 0, 67), g = dhcp6_frame(NO_LINE, LINK_LOCAL),
                 p = padi_frame(BROADCAST, NO_LINE), renewal = {0};

    open_arp("punt_rate=1K");
    CU_ASSERT_STRING_EQUAL(give(&f, PUNT_LINE), "drop no_control_plane");
    c->listens = 1;
    CU_ASSERT_STRING_EQUAL(give(&f, PUNT_LINE), "consumed");
    CU_ASSERT(out_is(&f, PUNT_DHCP4, SUB_CPE0, 256, 22));
    CU_ASSERT_STRING_EQUAL(give(&g, PUNT_LINE), "consumed");
    CU_ASSERT(out_is(&g, PUNT_DHCP6, 0, NO_LINE, 22));
    CU_ASSERT_STRING_EQUAL(give(&p, PUNT_LINE), "consumed");
    CU_ASSERT(out_is(&p, PUNT_PPPOE_DISCOVERY, 0, NO_LINE, 22));
    /* a renewal comes without tags, from the subscriber's own port alone */
    put_eth(&renewal, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x0800);
    dhcp.src = 0x0a000001;
    dhcp.dst = ADDR_CPE0;
    put_ip_header(&renewal, &dhcp, 16);
    put_udp(&renewal, 68, 67);
    dhcp.dst = 0xffffffff;
    CU_ASSERT_STRING_EQUAL(give(&renewal, PUNT_FOR_US), "consumed");
    CU_ASSERT(out_is(&renewal, PUNT_DHCP4, SUB_CPE0, 256, 14));
    {
        struct rte_mbuf *m = frame_mbuf(&renewal, CORE0);

        meta_set_punt(m, PUNT_FOR_US);
        CU_ASSERT_STRING_NOT_EQUAL(rig_fate(r, m), "consumed");
    }
    for (unsigned i = 1; i < 20; i++) /* twice the default punt_line_rate */
        CU_ASSERT_STRING_EQUAL(give(&renewal, PUNT_FOR_US),
                               i < 10 ? "consumed" : "drop punt_limited");
    /* what nobody would punt */
    p.b[20] = 0x12;
    CU_ASSERT_STRING_EQUAL(give(&p, PUNT_LINE), "drop not_punted");
    p = padi_frame(BROADCAST, NO_LINE);
    put_pad(&p, 22 + PUNT_FRAME_MOST - 14 + 1, 0);
    CU_ASSERT_STRING_EQUAL(give(&p, PUNT_LINE), "drop control_too_long");
    rig_close(r);
}

static void full_and_limited(void)
{
    struct frame f = dhcp_frame(BROADCAST, 256, 0, 67);
    unsigned n = 0;

    open_arp("punt_rate=1M");
    c->listens = 1;
    for (; strcmp(give(&f, PUNT_LINE), "consumed") == 0; n++)
        ;
    CU_ASSERT_EQUAL(n, 2048);
    CU_ASSERT_STRING_EQUAL(give(&f, PUNT_LINE), "drop control_full");
    slots_take(c->out, 1);
    CU_ASSERT_STRING_EQUAL(give(&f, PUNT_LINE), "consumed");
    rig_close(r);
    open_arp("punt_rate=80"); /* an eighth of a second's at once */
    c->listens = 1;
    for (n = 0; strcmp(give(&f, PUNT_LINE), "consumed") == 0; n++)
        ;
    CU_ASSERT_EQUAL(n, 10);
    CU_ASSERT_STRING_EQUAL(give(&f, PUNT_LINE), "drop control_rate_limited");
    f = dhcp_frame(BROADCAST, NO_LINE, 0, 67);
    CU_ASSERT_STRING_EQUAL(give(&f, PUNT_LINE), "consumed"); /* of the others */
    rig_close(r);
}

/* Put a message from the control plane, and let the task take it. */
static void put(const void *message, uint32_t bytes)
{
    struct arp_message *m = slots_room(c->in, 0);

    memcpy(m->message, message, RTE_MIN(bytes, sizeof(m->message)));
    m->bytes = bytes;
    slots_put(c->in, 1);
    CU_ASSERT_EQUAL(rig_poll(r, 2), 1);
}

static void from_the_control_plane(void)
{
    struct {
        struct punt_header h;
        uint8_t frame[PUNT_FRAME_MOST];
    } m = {.h = {.magic = PUNT_MAGIC,
                 .header_bytes = 64,
                 .frame_bytes = 300,
                 .svlan = 129,
                 .cvlan = 4094,
                 .kind = PUNT_DHCP4,
                 .port = "cpe1"}};
    static const struct {
        const char *reason;
        uint16_t at, value, bytes; /* 16 bits of the header, and the length of the message */
    } wrong[] = {
        {"control_malformed", 0, 0, 364},      {"control_malformed", 4, 63, 364},
        {"control_malformed", 4, 365, 364},    {"control_malformed", 6, 299, 364},
        {"control_malformed", 6, 301, 364},    {"control_malformed", 6, 13, 77},
        {"control_malformed", 20 + 0, 0, 63},  {"control_malformed", 20, PUNT_HELLO, 364},
        {"control_malformed", 20, 5, 364},     {"control_malformed", 6, 1985, 2049},
        {"control_malformed", 6, 0, 0},        {"control_bad_vlan", 16, 0, 364},
        {"control_bad_vlan", 18, 0, 364},      {"control_bad_vlan", 16, 4095, 364},
        {"control_bad_vlan", 18, 0xffff, 364}, {"control_over_mtu", 6, 1515, 1579},
    };
    struct frame f = {0};

    open_arp("");
    for (unsigned i = 0; i < sizeof(m.frame); i++)
        m.frame[i] = (uint8_t)i;
    put(&m, 364);
    put_eth(&f, 0x000102030405, 0x060708090a0b, 0x8100); /* the port's TPID */
    put16(&f, 129);
    put16(&f, 0x8100);
    put16(&f, 4094);
    for (unsigned i = 12; i < 300; i++)
        f.b[f.len++] = (uint8_t)i;
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CPE1), 1);
    CU_ASSERT(mbuf_is(rig_out(r, "to", CPE1, 0), f.b, f.len));
    for (unsigned i = 0; i < RTE_DIM(wrong); i++) {
        uint64_t before = rig_drops(r, wrong[i].reason);
        uint8_t bad[sizeof(m)];

        memcpy(bad, &m, sizeof(m));
        memcpy(bad + wrong[i].at, &wrong[i].value, 2);
        put(bad, wrong[i].bytes);
        EXPECT(rig_drops(r, wrong[i].reason) == before + 1, "case %u", i);
    }
    m.h.frame_bytes = 1514; /* of the mtu */
    put(&m, 64 + 1514);
    m.h.frame_bytes = 14; /* is padded */
    put(&m, 64 + 14);
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CPE1), 3);
    CU_ASSERT_EQUAL(rig_out(r, "to", CPE1, 2)->data_len, 60);
    strcpy(m.h.port, "core0"); /* where no subscriber may be */
    put(&m, 64 + 14);
    strcpy(m.h.port, "nowhere");
    put(&m, 64 + 14);
    CU_ASSERT_EQUAL(rig_drops(r, "control_unknown_port"), 2);
    memset(m.h.port, 'x', sizeof(m.h.port));
    put(&m, 64 + 14);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 3);
    rig_close(r);
}

static void without_mbufs(void)
{
    static struct rte_mbuf *all[RIG_MBUFS + 1];
    struct punt_header h = {.magic = PUNT_MAGIC,
                            .header_bytes = 64,
                            .frame_bytes = 14,
                            .svlan = 1,
                            .cvlan = 1,
                            .kind = PUNT_PPP,
                            .port = "cpe0"};
    uint8_t message[64 + 14] = {0};
    unsigned n = 0;

    open_arp("");
    memcpy(message, &h, sizeof(h));
    while ((all[n] = rte_pktmbuf_alloc(harness_pool)) != NULL)
        n++;
    put(message, sizeof(message));
    CU_ASSERT_EQUAL(rig_drops(r, "control_no_mbuf"), 1);
    rte_pktmbuf_free_bulk(all, n);
    put(message, sizeof(message));
    CU_ASSERT_EQUAL(rig_captured_way(r, "to", CPE0), 1);
    rig_close(r);
}

static int open_all(void)
{
    struct tables *t;
    int rc = harness_open();

    harness_model.punt_socket = "punt.sock";
    if (rc != 0)
        return rc;
    t = harness_tables();
    for (unsigned i = 0; i < N_TEST_PORTS; i++)
        memcpy(t->port_mac[i], harness_model.ports[i].mac, 6);
    return 0;
}

static const struct test tests[] = {
    {"what classify punts", what_is_punted},
    {"cut at every byte, and noise", cut_off},
    {"shares of lines", shares},
    {"to the control plane", to_the_control_plane},
    {"a full ring, and a rate", full_and_limited},
    {"from the control plane", from_the_control_plane},
    {"without mbufs", without_mbufs},
    {NULL, NULL},
};

const struct test_program test_program = {"lines", tests, open_all, harness_close};
