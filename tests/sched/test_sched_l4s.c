/* SPDX-License-Identifier: BSD-3-Clause */
/* The dual queue of L4S (RFC 9332) in simulated time: how drops and marks are coupled, marks by the
 * step, what happens to who does not respond, and that scalable and classic senders share a line.
 */
#include <math.h>
#include <string.h>

#include "bed.h"
#include "flow.h"

#define WARM_UP 8.0 /* s */
#define SECONDS 20.0
#define FLOWS   8
#define RATE    10000000
#define FRAME   (1522 * 8.0 / RATE) /* s */

static struct bed b;
static struct flow f[FLOWS];

static void build(uint64_t rate, unsigned coupling)
{
    bed_shape(&b, 2, 1);
    b.shape.class[QOS_BE] = (struct cfg_class){.size = 8192,
                                               .aqm = AQM_L4S,
                                               .l4s_target_us = 15000,
                                               .l4s_step_us = 1000,
                                               .l4s_coupling = (uint8_t)coupling};
    bed_profile(&b, rate, 2 * 1522);
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, 0), 0);
    memset(f, 0, sizeof(f));
    for (unsigned i = 0; i < FLOWS; i++)
        f[i] = (struct flow){
            .queue = QOS_BE, .port = (uint16_t)(1024 + 7 * i), .size = 1522, .rtt = 20e-3};
}

static void run(unsigned n)
{
    flows_start(&b, f, n);
    flows_run(&b, f, n, WARM_UP);
    flows_reset(f, n);
    flows_run(&b, f, n, SECONDS);
}

/* What was sent has come out, was dropped and counted, or waits; and the classes say the same. */
static void check_ledger(unsigned n)
{
    struct sched_class c = sched_class(b.s, 0, QOS_BE);
    struct sched_drops d = sched_drops(b.s);
    uint64_t sent = 0;

    for (unsigned i = 0; i < n; i++)
        sent += f[i].next;
    EXPECT(sent == c.sent + d.tail + d.l4s + sched_held(b.s), "%llu sent",
           (unsigned long long)sent);
    EXPECT(c.aqm == d.l4s && c.late == d.l4s && d.tail == 0, "l4s %llu", (unsigned long long)d.l4s);
}

static double share_of(uint64_t some, const struct flow *of)
{
    return (double)some / (double)(of->packets + of->lost);
}

/* A classic sender that does not respond loses what is too much: p_C. A little of L beside it never
 * waits, so that its marks are the coupled ones: p_CL = k * sqrt(p_C). */
static void coupling(void)
{
    static const struct {
        unsigned k;
        double load;
    } c[] = {{2, 1.02}, {2, 1.1}, {1, 1.1}, {3, 1.05}};

    for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        build(RATE, c[i].k);
        f[0].pace = c[i].load * RATE;
        f[1].pace = 40000;
        f[1].size = 100;
        f[1].scalable = true;
        run(2);
        double drops = share_of(f[0].lost, &f[0]), marks = share_of(f[1].marked, &f[1]),
               excess = 1 - (1 - 0.004) / c[i].load;
        printf("\n    k %u, load %.2f: p_C %.3f, p_CL %.3f, delay of C %.1f ms, of L %.1f ms ",
               c[i].k, c[i].load, drops, marks, 1e3 * flow_delay(&f[0]), 1e3 * flow_delay(&f[1]));
        EXPECT(fabs(drops / excess - 1) < 0.1, "%.4f dropped, %.4f too much", drops, excess);
        EXPECT(fabs(marks / (c[i].k * sqrt(drops)) - 1) < 0.1, "%.3f", marks);
        EXPECT(f[1].lost == 0 && f[1].longest < 2.2 * FRAME, "%.2f ms", 1e3 * f[1].longest);
        EXPECT(fabs(flow_delay(&f[0]) - 15e-3) < 3e-3, "%.1f ms", 1e3 * flow_delay(&f[0]));
        check_ledger(2);
        bed_free(&b);
    }
}

/* L that fits is never marked; L alone that does not fit is marked by the step, each packet, and
 * where marks do not help, dropped: it waits for the target, not for the queue's limit. */
static void step(void)
{
    build(RATE, 2);
    f[0].pace = 0.9 * RATE;
    f[0].scalable = true;
    run(1);
    EXPECT(f[0].marked == 0 && f[0].lost == 0, "%llu marked", (unsigned long long)f[0].marked);
    check_ledger(1);
    bed_free(&b);

    build(RATE, 2);
    f[0].pace = 2 * RATE;
    f[0].scalable = true;
    run(1);
    printf(" %.3f dropped, %.1f ms ", share_of(f[0].lost, &f[0]), 1e3 * flow_delay(&f[0]));
    EXPECT(f[0].marked == f[0].packets, "%llu of %llu marked", (unsigned long long)f[0].marked,
           (unsigned long long)f[0].packets);
    EXPECT(fabs(share_of(f[0].lost, &f[0]) - 0.5) < 0.02, "%.3f dropped",
           share_of(f[0].lost, &f[0]));
    EXPECT(flow_delay(&f[0]) < 20e-3, "%.1f ms", 1e3 * flow_delay(&f[0]));
    EXPECT(flows_rate(f, 1, SECONDS) > 0.98 * RATE, "%.0f bit/s", flows_rate(f, 1, SECONDS));
    check_ledger(1);
    bed_free(&b);
}

/* Both kinds send twice what there is and do not respond: neither starves the other. Who is marked
 * instead of dropped, and does not care, is dropped as well. */
static void overload(void)
{
    build(RATE, 2);
    for (unsigned i = 0; i < 3; i++)
        f[i].pace = 2 * RATE;
    f[0].scalable = true;
    f[1].ecn = true;
    run(3);
    for (unsigned i = 0; i < 3; i++) {
        double share = (double)f[i].bytes * 8 / SECONDS / RATE;
        printf(" %.2f", share);
        EXPECT(fabs(share - 1 / 3.0) < 0.05, "flow %u: %.3f", i, share);
        EXPECT(flow_delay(&f[i]) < 40e-3, "%.1f ms", 1e3 * flow_delay(&f[i]));
    }
    check_ledger(3);
    bed_free(&b);
}

/* Who responds in the scalable manner waits for some packets, and the line is full. */
static void scalable(void)
{
    static const uint64_t rates[] = {1000000, RATE, 100000000};

    for (unsigned i = 0; i < 3; i++) {
        double frame = 1522 * 8.0 / (double)rates[i];

        build(rates[i], 2);
        f[0].scalable = true;
        run(1);
        printf("\n    %llu bit/s: %.2f ms, longest %.2f ms, %.3f of the rate ",
               (unsigned long long)rates[i], 1e3 * flow_delay(&f[0]), 1e3 * f[0].longest,
               flows_rate(f, 1, SECONDS) / (double)rates[i]);
        EXPECT(flow_delay(&f[0]) < fmax(1.5e-3, 3.5 * frame), "%.2f ms", 1e3 * flow_delay(&f[0]));
        EXPECT(f[0].lost == 0, "%llu lost", (unsigned long long)f[0].lost);
        EXPECT(flows_rate(f, 1, SECONDS) > 0.94 * (double)rates[i], "%.0f bit/s",
               flows_rate(f, 1, SECONDS));
        check_ledger(1);
        bed_free(&b);
    }
}

/* One of each kind get about the same, while one waits for the target and the other does not. */
static void both(void)
{
    build(40000000, 2);
    f[0].scalable = true;
    f[2].scalable = true;
    f[3].ecn = true;
    run(4);
    for (unsigned i = 0; i < 4; i++) {
        double share = (double)f[i].bytes * 8 / SECONDS / 1e7;
        printf("\n    %s: %.2f of its share, %.1f ms ", f[i].scalable ? "scalable" : "classic",
               share, 1e3 * flow_delay(&f[i]));
        EXPECT(share > 0.5 && share < 2, "flow %u: %.3f of its share", i, share);
    }
    EXPECT(flow_delay(&f[0]) < 3e-3 && flow_delay(&f[2]) < 3e-3, "%.1f ms",
           1e3 * flow_delay(&f[0]));
    EXPECT(fabs(flow_delay(&f[1]) - 15e-3) < 5e-3, "%.1f ms", 1e3 * flow_delay(&f[1]));
    EXPECT(f[3].lost == 0 && f[3].marked > 0 && f[1].lost > 0 && f[1].marked == 0, "%llu lost",
           (unsigned long long)f[3].lost);
    EXPECT(flows_rate(f, 4, SECONDS) > 0.97 * 40e6, "%.0f bit/s", flows_rate(f, 4, SECONDS));
    check_ledger(4);
    bed_free(&b);
}

/* C has its sixteenth, even where L is never empty: who sends less than that waits for at most 15
 * frames, beside the one that is chosen and what is begun. */
static void protection(void)
{
    build(RATE, 1);
    f[0].pace = 1.2 * RATE;
    f[0].scalable = true;
    f[1].pace = 0.05 * RATE;
    run(2);
    printf(" C waits for %.1f ms at most, L for %.1f ", 1e3 * f[1].longest, 1e3 * f[0].longest);
    EXPECT(f[1].longest < 18.1 * FRAME, "%.1f ms", 1e3 * f[1].longest);
    check_ledger(2);
    bed_free(&b);
}

/* Who sends little in C does not wait for more than a packet or two, though L is never empty. */
static void sparse(void)
{
    build(RATE, 2);
    f[0].scalable = true;
    f[1].size = 100;
    f[1].pace = 20000;
    run(2);
    printf(" C waits for %.1f ms, at most %.1f, L for %.1f ", 1e3 * flow_delay(&f[1]),
           1e3 * f[1].longest, 1e3 * flow_delay(&f[0]));
    EXPECT(f[1].longest < 3.2 * FRAME && f[1].lost == 0, "%.1f ms", 1e3 * f[1].longest);
    check_ledger(2);
    bed_free(&b);
}

/* A subscriber who goes takes his packets along; another begins without them. */
static void cleared(void)
{
    build(RATE, 2);
    f[0].pace = f[1].pace = RATE;
    f[0].scalable = true;
    flows_start(&b, f, 2);
    flows_run(&b, f, 2, 1);
    uint64_t held = sched_held(b.s);
    EXPECT(held > 2 && (uint64_t)sched_clear(b.s, 0) == held && sched_held(b.s) == 0, "%llu held",
           (unsigned long long)held);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    f[0].pace = 0.5 * RATE;
    flows_start(&b, f, 1);
    flows_run(&b, f, 1, 1);
    EXPECT(f[0].packets > 300 && f[0].marked == 0 && f[0].lost == 0, "%llu marked",
           (unsigned long long)f[0].marked);
    bed_free(&b);
}

static void at_once(void)
{
    build(RATE, 2);
    bed_empty_in_two(&b, 0, QOS_BE);
    bed_free(&b);
}

static const struct test tests[] = {
    {"drops and marks are coupled", coupling}, {"the step", step},
    {"who does not respond", overload},        {"scalable senders", scalable},
    {"scalable and classic senders", both},    {"the classic share", protection},
    {"little of the classic kind", sparse},    {"a subscriber goes", cleared},
    {"many packets at once", at_once},         {NULL, NULL},
};

const struct test_program test_program = {"sched l4s", tests, bed_open, bed_close};
