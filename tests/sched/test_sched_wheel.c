/* SPDX-License-Identifier: BSD-3-Clause */
/* What is peculiar to the wheel: it agrees with a simple model, keeps priority across
 * subscribers, loses no time, and takes the memory that is said. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/qos_shapes.h"
#include "sched/check.h"
#include "model.h"

#define ROUNDS 20
#define STEPS  100000 /* of 2 us */
#define FRAME  1522

static struct bed b;
static struct model model;
static uint64_t sent[MODEL_PIPES * QOS_QUEUES]; /* by the wheel, bytes */
static unsigned seed, start;                    /* running; SEED that repeats this round */

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static void random_profile(unsigned i)
{
    static const uint64_t rates[] = {64000, 700000, 10000000, 123456789, 1000000000};
    uint64_t rate = rates[pick(5)];
    uint64_t burst = FRAME + rate / 8 / 50000 + pick(40000); /* 20 us late, and nothing is lost */
    struct qos_shape *x = &b.profiles[bed_profile(&b, rate, burst)].shape[QOS_UP];

    for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
        x->weight[q] = (uint8_t)(1 + pick(8));
    for (unsigned n = rate > 1000000 ? pick(3) : 0; n > 0; n--)
        x->class_rate[pick(QOS_CLASSES)] = rate / (2 + pick(4));
    CU_ASSERT_EQUAL(i, b.n_profiles - 1);
}

/* 40 ms of a cap must hold a frame. */
static void random_bed(void)
{
    bed_shape(&b, MODEL_PIPES, 1);
    b.shape.rate = b.subports[0].rate[QOS_UP] = 100000000000;
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        b.shape.class[c].size = c == QOS_BE || pick(2) ? (uint16_t)(1 << pick(8)) : 0;
        b.subports[0].class_rate[c] = b.shape.rate;
    }
    for (unsigned i = 0; i < MODEL_PIPES; i++)
        random_profile(i);
    CU_ASSERT_FATAL(bed_create(&b));
    memset(&model, 0, sizeof(model));
    memset(sent, 0, sizeof(sent));
    model.n_pipes = MODEL_PIPES;
    for (unsigned i = 0; i < MODEL_PIPES; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i), 0);
        model_profile(&model.pipe[i], &b.profiles[i].shape[QOS_UP]);
    }
}

/* To the queue of both; where only one has room, what waits there may leave a moment later. */
static void arrive(unsigned *apart)
{
    unsigned pipe = pick(MODEL_PIPES), queue = pick(QOS_QUEUES), size = 64 + pick(FRAME - 63 - 4);
    unsigned room = b.shape.class[queue < QOS_BE ? queue : QOS_BE].size;
    struct rte_mbuf *m;

    if (room == 0 || rte_mempool_avail_count(bed_pool) == 0)
        return;
    m = bed_packet(pipe, queue, size);
    bool taken = sched_enqueue(b.s, &m, 1) == 1;
    if (model_put(&model.pipe[pipe], queue, size, room) == taken)
        return;
    *apart += 1;
    if (!taken)
        model.pipe[pipe].queue[queue].n--;
    else if (!model_put(&model.pipe[pipe], queue, size, MODEL_QUEUE)) /* it must have it, too */
        CU_FAIL("the model's queue is full");
}

/* Who waits for credit waits until it is enough for the packet that was next, even if a smaller one
 * comes that goes before it: up to a frame is missing, and another in a class with a rate of its
 * own. The wheel's slots make it up to 3.2 us and a step late. All of that is made good. The model
 * waits for a large packet of a class, too, where the wheel had another one next: so it can be
 * behind by as much. */
static bool compare(uint64_t step)
{
    for (unsigned i = 0; i < MODEL_PIPES; i++) {
        const struct model_pipe *p = &model.pipe[i];
        double late = 6e-6 * (double)p->shape->rate / 8, class[QOS_CLASSES] = {0}, apart = 0,
               missing = 0, most = FRAME * (qos_has_caps(&b.shape, p->shape) ? 2 : 1);

        for (unsigned q = 0; q < QOS_QUEUES; q++)
            class[q < QOS_BE ? q : QOS_BE] +=
                (double)p->queue[q].sent - (double)sent[i * QOS_QUEUES + q];
        for (unsigned c = 0; c < QOS_CLASSES; c++) {
            missing += class[c];
            apart = fmax(apart, fabs(class[c]));
        }
        bool good = missing <= most + late && missing >= -most - 1 && apart <= 3 * FRAME + 2 * late;
        EXPECT(good, "SEED=%u step %llu: subscriber %u: %.0f bytes are missing, %.0f in a class",
               start, (unsigned long long)step, i, missing, apart);
        if (!good)
            return false;
    }
    return true;
}

static void agree_once(unsigned *offered, unsigned *apart)
{
    struct rte_mbuf *m[BED_BURST];

    seed = start;
    random_bed();
    unsigned pause = 1 + pick(50), run = 1 + pick(30);
    bool good = true;
    for (uint64_t step = 0; good && step < STEPS; step++) {
        for (unsigned n = step % (pause * run) < run ? pick(4) : 0; n > 0; n--, ++*offered)
            arrive(apart);
        uint64_t before = b.clock;
        uint32_t n = bed_dequeue(&b, m, BED_BURST);
        for (uint32_t i = 0; i < n; i++)
            sent[m[i]->hash.sched.queue_id] += m[i]->pkt_len + BED_FCS;
        rte_pktmbuf_free_bulk(m, n);
        model_step(&model, (double)(b.clock - before) / (double)rte_get_tsc_hz());
        if (n < BED_BURST)
            good = compare(step);
    }
    bed_free(&b);
}

static void agree(void)
{
    unsigned n = ROUNDS, first = bed_seed(&n), offered = 0, apart = 0;

    for (unsigned i = 0; i < n; i++) {
        start = first + i;
        agree_once(&offered, &apart);
    }
    /* of a round with short queues that are always full it may be more: so not of one alone */
    EXPECT(n == 1 || apart < offered / 20, "%u of %u taken by one only", apart, offered);
}

/* Where a subport or the port is the bottleneck, a high class of one subscriber goes before a low
 * one of another, and subports share alike. */
static void priority_across(void)
{
    bed_shape(&b, 4, 2);
    b.shape.rate = 100000000;
    b.shape.class[3].size = 64;
    for (unsigned i = 0; i < 2; i++) {
        b.subports[i].rate[QOS_UP] = i == 0 ? 60000000 : 100000000;
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            b.subports[i].class_rate[c] = b.shape.rate;
    }
    bed_profile(&b, 20000000, bed_burst(20000000));
    bed_profile(&b, 100000000, bed_burst(100000000));
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i % 4 != 0), 0);
        bed_fill(&b, i, i % 4 == 0 ? 3 : QOS_BE, 1000, 64);
    }
    bed_measure(&b, 0.2, 1);
    double high[] = {bed_rate(&b, 0, 3), bed_rate(&b, 4, 3)};
    double low[] = {bed_sum(&b, 1, 3), bed_sum(&b, 5, 3)};
    bed_free(&b);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT(fabs(high[i] / 20000000 - 1) < 0.005, "subport %u, high: %.0f", i, high[i]);
        EXPECT(fabs(low[i] / 30000000 - 1) < 0.02, "subport %u, low: %.0f", i, low[i]);
    }
}

/* While nobody asks, buckets fill up and not more; and only what waited has lost by it. */
static void absence(void)
{
    uint64_t hz = rte_get_tsc_hz();
    struct rte_mbuf *m[64];
    uint32_t n = 0, got;

    bed_shape(&b, 2, 1);
    bed_profile(&b, 1000000, 10000); /* 80 ms */
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    bed_run(&b, 0.2);
    b.clock += hz * 3600;
    bed_dequeue(&b, m, 64);
    CU_ASSERT_EQUAL(sched_lost_cycles(b.s), 0);
    bed_fill(&b, 0, QOS_BE, 1000, 40);
    bed_run(&b, 0);
    b.clock += hz;
    while ((got = bed_dequeue(&b, m + n, 64 - n)) > 0)
        n += got;
    EXPECT(n == 10, "%u packets", n);
    double lost = (double)sched_lost_cycles(b.s) / (double)hz;
    EXPECT(fabs(lost - 0.92) < 0.001, "%.3f s", lost);
    rte_pktmbuf_free_bulk(m, n);
    bed_free(&b);
}

/* Rates at which a packet waits for many rounds of the wheel. */
static void slow(void)
{
    bed_shape(&b, 2, 1);
    bed_profile(&b, 8000, FRAME);
    bed_profile(&b, 1000, FRAME);
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i), 0);
        bed_fill(&b, i, QOS_BE, 1500, 4);
    }
    bed_reset(&b);
    bed_run(&b, 60);
    double got[] = {bed_rate(&b, 0, QOS_BE), bed_rate(&b, 1, QOS_BE)};
    bed_free(&b);
    EXPECT(fabs(got[0] / 8000 - 1) < 1e-4, "%.2f bit/s", got[0]);
    EXPECT(fabs(got[1] / 1000 - 1) < 1e-4, "%.2f bit/s", got[1]);
}

/* The same by the real clock. */
static void real_time(void)
{
    static const uint64_t rates[] = {5000000, 20000000, 50000000, 400000000};

    bed_shape(&b, 4, 1);
    b.real_time = true;
    for (unsigned i = 0; i < 4; i++)
        bed_profile(&b, rates[i], rates[i] / 8 / 20); /* 50 ms */
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i), 0);
        bed_fill(&b, i, QOS_BE, 1000, 64);
    }
    bed_measure(&b, 0.3, 1.5);
    for (unsigned i = 0; i < 4; i++) {
        double got = bed_rate(&b, i, QOS_BE);
        EXPECT(fabs(got / (double)rates[i] - 1) < 0.01, "%llu bit/s came out as %.0f",
               (unsigned long long)rates[i], got);
    }
    bed_free(&b);
}

/* What the scheduler takes from the heap is what its shape says; long queues cost nothing. */
static void memory(void)
{
    static const struct {
        uint32_t pipes, subports;
        uint16_t size;
        unsigned classes;
        enum qos_aqm aqm;
    } c[] = {{1, 1, 1, 1, AQM_TAIL},      {16, 1, 64, 13, AQM_RED},
             {1024, 3, 128, 4, AQM_TAIL}, {4096, 8, 64, 2, AQM_PIE},
             {32768, 1, 64, 4, AQM_RED},  {32768, 1, 1024, 13, AQM_TAIL},
             {32768, 2, 64, 4, AQM_TAIL}, {1, 256, 32768, 3, AQM_TAIL},
             {4096, 8, 64, 2, AQM_CODEL}, {2, 1, 64, 13, AQM_CODEL}};

    for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        static struct cfg_subport subports[256];
        bed_shape(&b, c[i].pipes, 1);
        for (unsigned k = 0; k < c[i].subports; k++)
            subports[k] = b.subports[0];
        b.shape.subports = subports;
        b.shape.n_subports = c[i].subports;
        plain_pipes(&b.shape, c[i].pipes);
        for (unsigned k = 0; k < c[i].classes; k++)
            b.shape.class[QOS_BE - k] = (struct cfg_class){.size = c[i].size,
                                                           .aqm = k == 0 ? c[i].aqm : AQM_TAIL,
                                                           .red_min = 4,
                                                           .red_max = 16,
                                                           .red_inverse_probability = 10,
                                                           .red_weight_log2 = 9,
                                                           .pie_target_ms = 15,
                                                           .pie_update_ms = 15,
                                                           .pie_max_burst_ms = 150,
                                                           .pie_tail = 64,
                                                           .codel_target_us = 5000,
                                                           .codel_interval_us = 100000,
                                                           .codel_active = 4096};
        bed_profile(&b, 10000000, 20000);
        CU_ASSERT_FATAL(bed_create(&b));
        double taken = (double)sched_bytes(b.s), said = (double)qos_sched_bytes(&b.shape, 17);
        EXPECT(fabs(said / taken - 1) < 0.001, "case %u: %.0f bytes; taken: %.0f", i, said, taken);
        bed_free(&b);
    }
}

/* More packets than a queue's own counter holds. */
static void many_packets(void)
{
    const uint32_t bytes = 1000 - BED_FCS, n = (1u << 23) + (1u << 22);
    struct sched_queue_counters c = {0};
    struct rte_mbuf *m[BED_BURST];
    uint32_t got = 0;

    bed_shape(&b, 2, 1);
    bed_profile(&b, 10000000000, 1000000);
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 1, 0), 0);
    bed_fill(&b, 1, QOS_BE, 1000, BED_BURST);
    for (uint32_t left = n - BED_BURST; left > 0; left -= got) {
        got = bed_dequeue(&b, m, RTE_MIN(left, (uint32_t)BED_BURST));
        sched_enqueue(b.s, m, got);
    }
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 1, QOS_BE, &c), 0);
    CU_ASSERT_EQUAL(c.packets, n);
    CU_ASSERT_EQUAL(c.bytes, (uint64_t)n * bytes);
    CU_ASSERT_EQUAL(c.depth, BED_BURST);
    CU_ASSERT_EQUAL(sched_pipe_counters(b.s, 1)->packets, n - BED_BURST);
    CU_ASSERT_EQUAL(sched_pipe_counters(b.s, 1)->bytes, (uint64_t)(n - BED_BURST) * 1000);
    CU_ASSERT_EQUAL(sched_read_queue(b.s, 1, QOS_BE, &c), 0);
    CU_ASSERT_EQUAL(c.packets, n); /* nothing more since */
    bed_free(&b);
}

/* More packets, and more bytes, dropped at a full queue than the queue itself counts. */
static void many_drops(void)
{
    static const uint32_t sizes[] = {64, 9018};

    for (unsigned i = 0; i < RTE_DIM(sizes); i++) {
        struct sched_queue_counters c = {0};
        const uint32_t n = 100000;

        bed_shape(&b, 2, 1);
        b.shape.mtu = 9018;
        bed_profile(&b, 10000000000, 1000000);
        CU_ASSERT_FATAL(bed_create(&b));
        CU_ASSERT_EQUAL(sched_set_profile(b.s, 1, 0), 0);
        bed_fill(&b, 1, QOS_BE, sizes[i], b.shape.class[QOS_BE].size);
        for (uint32_t k = 0; k < n; k++) {
            struct rte_mbuf *m = bed_packet(1, QOS_BE, sizes[i]);

            CU_ASSERT_EQUAL(sched_enqueue(b.s, &m, 1), 0);
            if (k == n / 3)
                CU_ASSERT_EQUAL(sched_read_queue(b.s, 1, QOS_BE, &c), 0);
        }
        CU_ASSERT_EQUAL(sched_read_queue(b.s, 1, QOS_BE, &c), 0);
        CU_ASSERT_EQUAL(c.tail, n);
        CU_ASSERT_EQUAL(c.dropped_bytes, (uint64_t)n * (sizes[i] - BED_FCS));
        CU_ASSERT_EQUAL(c.depth, b.shape.class[QOS_BE].size);
        CU_ASSERT_EQUAL(sched_pipe_counters(b.s, 1)->dropped, n);
        bed_free(&b);
    }
}

/* Take out all, and say of each packet whether it was held back: a letter of "-LF". */
static void say_limited(char *said, unsigned max)
{
    struct rte_mbuf *m[BED_BURST];
    unsigned n = 0;

    while (sched_held(b.s) > 0) {
        uint32_t got = bed_dequeue(&b, m, BED_BURST);

        for (uint32_t i = 0; i < got && n < max; i++)
            said[n++] = "-LF"[m[i]->hash.sched.color];
        rte_pktmbuf_free_bulk(m, got);
    }
    said[n] = 0;
}

/* A packet says whether its subscriber has lacked credit since he had nothing in his queues. */
static void limited(void)
{
    char said[16];

    bed_shape(&b, 2, 1);
    bed_profile(&b, 1000000, FRAME);
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    bed_run(&b, 0.1); /* until the bucket is full */
    bed_fill(&b, 0, QOS_BE, FRAME, 4);
    say_limited(said, 15);
    EXPECT(strcmp(said, "-FLL") == 0, "%s", said);
    bed_run(&b, 0.1);
    bed_fill(&b, 0, QOS_BE, FRAME, 1);
    say_limited(said, 15);
    EXPECT(strcmp(said, "-") == 0, "%s", said);
    bed_free(&b);
}

/* Have queue of a subscriber send alone for so long, and then both as much. Returns how many of the
 * first ten packets of both are the other one's. */
static unsigned after_alone(unsigned queue, unsigned other, unsigned frames)
{
    struct rte_mbuf *m[BED_BURST];
    unsigned n = 0;

    for (unsigned i = 0; i < frames; i++) {
        bed_fill(&b, 0, queue, FRAME, 1);
        CU_ASSERT_EQUAL_FATAL(bed_dequeue(&b, m, 1), 1);
        rte_pktmbuf_free(m[0]);
    }
    bed_fill(&b, 0, queue, FRAME, 10);
    bed_fill(&b, 0, other, FRAME, 10);
    CU_ASSERT_EQUAL_FATAL(bed_dequeue(&b, m, 10), 10);
    for (unsigned i = 0; i < 10; i++)
        n += m[i]->hash.sched.queue_id % QOS_QUEUES == other;
    rte_pktmbuf_free_bulk(m, 10);
    CU_ASSERT_EQUAL_FATAL(bed_dequeue(&b, m, BED_BURST), 10);
    rte_pktmbuf_free_bulk(m, 10);
    return n;
}

/* A best-effort queue that was empty has saved up a frame of its share, and no more, however long
 * that was: what the other one has had counts on and around, in 85 frames once. */
static void after_a_pause(void)
{
    bed_shape(&b, 1, 1);
    bed_profile(&b, 10000000000, 10000000);
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    for (unsigned frames = 1; frames < 200; frames++)
        for (unsigned first = 0; first < 2; first++) {
            unsigned n = after_alone(QOS_BE + 3 * first, QOS_BE + 3 * !first, frames);

            EXPECT(n == 5 || n == 6, "%u frames: %u of 10", frames, n);
        }
    bed_free(&b);
}

/* Subports that have packets of a class, in the order in which they have their turns. */
struct order {
    unsigned subport[QOS_MAX_SUBPORTS], waiting[QOS_MAX_SUBPORTS]; /* waiting: packets of each */
    unsigned head, n;
};

/* Put a packet of a class into each of some subports, from any on, and a second one into some of
 * these. Returns their number. */
static unsigned put_into_some(struct order *o, unsigned class)
{
    unsigned n = 0, part = 1 + pick(32), first = pick(QOS_MAX_SUBPORTS);

    for (unsigned k = 0; k < QOS_MAX_SUBPORTS; k++) {
        unsigned i = (first + k) % QOS_MAX_SUBPORTS,
                 packets = pick(part) == 0 ? 1 + (pick(4) == 0) : 0;

        if (packets > 0 && o->waiting[i] == 0)
            o->subport[(o->head + o->n++) % QOS_MAX_SUBPORTS] = i;
        bed_fill(&b, i, class, 64, packets);
        o->waiting[i] += packets;
        n += packets;
    }
    return n;
}

/* A packet has left. Returns whether it is of the subport whose turn it is. */
static bool is_next(struct order *o, unsigned subport)
{
    if (o->n == 0 || o->subport[o->head] != subport)
        return false;
    if (--o->waiting[subport] == 0) {
        o->head = (o->head + 1) % QOS_MAX_SUBPORTS;
        o->n--;
    }
    return true;
}

/* Subports have their turns one after the other, as they became ready, however many are: all that
 * one has, which is less than a turn, and then the next. And all of them together keep the port's
 * rate. */
static void many_subports(void)
{
    static struct cfg_subport subports[QOS_MAX_SUBPORTS];
    static struct order order[2];
    unsigned n = 1;
    struct rte_mbuf *m[BED_BURST];
    uint64_t bytes = 0, begin;

    seed = bed_seed(&n);
    memset(order, 0, sizeof(order));
    bed_shape(&b, 1, 1);
    b.shape = plain_scheduler(1000000000, subports, QOS_MAX_SUBPORTS, 1);
    b.shape.class[0].size = b.shape.class[QOS_BE].size = 64;
    bed_profile(&b, 1000000000, 1000000);
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < QOS_MAX_SUBPORTS; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, 0), 0);
    begin = b.clock;
    n = 0;
    for (unsigned round = 0; round < 2000; round++) {
        unsigned left = 0; /* packets that wait when others come */

        n += put_into_some(&order[0], 0);
        n += put_into_some(&order[1], QOS_BE);
        left = round % 2 == 0 && n > 0 ? pick(n) : 0;
        while (n > left) {
            unsigned got = bed_dequeue(&b, m, 1 + pick(BED_BURST));

            for (unsigned i = 0; i < got; i++) {
                uint32_t path = m[i]->hash.sched.queue_id;

                CU_ASSERT_FATAL(is_next(&order[path % QOS_QUEUES == QOS_BE], path / QOS_QUEUES));
            }
            rte_pktmbuf_free_bulk(m, got);
            n -= got;
            bytes += got * 64;
        }
        CU_ASSERT_EQUAL(sched_held(b.s), n);
    }
    /* the port's bucket is full at first, which is 4 ms of 80 */
    CU_ASSERT((double)(b.clock - begin) / (double)rte_get_tsc_hz() > 0.9 * (double)bytes * 8 / 1e9);
    bed_free(&b);
}

static const struct test tests[] = {
    {"agreement with a model", agree},
    {"priority across subscribers", priority_across},
    {"absence of the core", absence},
    {"slow rates", slow},
    {"more packets than 2^23", many_packets},
    {"more drops than a queue counts", many_drops},
    {"who was held back", limited},
    {"best effort after a pause", after_a_pause},
    {"rates against the TSC", real_time},
    {"memory", memory},
    {"many subports, one after the other", many_subports},
    {NULL, NULL},
};

const struct test_program test_program = {"sched wheel", tests, bed_open, bed_close};
