/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared rate by itself: what is lent and given back, who goes first, and that many threads
 * together never take more than rate x time + depth, nor less. Built twice, the second time with
 * ThreadSanitizer, and without DPDK for that: purse_race.
 */
#include <pthread.h>
#include <stdlib.h>

#include "common/program.h"
#include "sched/shards/purse.h"

#define START    UINT64_C(1000000000)
#define DEPTH    8000000 /* cycles */
#define QUANTUM  100000
#define PATIENCE 200000
#define THREADS  16
#define TURNS    20000 /* of each thread */
#define STEP     500   /* cycles of the clock with each turn of any thread */

static struct purse p;
static struct peers peers;
static struct wallet wallet[SHARDS_MAX];
static uint64_t again;

static void begin(unsigned n)
{
    purse_start(&p, START);
    peers = (struct peers){.n = n, .patience = PATIENCE};
    for (unsigned i = 0; i < n; i++) {
        wallet[i] = (struct wallet){.purse = &p};
        peers_see(&peers, i, START);
    }
}

static bool borrow(unsigned shard, unsigned class, uint32_t round, uint64_t cycles, uint64_t now)
{
    struct purse_ask ask = {.shard = shard,
                            .class = class,
                            .round = round,
                            .cycles = cycles,
                            .depth = DEPTH,
                            .now = now};

    return wallet_borrow(&wallet[shard], &peers, &ask, &again);
}

static int64_t held(unsigned shard)
{
    return wallet[shard].credit >> BUCKET_PLACES;
}

/* A full purse lends its depth, then what time earns, and says when. */
static void lends(void)
{
    begin(2);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    CU_ASSERT_EQUAL(held(0), DEPTH);
    CU_ASSERT(!borrow(1, 0, 0, QUANTUM, START));
    CU_ASSERT_EQUAL(again, START + QUANTUM);
    CU_ASSERT(!borrow(1, 0, 0, QUANTUM, again - 1));
    CU_ASSERT(borrow(1, 0, 0, QUANTUM, again));
    CU_ASSERT_EQUAL(held(1), QUANTUM);
}

/* What is given back is there for others at once; less than a cycle stays, and so does a debt. */
static void gives_back(void)
{
    begin(2);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    wallet[0].credit -= 5;
    wallet_return(&wallet[0]);
    CU_ASSERT_EQUAL(wallet[0].credit, (1 << BUCKET_PLACES) - 5);
    CU_ASSERT(borrow(1, 0, 0, DEPTH - 1, START));
    wallet[1].credit = -77;
    wallet_return(&wallet[1]);
    CU_ASSERT_EQUAL(wallet[1].credit, -77);
    CU_ASSERT(!borrow(0, 0, 0, 1, START));
}

/* Of those who wait, the highest class goes first, then the earliest round. */
static void goes_first(void)
{
    begin(3);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    CU_ASSERT(!borrow(1, 3, 50, QUANTUM, START));
    CU_ASSERT(!borrow(2, 3, 20, QUANTUM, START));
    CU_ASSERT(!borrow(0, 5, 0, QUANTUM, START + QUANTUM));
    CU_ASSERT(again > START + QUANTUM && again < START + 2 * QUANTUM);
    CU_ASSERT(!borrow(1, 3, 50, QUANTUM, START + QUANTUM));
    CU_ASSERT(borrow(2, 3, 20, QUANTUM, START + QUANTUM));
    CU_ASSERT(wallet_waits_in(&wallet[1], 3) && !wallet_waits_in(&wallet[2], 3));
    CU_ASSERT(borrow(1, 3, 50, QUANTUM, START + 2 * QUANTUM));
    CU_ASSERT(borrow(0, 5, 0, QUANTUM, START + 3 * QUANTUM));
}

/* Rounds count modulo 2^28. */
static void rounds_wrap(void)
{
    begin(2);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    CU_ASSERT(!borrow(1, 3, 0x0ffffff0, QUANTUM, START));
    CU_ASSERT(!borrow(0, 3, 0x00000010, QUANTUM, START + QUANTUM));
    CU_ASSERT(borrow(1, 3, 0x0ffffff0, QUANTUM, START + QUANTUM));
}

/* Who has withdrawn, or has shown no sign of life for long, is not waited for. */
static void not_waited_for(void)
{
    begin(2);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    CU_ASSERT(!borrow(1, 0, 0, QUANTUM, START));
    CU_ASSERT(!borrow(0, 5, 0, QUANTUM, START + PATIENCE));
    CU_ASSERT(borrow(0, 5, 0, QUANTUM, START + PATIENCE + 1));
    peers_see(&peers, 1, START + PATIENCE + 1);
    CU_ASSERT(!borrow(0, 5, 0, QUANTUM, START + 2 * PATIENCE));
    wallet_withdraw(&wallet[1], 1);
    CU_ASSERT(borrow(0, 5, 0, QUANTUM, START + 2 * PATIENCE));
}

/* Credit borrowed for one class goes to a lower one if nobody waits who goes before that. */
static void passes_on(void)
{
    struct purse_ask ask = {.class = 5, .cycles = QUANTUM, .depth = DEPTH, .now = START};

    begin(2);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    CU_ASSERT(wallet_holds(&wallet[0], 0, 1) && !wallet_holds(&wallet[0], 5, 1));
    CU_ASSERT(!borrow(1, 3, 0, QUANTUM, START));
    CU_ASSERT(!wallet_pass(&wallet[0], &peers, &ask, &again));
    CU_ASSERT_EQUAL(wallet[0].credit, 0);
    CU_ASSERT(borrow(1, 3, 0, DEPTH, START));
    CU_ASSERT(borrow(0, 0, 0, QUANTUM, START + QUANTUM));
    ask.now = START + QUANTUM;
    CU_ASSERT(wallet_pass(&wallet[0], &peers, &ask, &again));
    CU_ASSERT(wallet_holds(&wallet[0], 5, 1));
}

/* Who stocks up has as much for any class, and where there is less, nothing, and waits for nothing.
 */
static void stocks_up(void)
{
    struct purse_ask ask = {
        .class = QOS_BE, .cycles = QUANTUM, .depth = DEPTH, .now = START + QUANTUM - 1};

    begin(1);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    CU_ASSERT(!wallet_stock(&wallet[0], &ask));
    CU_ASSERT_EQUAL(held(0), DEPTH);
    CU_ASSERT_EQUAL(p.full_at, START + DEPTH);
    CU_ASSERT(!purse_is_short(&p, &peers));
    CU_ASSERT(!wallet_holds(&wallet[0], QOS_BE, 1));
    ask.now++;
    CU_ASSERT(wallet_stock(&wallet[0], &ask));
    CU_ASSERT_EQUAL(held(0), DEPTH + QUANTUM);
    CU_ASSERT_EQUAL(p.full_at, START + DEPTH + QUANTUM);
    CU_ASSERT(wallet_holds(&wallet[0], QOS_BE, 1));
}

/* A depth that has become smaller bounds what the purse owes. */
static void limits(void)
{
    begin(1);
    CU_ASSERT(borrow(0, 0, 0, DEPTH, START));
    purse_limit(&p, DEPTH / 2, START);
    CU_ASSERT_EQUAL(p.full_at, START + DEPTH / 2);
    purse_limit(&p, DEPTH, START);
    CU_ASSERT_EQUAL(p.full_at, START + DEPTH / 2);
}

/* Who comes back goes on in the others' round, or in its own where that is later, but not by more
 * than is allowed. */
static void joins(void)
{
    begin(1);
    purse_note_round(&p, 3, 100 * PURSE_ROUND);
    CU_ASSERT_EQUAL(purse_join(&p, 3, 5 * PURSE_ROUND, PURSE_ROUND), 100 * PURSE_ROUND);
    CU_ASSERT_EQUAL(purse_join(&p, 3, 101 * PURSE_ROUND, PURSE_ROUND), 101 * PURSE_ROUND);
    CU_ASSERT_EQUAL(purse_join(&p, 3, 105 * PURSE_ROUND, PURSE_ROUND), 101 * PURSE_ROUND);
    CU_ASSERT_EQUAL(purse_join(&p, 3, 105 * PURSE_ROUND, 5 * PURSE_ROUND), 105 * PURSE_ROUND);
}

/* --- threads --- */

static uint64_t clock_now; /* moved on by whoever has a turn, so that a thread that waits for its
                              CPU takes no time */
static uint64_t spent[THREADS];

/* Spend, borrow, pause and give back at random, always with something to send. */
static void *shard(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument, seed = self + 1;
    uint32_t round = 0;

    for (unsigned i = 0; i < TURNS; i++) {
        uint64_t now = __atomic_add_fetch(&clock_now, STEP, __ATOMIC_RELAXED), ask_again;
        unsigned class = (unsigned)rand_r(&seed) % QOS_CLASSES;
        struct purse_ask ask = {.shard = self,
                                .class = class,
                                .round = round += PURSE_ROUND / 8,
                                .cycles = 1 + (unsigned)rand_r(&seed) % QUANTUM,
                                .depth = DEPTH,
                                .now = now};

        peers_see(&peers, self, now);
        if (wallet[self].credit <= 0 && wallet_borrow(&wallet[self], &peers, &ask, &ask_again))
            purse_note_round(&p, class, round);
        else if (i % 8 == 0 && !purse_is_short(&p, &peers))
            wallet_stock(&wallet[self], &ask);
        if (rand_r(&seed) % 16 == 0) {
            wallet_return(&wallet[self]);
            wallet_withdraw(&wallet[self], self);
            round = purse_join(&p, class, round, PURSE_KEEP * PURSE_ROUND);
        } else if (wallet[self].credit > 0) {
            spent[self] += (uint64_t)wallet[self].credit >> BUCKET_PLACES;
            wallet[self].credit = 0;
        }
    }
    wallet_return(&wallet[self]);
    wallet_withdraw(&wallet[self], self);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    uint64_t sum = 0, elapsed = (uint64_t)THREADS * TURNS * STEP;

    begin(THREADS);
    clock_now = START;
    for (unsigned i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, shard, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        sum += spent[i];
        CU_ASSERT_EQUAL(wallet[i].credit, 0);
        CU_ASSERT_EQUAL(p.waits[i], 0);
    }
    EXPECT(sum <= elapsed + DEPTH, "%llu of %llu + %u", (unsigned long long)sum,
           (unsigned long long)elapsed, DEPTH);
    EXPECT(sum >= elapsed / 2, "%llu of %llu", (unsigned long long)sum,
           (unsigned long long)elapsed);
    CU_ASSERT(!is_after(START, p.full_at));
}

static const struct test tests[] = {
    {"a purse lends what there is", lends},
    {"what is given back is there", gives_back},
    {"a higher class, then an earlier round goes first", goes_first},
    {"rounds wrap", rounds_wrap},
    {"who is away is not waited for", not_waited_for},
    {"credit passes on to lower classes", passes_on},
    {"who stocks up waits for nothing", stocks_up},
    {"a smaller depth bounds the debt", limits},
    {"who comes back joins the others", joins},
    {"threads take what there is, and no more", threads},
    {NULL, NULL},
};

const struct test_program test_program = {"purse", tests, NULL, NULL};
