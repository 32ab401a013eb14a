/* SPDX-License-Identifier: BSD-3-Clause */
/* FQ-CoDel in simulated time, under senders that respond to drops and marks: delay, fairness,
 * marks, what happens at the queue's limit and without a state, and that every packet is accounted
 * for. */
#include <math.h>
#include <string.h>

#include "bed.h"
#include "flow.h"

#define WARM_UP 5.0 /* s */
#define SECONDS 10.0
#define FLOWS   40
#define RATE    10000000

static struct bed b;
static struct flow f[FLOWS];

static void build_with(uint64_t rate, unsigned pipes, struct cfg_class class)
{
    bed_shape(&b, pipes, 1);
    b.shape.class[QOS_BE] = class;
    bed_profile(&b, rate, 2 * 1522);
    CU_ASSERT_FATAL(bed_create(&b));
    memset(f, 0, sizeof(f));
    for (unsigned i = 0; i < pipes; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, 0), 0);
    for (unsigned i = 0; i < FLOWS; i++)
        f[i] = (struct flow){
            .queue = QOS_BE, .port = (uint16_t)(1024 + 7 * i), .size = 1522, .rtt = 20e-3};
}

static struct cfg_class plain(void)
{
    return (struct cfg_class){.size = 8192,
                              .aqm = AQM_CODEL,
                              .codel_target_us = 5000,
                              .codel_interval_us = 100000,
                              .codel_active = 64,
                              .ecn = true};
}

static void build(uint64_t rate)
{
    build_with(rate, 2, plain());
}

static void run(unsigned n)
{
    flows_start(&b, f, n);
    flows_run(&b, f, n, WARM_UP);
    flows_reset(f, n);
    flows_run(&b, f, n, SECONDS);
}

/* What was sent has come out, was dropped and counted, or waits; and the classes say the same. */
static void check_ledger(unsigned n, uint64_t came_out)
{
    struct sched_class c = sched_class(b.s, 0, QOS_BE);
    struct sched_drops d = sched_drops(b.s);
    uint64_t sent = 0;

    for (unsigned i = 0; i < n; i++)
        sent += f[i].next;
    EXPECT(sent == c.sent + d.tail + d.codel + sched_held(b.s), "%llu sent",
           (unsigned long long)sent);
    EXPECT(c.aqm == d.codel && c.tail == d.tail, "codel %llu", (unsigned long long)d.codel);
    EXPECT(came_out <= c.sent, "%llu came out", (unsigned long long)came_out);
}

/* One who sends all he can and one who sends little: the latter waits for a packet or two. */
static void sparse(void)
{
    static const uint64_t rates[] = {1000000, RATE, 100000000};

    for (unsigned i = 0; i < 3; i++) {
        double frame = 1522 * 8.0 / (double)rates[i];

        build(rates[i]);
        f[1].size = 100;
        f[1].pace = 40000;
        run(2);
        printf(
            "\n    %llu bit/s: greedy %.1f ms, sparse %.1f ms, longest %.1f ms, %.3f of the rate ",
            (unsigned long long)rates[i], 1e3 * flow_delay(&f[0]), 1e3 * flow_delay(&f[1]),
            1e3 * f[1].longest, flows_rate(f, 2, SECONDS) / (double)rates[i]);
        EXPECT(f[1].longest < 2.2 * frame + 1e-4, "%.2f ms", 1e3 * f[1].longest);
        EXPECT(f[1].lost == 0, "%llu lost", (unsigned long long)f[1].lost);
        EXPECT(flow_delay(&f[0]) < fmax(15e-3, 5 * frame), "%.2f ms", 1e3 * flow_delay(&f[0]));
        EXPECT(flows_rate(f, 2, SECONDS) > 0.94 * (double)rates[i], "%.0f bit/s",
               flows_rate(f, 2, SECONDS));
        EXPECT(sched_drops(b.s).codel > 0 && sched_drops(b.s).tail == 0, "%llu dropped",
               (unsigned long long)sched_drops(b.s).codel);
        check_ledger(2, f[0].packets + f[1].packets);
        bed_free(&b);
    }
}

/* Eight get an eighth each, though their round trips differ by 8 and one does not respond. */
static void fair(void)
{
    build(80000000);
    for (unsigned i = 0; i < 8; i++)
        f[i].rtt = 10e-3 * (1 + i);
    f[7].pace = 40000000;
    run(8);
    for (unsigned i = 0; i < 8; i++) {
        double share = (double)f[i].bytes * 8 / SECONDS / 1e7;
        printf(" %.2f", share);
        EXPECT(share > 0.85 && share < 1.1, "flow %u: %.3f of its share", i, share);
    }
    EXPECT(flows_rate(f, 8, SECONDS) > 0.97 * 80e6, "%.0f bit/s", flows_rate(f, 8, SECONDS));
    check_ledger(8, 0);
    bed_free(&b);
}

/* Who knows ECN loses nothing and is marked; who does not, beside him, is not. A class may do
 * without. */
static void marks(bool ecn)
{
    struct cfg_class class = plain();

    class.ecn = ecn;
    build_with(RATE, 2, class);
    f[0].ecn = true;
    run(2);
    struct sched_class c = sched_class(b.s, 0, QOS_BE);
    printf(" %llu marked, %llu dropped ", (unsigned long long)c.marked, (unsigned long long)c.aqm);
    EXPECT((c.marked > 0) == ecn && (f[0].marked > 0) == ecn && f[1].marked == 0, "%llu marked",
           (unsigned long long)c.marked);
    EXPECT((f[0].lost == 0) == ecn && f[1].lost > 0, "%llu lost", (unsigned long long)f[0].lost);
    EXPECT(flow_delay(&f[0]) < 20e-3, "%.1f ms", 1e3 * flow_delay(&f[0]));
    check_ledger(2, 0);
    bed_free(&b);
}

static void marking(void)
{
    marks(true);
    marks(false);
}

/* At the queue's limit, the flow with the most bytes loses, from its head. */
static void full(void)
{
    struct cfg_class class = plain();

    class.size = 64;
    build_with(RATE, 2, class);
    f[0].pace = 50000000;
    f[1].size = 100;
    f[1].pace = 40000;
    run(2);
    EXPECT(sched_drops(b.s).tail > 1000, "%llu", (unsigned long long)sched_drops(b.s).tail);
    EXPECT(f[1].lost == 0 && f[1].longest < 3e-3, "%llu lost, %.2f ms",
           (unsigned long long)f[1].lost, 1e3 * f[1].longest);
    EXPECT(f[0].longest < 65 * 1522 * 8.0 / RATE, "%.2f ms", 1e3 * f[0].longest);
    check_ledger(2, 0);
    bed_free(&b);
}

/* Who finds no state has an ordinary queue; more flows than a state has share its places. States go
 * from one to another. */
static void few_states(void)
{
    struct cfg_class class = plain();

    class.codel_active = 1;
    build_with(RATE, 4, class);
    for (unsigned i = 0; i < 4; i++)
        f[i].pipe = i;
    run(4);
    for (unsigned i = 0; i < 4; i++)
        EXPECT((double)f[i].bytes * 8 / SECONDS > 0.9 * RATE, "subscriber %u", i);
    CU_ASSERT_EQUAL(sched_clear(b.s, 0) >= 0, true);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    bed_free(&b);
}

/* Flows of one subscriber that come and go, more than a state has places for. */
static void many_flows(void)
{
    build(RATE);
    for (unsigned i = 0; i < FLOWS; i++)
        f[i].pace = 4 * RATE / FLOWS;
    run(FLOWS);
    for (unsigned i = 0; i < FLOWS; i++)
        EXPECT(f[i].packets > 0, "flow %u", i);
    check_ledger(FLOWS, 0);
    bed_free(&b);
}

static void at_once(void)
{
    build(RATE);
    bed_empty_in_two(&b, 0, QOS_BE);
    bed_free(&b);
}

static const struct test tests[] = {
    {"a sparse flow beside a greedy one", sparse},
    {"eight flows share", fair},
    {"marks instead of drops", marking},
    {"the queue's limit", full},
    {"fewer states than queues", few_states},
    {"more flows than places", many_flows},
    {"many packets at once", at_once},
    {NULL, NULL},
};

const struct test_program test_program = {"sched fq", tests, bed_open, bed_close};
