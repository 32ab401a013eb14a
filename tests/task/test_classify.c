/* SPDX-License-Identifier: BSD-3-Clause */
/* classify: who is it, and is it a packet that may go on? */
#include "frames.h"
#include "tasks/task_types.h"

static const struct ip packet = {
    .src = 0x0a000001, .dst = 0x14000001, .ttl = 64, .proto = 17, .payload = 18};

/* A packet of SUB_CPE0, 60 bytes as an access link carries it. */
static struct frame from_cpe(void)
{
    struct frame f = {0};

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0800);
    put_ip(&f, &packet);
    return f;
}

static struct frame from_cpe_with(const struct ip *ip)
{
    struct frame f = {0};

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 128, 256, 0x0800);
    put_ip(&f, ip);
    return f;
}

static void finds_subscribers(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame f = from_cpe();
    struct ip ip = packet;

    BECOMES(r, &f, CPE0, "to", &f);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CPE0);
    /* priorities and DEI are not part of the circuit; both outer TPIDs are */
    f.b[14] |= 0xf0;
    f.b[18] |= 0xb0;
    BECOMES(r, &f, CPE0, "to", &f);
    f.b[12] = 0x81;
    f.b[13] = 0x00;
    BECOMES(r, &f, CPE0, "to", &f);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
    /* the same tags on another port are nobody's */
    FATE(r, frame_mbuf(&f, CPE1), "drop unknown_subscriber");
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_subscriber");
    /* any address of its prefix */
    put_qinq(&f, GATEWAY_MAC(CPE1), CPE_MAC(2), 0x8100, 129, 257, 0x0800);
    ip.src = 0x0a0001c8;
    put_ip(&f, &ip);
    BECOMES(r, &f, CPE1, "to", &f);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE1);
    rig_close(r);
}

/* A device that does not write mbuf->port: the input's port counts, not what stands in the mbuf. */
static void port_of_the_input(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame f = from_cpe();

    rig_task(r)->in_port = CPE0;
    FATE(r, frame_mbuf(&f, 65535), "to");
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CPE0);
    rig_task(r)->in_port = PORT_IN_MBUF;
    FATE(r, frame_mbuf(&f, 65535), "drop unknown_subscriber");
    FATE(r, frame_mbuf(&f, 256), "drop unknown_subscriber");
    rig_close(r);
}

static void refuses_other_frames(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame f = from_cpe();

    FATE(r, segmented(&f, CPE0), "drop segmented");
    f.len = 21;
    FATE(r, frame_mbuf(&f, CPE0), "drop short_frame");
    put_eth(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x0800);
    put_ip(&f, &packet);
    FATE(r, frame_mbuf(&f, CPE0), "drop not_qinq");
    put_eth(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x8100); /* one tag */
    put16(&f, 256);
    put16(&f, 0x0800);
    put_ip(&f, &packet);
    FATE(r, frame_mbuf(&f, CPE0), "drop not_qinq");
    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x9100, 128, 256, 0x0800);
    put_ip(&f, &packet);
    FATE(r, frame_mbuf(&f, CPE0), "drop not_qinq");
    f = from_cpe();
    f.b[17] = 0xa8; /* inner TPID */
    f.b[16] = 0x88;
    FATE(r, frame_mbuf(&f, CPE0), "drop not_qinq");
    for (unsigned tag = 0; tag < 2; tag++) { /* VLAN ids 0 and 4095, and the neighbour's */
        static const uint16_t vids[] = {0, 4095, 127, 255, 1};

        for (unsigned i = 0; i < RTE_DIM(vids); i++) {
            f = from_cpe();
            f.b[14 + tag * 4] = (uint8_t)(vids[i] >> 8);
            f.b[15 + tag * 4] = (uint8_t)vids[i];
            FATE(r, frame_mbuf(&f, CPE0), "drop unknown_subscriber");
        }
    }
    f = from_cpe();
    f.b[20] = 0x86; /* IPv6 */
    f.b[21] = 0xdd;
    FATE(r, frame_mbuf(&f, CPE0), "drop not_ipv4");
    f.b[20] = 0x88; /* PPPoE session, which he has none of */
    f.b[21] = 0x64;
    FATE(r, frame_mbuf(&f, CPE0), "drop unknown_session");
    rig_close(r);
}

static void checks_the_header(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame f = from_cpe();
    struct ip ip = packet;

    f.b[22] = 0x65; /* version 6 */
    fix_ip(&f, 22);
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_ipv4");
    f.b[22] = 0x44; /* IHL 4 */
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_ipv4");
    f.b[22] = 0x4f; /* a header of 60 bytes where 38 are */
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_ipv4");
    f = from_cpe();
    f.b[25] = 19; /* total length below the header's */
    fix_ip(&f, 22);
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_length");
    f.b[25] = 39; /* one beyond the frame's end */
    fix_ip(&f, 22);
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_length");
    f.b[25] = 38;
    fix_ip(&f, 22);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    f.b[24] = 0xff;
    f.b[25] = 0xff;
    fix_ip(&f, 22);
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_length");
    for (unsigned at = 22; at < 42; at++) { /* each bit of the header counts */
        f = from_cpe();
        f.b[at] ^= 0x01;
        CU_ASSERT(strncmp(rig_fate(r, frame_mbuf(&f, CPE0)), "drop bad_", 9) == 0);
    }
    f = from_cpe();
    f.b[30] ^= 0x40; /* TTL */
    FATE(r, frame_mbuf(&f, CPE0), "drop bad_checksum");
    for (ip.options = 1; ip.options <= 10; ip.options++) {
        f = from_cpe_with(&ip);
        BECOMES(r, &f, CPE0, "to", &f);
        f.b[22 + 20 + ip.options * 4 - 1] ^= 0x10; /* the checksum covers options */
        FATE(r, frame_mbuf(&f, CPE0), "drop bad_checksum");
    }
    rig_close(r);
}

static void stops_spoofing(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct ip ip = packet;
    struct frame f;

    for (unsigned bit = 0; bit < 32; bit++) {
        ip.src = packet.src ^ 1u << bit;
        f = from_cpe_with(&ip);
        FATE(r, frame_mbuf(&f, CPE0), "drop spoofed");
    }
    rig_close(r);
    r = rig_open(&task_classify, "anti_spoof=false", NULL);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
    rig_close(r);
}

static void arp_is_for_us(void)
{
    struct rig *r = rig_open(&task_classify, "", "to punt:4");
    struct frame f = from_cpe();

    f.b[20] = 0x08;
    f.b[21] = 0x06;
    FATE(r, frame_mbuf(&f, CPE0), "punt/0");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_FOR_US);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CPE0);
    CU_ASSERT_EQUAL(meta_out_port(rig_last(r)), CPE0);
    f.b[14] = 0; /* a flood from circuits that nobody has ends here */
    f.b[15] = 5;
    FATE(r, frame_mbuf(&f, CPE0), "drop unknown_subscriber");
    rig_close(r);
    r = rig_open(&task_classify, "", "to");
    f = from_cpe();
    f.b[21] = 0x06;
    FATE(r, frame_mbuf(&f, CPE0), "drop no_slow_path");
    rig_close(r);
}

static void by_address(void)
{
    struct rig *r = rig_open(&task_classify, "match=ipv4", NULL);
    struct ip ip = {.src = 0x14000001, .dst = 0x0a0001c8, .ttl = 3, .proto = 6, .payload = 30};
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip(&f, &ip);
    BECOMES(r, &f, CORE0, "to", &f);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE1);
    FATE(r, segmented(&f, CORE0), "drop segmented");
    f.b[25] ^= 1;
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_checksum");
    f.b[25] ^= 1;
    cut_everywhere(r, &f, CORE0, f.len);
    throw_noise(r, &f, CORE0, 2000);
    f.b[12] = 0x86;
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ipv4");
    f.b[12] = 0x08;
    f.b[13] = 0x06;
    FATE(r, frame_mbuf(&f, CORE0), "punt");
    f.len = 13;
    FATE(r, frame_mbuf(&f, CORE0), "drop short_frame");
    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    ip.dst = 0x0a000002;
    put_ip(&f, &ip);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_subscriber");
    f.b[14] = 0x46;
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_checksum");
    f.b[14] = 0x35;
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_ipv4");
    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    ip.dst = ADDR_CORE0; /* the gateway itself */
    put_ip(&f, &ip);
    FATE(r, frame_mbuf(&f, CORE0), "punt");
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_FOR_US);
    rig_close(r);
}

/* What a switch floods, and broadcasts, are not routed; the other bytes of the header do not
 * matter. */
static void foreign_macs(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame good = from_cpe(), f;

    FATE(r, frame_mbuf(&good, CPE0), "to");
    for (unsigned i = 0; i < 6; i++) {
        f = good;
        f.b[i] ^= 0x10;
        FATE(r, frame_mbuf(&f, CPE0), "drop foreign_mac");
    }
    f = good;
    memset(f.b, 0xff, 6);
    FATE(r, frame_mbuf(&f, CPE0), "drop group_mac");
    f = good;
    memset(f.b + 6, 0xa2, 6);
    FATE(r, frame_mbuf(&f, CPE0), "to");
    rig_close(r);
}

static void cut_and_noise(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame f = from_cpe();

    cut_everywhere(r, &f, CPE0, f.len);
    throw_noise(r, &f, CPE0, 20000);
    rig_close(r);
}

/* Good and bad ones in one burst: order is kept, none is lost. */
static void mixed_burst(void)
{
    struct rig *r = rig_open(&task_classify, "", NULL);
    struct frame good = from_cpe(), bad = good;
    struct rte_mbuf *m[BURST_MAX];

    bad.b[30] ^= 1;
    for (unsigned i = 0; i < BURST_MAX; i++) {
        good.b[59] = (uint8_t)i;
        m[i] = frame_mbuf(i % 3 == 0 ? &bad : &good, CPE0);
    }
    rig_burst(r, m, BURST_MAX);
    CU_ASSERT_EQUAL(rig_drops(r, "bad_checksum"), 22);
    CU_ASSERT_EQUAL_FATAL(rig_captured(r, "to"), 42);
    for (unsigned i = 0; i < 42; i++) {
        good.b[59] = (uint8_t)(i / 2 * 3 + i % 2 + 1);
        CU_ASSERT(mbuf_is(rig_out(r, "to", 0, i), good.b, good.len));
    }
    rig_close(r);
}

static const struct test tests[] = {
    {"subscribers by port and tags", finds_subscribers},
    {"the input's port", port_of_the_input},
    {"frames that are not QinQ IPv4", refuses_other_frames},
    {"IPv4 header", checks_the_header},
    {"spoofed sources", stops_spoofing},
    {"ARP", arp_is_for_us},
    {"by destination address", by_address},
    {"frames to others", foreign_macs},
    {"cut at every byte, and noise", cut_and_noise},
    {"a mixed burst", mixed_burst},
    {NULL, NULL},
};

const struct test_program test_program = {"classify", tests, harness_open, harness_close};
