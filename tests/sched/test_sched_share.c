/* SPDX-License-Identifier: BSD-3-Clause */
/* Who gets what: strict priority, weights, caps of classes and subports, oversubscription. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/qos_shapes.h"

static struct bed b;

static bool near(double got, double want, double within)
{
    return fabs(got / want - 1) <= within;
}

static void all_use(uint32_t n_pipes, unsigned profile)
{
    for (uint32_t i = 0; i < n_pipes; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, profile), 0);
}

static void priority_bed(void)
{
    bed_shape(&b, 2, 1);
    b.shape.class[0].size = b.shape.class[5].size = 64;
    bed_profile(&b, 10000000, bed_burst(10000000));
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(2, 0);
}

/* Of three full classes the highest gets everything. */
static void strict_priority(void)
{

    priority_bed();
    bed_fill(&b, 0, 0, 1000, 32);
    bed_fill(&b, 0, 5, 1000, 32);
    bed_fill(&b, 0, QOS_BE, 1000, 32);
    bed_measure(&b, 0.1, 0.3);
    uint64_t low = b.packets[5] + b.packets[QOS_BE];
    double high = bed_rate(&b, 0, 0);
    bed_free(&b);
    EXPECT(low == 0, "%llu packets of lower classes", (unsigned long long)low);
    EXPECT(near(high, 10000000, 0.01), "%.0f bit/s", high);
}

/* TSC cycles that a packet of class 0 waits behind full lower classes, or 0 if this thread was kept
 * away meanwhile. */
static uint64_t wait_of_one(uint64_t unsteady)
{
    struct rte_mbuf *high = bed_packet(0, 0, 100), *m[BED_BURST];
    uint64_t start = bed_now(&b), previous = start, now;
    bool steady = true, out = false;

    sched_enqueue(b.s, &high, 1);
    while (!out) {
        uint32_t n = bed_dequeue(&b, m, BED_BURST);
        now = bed_now(&b);
        steady &= now - previous < unsteady;
        previous = now;
        for (uint32_t i = 0; i < n; i++) {
            if (m[i] == high)
                out = true;
            else
                sched_enqueue(b.s, &m[i], 1);
        }
    }
    rte_pktmbuf_free(high);
    return steady ? now - start : 0;
}

/* A full low class delays a high one by no more than a packet time (of the largest packet at the
 * subscriber's rate) and a dequeue burst. */
static void priority_delay(void)
{
    const double us = rte_get_tsc_hz() / 1e6, packet_us = 1500 * 8 / 10.0, burst_us = 100;
    unsigned steady = 0, seed = 1;
    uint64_t worst = 0;

    priority_bed();
    bed_fill(&b, 0, 5, 1500, 32);
    bed_fill(&b, 0, QOS_BE, 1500, 64);
    bed_reset(&b);
    bed_run(&b, 0.1);
    for (unsigned i = 0; i < 1000 && steady < 200; i++) {
        bed_run(&b, (rand_r(&seed) % 1500) / 1e6);
        uint64_t wait = wait_of_one((uint64_t)(burst_us * us));
        steady += wait != 0;
        worst = wait > worst ? wait : worst;
    }
    EXPECT(steady == 200, "only %u undisturbed", steady);
    EXPECT(worst < (packet_us + burst_us) * us, "%.1f us", worst / us);
    printf(" worst %.1f us of %.0f ", worst / us, packet_us);
    bed_free(&b);
}

struct wrr {
    uint8_t weight[QOS_BE_QUEUES];
    uint32_t size[QOS_BE_QUEUES];
};

static void one_wrr(const struct wrr *w)
{

    double rate[QOS_BE_QUEUES], sum = 0, weights = 0;
    bed_shape(&b, 2, 1);
    unsigned p = bed_profile(&b, 50000000, bed_burst(50000000));
    memcpy(b.profiles[p].shape[QOS_UP].weight, w->weight, sizeof(w->weight));
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(2, 0);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        bed_fill(&b, 1, QOS_BE + q, w->size[q], 64);
    bed_measure(&b, 0.2, 0.8);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++) {
        rate[q] = bed_rate(&b, 1, QOS_BE + q);
        sum += rate[q];
        weights += w->weight[q];
    }
    bed_free(&b);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        EXPECT(near(rate[q] / sum, w->weight[q] / weights, 0.05),
               "queue %u, weight %u, %u bytes: %.3f of the rate", q, w->weight[q], w->size[q],
               rate[q] / sum);
}

static void weights(void)
{
    static const struct wrr w[] = {
        {{1, 1, 1, 1}, {64, 512, 1000, 1518}},
        {{1, 2, 4, 8}, {1500, 1500, 1500, 1500}},
        {{1, 2, 4, 8}, {64, 64, 64, 64}},
        {{20, 10, 5, 1}, {1500, 64, 300, 1000}},
    };
    for (unsigned i = 0; i < sizeof(w) / sizeof(w[0]); i++)
        one_wrr(&w[i]);
}

/* Three subports (the library counts by powers of two), each with four subscribers who could take
 * all of it; and a class that has a cap in one of them. */
static void subport_caps(void)
{
    static const uint64_t rate[] = {100000000, 300000000, 7000000};

    bed_shape(&b, 4, 3);
    b.shape.class[0].size = 64;
    for (unsigned i = 0; i < 3; i++)
        plain_subport_rate(&b.subports[i], rate[i]);
    b.subports[1].class_rate[0] = 20000000;
    bed_profile(&b, 300000000, bed_burst(300000000));
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(12, 0);
    for (unsigned i = 0; i < 12; i++)
        bed_fill(&b, i, QOS_BE, 1000, 64);
    bed_fill(&b, 6, 0, 1000, 64);
    /* The class's credits are for 122 ms: one more of these may begin than end in a second. */
    bed_measure(&b, 0.5, 1);
    double got[3], capped = bed_rate(&b, 6, 0), below = bed_rate(&b, 6, QOS_BE);
    for (unsigned i = 0; i < 3; i++)
        got[i] = bed_sum(&b, 4 * i, 4);
    bed_free(&b);
    for (unsigned i = 0; i < 3; i++)
        EXPECT(near(got[i], rate[i], 0.01), "subport %u: %.0f bit/s", i, got[i]);
    EXPECT(near(capped, 20000000, 0.13), "class 0: %.0f bit/s", capped);
    /* While its class 0 waits for the subport, its best effort has a share with three others. */
    EXPECT(below > 40000000, "best effort: %.0f bit/s", below);
}

/* Two subports that may each take the whole port of 500 Mbit/s get it together, not each; and the
 * library's clock does not run away, so that a third subscriber's rate holds. */
static void port_rate(void)
{
    bed_shape(&b, 4, 2);
    b.shape.rate = 500000000;
    for (unsigned i = 0; i < 2; i++)
        plain_subport_rate(&b.subports[i], b.shape.rate);
    bed_profile(&b, 400000000, bed_burst(400000000));
    bed_profile(&b, 20000000, bed_burst(20000000));
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(8, 0);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 7, 1), 0);
    for (unsigned i = 0; i < 8; i++)
        bed_fill(&b, i, QOS_BE, 1000, 64);
    bed_measure(&b, 0.2, 1);
    double all = bed_sum(&b, 0, 8), low = bed_rate(&b, 7, QOS_BE);
    bed_free(&b);
    /* What this thread does not send within 4 ms is the line's loss. */
    EXPECT(all > 0.9 * 500000000 && all < 1.01 * 500000000, "%.0f bit/s", all);
    EXPECT(low < 1.01 * 20000000, "%.0f bit/s", low);
}

/* Two capped classes and one without a cap: 10 and 5 of 50 Mbit/s, over 40 ms. */
static void class_caps(void)
{

    bed_shape(&b, 2, 1);
    b.shape.class[0].size = b.shape.class[1].size = 64;
    unsigned p = bed_profile(&b, 50000000, bed_burst(50000000));
    b.profiles[p].shape[QOS_UP].class_rate[0] = 10000000;
    b.profiles[p].shape[QOS_UP].class_rate[1] = 5000000;
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(2, 0);
    bed_fill(&b, 1, 0, 250, 64);
    bed_fill(&b, 1, 1, 250, 64);
    bed_fill(&b, 1, QOS_BE, 250, 64);
    bed_measure(&b, 0.2, 1);
    double c0 = bed_rate(&b, 1, 0), c1 = bed_rate(&b, 1, 1), be = bed_rate(&b, 1, QOS_BE);
    bed_free(&b);
    /* 50000 and 25000 bytes of credit every 40 ms hold 200 and 100 packets; two more
     * periods may begin than end within the second. */
    EXPECT(near(c0, 10000000, 0.045), "%.0f bit/s", c0);
    EXPECT(near(c1, 5000000, 0.045), "%.0f bit/s", c1);
    EXPECT(near(c0 + c1 + be, 50000000, 0.02), "%.0f bit/s in all", c0 + c1 + be);
}

/* 1 Gbit/s sold eight times over, to subscribers of weight 1, 1, 2 and 4. The library finds its
 * allowance in about 2000 periods of 2 ms (doc/qos.md). */
static void oversubscription(void)
{
    static const uint8_t weight[] = {1, 1, 2, 4};

    double got[4], sum;
    bed_shape(&b, 4, 1);
    b.shape.oversubscription = true;
    b.subports[0].rate[QOS_UP] = 1000000000;
    for (unsigned i = 0; i < 4; i++) {
        unsigned p = bed_profile(&b, 1000000000, bed_burst(1000000000));
        b.profiles[p].shape[QOS_UP].oversubscription_weight = weight[i];
    }
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i), 0);
        bed_fill(&b, i, QOS_BE, 1000, 64);
    }
    bed_measure(&b, 4.5, 1);
    for (unsigned i = 0; i < 4; i++)
        got[i] = bed_rate(&b, i, QOS_BE);
    sum = bed_sum(&b, 0, 4);
    bed_free(&b);
    for (unsigned i = 0; i < 4; i++)
        EXPECT(near(got[i] / sum, weight[i] / 8.0, 0.05), "weight %u: %.3f", weight[i],
               got[i] / sum);
    /* The class credits of a period of 2 ms are lost if this thread is away for it. */
    EXPECT(sum > 850000000 && sum < 1010000000, "%.0f bit/s", sum);
}

/* 64 subscribers want ten times what their subport has: each gets its part of it. */
static void no_starvation(void)
{

    double least = INFINITY, sum;
    bed_shape(&b, 64, 1);
    b.subports[0].rate[QOS_UP] = 64000000;
    bed_profile(&b, 10000000, bed_burst(10000000));
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(64, 0);
    for (unsigned i = 0; i < 64; i++)
        bed_fill(&b, i, QOS_BE, 500, 32);
    bed_measure(&b, 0.2, 1);
    sum = bed_sum(&b, 0, 64);
    for (unsigned i = 0; i < 64; i++)
        least = fmin(least, bed_rate(&b, i, QOS_BE));
    bed_free(&b);
    EXPECT(near(sum, 64000000, 0.01), "%.0f bit/s", sum);
    EXPECT(least > 500000, "one of them got %.0f bit/s", least);
    printf(" least %.0f of 1000000 bit/s ", least);
}

static const struct test tests[] = {
    {"strict priority: shares", strict_priority},
    {"strict priority: delay", priority_delay},
    {"weights of best effort", weights},
    {"subport caps", subport_caps},
    {"port rate", port_rate},
    {"class caps", class_caps},
    {"oversubscription", oversubscription},
    {"no starvation", no_starvation},
    {NULL, NULL},
};

const struct test_program test_program = {"sched shares", tests, bed_open, bed_close};
