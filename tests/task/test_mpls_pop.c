/* SPDX-License-Identifier: BSD-3-Clause */
/* mpls_pop: the stack comes off, whatever it looks like. */
#include "frames.h"
#include "tasks/task_types.h"

static const struct ip packet = {
    .src = 0xc0000201, .dst = ADDR_CORE0, .ttl = 60, .proto = 47, .payload = 40};

/* n labels from first on; the last has S set. */
static struct frame labelled(unsigned n, uint32_t first, uint8_t ttl, const struct ip *ip)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x8847);
    for (unsigned i = 0; i < n; i++)
        put32(&f, (first + i) << 12 | (i == n - 1 ? 0x100 : 0) | (i == 0 ? ttl : 7));
    put_ip(&f, ip);
    return f;
}

static struct frame unlabelled(const struct ip *ip)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip(&f, ip);
    return f;
}

static void stacks(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "", NULL);
    struct frame expected = unlabelled(&packet), f;

    for (unsigned n = 1; n <= 8; n++) {
        f = labelled(n, 16, 64, &packet);
        BECOMES(r, &f, CORE0, "to", &expected);
        CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CORE0);
    }
    f = labelled(9, 16, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "drop too_many_labels");
    rig_close(r);
    r = rig_open(&task_mpls_pop, "max_labels=1", NULL);
    f = labelled(2, 16, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "drop too_many_labels");
    f = labelled(1, 16, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    rig_close(r);
}

/* The predecessor walked on until it met a bit that was set. */
static void no_bottom(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "max_labels=64", NULL);
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x8847);
    for (unsigned n = 0; n < 70; n++) {
        mbuf_guard(0);
        FATE(r, frame_mbuf(&f, CORE0), n < 64 ? "drop no_bottom" : "drop too_many_labels");
        for (unsigned k = 1; k < 4 && n < 63; k++) { /* a part of the next entry */
            struct frame more = f;

            put_pad(&more, (uint16_t)(f.len + k), 0xff);
            FATE(r, frame_mbuf(&more, CORE0), "drop no_bottom");
        }
        put32(&f, 16 << 12 | 64);
    }
    rig_close(r);
}

static void ttl(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "", NULL);
    struct ip lower = packet;

    for (unsigned n = 0; n < 256; n++) {
        struct frame f = labelled(2, 16, (uint8_t)n, &packet), expected;

        if (n <= 1) {
            FATE(r, frame_mbuf(&f, CORE0), "drop ttl_expired");
            continue;
        }
        lower.ttl = n < packet.ttl ? (uint8_t)n : packet.ttl;
        expected = unlabelled(&lower);
        BECOMES(r, &f, CORE0, "to", &expected);
    }
    rig_close(r);
}

static void accepted_labels(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "label=100-200", NULL);
    struct frame f;

    f = labelled(1, 100, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    f = labelled(1, 200, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    f = labelled(1, 0, 64, &packet); /* explicit null */
    FATE(r, frame_mbuf(&f, CORE0), "to");
    for (uint32_t label = 1; label < 16; label++) {
        f = labelled(1, label, 64, &packet);
        FATE(r, frame_mbuf(&f, CORE0),
             label == 2 ? "drop not_ip" : "drop special_label"); /* IPv6 explicit null over IPv4 */
    }
    f = labelled(1, 99, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_label");
    f = labelled(1, 201, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_label");
    f = labelled(1, 0xfffff, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_label");
    f = labelled(2, 200, 64, &packet); /* the second is 201 */
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_label");
    rig_close(r);
}

static void what_is_below(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "", NULL);
    struct frame f = labelled(1, 16, 64, &packet);

    f.b[18] = 0x60;
    FATE(r, frame_mbuf(&f, CORE0), "to"); /* 6PE */
    f.b[18] = 0x50;
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ip");
    f.b[18] = 0x00; /* a pseudowire's control word */
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ip");
    f.b[18] = 0x45;
    f.len = 18 + 19;
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ip");
    rig_close(r);
}

static void without_labels(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "", "to punt:4");
    struct frame f = unlabelled(&packet);

    BECOMES(r, &f, CORE0, "to", &f);
    FATE(r, segmented(&f, CORE0), "drop segmented");
    f.b[12] = 0x86;
    f.b[13] = 0xdd;
    BECOMES(r, &f, CORE0, "to", &f);
    f.b[12] = 0x81;
    f.b[13] = 0x00; /* the core side has no tags */
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ip_or_mpls");
    f.b[12] = 0x88;
    f.b[13] = 0x48; /* MPLS multicast */
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ip_or_mpls");
    f.b[12] = 0x08;
    f.b[13] = 0x06;
    BECOMES(r, &f, CORE1, "punt/3", &f);
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_FOR_US);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CORE1);
    f.len = 13;
    FATE(r, frame_mbuf(&f, CORE0), "drop short_frame");
    rig_close(r);
    r = rig_open(&task_mpls_pop, "unlabelled=drop", "to");
    f = unlabelled(&packet);
    FATE(r, frame_mbuf(&f, CORE0), "drop unlabelled");
    f.b[13] = 0x06;
    FATE(r, frame_mbuf(&f, CORE0), "drop no_slow_path");
    f = labelled(1, 16, 64, &packet);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    FATE(r, segmented(&f, CORE0), "drop segmented");
    rig_close(r);
}

/* What a switch floods, and broadcasts, are not routed; the other bytes of the header do not
 * matter. */
static void foreign_macs(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "", NULL);
    struct frame good = labelled(2, 16, 64, &packet), f;

    FATE(r, frame_mbuf(&good, CORE0), "to");
    for (unsigned i = 0; i < 6; i++) {
        f = good;
        f.b[i] ^= 0x10;
        FATE(r, frame_mbuf(&f, CORE0), "drop foreign_mac");
    }
    f = good;
    memset(f.b, 0xff, 6);
    FATE(r, frame_mbuf(&f, CORE0), "drop foreign_mac");
    f = good;
    memset(f.b + 6, 0xa2, 6);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    rig_close(r);
}

static void cut_and_noise(void)
{
    struct rig *r = rig_open(&task_mpls_pop, "", NULL);
    struct frame f = labelled(3, 16, 64, &packet);

    cut_everywhere(r, &f, CORE0, 14 + 12 + 20);
    throw_noise(r, &f, CORE0, 20000);
    rig_close(r);
}

static const struct test tests[] = {
    {"stacks", stacks},
    {"stacks without bottom", no_bottom},
    {"TTL", ttl},
    {"accepted labels", accepted_labels},
    {"what is below", what_is_below},
    {"without labels", without_labels},
    {"frames to others", foreign_macs},
    {"cut at every byte, and noise", cut_and_noise},
    {NULL, NULL},
};

const struct test_program test_program = {"mpls_pop", tests, harness_open, harness_close};
