/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wheel's loops for the usual cases (a ring of pipes without rates of their classes, below a
 * subport with a rate or without) against the one for all: on random hierarchies both let the same
 * packets leave at the same times. The one for all serves a scheduler in which some profile has a
 * rate of a class; here no subscriber has it. Shards, whose loops are compiled a second time, must
 * agree where each subport has a rate.
 */
#include <stdlib.h>

#include "bed.h"
#include "common/qos_shapes.h"
#include "sched/shards/shards.h"

#define ROUNDS   60
#define STEPS    4000
#define PIPES    32
#define PROFILES 8
#define MOST     2 /* shards */

enum { USUAL, ALL, N_LOOPS };

/* A scheduler, as n shards or (0) without. */
struct group {
    struct shards *all;
    struct sched *s[MOST];
};

static struct bed b;
static struct group group[N_LOOPS];
static unsigned seed, start; /* running; SEED that repeats this round */

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* The last profile is nobody's: by it one scheduler has a rate of a class. */
static void random_shape(bool rated)
{
    static const uint64_t rates[] = {2000000, 10000000, 77777777, 400000000, 3000000000};
    unsigned subports = 1 + pick(4);

    bed_shape(&b, PIPES / 4, subports);
    for (unsigned c = 0; c < QOS_BE; c++)
        b.shape.class[c].size = pick(3) == 0 ? 1 << pick(7) : 0;
    b.shape.class[QOS_BE].size = 1 << pick(8);
    b.shape.oversubscription = pick(2);
    for (unsigned i = 0; i < subports; i++)
        if (rated || pick(3) != 0)
            plain_subport_rate(&b.subports[i], 100000000 + pick(2000000000));
    for (unsigned i = 0; i < PROFILES; i++) {
        struct qos_shape *x =
            &b.profiles[bed_profile(&b, rates[pick(5)], 1522 + pick(50000))].shape[QOS_UP];

        for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
            x->weight[q] = 1 << pick(4);
        x->oversubscription_weight = 1 + pick(4);
    }
    bed_profile(&b, 3000000000, 400000);
}

static void open_group(struct group *g, unsigned n)
{
    b.profiles[PROFILES].shape[QOS_UP].class_rate[QOS_BE] =
        g == &group[ALL] ? 2999999999 : 3000000000;
    g->all = n > 0 ? shards_create(&b.shape, n, NULL, -1) : NULL;
    CU_ASSERT_FATAL(n == 0 || g->all != NULL);
    for (unsigned i = 0; i < RTE_MAX(n, 1u); i++)
        g->s[i] = bed_shard(&b, g->all, i);
}

static void close_group(struct group *g, unsigned n)
{
    for (unsigned i = 0; i < RTE_MAX(n, 1u); i++)
        sched_free(g->s[i]);
    shards_free(g->all);
}

/* The same packets come to a shard of both. */
static void arrive(unsigned i)
{
    struct rte_mbuf *m[N_LOOPS][BED_BURST];
    uint32_t n = 1 + pick(BED_BURST), accepted[N_LOOPS];

    for (uint32_t k = 0; k < n; k++) {
        uint32_t pipe = pick(b.shape.pipes.n);
        unsigned queue = pick(2) ? QOS_BE + pick(QOS_BE_QUEUES) : pick(QOS_QUEUES);
        uint32_t size = 64 + pick(1459);

        for (unsigned l = 0; l < N_LOOPS; l++) {
            m[l][k] = bed_packet(pipe, queue, size);
            m[l][k]->hash.sched.color = (uint8_t)(l + 1); /* makes no difference */
        }
    }
    for (unsigned l = 0; l < N_LOOPS; l++)
        accepted[l] = sched_enqueue(group[l].s[i], m[l], n);
    EXPECT(accepted[USUAL] == accepted[ALL], "SEED=%u: %u and %u of %u accepted", start,
           accepted[USUAL], accepted[ALL], n);
}

/* What leaves a shard of both is the same. Returns the number of packets. */
static uint32_t leave(unsigned i, uint64_t now)
{
    struct rte_mbuf *m[N_LOOPS][BED_BURST];
    uint32_t most = 1 + pick(BED_BURST), n[N_LOOPS];

    for (unsigned l = 0; l < N_LOOPS; l++)
        n[l] = sched_dequeue_at(group[l].s[i], now, m[l], most);
    EXPECT(n[USUAL] == n[ALL], "SEED=%u: %u and %u leave", start, n[USUAL], n[ALL]);
    for (uint32_t k = 0; k < RTE_MIN(n[USUAL], n[ALL]); k++) {
        const struct rte_mbuf *x = m[USUAL][k], *y = m[ALL][k];

        EXPECT(x->hash.sched.queue_id == y->hash.sched.queue_id && x->pkt_len == y->pkt_len &&
                   x->hash.sched.color == y->hash.sched.color,
               "SEED=%u: path %u and %u leave, %u and %u bytes", start, x->hash.sched.queue_id,
               y->hash.sched.queue_id, x->pkt_len, y->pkt_len);
    }
    for (unsigned l = 0; l < N_LOOPS; l++)
        rte_pktmbuf_free_bulk(m[l], n[l]);
    return n[USUAL];
}

static void one_round(unsigned n)
{
    uint64_t now, left = 0;
    unsigned load, longest;

    seed = start;
    random_shape(n > 0);
    load = 1 + pick(8);
    longest = 1000 << pick(6);
    for (unsigned l = 0; l < N_LOOPS; l++)
        open_group(&group[l], n);
    now = bed_begin();
    for (unsigned l = 0; l < N_LOOPS; l++)
        for (unsigned i = 0; i < RTE_MAX(n, 1u); i++)
            sched_dequeue_at(group[l].s[i], now, NULL, 0);
    for (uint32_t p = 0; p < b.shape.pipes.n; p++) {
        unsigned profile = pick(PROFILES);

        for (unsigned l = 0; l < N_LOOPS; l++)
            for (unsigned i = 0; i < RTE_MAX(n, 1u); i++)
                CU_ASSERT_EQUAL(sched_set_profile(group[l].s[i], p, profile), 0);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = n > 1 ? pick(n) : 0;

        now += pick(longest);
        if (pick(load) == 0)
            arrive(i);
        left += leave(i, now);
    }
    EXPECT(left > 0, "SEED=%u", start);
    for (unsigned i = 0; i < RTE_MAX(n, 1u); i++) {
        struct sched_drops x = sched_drops(group[USUAL].s[i]), y = sched_drops(group[ALL].s[i]);

        EXPECT(x.tail == y.tail && sched_held(group[USUAL].s[i]) == sched_held(group[ALL].s[i]),
               "SEED=%u", start);
    }
    for (unsigned l = 0; l < N_LOOPS; l++)
        close_group(&group[l], n);
    EXPECT(rte_mempool_avail_count(bed_pool) == BED_MBUFS, "SEED=%u: %u mbufs are back", start,
           rte_mempool_avail_count(bed_pool));
}

static void rounds(unsigned shards)
{
    unsigned n = ROUNDS, first = bed_seed(&n);

    for (unsigned i = 0; i < n; i++) {
        start = first + i;
        one_round(shards);
    }
}

static void alone(void)
{
    rounds(0);
}

static void one_shard(void)
{
    rounds(1);
}

static void two_shards(void)
{
    rounds(2);
}

static const struct test tests[] = {
    {"a scheduler without shards", alone},
    {"one shard, subports with rates", one_shard},
    {"two shards, subports with rates", two_shards},
    {NULL, NULL},
};

const struct test_program test_program = {"sched loops", tests, bed_open, bed_close};
