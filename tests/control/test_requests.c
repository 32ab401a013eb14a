/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to a gateway with two qos tasks: what each does, and that a wrong one is named and
 * changes nothing. The argument is the configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "bed.h"
#include "common/program.h"
#include "control/request.h"
#include "control/view.h"
#include "control/rates.h"

static const char *profile_of(const char *subscriber)
{
    static char text[4096];
    char request[256];
    char *answer, *at;

    snprintf(request, sizeof(request), "{\"cmd\": \"show-subscriber\", \"subscriber\": %s}",
             subscriber);
    answer = ask(request);
    snprintf(text, sizeof(text), "%s", answer);
    free(answer);
    at = strstr(text, "\"profile\":\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at += strlen("\"profile\":\"");
    at[strcspn(at, "\"")] = '\0';
    return at;
}

static void one_profile(void)
{
    CU_ASSERT_STRING_EQUAL(profile_of("1"), "slow");
    CU_ASSERT_STRING_EQUAL(profile_of("9"), "fast");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":2,\"profile\":\"fast\"}",
            "{\"ok\":true,\"changed\":1}");
    CU_ASSERT_STRING_EQUAL(profile_of("2"), "fast");
    CU_ASSERT_STRING_EQUAL(profile_of("1"), "slow");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe0 10.22\",\"profile\":\"fast\"}", "ok");
    CU_ASSERT_STRING_EQUAL(profile_of("3"), "fast");
    /* in both directions */
    for (unsigned i = 0; i < control->n_shapers; i++)
        CU_ASSERT_EQUAL(shaper_pipe(control, &control->shaper[i], 3)->profile,
                        shaper_pipe(control, &control->shaper[i], 9)->profile);
    answers("{\"cmd\":\"show-subscriber\",\"subscriber\":\"cpe0 10.22\"}", "\"rate\":50000000");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":2,\"profile\":\"slow\"}", "ok");
    CU_ASSERT_STRING_EQUAL(profile_of("2"), "slow");
}

static void wrong_profile(void)
{
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1,\"profile\":\"fasd\"}",
            "did you mean 'fast'?");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1,\"profile\":7}",
            "key 'profile': value '7': expected the name of a profile");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1}",
            "key 'profile': missing in this request 'set-profile': expected the name of a profile");
    answers("{\"cmd\":\"set-profile\",\"profile\":\"fast\"}",
            "key 'subscriber': missing in this request 'set-profile': expected an id or ");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":0,\"profile\":\"fast\"}", "expected 1 to 13");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":14,\"profile\":\"fast\"}", "expected 1 to 13");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":-1,\"profile\":\"fast\"}",
            "value '-1': expected an id or ");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1.5,\"profile\":\"fast\"}", "error");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":[1],\"profile\":\"fast\"}", "error");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe9 10.20\",\"profile\":\"fast\"}",
            "no port 'cpe9'");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe0 10.99\",\"profile\":\"fast\"}",
            "there is none");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe0 10\",\"profile\":\"fast\"}",
            "PORT SVLAN.CVLAN");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe0 10.20x\",\"profile\":\"fast\"}",
            "PORT SVLAN.CVLAN");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":\"cpe0 9999.20\",\"profile\":\"fast\"}",
            "PORT SVLAN.CVLAN");
    /* no scheduler for its port; a rate that one of the two directions cannot do */
    answers("{\"cmd\":\"set-profile\",\"subscriber\":13,\"profile\":\"fast\"}", "not shaped");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1,\"profile\":\"flash\"}",
            "profile 'flash' downstream: rate is above that of the port");
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1,\"profile\":\"fast\",\"now\":true}",
            "key 'now': unknown in a request 'set-profile'");
    CU_ASSERT_STRING_EQUAL(profile_of("1"), "slow");
}

static void many_profiles(void)
{
    answers("{\"cmd\":\"set-profiles\",\"changes\":[[4,\"fast\"],[\"cpe0 10.24\",\"fast\"],"
            "[4,\"slow\"]]}",
            "{\"ok\":true,\"changed\":3}");
    CU_ASSERT_STRING_EQUAL(profile_of("4"), "slow"); /* the last one counts */
    CU_ASSERT_STRING_EQUAL(profile_of("5"), "fast");
    /* all or none */
    answers("{\"cmd\":\"set-profiles\",\"changes\":[[6,\"fast\"],[99,\"fast\"]]}", "changes[1]");
    answers("{\"cmd\":\"set-profiles\",\"changes\":[[6,\"fast\"],[6]]}", "changes[1]");
    answers("{\"cmd\":\"set-profiles\",\"changes\":[[6,\"fast\"],[13,\"fast\"]]}", "not shaped");
    answers("{\"cmd\":\"set-profiles\",\"changes\":[[6,\"fast\"],[1,\"flash\"]]}",
            "changes[1]: profile 'flash' downstream: rate is above");
    answers("{\"cmd\":\"set-profiles\",\"changes\":[]}", "expected a list of 1 to 10000");
    answers("{\"cmd\":\"set-profiles\",\"changes\":{}}", "expected a list");
    answers("{\"cmd\":\"set-profiles\"}", "expected a list");
    CU_ASSERT_STRING_EQUAL(profile_of("6"), "slow");
}

/* A request with so many changes. */
static char *changes(unsigned n)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (f == NULL)
        abort();
    fputs("{\"cmd\":\"set-profiles\",\"changes\":[", f);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%s[%u,\"fast\"]", i > 0 ? "," : "", i % 12 + 1);
    fputs("]}", f);
    fclose(f);
    return text;
}

static void most_profiles(void)
{
    char *most = changes(REQUEST_MAX_PROFILES), *more = changes(REQUEST_MAX_PROFILES + 1);

    answers(more, "expected a list of 1 to 10000");
    CU_ASSERT_STRING_EQUAL(profile_of("7"), "slow");
    answers(most, "\"changed\":10000");
    CU_ASSERT_STRING_EQUAL(profile_of("7"), "fast");
    free(most);
    free(more);
}

#define RATE "{\"cmd\":\"set-subport-rate\",\"scheduler\":\"acc\","

static void subport_rates(void)
{
    answers(RATE "\"subport\":\"right\",\"direction\":\"up\",\"rate\":\"250M\"}", "ok");
    answers("{\"cmd\":\"show-qos\"}", "\"rate\":250000000");
    answers(RATE "\"subport\":\"right\",\"direction\":\"up\",\"rate\":300000000}", "ok");
    answers("{\"cmd\":\"show-qos\"}", "\"rate\":300000000");
    answers(RATE "\"subport\":\"middle\",\"direction\":\"up\",\"rate\":\"1M\"}",
            "value 'middle': no subport of that name");
    answers(RATE "\"subport\":\"left\",\"direction\":\"sideways\",\"rate\":\"1M\"}",
            "expected 'up' or 'down'");
    answers(RATE "\"subport\":\"left\",\"direction\":\"up\",\"rate\":\"2G\"}",
            "expected at most the scheduler's own rate, 1G");
    answers(RATE "\"subport\":\"left\",\"direction\":\"up\",\"rate\":0}", "key 'rate'");
    answers(RATE "\"subport\":\"left\",\"direction\":\"up\",\"rate\":-5}", "key 'rate'");
    answers(RATE "\"subport\":\"left\",\"direction\":\"up\",\"rate\":7999}",
            "expected a rate in bit/s");
    answers(RATE "\"subport\":\"left\",\"direction\":\"up\",\"rate\":\"fast\"}", "key 'rate'");
    answers("{\"cmd\":\"set-subport-rate\",\"scheduler\":\"acd\",\"subport\":\"left\","
            "\"direction\":\"up\",\"rate\":\"1M\"}",
            "no scheduler of that name; did you mean 'acc'?");
    answers("{\"cmd\":\"show-qos\"}", "\"name\":\"left\",\"rate\":1000000000");
}

#define DSCP "{\"cmd\":\"set-dscp\",\"scheduler\":\"acc\",\"direction\":"

static void dscp(void)
{
    const uint8_t *up = tables->dscp[QOS_UP].queue, *down = tables->dscp[QOS_DOWN].queue;

    CU_ASSERT_EQUAL(up[46], 0);
    CU_ASSERT_EQUAL(up[8], QOS_BE);
    answers(DSCP "\"up\",\"dscp\":8,\"class\":\"be\",\"queue\":3}", "ok");
    CU_ASSERT_EQUAL(up[8], QOS_BE + 3);
    CU_ASSERT_EQUAL(down[8], QOS_BE);
    answers(DSCP "\"down\",\"dscp\":63,\"class\":\"0\"}", "ok");
    CU_ASSERT_EQUAL(down[63], 0);
    answers(DSCP "\"up\",\"dscp\":64,\"class\":\"0\"}", "expected 0..63");
    answers(DSCP "\"up\",\"dscp\":\"8x\",\"class\":\"0\"}", "expected 0..63");
    answers(DSCP "\"up\",\"dscp\":8,\"class\":\"1\"}", "class 1 has no queues");
    answers(DSCP "\"up\",\"dscp\":8,\"class\":\"12\"}", "key 'class'");
    answers(DSCP "\"up\",\"dscp\":8,\"class\":0}", "key 'class'");
    answers(DSCP "\"up\",\"dscp\":8,\"class\":\"0\",\"queue\":1}", "only class 'be'");
    answers(DSCP "\"up\",\"dscp\":8,\"class\":\"be\",\"queue\":4}", "expected 0..3");
    CU_ASSERT_EQUAL(up[8], QOS_BE + 3);
}

static void shows(void)
{
    answers("{\"cmd\":\"show-ledger\"}", "\"received\":0");
    answers("{\"cmd\":\"show-qos\"}", "\"task\":\"qos_down\"");
    answers(
        "{\"cmd\":\"show-subscriber\",\"subscriber\":13}",
        "\"profile\":\"\",\"name\":null,\"session\":{\"kind\":\"static\",\"by\":\"configuration\","
        "\"id\":null,\"mtu\":null,\"since\":null},\"shaped\":[]");
    answers("{\"cmd\":\"show-subscribers\",\"first\":1,\"count\":1000}", "\"total\":13");
    answers("{\"cmd\":\"show-subscribers\",\"first\":12,\"count\":1}",
            "\"rows\":[\"12,cpe1,10,23,10.0.1.3,,,11,02:c1:00:00:00:03,fast,,static,"
            "configuration,,,50000000,0,0,0.0,");
    answers("{\"cmd\":\"show-subscribers\",\"first\":14,\"count\":10}", "\"rows\":[]");
    answers("{\"cmd\":\"show-subscribers\",\"first\":4294967295,\"count\":1000}", "\"rows\":[]");
    answers("{\"cmd\":\"show-subscribers\",\"first\":0,\"count\":10}", "key 'first'");
    answers("{\"cmd\":\"show-subscribers\",\"first\":1,\"count\":1001}", "key 'count'");
    answers("{\"cmd\":\"show-subscriber\"}", "key 'subscriber'");
}

/* As many fields in every row as in the header. */
static void dump(void)
{
    char *text = NULL, *save = NULL;
    unsigned rows = 0, fields = 0;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    CU_ASSERT_EQUAL(subscribers_dump(control, f), 0);
    fclose(f);
    for (char *row = strtok_r(text, "\n", &save); row != NULL; row = strtok_r(NULL, "\n", &save)) {
        unsigned n = 1;

        for (const char *p = row; *p != '\0'; p++)
            n += *p == ',';
        if (rows++ == 0)
            fields = n;
        CU_ASSERT_EQUAL(n, fields);
    }
    CU_ASSERT_EQUAL(rows, 14);
    CU_ASSERT_EQUAL(fields, 15 + 2 * (4 + 5 * 4));
    free(text);
}

static void malformed(void)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "\n",
                                        "{",
                                        "}",
                                        "null",
                                        "17",
                                        "\"set-profile\"",
                                        "[]",
                                        "{}",
                                        "{\"cmd\":null}",
                                        "{\"cmd\":{\"cmd\":1}}",
                                        "{\"cmd\":\"set-profile\",\"cmd\":\"show-qos\"}",
                                        "{\"cmd\":\"show-qos\"} {\"cmd\":\"show-qos\"}",
                                        "{\"cmd\":\"show-qos\"",
                                        "{cmd:show-qos}",
                                        "{\"cmd\":\"\\u0000\"}",
                                        "{\"cmd\":\"\xff\xfe\"}",
                                        "{\"cmd\":\"show-ledger\",\"x\":1e999}",
                                        "{\"cmd\":\"show-ledger\",\"x\":99999999999999999999}"};

    for (unsigned i = 0; i < RTE_DIM(texts); i++)
        answers(texts[i], "{\"error\":");
    answers("{\"cmd\":\"show-qso\"}", "did you mean 'show-qos'?");
    answers("{\"cmd\":\"reboot\"}", "expected show-subscriber, ");
    /* an answer that repeats what it got is cut, and still JSON */
    answers("{\"cmd\":\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
            "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x"
            "\xc3\xa4\xc3\xa4\"}",
            "{\"error\":");
}

/* Random bytes, and right requests with some bytes changed: an answer each, and no crash. */
static void noise(void)
{
    static const char *const right[] = {
        "{\"cmd\":\"set-profiles\",\"changes\":[[4,\"fast\"],[\"cpe0 10.24\",\"slow\"]]}",
        RATE "\"subport\":\"right\",\"direction\":\"up\",\"rate\":\"250M\"}",
        DSCP "\"up\",\"dscp\":8,\"class\":\"be\",\"queue\":3}",
        "{\"cmd\":\"show-subscribers\",\"first\":1,\"count\":3}"};
    char text[256];

    srand(3);
    for (unsigned i = 0; i < 20000; i++) {
        size_t len = (size_t)rand() % sizeof(text);
        const char *base = right[(unsigned)rand() % RTE_DIM(right)];
        char *answer;

        for (size_t k = 0; k < len; k++)
            text[k] = (char)rand();
        if (i % 2 == 0) {
            len = strlen(base);
            memcpy(text, base, len);
            for (unsigned k = 0; k <= i % 3; k++)
                text[(unsigned)rand() % len] = (char)(i % 4 == 0 ? ' ' + rand() % 95 : rand());
        }
        answer = request_answer(control, text, len);
        CU_ASSERT_FATAL(answer != NULL && answer[0] == '{');
        free(answer);
    }
}

/* Deep nesting does not take the stack away. */
static void nested(void)
{
    char *text = malloc(1 << 20);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, '[', 1 << 20);
    text[(1 << 20) - 1] = '\0';
    answers(text, "{\"error\":\"not JSON");
    free(text);
}

/* A figure of a stream in what show-streams answers; -1: there is none. */
static double stream_figure(const char *stream, const char *key)
{
    char *answer = ask("{\"cmd\":\"show-streams\"}");
    json_t *root = json_loads(answer, 0, NULL), *task, *s;
    double v = -1;
    size_t i, k;

    json_array_foreach(json_object_get(root, "tasks"), i, task)
    {
        json_array_foreach(json_object_get(json_object_get(task, "measured"), "streams"), k, s)
        {
            const json_t *number = json_object_get(s, key);

            if (strcmp(json_string_value(json_object_get(s, "name")), stream) == 0)
                v = json_is_boolean(number) ? json_is_true(number) : json_number_value(number);
        }
    }
    json_decref(root);
    free(answer);
    return v;
}

#define SET_RATE "{\"cmd\":\"set-rate\",\"task\":\"load\","

static void streams(void)
{
    answers("{\"cmd\":\"show-streams\"}", "\"name\":\"load\",\"measured\":{\"seconds\":");
    answers("{\"cmd\":\"show-sinks\"}", "\"name\":\"rest\",\"measured\":{\"method\":");
    answers("{\"cmd\":\"start-stream\",\"task\":\"load\"}", "{\"ok\":true,\"changed\":1}");
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/small", "rate_pps"), 5000, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/large", "rate_pps"), 15000, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/probe", "rate_pps"), 1000, 1e-3);
    answers(SET_RATE "\"rate\":\"40kpps\"}", "ok");
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/large", "rate_pps"), 30000, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/probe", "rate_pps"), 1000, 1e-3);
    answers(SET_RATE "\"stream\":\"probe\",\"rate\":\"1%\"}", "ok");
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/probe", "rate_pps"), 1e8 / 8 / 148, 1e-2);
    CU_ASSERT_EQUAL(stream_figure("load/probe", "on"), 1);
    answers("{\"cmd\":\"stop-stream\",\"task\":\"load\",\"stream\":\"probe\"}", "ok");
    CU_ASSERT_EQUAL(stream_figure("load/probe", "on"), 0);
    CU_ASSERT_EQUAL(stream_figure("load/small", "on"), 1);
    answers("{\"cmd\":\"stop-stream\",\"task\":\"load\"}", "ok");
    CU_ASSERT_EQUAL(stream_figure("load/small", "on"), 0);
    answers("{\"cmd\":\"stop-stream\",\"task\":\"plain\",\"stream\":\"plain\"}", "ok");
}

static void wrong_streams(void)
{
    answers("{\"cmd\":\"start-stream\"}",
            "key 'task': missing in this request 'start-stream': expected a string");
    answers("{\"cmd\":\"start-stream\",\"task\":\"laod\"}", "did you mean 'load'?");
    answers("{\"cmd\":\"start-stream\",\"task\":\"rest\"}", "no task 'rest' of type gen");
    answers("{\"cmd\":\"start-stream\",\"task\":\"load\",\"stream\":\"smal\"}",
            "did you mean 'small'?");
    answers("{\"cmd\":\"start-stream\",\"task\":\"load\",\"stream\":1}",
            "key 'stream': value '1': expected a string");
    answers("{\"cmd\":\"start-stream\",\"task\":\"load\",\"duration\":5}",
            "key 'duration': value '5': expected a time");
    answers("{\"cmd\":\"start-stream\",\"task\":\"load\",\"duration\":\"5\"}",
            "key 'duration': value '5': expected a time");
    answers("{\"cmd\":\"start-stream\",\"task\":\"load\",\"rate\":\"1Mpps\"}",
            "key 'rate': unknown in a request 'start-stream'");
    answers("{\"cmd\":\"stop-stream\",\"task\":\"load\",\"duration\":\"5s\"}",
            "key 'duration': unknown in a request 'stop-stream'");
    answers(SET_RATE "\"rate\":\"1M\"}", "key 'rate': value '1M': expected a load");
    answers(SET_RATE "\"rate\":1000000}", "key 'rate': value '1000000': expected a load");
    answers(SET_RATE "\"rate\":\"0.0001pps\"}", "cannot keep that rate");
    CU_ASSERT_DOUBLE_EQUAL(stream_figure("load/small", "rate_pps"), 0, 1e-9); /* all are off */
}

/* With running cores the same goes through their loops. */
static void while_running(void)
{
    char *most = changes(REQUEST_MAX_PROFILES);
    unsigned calls = 0;

    CU_ASSERT_EQUAL_FATAL(engine_start(&engine), 0);
    answers("{\"cmd\":\"set-profile\",\"subscriber\":1,\"profile\":\"slow\"}", "ok");
    CU_ASSERT_STRING_EQUAL(profile_of("1"), "slow");
    answers(most, "\"changed\":10000");
    CU_ASSERT_STRING_EQUAL(profile_of("1"), "fast");
    while (calls++ < 3)
        control_sample(control);
    answers("{\"cmd\":\"show-qos\"}", "\"limited\":0");
    answers(
        "{\"cmd\":\"start-stream\",\"task\":\"load\",\"stream\":\"small\",\"duration\":\"10ms\"}",
        "ok");
    while (stream_figure("load/small", "on") != 0 && calls++ < 1000)
        usleep(1000);
    CU_ASSERT_EQUAL(stream_figure("load/small", "on"), 0);
    CU_ASSERT(stream_figure("load/small", "sent") > 0); /* a busy machine makes fewer */
    CU_ASSERT(stream_figure("load/small", "sent") <= 110);
    CU_ASSERT_EQUAL(stream_figure("load/large", "sent"), 0);
    engine_stop(&engine);
    free(most);
}

struct slice_test {
    uint64_t last;         /* TSC at the end of the last call */
    unsigned run, longest; /* calls without a pause between them */
    uint32_t fail_at;
};

/* Takes 5 us. */
static int take_time(struct task *t, uint32_t i, void *ctx)
{
    struct slice_test *s = ctx;
    uint64_t us = rte_get_tsc_hz() / 1000000, start = rte_rdtsc();

    (void)t;
    if (i == s->fail_at)
        return -EIO;
    s->run = start - s->last < 20 * us ? s->run + 1 : 1;
    s->longest = RTE_MAX(s->longest, s->run);
    while (rte_rdtsc() - start < 5 * us)
        ;
    s->last = rte_rdtsc();
    return 0;
}

/* A core is not kept for longer than 30 us and one call; an error ends it all. */
static void slices(void)
{
    struct slice_test s = {.fail_at = 1000};
    uint32_t done;

    CU_ASSERT_EQUAL_FATAL(engine_start(&engine), 0);
    CU_ASSERT_EQUAL(core_call_each(&engine, control->shaper[0].instance, 200, take_time, &s, &done),
                    0);
    CU_ASSERT_EQUAL(done, 200);
    CU_ASSERT(s.longest > 1 && s.longest <= 7);
    s.fail_at = 50;
    CU_ASSERT_EQUAL(core_call_each(&engine, control->shaper[0].instance, 200, take_time, &s, &done),
                    -EIO);
    CU_ASSERT_EQUAL(done, 50);
    engine_stop(&engine);
}

static const struct test tests[] = {
    {"one profile", one_profile},
    {"a wrong profile", wrong_profile},
    {"many profiles", many_profiles},
    {"as many profiles as may be", most_profiles},
    {"rates of subports", subport_rates},
    {"DSCP", dscp},
    {"show", shows},
    {"all subscribers", dump},
    {"streams", streams},
    {"wrong streams", wrong_streams},
    {"malformed", malformed},
    {"noise", noise},
    {"nested", nested},
    {"while running", while_running},
    {"slices", slices},
    {NULL, NULL},
};

const struct test_program test_program = {"requests", tests, bed_open, bed_close};
