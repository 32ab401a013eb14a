/* SPDX-License-Identifier: BSD-3-Clause */
/* What values say together, and what two objects must not both hold: one check for files, tables
 * and requests. */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys_bed.h"

/* What values say together. */
static void checks_of_routes(void)
{
    static const struct pair both[] = {{"prefix", "198.18.0.0/24"},
                                       {"port", "core0"},
                                       {"via", "192.0.2.9"},
                                       {"mac", "02:00:00:00:00:01"},
                                       {NULL, NULL}},
                             none[] = {
                                 {"prefix", "198.18.0.0/24"}, {"port", "core0"}, {NULL, NULL}};
    static const struct {
        const struct pair *base;
        const char *key, *value, *text;
    } cases[] = {
        {route, "prefix", "198.18.0.1/24", "has bits set after the prefix"},
        {route, "prefix", "192.0.2.1/32", "is the gateway's own, on port 'core0'"},
        {route, "via", "192.0.2.1", "is the gateway's own, on port 'core0'"},
        {route, "via", "fe80::9", "(no error)"},
        {route, "via", "2001:db8:9::9", "(no error)"},
        {route, "via", "ff02::1", "expected the IPv4 or IPv6 address of a neighbour"},
        {route, "via", "fe80::1%eth0", "expected the IPv4 or IPv6 address of a neighbour"},
        {route, "gre", "192.0.2.1", "is the gateway's own, on port 'core0'"},
        {route, "port", "cpe0", "port 'cpe0' has no address to send from"},
        {both, "", "", "either via (asked for its MAC) or mac (static), not both"},
        {none, "", "", "key 'via': missing in this route: expected via (asked for its MAC) or mac"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *of_request = strdup(of_route(object(cases[i].base, cases[i].key, cases[i].value)));

        if (strstr(of_request, cases[i].text) == NULL) {
            fprintf(stderr, "\n%s, not %s\n", of_request, cases[i].text);
            CU_FAIL("the message");
        }
        same("a file", cases[i].value,
             message_of_file("", group(cases[i].base, cases[i].key, cases[i].value), "", ""),
             of_request);
        free(of_request);
    }
}

#define TWO                                                                                        \
    "port,svlan,cvlan,ipv4,gre_key,profile\ncpe0,1,1,10.0.0.1,5,slow\n"                            \
    "cpe0,%s,10.0.0.%s,%s,slow\n"

static struct loc place(const struct subscriber_check *k, const struct cfg_subscriber *s)
{
    return (struct loc){s == k->list ? "first" : "second", 0};
}

static const struct cfg_subscriber *holder(const void *ctx, enum subscriber_claim what,
                                           uint64_t first, uint64_t last)
{
    const struct cfg_subscriber *s = ctx;

    return (what == CLAIM_CIRCUIT && claim_circuit(s->port, s->svlan, s->cvlan) == first) ||
                   (what == CLAIM_GRE_KEY && s->gre_key == first) ||
                   (what == CLAIM_ADDRESS && s->ipv4 >= first && s->ipv4 <= last)
               ? s
               : NULL;
}

/* Two that clash: in a table; in a list of a request; with one who is there. */
static void overlaps(void)
{
    static const struct {
        const char *vlans, *host, *key;
        struct cfg_subscriber second;
        const char *text;
    } cases[] = {
        {"1,1",
         "2",
         "6",
         {0, 1, 1, 0x0a000002, .gre_key = 6},
         "key 'svlan': value '1' with C-VLAN 1 on port 'cpe0': already a subscriber's, at "},
        {"1,2",
         "2",
         "5",
         {0, 1, 2, 0x0a000002, .gre_key = 5},
         "key 'gre_key': value '5': already a subscriber's, at "},
        {"1,2",
         "1",
         "6",
         {0, 1, 2, 0x0a000001, .gre_key = 6},
         "key 'ipv4': value '10.0.0.1/32': overlaps with a subscriber's, at "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cfg_subscriber list[2] = {{0, 1, 1, 0x0a000001, .gre_key = 5}, cases[i].second};
        struct subscriber_check k = {.list = list, .n = 2, .place = place};
        size_t len = strlen(cases[i].text);
        struct loader l;
        char text[512];

        for (unsigned n = 0; n < 2; n++) {
            list[n].has_gre_key = true;
            list[n].ipv4_len = 32;
        }
        snprintf(text, sizeof(text), TWO, cases[i].vlans, cases[i].host, cases[i].key);
        put("test.csv", text);
        CU_ASSERT(strncmp(message_of_file("{ csv = \"test.csv\"; }", "", "", ""), cases[i].text,
                          len) == 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(message(), "test.csv:2"));
        l = request("");
        k.l = &l;
        check_subscribers(&k);
        CU_ASSERT(strncmp(message(), cases[i].text, len) == 0);
        CU_ASSERT(strncmp(message() + len, "first (", strlen("first (")) == 0); /* whose follows */
        CU_ASSERT_STRING_EQUAL(diags.list[0].loc.file, "second");
        l = request("");
        k = (struct subscriber_check){
            .l = &l, .list = &list[1], .n = 1, .place = place, .holder = holder, .ctx = &list[0]};
        check_subscribers(&k);
        CU_ASSERT(strncmp(message(), cases[i].text, len - strlen("at ")) == 0);
        CU_ASSERT(strncmp(message() + len - strlen("at "), "added while running (",
                          strlen("added while running (")) == 0);
    }
}

static const struct cfg_route *route_there(const void *ctx, uint32_t prefix, uint8_t len)
{
    const struct cfg_route *r = ctx;

    return r->prefix == prefix && r->len == len ? r : NULL;
}

static void same_prefixes(void)
{
    struct cfg_route two[] = {{.loc = {"routes[0]", 0}, .prefix = 0xc6120000, .len = 24},
                              {.loc = {"routes[1]", 0}, .prefix = 0xc6120000, .len = 24}};
    const struct cfg_route running = {.loc = {"x.cfg", 7}, .prefix = 0xc6120000, .len = 24};
    struct loader l = request("");
    char twice[2100];

    check_routes(&l, two, 2, NULL, NULL);
    CU_ASSERT_STRING_EQUAL(message(),
                           "key 'prefix': value '198.18.0.0/24': already a route at routes[0]");
    CU_ASSERT_STRING_EQUAL(diags.list[0].loc.file, "routes[1]");
    l = request("");
    check_routes(&l, two, 1, route_there, &running);
    CU_ASSERT_STRING_EQUAL(message(),
                           "key 'prefix': value '198.18.0.0/24': already a route at x.cfg:7");
    snprintf(twice, sizeof(twice), "%s, ", group(route, "", ""));
    strcat(twice, group(route, "", ""));
    CU_ASSERT_PTR_NOT_NULL(strstr(message_of_file("", twice, "", ""),
                                  "key 'prefix': value '198.18.0.0/24': already a route at /"));
}

static const struct test tests[] = {
    {"values of a route together", checks_of_routes},
    {"what two subscribers hold", overlaps},
    {"two routes to a prefix", same_prefixes},
    {NULL, NULL},
};

const struct test_program test_program = {"key_checks", tests, open_folder, close_folder};
