/* SPDX-License-Identifier: BSD-3-Clause */
/* gen: its rate, how it begins and ends, and what several instances share. */
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "gen_bed.h"
#include "tasks/task_types.h"

static void check_rate(const char *text, const char *params, double seconds, double want)
{
    static const uint64_t steps[] = {700, 3001};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *r = open_gen(text, params);
        uint64_t time = (uint64_t)(seconds * (double)rte_get_tsc_hz());
        double n = (double)made(r, time, steps[i]);

        if (n < want * 0.999 || n > want * 1.001)
            printf("\n    %s: %.0f packets in %g s, not %.0f\n", params, n, seconds, want);
        CU_ASSERT(n >= want * 0.999 && n <= want * 1.001);
        CU_ASSERT_EQUAL(task_gen.stat(rig_task(r), 1), 0);
        rig_close(r);
    }
}

static void rates(void)
{
    check_rate(PLAIN, "rate=1Mpps", 1, 1000000);
    check_rate(PLAIN, "rate=123457pps", 1, 123457);
    check_rate(PLAIN, "rate=10kpps", 1, 10000);
    check_rate(PLAIN, "rate=2kpps", 1, 2000);
    check_rate(PLAIN, "", 0.01, 148809.5);        /* 10GbE at 64 B */
    check_rate(PLAIN, "size=1518", 0.1, 81274.4); /* and at 1518 B */
    check_rate(PLAIN, "rate=50%", 0.01, 74404.8);
    check_rate(PLAIN, "rate=100Mbit/s", 1, 148809.5); /* with preamble and gap */
}

/* A core that was away for a second sends no more than a train and one millisecond at once. */
static void stall(void)
{
    struct rig *r = open_gen(PLAIN, "rate=1Mpps");
    uint64_t hz = rte_get_tsc_hz(), now = 12345;
    unsigned n = 0, got;

    rig_poll(r, now);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 32); /* the first train leaves at once */
    now += hz;
    while ((got = rig_poll(r, now)) > 0)
        n += got;
    CU_ASSERT(n >= 1000 && n <= 1032);
    CU_ASSERT_STRING_EQUAL(task_gen.stat_names[1], "missed");
    CU_ASSERT_DOUBLE_EQUAL((double)task_gen.stat(rig_task(r), 1), 1e6 - 1000, 64);
    rig_close(r);
}

static void trains(void)
{
    struct rig *r = open_gen(PLAIN, "rate=1kpps train=100");
    uint64_t hz = rte_get_tsc_hz(), now = 1;
    unsigned n = 0;

    /* 100 packets in polls of 32, then none for 100 ms */
    CU_ASSERT_EQUAL(rig_poll(r, now), 32);
    CU_ASSERT_EQUAL(rig_poll(r, now), 32);
    CU_ASSERT_EQUAL(rig_poll(r, now), 32);
    CU_ASSERT_EQUAL(rig_poll(r, now), 4);
    for (; now < hz / 1000 * 99; now += hz / 1000)
        n += rig_poll(r, now);
    CU_ASSERT_EQUAL(n, 0);
    now += hz / 500;
    CU_ASSERT_EQUAL(rig_poll(r, now), 32);
    rig_close(r);
}

/* --- ends --- */

static void ends_by_count(void)
{
    struct rig *r = open_gen(PLAIN, "count=1000");
    uint64_t now = 1;

    for (unsigned i = 0; i < 100; i++, now += rte_get_tsc_hz() / 100000) {
        CU_ASSERT(rig_task(r)->finished == (i > 0 && rig_task(r)->finished));
        rig_poll(r, now);
    }
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 1000);
    CU_ASSERT(rig_task(r)->finished);
    CU_ASSERT_EQUAL(rig_poll(r, now), 0);
    rig_close(r);
}

static void ends_by_time(void)
{
    struct rig *r = open_gen(PLAIN, "rate=100kpps duration=10ms");
    uint64_t hz = rte_get_tsc_hz(), start = hz * 5;

    for (uint64_t now = start; now < start + hz / 101; now += hz / 1000000)
        rig_poll(r, now);
    CU_ASSERT(!rig_task(r)->finished);
    for (uint64_t now = start + hz / 101; now < start + hz / 50; now += hz / 1000000)
        rig_poll(r, now);
    CU_ASSERT(rig_task(r)->finished);
    CU_ASSERT(rig_captured(r, "to") >= 1000 && rig_captured(r, "to") <= 1032);
    rig_close(r);
}

/* A core that comes back when the time is over sends nothing more, and says what it did not send.
 */
static void away_at_its_end(void)
{
    struct rig *r = open_gen(PLAIN, "rate=100kpps train=1 duration=10ms");
    uint64_t hz = rte_get_tsc_hz(), start = hz * 5, sent;

    for (uint64_t now = start; now < start + hz / 400; now += hz / 1000000)
        rig_poll(r, now);
    sent = rig_captured(r, "to");
    rig_poll(r, start + hz);
    CU_ASSERT(rig_task(r)->finished);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), sent);
    CU_ASSERT_DOUBLE_EQUAL((double)(sent + rig_task(r)->type->stat(rig_task(r), 1)), 1000, 1);
    rig_close(r);
}

/* Several gen tasks make the phases of a test: nothing before the start, then the whole duration.
 */
static void starts_later(void)
{
    struct rig *r = open_gen(PLAIN, "rate=100kpps start=20ms duration=10ms");
    uint64_t hz = rte_get_tsc_hz(), start = hz * 5, now = start;

    for (; now < start + hz / 50; now += hz / 1000000)
        CU_ASSERT_EQUAL(rig_poll(r, now), 0);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 0);
    for (; now < start + hz / 50 + hz / 200; now += hz / 1000000)
        rig_poll(r, now);
    /* half of them, not made up for what came before the start */
    CU_ASSERT(rig_captured(r, "to") >= 468 && rig_captured(r, "to") <= 532);
    CU_ASSERT(!rig_task(r)->finished);
    for (; now < start + hz / 25; now += hz / 1000000)
        rig_poll(r, now);
    CU_ASSERT(rig_task(r)->finished);
    CU_ASSERT(rig_captured(r, "to") >= 968 && rig_captured(r, "to") <= 1032);
    CU_ASSERT_EQUAL(rig_task(r)->type->stat(rig_task(r), 1), 0); /* missed */
    rig_close(r);
}

static void stops(void)
{
    struct rig *r = open_gen(PLAIN, "");

    rig_task(r)->stopping = true;
    CU_ASSERT_EQUAL(rig_poll(r, 1), 0);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 0);
    CU_ASSERT(!rig_task(r)->finished);
    rig_close(r);
}

/* --- several instances --- */

#define TRIO 3

static uint32_t trio_value[TRIO][4096];
static unsigned trio_n[TRIO];

static void keep_values(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        unsigned w = o->tx.port;

        if (trio_n[w] < 4096)
            trio_value[w][trio_n[w]] = be(rte_pktmbuf_mtod(m[i], const uint8_t *) + 26, 4);
        trio_n[w]++;
    }
    rte_pktmbuf_free_bulk(m, n);
}

/* Run the three instances of one gen for a time; parameters come from a rig. */
static void run_trio(const char *text, const char *params, double seconds)
{
    struct rig *r = open_gen(text, params);
    struct cfg_task cfg = *rig_task(r)->cfg;
    struct plan_dest dest = {.kind = DEST_PORT, .index = 0};
    struct plan_instance inst[TRIO + 1] = {{.task = 7}, {.task = 7}, {.task = 7}, {.task = 8}};
    struct plan plan = {.cfg = &harness_model, .n_instances = TRIO + 1, .instances = inst};
    struct task t[TRIO];
    struct out out[TRIO];

    memset(t, 0, sizeof(t));
    memset(out, 0, sizeof(out));
    memset(trio_n, 0, sizeof(trio_n));
    for (uint16_t w = 0; w < TRIO; w++) {
        struct task_env env = {.plan = &plan,
                               .cfg = &cfg,
                               .instance = w,
                               .pool = harness_pool,
                               .socket = SOCKET_ID_ANY,
                               .tsc_hz = rte_get_tsc_hz()};

        inst[w].output[0] = (struct plan_output){.n_dests = 1, .dest = &dest};
        t[w].state = rte_zmalloc("state", task_gen.state_size, RTE_CACHE_LINE_SIZE);
        t[w].worker = w;
        t[w].n_dests[0] = 1;
        t[w].output[0] = &out[w];
        out[w].send = keep_values;
        out[w].tx.port = w;
        CU_ASSERT_EQUAL_FATAL(task_gen.init(&t[w], &env), 0);
    }
    for (uint64_t now = 1; now < (uint64_t)(seconds * (double)rte_get_tsc_hz()); now += 3000)
        for (unsigned w = 0; w < TRIO; w++)
            task_gen.poll(&t[w], now);
    for (unsigned w = 0; w < TRIO; w++) {
        CU_ASSERT_EQUAL(t[w].created, trio_n[w]);
        task_gen.fini(&t[w]);
        rte_free(t[w].state);
    }
    rig_close(r);
}

static void share_rate(void)
{
    run_trio(PLAIN, "rate=900kpps", 0.3);
    for (unsigned w = 0; w < TRIO; w++)
        CU_ASSERT_DOUBLE_EQUAL((double)trio_n[w], 90000, 90);
}

static void share_count(void)
{
    run_trio(PLAIN, "rate=900kpps count=2000", 0.01);
    CU_ASSERT_EQUAL(trio_n[0], 667);
    CU_ASSERT_EQUAL(trio_n[1], 667);
    CU_ASSERT_EQUAL(trio_n[2], 666);
    run_trio(PLAIN, "rate=900kpps count=2", 0.001);
    CU_ASSERT_EQUAL(trio_n[0] + trio_n[1], 2);
    CU_ASSERT_EQUAL(trio_n[2], 0);
}

/* Together they go through a stepped variable once; random ones differ. */
static void share_values(void)
{
    unsigned seen[3000] = {0}, equal = 0;

    run_trio("var v 0-2999 step 1\n" ETHER "ipv4 src v dst 1.1.1.1\nudp src 1 dst 2\n",
             "rate=900kpps count=3000", 0.01);
    for (unsigned w = 0; w < TRIO; w++)
        for (unsigned i = 0; i < 1000; i++)
            seen[trio_value[w][i]]++;
    for (unsigned v = 0; v < 3000; v++)
        CU_ASSERT_EQUAL(seen[v], 1);
    run_trio("var v 0-99999999 random\n" ETHER "ipv4 src v dst 1.1.1.1\nudp src 1 dst 2\n",
             "rate=900kpps count=3000", 0.01);
    for (unsigned i = 0; i < 1000; i++)
        for (unsigned k = 0; k < 1000; k++)
            equal += trio_value[0][i] == trio_value[1][k];
    CU_ASSERT(equal < 5);
}

static const struct test tests[] = {
    {"rates", rates},
    {"stall", stall},
    {"trains", trains},
    {"ends by count", ends_by_count},
    {"ends by time", ends_by_time},
    {"a core that is away when the time ends", away_at_its_end},
    {"starts later", starts_later},
    {"stops", stops},
    {"instances share the rate", share_rate},
    {"instances share the count", share_count},
    {"instances share the values", share_values},
    {NULL, NULL},
};

const struct test_program test_program = {"gen time", tests, gen_open, gen_close};
