/* SPDX-License-Identifier: BSD-3-Clause */
/* The histogram: buckets without gaps, percentiles of known numbers. */
#include <string.h>

#include "base/hist.h"
#include "common/program.h"

static struct hist h, other;

static void test_buckets_have_no_gaps(void)
{
    unsigned last = 0;

    for (uint32_t v = 0; v < 1u << 20; v++) {
        unsigned i = hist_index(v);

        CU_ASSERT_FATAL(i == last || i == last + 1);
        last = i;
    }
    CU_ASSERT(hist_index(15) == 15);
    CU_ASSERT(hist_index(UINT32_MAX) == HIST_BUCKETS - 1);
}

static void test_percentiles(void)
{
    memset(&h, 0, sizeof(h));
    CU_ASSERT(hist_percentile(&h, 0.5) == 0);
    for (uint32_t v = 1; v <= 10000; v++)
        hist_add(&h, v);
    CU_ASSERT(h.count == 10000 && h.max == 10000);
    CU_ASSERT_DOUBLE_EQUAL(hist_mean(&h), 5000.5, 1e-9);
    for (double p = 0.01; p <= 1.0; p += 0.01) {
        double exact = p * 10000, found = hist_percentile(&h, p);

        CU_ASSERT(found >= exact - 1e-6);
        CU_ASSERT(found <= exact * 1.126 + 1);
    }
    CU_ASSERT(hist_percentile(&h, 1) == 10000);
}

/* two modes far apart, one of them rare */
static void test_bimodal(void)
{
    memset(&h, 0, sizeof(h));
    memset(&other, 0, sizeof(other));
    for (unsigned i = 0; i < 9990; i++)
        hist_add(&h, 10);
    for (unsigned i = 0; i < 10; i++)
        hist_add(&other, 1000000);
    hist_merge(&h, &other);
    CU_ASSERT(h.count == 10000);
    CU_ASSERT(hist_percentile(&h, 0.5) == 10);
    CU_ASSERT(hist_percentile(&h, 0.999) == 10);
    CU_ASSERT(hist_percentile(&h, 0.9995) == 1000000);
}

static const struct test tests[] = {
    {"buckets have no gaps", test_buckets_have_no_gaps},
    {"percentiles of 1..10000", test_percentiles},
    {"two modes", test_bimodal},
    {NULL, NULL},
};

const struct test_program test_program = {"hist", tests, NULL, NULL};
