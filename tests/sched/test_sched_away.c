/* SPDX-License-Identifier: BSD-3-Clause */
/* A core that is taken away for milliseconds: what subscribers have earned meanwhile they get when
 * it is back, up to catch_up, and never at more than 1.5 times their rate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/qos_shapes.h"
#include "flow.h"

#define FRAME      1000
#define LARGEST    1526 /* of a scheduler's mtu, as it counts it */
#define CATCH_UP   20e-3
#define OVERSOLD   4        /* pipes of subport 0, 10 Mbit/s each of its 30 */
#define SUBPORT    30000000 /* bit/s */
#define STEADY     9800000  /* bit/s that come to pipe LIMITED + 3, whose rate is 10M */
#define LIMITED    16       /* the first pipe of subport 1, of 16; all of 0 come before */
#define PORT_DEPTH 4e-3     /* s: what the line may catch up */

static struct bed b;
static unsigned seed;
static double steady_owed; /* packets */

/* What left at a rate. Level and most are those of a bucket that leaks 1.5 times (the port's: once)
 * as fast: no window had more than speed x rate x time + most. */
struct watch {
    const char *what;
    double rate, depth; /* bit/s; bytes that its bucket holds */
    double speed;
    double bytes, lost; /* lost: bytes that it may have lost at most by absences */
    double level, most;
    uint64_t at;
};

enum { PIPE_10M, PIPE_100M, CLASS_20M, PIPE_1M, PIPE_50M, SUBPORT_0, PORT, WATCHES };
static struct watch watch[WATCHES];
static double share[OVERSOLD], weighted[QOS_BE_QUEUES];
static int steady; /* packets that came steadily and have not left */

static void set_up(double catch_up, uint64_t port_rate)
{
    static const struct watch start[WATCHES] = {
        [PIPE_10M] = {"10M", 10e6, 6250, 1.5},
        [PIPE_100M] = {"100M", 100e6, 62500, 1.5},
        [CLASS_20M] = {"a class", 20e6, 100000, 1.5},
        [PIPE_1M] = {"1M", 1e6, 3052, 1.5},
        [PIPE_50M] = {"50M", 50e6, 31250, 1.5},
        [SUBPORT_0] = {"subport", SUBPORT, 64 * LARGEST, 1.5},
        [PORT] = {"port", 0, 0, 1},
    };
    struct qos_shape *x;

    memcpy(watch, start, sizeof(watch));
    memset(share, 0, sizeof(share));
    memset(weighted, 0, sizeof(weighted));
    steady_owed = steady = 0;
    bed_shape(&b, 16, 2);
    b.shape.rate = port_rate;
    watch[PORT].rate = (double)port_rate;
    watch[PORT].depth = PORT_DEPTH * (double)port_rate / 8;
    b.shape.catch_up_ns = (uint64_t)(catch_up * 1e9);
    b.shape.class[3].size = 64;
    plain_subport_rate(&b.subports[0], SUBPORT);
    plain_subport_rate(&b.subports[1], port_rate);
    for (unsigned i = 0; i < 5; i++) {
        const struct watch *w = &watch[i];

        x = &b.profiles[bed_profile(&b, (uint64_t)w->rate, (uint64_t)w->depth)].shape[QOS_UP];
        if (i == PIPE_100M) {
            x->class_rate[3] = (uint64_t)watch[CLASS_20M].rate;
            x->tc_period_ms = 40;
        }
        for (unsigned q = 0; i == PIPE_50M && q < QOS_BE_QUEUES; q++)
            x->weight[q] = (uint8_t)(1 + q);
    }
    CU_ASSERT_FATAL(bed_create(&b));
    for (uint32_t i = 0; i < OVERSOLD; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, PIPE_10M), 0);
        bed_fill(&b, i, QOS_BE, FRAME, 64);
    }
}

/* The pipes of subport 1: one that is always behind for each watch; the last has what comes to it
 * steadily. */
enum { AT_10M = LIMITED, AT_100M, AT_1M, AT_STEADY, AT_50M };

static void fill(void)
{
    static const unsigned profile[] = {PIPE_10M, PIPE_100M, PIPE_1M, PIPE_10M, PIPE_50M};

    for (uint32_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, LIMITED + i, profile[i]), 0);
    bed_fill(&b, AT_10M, QOS_BE, FRAME, 64);
    bed_fill(&b, AT_100M, QOS_BE, FRAME, 64);
    bed_fill(&b, AT_100M, 3, FRAME, 64);
    bed_fill(&b, AT_1M, QOS_BE, FRAME, 64);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        bed_fill(&b, AT_50M, QOS_BE + q, FRAME, 64);
}

static void look(unsigned i)
{
    struct watch *w = &watch[i];
    double passed = (double)(b.clock - w->at) / (double)rte_get_tsc_hz();

    w->level = fmax(0, w->level - w->speed * w->rate / 8 * passed) + FRAME;
    w->most = fmax(w->most, w->level);
    w->bytes += FRAME;
    w->at = b.clock;
}

static void count(const struct rte_mbuf *m)
{
    uint32_t pipe = m->hash.sched.queue_id / QOS_QUEUES,
             queue = m->hash.sched.queue_id % QOS_QUEUES;

    look(PORT);
    if (pipe < OVERSOLD) {
        share[pipe] += FRAME;
        look(SUBPORT_0);
    } else if (pipe == AT_10M) {
        look(PIPE_10M);
    } else if (pipe == AT_100M) {
        look(PIPE_100M);
        if (queue == 3)
            look(CLASS_20M);
    } else if (pipe == AT_1M) {
        look(PIPE_1M);
    } else if (pipe == AT_STEADY) {
        steady--;
    } else {
        weighted[queue - QOS_BE] += FRAME;
        look(PIPE_50M);
    }
}

/* What came steadily in so many seconds. */
static void arrive(double seconds)
{
    for (steady_owed += STEADY / 8.0 / FRAME * seconds; steady_owed >= 1; steady_owed--) {
        bed_fill(&b, AT_STEADY, QOS_BE, FRAME, 1);
        steady++;
    }
}

/* What leaves comes again, but for what comes steadily. */
static void turn(void)
{
    struct rte_mbuf *m[BED_BURST];
    uint64_t before = b.clock;
    uint32_t n = bed_dequeue(&b, m, BED_BURST);

    for (uint32_t i = 0; i < n; i++) {
        count(m[i]);
        if (m[i]->hash.sched.queue_id / QOS_QUEUES == AT_STEADY)
            rte_pktmbuf_free(m[i]);
        else
            sched_enqueue(b.s, &m[i], 1);
    }
    arrive((double)(b.clock - before) / (double)rte_get_tsc_hz());
}

static void run(double seconds)
{
    uint64_t end = b.clock + (uint64_t)(seconds * (double)rte_get_tsc_hz());

    while (b.clock < end)
        turn();
}

static void be_away(double seconds)
{
    b.clock += (uint64_t)(seconds * (double)rte_get_tsc_hz());
    arrive(seconds);
}

/* Seconds, at random. */
static double pick(double least, double most)
{
    return least + (most - least) * ((double)rand_r(&seed) / RAND_MAX);
}

/* After absences of up to some seconds, each rate is as if there had been none, but for what is
 * beyond catch_up and the bucket. */
static void absences(double catch_up, double longest, unsigned n)
{
    double hz = (double)rte_get_tsc_hz();
    uint64_t start = b.clock;

    for (unsigned i = 0; i < WATCHES; i++)
        watch[i].bytes = watch[i].lost = 0;
    for (unsigned k = 0; k < n; k++) {
        double away = pick(1e-3, longest), seconds;

        be_away(away);
        run(pick(60e-3, 90e-3));
        seconds = (double)(b.clock - start) / hz;
        for (unsigned i = 0; i < PORT; i++) {
            struct watch *w = &watch[i];
            double ideal = w->rate / 8 * seconds;

            w->lost += fmax(0, w->rate / 8 * (away - catch_up) - w->depth + LARGEST);
            EXPECT(w->bytes >= ideal - w->lost - 2 * LARGEST, "SEED=%u %s: %.0f of %.0f bytes",
                   seed, w->what, w->bytes, ideal - w->lost);
            EXPECT(w->bytes <= ideal + 2 * LARGEST, "SEED=%u %s: %.0f of %.0f bytes", seed, w->what,
                   w->bytes, ideal);
        }
        EXPECT(steady <= 2 || longest > catch_up, "SEED=%u %d packets still wait", seed, steady);
    }
}

/* No window had more than 1.5 times its rate and a bucket; shares are as they are without
 * absences, but for some frames by which pipes differ after each: their buckets fill up at
 * different times. */
static void judge(void)
{
    for (unsigned i = 0; i < PORT; i++)
        EXPECT(watch[i].most <= watch[i].depth + FRAME, "%s: %.0f bytes beyond 1.5 x its rate",
               watch[i].what, watch[i].most);
    for (unsigned i = 0; i < OVERSOLD; i++)
        EXPECT(fabs(share[i] / share[0] - 1) < 0.005, "share %u: %.0f of %.0f", i, share[i],
               share[0]);
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        EXPECT(fabs(weighted[q] / weighted[0] / (1 + q) - 1) < 0.01, "weight %u: %.4f", q,
               weighted[q] / weighted[0]);
}

static void made_up(void)
{
    unsigned n = 20;

    seed = bed_seed(&n);
    set_up(CATCH_UP, 10000000000);
    fill();
    run(0.5);
    memset(share, 0, sizeof(share));
    memset(weighted, 0, sizeof(weighted));
    absences(CATCH_UP, CATCH_UP, n);
    absences(CATCH_UP, 50e-3, n);
    judge();
    bed_free(&b);
}

/* Without catch_up what a bucket does not hold is lost, which the same senders show. */
static void lost(void)
{
    double seconds;

    set_up(0, 10000000000);
    fill();
    run(0.1);
    seconds = (double)b.clock / (double)rte_get_tsc_hz();
    watch[PIPE_10M].bytes = 0;
    for (unsigned k = 0; k < 10; k++) {
        be_away(15e-3);
        run(85e-3);
    }
    seconds = (double)b.clock / (double)rte_get_tsc_hz() - seconds;
    EXPECT(watch[PIPE_10M].bytes < 0.92 * 10e6 / 8 * seconds, "%.0f bytes", watch[PIPE_10M].bytes);
    EXPECT(steady > 10, "%d packets wait", steady);
    bed_free(&b);
}

/* The port is a wire, on which nothing can be made up for. */
static void wire(void)
{
    set_up(CATCH_UP, 100000000);
    fill();
    run(0.1);
    watch[PORT].level = watch[PORT].most = 0;
    for (unsigned k = 0; k < 10; k++) {
        be_away(pick(1e-3, 50e-3));
        run(60e-3);
    }
    EXPECT(watch[PORT].most <= watch[PORT].depth + BED_BURST * FRAME, "%.0f bytes at once",
           watch[PORT].most);
    bed_free(&b);
}

/* While credit is made up for, a packet's age is still that of the real clock: one that waits for
 * longer than L4S's step is marked. */
static void ages(void)
{
    static struct flow f[2];

    bed_shape(&b, 2, 1);
    b.shape.catch_up_ns = (uint64_t)(CATCH_UP * 1e9);
    b.shape.class[QOS_BE] = (struct cfg_class){.size = 8192,
                                               .aqm = AQM_L4S,
                                               .l4s_target_us = 15000,
                                               .l4s_step_us = 1000,
                                               .l4s_coupling = 2};
    bed_profile(&b, 10000000, 2 * LARGEST);
    CU_ASSERT_FATAL(bed_create(&b));
    for (uint32_t i = 0; i < 2; i++) {
        f[i] = (struct flow){.pipe = i, .queue = QOS_BE, .size = 1000, .pace = 20e6, .scalable = i};
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, 0), 0);
    }
    f[1].pace = 1e3;
    flows_start(&b, f, 2);
    flows_run(&b, f, 2, 50e-3);
    b.clock += (uint64_t)(CATCH_UP * (double)rte_get_tsc_hz());
    f[1].pace = 20e6; /* and gets 15e6 now */
    flows_run(&b, f, 2, 15e-3);
    EXPECT(f[1].longest > 1.5e-3 && f[1].marked > 0, "%llu marked",
           (unsigned long long)f[1].marked);
    bed_free(&b);
}

static const struct test tests[] = {
    {"what an absence took is made up for", made_up},
    {"or lost", lost},
    {"but not on the wire", wire},
    {"ages are real", ages},
    {NULL, NULL},
};

const struct test_program test_program = {"sched away", tests, bed_open, bed_close};
