/* SPDX-License-Identifier: BSD-3-Clause */
/* gre_decap: the outer headers are checked and come off. */
#include "frames.h"
#include "tasks/task_types.h"

#define HAS_SUM 0x8000
#define HAS_KEY 0x2000
#define HAS_SEQ 0x1000

static const struct ip inner = {
    .src = 0x14000001, .dst = 0x0a000001, .tos = 0x28, .ttl = 60, .proto = 17, .payload = 8};
static const struct ip outer = {.src = 0xc0000201, .dst = ADDR_CORE0, .ttl = 62, .proto = 47};

/* inner in GRE with these flags, in outer. */
static struct frame tunnelled(const struct ip *out, uint16_t flags, uint32_t key,
                              const struct ip *in)
{
    uint32_t gre =
        4u + (flags & HAS_SUM ? 4 : 0) + (flags & HAS_KEY ? 4 : 0) + (flags & HAS_SEQ ? 4 : 0);
    struct frame f = {0};
    uint32_t at;

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip_header(&f, out, gre + 20 + in->options * 4u + in->payload);
    at = f.len;
    put16(&f, flags);
    put16(&f, 0x0800);
    if (flags & HAS_SUM)
        put32(&f, 0);
    if (flags & HAS_KEY)
        put32(&f, key);
    if (flags & HAS_SEQ)
        put32(&f, 0xdeadbeef);
    put_ip(&f, in);
    if (flags & HAS_SUM) {
        uint16_t sum = (uint16_t)~sum16(f.b + at, f.len - at);

        f.b[at + 4] = (uint8_t)(sum >> 8);
        f.b[at + 5] = (uint8_t)sum;
    }
    return f;
}

static struct frame plain(const struct ip *in)
{
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE0), CORE_MAC(1), 0x0800);
    put_ip(&f, in);
    return f;
}

static void all_headers(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct ip out = outer, in = inner;

    for (unsigned flags = 0; flags < 8; flags++) {
        uint16_t bits = (uint16_t)((flags & 1 ? HAS_SUM : 0) | (flags & 2 ? HAS_KEY : 0) |
                                   (flags & 4 ? HAS_SEQ : 0));

        for (out.options = 0; out.options <= 10; out.options++) {
            in.options = 10 - out.options;
            for (in.payload = 0; in.payload < 20; in.payload++) {
                struct frame f = tunnelled(&out, bits, 0x1001, &in), expected = plain(&in);

                put_pad(&f, 60, 0xee);
                if ((bits & HAS_KEY) == 0) {
                    FATE(r, frame_mbuf(&f, CORE0), "drop no_key");
                    continue;
                }
                BECOMES(r, &f, CORE0, "to", &expected);
                CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE0);
                CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CORE0);
                rig_clear(r);
            }
        }
    }
    rig_close(r);
}

static void subscribers(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct ip in = inner;
    struct frame f;

    in.dst = 0x0a0001fd; /* anywhere in its prefix */
    f = tunnelled(&outer, HAS_KEY, 0x1002, &in);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_CPE1);
    for (in.src = 0x0a0000ff; in.src <= 0x0a000200; in.src++) { /* no packet comes from it */
        bool own = in.src >> 8 == 0x0a0001;

        f = tunnelled(&outer, HAS_KEY, 0x1002, &in);
        FATE(r, frame_mbuf(&f, CORE0), own ? "drop martian_source" : "to");
    }
    in.src = inner.src;
    f = tunnelled(&outer, HAS_KEY, 0x1001, &in); /* another subscriber's address */
    FATE(r, frame_mbuf(&f, CORE0), "drop misdelivered");
    /* keys beyond all tables: the predecessor read there */
    static const uint32_t keys[] = {0,      0x1000,  0x1003,  0x1005,
                                    0xffff, 0x10000, 0x11001, 0xffffffff};
    for (unsigned i = 0; i < RTE_DIM(keys); i++) {
        f = tunnelled(&outer, HAS_KEY, keys[i], &inner);
        FATE(r, frame_mbuf(&f, CORE0), "drop unknown_key");
    }
    rig_close(r);
}

static void without_key(void)
{
    struct rig *r = rig_open(&task_gre_decap, "key=optional", NULL);
    struct ip in = inner;
    struct frame f, expected;

    in.dst = 0x0a000003;
    f = tunnelled(&outer, 0, 0, &in);
    expected = plain(&in);
    BECOMES(r, &f, CORE0, "to", &expected);
    CU_ASSERT_EQUAL(meta_subscriber(rig_last(r)), SUB_NO_KEY);
    f = tunnelled(&outer, HAS_KEY, 0x1001, &inner); /* a key still counts */
    FATE(r, frame_mbuf(&f, CORE0), "to");
    f = tunnelled(&outer, HAS_KEY, 0x1001, &in);
    FATE(r, frame_mbuf(&f, CORE0), "drop misdelivered");
    in.dst = 0x0a000063;
    f = tunnelled(&outer, HAS_SEQ, 0, &in);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_address");
    f = tunnelled(&outer, 0, 0, &inner);
    f.len = 14 + 20 + 4 + 19;
    f.b[17] = 20 + 4 + 19;
    fix_ip(&f, 14);
    mbuf_guard(0);
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_ipv4");
    rig_close(r);
}

static void outer_header(void)
{
    static const uint16_t fragments[] = {0x2000, 0x0001, 0x1fff, 0x2001, 0x6000};
    struct rig *r = rig_open(&task_gre_decap, "", "to punt:4");
    struct frame f = tunnelled(&outer, HAS_KEY, 0x1001, &inner);
    struct ip out = outer;

    FATE(r, segmented(&f, CORE0), "drop segmented");
    f.b[14] = 0x44;
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_ipv4");
    f.b[14] = 0x45;
    f.b[17]++; /* total length: one beyond the frame */
    fix_ip(&f, 14);
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_length");
    f.b[17]--;
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_checksum");
    /* the predecessor never looked at the outer destination */
    out.dst = ADDR_CORE0 + 1;
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "drop not_for_us");
    out.dst = ADDR_CORE0;
    for (unsigned i = 0; i < RTE_DIM(fragments); i++) {
        out.fragment = fragments[i];
        f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
        FATE(r, frame_mbuf(&f, CORE0), "drop outer_fragment");
    }
    out.fragment = 0x4000;
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    rig_close(r);
}

/* A tunnel has two ends: each far end may send to the address that leads to it, and to no other. */
static void far_ends(void)
{
    static const uint32_t strangers[] = {0x7f000001, 0x0a000001, 0xc0000203, 0xc0000204, ADDR_CORE0,
                                         0,          1,          0x01000000, 0xffffffff};
    struct rig *r = rig_open(&task_gre_decap, "", "to punt:4");
    struct nexthop_spec spec = {.port = CORE0,
                                .mtu = 1500,
                                .gateway_mac = harness_model.ports[CORE0].mac,
                                .has_gre = true,
                                .gre_source = mapped6(ADDR_CORE0),
                                .gre_destination = mapped6(0xc6330001)};
    struct ip out = outer;
    struct frame f;
    int id;

    for (unsigned i = 0; i < RTE_DIM(strangers); i++) {
        out.src = strangers[i];
        f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
        FATE(r, frame_mbuf(&f, CORE0), "drop unknown_far_end");
    }
    /* each other's */
    out = (struct ip){.src = 0xc0000201, .dst = ADDR_CORE1, .ttl = 9, .proto = 47};
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE1), "drop unknown_far_end");
    out.src = 0xc0000202;
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "to"); /* by any port: ways in the core need not be symmetric */
    /* what is no tunnel's is anybody's */
    out = (struct ip){.src = 0x7f000001, .dst = ADDR_CORE0, .ttl = 9, .proto = 1, .payload = 8};
    f = plain(&out);
    FATE(r, frame_mbuf(&f, CORE0), "punt/2");
    /* as routes come and go */
    out = (struct ip){.src = 0xc6330001, .dst = ADDR_CORE0, .ttl = 9, .proto = 47};
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_far_end");
    id = route_add_nexthop(harness_tables()->routes, &spec);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    route_release_nexthop(harness_tables()->routes, (uint32_t)id);
    FATE(r, frame_mbuf(&f, CORE0), "drop unknown_far_end");
    rig_close(r);
    r = rig_open(&task_gre_decap, "far_ends=any", "to punt:4");
    FATE(r, frame_mbuf(&f, CORE0), "to");
    out.dst = ADDR_CPE0;
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    out.dst = ADDR_CORE0 + 1;
    f = tunnelled(&out, HAS_KEY, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "drop not_for_us");
    rig_close(r);
}

static void not_gre(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", "to punt:4");
    struct ip ip = {.src = 0xc0000201, .dst = ADDR_CORE0, .ttl = 1, .proto = 1, .payload = 30};
    struct frame f = plain(&ip);

    BECOMES(r, &f, CORE1, "punt/3", &f);
    CU_ASSERT_EQUAL(meta_punt_reason(rig_last(r)), PUNT_FOR_US);
    CU_ASSERT_EQUAL(meta_in_port(rig_last(r)), CORE1);
    f.b[13] = 0x06;
    BECOMES(r, &f, CORE0, "punt/2", &f);
    f.b[12] = 0x88;
    f.b[13] = 0x47;
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ip");
    f.len = 13;
    FATE(r, frame_mbuf(&f, CORE0), "drop short_frame");
    rig_close(r);
    r = rig_open(&task_gre_decap, "", "to");
    f = plain(&ip);
    FATE(r, frame_mbuf(&f, CORE0), "drop no_slow_path");
    rig_close(r);
}

static void gre_header(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct frame f;

    /* routing, reserved bits 4 and 5, and each bit of the version */
    static const uint16_t bad[] = {0x4000, 0x0800, 0x0400, 1, 2, 4, 7};
    for (unsigned i = 0; i < RTE_DIM(bad); i++) {
        f = tunnelled(&outer, (uint16_t)(HAS_KEY | bad[i]), 0x1001, &inner);
        FATE(r, frame_mbuf(&f, CORE0), "drop bad_gre");
    }
    /* bits 6 to 12 are ignored: RFC 2784 section 2.3 */
    f = tunnelled(&outer, HAS_KEY | 0x03f8, 0x1001, &inner);
    FATE(r, frame_mbuf(&f, CORE0), "to");
    /* an outer packet that ends within the GRE header that its flags announce */
    for (uint8_t len = 0; len < 16; len++) {
        f = tunnelled(&outer, HAS_KEY | HAS_SUM | HAS_SEQ, 0x1001, &inner);
        f.len = 34 + len;
        f.b[17] = 20 + len;
        fix_ip(&f, 14);
        mbuf_guard(0);
        FATE(r, frame_mbuf(&f, CORE0), "drop bad_gre");
    }
    f = tunnelled(&outer, HAS_KEY, 0x1001, &inner);
    f.b[36] = 0x65; /* transparent Ethernet bridging: RFC 7637 */
    f.b[37] = 0x58;
    FATE(r, frame_mbuf(&f, CORE0), "drop not_ipv4");
    f = tunnelled(&outer, HAS_KEY | HAS_SUM, 0x1001, &inner);
    f.b[f.len - 1] ^= 1;
    FATE(r, frame_mbuf(&f, CORE0), "drop bad_gre_checksum");
    rig_close(r);
}

static void inner_header(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    const struct frame good = tunnelled(&outer, HAS_KEY, 0x1001, &inner);
    struct frame f = good;

    f.b[42] = 0x65;
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_ipv4");
    f.b[42] = 0x44;
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_ipv4");
    f.b[42] = 0x4f; /* a header of 60 bytes */
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_ipv4");
    f = good;
    f.b[45]++; /* beyond the outer packet, though padding is there */
    fix_ip(&f, 42);
    put_pad(&f, 100, 0);
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_length");
    f.b[45] = 19;
    fix_ip(&f, 42);
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_length");
    f = good;
    f.b[50] ^= 1;
    FATE(r, frame_mbuf(&f, CORE0), "drop inner_bad_checksum");
    rig_close(r);
}

static void cut_and_noise(void)
{
    struct rig *r = rig_open(&task_gre_decap, "", NULL);
    struct frame f = tunnelled(&outer, HAS_KEY | HAS_SUM | HAS_SEQ, 0x1001, &inner);

    cut_everywhere(r, &f, CORE0, f.len);
    throw_noise(r, &f, CORE0, 20000);
    rig_close(r);
    r = rig_open(&task_gre_decap, "key=optional", NULL);
    f = tunnelled(&outer, 0, 0, &inner);
    cut_everywhere(r, &f, CORE0, f.len);
    rig_close(r);
}

static const struct test tests[] = {
    {"all headers and sizes", all_headers},
    {"subscribers by key", subscribers},
    {"without key", without_key},
    {"outer header", outer_header},
    {"the tunnel's far end", far_ends},
    {"what is not GRE", not_gre},
    {"GRE header", gre_header},
    {"inner header", inner_header},
    {"cut at every byte, and noise", cut_and_noise},
    {NULL, NULL},
};

const struct test_program test_program = {"gre_decap", tests, harness_open, harness_close};
