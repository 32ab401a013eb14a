/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscribers come and go, and a configuration is read again: what each request does to the tables,
 * and that a wrong one changes nothing. The argument is the configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"
#include "common/program.h"
#include "control/ids.h"
#include "control/delta.h"

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
    CU_ASSERT_EQUAL(s->ipv4_net, 0);
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

/* --- reload --- */

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
    reload_with("routes_per = \"socket\"", "routes_per = \"gateway\"", "", "routes_per 1 -> 0");
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
    {"reload: what would change, and wrong files", reloads},
    {"what differs, again", replay},
    {"while running", while_running},
    {"reload: profiles", reload_changes},
    {"no room for profiles", profile_room},
    {NULL, NULL},
};

const struct test_program test_program = {"updates", tests, bed_open, bed_close};
