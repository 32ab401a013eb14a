/* SPDX-License-Identifier: BSD-3-Clause */
/* impair: what it says it did is what a receiver finds. Packets carry their number. */
#include <rte_cycles.h>

#include "harness.h"
#include "packet/bytes.h"
#include "packet/frame.h"
#include "tester/impair.h"
#include "tester/sink_flow.h"
#include "tasks/task_types.h"

#define LONG_AGO 0
#define AT_LAST  UINT64_MAX

enum { DUPLICATED, REORDERED, NO_MBUF }; /* its figures */

static uint64_t figure(struct rig *r, unsigned i)
{
    return task_impair.stat(rig_task(r), i);
}

static uint64_t held(struct rig *r)
{
    return task_impair.held(rig_task(r));
}

/* Packets with the numbers first to first + n - 1. */
static void give(struct rig *r, uint32_t first, unsigned n, uint32_t len)
{
    uint8_t bytes[1514] = {0};
    struct rte_mbuf *m[1000];

    CU_ASSERT_FATAL(n <= RTE_DIM(m));
    for (unsigned i = 0; i < n; i++) {
        store32(bytes + 14, first + i);
        m[i] = mbuf_from_bytes(bytes, len, CPE0);
    }
    rig_burst(r, m, n);
}

static unsigned take(struct rig *r, uint64_t now)
{
    unsigned sum = 0, n;

    while ((n = rig_poll(r, now)) > 0)
        sum += n;
    return sum;
}

static uint32_t number(struct rig *r, unsigned i)
{
    return load32(frame_bytes(rig_out(r, "to", 0, i)) + 14);
}

static void stop(struct rig *r)
{
    rig_task(r)->stopping = true;
    take(r, AT_LAST);
    CU_ASSERT_EQUAL(held(r), 0);
}

static void perfect_line(void)
{
    struct rig *r = rig_open(&task_impair, "", NULL);

    give(r, 0, 200, 60);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 0);
    CU_ASSERT_EQUAL(held(r), 200);
    CU_ASSERT_EQUAL(rig_poll(r, LONG_AGO), 0);
    CU_ASSERT_EQUAL(rig_poll(r, rte_rdtsc()), BURST_MAX);
    CU_ASSERT_EQUAL(take(r, rte_rdtsc()), 200 - BURST_MAX);
    CU_ASSERT_EQUAL(held(r), 0);
    for (unsigned i = 0; i < 200; i++)
        CU_ASSERT_EQUAL(number(r, i), i);
    CU_ASSERT_EQUAL(rig_poll(r, AT_LAST), 0);
    rig_close(r);
}

static void loses_every_tenth(void)
{
    struct rig *r = rig_open(&task_impair, "loss=1/10 pattern=regular", NULL);

    give(r, 0, 1000, 60);
    take(r, AT_LAST);
    CU_ASSERT_EQUAL(rig_drops(r, "loss"), 100);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 900);
    for (unsigned i = 0; i < 900; i++)
        CU_ASSERT_EQUAL(number(r, i), i / 9 * 10 + i % 9);
    rig_close(r);
}

static void duplicates_every_fourth(void)
{
    struct rig *r = rig_open(&task_impair, "duplicate=25% pattern=regular", NULL);

    give(r, 0, 400, 1514);
    take(r, AT_LAST);
    CU_ASSERT_EQUAL(figure(r, DUPLICATED), 100);
    CU_ASSERT_EQUAL(rig_task(r)->created, 100);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 500);
    for (unsigned i = 0; i < 500; i++)
        CU_ASSERT_EQUAL(number(r, i), i / 5 * 4 + (i % 5 < 4 ? i % 5 : 3));
    CU_ASSERT_PTR_NOT_EQUAL(rig_out(r, "to", 0, 3), rig_out(r, "to", 0, 4));
    CU_ASSERT(mbuf_is(rig_out(r, "to", 0, 4), frame_bytes(rig_out(r, "to", 0, 3)), 1514));
    rig_close(r);
}

/* 0 1 2 3 | 5 6 7 4 8 | 10 11 12 9 13 | ... */
static void reorders_every_fifth(void)
{
    struct rig *r = rig_open(&task_impair, "reorder=1/5 pattern=regular displacement=3", NULL);
    static const unsigned expected[5] = {1, 2, 3, 0, 4};

    give(r, 0, 500, 60);
    take(r, AT_LAST);
    CU_ASSERT_EQUAL(held(r), 1); /* 499, until others overtake it */
    CU_ASSERT_EQUAL(figure(r, REORDERED), 99);
    for (unsigned i = 4; i < 499; i++)
        CU_ASSERT_EQUAL(number(r, i), (i - 4) / 5 * 5 + 4 + expected[(i - 4) % 5]);
    stop(r); /* nobody overtook it: it leaves, and is not reordered */
    CU_ASSERT_EQUAL(figure(r, REORDERED), 99);
    CU_ASSERT_EQUAL(number(r, 499), 499);
    rig_close(r);
}

static void everything(void)
{
    struct rig *r = rig_open(&task_impair, "loss=100%", NULL);

    give(r, 0, 100, 60);
    CU_ASSERT_EQUAL(rig_drops(r, "loss"), 100);
    rig_close(r);
    r = rig_open(&task_impair, "loss=100% pattern=regular", NULL);
    give(r, 0, 100, 60);
    CU_ASSERT_EQUAL(rig_drops(r, "loss"), 100);
    rig_close(r);
    r = rig_open(&task_impair, "reorder=100%", NULL); /* nothing is left to overtake */
    give(r, 0, 1000, 60);
    CU_ASSERT_EQUAL(take(r, AT_LAST), 0);
    give(r, 1000, 100, 60); /* 1024 are what it sets aside at once; the next three go on */
    CU_ASSERT_EQUAL(take(r, AT_LAST), 1027);
    CU_ASSERT_EQUAL(figure(r, REORDERED), 1024);
    rig_close(r);
}

/* The receiver's own counters, for random patterns and several seeds. */
static void receiver_agrees(void)
{
    static const char *const seeds[] = {"1", "2", "12345678901"};
    static struct flow f[RTE_DIM(seeds)];

    for (unsigned s = 0; s < RTE_DIM(seeds); s++) {
        char params[128];
        struct rig *r;

        snprintf(params, sizeof(params),
                 "loss=1%% duplicate=1/50 reorder=3%% displacement=40 seed=%s", seeds[s]);
        r = rig_open(&task_impair, params, NULL);
        for (uint32_t i = 0; i < 100000; i += 500) {
            give(r, i, 500, 60);
            if (i + 500 == 100000)
                stop(r);
            take(r, AT_LAST);
            for (unsigned k = 0; k < rig_captured(r, "to"); k++)
                flow_count(&f[s], number(r, k));
            rig_clear(r);
        }
        CU_ASSERT_EQUAL(f[s].next, 100000); /* the last one was not lost: else it could not know */
        CU_ASSERT_EQUAL(flow_lost(&f[s]), rig_drops(r, "loss"));
        CU_ASSERT_EQUAL(f[s].duplicates, figure(r, DUPLICATED));
        CU_ASSERT_EQUAL(f[s].reordered, figure(r, REORDERED));
        CU_ASSERT_EQUAL(f[s].late, 0);
        /* four times the standard deviation of a binomial distribution */
        CU_ASSERT_DOUBLE_EQUAL(flow_lost(&f[s]), 1000, 126);
        CU_ASSERT_DOUBLE_EQUAL(f[s].duplicates, 1980, 176);
        CU_ASSERT_DOUBLE_EQUAL(f[s].reordered, 2911, 213);
        rig_close(r);
    }
    CU_ASSERT(flow_lost(&f[0]) != flow_lost(&f[1]) || f[0].reordered != f[1].reordered);
}

static void same_seed_same_packets(void)
{
    static uint32_t numbers[2][1100];
    unsigned n[2];

    for (unsigned round = 0; round < 2; round++) {
        struct rig *r = rig_open(&task_impair, "loss=5% duplicate=5% reorder=5% seed=7", NULL);

        give(r, 0, 1000, 60);
        stop(r);
        n[round] = rig_captured(r, "to");
        for (unsigned i = 0; i < n[round] && i < RTE_DIM(numbers[0]); i++)
            numbers[round][i] = number(r, i);
        rig_close(r);
    }
    CU_ASSERT_EQUAL(n[0], n[1]);
    CU_ASSERT_EQUAL(memcmp(numbers[0], numbers[1], sizeof(numbers[0])), 0);
}

static void delays(void)
{
    struct rig *r = rig_open(&task_impair, "delay=3ms", NULL);
    const uint64_t delay = rte_get_tsc_hz() / 1000 * 3;
    uint64_t before = rte_rdtsc(), after;

    give(r, 0, 100, 60);
    after = rte_rdtsc();
    CU_ASSERT_EQUAL(take(r, before + delay - 1000), 0);
    CU_ASSERT_EQUAL(held(r), 100);
    CU_ASSERT_EQUAL(take(r, after + delay + 1000), 100);
    rig_close(r);
}

static void jitter_keeps_order(void)
{
    struct rig *r = rig_open(&task_impair, "delay=1ms jitter=10ms", NULL);
    const uint64_t ms = rte_get_tsc_hz() / 1000;
    uint64_t before = rte_rdtsc(), after;

    for (unsigned i = 0; i < 10; i++)
        give(r, i * 10, 10, 60);
    after = rte_rdtsc();
    CU_ASSERT_EQUAL(take(r, before + ms - 1000), 0);
    /* the first one is between them somewhere: the seed says where */
    CU_ASSERT_NOT_EQUAL(take(r, before + 11 * ms), 0);
    take(r, after + 11 * ms + 1000);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 100);
    for (unsigned i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(number(r, i), i);
    rig_close(r);
}

/* Ten packets at once: one is sent each ms, and who had to wait for more than 5.5 is dropped. */
static void limits(const char *params, uint32_t len)
{
    struct rig *r = rig_open(&task_impair, params, NULL);
    const uint64_t ms = rte_get_tsc_hz() / 1000;
    uint64_t before, after;

    give(r, 0, 1, len); /* warms the caches: the next ones shall come at once */
    take(r, AT_LAST);
    rte_delay_us_block(1500);
    before = rte_rdtsc();
    give(r, 1, 10, len);
    after = rte_rdtsc();
    CU_ASSERT_EQUAL(rig_drops(r, "rate"), 4);
    CU_ASSERT_EQUAL(held(r), 6);
    for (unsigned i = 1; i <= 6; i++) {
        CU_ASSERT_EQUAL(take(r, before + i * ms - 1000), 0);
        CU_ASSERT_EQUAL(take(r, after + i * ms + 1000), 1);
    }
    rig_close(r);
}

static void limits_packets(void)
{
    limits("rate=1kpps queue=5500us", 60);
    limits("rate=1kpps queue=5500us", 1514);
}

/* 84 and 1538 bytes on the wire */
static void limits_bits(void)
{
    limits("rate=672kbit/s queue=5500us", 60);
    limits("rate=12.304Mbit/s queue=5500us", 1514);
}

/* The rate holds over many packets, whatever fraction of a cycle one takes. */
static void keeps_rate(void)
{
    const struct line_spec spec = {.room = 1024, .packet_cost = 1.5, .queue = 1500};
    struct rte_mbuf m = {.pkt_len = 60}, *out[1024];
    struct line l = {0};

    CU_ASSERT_FATAL(line_init(&l, &spec) == 0);
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(line_ask(&l, 7000), LINE_TAKES);
        line_put(&l, &m, 7000);
    }
    CU_ASSERT_EQUAL(line_take(&l, out, 1024, 7000 + 1499), 999);
    CU_ASSERT_EQUAL(line_take(&l, out, 1024, 7000 + 1500), 1);
    CU_ASSERT_EQUAL(line_held(&l), 0);
    line_fini(&l);
}

static void gets_full(void)
{
    struct rig *r = rig_open(&task_impair, "room=64 delay=10s", NULL);

    give(r, 0, 100, 60);
    CU_ASSERT_EQUAL(rig_drops(r, "full"), 36);
    CU_ASSERT_EQUAL(held(r), 64);
    CU_ASSERT_EQUAL(take(r, rte_rdtsc()), 0);
    rig_close(r); /* what it holds goes back to the pool */
}

static void pool_is_empty(void)
{
    struct rig *r = rig_open(&task_impair, "duplicate=100%", NULL);
    struct rte_mbuf *all[RIG_MBUFS];
    unsigned n = RIG_MBUFS - 10;

    CU_ASSERT_FATAL(rte_mempool_get_bulk(harness_pool, (void **)all, n) == 0);
    give(r, 0, 8, 60); /* two copies, and then none */
    CU_ASSERT_EQUAL(figure(r, DUPLICATED), 2);
    CU_ASSERT_EQUAL(figure(r, NO_MBUF), 6);
    CU_ASSERT_EQUAL(take(r, AT_LAST), 10);
    rte_mempool_put_bulk(harness_pool, (void **)all, n);
    rig_close(r);
}

static const struct test tests[] = {
    {"a perfect line", perfect_line},
    {"loses every tenth", loses_every_tenth},
    {"duplicates every fourth", duplicates_every_fourth},
    {"reorders every fifth", reorders_every_fifth},
    {"everything", everything},
    {"a receiver agrees", receiver_agrees},
    {"same seed, same packets", same_seed_same_packets},
    {"delays", delays},
    {"jitter keeps the order", jitter_keeps_order},
    {"limits packets", limits_packets},
    {"limits bits", limits_bits},
    {"keeps its rate", keeps_rate},
    {"gets full", gets_full},
    {"the pool is empty", pool_is_empty},
    {NULL, NULL},
};

const struct test_program test_program = {"impair", tests, harness_open, harness_close};
