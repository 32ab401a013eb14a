/* SPDX-License-Identifier: BSD-3-Clause */
/* sink: every packet ends there, and its bytes are counted; with stamps, what it finds is what was
 * done to the packets. */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/json.h"
#include "harness.h"
#include "packet/stamp.h"
#include "tasks/task_types.h"

#define STAMP_AT 50 /* behind two tags, IPv4 and UDP */

static uint64_t figure(struct rig *r, const char *name)
{
    for (unsigned i = 0; task_sink.stat_names[i] != NULL; i++)
        if (strcmp(task_sink.stat_names[i], name) == 0)
            return task_sink.stat(rig_task(r), i);
    CU_FAIL_FATAL("no such figure");
    return 0;
}

/* What the report says of all instances; until the next one is asked for. */
static const char *report_of(const struct task *const *tasks, unsigned n)
{
    static char *text;
    json_t *measured = task_sink.report(tasks, n);

    free(text);
    text = json_dumps(measured, JSON_DIGITS);
    json_decref(measured);
    return text;
}

static const char *report(struct rig *r)
{
    const struct task *t = rig_task(r);

    return report_of(&t, 1);
}

/* The number that follows the first KEY behind WHERE. */
static double number(const char *text, const char *where, const char *key)
{
    char quoted[64];
    const char *at = strstr(text, where);

    snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
    at = at != NULL ? strstr(at, quoted) : NULL;
    CU_ASSERT_PTR_NOT_NULL(at);
    return at != NULL ? strtod(at + strlen(quoted), NULL) : -1;
}

static void counts(void)
{
    struct rig *r = rig_open(&task_sink, "", "");
    struct rte_mbuf *m[200];
    static const uint8_t bytes[1514];
    uint64_t total = 0;
    const char *text;

    for (unsigned i = 0; i < RTE_DIM(m); i++) {
        size_t len = i % 2 == 0 ? 60 : i == 1 ? 1 : 1514;

        m[i] = mbuf_from_bytes(bytes, len, CPE0);
        total += len;
    }
    rig_burst(r, m, RTE_DIM(m));
    CU_ASSERT_EQUAL(rig_task(r)->in, 200);
    CU_ASSERT_EQUAL(rig_task(r)->consumed, 200);
    CU_ASSERT_EQUAL(figure(r, "bytes"), total);
    CU_ASSERT_STRING_EQUAL(rig_fate(r, mbuf_from_bytes(bytes, 60, CORE1)), "consumed");
    CU_ASSERT_EQUAL(figure(r, "bytes"), total + 60);
    text = report(r);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"streams\": []}"));
    CU_ASSERT_EQUAL(number(text, "", "unstamped"), 201);
    rig_close(r);
}

/* --- stamps --- */

static struct rte_mbuf *stamped_at(uint32_t at, uint16_t stream, uint8_t instance, uint32_t seq,
                                   uint64_t tsc)
{
    uint8_t bytes[300] = {0};
    struct stamp s = {
        .tsc = tsc, .seq = seq, .user = STAMP_NO_USER, .stream = stream, .instance = instance};

    stamp_write(bytes + at, &s);
    return mbuf_from_bytes(bytes, at + STAMP_LEN, CPE0);
}

static void give(struct rig *r, uint16_t stream, uint8_t instance, uint32_t seq)
{
    struct rte_mbuf *m = stamped_at(STAMP_AT, stream, instance, seq, rte_rdtsc());

    CU_ASSERT_STRING_EQUAL(rig_fate(r, m), "consumed");
}

static void finds_what_was_done(void)
{
    struct rig *r = rig_open(&task_sink, "stamps=true", "");
    const char *text;

    for (uint32_t i = 0; i < 1000; i++) {
        if (i % 100 != 7)
            give(r, 5, 0, i);
        if (i % 250 == 20) /* twice */
            give(r, 5, 0, i);
        if (i == 300) /* after the window of nothing: far behind, but known */
            give(r, 5, 0, 207);
        give(r, 6, i % 2, i / 2); /* two instances of a generator */
    }
    CU_ASSERT_EQUAL(figure(r, "lost"), 9);
    CU_ASSERT_EQUAL(figure(r, "duplicates"), 4);
    CU_ASSERT_EQUAL(figure(r, "reordered"), 1);
    text = report(r);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "received"), 995);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "expected"), 1000);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "lost"), 9);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "duplicates"), 4);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "reordered"), 1);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "extent"), 93);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 5", "count"), 995);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 6", "received"), 1000);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 6", "lost"), 0);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 6", "reordered"), 0);
    CU_ASSERT_EQUAL(number(text, "", "unstamped"), 0);
    rig_close(r);
}

static void latency(void)
{
    struct rig *r = rig_open(&task_sink, "stamps=true", "");
    const uint64_t hz = rte_get_tsc_hz(), us = hz / 1000000;
    const char *text;

    /* 990 took 50 us and more, 10 took 4 ms and more; "more" is the time until they are here */
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t took = (i % 100 == 50 ? 4000 : 50) * hz / 1000000 + 1;

        rig_fate(r, stamped_at(STAMP_AT, 1, 0, i, rte_rdtsc() - took));
    }
    text = report(r);
    CU_ASSERT_EQUAL(number(text, "latency_ns", "count"), 1000);
    CU_ASSERT(number(text, "latency_ns", "min") >= 50000);
    CU_ASSERT(number(text, "latency_ns", "p50") >= 50000);
    CU_ASSERT(number(text, "latency_ns", "p50") < 80000);
    CU_ASSERT(number(text, "latency_ns", "p99_9") >= 4000000);
    CU_ASSERT(number(text, "latency_ns", "max") >= number(text, "latency_ns", "p99_99"));
    CU_ASSERT(number(text, "latency_ns", "mean") >= 89500);
    CU_ASSERT_EQUAL(number(text, "", "bursts"), 1000);
    /* from the future, and from another machine */
    rig_fate(r, stamped_at(STAMP_AT, 2, 0, 0, rte_rdtsc() + 1000 * us));
    rig_fate(r, stamped_at(STAMP_AT, 2, 0, 1, rte_rdtsc() - (1ull << 41)));
    text = report(r);
    CU_ASSERT_EQUAL(number(text, "", "clock_errors"), 2);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 2", "received"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"latency_ns\": null"));
    rig_close(r);
}

static void no_stamp(void)
{
    struct rig *r = rig_open(&task_sink, "stamps=true", "");
    static const uint8_t bytes[1514];

    mbuf_guard(0); /* it looks at nothing behind the end */
    for (size_t len = 0; len <= 300; len++)
        rig_fate(r, mbuf_from_bytes(bytes, len, CPE0));
    rig_fate(r, mbuf_from_bytes(bytes, sizeof(bytes), CPE0));
    CU_ASSERT_EQUAL(figure(r, "unstamped"), 302);
    for (uint32_t at = 14; at <= STAMP_LAST; at += 2) /* moved by other headers each time */
        rig_fate(r, stamped_at(at, 1, 0, (at - 14) / 2, rte_rdtsc()));
    CU_ASSERT_EQUAL(figure(r, "unstamped"), 302);
    CU_ASSERT_EQUAL(figure(r, "lost"), 0);
    CU_ASSERT_EQUAL(rig_task(r)->consumed, 302 + (STAMP_LAST - 14) / 2 + 1);
    rig_close(r);
}

static void too_many_streams(void)
{
    struct rig *r = rig_open(&task_sink, "stamps=true streams=3", "");

    for (uint32_t i = 0; i < 10; i++)
        for (uint16_t stream = 0; stream < 5; stream++)
            give(r, (uint16_t)(stream * 1000), 0, i);
    CU_ASSERT_EQUAL(figure(r, "unknown_stream"), 20);
    CU_ASSERT_EQUAL(figure(r, "lost"), 0);
    CU_ASSERT_EQUAL(rig_task(r)->consumed, 50);
    rig_close(r);
    r = rig_open(&task_sink, "stamps=true streams=255", "");
    for (uint32_t i = 0; i < 300; i++)
        give(r, (uint16_t)(i * 257), (uint8_t)i, 0);
    CU_ASSERT_EQUAL(figure(r, "unknown_stream"), 45);
    rig_close(r);
}

/* One stream whose packets come to several instances of a sink: none of them has all. */
static void several_sinks(void)
{
    struct rig *a = rig_open(&task_sink, "stamps=true", "");
    struct rig *b = rig_open(&task_sink, "stamps=true", "");
    const struct task *both[2] = {rig_task(a), rig_task(b)};
    const char *text;

    for (uint32_t i = 0; i < 300; i++)
        if (i % 50 != 49 || i == 299)
            give(i % 3 == 0 ? a : b, 9, 0, i);
    give(a, 9, 1, 0);
    text = report_of(both, 2);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 9", "lost"), 5);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 9", "received"), 296);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 9", "expected"), 301);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 9", "reordered"), 0);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 9", "sinks"), 2);
    CU_ASSERT_EQUAL(number(text, "\"stream\": 9", "count"), 296);
    rig_close(a);
    rig_close(b);
}

static const struct test tests[] = {
    {"counts", counts},
    {"finds what was done", finds_what_was_done},
    {"latency", latency},
    {"no stamp, or elsewhere", no_stamp},
    {"too many streams", too_many_streams},
    {"several sinks", several_sinks},
    {NULL, NULL},
};

const struct test_program test_program = {"sink", tests, harness_open, harness_close};
