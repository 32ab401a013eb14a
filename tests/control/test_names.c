/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that people give to subscribers: from the configuration, from requests, by a reload, and in
 * what the state file keeps. The argument is the configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"
#include "common/program.h"
#include "control/delta.h"

#define ADD "{\"cmd\":\"add-subscriber\",\"port\":\"cpe0\",\"svlan\":11,\"cvlan\":30,"

static const char *name_of(uint32_t id)
{
    const char *name = control->model->subscribers[id - 1].name;

    return name != NULL ? name : "(none)";
}

/* Of a range and of a single subscriber; in JSON, and in CSV, where it is in quotation marks. */
static void shown(void)
{
    CU_ASSERT_STRING_EQUAL(name_of(1), "Turm Süd, 2. Stock");
    CU_ASSERT_STRING_EQUAL(name_of(4), "Turm Süd, 2. Stock");
    CU_ASSERT_STRING_EQUAL(name_of(5), "(none)");
    answers("{\"cmd\":\"show-subscriber\",\"subscriber\":7}",
            "\"ipv4\":\"10.0.2.0\",\"ipv6\":null,\"delegated\":null,\"gre_key\":6,\"mac\":\"02:c2:"
            "00:00:00:00\",\"mac_is\":"
            "\"configured\",\"profile\":\"\",\"name\":\"Bäckerei \\\"Krümel\\\", Hof\"");
    answers("{\"cmd\":\"show-subscribers\",\"first\":7,\"count\":1}",
            "[\"7,cpe1,10,20,10.0.2.0,,,6,02:c2:00:00:00:00,,"
            "\\\"Bäckerei \\\"\\\"Krümel\\\"\\\", Hof\\\",");
}

static void given(void)
{
    answers(ADD "\"ipv4\":\"10.0.3.0/29\",\"profile\":\"fast\",\"name\":\"N\\u00famero 1\"}",
            "\"id\":8");
    answers("{\"cmd\":\"show-subscriber\",\"subscriber\":8}",
            "\"ipv4\":\"10.0.3.0/"
            "29\",\"ipv6\":null,\"delegated\":null,\"gre_key\":null,\"mac\":null,\"mac_is\":null,"
            "\"profile\":\"fast\",\"name\":\"Número 1\"");
    answers("{\"cmd\":\"set-name\",\"subscriber\":\"cpe0 11.30\",\"name\":\"<b>&amp;\"}", "ok");
    CU_ASSERT_STRING_EQUAL(name_of(8), "<b>&amp;");
    answers("{\"cmd\":\"set-names\",\"changes\":[[1,\"a\"],[\"cpe0 100.20\",\"b\"],[7,null],"
            "[1,\"c\"]]}",
            "\"changed\":4");
    CU_ASSERT_STRING_EQUAL(name_of(1), "c"); /* the last one counts */
    CU_ASSERT_STRING_EQUAL(name_of(5), "b");
    CU_ASSERT_STRING_EQUAL(name_of(7), "(none)");
    answers("{\"cmd\":\"set-name\",\"subscriber\":5,\"name\":null}", "ok");
    CU_ASSERT_STRING_EQUAL(name_of(5), "(none)");
    answers("{\"cmd\":\"remove-subscriber\",\"subscriber\":8}", "ok");
    CU_ASSERT_PTR_NULL(control->model->subscribers[7].name);
    start_anew();
    CU_ASSERT_STRING_EQUAL(name_of(1), "Turm Süd, 2. Stock");
    CU_ASSERT_STRING_EQUAL(name_of(7), "Bäckerei \"Krümel\", Hof");
}

/* A wrong request is named, and no name has changed. */
static void wrong(void)
{
    static const char *const cases[][2] = {
        {"{\"cmd\":\"set-name\",\"subscriber\":1,\"name\":\"\"}",
         "key 'name': value '': expected a text of 1 to 64 characters"},
        {"{\"cmd\":\"set-name\",\"subscriber\":1,\"name\":\"a\\u001b[2J\"}",
         "key 'name': value 'a?[2J': expected a text"},
        {"{\"cmd\":\"set-name\",\"subscriber\":1,\"name\":\"a\\u202eb\"}", "key 'name'"},
        {"{\"cmd\":\"set-name\",\"subscriber\":1,\"name\":17}", "key 'name'"},
        {"{\"cmd\":\"set-name\",\"subscriber\":1}", "key 'name': missing"},
        {"{\"cmd\":\"set-name\",\"subscriber\":99,\"name\":\"a\"}", "key 'subscriber'"},
        {"{\"cmd\":\"set-names\",\"changes\":[[1,\"a\"],[2,\" b\"]]}",
         "changes[1]: key 'name': value ' b': expected a text"},
        {"{\"cmd\":\"set-names\",\"changes\":[[1,\"a\"],[99,\"b\"]]}",
         "changes[1]: key 'subscriber'"},
        {"{\"cmd\":\"set-names\",\"changes\":[[1,\"a\"],[2]]}",
         "changes[1]: expected [SUBSCRIBER, NAME]"},
        {"{\"cmd\":\"set-names\",\"changes\":[]}", "expected a list of 1 to 10000"},
        {ADD "\"ipv4\":\"10.0.3.1\",\"profile\":\"fast\",\"name\":\"\\u200b\"}", "key 'name'"},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        answers(cases[i][0], "\"error\"");
        answers(cases[i][0], cases[i][1]);
    }
    answers("{\"cmd\":\"show-changes\"}", "\"requests\":[]");
}

/* A reload gives names, changes and takes them, and touches nobody else. */
static void reloaded(void)
{
    reload_with("Krümel", "Kruste", "",
                "\"subscribers\":{\"added\":0,\"removed\":0,\"changed\":1},\"routes\"");
    CU_ASSERT_STRING_EQUAL(name_of(7), "Bäckerei \"Kruste\", Hof");
    answers("{\"cmd\":\"show-changes\"}", "\"requests\":[]");
    reload_with("name = \"Turm Süd, 2. Stock\";", "", "", "\"changed\":5},\"routes\"");
    CU_ASSERT_STRING_EQUAL(name_of(1), "(none)");
    CU_ASSERT_STRING_EQUAL(name_of(7), "Bäckerei \"Krümel\", Hof");
    start_anew();
}

/* What the state file keeps brings the names back; the longest ones leave a request below 1 MiB. */
static void kept(void)
{
    json_t *changes, *one;
    char *before, *after;
    size_t i;

    answers(ADD "\"ipv4\":\"10.0.3.1\",\"profile\":\"fast\",\"name\":\"acht, \\\"8\\\"\"}", "ok");
    answers("{\"cmd\":\"set-name\",\"subscriber\":7,\"name\":null}", "ok");
    answers("{\"cmd\":\"set-name\",\"subscriber\":6,\"name\":\"sechs\"}", "ok");
    answers("{\"cmd\":\"show-changes\"}", "{\"cmd\":\"set-names\",\"changes\":[[\"cpe0 100.21\","
                                          "\"sechs\"],[\"cpe1 10.20\",null]]}");
    before = ask("{\"cmd\":\"show-changes\"}");
    changes = running_changes(control);
    start_anew();
    json_array_foreach(changes, i, one)
    {
        char *request = json_dumps(one, JSON_COMPACT);

        answers(request, "\"ok\":true");
        free(request);
    }
    after = ask("{\"cmd\":\"show-changes\"}");
    CU_ASSERT_STRING_EQUAL(before, after);
    answers("{\"cmd\":\"show-subscriber\",\"subscriber\":\"cpe0 11.30\"}",
            "\"name\":\"acht, \\\"8\\\"\"");
    json_decref(changes);
    free(before);
    free(after);
    start_anew();
}

/* --- who is found --- */

#define FIND(text) "{\"cmd\":\"find-subscribers\",\"text\":\"" text "\"}"

/* A search must find these ids, "1,2,": all of them, and in pages of two. */
static void finds(const char *request, const char *expected)
{
    char got[256] = "", pages[256] = "", question[512];
    json_int_t next = 1;
    json_t *a, *s;
    char *text;
    size_t i;

    for (unsigned round = 0; next != 0 && round < 20; round++) {
        snprintf(question, sizeof(question), "%.*s,\"first\":%d,\"count\":2}",
                 (int)strlen(request) - 1, request, (int)next);
        text = ask(question);
        a = json_loads(text, 0, NULL);
        json_array_foreach(json_object_get(a, "subscribers"), i, s)
        {
            sprintf(pages + strlen(pages), "%d,",
                    (int)json_integer_value(json_object_get(s, "id")));
        }
        CU_ASSERT(i <= 2);
        next = json_integer_value(json_object_get(a, "next")); /* 0 of null */
        json_decref(a);
        free(text);
    }
    text = ask(request);
    a = json_loads(text, 0, NULL);
    json_array_foreach(json_object_get(a, "subscribers"), i, s)
    {
        sprintf(got + strlen(got), "%d,", (int)json_integer_value(json_object_get(s, "id")));
    }
    EXPECT(strcmp(got, expected) == 0, "%s finds %s: %s", request, got, text);
    EXPECT(strcmp(pages, expected) == 0, "%s finds %s in pages", request, pages);
    json_decref(a);
    free(text);
}

static void found(void)
{
    finds(FIND("bäckerei"), "7,");
    finds(FIND("BÄCKEREI"), ""); /* letters beyond ASCII are as they are written */
    finds(FIND("Bäck"), "7,");
    finds(FIND("KEREI"), "7,");
    finds(FIND("turm"), "1,2,3,4,");
    finds(FIND("2"), "1,2,3,4,"); /* id 2 and key 2, and the 2 in "2. Stock" */
    finds(FIND("5"), "5,6,");     /* id 5, and who has key 5 */
    finds(FIND("10.0.0.2"), "3,");
    finds(FIND("10.0.0.0/31"), "1,2,");
    finds(FIND("10.0.0.0/16"), "1,2,3,4,5,6,7,");
    finds(FIND("10.0.9.9"), "");
    finds(FIND("02:c0:00:00:00:03"), "4,");
    finds(FIND("02:c2:00:00:00:00"), "7,");
    finds(FIND("10.20"), "1,7,");
    finds(FIND("cpe1 10.20"), "7,");
    finds(FIND("cpe0 100."), "5,6,");
    finds(FIND("cpe0 10.2"), "1,2,3,4,"); /* nobody is on that one */
    finds(FIND("fast"), "5,6,");
    finds(FIND("cpe"), "1,2,3,4,5,6,7,");
    finds(FIND("nobody"), "");
    answers(FIND(""), "key 'text': expected 1 to 256 bytes");
    answers("{\"cmd\":\"find-subscribers\"}", "key 'text': missing");
    answers("{\"cmd\":\"find-subscribers\",\"text\":\"a\",\"count\":1001}", "key 'count'");
    answers("{\"cmd\":\"find-subscribers\",\"text\":\"a\",\"first\":4294967295}",
            "\"subscribers\":[],\"next\":null");
}

/* --- what else is shown --- */

static void objects(void)
{
    answers("{\"cmd\":\"show-arp\"}", "{\"kind\":\"nexthop\",\"port\":\"core0\",\"ipv4\":\"192.0.2."
                                      "2\",\"ipv6\":null,\"mac\":null,"
                                      "\"state\":\"unknown\",\"age\":null}");
    answers("{\"cmd\":\"show-arp\",\"first\":8,\"count\":1}",
            "\"entries\":[{\"kind\":\"subscriber\",\"port\":\"cpe1\",\"ipv4\":"
            "\"10.0.2.0\",\"ipv6\":null,\"mac\":\"02:c2:00:00:00:00\",\"state\":\"configured\","
            "\"age\":null,"
            "\"id\":7,\"svlan\":10,\"cvlan\":20,\"name\":\"Bäckerei");
    answers("{\"cmd\":\"show-arp\",\"first\":4294967295}", "\"entries\":[]");
    answers("{\"cmd\":\"show-directions\"}", "\"down\":{\"ipv4_packets\":0,\"ipv4_bytes\":0,");
    answers("{\"cmd\":\"show-directions\"}", "\"ipv6_packets\":0,\"ipv6_bytes\":0");
    answers("{\"cmd\":\"show-ports\"}", "\"name\":\"idle0\",\"rx_packets\":0");
    answers("{\"cmd\":\"show-ports\"}", "\"mtu\":1500,\"addresses\":[\"192.0.9.1\"],");
    answers("{\"cmd\":\"show-tasks\"}", "\"name\":\"arp\",\"type\":\"arp\",\"in\":0");
    answers("{\"cmd\":\"show-version\"}", "\"name\":\"updates\",\"file\":\"");
    answers("{\"cmd\":\"start-capture\",\"stream\":true}", "\"error\"");
}

static const struct test tests[] = {
    {"shown", shown}, {"given", given}, {"wrong names", wrong}, {"reloaded", reloaded},
    {"kept", kept},   {"found", found}, {"objects", objects},   {NULL, NULL},
};

const struct test_program test_program = {"names", tests, bed_open, bed_close};
