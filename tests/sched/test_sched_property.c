/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random schedulers, profiles and arrivals: whatever happens, every packet is accounted for and
 * nobody gets more than rate x time + burst, over any window of time.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/qos_shapes.h"

#define ROUNDS  10
#define SECONDS 0.4
#define PIPES   32
/* With librte_sched, between a packet's credit and the time at which it is seen lie the length of
 * one call and of what the call before it found out too late; twice that is allowed. */
#define LATE_BURSTS 2

/* rate x time + burst over any window is a bucket that never runs over: it fills with what a
 * subscriber sends and leaks at its rate. */
struct meter {
    double level, rate, size; /* bytes, bytes per TSC cycle, bytes */
    uint64_t time;
};

static struct bed b;
static struct meter pipe_meter[PIPES], subport_meter[8];
static unsigned seed, start; /* running; SEED that repeats this round */

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static bool meter_add(struct meter *m, uint64_t now, uint32_t bytes)
{
    m->level -= m->rate * (now - m->time);
    m->time = now;
    if (m->level < 0)
        m->level = 0;
    m->level += bytes;
    return m->level <= m->size;
}

static void meter_start(struct meter *m, uint64_t rate, double burst)
{
    /* 1 % is what a rate may deviate by; with an injected clock, rounding only. */
    double deviates = b.real_time ? 1.01 : 1 + 1e-6;

    *m = (struct meter){
        .rate = deviates * rate / 8 / rte_get_tsc_hz(), .size = burst + 1, .time = bed_now(&b)};
}

static unsigned random_shape(void)
{
    static const uint64_t rates[] = {64000, 500000, 2000000, 10000000, 77777777, 400000000};
    unsigned subports = 1 + pick(4);
    bool wide =
        pick(2); /* no rates but those of subscribers and the port: the wheel's usual case */
    uint64_t pipes[4];

    bed_shape(&b, PIPES / 4, subports);
    if (bed_backend == QOS_WHEEL) { /* the library knows one size of subports only */
        for (unsigned i = 0; i < subports; i++)
            pipes[i] = 1 + pick(PIPES / 4);
        b.shape.pipes = qos_lay_pipes(&b.shape, pipes, NULL);
    }
    for (unsigned c = 0; c < QOS_BE; c++)
        b.shape.class[c].size = pick(3) == 0 ? 1 << pick(7) : 0;
    b.shape.class[QOS_BE].size = 1 << pick(8);
    b.shape.oversubscription = pick(2);
    for (unsigned i = 0; i < subports; i++)
        plain_subport_rate(&b.subports[i], wide ? b.shape.rate : 10000000 + pick(1000000000));
    for (unsigned i = 0; i < 8; i++) {
        uint64_t rate = rates[pick(6)] * (1 + pick(100) / 50.0);
        unsigned p = bed_profile(&b, rate, 1522 + pick(50000));
        struct qos_shape *x = &b.profiles[p].shape[QOS_UP];
        for (unsigned q = 0; q < QOS_BE_QUEUES; q++)
            x->weight[q] = 1 << pick(4);
        x->oversubscription_weight = 1 + pick(4);
        if (rate > 1000000 && !wide && pick(2))
            x->class_rate[pick(QOS_CLASSES)] = rate / 2;
    }
    return b.shape.pipes.n;
}

/* Allowed on top of rate x time: the bucket; and with librte_sched a frame, and what its clock runs
 * ahead by while all buckets empty at once (it counts sent bytes as time). */
static void start_meters(unsigned n_pipes, const unsigned *profile)
{
    double all = 0, ahead, late = b.real_time ? LATE_BURSTS * 1522 : 0;

    for (unsigned i = 0; i < n_pipes; i++)
        all += b.profiles[profile[i]].shape[QOS_UP].burst;
    ahead = b.real_time ? all * 8 / b.shape.rate + 4e-3 : 0; /* s; and the pacer's slack */
    for (unsigned i = 0; i < n_pipes; i++) {
        const struct qos_shape *x = &b.profiles[profile[i]].shape[QOS_UP];
        meter_start(&pipe_meter[i], x->rate, x->burst + late + x->rate / 8 * ahead);
    }
    for (unsigned i = 0; i < b.shape.n_subports; i++) {
        double rate = b.subports[i].rate[QOS_UP] / 8.0;
        meter_start(&subport_meter[i], b.subports[i].rate[QOS_UP],
                    (rate / 125 > 64 * 1522 ? rate / 125 : 64 * 1522) + late + rate * ahead);
    }
}

struct ledger {
    uint64_t in, accepted, out;
};

static void arrive(struct ledger *l, unsigned n_pipes)
{
    struct rte_mbuf *m[64];
    unsigned n = pick(64), one = pick(n_pipes), alone = pick(2);

    if (rte_mempool_avail_count(bed_pool) < 64)
        return;
    for (unsigned i = 0; i < n; i++)
        m[i] = bed_packet(alone ? one : pick(n_pipes), pick(QOS_QUEUES), 64 + pick(1459));
    l->in += n;
    l->accepted += sched_enqueue(b.s, m, n);
}

static void allow(uint64_t cycles)
{
    for (unsigned i = 0; i < PIPES; i++)
        pipe_meter[i].size += pipe_meter[i].rate * cycles;
    for (unsigned i = 0; i < 8; i++)
        subport_meter[i].size += subport_meter[i].rate * cycles;
}

static void leave(struct ledger *l)
{
    struct rte_mbuf *m[64];
    uint64_t before = bed_now(&b);
    uint32_t n = bed_dequeue(&b, m, 1 + pick(64));

    /* The library looks at its clock somewhere between these two. When this thread was kept away
     * there, nobody can tell what had been earned by then: allow for either. */
    uint64_t now = bed_now(&b);
    if (b.real_time && now - before > rte_get_tsc_hz() / 2000)
        allow(now - before);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pipe = m[i]->hash.sched.queue_id / QOS_QUEUES, len = m[i]->pkt_len + BED_FCS;
        EXPECT(meter_add(&pipe_meter[pipe], now, len), "SEED=%u: subscriber %u: %.0f over %.0f",
               start, pipe, pipe_meter[pipe].level, pipe_meter[pipe].size);
        struct meter *s = &subport_meter[qos_subport_of(&b.shape, pipe)];
        EXPECT(meter_add(s, now, len), "SEED=%u: subport: %.0f over %.0f", start, s->level,
               s->size);
    }
    rte_pktmbuf_free_bulk(m, n);
    l->out += n;
}

/* A class of a subport has counted what the queues of its pipes have. Returns what they have. */
static struct sched_queue_counters check_class(uint32_t subport, unsigned class, uint64_t *depth)
{
    struct sched_class c = sched_class(b.s, subport, class);
    uint32_t first = b.subports[subport].first;
    unsigned last_queue = class == QOS_BE ? QOS_QUEUES - 1 : class;
    struct sched_queue_counters sum = {0};
    uint64_t waiting = 0;

    for (uint32_t p = first; p < first + b.subports[subport].pipes; p++) {
        for (unsigned q = class; q <= last_queue; q++) {
            CU_ASSERT_EQUAL(sched_read_queue(b.s, p, q, &sum), 0);
            waiting += sum.depth;
        }
    }
    EXPECT(c.accepted == sum.packets && c.accepted - c.sent == waiting && c.aqm == sum.aqm,
           "SEED=%u: subport %u, class %u", start, subport, class);
    /* the wheel has one counter of drops for all queues that a subscriber does not have */
    EXPECT(b.shape.class[class].size == 0 || c.tail == sum.tail, "SEED=%u: subport %u, class %u",
           start, subport, class);
    *depth += waiting;
    return sum;
}

static void check_counters(const struct ledger *l)
{
    uint64_t packets = 0, tail = 0, depth = 0, by_pipe = 0;

    for (uint32_t p = 0; p < b.shape.pipes.n; p++)
        by_pipe += sched_pipe_counters(b.s, p)->dropped;
    for (uint32_t i = 0; i < b.shape.n_subports; i++) {
        for (unsigned c = 0; c < QOS_CLASSES; c++) {
            struct sched_queue_counters sum = check_class(i, c, &depth);

            packets += sum.packets;
            tail += sum.tail;
        }
    }
    EXPECT(l->in == l->out + sched_drops(b.s).tail + sched_held(b.s), "SEED=%u", start);
    EXPECT(packets == l->accepted && tail == l->in - l->accepted, "SEED=%u", start);
    EXPECT(by_pipe == tail || !sched_knows_drops(b.s), "SEED=%u: %llu dropped, by pipe %llu", start,
           (unsigned long long)tail, (unsigned long long)by_pipe);
    EXPECT(depth == sched_held(b.s), "SEED=%u: %llu queued, %llu held", start,
           (unsigned long long)depth, (unsigned long long)sched_held(b.s));
}

/* Nobody is forgotten: without arrivals all that waits leaves, with an injected clock. */
static void run_empty(struct ledger *l)
{
    struct rte_mbuf *m[64];
    uint32_t n;

    for (unsigned steps = 0; sched_held(b.s) > 0 && steps < 100000; steps++) {
        b.clock += rte_get_tsc_hz() / 100;
        while ((n = bed_dequeue(&b, m, 64)) > 0) {
            rte_pktmbuf_free_bulk(m, n);
            l->out += n;
        }
    }
    EXPECT(sched_held(b.s) == 0, "SEED=%u: %llu wait for ever", start,
           (unsigned long long)sched_held(b.s));
}

static void one_round(void)
{
    unsigned profile[PIPES];
    struct ledger l = {0};

    seed = start;
    unsigned n_pipes = random_shape(), load = 1 + pick(20);
    CU_ASSERT_FATAL(bed_create(&b));
    for (unsigned i = 0; i < n_pipes; i++) {
        profile[i] = pick(8);
        CU_ASSERT_EQUAL(sched_set_profile(b.s, i, profile[i]), 0);
    }
    start_meters(n_pipes, profile);
    uint64_t end = bed_now(&b) + (uint64_t)(SECONDS * rte_get_tsc_hz());
    while (bed_now(&b) < end) {
        if (pick(load) == 0)
            arrive(&l, n_pipes);
        leave(&l);
        CU_ASSERT_EQUAL(sched_held(b.s), l.accepted - l.out);
    }
    EXPECT(l.out > 0, "SEED=%u", start);
    if (!b.real_time)
        run_empty(&l);
    check_counters(&l);
    bed_free(&b);
}

static void rounds(void)
{
    unsigned n = ROUNDS, first = bed_seed(&n);

    for (unsigned i = 0; i < n; i++) {
        start = first + i;
        one_round();
    }
}

static const struct test tests[] = {
    {"conservation, and never more than rate and burst", rounds},
    {NULL, NULL},
};

const struct test_program test_program = {"sched property", tests, bed_open, bed_close};
