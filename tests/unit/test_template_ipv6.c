/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates with IPv6: bytes, lengths, the fields that vary, and what is refused. */
#include "common/program.h"
#include "template_bed.h"

#include <stdio.h>

#define FIELD(...) (&(const struct template_field){__VA_ARGS__})
#define ALL        .mask = UINT32_MAX
#define UPSTREAM                                                                                   \
    "var user 0-65535 random\nvar host 0-255 step 1\n"                                             \
    "ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00\n"                                   \
    "vlan tpid 0x88a8 id 128\nvlan id 256\n"

/* RFC 8200 section 3; the smallest frame of two tags and UDP has 74 bytes with FCS. */
static void access_frame(void)
{
    struct pkt_template *t = good(UPSTREAM "ipv6 src 2001:db8:aaaa:bb00::1/56 + user "
                                           "dst 2001:db8:ffff::ff00 + host dscp 46 ecn 1 label "
                                           "0xabcde hop_limit 9\nudp src 1024 dst 2048",
                                  0);

    check_frame(&t->frames[0], "02b000000000 02c000000000 88a8 0080 8100 0100 86dd |"
                               "6b9abcde 0008 11 09 20010d00000000 00 0000000000000001"
                               "20010db8ffff0000 0000000000000000 | 0400 0800 0008 0000");
    CU_ASSERT_EQUAL(t->frames[0].len, 70);
    CU_ASSERT_EQUAL(t->n_fields, 3);
    check_field(t, 1, FIELD(.offset = 22 + 8 + 3, .size = 4, ALL, .base = 0xb8aaaabb));
    check_field(t, 2, FIELD(.offset = 22 + 24 + 12, .size = 4, ALL, .var = 1, .base = 0xff00));
    CU_ASSERT_EQUAL(t->n_ipv4, 0);
    template_free(t);
}

/* A prefix that does not end with a byte leaves the bits behind it as they are. */
static void prefixes(void)
{
    static const struct {
        const char *src, *bytes;
        struct template_field field;
    } all[] = {
        {"2001:db8::/32 + user",
         "00000000 00000000 00000000 00000000",
         {.offset = 22 + 8, .size = 4, ALL, .base = 0x20010db8}},
        {"2001:db8:0:10f5::7/60 + user",
         "20010db8 00000005 00000000 00000007",
         {.offset = 22 + 12, .size = 4, .lshift = 4, ALL, .base = 0x10f}},
        {"2001:db8::8:1/127 + user[0:0]",
         "20010db8 00000000 00000000 00000001",
         {.offset = 22 + 20, .size = 4, .lshift = 1, .mask = 1, .base = 0x40000}},
        {"2001:db8::1:0:0:7/64 + user",
         "20010db8 00000000 00010000 00000007",
         {.offset = 22 + 12, .size = 4, ALL, .base = 0}},
    };

    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char text[1024], want[512];
        struct pkt_template *t;

        snprintf(text, sizeof(text), UPSTREAM "ipv6 src %s dst ::%s\nudp src 1 dst 2", all[i].src,
                 "0 + host");
        snprintf(want, sizeof(want),
                 "02b000000000 02c000000000 88a8 0080 8100 0100 86dd 60000000 0008 11 40 %s "
                 "00000000 00000000 00000000 00000000 0001 0002 0008 0000",
                 all[i].bytes);
        t = good(text, 0);
        check_frame(&t->frames[0], want);
        check_field(t, 1, &all[i].field);
        template_free(t);
    }
}

/* The paper's sizes, but for the smallest, which does not hold the headers. */
static void sizes(void)
{
    static const uint32_t size[] = {78, 128, 256, 512, 1024, 1494};

    for (unsigned i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        struct pkt_template *t = good(
            UPSTREAM "ipv6 src 2001:db8::/64 + user dst ::1:0 + host\nudp src 1 dst 2", size[i]);
        const uint8_t *f = t->frames[0].bytes;

        CU_ASSERT_EQUAL(t->frames[0].len, size[i] - 4);
        CU_ASSERT_EQUAL(f[26] << 8 | f[27], (int)size[i] - 4 - 22 - 40);
        CU_ASSERT_EQUAL(f[66] << 8 | f[67], (int)size[i] - 4 - 22 - 40);
        template_free(t);
    }
}

static void tunnels(void)
{
    struct pkt_template *t =
        good("ether src 02:00:00:00:00:01 dst 02:00:00:00:00:02\nmpls label 16\n"
             "ipv4 src 203.0.113.1 dst 192.0.2.1\ngre key 7\n"
             "ipv6 src 2001:db8::1 dst 2001:db8::2\nudp src 1 dst 2",
             0);

    check_frame(&t->frames[0], "020000000002 020000000001 8847 | 00010140 |"
                               "4500004c 00000000 402f7c80 cb007101 c0000201 | 2000 86dd 00000007 |"
                               "60000000 0008 11 40 20010db8 00000000 00000000 00000001"
                               "20010db8 00000000 00000000 00000002 | 0001 0002 0008 0000");
    template_free(t);
    t = good(ETHER "ipv6 src ::1 dst ::2\nipv6 src ::3 dst ::4\ngre\nipv4 src 1.1.1.1 dst 2.2.2.2\n"
                   "udp src 1 dst 2",
             0);
    CU_ASSERT_EQUAL(t->frames[0].bytes[14 + 6], 41);
    CU_ASSERT_EQUAL(t->frames[0].bytes[54 + 6], 47);
    template_free(t);
}

static void refused(void)
{
#define IPV6(src) UPSTREAM "ipv6 src " src " dst ::1:0 + host\nudp src 1 dst user"
    bad(IPV6("10.0.0.1"), "6: error: ipv6: src: \"10.0.0.1\" is not an IPv6 address (2001:db8::1)");
    bad(IPV6("fd00:::1"), "6: error: ipv6: src: \"fd00:::1\" is not an IPv6 address (2001:db8::1)");
    bad(IPV6("2001:db8::/129 + user"),
        "6: error: ipv6: src: \"2001:db8::/129\" is not an IPv6 address (2001:db8::1)");
    bad(IPV6("2001:db8::/56"),
        "6: error: ipv6: src: /56 says which prefix a variable counts, and there is none");
    bad(IPV6("2001:db8::/31 + user"),
        "6: error: ipv6: src: a variable counts prefixes of 32 to 128 bits, not /31");
    bad(IPV6("2001:db8:ffff:ffff::/64 + user"), "6: error: ipv6: src: with user it overflows");
    bad(IPV6("2001:db8:ffff:fff0::/60 + user"), "6: error: ipv6: src: with user it overflows");
    bad(ETHER "ipv6 src ::1 dst ::2", "2: error: ipv6: nothing follows it; say its next");
    bad(ETHER "ipv6 src ::1 dst ::2\nicmp", "2: error: ipv6: nothing follows it; say its next\n"
                                            "3: error: icmp cannot follow ipv6; it follows ipv4");
    bad("size 64\n" UPSTREAM "ipv6 src ::1:0 + user dst ::1:0 + host\nudp src 1 dst 2",
        "1: error: size 64 is too small: the layers need 74 bytes with FCS");
}

static const struct test tests[] = {
    {"access frame", access_frame},
    {"prefixes that vary", prefixes},
    {"sizes", sizes},
    {"tunnels", tunnels},
    {"refused", refused},
    {NULL, NULL},
};

const struct test_program test_program = {"template_ipv6", tests, make_file, remove_file};
