/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost when shaping bites: packets of 1000 bytes arrive at a steady 2 Mpps, for 16384
 * subscribers at random whose profiles let a half or a tenth of that through, in queues of two
 * packets. For each burst that arrives the scheduler is asked for one, as a core does it. Where
 * that takes longer than until the next burst is due, less arrives. The result is the cycles of
 * both per packet that arrived, the median over chunks of bursts, as in the other passes; the rest
 * of the packets was dropped at the tail.
 */
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_meter.h>

#include "qos.h"

#define PIPES       16384u
#define BYTES       1000u
#define PACE        2000000u /* packets a second */
#define WARM_BURSTS 6000u    /* 0.1 s: the buckets are empty */
#define PART        32u      /* bursts of a chunk: half a millisecond */
#define PARTS       188u
#define DRAIN_SECS  3

static uint64_t part_cycles[PARTS];

static int bring(struct bench *b, struct rte_mbuf **m)
{
    if (rte_pktmbuf_alloc_bulk(b->packets.pool, m, BURST) != 0) {
        fprintf(stderr, "bench: more packets wait than the queues hold\n");
        return -1;
    }
    for (unsigned i = 0; i < BURST; i++) {
        m[i]->data_len = BYTES;
        m[i]->pkt_len = BYTES;
        meta_set_path(m[i], qos_random_below(PIPES) * QOS_QUEUES + QOS_BE);
        rte_mbuf_sched_color_set(m[i], RTE_COLOR_GREEN);
    }
    return 0;
}

/* One burst in, one out; returns the cycles or 0 after a failure. */
static uint64_t turn(struct bench *b, const struct bench_case *c, struct task *t)
{
    struct rte_mbuf *m[BURST_MAX];
    uint64_t start;
    uint16_t n;

    if (bring(b, m) != 0)
        return 0;
    start = rte_rdtsc();
    qos_put(c->qos->target, t, m, BURST);
    n = qos_get(c->qos->target, t, m, BURST);
    start = rte_rdtsc() - start;
    rte_pktmbuf_free_bulk(m, n);
    return start;
}

static void drain(struct bench *b, const struct bench_case *c, struct task *t)
{
    uint64_t deadline = rte_rdtsc() + DRAIN_SECS * rte_get_tsc_hz();
    struct rte_mbuf *m[BURST_MAX];

    while (rte_mempool_in_use_count(b->packets.pool) > 0 && rte_rdtsc() < deadline)
        rte_pktmbuf_free_bulk(m, qos_get(c->qos->target, t, m, BURST));
}

/* So many bursts, at the pace. Returns the cycles or 0 after a failure. */
static uint64_t turns(struct bench *b, const struct bench_case *c, struct task *t, unsigned n,
                      uint64_t *due)
{
    uint64_t sum = 0, cycles = 1;

    for (unsigned i = 0; cycles > 0 && i < n; i++) {
        while (rte_rdtsc() < *due)
            ;
        *due = RTE_MAX(*due + BURST * rte_get_tsc_hz() / PACE, rte_rdtsc());
        cycles = turn(b, c, t);
        sum += cycles;
    }
    return cycles > 0 ? sum : 0;
}

double pass_shaped(struct bench *b, const struct bench_case *c)
{
    struct task *t = qos_task(b->graph[c->graph], 0);
    uint64_t due = rte_rdtsc(), cycles;

    packets_lend(&b->packets);
    if (c->qos->target == QOS_TASK)
        qos_divert(t);
    cycles = turns(b, c, t, WARM_BURSTS, &due);
    for (unsigned i = 0; cycles > 0 && i < PARTS; i++)
        part_cycles[i] = cycles = turns(b, c, t, PART, &due);
    drain(b, c, t);
    if (c->qos->target == QOS_TASK)
        qos_undivert(t);
    if (packets_take_back(&b->packets) != 0 || cycles == 0)
        return -1;
    return (double)qos_median(part_cycles, PARTS) / PART / BURST;
}
