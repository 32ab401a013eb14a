/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates with PPPoE sessions: bytes, lengths, the session that varies, and what is
 * refused. */
#include "common/program.h"
#include "template_bed.h"

#define UPSTREAM                                                                                   \
    "var user 0-32767 random\nether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00\n"          \
    "vlan tpid 0x88a8 id 128\nvlan id 256\npppoe session 1 + user\n"
#define UDP "udp src 1024 dst 2048"

/* RFC 2516 section 4: the length counts PPP's protocol and the packet, but no Ethernet padding. */
static void smallest(void)
{
    struct pkt_template *t =
        good(UPSTREAM "ipv4 src 10.0.0.1 dst 198.18.0.1\n" UDP "\npayload ab", 0);

    check_frame(&t->frames[0], "02b000000000 02c000000000 88a8 0080 8100 0100 8864 |"
                               "11 00 0000 001e 0021 | 4500001c 00000000 4011aabd 0a000001 c6120001"
                               "| 0400 0800 0008 0000 | 0000");
    check_field(
        t, 1,
        &(const struct template_field){.offset = 24, .size = 2, .mask = UINT32_MAX, .base = 1});
    CU_ASSERT_EQUAL(t->header_len, 58);
    template_free(t);
    t = good(UPSTREAM "ipv6 src 2001:db8::1 dst 2001:db8::2\n" UDP, 0);
    check_frame(&t->frames[0], "02b000000000 02c000000000 88a8 0080 8100 0100 8864 |"
                               "11 00 0000 0032 0057 | 60000000 0008 11 40"
                               "20010db8 00000000 00000000 00000001"
                               "20010db8 00000000 00000000 00000002 | 0400 0800 0008 0000");
    template_free(t);
}

static void sizes(void)
{
    static const uint32_t size[] = {65, 128, 1522, 9022};

    for (unsigned i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        struct pkt_template *t = good(UPSTREAM "ipv4 src 10.0.0.1 dst 198.18.0.1\n" UDP, size[i]);
        const uint8_t *f = t->frames[0].bytes;

        CU_ASSERT_EQUAL(f[26] << 8 | f[27], (int)size[i] - 4 - 22 - 6);
        CU_ASSERT_EQUAL(f[32] << 8 | f[33], (int)size[i] - 4 - 22 - 8);
        template_free(t);
    }
}

/* Without tags, and with a protocol that is said: an LCP echo request (RFC 1661 section 5.8). */
static void protocols(void)
{
    struct pkt_template *t =
        good("padding 0\nsize 64\n" ETHER "pppoe session 4660 protocol 0xc021\n"
             "payload 09 01 00 26 00000000 00000000000000000000 00000000000000000000"
             "0000000000000000000000000000",
             0);

    check_frame(&t->frames[0], "02bb00000000 020000000001 8864 | 11 00 1234 0028 c021 | 09010026"
                               "00000000 00000000 00000000 00000000 00000000 00000000 00000000"
                               "00000000 0000");
    template_free(t);
    t = good(ETHER "pppoe session 1 protocol 0x57\nipv4 src 1.1.1.1 dst 2.2.2.2\n" UDP, 0);
    CU_ASSERT_EQUAL(t->frames[0].bytes[14 + 7], 0x57);
    template_free(t);
}

static void refused(void)
{
    bad(ETHER "pppoe\n" IPV4 UDP, "2: error: pppoe: session is missing");
    bad(ETHER "pppoe session 65536\n" IPV4 UDP, "2: error: pppoe: session: 65536 is above 65535");
    bad("var user 0-65535 random\n" ETHER "pppoe session 1 + user\n" IPV4 UDP,
        "3: error: pppoe: session: with user it reaches 65536, above 65535");
    bad(ETHER "pppoe sesion 1\n" IPV4 UDP,
        "2: error: pppoe has no \"sesion\"; did you mean \"session\"?");
    bad(ETHER "pppoe session 1", "2: error: pppoe: nothing follows it; say its protocol");
    bad(ETHER IPV4 "pppoe session 1",
        "2: error: ipv4: nothing follows it; say its proto\n"
        "3: error: pppoe cannot follow ipv4; it follows ether or vlan");
    bad(ETHER "pppoe session 1\narp sender_ip 1.1.1.1",
        "2: error: pppoe: nothing follows it; say its protocol\n"
        "3: error: arp cannot follow pppoe; it follows ether or vlan");
    bad("size 64\n" UPSTREAM "ipv6 src ::1 dst ::2\n" UDP,
        "1: error: size 64 is too small: the layers need 82 bytes with FCS");
}

static const struct test tests[] = {
    {"the smallest frames", smallest},
    {"sizes", sizes},
    {"other protocols", protocols},
    {"refused", refused},
    {NULL, NULL},
};

const struct test_program test_program = {"template_pppoe", tests, make_file, remove_file};
