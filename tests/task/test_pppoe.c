/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers in PPPoE sessions: out of the session in classify, into it in qinq_encap and
 * fragment, and what goes to the control plane. tests/pcap has both against Scapy. */
#include "frames.h"
#include "tasks/task_types.h"

#define VLAN 260 /* SUB_PPPOE's */

static const struct ip packet = {
    .src = 0x0a000005, .dst = 0x14000001, .ttl = 64, .proto = 17, .payload = 18};

static struct frame in_session(const struct ip *ip)
{
    struct frame f = {0};

    put_session(&f, GATEWAY_MAC(CPE0), CPE_MAC(SUB_PPPOE), VLAN, TEST_SESSION, 0x21,
                20u + ip->payload);
    put_ip(&f, ip);
    return f;
}

static struct frame without_session(const struct ip *ip, uint16_t cvlan, unsigned sub)
{
    struct frame f = {0};

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(sub), 0x88a8, 128, cvlan, 0x0800);
    put_ip(&f, ip);
    return f;
}

static struct frame echo(uint16_t cvlan, uint16_t session, uint64_t dst, uint16_t protocol)
{
    struct frame f = {0};

    put_session(&f, dst, CPE_MAC(SUB_PPPOE), cvlan, session, protocol, 8);
    put32(&f, 0x09010008);
    put32(&f, 0xcafe);
    return f;
}

/* The packet is as on a line without PPPoE, whatever pads the frame. */
static void leaves_the_session(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct ip ip = packet;

    for (ip.payload = 0; ip.payload <= 1472; ip.payload += 1 + ip.payload / 7) {
        struct frame f = in_session(&ip), expected = without_session(&ip, VLAN, SUB_PPPOE);

        BECOMES(r, &f, CPE0, "to", &expected);
        CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_PPPOE);
        put_pad(&f, f.len + 30, 0xee);
        BECOMES(r, &f, CPE0, "to", &expected);
    }
    rig_close(r);
}

/* Where frames of all kinds pass, a session's do as they are; and a subscriber by address has
 * nothing to do with his session. */
static void passes_as_it_is(void)
{
    struct rig *r = rig_open(&task_classify, "match=any", NULL);
    struct frame f = in_session(&packet), plain = without_session(&packet, VLAN, SUB_PPPOE);
    struct ip down = {.src = 0x14000001, .dst = 0x0a000005, .ttl = 9, .proto = 17, .payload = 40};

    BECOMES(r, &f, CPE0, "to", &f);
    BECOMES(r, &plain, CPE0, "to", &plain);
    rig_close(r);
    r = rig_open(&task_classify, "match=ipv4", NULL);
    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip(&f, &down);
    BECOMES(r, &f, CORE0, "to", &f);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_PPPOE);
    rig_close(r);
}

static void cut_off(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame f = in_session(&packet);

    mbuf_guard(0);
    for (uint16_t len = 0; len <= f.len; len++) {
        const char *fate = rig_fate(r, mbuf_from_bytes(f.b, len, CPE0)),
                   *want = len < 22      ? "drop short_frame"
                           : len < f.len ? "drop bad_pppoe"
                                         : "to";

        EXPECT(strcmp(fate, want) == 0, "cut at %u: %s instead of %s", len, fate, want);
    }
    mbuf_unguard();
    throw_noise(r, &f, CPE0, 20000);
    rig_close(r);
}

/* All of PPP but IP is the control plane's, of any line, as long as it is to the gateway's MAC. */
static void control_plane(void)
{
    const uint64_t ours = GATEWAY_MAC(CPE0);
    const struct {
        struct frame f;
        const char *with, *without; /* punt_socket */
    } cases[] = {
        {echo(VLAN, TEST_SESSION, ours, 0xc021), "punt", "drop ppp_control"},
        {echo(VLAN, TEST_SESSION, ours, 0x8021), "punt", "drop ppp_control"},
        {echo(VLAN, TEST_SESSION, ours, 0x00fd), "punt", "drop ppp_control"},
        {echo(VLAN, 7, ours, 0xc021), "punt", "drop unknown_session"},
        {echo(256, TEST_SESSION, ours, 0xc021), "punt", "drop unknown_session"},
        {echo(300, TEST_SESSION, ours, 0xc021), "punt", "drop unknown_subscriber"},
        {echo(VLAN, TEST_SESSION, 0x020000000077, 0xc021), "drop ppp_control", "drop ppp_control"},
        {echo(VLAN, TEST_SESSION, UINT64_C(0xffffffffffff), 0xc021), "drop ppp_control",
         "drop ppp_control"},
        {echo(VLAN, 7, ours, 0x0021), "drop unknown_session", "drop unknown_session"},
        {echo(300, 7, ours, 0x0021), "drop unknown_subscriber", "drop unknown_subscriber"},
        {without_session(&packet, VLAN, SUB_PPPOE), "drop not_pppoe", "drop not_pppoe"},
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
        }
        rig_close(r);
    }
    harness_model.punt_socket = NULL;
}

/* --- downstream --- */

static struct frame down(const struct ip *ip)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip(&f, ip);
    return f;
}

static struct rte_mbuf *packet_for(const struct frame *f)
{
    struct rte_mbuf *m = frame_mbuf(f, CORE0);

    meta_set_subscriber(m, SUB_PPPOE);
    return m;
}

/* What was in the mbuf before does not leave as padding. */
static void enters_the_session(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);
    struct ip ip = {.src = 0x14000001, .dst = 0x0a000005, .ttl = 60, .proto = 17};

    for (ip.payload = 0; ip.payload <= 1472; ip.payload += 1 + ip.payload / 9) {
        struct frame f = down(&ip), expected = {0};
        struct ip less = ip;

        less.ttl--;
        put_session(&expected, CPE_MAC(SUB_PPPOE), GATEWAY_MAC(CPE0), VLAN, TEST_SESSION, 0x21,
                    20u + ip.payload);
        put_ip(&expected, &less);
        put_pad(&expected, 60, 0);
        mbuf_guard(f.len + 18u);
        FATE(r, packet_for(&f), "to");
        CU_ASSERT(mbuf_is(rig_last(r), expected.b, expected.len));
        CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE0);
        mbuf_unguard();
        rig_clear(r);
    }
    rig_close(r);
}

static void session_mtu(void)
{
    struct rig *r = rig_open(&task_qinq_encap, "", NULL);
    struct ip ip = {
        .src = 0x14000001, .dst = 0x0a000005, .ttl = 60, .proto = 17, .fragment = 0x4000};
    struct frame f;

    for (ip.payload = 1472; ip.payload <= 1473; ip.payload++) { /* 1492 and 1493 bytes */
        f = down(&ip);
        FATE(r, packet_for(&f), ip.payload == 1472 ? "to" : "punt");
    }
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_TOO_BIG);
    ip.fragment = 0;
    ip.payload = 1473;
    f = down(&ip);
    FATE(r, packet_for(&f), "fragment");
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", NULL);
    ip.payload = 100;
    f = down(&ip);
    for (uint16_t room = 0; room <= 32; room++) {
        struct rte_mbuf *m = packet_for(&f);

        memmove((uint8_t *)m->buf_addr + room, rte_pktmbuf_mtod(m, void *), f.len);
        m->data_off = room;
        FATE(r, m, room < 16 ? "drop no_headroom" : "to");
    }
    rig_close(r);
}

/* --- segment sizes --- */

/* A segment with flags and options, of which the checksum is right. */
static void put_tcp(struct frame *f, const struct ip *ip, uint8_t flags, const uint8_t *options,
                    unsigned n)
{
    struct ip whole = *ip;
    struct frame pseudo = {0};
    uint32_t at, len = 20 + n;
    uint16_t sum;

    whole.proto = 6;
    put_ip_header(f, &whole, len);
    at = f->len;
    put32(f, 0x1234abcd);
    put32(f, 1);
    put32(f, 0);
    put16(f, (uint32_t)(5 + (n + 3) / 4) << 12 | flags);
    put16(f, 0x7210);
    put32(f, 0);
    for (unsigned i = 0; i < n; i++)
        f->b[f->len++] = options[i];
    put32(&pseudo, ip->src);
    put32(&pseudo, ip->dst);
    put16(&pseudo, 6);
    put16(&pseudo, len);
    memcpy(pseudo.b + 12, f->b + at, len);
    sum = (uint16_t)~sum16(pseudo.b, 12 + len);
    f->b[at + 16] = (uint8_t)(sum >> 8);
    f->b[at + 17] = (uint8_t)sum;
}

#define MSS(size) 2, 4, (size) >> 8, (size)&0xff

/* What options become of a SYN; the others are as they were. */
static const struct {
    uint8_t n, before[16], after[16];
} segments[] = {
    {4, {MSS(1460)}, {MSS(1452)}},
    {4, {MSS(1453)}, {MSS(1452)}},
    {4, {MSS(1452)}, {MSS(1452)}},
    {4, {MSS(65535)}, {MSS(1452)}},
    {4, {MSS(0)}, {MSS(0)}},
    {8, {1, MSS(1460), 1, 1, 1}, {1, MSS(1452), 1, 1, 1}}, /* at an odd place */
    {8, {3, 3, 7, MSS(0xffff), 0}, {3, 3, 7, MSS(1452), 0}},
    {12, {4, 2, 1, 3, 3, 7, MSS(9000), 0, 0}, {4, 2, 1, 3, 3, 7, MSS(1452), 0, 0}},
    {8, {0, 0, 0, 0, MSS(1460)}, {0, 0, 0, 0, MSS(1460)}}, /* behind the end */
    {8, {5, 0, 1, 1, MSS(1460)}, {5, 0, 1, 1, MSS(1460)}}, /* an option of no length */
    {8, {5, 1, 1, 1, MSS(1460)}, {5, 1, 1, 1, MSS(1460)}}, /* too short */
    {8, {5, 9, 1, 1, MSS(1460)}, {5, 9, 1, 1, MSS(1460)}}, /* too long */
    {4, {2, 3, 0xff, 1}, {2, 3, 0xff, 1}},                 /* of another size */
    {4, {1, 1, 1, 2}, {1, 1, 1, 2}},                       /* cut off */
    {0, {0}, {0}},
};

/* The sum of the pseudo header and a segment is right. */
static void clamps(void)
{
    const struct ip up = {.src = 0x0a000005, .dst = 0x14000001, .ttl = 64},
                    to = {.src = 0x14000001, .dst = 0x0a000005, .ttl = 60},
                    sent = {.src = 0x14000001, .dst = 0x0a000005, .ttl = 59};
    struct rig *r = rig_open(&task_classify, "", NULL);

    for (unsigned i = 0; i < RTE_DIM(segments); i++)
        for (unsigned flags = 0; flags < 0x40; flags += 2) {
            bool syn = (flags & 2) != 0;
            struct frame f = {0}, g = {0};

            put_session(&f, GATEWAY_MAC(CPE0), CPE_MAC(SUB_PPPOE), VLAN, TEST_SESSION, 0x21,
                        40u + segments[i].n);
            put_tcp(&f, &up, (uint8_t)flags, segments[i].before, segments[i].n);
            put_qinq(&g, GATEWAY_MAC(CPE0), CPE_MAC(SUB_PPPOE), 0x88a8, 128, VLAN, 0x0800);
            put_tcp(&g, &up, (uint8_t)flags, syn ? segments[i].after : segments[i].before,
                    segments[i].n);
            mbuf_guard(0);
            BECOMES(r, &f, CPE0, "to", &g);
            mbuf_unguard();
        }
    rig_close(r);
    r = rig_open(&task_qinq_encap, "", NULL);
    for (unsigned i = 0; i < RTE_DIM(segments); i++) {
        struct frame f = {0}, g = {0};

        put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
        put_tcp(&f, &to, 0x12, segments[i].before, segments[i].n);
        put_session(&g, CPE_MAC(SUB_PPPOE), GATEWAY_MAC(CPE0), VLAN, TEST_SESSION, 0x21,
                    40u + segments[i].n);
        put_tcp(&g, &sent, 0x12, segments[i].after, segments[i].n);
        FATE(r, packet_for(&f), "to");
        CU_ASSERT(mbuf_is(rig_last(r), g.b, g.len));
        rig_clear(r);
    }
    rig_close(r);
}

static const struct test tests[] = {
    {"leaves the session", leaves_the_session},
    {"passes as it is", passes_as_it_is},
    {"cut off", cut_off},
    {"control plane", control_plane},
    {"enters the session", enters_the_session},
    {"session MTU", session_mtu},
    {"segment sizes", clamps},
    {NULL, NULL},
};

const struct test_program test_program = {"pppoe", tests, harness_open, harness_close};
