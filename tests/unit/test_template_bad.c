/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet templates that are refused: the exact words of every error. */
#include "common/program.h"
#include "template_bed.h"

#include <stdlib.h>
#include <string.h>

static void bad_layers(void)
{
    bad("", "error: there are no layers; the first is: ether src MAC dst MAC");
    bad("# nothing\n", "error: there are no layers; the first is: ether src MAC dst MAC");
    bad("vlna id 1", "1: error: unknown word \"vlna\"; did you mean \"vlan\"?");
    bad("qqqqqq", "1: error: unknown word \"qqqqqq\"; expected one of arp, ether, gre, icmp, ipv4, "
                  "ipv6, mpls, pppoe, udp, vlan, padding, payload, size, var");
    bad(IPV4, "1: error: the first layer must be ether, not ipv4");
    bad(ETHER ETHER IPV4 "udp src 1 dst 2", "2: error: ether must be the first layer");
    bad(ETHER "vlan id 1\nudp src 1 dst 2\n" IPV4 "udp src 1 dst 2",
        "3: error: udp cannot follow vlan; it follows ipv4 or ipv6");
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

static void unused_var(void)
{
    struct diags d = {0};
    struct pkt_template *t;
    char *words;

    write_file("var a 0-1 random\nvar b 0-1 step 1\n" FRAME,
               strlen("var a 0-1 random\nvar b 0-1 step 1\n" FRAME));
    t = template_load(template_path, NULL, &d);
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
    CU_ASSERT_STRING_EQUAL(d.list[0].text, "cannot be opened: is a folder: expected a file");
    diag_free(&d);
    template_free(NULL);
}

static const struct test tests[] = {
    {"bad layers", bad_layers},
    {"bad values", bad_values},
    {"bad variables", bad_vars},
    {"too many", too_many},
    {"bad sizes and payloads", bad_sizes},
    {"unused variables", unused_var},
    {"bad files", bad_files},
    {NULL, NULL},
};

const struct test_program test_program = {"bad templates", tests, make_file, remove_file};
