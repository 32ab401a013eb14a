/* SPDX-License-Identifier: BSD-3-Clause */
/* What is configured is what comes out: rates, for small and large packets, few and many
 * subscribers; and bursts. */
#include <math.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"

static struct bed b;
static const uint64_t rates[] = {64000,    256000,   1000000,   5000000,
                                 10000000, 50000000, 200000000, 1000000000};
static const uint32_t sizes[] = {64, 1500};

#define RATES 8
#define SIZES 2

/* Every queue always holds this many: enough for what leaves in a turn. */
static unsigned backlog(uint64_t rate)
{
    return rate > 10000000 ? 64 : 16;
}

/* By how much a rate may be off: with an injected clock nothing disturbs it. */
static double deviation(void)
{
    return b.real_time ? 0.01 : 1e-4;
}

static void measure_table(void)
{
    for (unsigned r = 0; r < RATES; r++)
        bed_profile(&b, rates[r], bed_burst(rates[r]));
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < RATES * SIZES; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i / SIZES), 0);
        bed_fill(&b, i, QOS_BE, sizes[i % SIZES], backlog(rates[i / SIZES]));
    }
    bed_measure(&b, 0.5, 2.3); /* in the first half second the buckets become empty */
}

/* 64 kbit/s to 1 Gbit/s at once in one scheduler of 10 Gbit/s. */
static void all_rates(void)
{
    bed_shape(&b, 16, 1);
    measure_table();

    printf("\n    %12s %6s %14s %8s\n", "configured", "bytes", "delivered", "error");
    for (unsigned i = 0; i < RATES * SIZES; i++) {
        double got = bed_rate(&b, i, QOS_BE), want = rates[i / SIZES];
        uint32_t q = i * QOS_QUEUES + QOS_BE;
        double seconds = (double)(b.last[q] - b.first[q]) / rte_get_tsc_hz();

        printf("    %12.0f %6u %14.1f %+7.3f%%\n", want, sizes[i % SIZES], got,
               100 * (got / want - 1));
        EXPECT(fabs(got / want - 1) < deviation(), "%.0f bit/s came out as %.1f", want, got);
        EXPECT(seconds > 2, "only %.3f s", seconds);
    }
    bed_free(&b);
}

#define MANY 1000

/* 1000 subscribers of five rates, all with more to send than they may. */
static void many_subscribers(void)
{
    static const uint64_t of[] = {64000, 256000, 500000, 1000000, 2000000};
    double worst = 0;

    bed_shape(&b, 1024, 1);
    for (unsigned r = 0; r < 5; r++)
        bed_profile(&b, of[r], bed_burst(of[r]));
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < MANY; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i % 5), 0);
        bed_fill(&b, i, QOS_BE, i % 2 ? 1500 : 64, 8);
    }
    bed_measure(&b, 0.5, 2.3);

    for (unsigned i = 0; i < MANY; i++) {
        double error = bed_rate(&b, i, QOS_BE) / of[i % 5] - 1;
        if (fabs(error) > fabs(worst))
            worst = error;
    }
    EXPECT(fabs(worst) < deviation(), "%+.3f%%", 100 * worst);
    printf(" worst of 1000: %+.3f%% ", 100 * worst);
    bed_free(&b);
}

#define BURST      40000
#define BURST_SIZE 1000
#define BURST_HOLD 64

/* Packets that leave at once: within a time that is longer than the pacer needs for a bucket, and
 * shorter than that of a credit for one more; 0 if this thread was away meanwhile. */
static unsigned at_once(void)
{
    struct rte_mbuf *m[BURST_HOLD];
    uint64_t start = bed_now(&b), ms = rte_get_tsc_hz() / 1000, end = start;
    unsigned got = 0;

    while (end - start < ms) {
        got += bed_dequeue(&b, m + got, BURST_HOLD - got);
        end = bed_now(&b);
    }
    rte_pktmbuf_free_bulk(m, got);
    return end - start < 3 * ms ? got : 0;
}

/* Empty the queue, then rest until the bucket is full again. */
static void rest(void)
{
    struct rte_mbuf *m[BURST_HOLD];

    while (sched_held(b.s) > 0)
        rte_pktmbuf_free_bulk(m, bed_dequeue(&b, m, BURST_HOLD));
    uint64_t end = bed_now(&b) + rte_get_tsc_hz() / 2;
    while (bed_now(&b) < end)
        bed_dequeue(&b, m, BURST_HOLD);
}

/* A full bucket leaves at once, and no more; at first it is half full. */
static void bursts(void)
{
    bed_shape(&b, 2, 1);
    bed_profile(&b, 1000000, BURST);
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned round = 0; round < 4; round++) {
        unsigned want = (round % 2 == 0 ? BURST / 2 : BURST) / BURST_SIZE, got = 0;

        for (unsigned trial = 0; got == 0 && trial < BED_TRIALS; trial++) {
            rest();
            if (round % 2 == 0)
                CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
            bed_fill(&b, 0, QOS_BE, BURST_SIZE, BURST_HOLD);
            got = at_once();
        }
        EXPECT(got == want || got == want + 1, "round %u: %u of %u packets", round, got, want);
    }
    bed_free(&b);
}

static const struct test tests[] = {
    {"rates from 64 kbit/s to 1 Gbit/s, 64 and 1500 bytes", all_rates},
    {"1000 subscribers at once", many_subscribers},
    {"burst size", bursts},
    {NULL, NULL},
};

const struct test_program test_program = {"sched accuracy", tests, bed_open, bed_close};
