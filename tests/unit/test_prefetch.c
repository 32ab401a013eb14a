/* SPDX-License-Identifier: BSD-3-Clause */
/* How far ahead a processor prefetches: measured on memory of more than its caches, and chosen. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu/prefetch.h"
#include "common/program.h"

#define BURSTS  30u
#define LINES   (PREFETCH_LINES * PREFETCH_PACKETS * BURSTS)
#define APART   2368u /* bytes from one mbuf to the next */
#define PACKETS 16384u

static void chosen(void)
{
    CU_ASSERT_EQUAL(prefetch_step, PREFETCH_NEAR); /* until it is measured */
    CU_ASSERT_EQUAL(prefetch_step_for(0), PREFETCH_NEAR);
    CU_ASSERT_EQUAL(prefetch_step_for(0.5), PREFETCH_FAR);
    CU_ASSERT_EQUAL(prefetch_step_for(0.79), PREFETCH_FAR);
    CU_ASSERT_EQUAL(prefetch_step_for(0.81), PREFETCH_NEAR);
    CU_ASSERT_EQUAL(prefetch_step_for(1.5), PREFETCH_NEAR);
}

static void measured(void)
{
    static const uint8_t *line[LINES];
    uint8_t *memory = malloc((size_t)APART * PACKETS);
    double ratio;

    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    memset(memory, 1, (size_t)APART * PACKETS);
    for (unsigned i = 0; i < LINES; i++) {
        static const uint8_t *mbuf;

        if (i % PREFETCH_LINES == 0)
            mbuf = memory + (size_t)(rand() % PACKETS) * APART;
        line[i] = mbuf + i % PREFETCH_LINES * 256;
    }
    ratio = prefetch_ratio(line, BURSTS);
#ifdef __x86_64__
    EXPECT(ratio > 0 && ratio < 100, "%f\n", ratio);
    CU_ASSERT(prefetch_ratio(line, 2) > 0);
#else
    CU_ASSERT_EQUAL(ratio, 0);
#endif
    CU_ASSERT_EQUAL(prefetch_ratio(line, 1), 0);
    CU_ASSERT_EQUAL(prefetch_ratio(line, 0), 0);
    free(memory);
}

static const struct test tests[] = {
    {"chosen", chosen},
    {"measured", measured},
    {NULL, NULL},
};

const struct test_program test_program = {"prefetch", tests, NULL, NULL};
