/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers and routes come and go, and a configuration is read again: what each request does to
 * the tables, and that a wrong one changes nothing. The argument is the configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "bed.h"
#include "common/program.h"
#include "control/ids.h"
#include "control/delta.h"
#include "tasks/arp/arp.h"

/* All that requests can change, as text. */
static char *state(void)
{
    char *subscribers = ask("{\"cmd\":\"show-subscribers\",\"first\":1,\"count\":1000}"),
         *routes = ask("{\"cmd\":\"show-routes\",\"first\":1,\"count\":1000}"),
         *changes = ask("{\"cmd\":\"show-changes\"}"), *all = NULL;

    CU_ASSERT_FATAL(asprintf(&all, "%s%s%s", subscribers, routes, changes) > 0);
    free(subscribers);
    free(routes);
    free(changes);
    return all;
}

/* A wrong request: the answer names what is wrong, and nothing has changed. */
static void refuses(const char *request, const char *text)
{
    char *before = state(), *answer = ask(request), *after;

    has(request, answer, "\"error\"");
    has(request, answer, text);
    after = state();
    CU_ASSERT_STRING_EQUAL(before, after);
    free(before);
    free(answer);
    free(after);
}

/* Back to what the configuration says. */
static void start_anew(void)
{
    char path[512], request[640];

    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(test_argument, path));
    snprintf(request, sizeof(request), "{\"cmd\":\"reload\",\"file\":\"%s\"}", path);
    answers(request, "\"ok\":true");
    answers("{\"cmd\":\"show-changes\"}", "\"requests\":[]");
}

static uint32_t by_address(uint32_t a, uint32_t b)
{
    return idmap_get(tables->subscribers->by_ipv4, 10u << 24 | a << 8 | b);
}

static uint32_t shaped_by(uint32_t id)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < control->n_shapers; i++)
        n += shaper_pipe(control, &control->shaper[i], id) != NULL;
    return n;
}

#define ADD "{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":11,\"cvlan\":30,"
#define A   ADD "\"ipv4\":\"10.0.3.1\",\"gre_key\":50,\"profile\":\"fast\"}"

static void add_and_remove(void)
{
    const struct subscriber *s = &tables->subscribers->record[8];

    answers(A, "{\"ok\":true,\"changed\":1,\"id\":8}");
    CU_ASSERT_EQUAL(by_address(3, 1), 8);
    CU_ASSERT_EQUAL(idmap_get(tables->subscribers->by_gre_key, 50), 8);
    CU_ASSERT_EQUAL(idmap_get(tables->subscribers->by_vlan, subscriber_vlan_key(0, 11, 30)), 8);
    CU_ASSERT_EQUAL(shaped_by(8), 2);
    CU_ASSERT_EQUAL(s->path, control->model->subscribers[7].pipe * QOS_QUEUES);
    answers("{\"cmd\":\"show-subscriber\",\"subscriber\":\"cpe0 11.30\"}",
            "\"id\":8,\"port\":\"cpe0\",\"svlan\":11,\"cvlan\":30,\"ipv4\":\"10.0.3.1\",\"ipv6\":"
            "null,\"delegated\":null,"
            "\"gre_key\":50,\"mac\":null,\"mac_is\":null,\"profile\":\"fast\",\"name\":null");
    refuses(A, "with C-VLAN 30 on port 'cpe0': already a subscriber's, added while running");
    answers("{\"cmd\":\"show-changes\"}", "\"cmd\":\"add-subscribers\"");
    answers("{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 11.30\"}",
            "{\"ok\":true,\"changed\":1}");
    CU_ASSERT_EQUAL(by_address(3, 1), 0);
    CU_ASSERT_EQUAL(shaped_by(8), 0);
    CU_ASSERT_EQUAL(s->path, 4 * QOS_QUEUES); /* for packets that are on their way */
    refuses("{\"cmd\":\"remove-subscriber\",\"subscriber\":8}", "there is none now");
    refuses("{\"cmd\":\"set-profile\",\"subscriber\":8,\"profile\":\"fast\"}", "there is none now");
    ids_poll(control);
    CU_ASSERT_EQUAL(s->port, 0);
    CU_ASSERT_EQUAL(s->ipv4, 0);
    answers("{\"cmd\":\"add-subscriber\",\"port\":\"cpe1\",\"svlan\":11,\"cvlan\":30,\"ipv4\":"
            "\"10.0.4.0/29\",\"mac\":\"02:00:00:00:00:07\"}",
            "\"id\":8"); /* the number again, for another */
    CU_ASSERT_EQUAL(by_address(4, 7), 8);
    CU_ASSERT_EQUAL(s->path, SUBSCRIBER_NO_PATH);
    CU_ASSERT(s->mac_known && s->mac_static && s->port == 1);
    start_anew();
    CU_ASSERT_EQUAL(by_address(4, 7), 0);
}

static void wrong_subscribers(void)
{
    refuses(ADD "\"profile\":\"fast\"}", "key 'ipv4': missing: expected it, ipv6 or delegated");
    refuses(ADD "\"ipv4\":\"10.0.3.0/23\",\"profile\":\"fast\"}",
            "key 'ipv4': value '10.0.3.0/23': expected the IPv4 address of a host");
    refuses(ADD "\"ipv4\":\"224.0.0.1\",\"profile\":\"fast\"}",
            "key 'ipv4': value '224.0.0.1': expected the IPv4 address of a host");
    refuses(ADD "\"ipv4\":\"192.0.2.0/29\",\"profile\":\"fast\"}",
            "the subscriber's addresses hold 192.0.2.1, the gateway's own on port 'core0' at ");
    refuses(ADD "\"ipv4\":\"10.0.0.1\",\"profile\":\"fast\"}",
            "key 'ipv4': value '10.0.0.1/32': overlaps with a subscriber's, at ");
    refuses(ADD "\"ipv4\":\"10.0.0.0/29\",\"profile\":\"fast\"}",
            "key 'ipv4': value '10.0.0.0/29': overlaps with a subscriber's, at ");
    refuses(ADD "\"ipv4\":\"10.0.3.1\",\"gre_key\":6,\"profile\":\"fast\"}",
            "key 'gre_key': value '6': already a subscriber's, at ");
    refuses(ADD "\"ipv4\":\"10.0.3.1\",\"gre_key\":-1,\"profile\":\"fast\"}", "key 'gre_key'");
    refuses(ADD "\"ipv4\":\"10.0.3.1\",\"mac\":\"01:00:00:00:00:00\",\"profile\":\"fast\"}",
            "key 'mac'");
    refuses(ADD "\"ipv4\":\"10.0.3.1\",\"profile\":\"fasd\"}", "did you mean 'fast'?");
    refuses(ADD "\"ipv4\":\"10.0.3.1\",\"profile\":\"flash\"}",
            "profile 'flash' downstream: rate is above that of the port");
    refuses(ADD "\"ipv4\":\"10.0.3.1\"}", "key 'profile': missing");
    refuses(ADD "\"ipv4\":\"10.0.3.1\",\"profil\":\"fast\"}",
            "key 'profil': unknown in a request 'add-subscriber'; did you mean 'profile'?");
    refuses("{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":0,\"cvlan\":1}",
            "key 'svlan'");
    refuses("{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":1,\"cvlan\":4095}",
            "key 'cvlan'");
    refuses("{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":200,\"cvlan\":1,\"ipv4\":"
            "\"10.0.3.1\",\"profile\":\"fast\"}",
            "in no subport");
    refuses("{\"cmd\":\"add-subscriber\",\"port\":\"cpe\",\"svlan\":1}",
            "key 'port': value 'cpe': no port of that name; did you mean 'cpe0'?");
    refuses("{\"cmd\":\"add-subscriber\",\"port\":\"idle0\",\"svlan\":1,\"cvlan\":1,\"ipv4\":"
            "\"10.0.3.1\"}",
            "nothing leads there");
    refuses("{\"cmd\":\"remove-subscriber\",\"subscriber\":99}", "expected 1 to");
    refuses("{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 9.9\"}", "there is none");
    refuses("{\"cmd\":\"remove-subscriber\"}", "key 'subscriber'");
}

#define ONE(cvlan, ip)                                                                             \
    "{\"port\":\"cpe0\",\"svlan\":12,\"cvlan\":" #cvlan ",\"ipv4\":\"10.0.5." #ip                  \
    "\",\"profile\":\"slow\"}"
#define MANY "{\"cmd\":\"add-subscribers\",\"subscribers\":["

/* All of a list or none. */
static void lists(void)
{
    answers(MANY ONE(1, 1) "," ONE(2, 2) "]}", "\"changed\":2,\"ids\":[");
    CU_ASSERT(by_address(5, 1) != 0 && by_address(5, 2) != 0);
    refuses(MANY ONE(3, 3) "," ONE(4, 1) "]}", "subscribers[1]: ");
    refuses(MANY ONE(3, 3) "," ONE(4, 3) "]}",
            "subscribers[1]: key 'ipv4': value '10.0.5.3/32': overlaps with a subscriber's, at "
            "subscribers[0]");
    refuses(MANY ONE(3, 3) "," ONE(3, 4) "]}",
            "with C-VLAN 3 on port 'cpe0': already a subscriber's, at subscribers[0]");
    refuses(MANY ONE(3, 3) ",{\"port\":\"cpe0\",\"x\":1}]}",
            "subscribers[1]: key 'x': unknown in a subscriber");
    refuses(MANY ONE(3, 3) ",7]}", "subscribers[1]: expected an object");
    refuses(MANY "]}", "key 'subscribers': expected a list");
    refuses("{\"cmd\":\"remove-subscribers\",\"subscribers\":[1,2,\"cpe0 10.20\"]}", "twice");
    refuses("{\"cmd\":\"remove-subscribers\",\"subscribers\":[1,99]}", "subscribers[1]");
    refuses("{\"cmd\":\"remove-subscribers\",\"subscribers\":{}}", "expected a list");
    answers("{\"cmd\":\"remove-subscribers\",\"subscribers\":[1,\"cpe0 12.1\"]}", "\"changed\":2");
    CU_ASSERT(by_address(0, 0) == 0 && by_address(5, 1) == 0 && by_address(5, 2) != 0);
    start_anew();
    CU_ASSERT(by_address(0, 0) != 0 && by_address(5, 2) == 0);
}

/* 12 in all; each subport has room for 8, of which "left" has 4 and "right" has 2. */
static void room(void)
{
    answers(MANY ONE(1, 1) "," ONE(2, 2) "," ONE(3, 3) "," ONE(4, 4) "]}", "\"changed\":4");
    refuses(MANY ONE(5, 5) "]}", "subport 'left' has no room");
    answers("{\"cmd\":\"add-subscriber\",\"port\":\"cpe1\",\"svlan\":1,\"cvlan\":1,\"ipv4\":"
            "\"10.0.6.1\"}",
            "ok");
    refuses("{\"cmd\":\"add-subscriber\",\"port\":\"cpe1\",\"svlan\":1,\"cvlan\":2,\"ipv4\":"
            "\"10.0.6.2\"}",
            "there is room for 12 subscribers");
    start_anew();
    answers(MANY ONE(5, 5) "]}", "ok");
    start_anew();
}

static void macs(void)
{
    const struct subscriber *s = &tables->subscribers->record[5];

    CU_ASSERT_FALSE(s->mac_known);
    answers("{\"cmd\":\"set-mac\",\"subscriber\":5,\"mac\":\"02:00:00:00:00:05\"}", "ok");
    CU_ASSERT(s->mac_known && s->mac_static && s->l2[5] == 5);
    answers("{\"cmd\":\"show-changes\"}", "\"mac\":\"02:00:00:00:00:05\"");
    answers("{\"cmd\":\"set-mac\",\"subscriber\":5,\"mac\":null}", "ok");
    CU_ASSERT(!s->mac_known && !s->mac_static);
    refuses("{\"cmd\":\"set-mac\",\"subscriber\":5,\"mac\":\"0\"}", "key 'mac'");
    refuses("{\"cmd\":\"set-mac\",\"subscriber\":5}", "key 'mac'");
    start_anew();
}

/* --- routes --- */

/* The next hop that an address leads to, or NULL. */
static const struct nexthop *way_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t id = fib_lookup(&tables->routes->fib, a << 24 | b << 16 | c << 8 | d);

    return id != 0 ? &tables->routes->nexthop[id] : NULL;
}

#define ROUTE(p, more) "{\"cmd\":\"add-route\",\"prefix\":\"" p "\",\"port\":\"core1\"," more "}"
#define MAC            "\"mac\":\"02:00:00:00:00:01\""

static void routes(void)
{
    const struct nexthop *nh;

    CU_ASSERT_EQUAL(way_of(8, 8, 8, 8)->via, RTE_BE32(0xc0000202));
    refuses(ROUTE("198.19.1.0/24", "\"via\":\"192.0.3.2\""), "has no address to send from");
    answers(ROUTE("198.19.1.0/25", MAC ",\"mpls\":77"), "\"changed\":1");
    nh = way_of(198, 19, 1, 1);
    CU_ASSERT(nh->mac_known && nh->has_mpls && !nh->has_gre && nh->port == 3);
    CU_ASSERT_EQUAL(way_of(198, 19, 1, 129)->port, 2);
    refuses(ROUTE("198.19.1.0/25", MAC), "already");
    answers("{\"cmd\":\"change-route\",\"prefix\":\"198.19.1.0/25\",\"port\":\"core0\",\"via\":"
            "\"192.0.2.2\"}",
            "ok");
    CU_ASSERT_PTR_EQUAL(way_of(198, 19, 1, 1), way_of(8, 8, 8, 8)); /* they leave alike */
    refuses("{\"cmd\":\"change-route\",\"prefix\":\"198.19.2.0/25\",\"port\":\"core0\",\"via\":"
            "\"192.0.2.2\"}",
            "there is no route");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/25\"}", "ok");
    CU_ASSERT_EQUAL(way_of(198, 19, 1, 1)->port, 2);
    refuses("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/25\"}", "there is no route");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"0.0.0.0/0\"}", "ok");
    CU_ASSERT_PTR_NULL(way_of(8, 8, 8, 8));
    answers(ROUTE("128.0.0.0/1", MAC), "ok");
    answers(ROUTE("0.0.0.0/0", MAC ",\"gre\":\"203.0.113.5\""), "no address");
    answers(ROUTE("0.0.0.0/0", MAC ",\"mpls\":99"), "ok");
    CU_ASSERT(way_of(8, 8, 8, 8)->has_mpls && !way_of(200, 8, 8, 8)->has_mpls);
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"128.0.0.0/1\"}", "ok");
    CU_ASSERT(way_of(200, 8, 8, 8)->has_mpls);
    start_anew();
    CU_ASSERT_EQUAL(way_of(200, 8, 8, 8)->via, RTE_BE32(0xc0000202));
}

static void wrong_routes(void)
{
    refuses(ROUTE("198.19.1.1/24", MAC), "has bits set after the prefix: expected '198.19.1.0/24'");
    refuses(ROUTE("198.19.1.0/33", MAC),
            "key 'prefix': value '198.19.1.0/33': expected an IPv4 or IPv6 prefix");
    refuses(ROUTE("192.0.2.1/32", MAC),
            "key 'prefix': value '192.0.2.1/32': is the gateway's own, on port 'core0' at ");
    refuses(ROUTE("198.19.1.0/24", "\"mpls\":16"), "key 'via': missing in this route");
    refuses(ROUTE("198.19.1.0/24", MAC ",\"via\":\"192.0.3.2\""),
            "expected either via (ask by ARP) or mac (static), not both");
    refuses(ROUTE("198.19.1.0/24", MAC ",\"mpls\":15"), "key 'mpls'");
    refuses(ROUTE("198.19.1.0/24", MAC ",\"gre\":\"x\""), "key 'gre'");
    refuses(ROUTE("198.19.1.0/24", MAC ",\"lable\":16"),
            "key 'lable': unknown in a request 'add-route'");
    refuses("{\"cmd\":\"add-route\",\"prefix\":\"198.19.1.0/24\",\"port\":\"core\"," MAC "}",
            "did you mean 'core");
    refuses("{\"cmd\":\"add-route\",\"prefix\":\"198.19.1.0/24\",\"port\":\"idle0\"," MAC "}",
            "nothing leads there");
    refuses("{\"cmd\":\"add-route\",\"prefix\":\"198.19.1.0/24\",\"port\":\"core0\",\"via\":"
            "\"192.0.2.1\"}",
            "is the gateway's own");
    refuses(
        "{\"cmd\":\"add-routes\",\"routes\":[{\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\"," MAC
        "},{\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\"," MAC "}]}",
        "routes[1]: key 'prefix': value '198.19.1.0/24': already a route at routes[0]");
    answers(
        "{\"cmd\":\"add-routes\",\"routes\":[{\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\"," MAC
        "},{\"prefix\":\"198.19.2.0/24\",\"port\":\"core1\"," MAC
        "},{\"prefix\":\"198.19.3.0/24\",\"port\":\"core1\"," MAC "}]}",
        "\"changed\":3");
    refuses(ROUTE("198.19.4.0/24", MAC), "there is room for 5 routes");
    refuses("{\"cmd\":\"show-routes\",\"first\":0,\"count\":1}", "key 'first'");
    start_anew();
}

#define HOP(mac, more)       "{\"port\":\"core1\",\"mac\":\"02:00:00:00:00:" mac "\"" more "}"
#define SPREAD(cmd, p, hops) "{\"cmd\":\"" cmd "\",\"prefix\":\"" p "\",\"nexthops\":[" hops "]}"

/* The number of next hops of an address. */
static uint32_t n_ways(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t to = fib_lookup(&tables->routes->fib, a << 24 | b << 16 | c << 8 | d);

    if ((to & ROUTE_SET) == 0)
        return to != 0;
    return nexthop_set_size(&tables->routes->set[to & ~ROUTE_SET]);
}

/* The running config's numbers of next hops and sets that are in use. */
static uint32_t n_used(const uint32_t *uses, uint32_t n)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < n; i++)
        used += uses[i] != 0;
    return used;
}

/* Routes with several next hops share them, and their set; what no route leads to goes. */
static void several_next_hops(void)
{
    const struct route_table *t = tables->routes;
    const uint32_t *sets = control->ids.routes_to_set, *hops = control->ids.routes_to;
    uint32_t before = n_used(hops, t->capacity + 1);

    answers(SPREAD("add-route", "198.19.1.0/24", HOP("01", "") "," HOP("02", ",\"mpls\":77")),
            "ok");
    CU_ASSERT(n_ways(198, 19, 1, 1) == 2 && n_used(sets, t->set_capacity) == 1);
    answers("{\"cmd\":\"add-routes\",\"routes\":[{\"prefix\":\"198.19.2.0/24\",\"nexthops\":[" HOP(
                "02", ",\"mpls\":77") "," HOP("01", "") "]},{\"prefix\":\"198.19.3.0/"
                                                        "24\",\"nexthops\":[" HOP("01", "") "]}]}",
            "\"changed\":2");
    CU_ASSERT(n_ways(198, 19, 2, 1) == 2 && n_ways(198, 19, 3, 1) == 1);
    CU_ASSERT_EQUAL(n_used(sets, t->set_capacity), 1);
    CU_ASSERT_EQUAL(n_used(hops, t->capacity + 1), before + 2);
    answers("{\"cmd\":\"show-routes\",\"first\":4,\"count\":1}", "\"mpls\":77,\"resolved\":true}");
    answers("{\"cmd\":\"show-routes\",\"first\":4,\"count\":1}", "}],\"resolved\":true}");
    answers(SPREAD("change-route", "198.19.2.0/24",
                   HOP("01", "") "," HOP("02", ",\"mpls\":77") "," HOP("03", "")),
            "ok");
    CU_ASSERT(n_ways(198, 19, 1, 1) == 2 && n_ways(198, 19, 2, 1) == 3);
    answers(ROUTE("198.19.4.0/24", MAC), "there is room for 5 routes");
    answers("{\"cmd\":\"change-route\",\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\"," MAC "}",
            "ok");
    CU_ASSERT(n_ways(198, 19, 1, 1) == 1 && n_used(sets, t->set_capacity) == 1);
    for (unsigned i = 1; i <= 3; i++) {
        char request[80];

        snprintf(request, sizeof(request),
                 "{\"cmd\":\"remove-route\",\"prefix\":\"198.19.%u.0/24\"}", i);
        answers(request, "ok");
    }
    CU_ASSERT_EQUAL(n_used(sets, t->set_capacity), 0);
    CU_ASSERT_EQUAL(n_used(hops, t->capacity + 1), before);
    for (unsigned i = 0; i < 3 * t->set_capacity; i++) { /* numbers are used again */
        answers(SPREAD("add-route", "198.19.1.0/24", HOP("01", "") "," HOP("02", "")), "ok");
        answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "ok");
    }
    start_anew();
}

/* What the table of IPv6 says of an address: the number of a next hop or a set. */
static uint32_t number6(const char *text)
{
    struct ipv6 addr;

    CU_ASSERT_EQUAL_FATAL(parse_ipv6(text, &addr), 0);
    return fib6_lookup(&tables->routes->fib6, addr);
}

#define ROUTE6(p) "{\"prefix\":\"" p "\",\"port\":\"core1\"," MAC ",\"mpls\":66}"

/* Routes of IPv6 come, change and go as those of IPv4, with which they share next hops and sets. */
static void routes6(void)
{
    const uint32_t *hops = control->ids.routes_to, *sets = control->ids.routes_to_set;
    uint32_t before = n_used(hops, tables->routes->capacity + 1), way;

    CU_ASSERT_EQUAL(number6("2400:cb00::1"), fib_lookup(&tables->routes->fib, 0x08080808));
    answers(ROUTE("2400:cb00:1::/48", MAC ",\"mpls\":66"), "{\"ok\":true,\"changed\":1}");
    way = number6("2400:cb00:1::9");
    CU_ASSERT(tables->routes->nexthop[way].has_mpls && number6("2400:cb00:2::") != way);
    answers("{\"cmd\":\"show-routes\",\"first\":4,\"count\":9}",
            "\"total\":4,\"room\":5,\"room6\":4,\"routes\":[{\"prefix\":\"2400:cb00:1::/48\","
            "\"port\":\"core1\",\"mac\":\"02:00:00:00:00:01\",\"mpls\":66,\"resolved\":true}]");
    refuses(ROUTE("2400:cb00:1::/48", MAC), "already a route added while running");
    answers(ROUTE("198.19.1.0/24", MAC ",\"mpls\":66"), "ok");
    CU_ASSERT_EQUAL(fib_lookup(&tables->routes->fib, 0xc6130101), way);
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "ok");
    answers(SPREAD("change-route", "2400:cb00:1::/48", HOP("01", "") "," HOP("02", "")), "ok");
    way = number6("2400:cb00:1::9");
    CU_ASSERT((way & ROUTE_SET) != 0);
    answers(SPREAD("add-route", "198.19.1.0/24", HOP("02", "") "," HOP("01", "")), "ok");
    CU_ASSERT_EQUAL(fib_lookup(&tables->routes->fib, 0xc6130101), way);
    CU_ASSERT_EQUAL(n_used(sets, tables->routes->set_capacity), 1);
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "ok");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb00:1::/48\"}", "ok");
    CU_ASSERT_EQUAL(number6("2400:cb00:1::9"), number6("2400:cb00::1"));
    CU_ASSERT_EQUAL(n_used(sets, tables->routes->set_capacity), 0);
    CU_ASSERT_EQUAL(n_used(hops, tables->routes->capacity + 1), before);
    refuses("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb00:1::/48\"}", "there is no route");
    refuses("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb00::1/32\"}",
            "has bits set after the prefix: expected '2400:cb00::/32'");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb00::/32\"}", "ok");
    CU_ASSERT_EQUAL(number6("2400:cb00::1"), 0);
    answers(ROUTE("::/0", MAC), "ok");
    CU_ASSERT(number6("3fff::") != 0);
    start_anew();
    CU_ASSERT(number6("3fff::") == 0 && number6("2400:cb00::1") != 0);
}

static void lists_of_both(void)
{
    refuses("{\"cmd\":\"add-routes\",\"routes\":[" ROUTE6("198.19.1.0/24") "," ROUTE6(
                "2400:cb01::/32") "," ROUTE6("2400:cb01::/32") "]}",
            "routes[2]: key 'prefix': value '2400:cb01::/32': already a route at routes[1]");
    refuses("{\"cmd\":\"add-routes\",\"routes\":[" ROUTE6("198.19.1.0/24") "," ROUTE6(
                "2400:cb00::/32") "]}",
            "routes[1]: key 'prefix': value '2400:cb00::/32': already a route ");
    refuses("{\"cmd\":\"add-routes\",\"routes\":[" ROUTE6("2400:cb01::/32") "," ROUTE6(
                "2400:cb02::/32") "," ROUTE6("2400:cb03::/32") "," ROUTE6("2400:cb04::/32") "]}",
            "there is room for 4 routes of IPv6, and 1 are there: max_routes6 says how many");
    answers("{\"cmd\":\"add-routes\",\"routes\":[" ROUTE6("2400:cb01::/32") "," ROUTE6(
                "198.19.1.0/24") "," ROUTE6("2400:cb02::/32") "," ROUTE6("2400:cb03::1") "]}",
            "\"changed\":4");
    CU_ASSERT_EQUAL(number6("2400:cb03::1"), fib_lookup(&tables->routes->fib, 0xc6130101));
    CU_ASSERT_EQUAL(number6("2400:cb03::2"), 0);
    refuses(ROUTE("2400:cb04::/32", MAC), "there is room for 4 routes of IPv6");
    refuses(ROUTE("fe80::/64", MAC), "is never forwarded");
    refuses(ROUTE("2400:cb04::1/32", MAC), "has bits set after the prefix");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb03::1\"}", "ok");
    start_anew();
}

static void wrong_next_hops(void)
{
    char *before = ask("{\"cmd\":\"show-changes\"}"), *after;
    uint32_t hops = n_used(control->ids.routes_to, tables->routes->capacity + 1);

    refuses(SPREAD("add-route", "198.19.1.0/24", ""),
            "key 'nexthops': 0 elements: expected a list of 1 to 16");
    refuses("{\"cmd\":\"add-route\",\"prefix\":\"198.19.1.0/24\",\"nexthops\":7}",
            "key 'nexthops': 0 elements: expected a list of 1 to 16");
    refuses(SPREAD("add-route", "198.19.1.0/24", "7"),
            "key 'nexthops': expected a list of objects");
    refuses(SPREAD("add-route", "198.19.1.0/24", HOP("01", "") "," HOP("01", "")),
            "this next hop is there twice in one route");
    refuses(SPREAD("add-route", "198.19.1.0/24", HOP("01", "") ",{\"port\":\"core1\"}"),
            "key 'via': missing in this next hop");
    refuses(SPREAD("add-route", "198.19.1.0/24", HOP("01", "") ",{\"port\":\"idle0\"," MAC "}"),
            "nothing leads there");
    refuses(SPREAD("add-route", "198.19.1.0/24", HOP("01", ",\"weight\":2")),
            "key 'weight': unknown in a next hop");
    refuses(
        "{\"cmd\":\"add-route\",\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\",\"nexthops\":[" HOP(
            "01", "") "]}",
        "expected it within nexthops, or no nexthops");
    refuses("{\"cmd\":\"add-route\",\"prefix\":\"198.19.1.0/24\"," MAC "}",
            "key 'port': missing in this route");
    refuses(SPREAD("change-route", "198.19.1.0/24", HOP("01", "") "," HOP("02", "")),
            "there is no route");
    /* of a list that is refused as a whole nothing is left */
    refuses(
        "{\"cmd\":\"add-routes\",\"routes\":[{\"prefix\":\"198.19.2.0/24\",\"nexthops\":[" HOP(
            "02", "") "," HOP("01",
                              "") "]},{\"prefix\":\"198.18.0.0/15\",\"nexthops\":[" HOP("01",
                                                                                        "") "]}]}",
        "already");
    after = ask("{\"cmd\":\"show-changes\"}");
    CU_ASSERT_STRING_EQUAL(before, after);
    CU_ASSERT_EQUAL(n_used(control->ids.routes_to, tables->routes->capacity + 1), hops);
    free(before);
    free(after);
}

/* Next hops come and go: their numbers are used again, and the arp task knows those that are
 * there. */
static void next_hops(void)
{
    uint32_t first = control->model->n_nexthops, most = 0;
    char request[256];

    for (unsigned i = 0; i < 100; i++) {
        snprintf(request, sizeof(request),
                 "{\"cmd\":\"add-route\",\"prefix\":\"198.19.7.0/24\",\"port\":\"core0\",\"via\":"
                 "\"192.0.2.%u\"}",
                 3 + i);
        answers(request, "ok");
        most = RTE_MAX(most, control->model->n_nexthops);
        answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.7.0/24\"}", "ok");
        ids_poll(control);
    }
    CU_ASSERT(most <= first + 1);
    start_anew();
}

#define VIA(p, a)       "{\"prefix\":\"" p "\",\"port\":\"core0\",\"via\":\"192.0.2." a "\"}"
#define LIST(cmd, list) "{\"cmd\":\"" cmd "-routes\",\"routes\":[" list "]}"

/* All of a list of changes or none; the first that is refused is named. */
static void lists_of_changes(void)
{
    answers(LIST("add",
                 ROUTE6("198.19.1.0/24") "," ROUTE6("198.19.2.0/24") "," ROUTE6("2400:cb01::/32")),
            "\"changed\":3");
    refuses(LIST("change", VIA("198.19.1.0/24", "9") "," VIA("198.19.3.0/24", "9")),
            "routes[1]: there is no route to that prefix");
    refuses(LIST("change", VIA("198.19.1.0/24", "9") "," VIA("198.19.2.0/24", "1")),
            "routes[1]: key 'via': value '192.0.2.1': is the gateway's own");
    refuses(LIST("change", VIA("198.19.1.0/24", "9") "," VIA("198.19.1.0/24", "8")),
            "routes[1]: this prefix is there twice");
    refuses(LIST("change", VIA("198.19.1.0/24", "9") ",{\"prefix\":\"198.19.2.0/24\",\"port\":"
                                                     "\"idle0\",\"via\":\"192.0.9.9\"}"),
            "routes[1]: port 'idle0': nothing leads there");
    refuses(LIST("change", ""), "key 'routes': expected a list");
    answers(LIST("change", VIA("198.19.1.0/24", "9") "," VIA("2400:cb01::/32",
                                                             "9") "," VIA("0.0.0.0/0", "9")),
            "\"changed\":3");
    CU_ASSERT_PTR_EQUAL(way_of(198, 19, 1, 1), way_of(8, 8, 8, 8));
    CU_ASSERT_EQUAL(way_of(8, 8, 8, 8)->via, RTE_BE32(0xc0000209));
    CU_ASSERT_PTR_EQUAL(way_of(8, 8, 8, 8), &tables->routes->nexthop[number6("2400:cb01::1")]);
    refuses(LIST("remove", "\"198.19.1.0/24\",\"198.19.3.0/24\""),
            "routes[1]: there is no route to that prefix");
    refuses(LIST("remove", "\"198.19.1.0/24\",\"2400:cb01::/32\",\"198.19.1.0/24\""),
            "routes[2]: this prefix is there twice");
    refuses(LIST("remove", "\"198.19.1.0/24\",\"198.19.2.1/24\""),
            "routes[1]: key 'prefix': value '198.19.2.1/24': has bits set after the prefix");
    refuses(LIST("remove", "\"198.19.1.0/24\",7"), "routes[1]: key 'prefix'");
    answers(LIST("remove", "\"198.19.1.0/24\",\"2400:cb01::/32\",\"198.19.2.0/24\""),
            "\"changed\":3");
    CU_ASSERT_EQUAL(way_of(198, 19, 1, 1)->port, 2);
    CU_ASSERT_EQUAL(number6("2400:cb01::1"), 0);
    start_anew();
}

/* The MAC of a neighbour is that of each next hop that comes, from its first packet on; who has no
 * next hop any more is forgotten. */
static void neighbours(void)
{
    static const uint8_t mac[6] = {2, 0xdd, 0, 0, 0, 9};
    struct task *arp = engine.tasks[arp_instance(control)];
    const struct arp_learned learned = {.mac = {2, 0xdd, 0, 0, 0, 9}, .address = 0xc0000209};

    answers(ROUTE("198.19.1.0/24", MAC), "ok");
    CU_ASSERT_EQUAL(arp_give_neighbour(arp, 2, &learned), -ENOENT);
    answers(LIST("change", VIA("198.19.1.0/24", "9")), "ok");
    CU_ASSERT(!way_of(198, 19, 1, 1)->mac_known);
    CU_ASSERT_EQUAL(arp_give_neighbour(arp, 2, &learned), 0);
    CU_ASSERT(way_of(198, 19, 1, 1)->mac_known);
    for (unsigned i = 0; i < 200; i++) {
        char request[200];

        snprintf(request, sizeof(request),
                 "{\"cmd\":\"change-route\",\"prefix\":\"198.19.1.0/24\",\"port\":\"core0\","
                 "\"via\":\"192.0.2.9\",\"mpls\":%u}",
                 100 + i);
        answers(request, "ok");
        CU_ASSERT(way_of(198, 19, 1, 1)->mac_known);
        CU_ASSERT_EQUAL(memcmp(way_of(198, 19, 1, 1)->eth, mac, sizeof(mac)), 0);
        if (i % 3 == 0)
            ids_poll(control);
    }
    answers("{\"cmd\":\"show-arp\",\"first\":1,\"count\":9}",
            "\"ipv4\":\"192.0.2.9\",\"ipv6\":null,\"mac\":\"02:dd:00:00:00:09\"");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "ok");
    ids_poll(control);
    CU_ASSERT_EQUAL(arp_give_neighbour(arp, 2, &learned), -ENOENT);
    answers(ROUTE("198.19.1.0/24", MAC), "ok");
    answers(LIST("change", VIA("198.19.1.0/24", "9")), "ok");
    CU_ASSERT(!way_of(198, 19, 1, 1)->mac_known);
    start_anew();
}

/* --- reload --- */

/* The configuration with one text replaced, in a file beside it that is not there for long. */
static void reload_with(const char *from, const char *to, const char *keys, const char *text)
{
    char path[256], request[512], *all = NULL, *at;
    size_t size = 0;
    FILE *f = fopen(test_argument, "r"), *g;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_FATAL(getdelim(&all, &size, '\0', f) > 0);
    fclose(f);
    at = strstr(all, from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(path, sizeof(path), "/tmp/vbng-updates-%d.cfg", getpid());
    g = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    fprintf(g, "%.*s%s%s", (int)(at - all), all, to, at + strlen(from));
    fclose(g);
    snprintf(request, sizeof(request), "{\"cmd\":\"reload\",\"file\":\"%s\"%s}", path, keys);
    answers(request, text);
    unlink(path);
    free(all);
}

#define MAC_IN_FILE "mac = \"02:00:00:00:00:01\""

static void reloads(void)
{
    char *before = state(), *after;

    reload_with("\"10M\"", "\"20M\"", ",\"dry_run\":true", "\"changed\":[\"slow\"]");
    reload_with("cvlan = \"20-23\"; ipv4 = \"10.0.0.0/30\"; gre_key = \"0-3\"",
                "cvlan = \"20-21\"; ipv4 = \"10.0.0.0/30\"; gre_key = \"0-1\"",
                ",\"dry_run\":true,\"details\":true",
                "{\"cmd\":\"remove-subscribers\",\"subscribers\":[\"cpe0 10.22\",\"cpe0 10.23\"]}");
    reload_with("mbufs = \"32K\"", "mbufs = \"48K\"", ",\"dry_run\":true",
                "\"restart\":[\"pool 'default': mbufs 32768 -> 49152\"]");
    reload_with("svlan = \"1-99\"", "svlan = \"1-98\"", "", "\"restart\":[\"scheduler 'acc'");
    reload_with("max_subscribers = \"12\"", "max_subscribers = \"13\"", "",
                "max_subscribers 12 -> 13");
    reload_with("prefix = \"2400:cb00::/32\"; port = \"core0\"; via = \"192.0.2.2\"",
                "prefix = \"2400:cb00::/32\"; port = \"core1\"; " MAC_IN_FILE, ",\"dry_run\":true",
                "\"routes\":{\"added\":0,\"removed\":0,\"changed\":1}");
    reload_with("prefix = \"2400:cb00::/32\"", "prefix = \"2400:cb01::/32\"; count = 2",
                ",\"dry_run\":true", "\"routes\":{\"added\":2,\"removed\":1,\"changed\":0}");
    reload_with("max_routes6 = \"4\"", "max_routes6 = \"5\"", "", "max_routes6 4 -> 5");
    reload_with("prefix = \"2400:cb00::/32\"", "prefix = \"2400:cb01::/32\"; count = 2", "",
                "\"routes\":{\"added\":2,\"removed\":1,\"changed\":0}");
    CU_ASSERT(number6("2400:cb00::1") == 0 && number6("2400:cb02::1") != 0);
    start_anew();
    CU_ASSERT(number6("2400:cb00::1") != 0 && number6("2400:cb02::1") == 0);
    reload_with("to = \"decap\"", "to = \"dekap\"", "", "nothing was changed: 1 errors");
    reload_with("name = \"updates\";", "name = \"updates", "", "nothing was changed");
    answers("{\"cmd\":\"reload\",\"file\":\"/nonexistent\"}", "No such file");
    refuses("{\"cmd\":\"reload\",\"file\":\"updates.cfg\"}", "a path from the root");
    refuses("{\"cmd\":\"reload\",\"dry_run\":1}", "key 'dry_run'");
    after = state();
    CU_ASSERT_STRING_EQUAL(before, after);
    free(before);
    free(after);
}

static uint64_t rate_of(uint32_t id)
{
    const struct qos_pipe *p = shaper_pipe(control, &control->shaper[0], id);

    return control->model->qos.profiles[p->profile].shape[QOS_UP].rate;
}

static void reload_changes(void)
{
    reload_with("\"10M\"", "\"20M\"", "", "\"changed\":[\"slow\"]");
    CU_ASSERT_EQUAL(rate_of(by_address(0, 0)), 20000000);
    reload_with("profile = \"slow\"", "profile = \"gold\"", "", "no profile of that name");
    reload_with("fast = { rate = \"50M\"; };",
                "fast = { rate = \"50M\"; }; gold = { rate = \"70M\"; };", "",
                "\"added\":[\"gold\"],\"changed\":[\"slow\"]");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe0 10.20\",\"profile\":\"gold\"}", "ok");
    CU_ASSERT_EQUAL(rate_of(by_address(0, 0)), 70000000);
    start_anew();
    answers("{\"cmd\":\"reload\"}", "\"ok\":true"); /* what was read last */
}

/* After all places for profiles are taken a reload that needs one changes nothing. */
static void profile_room(void)
{
    reload_with("\"10M\"", "\"30M\"", "", "there is room for 0");
    reload_with("\"10M\"", "\"30M\"", ",\"dry_run\":true", "there is room for 0");
    answers("{\"cmd\":\"show-changes\"}", "\"requests\":[]");
}

/* --- what differs --- */

/* show-changes, with next hops in the order of their MACs: that of a set follows from their
 * numbers.
 */
static char *changes_text(void)
{
    json_t *requests = running_changes(control), *request, *route;
    size_t i, k;
    char *text;

    json_array_foreach(requests, i, request)
    {
        json_array_foreach(json_object_get(request, "routes"), k, route)
        {
            json_t *hops = json_object_get(route, "nexthops"), *first = json_array_get(hops, 0);

            if (first == NULL ||
                strcmp(json_string_value(json_object_get(first, "mac")),
                       json_string_value(json_object_get(json_array_get(hops, 1), "mac"))) < 0)
                continue;
            json_array_append(hops, first);
            json_array_remove(hops, 0);
        }
    }
    text = json_dumps(requests, JSON_COMPACT);
    json_decref(requests);
    return text;
}

/* The requests that running_changes() gives make the same of what the configuration says. */
static void replay(void)
{
    json_t *changes, *one;
    char *after, *before;
    size_t i;

    answers(A, "ok");
    answers("{\"cmd\":\"remove-subscribers\",\"subscribers\":[2,7]}", "ok");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":3,\"profile\":\"fast\"}", "ok");
    answers("{\"cmd\":\"set-mac\",\"subscriber\":5,\"mac\":\"02:00:00:00:00:05\"}", "ok");
    answers(ROUTE("198.19.1.0/24", MAC), "ok");
    answers(SPREAD("add-route", "198.19.2.0/24", HOP("01", "") "," HOP("02", "")), "ok");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"0.0.0.0/0\"}", "ok");
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb00::/32\"}", "ok");
    answers(SPREAD("add-route", "2400:cb01::/32", HOP("01", "") "," HOP("02", "")), "ok");
    answers(
        "{\"cmd\":\"set-subport-rate\",\"scheduler\":\"acc\",\"subport\":\"left\",\"direction\":"
        "\"up\",\"rate\":\"300M\"}",
        "ok");
    answers("{\"cmd\":\"set-dscp\",\"scheduler\":\"acc\",\"direction\":\"up\",\"dscp\":8,\"class\":"
            "\"be\",\"queue\":2}",
            "ok");
    before = changes_text();
    changes = running_changes(control);
    CU_ASSERT(json_array_size(changes) >= 8);
    CU_ASSERT_NOT_EQUAL(strstr(before, "\"nexthops\":["), NULL);
    start_anew();
    json_array_foreach(changes, i, one)
    {
        char *request = json_dumps(one, JSON_COMPACT);

        answers(request, "\"ok\":true");
        free(request);
    }
    after = changes_text();
    CU_ASSERT_STRING_EQUAL(before, after);
    json_decref(changes);
    free(before);
    free(after);
    start_anew();
}

/* With running cores what was removed rests for a while, and then is used again. */
static void while_running(void)
{
    CU_ASSERT_EQUAL_FATAL(engine_start(&engine), 0);
    for (unsigned i = 0; i < 500; i++) {
        answers(A, "ok");
        answers(i % 2 == 0 ? ROUTE("198.19.1.0/24", MAC)
                           : SPREAD("add-route", "198.19.1.0/24", HOP("01", "") "," HOP("02", "")),
                "ok");
        answers("{\"cmd\":\"remove-subscriber\",\"subscriber\":\"cpe0 11.30\"}", "ok");
        answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "ok");
        answers(ROUTE("2400:cb00:1::1", MAC ",\"mpls\":66"), "ok");
        answers("{\"cmd\":\"remove-route\",\"prefix\":\"2400:cb00:1::1\"}", "ok");
        ids_poll(control);
    }
    CU_ASSERT(control->model->n_subscribers <= 12);
    start_anew();
    engine_stop(&engine);
}

static const struct test tests[] = {
    {"a subscriber comes and goes", add_and_remove},
    {"wrong subscribers", wrong_subscribers},
    {"lists", lists},
    {"room", room},
    {"MACs", macs},
    {"routes", routes},
    {"wrong routes", wrong_routes},
    {"routes of IPv6", routes6},
    {"lists of both families", lists_of_both},
    {"several next hops", several_next_hops},
    {"lists of changes", lists_of_changes},
    {"neighbours", neighbours},
    {"wrong next hops", wrong_next_hops},
    {"next hops", next_hops},
    {"reload: what would change, and wrong files", reloads},
    {"what differs, again", replay},
    {"while running", while_running},
    {"reload: profiles", reload_changes},
    {"no room for profiles", profile_room},
    {NULL, NULL},
};

const struct test_program test_program = {"updates", tests, bed_open, bed_close};
