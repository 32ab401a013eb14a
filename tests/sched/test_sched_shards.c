/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One scheduler on several cores, by an injected clock: whatever the hierarchy, 1, 2, 4, 8 and 16
 * shards give each subport, each of its classes and each subscriber what one scheduler gives, which
 * knows nothing of shards. All shards run on this thread; purse_race has a thread for each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/qos_shapes.h"
#include "sched/shards/shard.h"

#define STEP    2e-6 /* s of the clock, in which each shard is asked once */
#define WARM_UP 0.1
#define SETTLED                                                                                    \
    1.1 /* after which subports have made up for turns that they missed at the start               \
         */
#define SECONDS  1.0
#define ROUNDS   4
#define PIPES    32 /* in each subport */
#define SUBPORTS 4
#define ALL      (PIPES * SUBPORTS)
#define QUEUE    40         /* packets: more than a burst */
#define EXACT    1e-3       /* of a rate */
#define ABOUT    0.03       /* of the port's rate */
#define TURN     (8 * 1526) /* bytes that a subport sends in a turn */
#define SOME     5000       /* bytes: less says nothing of a share */
#define FAIR     0.05 /* of a share, where subscribers come and go; of queues that are always full: */
#define WEIGHTED 0.02

/* A scheduler, or its shards, and what has come out of them. */
struct group {
    unsigned n; /* 0: without shards */
    struct shards *all;
    struct sched *s[SHARDS_MAX];
    uint64_t clock;
    uint64_t bytes[ALL * QOS_QUEUES];
};

static const unsigned counts[] = {1, 2, 4, 8, 16};
static struct bed b; /* the shape and the profiles */
static unsigned profile_of[ALL];
static uint16_t demand[ALL];               /* bit per queue: always full */
static uint32_t size_of[ALL * QOS_QUEUES]; /* of its packets */
static unsigned seed;
static double warm_up = WARM_UP;

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* The shard of a subscriber: as lb spreads ids. A subport that does not lie across is on one. */
static unsigned shard_of(const struct group *g, uint32_t pipe)
{
    uint32_t id = g->n > 0 && shards_across(g->all, pipe / PIPES) ? pipe + 1 : pipe / PIPES;

    return g->n == 0 ? 0 : (unsigned)((uint64_t)(id * 2654435769u) * g->n >> 32);
}

static void put(struct group *g, uint32_t pipe, unsigned queue)
{
    struct rte_mbuf *m = bed_packet(pipe, queue, size_of[pipe * QOS_QUEUES + queue]);

    CU_ASSERT_EQUAL(sched_enqueue(g->s[shard_of(g, pipe)], &m, 1), 1);
}

static void give_profiles(struct group *g)
{
    for (uint32_t p = 0; p < b.shape.n_subports * PIPES; p++) {
        CU_ASSERT_EQUAL(sched_set_profile(g->s[shard_of(g, p)], p, profile_of[p]), 0);
        for (unsigned q = 0; q < QOS_QUEUES; q++)
            for (unsigned i = 0; (demand[p] >> q & 1) != 0 && i < QUEUE; i++)
                put(g, p, q);
    }
}

/* Build a scheduler of n shards, or (0) without, and fill its queues. */
static void open_group(struct group *g, unsigned n, const uint64_t *across)
{
    memset(g, 0, sizeof(*g));
    g->n = n;
    g->all = n > 0 ? shards_create(&b.shape, n, across, -1) : NULL;
    CU_ASSERT_FATAL(n == 0 || g->all != NULL);
    for (unsigned i = 0; i < RTE_MAX(n, 1u); i++)
        g->s[i] = bed_shard(&b, g->all, i);
    g->clock = bed_begin();
    give_profiles(g);
}

static void close_group(struct group *g)
{
    for (unsigned i = 0; i < RTE_MAX(g->n, 1u); i++)
        sched_free(g->s[i]);
    shards_free(g->all);
    EXPECT(rte_mempool_avail_count(bed_pool) == BED_MBUFS, "%u mbufs are back",
           rte_mempool_avail_count(bed_pool));
}

/* Ask a shard once; what leaves comes again at once where its queue is in demand. */
static void ask(struct group *g, unsigned i, uint64_t now)
{
    struct rte_mbuf *m[BED_BURST];
    uint32_t n = sched_dequeue_at(g->s[i], now, m, BED_BURST), again = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t path = m[k]->hash.sched.queue_id;

        g->bytes[path] += m[k]->pkt_len + BED_FCS;
        if ((demand[path / QOS_QUEUES] >> path % QOS_QUEUES & 1) != 0)
            m[again++] = m[k];
        else
            rte_pktmbuf_free(m[k]);
    }
    if (again > 0) /* most calls find nothing to send, 7 * 10^8 of them */
        CU_ASSERT_EQUAL(sched_enqueue(g->s[i], m, again), again);
}

static void run(struct group *g, double seconds)
{
    double hz = (double)rte_get_tsc_hz();
    uint64_t step = (uint64_t)(STEP * hz), end = g->clock + (uint64_t)(seconds * hz);
    unsigned n = RTE_MAX(g->n, 1u);

    for (; g->clock < end; g->clock += step)
        for (unsigned i = 0; i < n; i++)
            ask(g, i, g->clock + step * i / n);
}

static void measure(struct group *g)
{
    run(g, warm_up);
    memset(g->bytes, 0, sizeof(g->bytes));
    run(g, SECONDS);
}

/* Bytes that left pipes in a class (QOS_CLASSES: in all). */
static double sum(const struct group *g, uint32_t first, uint32_t n, unsigned class)
{
    uint64_t bytes = 0;

    for (uint32_t q = first * QOS_QUEUES; q < (first + n) * QOS_QUEUES; q++)
        if (class == QOS_CLASSES || class == RTE_MIN(q % QOS_QUEUES, (uint32_t)QOS_BE))
            bytes += g->bytes[q];
    return (double)bytes;
}

/* --- random hierarchies --- */

static void random_demand(uint32_t pipe)
{
    demand[pipe] = 0;
    if (pick(8) == 0)
        demand[pipe] |= 1;
    if (pick(4) == 0)
        demand[pipe] |= 1 << 5;
    if (pick(4) != 0)
        demand[pipe] |= 1 << (QOS_BE + pick(4));
    if (pick(4) == 0)
        demand[pipe] |= 1 << (QOS_BE + pick(4));
    profile_of[pipe] = pick(b.n_profiles);
    for (unsigned q = 0; q < QOS_QUEUES; q++)
        size_of[pipe * QOS_QUEUES + q] = 400 + pick(1100);
}

/* What may be said of a hierarchy. */
enum kind {
    ONE_SUBPORT, /* across, and the port or it is the bottleneck */
    WHOLE,       /* no subport lies across: each is exact */
    WIDE,        /* subports lie across, and the port has room for all of them */
    NARROW,      /* subports lie across, and the port is too narrow for them */
    KINDS
};

static void random_hierarchy(enum kind kind, uint64_t *across)
{
    unsigned subports = kind == ONE_SUBPORT ? 1 : 2 + pick(SUBPORTS - 1);

    bed_shape(&b, PIPES, subports);
    b.shape.rate = kind == WIDE ? 3000000000 : 400000000 + pick(600000000);
    b.shape.class[0].size = b.shape.class[5].size = 64;
    b.shape.oversubscription = pick(2);
    *across = 0;
    for (unsigned i = 0; i < subports; i++) {
        plain_subport_rate(&b.subports[i],
                           RTE_MIN(150000000 + (uint64_t)pick(400000000), b.shape.rate));
        if (pick(2) != 0)
            b.subports[i].class_rate[pick(2) != 0 ? 5 : QOS_BE] = 60000000 + pick(100000000);
        *across |= (uint64_t)(kind != WHOLE && (kind == ONE_SUBPORT || pick(4) != 0)) << i;
    }
    for (unsigned i = 0; i < 6; i++) {
        unsigned p = bed_profile(&b, i < 3 ? 3000000 << i : 150000000, 30000);

        b.profiles[p].shape[QOS_UP].oversubscription_weight = 1 + pick(4);
    }
    for (uint32_t p = 0; p < subports * PIPES; p++)
        random_demand(p);
}

/* Compare the rates of what left a group with those of one scheduler: within a part of the port's,
 * and so many bytes. */
static void compare_rates(const struct group *g, const struct group *one, double within,
                          double bytes, unsigned round)
{
    unsigned subports = b.shape.n_subports;
    double all = sum(one, 0, subports * PIPES, QOS_CLASSES),
           got = sum(g, 0, subports * PIPES, QOS_CLASSES);

    EXPECT(fabs(got / all - 1) <= EXACT, "SEED=%u, %u shards: %.5f of one in all", round, g->n,
           got / all);
    for (unsigned i = 0; i < subports; i++) {
        double own = sum(one, i * PIPES, PIPES, QOS_CLASSES);

        own = within <= EXACT ? RTE_MAX(own, all / 10) : all;
        for (unsigned c = 0; c <= QOS_CLASSES; c++) {
            double want = sum(one, i * PIPES, PIPES, c);

            got = sum(g, i * PIPES, PIPES, c);
            EXPECT(fabs(got - want) <= within * own + bytes,
                   "SEED=%u, %u shards: subport %u of %u, class %u: %.0f, %.0f of one", round, g->n,
                   i, subports, c, got, want);
        }
    }
}

/* Compare what each subscriber got. */
static void compare_shares(const struct group *g, const struct group *one, unsigned round)
{
    for (uint32_t p = 0; p < b.shape.n_subports * PIPES; p++) {
        double want = sum(one, p, 1, QOS_CLASSES), got = sum(g, p, 1, QOS_CLASSES);

        EXPECT(fabs(got - want) <= FAIR * want + SOME, "SEED=%u, %u shards: pipe %u: %.0f of %.0f",
               round, g->n, p, got, want);
    }
}

/* Compare a hierarchy on so many numbers of shards with one scheduler. */
static void compare_with_one(enum kind kind, unsigned round, const unsigned *shards, unsigned n)
{
    static struct group one, g;
    uint64_t across[QOS_MAX_SUBPORTS / 64] = {0};

    seed = round;
    random_hierarchy(kind, across);
    open_group(&one, 0, NULL);
    measure(&one);
    close_group(&one);
    for (unsigned i = 0; i < n; i++) {
        open_group(&g, shards[i], across);
        measure(&g);
        compare_rates(&g, &one, kind == NARROW ? ABOUT : EXACT, warm_up >= SETTLED ? 2 * TURN : 0,
                      round);
        if (kind != NARROW && (kind != WHOLE || warm_up < SETTLED))
            compare_shares(&g, &one, round);
        close_group(&g);
    }
}

static void random_rounds(enum kind kind)
{
    unsigned rounds = ROUNDS, first = bed_seed(&rounds);

    for (unsigned r = 0; r < rounds; r++)
        compare_with_one(kind, first + r, counts, RTE_DIM(counts));
}

static void one_subport(void)
{
    random_rounds(ONE_SUBPORT);
}

static void whole_subports(void)
{
    random_rounds(WHOLE);
}

static void wide_port(void)
{
    random_rounds(WIDE);
}

static void narrow_port(void)
{
    random_rounds(NARROW);
}

/* A fast subscriber on one shard, which lets slow ones on the other go first whenever they come,
 * does not lose its subport's share by that: in these hierarchies it lost a fifth. */
static void yields_no_share(void)
{
    static const unsigned two = 2, rounds[] = {10, 15, 25};

    for (unsigned i = 0; i < RTE_DIM(rounds); i++)
        compare_with_one(NARROW, rounds[i], &two, 1);
}

/* What a wallet keeps when its credit is given back, less than a cycle, is no credit, and a shard
 * that goes first for a quantum does not send a whole burst. In the first four hierarchies a low
 * class had sent up to 1.6 % of the rate before a high one on another shard, and a subscriber
 * nearly twice its share; in the last one a low class had sent, too. */
static void no_burst_on_nothing(void)
{
    static const unsigned rounds[] = {67, 87, 94, 96};

    for (unsigned i = 0; i < RTE_DIM(rounds); i++)
        compare_with_one(ONE_SUBPORT, rounds[i], counts, RTE_DIM(counts));
    compare_with_one(WHOLE, 62, counts, RTE_DIM(counts));
}

/* In the first second whole subports are some turns apart from one scheduler, for which they make
 * up: 16 at most. That is no drift: after it their rates are as in one, but for the turns at the
 * begin and the end of what is measured. So are subscribers across shards, which are some of their
 * rounds apart while the credit of the beginning lasts: of 20 rounds in a second, up to 5. */
static void settled(void)
{
    static const unsigned whole[] = {21, 27, 47, 49, 52, 65, 67, 71, 83, 99},
                          wide[] = {42, 103, 104};

    warm_up = SETTLED;
    for (unsigned i = 0; i < RTE_DIM(whole); i++)
        compare_with_one(WHOLE, whole[i], counts, RTE_DIM(counts));
    for (unsigned i = 0; i < RTE_DIM(wide); i++)
        compare_with_one(WIDE, wide[i], counts, RTE_DIM(counts));
    warm_up = WARM_UP;
}

/* A turn in which nothing leaves, for the pipe lacks credit of its own, is no round: slow
 * subscribers alone on a shard had got 16 rounds behind the others each time. Nor does a shard that
 * waits for its subport's rate keep credit of a class, which others lack: with 64 a fast subscriber
 * had 1.32 times its share by that. */
static void come_and_go(void)
{
    static const unsigned rounds[] = {38, 60, 64, 70, 87};

    for (unsigned i = 0; i < RTE_DIM(rounds); i++)
        compare_with_one(WIDE, rounds[i], counts, RTE_DIM(counts));
    compare_with_one(ONE_SUBPORT, 43, counts, RTE_DIM(counts));
    compare_with_one(ONE_SUBPORT, 76, counts, RTE_DIM(counts));
}

/* The turn of the pipe at the head of a ring is over; stays: it goes to the end. */
static void end_one_turn(struct wheel *w, bool stays, bool sent)
{
    struct wheel_ring *r = &w->base.class->ring;

    r->head++;
    r->tail += stays;
    shard_end_turns(w, w->base.class, r->head - 1, stays, sent);
}

/* A pass through a ring is one round, also where the ring had been empty and others have come
 * before the first had its turn: it had been two, so that who was fast elsewhere had as many turns.
 * A pass in which nothing leaves is none, as of a pipe whose higher class has his credit. */
static void rounds_of_a_ring(void)
{
    static struct wheel w;
    static struct sched_class_state class;
    static struct sched_class_rest rest;

    w.base.class = &class;
    w.base.rest = &rest;
    class.ring.tail = 3; /* none of them stays */
    for (unsigned i = 0; i < 3; i++)
        end_one_turn(&w, false, true);
    CU_ASSERT_EQUAL(rest.rounds.over, 1);
    class.ring.tail += 2; /* one stays, so that the second round begins with him */
    end_one_turn(&w, true, true);
    CU_ASSERT_EQUAL(rest.rounds.over, 1);
    end_one_turn(&w, false, false);
    CU_ASSERT_EQUAL(rest.rounds.over, 2);
    end_one_turn(&w, true, true);
    end_one_turn(&w, true, true);
    CU_ASSERT_EQUAL(rest.rounds.over, 4);
    end_one_turn(&w, true, false);
    end_one_turn(&w, true, false);
    CU_ASSERT_EQUAL(rest.rounds.over, 4);
    end_one_turn(&w, false, true);
    CU_ASSERT_EQUAL(rest.rounds.over, 5);
}

/* --- what must hold to a quantum --- */

#define RATE 400000000 /* bit/s of the subport */

/* One subport below a wide port; each pipe may have all of it, and has packets in one queue. */
static void plain_hierarchy(unsigned n_pipes, unsigned queue)
{
    bed_shape(&b, PIPES, 1);
    b.shape.class[0].size = b.shape.class[5].size = 64;
    b.shape.oversubscription = true;
    plain_subport_rate(&b.subports[0], RATE);
    for (unsigned i = 0; i < 4; i++) {
        unsigned p = bed_profile(&b, RATE, 30000);

        b.profiles[p].shape[QOS_UP].oversubscription_weight = (uint8_t)(i + 1);
    }
    for (uint32_t p = 0; p < PIPES; p++) {
        demand[p] = p < n_pipes ? (uint16_t)(1u << queue) : 0;
        profile_of[p] = p % 4;
        for (unsigned q = 0; q < QOS_QUEUES; q++)
            size_of[p * QOS_QUEUES + q] = 1000;
    }
}

/* Whatever the shard, a subscriber's share follows its weight. */
static void weights(void)
{
    static struct group g;

    for (unsigned i = 0; i < RTE_DIM(counts); i++) {
        double all, unit;

        plain_hierarchy(22, QOS_BE);
        open_group(&g, counts[i], NULL);
        measure(&g);
        all = sum(&g, 0, PIPES, QOS_CLASSES);
        EXPECT(fabs(all * 8 / SECONDS / RATE - 1) <= EXACT, "%u shards: %.0f bit/s", g.n,
               all * 8 / SECONDS);
        unit = all / (5 * (1 + 2 + 3 + 4) + 1 + 2);
        for (uint32_t p = 0; p < 22; p++)
            EXPECT(fabs(sum(&g, p, 1, QOS_CLASSES) / (unit * (p % 4 + 1)) - 1) <= WEIGHTED,
                   "%u shards: pipe %u: %.3f of its share", g.n, p,
                   sum(&g, p, 1, QOS_CLASSES) / (unit * (p % 4 + 1)));
        close_group(&g);
    }
}

/* A shard whose demand ends leaves its share to others within 200 us. */
static void leaves_its_share(void)
{
    static struct group g;
    uint64_t in_time;

    plain_hierarchy(22, QOS_BE);
    open_group(&g, 2, NULL);
    run(&g, WARM_UP);
    for (uint32_t p = 0; p < 22; p++)
        if (shard_of(&g, p) == 0) {
            demand[p] = 0;
            CU_ASSERT(sched_clear(g.s[0], p) >= 0);
        }
    run(&g, 200e-6);
    memset(g.bytes, 0, sizeof(g.bytes));
    run(&g, 5e-3);
    in_time = (uint64_t)sum(&g, 0, PIPES, QOS_CLASSES);
    EXPECT(in_time + 2000 >= RATE / 8 / 200, "%llu bytes of %u", (unsigned long long)in_time,
           RATE / 8 / 200);
    close_group(&g);
}

/* A packet of a high class on one shard waits for no more than a quantum of lower ones on others.
 */
static void inversion(void)
{
    static struct group g;
    double quantum = RATE / 8 * 100e-6, most = 0;

    plain_hierarchy(22, QOS_BE);
    open_group(&g, 4, NULL);
    for (uint32_t p = 0; p < 22; p++)
        demand[p] = shard_of(&g, p) != 0 ? demand[p] : 0;
    run(&g, WARM_UP);
    seed = 1;
    for (unsigned i = 0; i < 200; i++) {
        uint32_t pipe = 0;

        while (shard_of(&g, pipe) != 0)
            pipe++;
        run(&g, 300e-6 + pick(100) * 1e-6);
        memset(g.bytes, 0, sizeof(g.bytes));
        put(&g, pipe, 0);
        while (sum(&g, pipe, 1, 0) < 1 && sum(&g, 0, PIPES, QOS_BE) < 10 * quantum)
            run(&g, STEP / 2);
        most = RTE_MAX(most, sum(&g, 0, PIPES, QOS_BE));
    }
    EXPECT(most <= quantum + 2 * 1526, "%.0f bytes went before it; a quantum is %.0f", most,
           quantum);
    close_group(&g);
}

/* While the port has room, a subport whose queues run empty with each packet tells other shards of
 * a turn when it is used up, not of each packet: that would have the line go to and fro. */
static void tells_of_turns(void)
{
    enum { PACKETS = 400, TURN_LEAST = 4 };
    static struct group g;
    const struct shards_turns *turns;
    unsigned told = 0;

    plain_hierarchy(0, 0);
    b.shape.n_subports = 2;
    plain_pipes(&b.shape, PIPES);
    plain_subport_rate(&b.subports[1], RATE);
    memset(profile_of, 0, sizeof(profile_of));
    memset(demand, 0, sizeof(demand));
    open_group(&g, 2, NULL);
    turns = shards_turns(g.all, 0, 0);
    for (unsigned i = 0; i < PACKETS; i++) {
        uint64_t was = turns->sent;

        put(&g, 0, 0);
        run(&g, 100e-6);
        told += turns->sent != was;
    }
    EXPECT(told > 0 && told <= PACKETS / TURN_LEAST, "told %u times", told);
    close_group(&g);
}

static const struct test tests[] = {
    {"one subport across shards is as in one scheduler", one_subport},
    {"so are subports that lie whole on shards", whole_subports},
    {"and subports across shards, below a port with room", wide_port},
    {"where the port has none, their rates are nearly", narrow_port},
    {"who lets others go first does not lose its subport's share", yields_no_share},
    {"a class or subscriber sends no burst on credit that it has not", no_burst_on_nothing},
    {"who comes and goes on a shard of its own has its share", come_and_go},
    {"a pass through a ring is a round", rounds_of_a_ring},
    {"neither whole subports nor subscribers across shards drift", settled},
    {"weights hold across shards", weights},
    {"a shard without demand leaves its share", leaves_its_share},
    {"a low class is ahead by a quantum at most", inversion},
    {"while the port has room, turns are told when they are over", tells_of_turns},
    {NULL, NULL},
};

const struct test_program test_program = {"sched shards", tests, bed_open, bed_close};
