/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates: the bytes that a text gives, the fields that vary, pcaps, and the exact words
 * of every error. */
#include "config/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CUnit/Basic.h>

static char path[] = "/tmp/vbng-template-XXXXXX";

static int make_file(void)
{
    int fd = mkstemp(path);

    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int remove_file(void)
{
    return unlink(path);
}

static void write_file(const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(data, 1, len, f), len);
    fclose(f);
}

/* All that was said about a template, one line each, without its path. */
static char *said(struct diags *d)
{
    char *text = NULL, *out;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    diag_print(d, f);
    fclose(f);
    out = calloc(1, len + 1);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        CU_ASSERT_EQUAL(strncmp(line, path, strlen(path)), 0);
        line += strlen(path) + 1;
        strcat(out, line + (line[0] == ' '));
        strcat(out, "\n");
    }
    free(text);
    if (out[0] != '\0')
        out[strlen(out) - 1] = '\0';
    return out;
}

/* Frames of one size; 0: the template's own. */
static const struct frame_sizes *one(uint32_t size)
{
    static struct frame_sizes sizes;

    sizes.n = size != 0;
    sizes.size[0] = (uint16_t)size;
    return &sizes;
}

/* A template without errors or warnings. */
static struct pkt_template *good(const char *text, uint32_t size)
{
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    write_file(text, strlen(text));
    t = template_load(path, one(size), &d);
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, "");
    if (words[0] != '\0')
        printf("\n    %s\n", words);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    free(words);
    diag_free(&d);
    return t;
}

static void bad_bytes(const void *data, size_t len, uint32_t size, const char *want)
{
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    write_file(data, len);
    t = template_load(path, one(size), &d);
    CU_ASSERT_PTR_NULL(t);
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, want);
    if (strcmp(words, want) != 0)
        printf("\n    want: %s\n    got:  %s\n", want, words);
    free(words);
    diag_free(&d);
    template_free(t);
}

static void bad(const char *text, const char *want)
{
    bad_bytes(text, strlen(text), 0, want);
}

/* Compare a frame with bytes in hexadecimal, of which spaces and bars do not count. */
static void check_frame(const struct template_frame *f, const char *want)
{
    char hex[2 * 1600 + 1], expect[2 * 1600 + 1];
    size_t n = 0;

    CU_ASSERT_FATAL(f->len <= 1600);
    for (unsigned i = 0; i < f->len; i++)
        sprintf(hex + 2 * (size_t)i, "%02x", f->bytes[i]);
    hex[2 * (size_t)f->len] = '\0';
    for (; *want != '\0'; want++)
        if (isxdigit((unsigned char)*want))
            expect[n++] = *want;
    expect[n] = '\0';
    CU_ASSERT_STRING_EQUAL(hex, expect);
    if (strcmp(hex, expect) != 0)
        printf("\n    want: %s\n    got:  %s\n", expect, hex);
}

static void check_field(const struct pkt_template *t, unsigned i, const struct template_field *want)
{
    const struct template_field *f = &t->fields[i];

    CU_ASSERT_FATAL(i < t->n_fields);
    CU_ASSERT_EQUAL(f->offset, want->offset);
    CU_ASSERT_EQUAL(f->size, want->size);
    CU_ASSERT_EQUAL(f->lshift, want->lshift);
    CU_ASSERT_EQUAL(f->var, want->var);
    CU_ASSERT_EQUAL(f->shift, want->shift);
    CU_ASSERT_EQUAL(f->mask, want->mask);
    CU_ASSERT_EQUAL(f->base, want->base);
}

#define FIELD(...) (&(const struct template_field){__VA_ARGS__})
#define ALL        .mask = UINT32_MAX
#define ETHER      "ether src 02:00:00:00:00:01 dst 02:bb:00:00:00:00\n"
#define IPV4       "ipv4 src 10.0.0.1 dst 198.18.0.1\n"

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

/* The paper's 64-byte frame: 10 bytes of Ethernet padding, which no length counts. */
static void access_frame(void)
{
    struct pkt_template *t = good(upstream, 0);

    CU_ASSERT_STRING_EQUAL(t->path, path);
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

/* At other sizes the fill is payload, and counts. */
static void access_sizes(void)
{
    static const uint32_t sizes[] = {65, 128, 256, 512, 1024, 1494, 9022};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pkt_template *t = good(upstream, sizes[i]);
        const struct template_frame *f = &t->frames[0];
        unsigned ip = sizes[i] - 4 - 22;

        CU_ASSERT_EQUAL(f->len, sizes[i] - 4);
        CU_ASSERT_EQUAL(f->bytes[24] << 8 | f->bytes[25], ip);
        CU_ASSERT_EQUAL(f->bytes[46] << 8 | f->bytes[47], ip - 20);
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

    /* The bottom-of-stack bit only in the last entry. */
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
    /* What is said goes before what would be filled in. */
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

/* padding 0: even the smallest frame is filled with payload that counts. */
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

/* --- errors --- */

static void bad_layers(void)
{
    bad("", "error: there are no layers; the first is: ether src MAC dst MAC");
    bad("# nothing\n", "error: there are no layers; the first is: ether src MAC dst MAC");
    bad("vlna id 1", "1: error: unknown word \"vlna\"; did you mean \"vlan\"?");
    bad("qqqqqq", "1: error: unknown word \"qqqqqq\"; expected one of arp, ether, gre, icmp, ipv4, "
                  "mpls, udp, vlan, padding, payload, size, var");
    bad(IPV4, "1: error: the first layer must be ether, not ipv4");
    bad(ETHER ETHER IPV4 "udp src 1 dst 2", "2: error: ether must be the first layer");
    bad(ETHER "vlan id 1\nudp src 1 dst 2\n" IPV4 "udp src 1 dst 2",
        "3: error: udp cannot follow vlan; it follows ipv4");
    bad(ETHER IPV4 "vlan id 1\nudp src 1 dst 2",
        "3: error: vlan cannot follow ipv4; it follows ether or vlan");
    bad(ETHER "mpls label 16\narp sender_ip 1.1.1.1",
        "3: error: arp cannot follow mpls; it follows ether or vlan");
    bad(ETHER, "1: error: ether: nothing follows it; say its type");
    bad(ETHER IPV4, "2: error: ipv4: nothing follows it; say its proto");
    bad(ETHER IPV4 "gre key 1", "3: error: gre: nothing follows it; say its type");
    bad(ETHER "vlan id 1 type 5\nvlan id 2 type 6",
        "3: error: vlan: the vlan before it has a type already; say tpid here instead");
    bad("ether src 02:00:00:00:00:01\n" IPV4 "udp", "1: error: ether: dst is missing\n"
                                                    "3: error: udp: src is missing\n"
                                                    "3: error: udp: dst is missing");
}

static void bad_values(void)
{
#define VLAN(what) ETHER "vlan " what "\n" IPV4 "udp src 1 dst 2"
    bad(VLAN("idd 1"), "2: error: vlan has no \"idd\"; did you mean \"id\"?");
    bad(VLAN("identity 1"),
        "2: error: vlan has no \"identity\"; expected one of type, tpid, id, pcp, dei");
    bad(VLAN("id"), "2: error: vlan: id needs a value");
    bad(VLAN("id + 1"), "2: error: vlan: id needs a value");
    bad(VLAN("id 4096"), "2: error: vlan: id: 4096 is above 4095");
    bad(VLAN("id 1 pcp 8"), "2: error: vlan: pcp: 8 is above 7");
    bad(VLAN("id 1 id 2"), "2: error: vlan: id is given twice");
    bad(VLAN("id 1x"), "2: error: vlan: id: \"1x\" is not a number");
    bad(VLAN("id -1"), "2: error: vlan: id: \"-1\" is not a number");
    bad(VLAN("id 1 +"), "2: error: vlan: id: expected: CONSTANT + VARIABLE");
    bad(VLAN("id 1 + 2"), "2: error: vlan: id: there is no variable \"2\"; declare it above: "
                          "var NAME FIRST-LAST random");
    bad(VLAN("id user"), "2: error: vlan: id: there is no variable \"user\"; declare it above: "
                         "var NAME FIRST-LAST random");
    bad("ether src 02:00 dst 2:0:0:0:0:1",
        "1: error: ether: src: \"02:00\" is not a MAC address (02:00:00:00:00:01)\n"
        "1: error: ether: nothing follows it; say its type");
    bad(ETHER "ipv4 src 10.0.0 dst 1.1.1.1\nudp src 1 dst 2",
        "2: error: ipv4: src: \"10.0.0\" is not an IPv4 address (192.0.2.1)");
    bad(ETHER "ipv4 src 10.0.0.1 dst 1.1.1.256\nudp src 1 dst 2",
        "2: error: ipv4: dst: \"1.1.1.256\" is not an IPv4 address (192.0.2.1)");
    bad(ETHER IPV4 "icmp type echoo\n",
        "3: error: icmp: type: there is no variable \"echoo\"; declare it above: "
        "var NAME FIRST-LAST random");
}

static void bad_vars(void)
{
#define USER(what)                                                                                 \
    "var user 0-32767 random\n" ETHER "ipv4 dst 10.0.0.1 src " what "\nudp src 1 dst 2"
    bad(USER("10.0.0.0 + usr"),
        "3: error: ipv4: src: there is no variable \"usr\"; did you mean \"user\"?");
    bad(USER("user + user"), "3: error: ipv4: src: expected: CONSTANT + VARIABLE");
    bad(USER("user + 10.0.0.0"), "3: error: ipv4: src: expected: CONSTANT + VARIABLE");
    bad(USER("255.255.255.0 + user"), "3: error: ipv4: src: with user it overflows");
    bad(USER("0.0.0.1 + user dscp 0 + user[5:0] ttl 193 + user[5:0]"),
        "3: error: ipv4: ttl: with user it reaches 256, above 255");
#define SLICE(s)                                                                                   \
    "3: error: ipv4: src: \"" s "\" is not bits of a variable such as user[14:8], of 31 to 0"
    bad(USER("user[8:14]"), SLICE("user[8:14]"));
    bad(USER("user[32:0]"), SLICE("user[32:0]"));
    bad(USER("user[7]"), SLICE("user[7]"));
    bad(USER("user[7:0"), SLICE("user[7:0"));
    bad(USER("user[7:0]x"), SLICE("user[7:0]x"));
    bad(USER("user[]"), SLICE("user[]"));
    bad(USER("user["), SLICE("user["));
    bad("var user 0-1 random\nether src 02:00:ff:ff:ff:ff + user dst 02:00:00:00:00:00 type 0x88b5",
        "2: error: ether: src: with user it overflows");
    bad("var user 0-1 random\n" ETHER IPV4 "icmp id user",
        "4: error: icmp: id may not vary: a checksum covers it");
    bad("var\nvar u\n" ETHER "arp",
        "1: error: expected: var NAME FIRST-LAST random, or: var NAME FIRST-LAST step N\n"
        "2: error: expected: var NAME FIRST-LAST random, or: var NAME FIRST-LAST step N\n"
        "4: error: arp: sender_mac is missing\n"
        "4: error: arp: sender_ip is missing\n"
        "4: error: arp: target_ip is missing");
#define VAR(what) "var " what "\n" ETHER IPV4 "udp src 1 dst 2"
    bad(VAR("9a 0-1 random"), "1: error: var: \"9a\" is not a name: a letter, then letters, "
                              "digits or _, at most 31");
    bad(VAR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0-1 random"),
        "1: error: var: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" is not a name: a letter, then "
        "letters, digits or _, at most 31");
    bad(VAR("u 5-1 random"),
        "1: error: var u: \"5-1\" is not a range such as 0-32767 of numbers up to 4294967295");
    bad(VAR("u 0-4294967296 random"), "1: error: var u: \"0-4294967296\" is not a range such as "
                                      "0-32767 of numbers up to 4294967295");
    bad(VAR("u 0-9"), "1: error: var u: expected \"random\" or \"step N\" after the range");
    bad(VAR("u 0-9 rand"), "1: error: var u: expected \"random\" or \"step N\" after the range");
    bad(VAR("u 0-9 step"), "1: error: var u: step: expected a number of 1 to 9");
    bad(VAR("u 0-9 step 0"), "1: error: var u: step: expected a number of 1 to 9");
    bad(VAR("u 0-9 step 10"), "1: error: var u: step: expected a number of 1 to 9");
    bad(VAR("u 7 step 2"), "1: error: var u: step: expected a number of 1 to 1");
    bad(VAR("u 0-9 random 5"), "1: error: var u: \"5\" is one word too many");
    bad(VAR("u 0-9 random\nvar u 0-9 random"), "2: error: var u is declared twice");
}

static void too_many(void)
{
    char text[8192] = "";

    for (unsigned i = 0; i < 9; i++)
        sprintf(text + strlen(text), "var v%u 0-1 random\n", i);
    strcat(text, ETHER IPV4 "udp src 1 dst 2");
    bad(text, "9: error: more than 8 variables");

    strcpy(text, "var v 0-1 random\n" ETHER);
    for (unsigned i = 0; i < 6; i++)
        strcat(text, "mpls label v exp v ttl v\n");
    strcat(text, IPV4 "udp src 1 dst 2");
    bad(text, "8: error: mpls: exp: more than 16 fields that vary\n"
              "8: error: mpls: ttl: more than 16 fields that vary");

    strcpy(text, ETHER);
    for (unsigned i = 0; i < 16; i++)
        strcat(text, "vlan id 1\n");
    bad(text, "16: error: vlan: nothing follows it; say its type\n"
              "17: error: more than 16 layers");

    bad("var v 0-1 random\n" ETHER "ipv4 src v dst v\nipv4 src v dst v\nipv4 src v dst v\n"
        "udp src 1 dst 1",
        "3: error: ipv4: more than 2 IPv4 headers that vary");

    strcpy(text, "payload");
    for (unsigned i = 0; i < 256; i++)
        strcat(text, " 00");
    strcat(text, "\n" ETHER "vlan id 1 type 1");
    bad(text, "1: error: more than 256 words on a line");
}

static void bad_sizes(void)
{
#define FRAME ETHER IPV4 "udp src 1 dst 2\n"
    bad("size 63\n" FRAME, "1: error: size: \"63\" is not a number of 64 to 9022");
    bad("size 9023\n" FRAME, "1: error: size: \"9023\" is not a number of 64 to 9022");
    bad("size\n" FRAME, "1: error: size: expected one number of bytes");
    bad("size 64 65\n" FRAME, "1: error: size: expected one number of bytes");
    bad("size 64\nsize 65\n" FRAME, "2: error: size is given twice; it stands on line 1 already");
    bad("size 64\n" ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2",
        "1: error: size 64 is too small: the layers need 70 bytes with FCS");
    bad_bytes(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2",
              strlen(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2"), 64,
              "error: size 64 is too small: the layers need 70 bytes with FCS");
    bad("padding x\npadding 1\n" FRAME, "1: error: padding: \"x\" is not a number of 0 to 9022\n"
                                        "2: error: padding is given twice");
#define HEX(s) "1: error: payload: \"" s "\" is not bytes of two hexadecimal digits each"
    bad("payload 0\n" FRAME, HEX("0"));
    bad("payload 00 0g\n" FRAME, HEX("0g"));
    bad("payload 00 000\n" FRAME, HEX("000"));
    bad("payload\n" FRAME, "1: error: payload: expected bytes of two hexadecimal digits each");
    bad("payload 00\npayload 01\n" FRAME, "2: error: payload is given twice");
}

/* "SIZE SIZE ..." of a notation. */
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
    /* a frame of each size, with the same layers, and lengths that count its own payload */
    write_file(FRAME, strlen(FRAME));
    CU_ASSERT_EQUAL(frame_sizes_parse("imix", &sizes), 0);
    t = template_load(path, &sizes, &d);
    CU_ASSERT_EQUAL(d.n, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL_FATAL(t->n_frames, 12);
    for (unsigned i = 0; i < 12; i++) {
        unsigned packet = sizes.size[i] == 64 ? 28 : sizes.size[i] - 18u;

        CU_ASSERT_EQUAL(t->frames[i].len, sizes.size[i] - 4);
        CU_ASSERT_EQUAL(t->frames[i].bytes[16] << 8 | t->frames[i].bytes[17], packet);
        CU_ASSERT_EQUAL(t->frames[i].payload, packet - 28);
    }
    CU_ASSERT_EQUAL(t->header_len, 42);
    CU_ASSERT_EQUAL(t->padding, 64);
    template_free(t);
    /* one error, though three sizes of the twelve have it */
    write_file(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2",
               strlen(ETHER IPV4 "gre\n" IPV4 "udp src 1 dst 2"));
    CU_ASSERT_PTR_NULL(template_load(path, &sizes, &d));
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, "error: size 64 is too small: the layers need 70 bytes with FCS");
    free(words);
    diag_free(&d);
}

static void unused_var(void)
{
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    write_file("var a 0-1 random\nvar b 0-1 step 1\n" FRAME,
               strlen("var a 0-1 random\nvar b 0-1 step 1\n" FRAME));
    t = template_load(path, NULL, &d);
    words = said(&d);
    CU_ASSERT_STRING_EQUAL(words, "1: warning: var a is not used\n2: warning: var b is not used");
    CU_ASSERT_PTR_NOT_NULL(t);
    free(words);
    diag_free(&d);
    template_free(t);
}

static void bad_files(void)
{
    static const char nul[] = "size 64\nsi\0ze";
    struct diags d = {0};

    bad_bytes(nul, sizeof(nul) - 1, 0,
              "2: error: a NUL byte: this is neither a text template nor a pcap");
    CU_ASSERT_PTR_NULL(template_load("/nonexistent/x.tmpl", NULL, &d));
    CU_ASSERT_EQUAL_FATAL(d.n, 1);
    CU_ASSERT_STRING_EQUAL(d.list[0].loc.file, "/nonexistent/x.tmpl");
    CU_ASSERT_STRING_EQUAL(d.list[0].text, "cannot be opened: No such file or directory");
    diag_free(&d);
    CU_ASSERT_PTR_NULL(template_load("/tmp", NULL, &d));
    CU_ASSERT_EQUAL_FATAL(d.n, 1);
    CU_ASSERT_STRING_EQUAL(d.list[0].text, "cannot be read: Is a directory");
    diag_free(&d);
    template_free(NULL);
}

/* --- pcap --- */

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
        t = template_load(path, NULL, &d);
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

/* The first frame with each variable at its last value: what gen makes of it, slowly. */
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

int main(void)
{
    CU_pSuite s;
    unsigned failures;

    CU_initialize_registry();
    s = CU_add_suite("templates", make_file, remove_file);
    CU_add_test(s, "the paper's access frame", access_frame);
    CU_add_test(s, "access frames of all sizes", access_sizes);
    CU_add_test(s, "the paper's core frame", core_frame);
    CU_add_test(s, "label stack", label_stack);
    CU_add_test(s, "other layers", other_layers);
    CU_add_test(s, "padding", no_padding);
    CU_add_test(s, "bad layers", bad_layers);
    CU_add_test(s, "bad values", bad_values);
    CU_add_test(s, "bad variables", bad_vars);
    CU_add_test(s, "too many", too_many);
    CU_add_test(s, "bad sizes and payloads", bad_sizes);
    CU_add_test(s, "mixed sizes", mixed_sizes);
    CU_add_test(s, "unused variables", unused_var);
    CU_add_test(s, "bad files", bad_files);
    CU_add_test(s, "pcaps", good_pcaps);
    CU_add_test(s, "bad pcaps", bad_pcaps);
    CU_add_test(s, "the streams that come with vbng", shipped_streams);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
