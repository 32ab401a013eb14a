/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One mistake has one message: each wrong value of each key of subscribers, routes, rates of
 * subports and entries of DSCP maps is written into a file, into a table in CSV and into a request,
 * and what is said of it is compared.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys_bed.h"

/* Wrong values by notation; those of names have none of that name. */
static const char *const *wrong_values(const struct key *k)
{
    static const char *const
        names[] = {"cpe9", "fasd", "nobody", NULL},
        *const counts[] = {"x", "-1", "1.5", "99999999999", "4 5", NULL},
        *const from_1[] = {"x", "-1", "0", "99999999999", NULL}, *const rates[] = {"x",  "7999",
                                                                                   "2T", "10m",
                                                                                   "",   NULL},
        *const macs[] = {"x", "01:00:00:00:00:01", "00:00:00:00:00:00", "02:0", NULL},
        *const hosts[] = {"x", "224.0.0.1", "127.0.0.1", "10.0.0", "10.0.0.1/32", NULL},
        *const prefixes[] = {"x", "10.0.0.0/33", "10.0.0", "/8", NULL},
        *const hosts6[] = {"x",      "10.0.0.1",  "fe80::1",       "ff02::1", "::ffff:10.0.0.1",
                           "::1/64", "2001:db8:", "2001:db8::1%a", NULL},
        *const delegated[] = {"x", "2001:db8::/65", "fe80::/56", "::/56 x", NULL},
        *const labels[] = {"1234567890123456789012345678901234567890"
                           "1234567890123456789012345",
                           NULL},
        *const words[] = {"x", "12", "", NULL};

    switch (k->type) {
    case KEY_PORT:
    case KEY_PROFILE:
        return names;
    case KEY_COUNT:
    case KEY_RANGE:
        return k->min > 0 ? from_1 : counts;
    case KEY_LABEL:
        return labels;
    case KEY_RATE:
        return rates;
    case KEY_MAC:
        return macs;
    case KEY_HOST:
        return hosts;
    case KEY_HOSTS:
    case KEY_PREFIX:
    case KEY_ROUTE:
        return prefixes;
    case KEY_HOST6:
        return hosts6;
    case KEY_DELEGATED:
        return delegated;
    default:
        return words;
    }
}

/* What a file's message would be for a key that is of one object: what is expected differs where a
 * group may describe many. */
static const char *of_one(const char *text, const struct key *k)
{
    static char buf[1024];
    char one[256], many[256];
    struct key range = *k;
    const char *at;

    range.type = k->many;
    key_expected(k, one, sizeof(one));
    key_expected(&range, many, sizeof(many));
    at = k->many != KEY_COUNT ? strstr(text, many) : NULL;
    if (at == NULL)
        return text;
    snprintf(buf, sizeof(buf), "%.*s%s%s", (int)(at - text), text, one, at + strlen(many));
    return buf;
}

/* A message that names the key and the value, and nothing but one. */
static void names_both(const char *text, const char *key, const char *value)
{
    char start[256];

    snprintf(start, sizeof(start), "key '%s': value '%s': ", key, value);
    if (strncmp(text, start, strlen(start)) != 0) {
        fprintf(stderr, "\nof %s = '%s': %s\n", key, value, text);
        CU_FAIL("the message");
    }
}

static void right_ones(void)
{
    struct value v[N_ROUTE_KEYS];
    struct route_block block;
    struct loader l;

    put_row(subscriber, "", "");
    CU_ASSERT_STRING_EQUAL(message_of_file(group(subscriber, "", ""), "", "", ""), "(no error)");
    CU_ASSERT_STRING_EQUAL(message_of_file("{ csv = \"test.csv\"; }", "", "", ""), "(no error)");
    CU_ASSERT_STRING_EQUAL(of_subscriber(object(subscriber, "", "")), "(no error)");
    CU_ASSERT_STRING_EQUAL(message_of_file("", group(route, "", ""), "", ""), "(no error)");
    CU_ASSERT_STRING_EQUAL(message_of_file("", group(route_with_mac, "", ""), "", ""),
                           "(no error)");
    CU_ASSERT_STRING_EQUAL(message_of_file("", "", "rate = \"1G\";", group(entry, "", "")),
                           "(no error)");
    l = request("");
    CU_ASSERT(read_request(&l, object(route, "", ""), "route", route_keys, N_ROUTE_KEYS, v));
    CU_ASSERT(take_route(&l, v, l.at, true, &block));
    CU_ASSERT(block.prefix == 0xc6120000 && block.len == 24 && block.count == 1);
    CU_ASSERT(same6(block.nexthop[0].via, mapped6(0xc0000209)) && block.nexthop[0].mpls == 16);
    CU_ASSERT(
        read_request(&l, object(route, "via", "FE80:0::9"), "route", route_keys, N_ROUTE_KEYS, v));
    CU_ASSERT(take_route(&l, v, l.at, true, &block));
    CU_ASSERT(same6(block.nexthop[0].via, (struct ipv6){UINT64_C(0xfe80000000000000), 9}));
    put_row(route, "via", "2001:db8::9");
    CU_ASSERT_STRING_EQUAL(message_of_file("", "{ csv = \"test.csv\"; }", "", ""), "(no error)");
}

static void values_of_subscribers(void)
{
    for (unsigned k = 0; k < N_SUBSCRIBER_KEYS; k++) {
        const struct key *key = &subscriber_keys[k];

        /* a word of its own in files and requests, not a text; a group; and what only ranges have
         */
        if (key->type == KEY_BOOL || key->type == KEY_OTHER || key->of_many)
            continue;
        for (const char *const *value = wrong_values(key); *value != NULL; value++) {
            char *of_request = strdup(of_subscriber(object(subscriber, key->name, *value))),
                 *of_row;

            names_both(of_request, key->name, *value);
            put_row(subscriber, key->name, *value);
            of_row = strdup(message_of_file("{ csv = \"test.csv\"; }", "", "", ""));
            same("a row", *value, of_row, of_request);
            same("a file", *value,
                 of_one(message_of_file(group(subscriber, key->name, *value), "", "", ""), key),
                 of_request);
            free(of_request);
            free(of_row);
        }
    }
}

static void values_of_routes(void)
{
    for (unsigned k = 0; k < N_ROUTE_KEYS; k++) {
        const struct key *key = &route_keys[k];
        const struct pair *base = k == ROUTE_MAC ? route_with_mac : route;

        if (key->type == KEY_LIST) /* no text */
            continue;
        for (const char *const *value = wrong_values(key); !key->of_many && *value != NULL;
             value++) {
            char *of_request = strdup(of_route(object(base, key->name, *value)));

            names_both(of_request, key->name, *value);
            same("a file", *value, message_of_file("", group(base, key->name, *value), "", ""),
                 of_request);
            free(of_request);
        }
    }
}

static void rates_of_subports(void)
{
    static const struct key key = KEY_SUBPORT_RATE("rate", true);
    static const char *const values[] = {"x", "7999", "2T", "1.1G", "", NULL};

    for (const char *const *value = values; *value != NULL; value++) {
        char text[64], subport[64], *of_request;
        struct loader l = request("");
        struct value v;

        snprintf(text, sizeof(text), "{\"rate\": \"%s\"}", *value);
        snprintf(subport, sizeof(subport), "rate = \"%s\";", *value);
        if (read_request(&l, text, "request", &key, 1, &v))
            CU_ASSERT_FALSE(check_subport_rate(&l, &v, "rate", &there->qos.schedulers[0]));
        of_request = strdup(message());
        names_both(of_request, "rate", *value);
        same("a file", *value, message_of_file("", "", subport, ""), of_request);
        free(of_request);
    }
}

static void entries_of_maps(void)
{
    static const struct key keys[] = {KEY_DSCP, KEY_CLASS, KEY_QUEUE};

    for (unsigned k = 0; k < 3; k++) {
        static const char *const queues[] = {"x", "4", "1", NULL};

        for (const char *const *value = k == 2 ? queues : wrong_values(&keys[k]); *value != NULL;
             value++) {
            struct loader l = request("");
            struct value v[3];
            char *of_request;

            if (read_request(&l, object(entry, keys[k].name, *value), "request", keys, 3, v))
                take_queue(&l, &v[1], &v[2]);
            of_request = strdup(message());
            names_both(of_request, keys[k].name, *value);
            same("a file", *value,
                 of_one(message_of_file("", "", "", group(entry, keys[k].name, *value)), &keys[k]),
                 of_request);
            free(of_request);
        }
    }
}

/* Numbers without quotes are read as those with them; a rate only where they have 64 bits. */
static void bare_numbers(void)
{
    static const struct key rate = KEY_SUBPORT_RATE("rate", true);
    struct loader l = request("");
    struct value v;

    same("a file", "0",
         of_one(message_of_file("{ port = \"cpe0\"; svlan = 0; cvlan = 1; ipv4 = \"10.0.0.1\"; "
                                "profile = \"slow\"; }",
                                "", "", ""),
                &subscriber_keys[SUBSCRIBER_SVLAN]),
         "key 'svlan': value '0': expected 1..4094");
    same("a request", "0",
         of_subscriber("{\"port\": \"cpe0\", \"svlan\": 0, \"cvlan\": 1, \"ipv4\": \"10.0.0.1\"}"),
         "key 'svlan': value '0': expected 1..4094");
    l = request("");
    CU_ASSERT(read_request(&l, "{\"rate\": 100000000000}", "request", &rate, 1, &v));
    CU_ASSERT_EQUAL(v.v.u, 100000000000);
    CU_ASSERT_FALSE(read_request(&l, "{\"rate\": 8000.5}", "request", &rate, 1, &v));
    CU_ASSERT_FALSE(read_request(&l, "{\"rate\": true}", "request", &rate, 1, &v));
}

static void keys_that_are_wrong(void)
{
    struct value v[N_ROUTE_KEYS];
    struct loader l;

    CU_ASSERT_STRING_EQUAL(
        of_subscriber("{\"port\": \"cpe0\", \"svlan\": 1, \"cvlan\": 1, \"ipv4\": \"10.0.0.1\", "
                      "\"profil\": \"slow\"}"),
        "key 'profil': unknown in a subscriber; did you mean 'profile'?");
    CU_ASSERT_STRING_EQUAL(of_subscriber("{\"port\": \"cpe0\", \"svlan\": 1, \"cvlan\": 1}"),
                           "key 'ipv4': missing: expected it, ipv6 or delegated, or several of "
                           "them");
    /* what describes many is not known where one is described */
    l = request("");
    CU_ASSERT_FALSE(read_request(&l,
                                 "{\"prefix\": \"198.18.0.0/24\", \"port\": \"core0\", "
                                 "\"via\": \"192.0.2.9\", \"count\": 2}",
                                 "route", route_keys, N_ROUTE_KEYS, v));
    CU_ASSERT_STRING_EQUAL(message(), "key 'count': unknown in a route");
}

/* The manual is made from the tables. */
static void help(void)
{
    for (unsigned k = 0; k < N_SUBSCRIBER_KEYS; k++)
        CU_ASSERT_PTR_NOT_NULL(subscriber_keys[k].help);
    for (unsigned k = 0; k < N_ROUTE_KEYS; k++)
        CU_ASSERT_PTR_NOT_NULL(route_keys[k].help);
}

static const struct test tests[] = {
    {"right ones", right_ones},
    {"values of subscribers", values_of_subscribers},
    {"values of routes", values_of_routes},
    {"rates of subports", rates_of_subports},
    {"entries of DSCP maps", entries_of_maps},
    {"numbers without quotes", bare_numbers},
    {"unknown and missing keys", keys_that_are_wrong},
    {"help", help},
    {NULL, NULL},
};

const struct test_program test_program = {"keys", tests, open_folder, close_folder};
