/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes and next hops come and go: what each request does to the tables, and that a wrong one
 * changes nothing. The argument is the configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>

#include "bed.h"
#include "common/program.h"
#include "control/ids.h"
#include "tasks/arp/arp.h"
#include "tasks/route.h"
#include "tasks/task_types.h"

/* The next hop that an address leads to, or NULL. */
static const struct nexthop *way_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t id = number4(a << 24 | b << 16 | c << 8 | d);

    return id != 0 ? &tables->routes->nexthop[id] : NULL;
}

/* Is the neighbour of a next hop the one with that address? */
static bool is_via(const struct nexthop *nh, const char *addr)
{
    char text[IPV6_TEXT];

    return nh != NULL &&
           strcmp(format_address(tables->routes->via[nh - tables->routes->nexthop], text), addr) ==
               0;
}

static void routes(void)
{
    const struct nexthop *nh;

    CU_ASSERT(is_via(way_of(8, 8, 8, 8), "192.0.2.2"));
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
    CU_ASSERT(is_via(way_of(200, 8, 8, 8), "192.0.2.2"));
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
            "expected either via (asked for its MAC) or mac (static), not both");
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

/* The number of next hops of an address. */
static uint32_t n_ways(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t to = number4(a << 24 | b << 16 | c << 8 | d);

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

/* A tunnel may be of IPv6, whatever its routes are of; the next hop is another one than that with a
 * tunnel of IPv4. */
static void tunnels6(void)
{
#define OVER6(cmd, p, far)                                                                         \
    "{\"cmd\":\"" cmd "\",\"prefix\":\"" p "\",\"port\":\"core0\"," MAC ",\"gre\":\"" far "\"}"
    const struct route_table *t = tables->routes;
    const struct nexthop *nh, *other;
    struct tunnel_ends ends;

    refuses(ROUTE("198.19.1.0/24", MAC ",\"gre\":\"2001:db8::9\""),
            "port 'core1' has no address of IPv6 to send from");
    refuses(OVER6("add-route", "198.19.1.0/24", "2001:db8:c::1"), "is the gateway's own");
    refuses(OVER6("add-route", "198.19.1.0/24", "fe80::1"),
            "expected the IPv4 or IPv6 address of a host");
    CU_ASSERT(!far_ends6_any(&t->far_ends6));
    answers(OVER6("add-route", "198.19.1.0/24", "2001:db8::9"), "ok");
    nh = way_of(198, 19, 1, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(nh);
    ends = nexthop_ends(nh);
    CU_ASSERT(nh->has_gre == TUNNEL_IPV6 && nh->max_ip == 1452);
    CU_ASSERT(ends.ours.lower == 1 && ends.far.lower == 9 && far_ends6_any(&t->far_ends6));
    answers(OVER6("add-route", "2001:db8:77::/48", "2001:db8::9"), "ok");
    CU_ASSERT_EQUAL(number6("2001:db8:77::1"), (uint32_t)(nh - t->nexthop)); /* they leave alike */
    answers("{\"cmd\":\"show-routes\",\"first\":1,\"count\":9}", "\"gre\":\"2001:db8::9\"");
    answers(OVER6("change-route", "198.19.1.0/24", "203.0.113.9"), "ok");
    other = way_of(198, 19, 1, 1);
    CU_ASSERT(other != nh && other->has_gre == TUNNEL_IPV4 && other->max_ip == 1472);
    answers(OVER6("change-route", "2001:db8:77::/48", "2001:db8::a"), "ok");
    answers(OVER6("change-route", "198.19.1.0/24", "2001:db8::a"), "ok");
    CU_ASSERT_EQUAL(nexthop_ends(way_of(198, 19, 1, 1)).far.lower, 10);
    start_anew();
}

#define ROUTE6(p) "{\"prefix\":\"" p "\",\"port\":\"core1\"," MAC ",\"mpls\":66}"

/* Routes of IPv6 come, change and go as those of IPv4, with which they share next hops and sets. */
static void routes6(void)
{
    const uint32_t *hops = control->ids.routes_to, *sets = control->ids.routes_to_set;
    uint32_t before = n_used(hops, tables->routes->capacity + 1), way;

    CU_ASSERT_EQUAL(number6("2400:cb00::1"), number4(0x08080808));
    answers(ROUTE("2400:cb00:1::/48", MAC ",\"mpls\":66"), "{\"ok\":true,\"changed\":1}");
    way = number6("2400:cb00:1::9");
    CU_ASSERT(tables->routes->nexthop[way].has_mpls && number6("2400:cb00:2::") != way);
    answers("{\"cmd\":\"show-routes\",\"first\":4,\"count\":9}",
            "\"total\":4,\"room\":5,\"room6\":4,\"routes\":[{\"prefix\":\"2400:cb00:1::/48\","
            "\"port\":\"core1\",\"mac\":\"02:00:00:00:00:01\",\"mpls\":66,\"resolved\":true}]");
    refuses(ROUTE("2400:cb00:1::/48", MAC), "already a route added while running");
    answers(ROUTE("198.19.1.0/24", MAC ",\"mpls\":66"), "ok");
    CU_ASSERT_EQUAL(number4(0xc6130101), way);
    answers("{\"cmd\":\"remove-route\",\"prefix\":\"198.19.1.0/24\"}", "ok");
    answers(SPREAD("change-route", "2400:cb00:1::/48", HOP("01", "") "," HOP("02", "")), "ok");
    way = number6("2400:cb00:1::9");
    CU_ASSERT((way & ROUTE_SET) != 0);
    answers(SPREAD("add-route", "198.19.1.0/24", HOP("02", "") "," HOP("01", "")), "ok");
    CU_ASSERT_EQUAL(number4(0xc6130101), way);
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
    CU_ASSERT_EQUAL(number6("2400:cb03::1"), number4(0xc6130101));
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
    CU_ASSERT(is_via(way_of(8, 8, 8, 8), "192.0.2.9"));
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

/* A next hop of IPv6, of routes of both families: as one of IPv4. */
static void neighbours6(void)
{
    struct task *arp = engine.tasks[arp_instance(control)];
    struct arp_learned learned = {.mac = {2, 0xdd, 0, 0, 0, 9}};

    CU_ASSERT_EQUAL(parse_ipv6("fe80::9", &learned.address6), 0);
    refuses(ROUTE("198.19.1.0/24", "\"via\":\"ff02::1\""),
            "key 'via': value 'ff02::1': expected the IPv4 or IPv6 address of a neighbour");
    answers(ROUTE("198.19.1.0/24", "\"via\":\"FE80:0::9\""), "ok");
    CU_ASSERT(is_via(way_of(198, 19, 1, 1), "fe80::9"));
    CU_ASSERT(!way_of(198, 19, 1, 1)->mac_known);
    answers(
        "{\"cmd\":\"show-arp\",\"first\":1,\"count\":9}",
        "\"port\":\"core1\",\"ipv4\":null,\"ipv6\":\"fe80::9\",\"mac\":null,\"state\":\"unknown\"");
    CU_ASSERT_EQUAL(arp_give_neighbour(arp, 2, &learned), -ENOENT); /* of another link */
    CU_ASSERT_EQUAL(arp_give_neighbour(arp, 3, &learned), 0);
    CU_ASSERT(way_of(198, 19, 1, 1)->mac_known);
    answers("{\"cmd\":\"show-arp\",\"first\":1,\"count\":9}",
            "\"ipv6\":\"fe80::9\",\"mac\":\"02:dd:00:00:00:09\",\"state\":\"learned\"");
    answers(ROUTE("2400:cb01::/32", "\"via\":\"fe80::9\""), "ok");
    CU_ASSERT_PTR_EQUAL(way_of(198, 19, 1, 1), &tables->routes->nexthop[number6("2400:cb01::1")]);
    answers(
        "{\"cmd\":\"show-routes\",\"first\":1,\"count\":9}",
        "{\"prefix\":\"2400:cb01::/32\",\"port\":\"core1\",\"via\":\"fe80::9\",\"resolved\":true}");
    answers(LIST("change", "{\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\",\"via\":"
                           "\"2001:db8:c0::9\"}"),
            "ok");
    /* what the state file keeps, and a reload compares */
    answers("{\"cmd\":\"show-changes\"}",
            "{\"prefix\":\"198.19.1.0/24\",\"port\":\"core1\",\"via\":\"2001:db8:c0::9\"}");
    answers("{\"cmd\":\"show-changes\"}",
            "{\"prefix\":\"2400:cb01::/32\",\"port\":\"core1\",\"via\":\"fe80::9\"}");
    CU_ASSERT(is_via(way_of(198, 19, 1, 1), "2001:db8:c0::9"));
    CU_ASSERT(!way_of(198, 19, 1, 1)->mac_known);
    answers(LIST("remove", "\"198.19.1.0/24\",\"2400:cb01::/32\""), "ok");
    ids_poll(control);
    CU_ASSERT_EQUAL(arp_give_neighbour(arp, 3, &learned), -ENOENT);
    start_anew();
}

/* Each route task looks in the copy of its core's socket. */
static void copies(void)
{
    const struct route_table *t = tables->routes;
    const struct plan *plan = engine.plan;
    unsigned n = 0;

    CU_ASSERT(plan->n_routes_on == 2 && route_copies(t) == 2);
    for (unsigned i = 0; i < plan->n_instances; i++) {
        const struct plan_core *core = &plan->cores[plan->instances[i].core];
        const struct route *r = engine.tasks[i]->state;

        if (engine.tasks[i]->type != &task_route)
            continue;
        n++;
        CU_ASSERT_EQUAL(plan->routes_on[core->routes], core->socket);
        CU_ASSERT_PTR_EQUAL(r->first, fib_copy(&t->fib, core->routes)->first);
        CU_ASSERT_PTR_EQUAL(r->line, fib_copy(&t->fib, core->routes)->line);
        CU_ASSERT_PTR_EQUAL(r->fib6, fib6_copy(&t->fib6, core->routes));
    }
    CU_ASSERT_EQUAL(n, 2);
}

static const struct test tests[] = {
    {"copies", copies},
    {"routes", routes},
    {"wrong routes", wrong_routes},
    {"routes of IPv6", routes6},
    {"tunnels of IPv6", tunnels6},
    {"lists of both families", lists_of_both},
    {"several next hops", several_next_hops},
    {"lists of changes", lists_of_changes},
    {"neighbours", neighbours},
    {"neighbours of IPv6", neighbours6},
    {"wrong next hops", wrong_next_hops},
    {"next hops", next_hops},
    {NULL, NULL},
};

const struct test_program test_program = {"route changes", tests, bed_open, bed_close};
