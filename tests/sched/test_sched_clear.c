/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipes are cleared at random moments of random traffic, stay nobody's for a while and come back.
 * What waited is given back and counted, by class; what comes later leaves in order; the others
 * notice nothing. librte_sched cannot clear, and says so: there everything leaves in its time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"

#define ROUNDS      12
#define SECONDS     0.2  /* of traffic in a round */
#define ROUNDS_REAL 4    /* with librte_sched, whose time is real */
#define DRAIN       10.0 /* s after which all that waits has left at the latest: it is 3 Mbit/s */
#define PIPES       8    /* in a subport */
#define SUBPORTS    2
#define PROFILES    4
#define QUEUES      (SUBPORTS * PIPES * QOS_QUEUES)
#define RED_MIN     2
#define STILL       0    /* the pipe of each subport that is never cleared and always has packets */
#define STILL_SIZE  1000 /* bytes */

struct ledger {
    uint64_t offered, refused, sent, bytes, cleared;
};

static struct bed b;
static struct ledger class[SUBPORTS][QOS_CLASSES];
/* Numbers of a queue's packets: the next that comes, that leaves, the first since it was cleared.
 */
static uint32_t next_sent[QUEUES], next_seen[QUEUES], next_new[QUEUES];
static bool used[SUBPORTS * PIPES]; /* somebody's: packets may come */
static unsigned seed, start;        /* running; SEED that repeats this round */

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static struct ledger *ledger_of(uint32_t pipe, unsigned queue)
{
    return &class[pipe / PIPES][queue < QOS_BE ? queue : QOS_BE];
}

/* One numbered packet; a refused one leaves no gap in the numbers. */
static void offer(uint32_t pipe, unsigned queue, uint32_t size)
{
    struct rte_mbuf *m = bed_packet(pipe, queue, size);
    uint32_t q = pipe * QOS_QUEUES + queue, accepted;

    *rte_pktmbuf_mtod(m, uint32_t *) = next_sent[q];
    accepted = sched_enqueue(b.s, &m, 1);
    next_sent[q] += accepted;
    ledger_of(pipe, queue)->offered++;
    ledger_of(pipe, queue)->refused += 1 - accepted;
    /* nobody who comes anew finds RED's average of the one who was there before */
    EXPECT(accepted == 1 || next_sent[q] - next_new[q] >= RED_MIN || queue < QOS_BE ||
               b.shape.class[QOS_BE].aqm != AQM_RED,
           "SEED=%u: queue %u: RED drops one of the first", start, q);
}

static void arrive(void)
{
    unsigned n = pick(16);

    for (unsigned i = 0; i < n; i++) {
        uint32_t pipe = pick(SUBPORTS * PIPES);

        if (used[pipe] && pipe % PIPES != STILL)
            offer(pipe, pick(2) ? QOS_BE + pick(QOS_BE_QUEUES) : pick(QOS_BE), 64 + pick(1455));
    }
}

/* What leaves is of somebody who has packets, in order and none missing. Returns how many. */
static uint32_t leave(void)
{
    struct rte_mbuf *m[BED_BURST];
    uint32_t n = bed_dequeue(&b, m, 1 + pick(BED_BURST));

    for (uint32_t i = 0; i < n; i++) {
        uint32_t q = m[i]->hash.sched.queue_id, pipe = q / QOS_QUEUES;
        uint32_t number = *rte_pktmbuf_mtod(m[i], uint32_t *), bytes = m[i]->pkt_len + BED_FCS;

        EXPECT(used[pipe] || b.real_time, "SEED=%u: from pipe %u, which was cleared", start, pipe);
        EXPECT(number == next_seen[q], "SEED=%u: queue %u: %u, expected %u", start, q, number,
               next_seen[q]);
        next_seen[q] = number + 1;
        ledger_of(pipe, q % QOS_QUEUES)->sent++;
        ledger_of(pipe, q % QOS_QUEUES)->bytes += bytes;
        if (b.bytes[q] == 0 && b.first[q] == 0)
            b.first[q] = bed_now(&b);
        else
            b.bytes[q] += bytes;
        b.last[q] = bed_now(&b);
    }
    rte_pktmbuf_free_bulk(m, n);
    return n;
}

/* All packets that a pipe has waiting, and none else, come back at once; nobody knows of it. */
static void clear_pipe(uint32_t pipe)
{
    uint64_t held = sched_held(b.s), unused = rte_mempool_avail_count(bed_pool);
    int64_t waiting = 0;

    used[pipe] = false;
    if (b.real_time) {
        CU_ASSERT_EQUAL(sched_clear(b.s, pipe), -ENOTSUP);
        CU_ASSERT_EQUAL(sched_held(b.s), held);
        return;
    }
    for (unsigned i = 0; i < QOS_QUEUES; i++) {
        uint32_t q = pipe * QOS_QUEUES + i, n = next_sent[q] - next_seen[q];

        waiting += n;
        ledger_of(pipe, i)->cleared += n;
        next_seen[q] = next_new[q] = next_sent[q];
    }
    int64_t dropped = sched_clear(b.s, pipe);
    EXPECT(dropped == waiting, "SEED=%u: %lld dropped, %lld waited", start, (long long)dropped,
           (long long)waiting);
    CU_ASSERT_EQUAL(sched_held(b.s), held - (uint64_t)waiting);
    CU_ASSERT_EQUAL(rte_mempool_avail_count(bed_pool), unused + (uint64_t)waiting);
    CU_ASSERT_EQUAL(sched_pipe_counters(b.s, pipe)->dropped, 0);
    for (unsigned i = 0; i < QOS_QUEUES; i++) {
        struct sched_queue_counters c = {0};

        CU_ASSERT_EQUAL(sched_read_queue(b.s, pipe, i, &c), 0);
        EXPECT(c.depth == 0 && c.packets == 0 && c.bytes == 0 && c.aqm == 0,
               "SEED=%u: queue %u of pipe %u", start, i, pipe);
    }
}

static void use(uint32_t pipe)
{
    CU_ASSERT_EQUAL(sched_set_profile(b.s, pipe, pick(PROFILES)), 0);
    used[pipe] = true;
    for (unsigned i = 0; i < RED_MIN; i++)
        offer(pipe, QOS_BE, 100);
}

/* One who is somebody's goes, or one who is nobody's comes: at once, or later. */
static void change(void)
{
    uint32_t pipe = pick(SUBPORTS * PIPES);

    if (pipe % PIPES == STILL)
        return;
    if (used[pipe])
        clear_pipe(pipe);
    if (!used[pipe] && pick(2))
        use(pipe);
}

/* Accepted = sent + cleared + held, and offered = accepted + dropped, by class. */
static void check_ledger(void)
{
    uint64_t held = 0;

    for (unsigned i = 0; i < SUBPORTS; i++) {
        for (unsigned k = 0; k < QOS_CLASSES; k++) {
            struct sched_class c = sched_class(b.s, i, k);
            const struct ledger *l = &class[i][k];

            EXPECT(c.accepted == l->offered - l->refused && c.tail + c.aqm == l->refused &&
                       c.sent == l->sent && c.bytes == l->bytes && c.cleared == l->cleared,
                   "SEED=%u: subport %u, class %u", start, i, k);
            held += l->offered - l->refused - l->sent - l->cleared;
        }
    }
    CU_ASSERT_EQUAL(sched_held(b.s), held);
    CU_ASSERT_EQUAL(rte_mempool_avail_count(bed_pool), BED_MBUFS - held);
}

/* Some classes have no queue, some RED or PIE, some a cap; subports have enough for all, or not. */
static void random_shape(bool wide)
{
    bed_shape(&b, PIPES, SUBPORTS);
    for (unsigned c = 0; c < QOS_BE; c++)
        b.shape.class[c].size = pick(3) == 0 ? 1 << pick(5) : 0;
    b.shape.class[QOS_BE] = (struct cfg_class){.size = 16,
                                               .aqm = (enum qos_aqm)pick(3),
                                               .red_min = RED_MIN,
                                               .red_max = 12,
                                               .red_inverse_probability = 4,
                                               .red_weight_log2 = 1,
                                               .pie_target_ms = 15,
                                               .pie_update_ms = 15,
                                               .pie_max_burst_ms = 150,
                                               .pie_tail = 12};
    b.shape.oversubscription = pick(2);
    for (unsigned i = 0; i < SUBPORTS; i++) {
        b.subports[i].rate[QOS_UP] = wide ? 1000000000 : 20000000;
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            b.subports[i].class_rate[c] = b.subports[i].rate[QOS_UP] / (wide ? 1 : 1 + pick(2));
    }
    for (unsigned i = 0; i < PROFILES; i++) {
        uint64_t rate = 3000000 + (i == 0 ? 0 : pick(30000000));
        struct qos_shape *x = &b.profiles[bed_profile(&b, rate, 1522 + pick(20000))].shape[QOS_UP];

        for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
            x->weight[q] = 1 << pick(4);
        if (i != 0 && pick(2))
            x->class_rate[pick(QOS_CLASSES)] = rate / 2;
    }
}

/* A subscriber who is left alone has his rate, to a frame, if his subport has enough for all. */
static void check_still(uint32_t pipe)
{
    uint32_t q = pipe * QOS_QUEUES + QOS_BE;
    double seconds = (double)(b.last[q] - b.first[q]) / rte_get_tsc_hz();
    const struct qos_shape *x = &b.profiles[0].shape[QOS_UP];
    double want = seconds * x->rate / 8, burst = x->burst;

    EXPECT(b.bytes[q] >= want - STILL_SIZE && b.bytes[q] <= want + burst,
           "SEED=%u: pipe %u: %llu bytes in %.3f s, expected %.0f to %.0f", start, pipe,
           (unsigned long long)b.bytes[q], seconds, want - STILL_SIZE, want + burst);
}

static void one_round(void)
{
    seed = start;
    bool wide = pick(2);
    unsigned often = 1 + pick(200);

    random_shape(wide);
    memset(class, 0, sizeof(class));
    memset(next_sent, 0, sizeof(next_sent));
    memset(next_seen, 0, sizeof(next_seen));
    memset(next_new, 0, sizeof(next_new));
    CU_ASSERT_FATAL(bed_create(&b));
    for (uint32_t pipe = 0; pipe < SUBPORTS * PIPES; pipe++) {
        used[pipe] = false;
        if (!b.real_time)
            CU_ASSERT_EQUAL(sched_clear(b.s, pipe), 0); /* never was anybody's */
        use(pipe);
        if (pipe % PIPES == STILL)
            CU_ASSERT_EQUAL(sched_set_profile(b.s, pipe, 0), 0);
    }
    uint64_t end = bed_now(&b) + (uint64_t)(SECONDS * rte_get_tsc_hz());
    for (unsigned turn = 0; bed_now(&b) < end; turn++) {
        for (uint32_t pipe = STILL; pipe < SUBPORTS * PIPES; pipe += PIPES)
            if (next_sent[pipe * QOS_QUEUES + QOS_BE] == next_seen[pipe * QOS_QUEUES + QOS_BE])
                offer(pipe, QOS_BE, STILL_SIZE);
        if (pick(8) == 0)
            arrive();
        leave();
        if (turn % often == 0)
            change();
        if (turn % 512 == 0)
            check_ledger();
    }
    for (uint32_t pipe = STILL; wide && !b.real_time && pipe < SUBPORTS * PIPES; pipe += PIPES)
        check_still(pipe);
    end = bed_now(&b) + (uint64_t)(DRAIN * rte_get_tsc_hz());
    while (sched_held(b.s) > 0 && bed_now(&b) < end)
        leave();
    EXPECT(sched_held(b.s) == 0, "SEED=%u: %llu packets never leave", start,
           (unsigned long long)sched_held(b.s));
    check_ledger();
    CU_ASSERT_EQUAL(memcmp(next_sent, next_seen, sizeof(next_sent)), 0);
    bed_free(&b);
}

static void rounds(void)
{
    unsigned n = bed_backend == QOS_LIBRTE_SCHED ? ROUNDS_REAL : ROUNDS, first = bed_seed(&n);

    for (unsigned i = 0; i < n; i++) {
        start = first + i;
        one_round();
    }
}

static void wrong_pipe(void)
{
    bed_shape(&b, PIPES, SUBPORTS);
    bed_profile(&b, 1000000, 20000);
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_clear(b.s, SUBPORTS * PIPES), b.real_time ? -ENOTSUP : -EINVAL);
    bed_free(&b);
}

static const struct test tests[] = {
    {"cleared under load", rounds},
    {"no such pipe", wrong_pipe},
    {NULL, NULL},
};

const struct test_program test_program = {"sched clear", tests, bed_open, bed_close};
