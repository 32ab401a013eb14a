/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers and routes in the model of a configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config_bed.h"

#define TABLE "subscribers = ( { csv = \"t.csv\"; } );\n"

static void ranges(void)
{
    struct cfg_model *m = bed_load(
        PORTS TASKS LAYOUT
        "subscribers = ( { port = \"a\"; svlan = \"128-255\"; cvlan = \"256-511\";\n"
        "  ipv4 = \"10.0.0.0/17\"; gre_key = \"0-32767\"; mac = \"02:c0:00:00:00:00\"; },\n"
        " { port = \"b\"; svlan = 4094; cvlan = \"1-2\"; ipv4 = \"10.1.0.0/24\"; } );\n");
    const struct cfg_subscriber *s;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, 32770);
    s = &m->subscribers[0x1234];
    CU_ASSERT_EQUAL(s->port, 0);
    CU_ASSERT_EQUAL(s->svlan, 128 + 0x12);
    CU_ASSERT_EQUAL(s->cvlan, 256 + 0x34);
    CU_ASSERT_EQUAL(s->ipv4, 0x0a001234);
    CU_ASSERT_EQUAL(s->ipv4_len, 32);
    CU_ASSERT_TRUE(s->has_gre_key);
    CU_ASSERT_EQUAL(s->gre_key, 0x1234);
    CU_ASSERT_TRUE(s->has_mac);
    CU_ASSERT_EQUAL(s->mac[0], 0x02);
    CU_ASSERT_EQUAL(s->mac[1], 0xc0);
    CU_ASSERT_EQUAL(s->mac[4], 0x12);
    CU_ASSERT_EQUAL(s->mac[5], 0x34);
    CU_ASSERT_EQUAL(s->line, 4);
    CU_ASSERT_STRING_EQUAL(m->files[s->file], m->path);
    s = &m->subscribers[32769];
    CU_ASSERT_EQUAL(s->port, 1);
    CU_ASSERT_EQUAL(s->svlan, 4094);
    CU_ASSERT_EQUAL(s->cvlan, 2);
    CU_ASSERT_EQUAL(s->ipv4, 0x0a010001);
    CU_ASSERT_FALSE(s->has_gre_key);
    CU_ASSERT_FALSE(s->has_mac);
    config_free(m);
}

static void csv(void)
{
    struct cfg_model *m;
    const struct cfg_subscriber *s;

    bed_put_text("t.csv", "\xef\xbb\xbf# a byte order mark, CRLF, quotes, spaces, any order\r\n\r\n"
                          "ipv4, cvlan ,svlan,mac,\"port\"\r\n"
                          "\"10.0.0.9/29\",1,4094,,b\r\n"
                          "  # a comment\r\n"
                          "10.0.0.1 , 0x10,\t7,02:00:00:00:00:07,\"a\"");
    m = bed_load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, 2);
    s = m->subscribers;
    CU_ASSERT_EQUAL(s[0].ipv4, 0x0a000009);
    CU_ASSERT_EQUAL(s[0].ipv4_len, 29);
    CU_ASSERT_EQUAL(s[0].cvlan, 1);
    CU_ASSERT_EQUAL(s[0].svlan, 4094);
    CU_ASSERT_FALSE(s[0].has_mac);
    CU_ASSERT_FALSE(s[0].has_gre_key);
    CU_ASSERT_EQUAL(s[0].port, 1);
    CU_ASSERT_EQUAL(s[0].line, 4);
    CU_ASSERT_NOT_EQUAL(strstr(m->files[s[0].file], "/t.csv"), NULL);
    CU_ASSERT_EQUAL(s[1].cvlan, 16);
    CU_ASSERT_EQUAL(s[1].mac[5], 7);
    CU_ASSERT_TRUE(s[1].has_mac);
    CU_ASSERT_EQUAL(s[1].line, 6);
    config_free(m);
    bed_put_text("t.csv", "port,svlan,cvlan,ipv4,gre_key\na,1,1,10.0.0.1,4294967295\n");
    m = bed_load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->subscribers[0].gre_key, UINT32_MAX);
    CU_ASSERT_TRUE(m->subscribers[0].has_gre_key);
    config_free(m);
}

/* Ranges and tables with IPv6: a prefix or an address for each, and what is delegated. */
static void ipv6(void)
{
    struct cfg_model *m =
        bed_load(PORTS TASKS LAYOUT
                 "subscribers = ( { port = \"a\"; svlan = \"1-2\"; cvlan = \"1-200\";"
                 " ipv4 = \"10.0.0.0/23\"; ipv6 = \"2001:db8:1::/48\";"
                 " delegated = \"2001:db8:100::/40 fd00::/32\"; delegated_len = 60; },\n"
                 " { port = \"a\"; svlan = 3; cvlan = \"1-3\"; mac = \"02:00:00:00:00:00\";"
                 " ipv6 = \"2001:db8:2::100/120\"; ipv6_len = 128; },\n"
                 " { csv = \"t.csv\"; } );\n");
    const struct cfg_subscriber *s;

    CU_ASSERT_PTR_NULL(m); /* without the table */
    bed_put_text("t.csv", "port,svlan,cvlan,ipv6,delegated,mac,ipv4\n"
                          "b,1,1,2001:db8:3::7,,02:00:00:00:00:09,\n"
                          "b,1,2,,2001:db8:4::/48  2001:db8:5:100::/56,,10.1.0.1\n");
    m = bed_load(PORTS TASKS LAYOUT
                 "subscribers = ( { port = \"a\"; svlan = \"1-2\"; cvlan = \"1-200\";"
                 " ipv4 = \"10.0.0.0/23\"; ipv6 = \"2001:db8:1::/48\";"
                 " delegated = \"2001:db8:100::/40 fd00::/32\"; delegated_len = 60; },\n"
                 " { port = \"a\"; svlan = 3; cvlan = \"1-3\"; mac = \"02:00:00:00:00:00\";"
                 " ipv6 = \"2001:db8:2::100/120\"; ipv6_len = 128; },\n"
                 " { csv = \"t.csv\"; } );\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, 405);
    s = &m->subscribers[0x101];
    CU_ASSERT_EQUAL(s->ipv4_len, 32);
    CU_ASSERT_EQUAL(s->ipv6.wan_len, 64);
    CU_ASSERT_TRUE(same6(s->ipv6.wan, (struct ipv6){0x20010db800010101, 0}));
    CU_ASSERT_EQUAL(s->ipv6.n_delegated, 2);
    CU_ASSERT_EQUAL(s->ipv6.delegated[0], 0x20010db801001010);
    CU_ASSERT_EQUAL(s->ipv6.delegated_len[0], 60);
    CU_ASSERT_EQUAL(s->ipv6.delegated[1], 0xfd00000000001010);
    s = &m->subscribers[402];
    CU_ASSERT_EQUAL(s->ipv4_len, 0);
    CU_ASSERT_EQUAL(s->ipv6.wan_len, 128);
    CU_ASSERT_TRUE(same6(s->ipv6.wan, (struct ipv6){0x20010db800020000, 0x102}));
    s = &m->subscribers[403];
    CU_ASSERT_EQUAL(s->ipv4_len, 0);
    CU_ASSERT_TRUE(same6(s->ipv6.wan, (struct ipv6){0x20010db800030000, 7}));
    s = &m->subscribers[404];
    CU_ASSERT_EQUAL(s->ipv6.wan_len, 0);
    CU_ASSERT_EQUAL(s->ipv6.delegated[1], 0x20010db800050100);
    CU_ASSERT_EQUAL(s->ipv6.delegated_len[0], 48);
    CU_ASSERT_EQUAL(m->n_prefixes, 400 * 3 + 3 * 2 + 2 + 2);
    CU_ASSERT_EQUAL(m->most_prefixes, 3);
    CU_ASSERT_EQUAL(room_prefixes(m), m->n_prefixes + 3 * (room_subscribers(m) - 405));
    config_free(m);
}

/* Names for people, in a range, and in a table whose cells may hold commas and quotes. */
/* Sessions of a range count up with their MACs; in a table they are columns, and not of all rows.
 */
static void sessions(void)
{
    const struct cfg_subscriber *s;
    struct cfg_model *m;

    bed_put_text("t.csv", "session,port,svlan,cvlan,ipv4,mac,mtu,magic\n"
                          "65534,b,1,1,10.1.0.1,02:00:00:00:00:09,1400,4294967295\n"
                          "7,b,1,2,10.1.0.8/29,02:00:00:00:00:0a,,\n"
                          ",b,1,3,10.1.0.3,02:00:00:00:00:0b,,\n");
    m = bed_load(PORTS TASKS LAYOUT
                 "subscribers = ( { port = \"a\"; svlan = \"1-2\"; cvlan = \"1-200\"; ipv4 = "
                 "\"10.0.0.0/23\"; pppoe = { session = \"1000-1399\"; mac = "
                 "\"02:00:00:00:00:f0\"; magic = 5; }; },\n { csv = \"t.csv\"; } );\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_subscribers, 403);
    s = m->subscribers;
    CU_ASSERT(s[0].pppoe.session == 1000 && s[0].mac[5] == 0xf0 && s[0].has_mac);
    CU_ASSERT(s[399].pppoe.session == 1399 && s[399].mac[4] == 2 && s[399].mac[5] == 0x7f);
    CU_ASSERT(s[399].pppoe.mtu == 1492 && s[399].pppoe.magic == 5);
    CU_ASSERT(s[400].pppoe.session == 65534 && s[400].pppoe.mtu == 1400);
    CU_ASSERT(s[400].pppoe.magic == UINT32_MAX && s[400].mac[5] == 9);
    CU_ASSERT(s[401].pppoe.session == 7 && s[401].pppoe.mtu == 1492 && s[401].pppoe.magic == 0);
    CU_ASSERT_EQUAL(s[402].pppoe.session, 0);
    config_free(m);
}

static void names(void)
{
    struct cfg_model *m = bed_load(
        PORTS TASKS LAYOUT
        "subscribers = ( { port = \"a\"; svlan = 1; cvlan = \"1-2\"; ipv4 = \"10.0.0.0/31\";"
        " name = \"Turm S\xc3\xbc"
        "d, 2. Stock\"; },\n"
        "  { port = \"a\"; svlan = 2; cvlan = 1; ipv4 = \"10.0.1.0/32\"; } );\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_STRING_EQUAL(m->subscribers[0].name, "Turm S\xc3\xbc"
                                                   "d, 2. Stock");
    CU_ASSERT_STRING_EQUAL(m->subscribers[1].name, "Turm S\xc3\xbc"
                                                   "d, 2. Stock");
    CU_ASSERT_PTR_NULL(m->subscribers[2].name);
    config_free(m);
    bed_put_text("t.csv", "port,svlan,cvlan,ipv4,name,gre_key\n"
                          "a,1,1,10.0.0.1, Caf\xc3\xa9 \"Zoo\" ,1\n"
                          "a,1,2,10.0.0.2,\"M\xc3\xbcller, \"\"Eck\"\"\" ,2\n"
                          "a,1,3,10.0.0.3,\"\",3\n"
                          "a,1,4,10.0.0.4,\"\"\"\"\t,4\r\n");
    m = bed_load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_STRING_EQUAL(m->subscribers[0].name, "Caf\xc3\xa9 \"Zoo\"");
    CU_ASSERT_STRING_EQUAL(m->subscribers[1].name, "M\xc3\xbcller, \"Eck\"");
    CU_ASSERT_PTR_NULL(m->subscribers[2].name);
    CU_ASSERT_STRING_EQUAL(m->subscribers[3].name, "\"");
    CU_ASSERT_EQUAL(m->subscribers[3].gre_key, 4);
    config_free(m);
}

/* A large table is loaded in little time, even with rows in the reverse order, which the search for
 * overlaps must sort, and even when every row is wrong. */
static void csv_many(void)
{
    struct cfg_model *m;
    struct timespec a, b;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    fputs("port,svlan,cvlan,ipv4,gre_key\n", f);
    for (unsigned i = 262144; i-- > 0;)
        fprintf(f, "%s,%u,%u,10.%u.%u.%u,%u\n", i & 1 ? "a" : "b", 1 + (i >> 9), 1 + (i >> 1 & 255),
                i >> 16, i >> 8 & 255, i & 255, i);
    fclose(f);
    bed_put("t.csv", text, len);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    m = bed_load(PORTS TASKS LAYOUT TABLE);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->n_subscribers, 262144);
    config_free(m);
    /* four times the subscribers of the paper; the bound leaves room for sanitizers */
    CU_ASSERT(b.tv_sec - a.tv_sec < 4);
    for (size_t i = strlen("port,svlan,cvlan,ipv4,gre_key\n"); i < len; i++)
        if (text[i] == ',' && (text[i - 1] == 'a' || text[i - 1] == 'b'))
            text[i - 1] = 'c';
    bed_put("t.csv", text, len);
    free(text);
    m = bed_load(PORTS TASKS LAYOUT TABLE);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_EQUAL(bed_diags.n, 21);
    CU_ASSERT_TRUE(bed_said(DIAG_ERROR, "262124 more rows with a wrong port"));
}

static void routes(void)
{
    struct cfg_model *m = bed_load(
        PORTS TASKS LAYOUT
        "routes = ( { prefix = \"198.18.0.0/28\"; count = \"4096\"; port = \"a\"; via = "
        "\"192.0.2.2\"; gre = \"203.0.113.1\"; mpls = 16; },\n"
        "{ prefix = \"10.0.0.0/8\"; port = \"a\"; via = \"192.0.2.2\"; gre = \"203.0.113.1\";\n"
        "  mpls = \"16\"; },\n"
        "{ prefix = \"0.0.0.0/0\"; port = \"b\"; mac = \"02:dd:00:00:00:01\"; mpls = 1048575; },\n"
        "{ prefix = \"255.255.255.255\"; port = \"b\"; mac = \"02:dd:00:00:00:01\"; } );\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_routes, 4099);
    CU_ASSERT_EQUAL_FATAL(m->n_nexthops, 3);
    CU_ASSERT_EQUAL(m->routes[4095].prefix, 0xc612fff0);
    CU_ASSERT_EQUAL(m->routes[4095].len, 28);
    CU_ASSERT_EQUAL(m->routes[4095].nexthop, 0);
    CU_ASSERT_EQUAL(m->routes[4096].nexthop,
                    0); /* a route that leaves as the first does shares the next hop */
    CU_ASSERT_EQUAL(m->routes[4097].nexthop, 1);
    CU_ASSERT_EQUAL(m->routes[4097].len, 0);
    CU_ASSERT_EQUAL(m->routes[4098].nexthop, 2);
    CU_ASSERT_EQUAL(m->routes[4098].len, 32);
    CU_ASSERT(same6(m->nexthops[0].via, mapped6(0xc0000202)));
    CU_ASSERT_FALSE(m->nexthops[0].mac_set);
    CU_ASSERT(same6(m->nexthops[0].gre, mapped6(0xcb007101)));
    CU_ASSERT_TRUE(m->nexthops[0].has_gre);
    CU_ASSERT_EQUAL(m->nexthops[0].mpls, 16);
    CU_ASSERT_EQUAL(m->nexthops[1].mpls, 1048575);
    CU_ASSERT_TRUE(m->nexthops[1].mac_set);
    CU_ASSERT_EQUAL(m->nexthops[1].mac[5], 1);
    CU_ASSERT_FALSE(m->nexthops[1].has_gre);
    CU_ASSERT_FALSE(m->nexthops[2].has_mpls);
    config_free(m);
}

static void routes_csv(void)
{
    struct cfg_model *m;

    bed_put_text("t.csv", "port, prefix ,via,mac,gre,mpls,count\r\n"
                          "a,10.0.0.0/24,192.0.2.2,,,,3\r\n"
                          "# a comment\r\n\r\n"
                          "a,\"11.0.0.0/8\",,02:00:00:00:00:01,203.0.113.1,16,\r\n"
                          "a,12.0.0.0/8,192.0.2.2,,,,\r\n");
    m = bed_load(PORTS TASKS LAYOUT
                 "routes = ( { prefix = \"0.0.0.0/0\"; port = \"a\"; via = \"192.0.2.2\"; },\n"
                 "{ csv = \"t.csv\"; } );\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_routes, 6);
    CU_ASSERT_EQUAL(m->n_nexthops, 2);
    CU_ASSERT(m->routes[1].prefix == 0x0a000000 && m->routes[1].len == 24);
    CU_ASSERT(m->routes[3].prefix == 0x0a000200 && m->routes[3].nexthop == 0);
    CU_ASSERT(m->routes[4].prefix == 0x0b000000 && m->routes[4].nexthop == 1);
    CU_ASSERT(m->routes[5].prefix == 0x0c000000 && m->routes[5].nexthop == 0);
    CU_ASSERT(m->nexthops[1].has_gre && same6(m->nexthops[1].gre, mapped6(0xcb007101)));
    CU_ASSERT(m->nexthops[1].has_mpls && m->nexthops[1].mpls == 16);
    CU_ASSERT_EQUAL(m->routes[4].loc.line, 5);
    CU_ASSERT_NOT_EQUAL(strstr(m->routes[4].loc.file, "/t.csv"), NULL);
    config_free(m);
}

#define WAY_A "port = \"a\"; via = \"192.0.2.2\";"
#define WAY_B "port = \"b\"; mac = \"02:dd:00:00:00:01\"; mpls = 17;"
#define WAY_C "port = \"a\"; via = \"192.0.2.3\"; gre = \"203.0.113.1\";"

/* Routes with the same next hops share a set, in whatever order they name them. */
static void several_nexthops(void)
{
    struct cfg_model *m;
    const uint32_t *list;

    bed_put_text("t.csv", "prefix,also,port,via,mac,mpls,gre,count\n"
                          "11.0.0.0/8,,b,,02:dd:00:00:00:01,17,,2\n"
                          "11.0.0.0/8,true,a,192.0.2.2,,,,\n"
                          "13.0.0.0/8,false,a,192.0.2.2,,,,\n"
                          "14.0.0.0/8,,a,192.0.2.2,,,,\n"
                          "14.0.0.0/8,true,a,192.0.2.3,,,203.0.113.1,\n"
                          "14.0.0.0/8,true,b,,02:dd:00:00:00:01,17,,\n");
    m = bed_load(PORTS TASKS LAYOUT
                 "routes = ( { prefix = \"0.0.0.0/0\"; nexthops = ( { " WAY_A " }, { " WAY_B
                 " } ); }, { prefix = \"10.0.0.0/8\"; nexthops = ( { " WAY_C " } ); },\n"
                 "{ csv = \"t.csv\"; },\n"
                 "{ prefix = \"20.0.0.0/24\"; count = 3; nexthops = ( { " WAY_B " }, { " WAY_C
                 " }, { " WAY_A " } ); } );\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL_FATAL(m->n_routes, 9);
    CU_ASSERT_EQUAL(m->n_nexthops, 3);
    CU_ASSERT_EQUAL_FATAL(m->n_sets, 2);
    CU_ASSERT_EQUAL(m->routes[0].nexthop, CFG_SET | 0);
    CU_ASSERT_EQUAL(m->routes[1].nexthop, 2);
    CU_ASSERT(m->routes[2].prefix == 0x0b000000 && m->routes[3].prefix == 0x0c000000);
    CU_ASSERT(m->routes[2].nexthop == (CFG_SET | 0) && m->routes[3].nexthop == (CFG_SET | 0));
    CU_ASSERT_EQUAL(m->routes[2].loc.line, 2);
    CU_ASSERT_EQUAL(m->routes[4].nexthop, 0);
    CU_ASSERT_EQUAL(m->routes[5].nexthop, CFG_SET | 1);
    CU_ASSERT_EQUAL(m->routes[8].nexthop, CFG_SET | 1);
    CU_ASSERT_EQUAL_FATAL(route_nexthops(m, &m->routes[0], &list), 2);
    CU_ASSERT(same6(m->nexthops[list[0]].via, mapped6(0xc0000202)) &&
              m->nexthops[list[1]].mpls == 17);
    CU_ASSERT_EQUAL(route_nexthops(m, &m->routes[6], &list), 3);
    CU_ASSERT_EQUAL(route_nexthops(m, &m->routes[4], &list), 1);
    CU_ASSERT_EQUAL(room_sets(m), 2 + CFG_SPARE_LEAST);
    config_free(m);
}

static const struct test tests[] = {
    {"ranges", ranges},
    {"csv", csv},
    {"IPv6", ipv6},
    {"PPPoE sessions", sessions},
    {"names", names},
    {"csv many", csv_many},
    {"routes", routes},
    {"routes in a table", routes_csv},
    {"several next hops", several_nexthops},
    {NULL, NULL},
};

const struct test_program test_program = {"config subscribers", tests, bed_open, bed_close};
