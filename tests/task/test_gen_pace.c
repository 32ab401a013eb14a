/* SPDX-License-Identifier: BSD-3-Clause */
/* gen's pace on made-up time: rates, the bound over every window, and what makes Poisson Poisson.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tester/gen_pace.h"

#define HZ    2600000000u
#define BURST 32

static struct gen_pace_spec spec_of(double pps, uint32_t train, bool poisson)
{
    return (struct gen_pace_spec){.pps = pps,
                                  .train = train,
                                  .burst = BURST,
                                  .poisson = poisson,
                                  .seed = 1,
                                  .catch_up = HZ / 1000,
                                  .tsc_hz = HZ};
}

static struct gen_pace make(double pps, uint32_t train, bool poisson)
{
    struct gen_pace_spec spec = spec_of(pps, train, poisson);
    struct gen_pace p;

    memset(&p, 0, sizeof(p));
    CU_ASSERT_PTR_NULL(pace_refusal(&spec));
    pace_init(&p, &spec);
    CU_ASSERT_EQUAL(pace_take(&p, UINT64_MAX / 2, BURST), 0); /* it is off */
    pace_start(&p, 1000);
    return p;
}

/* --- constant --- */

/* Every poll comes after 1..late cycles. The bucket drains at the rate, and whatever the window, no
 * more fits into it than a train and what the rate makes while a poll is late. */
static void check_window(double pps, uint32_t train, uint64_t late)
{
    struct gen_pace p = make(pps, train, false);
    double bucket = 0, drain = pps / HZ, most = p.train + drain * (double)late + 1e-6;
    uint64_t now = 1000, before = now, n = 0, seconds;

    srand(1);
    while (n < 30000 && now < 100ull * HZ) {
        unsigned k = pace_take(&p, now, BURST);

        bucket = fmax(0, bucket - drain * (double)(now - before)) + k;
        if (bucket > most) {
            printf("\n    %g pps train %u: %.1f packets above the rate\n", pps, train, bucket);
            CU_FAIL_FATAL("beyond the burst");
        }
        before = now;
        n += k;
        now += 1 + (uint64_t)rand() % late;
    }
    /* the mean: whole trains, the first of them at the start */
    seconds = now - 1000;
    CU_ASSERT_DOUBLE_EQUAL((double)n, pps * (double)seconds / HZ,
                           p.train + pps * (double)late / HZ + 1);
    CU_ASSERT_EQUAL(pace_missed(&p), 0);
}

static void windows(void)
{
    static const double rates[] = {1, 999.5, 123457, 1e6, 14880952.38};
    static const uint32_t trains[] = {0, 1, 7, 32, 100, 5000};

    for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        for (unsigned k = 0; k < sizeof(trains) / sizeof(trains[0]); k++)
            check_window(rates[i], trains[k], rates[i] < 1000 ? HZ / 1000 : 1500);
}

/* The times of trains themselves: the gap is right to 2^-17 cycles, here 9 in 10^9. */
static void exact(void)
{
    struct gen_pace p = make(3e6, 1, false);

    for (uint64_t i = 0; i < 3000000; i++) {
        uint64_t want = 1000 + i * HZ / 3000000, off = 1 + i / 131072;

        if (pace_next(&p) + off < want || pace_next(&p) > want + off)
            CU_FAIL_FATAL("a train at the wrong time");
        CU_ASSERT_EQUAL(pace_take(&p, pace_next(&p), BURST), 1);
        CU_ASSERT_EQUAL(pace_take(&p, pace_next(&p) - 1, BURST), 0);
    }
}

static void trains(void)
{
    struct gen_pace p = make(1000, 100, false);

    CU_ASSERT_EQUAL(pace_take(&p, 999, BURST), 0);
    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), 32);
    CU_ASSERT_EQUAL(pace_next(&p), 0); /* more of the train at once */
    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), 32);
    CU_ASSERT_EQUAL(pace_take(&p, 1000, 5), 5);
    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), 31);
    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), 0);
    CU_ASSERT_EQUAL(pace_next(&p), 1000 + HZ / 10);
    CU_ASSERT_EQUAL(make(500, 0, false).train, 1);
    CU_ASSERT_EQUAL(make(20000, 0, false).train, 20);
    CU_ASSERT_EQUAL(make(1e7, 0, false).train, BURST);
    CU_ASSERT_EQUAL(make(1e7, 0, true).train, 1);
}

/* What a core that was away for a second sends at once, and what it has missed. */
static void check_stall(bool poisson)
{
    struct gen_pace p = make(1e6, 0, poisson);
    unsigned n = 0, k;

    pace_take(&p, 1000, BURST);
    while ((k = pace_take(&p, 1000 + HZ, BURST)) > 0)
        n += k;
    CU_ASSERT(n >= 850 && n <= 1150); /* a millisecond of the rate */
    CU_ASSERT_DOUBLE_EQUAL((double)pace_missed(&p), 1e6 - 1000, 150);
}

static void stall(void)
{
    check_stall(false);
    check_stall(true);
}

/* --- Poisson --- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void exponential(void)
{
    double worst = 0;

    make(1, 1, true); /* makes the table */
    for (uint64_t i = 0; i < 2000000; i++) {
        /* the smallest and the largest, and numbers of every size */
        uint32_t r = i < 1000   ? (uint32_t)i
                     : i < 2000 ? UINT32_MAX - (uint32_t)(i - 1000)
                                : hash((uint32_t)i) >> i % 32;
        double want = 33 - log2(2.0 * r + 1), got = pace_exponential(r) / 16777216.0;

        worst = fmax(worst, fabs(got - want));
    }
    CU_ASSERT(worst < 3e-6);
}

#define GAPS 200000
#define BINS 50

static double gaps[GAPS];

/* Gaps in units of their mean. Returns that, in cycles. */
static double draw_gaps(struct gen_pace *p)
{
    uint64_t before = pace_next(p);
    double mean = (double)HZ / 1e6;

    for (unsigned i = 0; i < GAPS; i++) {
        CU_ASSERT_EQUAL(pace_take(p, before, 1), 1);
        gaps[i] = (double)(pace_next(p) - before) / mean;
        before = pace_next(p);
    }
    return mean;
}

/* Chi-square over bins of the same probability, and Kolmogorov-Smirnov, both at 0.1 %. */
static void distribution(void)
{
    struct gen_pace p = make(1e6, 1, true);
    unsigned bin[BINS] = {0};
    double chi2 = 0, ks = 0, sum = 0, product = 0, mean = draw_gaps(&p);

    for (unsigned i = 0; i < GAPS; i++) {
        double u = 1 - exp(-(gaps[i] + 0.5 / mean)); /* gaps are whole cycles, rounded down */

        bin[RTE_MIN((unsigned)(u * BINS), BINS - 1u)]++;
        sum += gaps[i];
        if (i > 0)
            product += (gaps[i] - 1) * (gaps[i - 1] - 1);
    }
    for (unsigned i = 0; i < BINS; i++)
        chi2 += pow(bin[i] - (double)GAPS / BINS, 2) / ((double)GAPS / BINS);
    CU_ASSERT(chi2 < 85.35);                                   /* 49 degrees of freedom */
    CU_ASSERT_DOUBLE_EQUAL(sum / GAPS, 1, 0.005);              /* the rate */
    CU_ASSERT_DOUBLE_EQUAL(product / GAPS, 0, 4 / sqrt(GAPS)); /* no gap knows the one before */
    qsort(gaps, GAPS, sizeof(gaps[0]), by_value);
    for (unsigned i = 0; i < GAPS; i++) {
        double u = 1 - exp(-gaps[i]);

        ks = fmax(ks, fmax(fabs(u - (double)i / GAPS), fabs(u - (i + 1.0) / GAPS)));
    }
    CU_ASSERT(ks * sqrt(GAPS) < 1.95);
}

/* Polled late, in bursts: the number of packets in a time has its mean as its variance. */
static void check_counts(double pps, uint64_t late)
{
    struct gen_pace p = make(pps, 1, true);
    uint64_t now = 1000, window = (uint64_t)(100.0 * HZ / pps);
    double sum = 0, squares = 0;
    const unsigned n = 5000;

    srand(1);
    for (unsigned i = 0; i < n; i++) {
        double k = 0;

        for (uint64_t end = 1000 + (i + 1) * window;;) {
            unsigned got = pace_take(&p, now, BURST);

            k += got;
            if (got == BURST)
                continue; /* there is more */
            if (now == end)
                break;
            now = RTE_MIN(now + 1 + (uint64_t)rand() % late, end);
        }
        sum += k;
        squares += k * k;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / n, 100, 0.5);
    CU_ASSERT_DOUBLE_EQUAL((squares / n - pow(sum / n, 2)) / (sum / n), 1, 4 * sqrt(2.0 / n));
    CU_ASSERT_EQUAL(pace_missed(&p), 0);
}

static void counts(void)
{
    check_counts(14880952.38, 2000);
    check_counts(1e6, 5000);
    check_counts(1e4, 200000);
}

static void seeds(void)
{
    struct gen_pace_spec other = spec_of(1e6, 1, true);
    struct gen_pace a = make(1e6, 1, true), b = make(1e6, 1, true), c = a;
    unsigned same = 0;

    other.seed = 2;
    pace_init(&c, &other);
    pace_start(&c, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(pace_next(&a), pace_next(&b));
        same += pace_next(&a) == pace_next(&c);
        pace_take(&a, pace_next(&a), 1);
        pace_take(&b, pace_next(&b), 1);
        pace_take(&c, pace_next(&c), 1);
    }
    CU_ASSERT(same < 10);
}

static void poisson_trains(void)
{
    struct gen_pace p = make(1e6, 5, true);
    double sum = 0;

    for (unsigned i = 0; i < 50000; i++) {
        uint64_t at = pace_next(&p);

        CU_ASSERT_EQUAL(pace_take(&p, at, 5), 5);
        sum += (double)(pace_next(&p) - at);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / 50000, 5.0 * HZ / 1e6, 5.0 * HZ / 1e6 * 0.02);
}

/* --- changes --- */

static void changes(void)
{
    struct gen_pace_spec fast = spec_of(1e6, 1, false), slow = spec_of(0.01, 1, false);
    struct gen_pace p = make(0.01, 1, false);

    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), 1);
    CU_ASSERT_EQUAL(pace_next(&p), 1000 + 100ull * HZ);
    pace_change(&p, &fast, 5000); /* does not wait for the 100 s */
    CU_ASSERT_EQUAL(pace_next(&p), 5000 + HZ / 1000000);
    pace_change(&p, &slow, 5000); /* what was due comes first */
    CU_ASSERT_EQUAL(pace_next(&p), 5000 + HZ / 1000000);
    pace_change(&p, &fast, 5000);
    while (pace_take(&p, 5000 + HZ, BURST) > 0)
        ;
    CU_ASSERT_DOUBLE_EQUAL((double)pace_missed(&p), 1e6 - 1000, 10);
    pace_change(&p, &slow, 5000 + HZ); /* still so many packets */
    CU_ASSERT_DOUBLE_EQUAL((double)pace_missed(&p), 1e6 - 1000, 10);
    pace_stop(&p);
    pace_change(&p, &fast, 5000 + HZ);
    CU_ASSERT_EQUAL(pace_next(&p), PACE_NEVER);
}

/* Of what a pace is switched off before, nothing is lost; what was due before counts as missed,
 * however long ago. */
static void ends(void)
{
    struct gen_pace p = make(1000, 1, false);

    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), 1);
    pace_end(&p, 1000 + HZ / 1000); /* the next is due just then */
    CU_ASSERT_EQUAL(pace_missed(&p), 0);
    CU_ASSERT_EQUAL(pace_next(&p), PACE_NEVER);
    pace_start(&p, HZ);
    pace_end(&p, HZ + 1); /* of which one was due */
    CU_ASSERT_EQUAL(pace_missed(&p), 1);
    pace_start(&p, 2ull * HZ);
    pace_end(&p, 2ull * HZ + HZ / 2);
    CU_ASSERT_EQUAL(pace_missed(&p), 501);

    p = make(1000, 100, false);
    CU_ASSERT_EQUAL(pace_take(&p, 1000, BURST), BURST);
    pace_end(&p, 1000 + HZ / 4); /* the rest of one train, and two trains */
    CU_ASSERT_EQUAL(pace_missed(&p), 268);
    pace_end(&p, UINT64_MAX); /* off already */
    CU_ASSERT_EQUAL(pace_missed(&p), 268);

    p = make(1e6, 1, true);
    pace_end(&p, 1000 + HZ);
    CU_ASSERT_DOUBLE_EQUAL((double)pace_missed(&p), 1e6, 100);
}

static void refusals(void)
{
    struct gen_pace_spec spec = spec_of(0.0009, 1, false);

    CU_ASSERT_PTR_NOT_NULL(pace_refusal(&spec));
    spec = spec_of(0.001, 1, false);
    CU_ASSERT_PTR_NULL(pace_refusal(&spec));
    spec = spec_of(0.001, 1000, false);
    CU_ASSERT_PTR_NOT_NULL(pace_refusal(&spec));
}

static const struct test tests[] = {
    {"no window has more than its share", windows},
    {"trains leave on time", exact},
    {"long trains", trains},
    {"a core that was away", stall},
    {"exponential numbers", exponential},
    {"exponential gaps", distribution},
    {"counts of a Poisson process", counts},
    {"seeds", seeds},
    {"trains at exponential distances", poisson_trains},
    {"changes of rate", changes},
    {"what is missed at an end", ends},
    {"what it refuses", refusals},
    {NULL, NULL},
};

const struct test_program test_program = {"gen_pace", tests, harness_open, harness_close};
