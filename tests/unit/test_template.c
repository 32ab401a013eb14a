/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates: the bytes that a text template gives, and the fields that vary. */
#include "common/program.h"
#include "template_bed.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(...) (&(const struct template_field){__VA_ARGS__})
#define ALL        .mask = UINT32_MAX

static const char upstream[] = "# upstream\n"
                               "size 64   # smallest\n"
                               "var  user 0-32767 random\n"
                               "\tvar dest 0-131071 step 16\r\n"
                               "\n"
                               "ether src 02:c0:00:00:00:00+user dst 02:b0:00:00:00:00\n"
                               "vlan  tpid 0x88a8 id 128 + user[14:8] pcp 5\n"
                               "vlan  id 256 +user[7:0]\n"
                               "ipv4  src 10.0.0.0 + user dst 198.18.0.0 + dest dscp 46\n"
                               "udp   src 1024 dst 2048\n"
                               "payload ab";

/* The paper's 64-byte frame ends in 10 bytes of Ethernet padding, which no length field counts. */
static void access_frame(void)
{
    struct pkt_template *t = good(upstream, 0);

    CU_ASSERT_STRING_EQUAL(t->path, template_path);
    CU_ASSERT_EQUAL(t->n_frames, 1);
    check_frame(&t->frames[0], "02b000000000 02c000000000 88a8 a000 8100 0000 0800 |"
                               "45b8001c 00000000 40110000 00000000 00000000 |"
                               "04000800 00080000 | 00000000000000000000");
    CU_ASSERT_EQUAL(t->n_vars, 2);
    CU_ASSERT_STRING_EQUAL(t->vars[0].name, "user");
    CU_ASSERT_EQUAL(t->vars[0].first, 0);
    CU_ASSERT_EQUAL(t->vars[0].last, 32767);
    CU_ASSERT_EQUAL(t->vars[0].step, 0);
    CU_ASSERT_STRING_EQUAL(t->vars[1].name, "dest");
    CU_ASSERT_EQUAL(t->vars[1].last, 131071);
    CU_ASSERT_EQUAL(t->vars[1].step, 16);
    CU_ASSERT_EQUAL(t->n_fields, 5);
    check_field(t, 0, FIELD(.offset = 8, .size = 4, ALL));
    check_field(t, 1, FIELD(.offset = 14, .size = 2, .shift = 8, .mask = 0x7f, .base = 128));
    check_field(t, 2, FIELD(.offset = 18, .size = 2, .mask = 0xff, .base = 256));
    check_field(t, 3, FIELD(.offset = 34, .size = 4, ALL, .base = 0x0a000000));
    check_field(t, 4, FIELD(.offset = 38, .size = 4, ALL, .var = 1, .base = 0xc6120000));
    CU_ASSERT_EQUAL(t->n_ipv4, 1);
    CU_ASSERT_EQUAL(t->ipv4_offset[0], 22);
    template_free(t);
}

/* A length field of a frame. */
static unsigned length_at(const struct template_frame *f, unsigned at)
{
    return f->bytes[at] << 8 | f->bytes[at + 1];
}

/* A frame above the smallest size is filled with payload, which the length fields count. */
static void access_sizes(void)
{
    static const uint32_t sizes[] = {65, 128, 256, 512, 1024, 1494, 9022};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pkt_template *t = good(upstream, sizes[i]);
        const struct template_frame *f = &t->frames[0];
        unsigned ip = sizes[i] - 4 - 22;

        CU_ASSERT_EQUAL(f->len, sizes[i] - 4);
        CU_ASSERT_EQUAL(length_at(f, 24), ip);
        CU_ASSERT_EQUAL(length_at(f, 46), ip - 20);
        CU_ASSERT_EQUAL(f->bytes[50], 0xab);
        CU_ASSERT_EQUAL(f->bytes[f->len - 1], 0xab);
        template_free(t);
    }
}

/* The paper's 78-byte frame; only the inner header varies. */
static void core_frame(void)
{
    struct pkt_template *t = good("var user 0-65535 random\n"
                                  "ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00\n"
                                  "mpls label 16 exp 3 ttl 255\n"
                                  "ipv4 src 203.0.113.1 dst 192.0.2.1 df 1 id 0x1234\n"
                                  "gre key user\n"
                                  "ipv4 src 198.18.0.1 dst 10.0.0.0 + user\n"
                                  "udp src 2048 dst 1024\n",
                                  0);

    check_frame(&t->frames[0], "02b000000100 02dd00000000 8847 | 000107ff |"
                               "45000038 12344000 402f2a60 cb007101 c0000201 | 20000800 00000000 |"
                               "4500001c 00000000 40110000 c6120001 00000000 | 08000400 00080000");
    CU_ASSERT_EQUAL(t->n_fields, 2);
    check_field(t, 0, FIELD(.offset = 42, .size = 4, ALL));
    check_field(t, 1, FIELD(.offset = 62, .size = 4, ALL, .base = 0x0a000000));
    CU_ASSERT_EQUAL(t->n_ipv4, 1);
    CU_ASSERT_EQUAL(t->ipv4_offset[0], 46);
    CU_ASSERT_EQUAL(t->n_layers, 6);
    CU_ASSERT_EQUAL(t->layers[3].kind, LAYER_GRE);
    CU_ASSERT_EQUAL(t->layers[3].offset, 38);
    CU_ASSERT_EQUAL(t->layers[3].len, 8);
    CU_ASSERT_EQUAL(t->header_len, 74);
    template_free(t);
}

static void label_stack(void)
{
    struct pkt_template *t = good("var l 0-1000 step 7\n" ETHER "mpls label 16 + l[9:1] ttl 0\n"
                                  "mpls label 0xfffff exp 7\n" IPV4 "udp src 1 dst 2",
                                  0);

    /* Only the last entry of the stack has the bottom-of-stack bit. */
    check_frame(&t->frames[0], "02bb00000000 020000000001 8847 | 00000000 ffffff40 |"
                               "4500001c 00000000 4011aabd 0a000001 c6120001 | 00010002 00080000 | "
                               "00000000 00000000 0000");
    check_field(
        t, 0, FIELD(.offset = 14, .size = 4, .lshift = 12, .shift = 1, .mask = 0x1ff, .base = 16));
    CU_ASSERT_EQUAL(t->n_ipv4, 0);
    template_free(t);
}

static void other_layers(void)
{
    struct pkt_template *t;

    t = good(ETHER IPV4 "icmp id 7 seq 9\npayload dead be\n", 100);
    check_frame(&t->frames[0],
                "02bb00000000 020000000001 0800 |"
                "45000052 00000000 4001aa97 0a000001 c6120001 | 0800524a 00070009 |"
                "deadbe deadbe deadbe deadbe deadbe deadbe deadbe deadbe deadbe deadbe deadbe"
                "deadbe deadbe deadbe deadbe deadbe deadbe deadbe");
    template_free(t);
    t = good(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2", 0);
    check_frame(&t->frames[0], "02bb00000000 020000000001 0800 |"
                               "45000034 00000000 402faa87 0a000001 c6120001 | 00000800 |"
                               "4500001c 00000000 4011aabd 0a000001 c6120001 | 00010002 00080000");
    template_free(t);
    t = good("var who 1-254 step 1\nether src 02:00:00:00:00:01 dst ff:ff:ff:ff:ff:ff\n"
             "vlan id 4095 pcp 7 dei 1\n"
             "arp sender_mac 02:00:00:00:00:00 + who sender_ip 192.0.2.2 target_ip 192.0.2.0+who",
             0);
    check_frame(&t->frames[0], "ffffffffffff 020000000001 8100 ffff 0806 |"
                               "0001 0800 06 04 0001 0200 00000000 c0000202 000000000000 00000000 |"
                               "0000 00000000 00000000 00000000");
    check_field(t, 0, FIELD(.offset = 28, .size = 4, ALL));
    check_field(t, 1, FIELD(.offset = 42, .size = 4, ALL, .base = 0xc0000200));
    template_free(t);
    /* A type that the file gives is kept, although another would follow from the layers. */
    t = good(ETHER "vlan tpid 0x9100 id 1 type 0x88b5\npadding 0\npayload 01", 0);
    check_frame(&t->frames[0],
                "02bb00000000 020000000001 9100 0001 88b5"
                "0101 01010101 01010101 01010101 01010101 01010101 01010101 01010101 01010101"
                "01010101 01010101");
    template_free(t);
    t = good(ETHER "ipv4 src 10.0.0.1 dst 198.18.0.1 proto 253 ecn 3 mf 1 fragment 0x1005 ttl 1",
             0);
    check_frame(&t->frames[0], "02bb00000000 020000000001 0800 |"
                               "45030014 00003005 01fdb8d1 0a000001 c6120001"
                               "00000000 00000000 00000000 00000000 00000000 00000000 0000");
    template_free(t);
}

/* With padding 0 even the smallest frame is filled with payload, which the length fields count. */
static void no_padding(void)
{
    struct pkt_template *t = good(ETHER IPV4 "udp src 1 dst 2\npadding 0\npayload ff\n", 64);

    CU_ASSERT_EQUAL(t->frames[0].bytes[17], 46);
    CU_ASSERT_EQUAL(t->frames[0].bytes[39], 26);
    CU_ASSERT_EQUAL(t->frames[0].bytes[59], 0xff);
    template_free(t);
    t = good(ETHER IPV4 "udp src 1 dst 2\npadding 128\npayload ff\n", 128);
    CU_ASSERT_EQUAL(t->frames[0].bytes[17], 28);
    CU_ASSERT_EQUAL(t->frames[0].bytes[59], 0);
    template_free(t);
}

/* The sizes that a notation gives, in their order: "SIZE SIZE ...". */
static const char *order(const char *text)
{
    static char words[FRAME_SIZES_MAX * 5 + 1];
    struct frame_sizes sizes;
    FILE *f;

    words[0] = '\0';
    if (frame_sizes_parse(text, &sizes) != 0)
        return "wrong";
    f = fmemopen(words, sizeof(words), "w");
    for (unsigned i = 0; i < sizes.n; i++)
        fprintf(f, "%s%u", i > 0 ? " " : "", sizes.size[i]);
    fclose(f);
    return words;
}

static void mixed_sizes(void)
{
    static const char *const wrong[] = {
        "",     "63",        "9023",         "x",       "64:",    ":1", "64:0", "63:1", "9023:1",
        "64;1", "64:1;65:1", "64:200,65:57", "64:1,65", "imix:1", "-64"};
    struct frame_sizes sizes;
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    CU_ASSERT_STRING_EQUAL(order("0"), "");
    CU_ASSERT_STRING_EQUAL(order("64"), "64");
    CU_ASSERT_STRING_EQUAL(order("9022"), "9022");
    CU_ASSERT_STRING_EQUAL(order("64:5"), "64");
    CU_ASSERT_STRING_EQUAL(order("64:20,128:20"), "64 128");
    CU_ASSERT_STRING_EQUAL(order("64:2, 1518:1"), "64 1518 64");
    CU_ASSERT_STRING_EQUAL(order("imix"), "64 594 64 64 594 64 1518 64 594 64 594 64");
    CU_ASSERT_STRING_EQUAL(order("64:7,594:4,1518:1"), order("imix"));
    CU_ASSERT_EQUAL(frame_sizes_parse("64:200,65:56", &sizes), 0);
    CU_ASSERT_EQUAL(sizes.n, 32);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CU_ASSERT_STRING_EQUAL(order(wrong[i]), "wrong");
    }
    /* Each size has a frame with the same layers, whose length fields count its own payload. */
    write_file(FRAME, strlen(FRAME));
    CU_ASSERT_EQUAL(frame_sizes_parse("imix", &sizes), 0);
    t = template_load(template_path, &sizes, &d);
    CU_ASSERT_EQUAL(d.n, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL_FATAL(t->n_frames, 12);
    for (unsigned i = 0; i < 12; i++) {
        unsigned packet = sizes.size[i] == 64 ? 28 : sizes.size[i] - 18u;

        CU_ASSERT_EQUAL(t->frames[i].len, sizes.size[i] - 4);
        CU_ASSERT_EQUAL(length_at(&t->frames[i], 16), packet);
        CU_ASSERT_EQUAL(t->frames[i].payload, packet - 28);
    }
    CU_ASSERT_EQUAL(t->header_len, 42);
    CU_ASSERT_EQUAL(t->padding, 64);
    template_free(t);
    /* One error is enough, although 64 stands seven times among the twelve sizes. */
    write_file(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2",
               strlen(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2"));
    CU_ASSERT_PTR_NULL(template_load(template_path, &sizes, &d));
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, "error: size 64 is too small: the layers need 70 bytes with FCS");
    free(words);
    diag_free(&d);
}

/* --- pkt_templates/: the paper's streams and the project's addresses --- */

static struct pkt_template *shipped(const char *name, uint32_t size)
{
    const char *source = getenv("VBNG_SOURCE");
    struct diags d = {0};
    struct pkt_template *t;
    char file[1024];

    snprintf(file, sizeof(file), "%s/pkt_templates/%s.tmpl", source != NULL ? source : ".", name);
    t = template_load(file, one(size), &d);
    CU_ASSERT_EQUAL(d.n, 0);
    diag_print(&d, stderr);
    diag_free(&d);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

/* The first frame with each variable at its last value, as the task gen would send it. */
static void check_last(const char *name, uint32_t size, const char *want)
{
    struct pkt_template *t = shipped(name, size);
    uint8_t *b = t->frames[0].bytes;

    for (unsigned i = 0; i < t->n_fields; i++) {
        const struct template_field *f = &t->fields[i];
        uint64_t v = (f->base + ((uint64_t)t->vars[f->var].last >> f->shift & f->mask))
                     << f->lshift;

        CU_ASSERT_EQUAL(t->vars[f->var].step, 0);
        for (unsigned k = 0; k < f->size; k++)
            b[f->offset + k] |= (uint8_t)(v >> (8 * (f->size - 1 - k)));
    }
    check_frame(&t->frames[0], want);
    template_free(t);
}

static void shipped_streams(void)
{
    static const uint32_t pairs[][2] = {
        {128, 152}, {256, 280}, {512, 536}, {1024, 1048}, {1494, 1518}};

    check_last("cpe0", 0,
               "02b000000000 02c000007fff 88a8 00ff 8100 01ff 0800 |"
               "4500001c 00000000 40110000 0a007fff c613ffff |"
               "04000800 00080000 | 00000000000000000000");
    check_last("cpe1", 0,
               "02b000000001 02c100007fff 88a8 00ff 8100 01ff 0800 |"
               "4500001c 00000000 40110000 0a00ffff c613ffff |"
               "04000800 00080000 | 00000000000000000000");
    check_last("core0", 0,
               "02b000000100 02dd00000000 8847 00010140 |"
               "45000038 00000000 402f7c94 cb007101 c0000201 | 20000800 0000ffff |"
               "4500001c 00000000 40110000 c612ffff 0a00ffff | 08000400 00080000");
    check_last("core1", 0,
               "02b000000101 02dd00000001 8847 00011140 |"
               "45000038 00000000 402f7c8f cb007102 c0000205 | 20000800 0000ffff |"
               "4500001c 00000000 40110000 c613ffff 0a00ffff | 08000400 00080000");
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct pkt_template *access = shipped("cpe0", pairs[i][0]);
        struct pkt_template *core = shipped("core1", pairs[i][1]);

        /* The same IPv4 packet on both sides. */
        CU_ASSERT_EQUAL(access->frames[0].len, pairs[i][0] - 4);
        CU_ASSERT_EQUAL(core->frames[0].len, pairs[i][1] - 4);
        CU_ASSERT_EQUAL(memcmp(access->frames[0].bytes + 24, core->frames[0].bytes + 48, 2), 0);
        template_free(access);
        template_free(core);
    }
}

static const struct test tests[] = {
    {"the paper's access frame", access_frame},
    {"access frames of all sizes", access_sizes},
    {"the paper's core frame", core_frame},
    {"label stack", label_stack},
    {"other layers", other_layers},
    {"padding", no_padding},
    {"mixed sizes", mixed_sizes},
    {"the streams that come with vbng", shipped_streams},
    {NULL, NULL},
};

const struct test_program test_program = {"templates", tests, make_file, remove_file};
