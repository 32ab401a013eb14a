/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in words: what each word means, and that a wrong one is named. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "explain/spec.h"

#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static struct frame_spec s;

static void reads(const char *text)
{
    char err[256] = "";

    if (spec_parse(text, &s, err, sizeof(err)) != 0) {
        fprintf(stderr, "\n%s\n  %s\n", text, err);
        CU_FAIL("a good description");
    }
}

/* The reason must contain a text. */
static void refuses(const char *text, const char *reason)
{
    char err[256] = "";

    if (spec_parse(text, &s, err, sizeof(err)) == 0 || strstr(err, reason) == NULL) {
        fprintf(stderr, "\n%s\n  said %s\n  not  %s\n", text, err, reason);
        CU_FAIL("the reason");
    }
}

static void access_side(void)
{
    reads("cpe0 128.256 10.0.0.1 -> 8.8.8.8 dscp 46");
    CU_ASSERT_STRING_EQUAL(s.port, "cpe0");
    CU_ASSERT(s.kind == SPEC_IP && s.tagged && s.svlan == 128 && s.cvlan == 256);
    CU_ASSERT(s.source == IP(10, 0, 0, 1) && s.destination == IP(8, 8, 8, 8));
    CU_ASSERT(s.dscp == 46 && s.ttl == 64 && s.protocol == IPPROTO_UDP && s.size == 0);
    CU_ASSERT(s.source_port == 40000 && s.destination_port == 40001);
    CU_ASSERT(!s.dont_fragment && !s.has_gre && s.n_labels == 0 && !s.has_from && !s.has_to);
    /* any order, any white space, both arrows */
    reads("\tcpe0  dscp 0x2e\n10.0.0.1\xe2\x86\x92"
          "8.8.8.8 ttl 1 df size 1522 pcp 7 128.256 ");
    CU_ASSERT(s.tagged && s.source == IP(10, 0, 0, 1) && s.destination == IP(8, 8, 8, 8));
    CU_ASSERT(s.dscp == 46 && s.ttl == 1 && s.dont_fragment && s.size == 1522 && s.pcp == 7);
    reads("p 1.2.3.4->5.6.7.8 tcp 1 -> 65535");
    CU_ASSERT(!s.tagged && s.protocol == IPPROTO_TCP && s.source_port == 1 &&
              s.destination_port == 65535);
    reads("p 1.2.3.4->5.6.7.8 udp df");
    CU_ASSERT(s.protocol == IPPROTO_UDP && s.dont_fragment && s.source_port == 40000);
    reads("p icmp 1.2.3.4->5.6.7.8 from 02:00:00:00:00:0a to ff:ff:ff:ff:ff:ff");
    CU_ASSERT(s.protocol == IPPROTO_ICMP && s.has_from && s.from[5] == 10 && s.has_to &&
              s.to[0] == 0xff);
    reads("p 0.0.0.0 -> 0.0.0.0 proto 255");
    CU_ASSERT(s.protocol == 255 && s.source == 0);
}

static void core_side(void)
{
    reads("core0 mpls 16 gre 17 8.8.8.8 -> 10.0.0.1");
    CU_ASSERT(s.n_labels == 1 && s.label[0] == 16 && s.label_ttl == 64);
    CU_ASSERT(s.has_gre && s.has_key && s.key == 17 && !s.has_tunnel);
    reads("core0 mpls 16 1048575 0 label-ttl 2 gre tunnel 1.1.1.1 -> 2.2.2.2 8.8.8.8 -> 10.0.0.1");
    CU_ASSERT(s.n_labels == 3 && s.label[1] == 1048575 && s.label[2] == 0 && s.label_ttl == 2);
    CU_ASSERT(s.has_gre && !s.has_key && s.has_tunnel);
    CU_ASSERT(same6(s.tunnel_source, mapped6(IP(1, 1, 1, 1))));
    CU_ASSERT(same6(s.tunnel_destination, mapped6(IP(2, 2, 2, 2))));
    CU_ASSERT(s.source == IP(8, 8, 8, 8));
    reads("core0 gre 0xffffffff 8.8.8.8 -> 10.0.0.1");
    CU_ASSERT(s.key == UINT32_MAX);
}

static void ipv6(void)
{
    const struct ipv6 source = {UINT64_C(0x20010db800000007), 0x2c},
                      destination = {UINT64_C(0xfe80000000000000), 1};

    reads("cpe0 128.256 2001:db8:0:7::2c -> fe80::1 dscp 46 ttl 3");
    CU_ASSERT(s.is_ipv6 && s.has_addresses && s.tagged && s.dscp == 46 && s.ttl == 3);
    CU_ASSERT(same6(s.source6, source) && same6(s.destination6, destination));
    reads("core0 mpls 16 2 gre 17 tunnel 1.1.1.1 -> 2.2.2.2 ::\xe2\x86\x92"
          "2001:db8::1 icmp");
    CU_ASSERT(s.is_ipv6 && s.n_labels == 2 && s.has_key && s.key == 17 && s.source6.upper == 0);
    CU_ASSERT(same6(s.tunnel_destination, mapped6(IP(2, 2, 2, 2))) && s.protocol == IPPROTO_ICMP);
    reads("p mpls 16 2001:db8::1->2001:db8::2 tcp 1 -> 2 from 02:00:00:00:00:0a");
    CU_ASSERT(s.is_ipv6 && s.n_labels == 1 && s.source_port == 1 && s.from[5] == 10);
    reads("core0 gre 17 tunnel 2001:db8::1 -> 2001:db8::2 8.8.8.8 -> 10.0.0.1");
    CU_ASSERT(!s.is_ipv6 && s.has_tunnel && s.source == IP(8, 8, 8, 8));
    CU_ASSERT(s.tunnel_source.upper == UINT64_C(0x20010db800000000) && s.tunnel_source.lower == 1);
    CU_ASSERT(s.tunnel_destination.lower == 2);
    refuses("core0 gre tunnel ::1 -> 1.1.1.1 8.8.8.8 -> 10.0.0.1",
            "destination '1.1.1.1': expected an IPv6 address");
    refuses("p 2001:db8::1", "'' after the source address: expected ->");
    refuses("p 2001:db8::1 -> 10.0.0.1", "destination '10.0.0.1': expected an IPv6 address");
    refuses("p 10.0.0.1 -> 2001:db8::1", "destination '2001:db8::1': expected an IPv4 address");
    refuses("p 2001:db8:: -> 2001:db8::1::2", "destination '2001:db8::1::2'");
    refuses("p 2001:db8::/64 -> ::1", "source '2001:db8::/64': expected an IPv6 address");
    refuses("p 2001:db8::1 -> ::1 df", "df: no router fragments IPv6");
    refuses("p arp 2001:db8::1 -> ::1", "ARP has IPv4 addresses");
}

static void arp_and_bytes(void)
{
    reads("cpe0 128.256 arp 10.0.0.1 -> 100.64.0.1");
    CU_ASSERT(s.kind == SPEC_ARP_REQUEST && s.source == IP(10, 0, 0, 1));
    reads("core0 arp-reply 192.0.2.2 -> 192.0.2.1");
    CU_ASSERT(s.kind == SPEC_ARP_REPLY);
    reads("cpe0 hex 00:11 22\n3344 fF");
    CU_ASSERT(s.kind == SPEC_BYTES && s.n_bytes == 6);
    CU_ASSERT(memcmp(s.bytes, "\x00\x11\x22\x33\x44\xff", 6) == 0);
}

static void wrong_words(void)
{
    refuses("", "expected PORT first");
    refuses("   ", "expected PORT first");
    refuses("cpe0", "expected SOURCE -> DESTINATION");
    refuses("cpe0 128.256", "expected SOURCE -> DESTINATION");
    refuses("cpe0 10.0.0.1", "'' after the source address: expected ->");
    refuses("cpe0 10.0.0.1 8.8.8.8", "'8.8.8.8' after the source address: expected ->");
    refuses("cpe0 10.0.0.1 ->", "destination '': expected an IPv4 address");
    refuses("cpe0 10.0.0.1 -> 8.8.8.256", "destination '8.8.8.256': expected an IPv4 address");
    refuses("cpe0 10.0.0 -> 8.8.8.8", "source '10.0.0': expected an IPv4 address");
    refuses("cpe0 128.4096 1.1.1.1 -> 8.8.8.8", "'128.4096': expected SVLAN.CVLAN");
    refuses("cpe0 128. 1.1.1.1 -> 8.8.8.8", "'128.': expected SVLAN.CVLAN");
    refuses("cpe0 128.256x 1.1.1.1 -> 8.8.8.8", "'128.256x': expected SVLAN.CVLAN");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 dcsp 46", "'dcsp': did you mean 'dscp'?");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 quickly", "unknown word 'quickly': expected SVLAN.CVLAN");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 dscp", "dscp '': expected 0 to 63");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 dscp 64", "dscp '64': expected 0 to 63");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 dscp -1", "dscp '-1': expected 0 to 63");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 ttl 256", "ttl '256': expected 0 to 255");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 pcp 8", "pcp '8': expected 0 to 7");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 size 9733", "size '9733': expected 0 to 9732");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 udp 1", "after the source port: expected ->");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 udp 1 -> 65536", "destination port '65536'");
    refuses("cpe0 1.1.1.1 -> 8.8.8.8 from 02:00", "from '02:00': expected a MAC address");
    refuses("cpe0 mpls 1048576 1.1.1.1 -> 8.8.8.8", "mpls '1048576': expected 0 to 1048575");
    refuses("cpe0 mpls 1.1.1.1 -> 8.8.8.8", "mpls '1.1.1.1'");
    refuses("cpe0 mpls 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "at most 16 labels");
    refuses("cpe0 gre 4294967296 1.1.1.1 -> 8.8.8.8", "gre '4294967296'");
    refuses("cpe0 tunnel 1.1.1.1 -> 2.2.2.2 1.1.1.1 -> 8.8.8.8", "tunnel without gre");
    refuses("cpe0 arp mpls 16 1.1.1.1 -> 8.8.8.8", "ARP has no labels");
    refuses("cpe0 hex", "hex: expected the bytes");
    refuses("cpe0 hex 0", "hex: byte 0 is '0'");
    refuses("cpe0 hex 00 1g", "hex: byte 1 is '1g': expected two hexadecimal digits");
    refuses("a-name-of-a-port-that-is-far-longer-than-any-port-of-a-configuration-has 1.1.1.1 -> "
            "8.8.8.8",
            "expected PORT first");
}

static void too_long(void)
{
    size_t n = 2 * SPEC_MAX_FRAME;
    char *text = malloc(SPEC_MAX_TEXT + 2), err[256];

    memcpy(text, "p hex ", 6);
    memset(text + 6, '0', n);
    text[6 + n] = '\0';
    reads(text);
    CU_ASSERT(s.n_bytes == SPEC_MAX_FRAME);
    memset(text + 6, '0', n + 2);
    text[8 + n] = '\0';
    refuses(text, "hex: expected at most 9728 bytes");
    memset(text, ' ', SPEC_MAX_TEXT + 1);
    text[SPEC_MAX_TEXT + 1] = '\0';
    refuses(text, "longer than");
    /* arrows make it longer: nothing but arrows */
    for (n = 0; n + 2 <= SPEC_MAX_TEXT; n += 2)
        memcpy(text + n, "->", 3);
    CU_ASSERT(spec_parse(text, &s, err, sizeof(err)) != 0);
    free(text);
}

static const struct test tests[] = {
    {"access side", access_side},
    {"core side", core_side},
    {"IPv6", ipv6},
    {"ARP and bytes", arp_and_bytes},
    {"wrong words", wrong_words},
    {"too long", too_long},
    {NULL, NULL},
};

const struct test_program test_program = {"spec", tests, NULL, NULL};
