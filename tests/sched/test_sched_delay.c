/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue whose length is a time holds that time at each subscriber's own rate, whatever the size
 * of packets and whoever else is there, and after a change of the rate, too. */
#include <math.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/qos_shapes.h"

#define HOLD    5e-3 /* s */
#define WARM_UP 0.2  /* s: half a bucket of 20 ms has left by then */
#define SECONDS 0.3
#define PIPES   8
#define MTU     1518

static struct bed b;

/* A subscriber who is offered twice his rate. */
struct source {
    uint64_t rate; /* bit/s */
    uint32_t size;
    double owed; /* bytes */
    double waited, longest;
    uint64_t packets;
};

static void offer(struct source *s, uint32_t pipe, double seconds)
{
    for (s->owed += (double)s->rate / 4 * seconds; s->owed >= s->size; s->owed -= s->size) {
        struct rte_mbuf *m = bed_packet(pipe, QOS_BE, s->size);

        *rte_pktmbuf_mtod(m, uint64_t *) = b.clock;
        sched_enqueue(b.s, &m, 1);
    }
}

static void leave(struct source *s, bool count)
{
    struct rte_mbuf *m[BED_BURST];
    uint32_t n = bed_dequeue(&b, m, BED_BURST);

    for (uint32_t i = 0; i < n; i++) {
        struct source *from = &s[m[i]->hash.sched.queue_id / QOS_QUEUES];
        double waited = (double)(b.clock - *rte_pktmbuf_mtod(m[i], uint64_t *)) / rte_get_tsc_hz();

        from->waited += count ? waited : 0;
        from->longest = count ? fmax(from->longest, waited) : 0;
        from->packets += count;
    }
    rte_pktmbuf_free_bulk(m, n);
}

static void run(struct source *s, unsigned n, double seconds, bool count)
{
    uint64_t end = b.clock + (uint64_t)(seconds * rte_get_tsc_hz()), before = b.clock;

    while (b.clock < end) {
        leave(s, count);
        for (unsigned i = 0; i < n; i++)
            offer(&s[i], i, (double)(b.clock - before) / rte_get_tsc_hz());
        before = b.clock;
    }
}

/* The standing queue is the time, less what is missing to the next packet, or two frames. */
static void check(const struct source *s, double hold)
{
    double frame = s->size * 8.0 / s->rate, mean = s->waited / s->packets,
           want = fmax(hold, 2 * (MTU + BED_FCS) * 8.0 / s->rate);

    EXPECT(mean <= want + 1e-5 && mean >= want - 2 * frame - 1e-5 && s->longest <= want + 1e-4,
           "%llu bit/s, %u bytes: mean %.3f ms, longest %.3f ms, expected %.3f ms",
           (unsigned long long)s->rate, s->size, 1e3 * mean, 1e3 * s->longest, 1e3 * want);
}

static void measure(struct source *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        s[i] = (struct source){.rate = s[i].rate, .size = s[i].size};
    run(s, n, WARM_UP, false);
    run(s, n, SECONDS, true);
    for (unsigned i = 0; i < n; i++)
        check(&s[i], HOLD);
}

static void build(const struct source *s, unsigned n)
{
    bed_shape(&b, PIPES, 1);
    b.shape.class[QOS_BE] = (struct cfg_class){.size = 16384, .hold_ns = (uint64_t)(HOLD * 1e9)};
    for (unsigned i = 0; i < n; i++)
        bed_profile(&b, s[i].rate, bed_burst(s[i].rate));
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < n; i++)
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, i), 0);
}

/* Slow and fast ones in one scheduler; the slowest has room for two frames. */
static void own_rates(void)
{
    struct source s[] = {{10000000, 1522, .owed = 0},
                         {1000000000, 1522, .owed = 0},
                         {10000000, 64, .owed = 0},
                         {1000000000, 64, .owed = 0},
                         {1000000, 1522, .owed = 0}};

    build(s, 5);
    measure(s, 5);
    bed_free(&b);
}

/* A new profile holds for the queue, too: one that was there, and one that was added. */
static void changed_rate(void)
{
    struct source s[] = {{10000000, 1522, .owed = 0}, {100000000, 1522, .owed = 0}};
    struct qos_shape added = plain_shape(40000000, bed_burst(40000000));

    build(s, 2);
    measure(s, 2);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 1), 0);
    s[0].rate = 100000000;
    int profile = sched_add_profile(b.s, &added);
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 1, (uint32_t)profile), 0);
    s[1].rate = 40000000;
    measure(s, 2);
    bed_free(&b);
}

/* The rate of a class with a cap is the cap. */
static void capped_class(void)
{
    struct source s[] = {{20000000, 1522, .owed = 0}};

    bed_shape(&b, PIPES, 1);
    b.shape.class[QOS_BE] = (struct cfg_class){.size = 16384, .hold_ns = (uint64_t)(HOLD * 1e9)};
    bed_profile(&b, 100000000, bed_burst(100000000));
    b.profiles[0].shape[QOS_UP].class_rate[QOS_BE] = 20000000;
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    measure(s, 1);
    bed_free(&b);
}

/* Reading the counters of a queue leaves what waits. */
static void counters(void)
{
    struct sched_queue_counters c = {0};

    bed_shape(&b, PIPES, 1);
    b.shape.class[QOS_BE] = (struct cfg_class){.size = 64, .hold_ns = (uint64_t)(HOLD * 1e9)};
    bed_profile(&b, 10000000, bed_burst(10000000));
    CU_ASSERT_FATAL(bed_create(&b));
    CU_ASSERT_EQUAL(sched_set_profile(b.s, 0, 0), 0);
    for (unsigned i = 0; i < 3; i++) {
        bed_fill(&b, 0, QOS_BE, 1522, 8);
        CU_ASSERT_EQUAL(sched_read_queue(b.s, 0, QOS_BE, &c), 0);
    }
    CU_ASSERT_EQUAL(c.packets, 4);
    CU_ASSERT_EQUAL(c.bytes, 4 * 1518);
    CU_ASSERT_EQUAL(c.tail, 20);
    CU_ASSERT_EQUAL(c.depth, 4);
    bed_free(&b);
}

static const struct test tests[] = {
    {"a time is a time at each subscriber's rate", own_rates},
    {"and at a new rate", changed_rate},
    {"and at the rate of a class", capped_class},
    {"and counters go on", counters},
    {NULL, NULL},
};

const struct test_program test_program = {"sched delay", tests, bed_open, bed_close};
