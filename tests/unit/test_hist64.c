/* SPDX-License-Identifier: BSD-3-Clause */
/* The fine histogram: buckets without gaps, percentiles of known numbers within the stated error.
 */
#include <string.h>

#include "base/hist.h"
#include "common/program.h"

#define ERROR (1.0 / 64)

static struct hist64 h, other;

static void buckets(void)
{
    unsigned last = 0;

    for (uint64_t v = 0; v < 1u << 20; v++) {
        unsigned i = hist64_index(v);

        CU_ASSERT_FATAL(i == last || i == last + 1);
        last = i;
    }
    CU_ASSERT_EQUAL(hist64_index(127), 127);
    CU_ASSERT_NOT_EQUAL(hist64_index(128), 127);
    CU_ASSERT_EQUAL(hist64_index(HIST64_MAX), HIST64_BUCKETS - 1);
}

static void nothing(void)
{
    memset(&h, 0, sizeof(h));
    CU_ASSERT_EQUAL(hist64_count(&h), 0);
    CU_ASSERT_EQUAL(hist64_min(&h), 0);
    CU_ASSERT_EQUAL(hist64_percentile(&h, 0.5), 0);
    CU_ASSERT_EQUAL(hist64_mean(&h), 0);
}

/* Each power of two has its own unit, so the error is looked at near all of them. */
static void percentiles(void)
{
    for (uint64_t unit = 1; unit <= 1ull << 26; unit <<= 2) {
        memset(&h, 0, sizeof(h));
        for (uint64_t v = 1; v <= 10000; v++)
            hist64_add(&h, v * unit);
        CU_ASSERT_EQUAL(hist64_count(&h), 10000);
        CU_ASSERT_EQUAL(hist64_min(&h), unit);
        CU_ASSERT_EQUAL(h.max, 10000 * unit);
        CU_ASSERT_DOUBLE_EQUAL(hist64_mean(&h), 5000.5 * (double)unit, 1e-3);
        for (unsigned i = 1; i <= 10000; i++) {
            double exact = (double)i * (double)unit;
            double found = (double)hist64_percentile(&h, i / 10000.0);

            CU_ASSERT_FATAL(found >= exact && found <= exact * (1 + ERROR));
        }
        CU_ASSERT_EQUAL(hist64_percentile(&h, 1), 10000 * unit);
        CU_ASSERT_EQUAL(hist64_percentile(&h, 0), hist64_percentile(&h, 0.0001));
    }
}

/* 99.9 % near 20 us, the rest near 3 ms, in TSC cycles: what an interrupted core does. */
static void bimodal(void)
{
    const unsigned fast = 999000, slow = 1000;

    memset(&h, 0, sizeof(h));
    memset(&other, 0, sizeof(other));
    for (unsigned i = 0; i < fast; i++)
        hist64_add(&h, 52000 + i % 100);
    for (unsigned i = 0; i < slow; i++)
        hist64_add(&other, 7800000 + i);
    hist64_merge(&h, &other);
    CU_ASSERT_EQUAL(hist64_count(&h), 1000000);
    CU_ASSERT_EQUAL(hist64_min(&h), 52000);
    CU_ASSERT_EQUAL(h.max, 7800999);
    CU_ASSERT_DOUBLE_EQUAL(hist64_mean(&h), (52049.5 * fast + 7800499.5 * slow) / 1e6, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(hist64_percentile(&h, 0.5), 52050, 52050 * ERROR);
    CU_ASSERT_DOUBLE_EQUAL(hist64_percentile(&h, 0.999), 52099, 52099 * ERROR);
    CU_ASSERT_DOUBLE_EQUAL(hist64_percentile(&h, 0.999001), 7800000, 7800000 * ERROR);
    CU_ASSERT_DOUBLE_EQUAL(hist64_percentile(&h, 0.9999), 7800899, 7800899 * ERROR);
}

/* A share of a whole count is a whole rank, whatever doubles make of the product. */
static void ranks(void)
{
    memset(&h, 0, sizeof(h));
    for (unsigned v = 1; v <= 100; v++)
        hist64_add(&h, v);
    for (unsigned i = 1; i <= 100; i++)
        CU_ASSERT_EQUAL(hist64_percentile(&h, i / 100.0), i);
}

static void beyond(void)
{
    memset(&h, 0, sizeof(h));
    hist64_add(&h, UINT64_MAX);
    hist64_add(&h, 0);
    CU_ASSERT_EQUAL(h.max, HIST64_MAX);
    CU_ASSERT_EQUAL(hist64_min(&h), 0);
    CU_ASSERT_EQUAL(hist64_count(&h), 2);
    CU_ASSERT_EQUAL(hist64_percentile(&h, 1), HIST64_MAX);
}

static const struct test tests[] = {
    {"buckets have no gaps", buckets},
    {"no numbers", nothing},
    {"percentiles of all magnitudes", percentiles},
    {"two modes", bimodal},
    {"ranks", ranks},
    {"beyond its range", beyond},
    {NULL, NULL},
};

const struct test_program test_program = {"hist64", tests, NULL, NULL};
