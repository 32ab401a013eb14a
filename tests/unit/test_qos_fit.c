/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library makes of a rate, and what is said about shapes that it cannot do. */
#include "common/program.h"
#include "common/qos_shapes.h"
#include "sched/check.h"
#include "sched/librte/limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEN_GIGABIT 10000000000ull

/* As printed by librte_sched itself (its debug log) for a port of 2.6 GB/s. */
static void fractions(void)
{
    static const struct {
        uint64_t rate, credits, period;
    } c[] = {{8000, 1, 322581},  {8010, 1, 322581},   {8100, 1, 312501},
             {8300, 1, 312501},  {125000, 1, 20791},  {1250000, 1, 2080},
             {1251234, 1, 2078}, {125000000, 5, 104}, {1300000000, 1, 2}};

    for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        struct librte_fraction f = librte_fraction(2600000000, c[i].rate);
        EXPECT(f.credits == c[i].credits && f.period == c[i].period, "%llu: %llu/%llu",
               (unsigned long long)c[i].rate, (unsigned long long)f.credits,
               (unsigned long long)f.period);
    }
    CU_ASSERT_EQUAL(librte_fraction(1000, 1000).period, 1);
    CU_ASSERT_EQUAL(librte_fraction(1000, 1001).period, 0);
    CU_ASSERT_EQUAL(librte_fraction(1000, 0).period, 0);
    /* Below 2e-7 of the port the library would divide by zero. */
    CU_ASSERT_EQUAL(librte_fraction(2600000000, 519).period, 0);
    CU_ASSERT_NOT_EQUAL(librte_fraction(2600000000, 521).period, 0);
}

/* By brute force: no fraction with a smaller denominator lies strictly within the interval. */
static void fractions_are_simplest(void)
{
    for (uint64_t rate = 300; rate < 1000000; rate += 1 + rate / 7) {
        struct librte_fraction f = librte_fraction(1000003, rate);
        uint64_t n = (uint64_t)((double)rate / 1000003 * 1e7);
        uint64_t q = 1, p;
        for (;; q++) {
            p = (n - 1) * q / 10000000 + 1;
            if (p * 10000000 < (n + 1) * q)
                break;
        }
        EXPECT(f.credits == p && f.period == q, "%llu: %llu/%llu, not %llu/%llu",
               (unsigned long long)rate, (unsigned long long)f.credits,
               (unsigned long long)f.period, (unsigned long long)p, (unsigned long long)q);
    }
}

static void fits(void)
{
    static const uint64_t rates[] = {64000,    256000,   1000000,   5000000,
                                     10000000, 50000000, 200000000, 1000000000};
    static const uint64_t hz[] = {1000000000, 1896000000, 2100000000, 2600000000, 3700000000};
    static const uint64_t ports[] = {1000000000, TEN_GIGABIT, 25000000000};

    for (unsigned h = 0; h < 5; h++) {
        for (unsigned p = 0; p < 3; p++) {
            uint64_t clock = librte_fit_clock(hz[h], ports[p], rates, 8);
            uint64_t k = (hz[h] << 8) / clock;
            /* Faster than the port, and no error in the library's own division. */
            EXPECT(clock * 8.0 > ports[p] * 1.01 && clock * 8.0 < ports[p] * 2.1, "%llu",
                   (unsigned long long)clock);
            EXPECT(fabs((double)(hz[h] << 8) / k / clock - 1) < 1e-6, "%llu",
                   (unsigned long long)clock);
            for (unsigned i = 0; i < 8; i++) {
                double got = 0;
                uint64_t in = librte_fit_rate(clock, rates[i], 64, &got);
                struct librte_fraction f = librte_fraction(clock, in);
                EXPECT(fabs(got / rates[i] - 1) < 0.005, "%llu bit/s on %llu: %.1f",
                       (unsigned long long)rates[i], (unsigned long long)ports[p], got);
                EXPECT(fabs(clock * 8.0 * f.credits / f.period / got - 1) < 1e-9, "%.1f", got);
                EXPECT(f.credits <= 64, "%llu at once", (unsigned long long)f.credits);
            }
        }
    }
}

static void impossible_fits(void)
{
    CU_ASSERT_EQUAL(librte_fit_rate(2600000000, 0, 64, NULL), 0);
    CU_ASSERT_EQUAL(librte_fit_rate(2600000000, 2600000001ull * 8, 64, NULL), 0);
    CU_ASSERT_EQUAL(librte_fit_clock(2600000000, UINT64_MAX / 16, NULL, 0), 0);
    /* A slow port gets a clock of at least 1 MHz. */
    CU_ASSERT(librte_fit_clock(2600000000, 480, NULL, 0) >= 1000000);
    CU_ASSERT(librte_fit_clock(2600000000, 480, NULL, 0) < 2100000);
}

static void unbound_periods(void)
{
    for (uint64_t clock = 1000000; clock < 200000000000; clock = clock * 3 / 2) {
        /* As the library computes it, in 64 bits: the ticks wrap, the credits do not. */
        uint64_t ms = librte_unbound_period_ms(clock);
        double ticks = ms * clock / 1000, credits = ms * (clock / 2) / 1000;
        EXPECT(ticks / clock > 59 && ticks / clock < 61.1, "%.3f s", ticks / clock);
        EXPECT(credits / ticks > 100, "%g credits in %g", credits, ticks);
    }
}

static struct cfg_subport subport;

static struct cfg_scheduler good_scheduler(void)
{
    struct cfg_scheduler s;

    subport = (struct cfg_subport){.name = NULL};
    s = plain_scheduler(TEN_GIGABIT, &subport, 1, 32768);
    s.backend = QOS_LIBRTE_SCHED;
    s.class[0].size = 64;
    return s;
}

static struct qos_shape good_shape(void)
{
    return plain_shape(10000000, 20000);
}

/* The only finding about a shape, or about a scheduler. */
static void expect_only(struct qos_finding *f, unsigned n, enum qos_problem p, bool error,
                        unsigned class)
{
    CU_ASSERT_EQUAL(n, 1);
    for (unsigned i = 0; i < n; i++)
        EXPECT(f[i].problem == p && f[i].error == error && f[i].class == class,
               "%s, class %u, instead of %s", qos_problem_text(f[i].problem), f[i].class,
               qos_problem_text(p));
}

#define SHAPE(change, problem, error, class)                                                       \
    do {                                                                                           \
        struct qos_finding found[8];                                                               \
        struct cfg_scheduler s = good_scheduler();                                                 \
        struct qos_shape x = good_shape();                                                         \
        change;                                                                                    \
        expect_only(found, qos_shape_check(&s, 1300000000, &x, found, 8), problem, error, class);  \
    } while (0)

static void shapes(void)
{
    struct qos_finding f[8];
    struct cfg_scheduler good = good_scheduler();
    struct qos_shape p = good_shape();

    CU_ASSERT_EQUAL(qos_shape_check(&good, 1300000000, &p, f, 8), 0);
    SHAPE(x.rate = TEN_GIGABIT + 8; memset(x.class_rate, 0, sizeof(x.class_rate));
          x.class_rate[0] = x.class_rate[QOS_BE] = x.rate;
          x.burst = 1000000, QOS_RATE_ABOVE_PORT, true, 0);
    SHAPE(x.rate = x.class_rate[0] = x.class_rate[QOS_BE] = 400, QOS_RATE_TOO_LOW, true, 0);
    SHAPE(x.rate = x.class_rate[0] = x.class_rate[QOS_BE] = 9000, QOS_RATE_DEVIATES, false, 0);
    SHAPE(x.burst = 1521, QOS_BURST_BELOW_FRAME, true, 0);
    SHAPE(x.burst = 1522, QOS_BURST_SHORT, false, 0);
    SHAPE(x.class_rate[0]++, QOS_CLASS_ABOVE_RATE, true, 0);
    SHAPE(x.class_rate[QOS_BE] = 0; x.tc_period_ms = 1000, QOS_CLASS_ABOVE_RATE, true, QOS_BE);
    SHAPE(x.class_rate[0] = 64000; x.tc_period_ms = 150, QOS_CLASS_BELOW_FRAME, true, 0);
    SHAPE(x.class_rate[0] = 640000; x.tc_period_ms = 150, QOS_CLASS_DEVIATES, false, 0);
    SHAPE(x.class_rate[0] = 9900000; x.tc_period_ms = 122, QOS_CLASS_DEVIATES, false, 0);
    SHAPE(x.class_rate[0] = 5000000; x.tc_period_ms = 0, QOS_PERIOD_ZERO, true, 0);
    SHAPE(x.weight[3] = 0, QOS_WEIGHT_ZERO, true, QOS_BE);
    SHAPE(x.oversubscription_weight = 0, QOS_WEIGHT_ZERO, true, QOS_CLASSES);
    SHAPE(x.weight[3] = 44, QOS_WEIGHTS_TOO_DIFFERENT, true, QOS_BE);
    p.weight[3] = 43;
    CU_ASSERT_EQUAL(qos_shape_check(&good, 1300000000, &p, f, 8), 0);
}

/* What only librte_sched cannot do is right for the wheel; what nobody can is not. */
static void shapes_of_the_wheel(void)
{
#define WHEEL(change, problem, error, class)                                                       \
    SHAPE(s.backend = QOS_WHEEL; change, problem, error, class)
    struct cfg_scheduler wheel = good_scheduler();
    struct qos_shape p = good_shape();
    struct qos_finding f[8];

    wheel.backend = QOS_WHEEL;
    p.weight[0] = 7;
    p.weight[1] = 11;
    p.weight[2] = 13;
    p.weight[3] = 17;
    p.rate = p.class_rate[0] = p.class_rate[QOS_BE] = 9000;
    CU_ASSERT_EQUAL(qos_shape_check(&wheel, 0, &p, f, 8), 0);
    p = good_shape();
    p.class_rate[0] = 640000; /* few frames in a period, but what is left is not lost */
    p.tc_period_ms = 150;
    CU_ASSERT_EQUAL(qos_shape_check(&wheel, 0, &p, f, 8), 0);
    WHEEL(x.rate = x.class_rate[0] = x.class_rate[QOS_BE] = 999, QOS_RATE_TOO_LOW, true, 0);
    WHEEL(x.burst = 1521, QOS_BURST_BELOW_FRAME, true, 0);
    WHEEL(x.class_rate[0] = 64000; x.tc_period_ms = 150, QOS_CLASS_BELOW_FRAME, true, 0);
    WHEEL(x.class_rate[0]++, QOS_CLASS_ABOVE_RATE, true, 0);
    WHEEL(x.class_rate[0] = 5000000; x.tc_period_ms = 0, QOS_PERIOD_ZERO, true, 0);
    WHEEL(x.weight[3] = 0, QOS_WEIGHT_ZERO, true, QOS_BE);
}

#define SCHEDULER(change, problem, class)                                                          \
    do {                                                                                           \
        struct qos_finding found[8];                                                               \
        struct cfg_scheduler s = good_scheduler();                                                 \
        change;                                                                                    \
        expect_only(found, qos_scheduler_check(&s, QOS_UP, found, 8), problem, true, class);       \
    } while (0)

static void schedulers(void)
{
    struct qos_finding f[8];
    struct cfg_scheduler good = good_scheduler();

    CU_ASSERT_EQUAL(qos_scheduler_check(&good, QOS_UP, f, 8), 0);
    SCHEDULER(s.class[3].size = 48, QOS_SIZE_INVALID, 3);
    SCHEDULER(s.class[QOS_BE].size = 0, QOS_BE_UNUSED, QOS_BE);
    SCHEDULER(s.class[0].aqm = AQM_RED, QOS_RED_INVALID, 0);
    SCHEDULER(s.class[0].aqm = AQM_PIE, QOS_PIE_INVALID, 0);
    SCHEDULER(s.pipes.block = 48, QOS_PIPES_INVALID, 0);
    SCHEDULER(s.pipes.block = 0, QOS_PIPES_INVALID, 0);
    SCHEDULER(s.n_subports = 0, QOS_SUBPORTS_INVALID, 0);
    SCHEDULER(s.n_subports = QOS_MAX_SUBPORTS + 1, QOS_SUBPORTS_INVALID, 0);
    SCHEDULER(subport.rate[QOS_UP] = 0, QOS_RATE_ZERO, 0);
    SCHEDULER(subport.rate[QOS_UP]++, QOS_RATE_ABOVE_PORT, 0);
    SCHEDULER(s.rate = 0; subport.rate[QOS_UP] = 0, QOS_RATE_ZERO, QOS_CLASSES);
    SCHEDULER(for (unsigned c = 0; c < QOS_CLASSES; c++) s.class[c].size = 1024, QOS_MEMORY_WRAPS,
              0);
    good.class[0] = (struct cfg_class){.size = 64,
                                       .aqm = AQM_RED,
                                       .red_min = 8,
                                       .red_max = 32,
                                       .red_inverse_probability = 10,
                                       .red_weight_log2 = 9};
    CU_ASSERT_EQUAL(qos_scheduler_check(&good, QOS_UP, f, 8), 0);
    good.class[1] = (struct cfg_class){.size = 64,
                                       .aqm = AQM_PIE,
                                       .pie_target_ms = 15,
                                       .pie_update_ms = 15,
                                       .pie_max_burst_ms = 150,
                                       .pie_tail = 64};
    expect_only(f, qos_scheduler_check(&good, QOS_UP, f, 8), QOS_AQM_MIXED, true, 0);
}

static void memory(void)
{
    struct cfg_scheduler s = good_scheduler();
    double mib = 1 << 20;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        s.class[c].size = c < 3 || c == QOS_BE ? 64 : 0;
    EXPECT(qos_sched_bytes(&s, 64) < 200 * mib, "four classes: %.1f MiB",
           qos_sched_bytes(&s, 64) / mib);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        s.class[c].size = 64;
    EXPECT(fabs(qos_sched_bytes(&s, 64) / mib - 324) < 3, "%.1f MiB",
           qos_sched_bytes(&s, 64) / mib);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        s.class[c].size = 1024;
    CU_ASSERT_EQUAL(qos_sched_bytes(&s, 64), 0);
    plain_pipes(&s, 16384);
    CU_ASSERT_NOT_EQUAL(qos_sched_bytes(&s, 64), 0);
    /* Our own takes as much for long queues as for short ones. */
    s.backend = QOS_WHEEL;
    plain_pipes(&s, 32768);
    uint64_t bytes = qos_sched_bytes(&s, 64);
    EXPECT(bytes < 43 * mib, "%.1f MiB", (double)bytes / mib);
    s.class[3].size = 1;
    CU_ASSERT_EQUAL(qos_sched_bytes(&s, 64), bytes);
    s.class[3].size = 0;
    CU_ASSERT(qos_sched_bytes(&s, 64) < bytes);
}

static const struct test tests[] = {
    {"fractions as the library makes them", fractions},
    {"fractions are the simplest", fractions_are_simplest},
    {"rates and clocks that fit", fits},
    {"rates that cannot be had", impossible_fits},
    {"a period that binds nothing", unbound_periods},
    {"shapes", shapes},
    {"shapes of the wheel", shapes_of_the_wheel},
    {"schedulers", schedulers},
    {"memory", memory},
    {NULL, NULL},
};

const struct test_program test_program = {"qos_fit", tests, NULL, NULL};
