/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates that are pcaps: the frames that they give, and the words of every error. */
#include "common/program.h"
#include "template_bed.h"

#include <string.h>

struct capture {
    uint8_t bytes[1 << 16];
    size_t len;
    bool big_endian;
};

static struct capture cap;

static void put32(uint32_t v)
{
    if (cap.big_endian)
        v = __builtin_bswap32(v);
    memcpy(cap.bytes + cap.len, &v, 4);
    cap.len += 4;
}

static void start_pcap(uint32_t magic, uint32_t link)
{
    cap.len = 0;
    put32(magic);
    put32(cap.big_endian ? 2u << 16 | 4 : 4u << 16 | 2);
    put32(0);
    put32(0);
    put32(262144);
    put32(link);
}

static void put_frame(uint32_t captured, uint32_t original, uint8_t first)
{
    put32(1);
    put32(2);
    put32(captured);
    put32(original);
    for (uint32_t i = 0; i < captured; i++)
        cap.bytes[cap.len++] = (uint8_t)(first + i);
}

static void good_pcaps(void)
{
    static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d};

    for (unsigned i = 0; i < 4; i++) {
        struct diags d = {0};
        struct pkt_template *t;

        cap.big_endian = i >= 2;
        start_pcap(magics[i % 2], 1);
        put_frame(60, 60, 1);
        put_frame(1, 1, 9);
        put_frame(TEMPLATE_MAX_FRAME, TEMPLATE_MAX_FRAME, 7);
        write_file(cap.bytes, cap.len);
        t = template_load(template_path, NULL, &d);
        CU_ASSERT_PTR_NOT_NULL_FATAL(t);
        CU_ASSERT_EQUAL(d.n, 0);
        CU_ASSERT_EQUAL_FATAL(t->n_frames, 3);
        CU_ASSERT_EQUAL(t->n_vars + t->n_fields + t->n_ipv4, 0);
        CU_ASSERT_EQUAL(t->frames[0].len, 60);
        CU_ASSERT_EQUAL(t->frames[0].bytes[59], 60);
        CU_ASSERT_EQUAL(t->frames[1].len, 1);
        CU_ASSERT_EQUAL(t->frames[1].bytes[0], 9);
        CU_ASSERT_EQUAL(t->frames[2].len, TEMPLATE_MAX_FRAME);
        CU_ASSERT_EQUAL(t->frames[2].bytes[1], 8);
        template_free(t);
        diag_free(&d);
    }
    cap.big_endian = false;
}

static void bad_pcaps(void)
{
    static const uint8_t pcapng[] = {0x0a, 0x0d, 0x0d, 0x0a, 0x1c, 0, 0, 0};

    bad_bytes(pcapng, sizeof(pcapng), 0,
              "error: this is a pcapng capture; convert it to a classic pcap: editcap -F pcap "
              "IN.pcapng OUT.pcap");
    start_pcap(0xa1b2c3d4, 1);
    bad_bytes(cap.bytes, 23, 0, "error: the pcap ends within its file header");
    bad_bytes(cap.bytes, 24, 0, "error: the pcap has no frames");
    bad_bytes(cap.bytes, 24, 128,
              "error: size 128 cannot be given for a pcap: its frames keep their own sizes");
    put_frame(60, 60, 0);
    bad_bytes(cap.bytes, 24 + 15, 0, "error: the pcap ends within the header of frame 1");
    bad_bytes(cap.bytes, cap.len - 1, 0, "error: the pcap ends within frame 1");
    put_frame(60, 61, 0);
    bad_bytes(cap.bytes, cap.len, 0, "error: frame 2 is cut off: 60 of 61 bytes were captured");
    start_pcap(0xa1b2c3d4, 1);
    put_frame(0, 0, 0);
    bad_bytes(cap.bytes, cap.len, 0, "error: frame 1 has 0 bytes; expected 1 to 9018");
    start_pcap(0xa1b2c3d4, 1);
    put_frame(9019, 9019, 0);
    bad_bytes(cap.bytes, cap.len, 0, "error: frame 1 has 9019 bytes; expected 1 to 9018");
    start_pcap(0xa1b2c3d4, 113);
    put_frame(60, 60, 0);
    bad_bytes(cap.bytes, cap.len, 0, "error: the pcap's link type is 113; expected Ethernet (1)");
    start_pcap(0xa1b2c3d4, 1u << 26 | 2u << 28 | 1);
    put_frame(60, 60, 0);
    bad_bytes(cap.bytes, cap.len, 0,
              "error: the pcap's frames include their FCS; capture them without");
}

static const struct test tests[] = {
    {"pcaps", good_pcaps},
    {"bad pcaps", bad_pcaps},
    {NULL, NULL},
};

const struct test_program test_program = {"pcaps", tests, make_file, remove_file};
