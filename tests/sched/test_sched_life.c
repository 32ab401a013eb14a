/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops, counters, order, and changes while packets wait. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"

static struct bed b;
static uint32_t next_sent[BED_PIPES * QOS_QUEUES], next_seen[BED_PIPES * QOS_QUEUES];

static uint32_t *number(struct rte_mbuf *m)
{
    return rte_pktmbuf_mtod(m, uint32_t *);
}

/* Packets come out of each queue in the order in which they went in, none is missing. */
static void check_order(struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = m[i]->hash.sched.queue_id;
        EXPECT(*number(m[i]) == next_seen[q], "queue %u: %u, expected %u", q, *number(m[i]),
               next_seen[q]);
        next_seen[q] = *number(m[i]) + 1;
    }
}

static void start_order(void)
{
    memset(next_sent, 0, sizeof(next_sent));
    memset(next_seen, 0, sizeof(next_seen));
}

/* One numbered packet; a refused one leaves no gap in the numbers. */
static void send_numbered(uint32_t pipe, unsigned queue, uint32_t size)
{
    struct rte_mbuf *m = bed_packet(pipe, queue, size);
    uint32_t q = pipe * QOS_QUEUES + queue;

    *number(m) = next_sent[q];
    next_sent[q] += sched_enqueue(b.s, &m, 1);
}

static uint32_t drain_burst(void)
{
    struct rte_mbuf *m[BED_BURST];
    uint32_t n = bed_dequeue(&b, m, BED_BURST);

    check_order(m, n);
    rte_pktmbuf_free_bulk(m, n);
    return n;
}

static void all_use(uint32_t n_pipes, unsigned profile)
{
    for (uint32_t i = 0; i < n_pipes; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, profile), 0);
}

/* A queue takes what it has room for and drops the rest; the counters say so, once. */
static void full_queues(void)
{
    struct sched_queue_counters c = {0};

    bed_shape(&b, 4, 2);
    b.shape.class[2].size = 32;
    bed_profile(&b, 1000000, 20000);
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(8, 0);
    start_order();
    for (unsigned i = 0; i < 40; i++)
        send_numbered(6, 2, 104);
    CU_ASSERT_EQUAL(next_sent[6 * QOS_QUEUES + 2], 32);
    CU_ASSERT_EQUAL(sched_held(b.s), 32);
    CU_ASSERT_EQUAL(sched_drops(b.s).tail, 8);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 6, 2, &c), 0);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 6, 2, &c), 0);
    CU_ASSERT_EQUAL(c.packets, 32);
    CU_ASSERT_EQUAL(c.bytes, 3200);
    CU_ASSERT_EQUAL(c.tail, 8);
    CU_ASSERT_EQUAL(c.aqm, 0);
    CU_ASSERT_EQUAL(c.dropped_bytes, 800);
    CU_ASSERT_EQUAL(c.depth, 32);
    /* A class without a queue takes nothing; a burst of more than the queue's size, a part. */
    send_numbered(6, 3, 104);
    CU_ASSERT_EQUAL(sched_drops(b.s).tail, 9);
    struct rte_mbuf *m[100];
    for (unsigned i = 0; i < 100; i++)
        m[i] = bed_packet(0, QOS_BE + 3, 64);
    CU_ASSERT_EQUAL(sched_enqueue(b.s, m, 100), 64);
    CU_ASSERT_EQUAL(sched_enqueue(b.s, m, 0), 0);
    CU_ASSERT_EQUAL(sched_drops(b.s).tail, 45);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 8, 0, &c), -EINVAL);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 0, 16, &c), -EINVAL);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 8, 0), -EINVAL);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 1), -EINVAL);
    /* Full queues are freed, too. */
    bed_free(&b);
}

/* RED and PIE: what they drop is counted as theirs, and every packet once. */
static void active_queue_management(enum qos_aqm aqm)
{
    struct cfg_class red = {.size = 64,
                            .aqm = AQM_RED,
                            .red_min = 4,
                            .red_max = 16,
                            .red_inverse_probability = 2,
                            .red_weight_log2 = 1};
    struct cfg_class pie = {.size = 64,
                            .aqm = AQM_PIE,
                            .pie_target_ms = 15,
                            .pie_update_ms = 15,
                            .pie_max_burst_ms = 150,
                            .pie_tail = 32};
    struct sched_queue_counters c = {0}, plain = {0};
    struct rte_mbuf *m;
    uint64_t sent = 0;

    bed_shape(&b, 4, 2);
    b.shape.class[QOS_BE] = aqm == AQM_RED ? red : pie;
    b.shape.class[1].size = 16;
    bed_profile(&b, 1000000, 20000);
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(8, 0);
    for (; sent < 200; sent++)
        bed_fill(&b, 5, QOS_BE, 100, 1);
    bed_fill(&b, 5, 1, 100, 20);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 5, QOS_BE, &c), 0);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 5, 1, &plain), 0);
    struct sched_drops d = sched_drops(b.s);
    d = sched_drops(b.s); /* reading twice counts once */
    EXPECT(c.aqm > 50, "%llu", (unsigned long long)c.aqm);
    CU_ASSERT_EQUAL(c.packets + c.tail + c.aqm, sent);
    CU_ASSERT_EQUAL(d.red + d.pie, c.aqm);
    CU_ASSERT_EQUAL(aqm == AQM_RED ? d.pie : d.red, 0);
    /* The other class drops at its tail only. */
    CU_ASSERT_EQUAL(plain.packets, 16);
    CU_ASSERT_EQUAL(plain.tail, 4);
    CU_ASSERT_EQUAL(plain.aqm, 0);
    CU_ASSERT_EQUAL(d.tail, c.tail + 4);
    /* A queue that has only just run empty takes a packet. */
    while (sched_held(b.s) > 0)
        if (bed_dequeue(&b, &m, 1) == 1)
            rte_pktmbuf_free(m);
    bed_fill(&b, 5, QOS_BE, 100, 1);
    CU_ASSERT_EQUAL(sched_held(b.s), 1);
    bed_free(&b);
}

static void red(void)
{
    active_queue_management(AQM_RED);
}

static void pie(void)
{
    active_queue_management(AQM_PIE);
}

#define CHANGES 10000
#define CHANGED 256

/* 10000 changes of profile while packets wait and flow: none is lost or reordered. */
static void profile_changes(void)
{
    static const unsigned queues[] = {0, 4, QOS_BE, QOS_BE + 1};
    unsigned seed = 3, changes = 0;

    bed_shape(&b, CHANGED, 1);
    b.shape.class[0].size = b.shape.class[4].size = 64;
    bed_profile(&b, 1000000, 20000);
    bed_profile(&b, 5000000, 20000);
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(CHANGED, 0);
    /* Two more while it runs, one of them like another. */
    struct qos_shape added = b.profiles[1].shape[QOS_UP];
    CU_ASSERT_EQUAL(sched_add_profile(b.s, &added), 2);
    added.burst = 100;
    CU_ASSERT_EQUAL(sched_add_profile(b.s, &added), -EINVAL);
    added.burst = 30000;
    CU_ASSERT_EQUAL(sched_add_profile(b.s, &added), 3);
    start_order();
    while (changes < CHANGES) {
        for (unsigned i = 0; i < 16; i++)
            send_numbered(rand_r(&seed) % CHANGED, queues[rand_r(&seed) % 4],
                          64 + rand_r(&seed) % 1400);
        for (unsigned i = 0; i < 4; i++, changes++)
            CU_ASSERT_EQUAL(sched_set_profile(b.s, rand_r(&seed) % CHANGED, rand_r(&seed) % 4), 0);
        drain_burst();
    }
    uint64_t end = bed_now(&b) + 20 * rte_get_tsc_hz();
    while (sched_held(b.s) > 0 && bed_now(&b) < end)
        drain_burst();
    CU_ASSERT_EQUAL(sched_held(b.s), 0);
    CU_ASSERT_EQUAL(memcmp(next_sent, next_seen, sizeof(next_sent)), 0);
    for (unsigned i = 4; i < 18; i++) {
        added.burst += 100;
        CU_ASSERT_EQUAL(sched_add_profile(b.s, &added), (int)i);
    }
    CU_ASSERT_EQUAL(sched_add_profile(b.s, &added), -ENOSPC);
    bed_free(&b);
}

/* A changed profile and a changed subport rate hold from then on; the order is kept. */
static void rate_changes(void)
{
    static const uint64_t rates[] = {20000000, 60000000, 20000000};

    double got[3], shaped[3];
    bed_shape(&b, 4, 2);
    for (unsigned i = 0; i < 3; i++)
        bed_profile(&b, rates[i] / 2, bed_burst(rates[i] / 2));
    bed_profile(&b, 1000000000, bed_burst(1000000000));
    b.subports[0].rate[QOS_UP] = rates[0];
    CU_ASSERT_FATAL(bed_create(&b));
    all_use(8, 3);
    for (unsigned i = 0; i < 5; i++)
        bed_fill(&b, i, QOS_BE, 1000, 64);
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 0, rates[i]), 0);
        CU_ASSERT_EQUAL(sched_set_profile(b.s, 4, i), 0);
        bed_measure(&b, 0.1, 1);
        got[i] = bed_sum(&b, 0, 4);
        shaped[i] = bed_rate(&b, 4, QOS_BE);
    }
    CU_ASSERT_EQUAL(sched_held(b.s), 5 * 64);
    CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 2, 1000000), -EINVAL);
    CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 0, 0), -EINVAL);
    CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 0, b.shape.rate + 8), -EINVAL);
    bed_free(&b);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(fabs(got[i] / rates[i] - 1) < 0.01, "subport: %.0f, not %llu", got[i],
               (unsigned long long)rates[i]);
        EXPECT(fabs(shaped[i] * 2 / rates[i] - 1) < 0.01, "subscriber: %.0f, not %llu", shaped[i],
               (unsigned long long)rates[i] / 2);
    }
}

/* librte_sched has room for 256 rates of subports besides the first ones and finds old ones again;
 * the wheel has no limit. */
static void many_subport_rates(void)
{
    bed_shape(&b, 1, 1);
    bed_profile(&b, 1000000, 20000);
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < 256; i++)
        CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 0, 1000000 + i * 5000), 0);
    CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 0, 8000000),
                    bed_backend == QOS_LIBRTE_SCHED ? -ENOSPC : 0);
    CU_ASSERT_EQUAL(sched_set_subport_rate(b.s, 0, 1005000), 0);
    bed_free(&b);
}

static const struct test tests[] = {
    {"full queues", full_queues},
    {"RED", red},
    {"PIE", pie},
    {"profiles change under load", profile_changes},
    {"rates change under load", rate_changes},
    {"many rates of a subport", many_subport_rates},
    {NULL, NULL},
};

const struct test_program test_program = {"sched life", tests, bed_open, bed_close};
