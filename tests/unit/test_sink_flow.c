/* SPDX-License-Identifier: BSD-3-Clause */
/* What a sink makes of the numbers of packets: loss, duplicates, reordering, against sequences
 * whose answer is known. */
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "tester/sink_flow.h"

static struct flow f;

static void begin(void)
{
    memset(&f, 0, sizeof(f));
}

static void count(const uint32_t *seq, unsigned n)
{
    begin();
    for (unsigned i = 0; i < n; i++)
        flow_count(&f, seq[i]);
}

#define COUNT(...)                                                                                 \
    do {                                                                                           \
        const uint32_t seq_[] = {__VA_ARGS__};                                                     \
        count(seq_, sizeof(seq_) / sizeof(seq_[0]));                                               \
    } while (0)

static void check(uint64_t lost, uint64_t duplicates, uint64_t reordered, uint64_t late)
{
    CU_ASSERT_EQUAL(flow_lost(&f), lost);
    CU_ASSERT_EQUAL(f.duplicates, duplicates);
    CU_ASSERT_EQUAL(f.reordered, reordered);
    CU_ASSERT_EQUAL(f.late, late);
}

static uint32_t random32(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static void few(void)
{
    COUNT(0, 1, 2, 3);
    check(0, 0, 0, 0);
    COUNT(0, 1, 3);
    check(1, 0, 0, 0);
    COUNT(2, 3);
    check(2, 0, 0, 0); /* what was lost before the first one that came */
    CU_ASSERT_EQUAL(f.first, 2);
    COUNT(0, 0, 1, 1, 1);
    check(0, 3, 0, 0);
    COUNT(0, 1, 4, 2, 2, 4);
    check(1, 2, 1, 0);
    COUNT(3, 2, 1, 0);
    check(0, 0, 3, 0);
    CU_ASSERT_EQUAL(f.first, 0);
}

/* How far a packet is behind the foremost one, in numbers. RFC 4737 section 4.2 counts packets: the
 * same where all numbers between them came before it. */
static void extents(void)
{
    COUNT(0, 2, 1);
    CU_ASSERT_EQUAL(f.extent, 1);
    COUNT(0, 1, 2, 3, 4, 7, 8, 9, 10, 6, 5, 11);
    check(0, 0, 2, 0);
    CU_ASSERT_EQUAL(f.extent, 5); /* of 5: 7 to 10 and 6 came before it */
    for (uint32_t d = 1; d <= 300; d++) {
        begin();
        for (uint32_t i = 0; i < 1000; i++) {
            if (i != 100)
                flow_count(&f, i);
            if (i == 100 + d)
                flow_count(&f, 100);
        }
        check(0, 0, 1, 0);
        CU_ASSERT_EQUAL(f.extent, d);
    }
}

/* 1 in 10^6, at every place in a word of the window; and at both ends. */
static void one_in_a_million(void)
{
    for (uint32_t hole = 0; hole < 66; hole++) {
        begin();
        for (uint32_t i = 0; i < 1000000; i++)
            if (i != 500000 + hole)
                flow_count(&f, i);
        check(1, 0, 0, 0);
        CU_ASSERT_EQUAL(f.next, 1000000);
    }
    begin();
    for (uint32_t i = 1; i < 1000000; i++)
        flow_count(&f, i);
    check(1, 0, 0, 0);
}

static void window(void)
{
    const uint32_t last = 100000, oldest = last + 1 - FLOW_WINDOW;

    for (uint32_t i = 0; i < 64; i++) {
        begin();
        flow_count(&f, last + i); /* all before it are holes */
        check(last + i, 0, 0, 0);
        flow_count(&f, oldest + i);
        check(last + i - 1, 0, 1, 0);
        CU_ASSERT_EQUAL(f.extent, FLOW_WINDOW - 1);
        flow_count(&f, oldest + i);
        check(last + i - 1, 1, 1, 0);
        flow_count(&f, oldest + i - 1); /* too far behind to tell */
        check(last + i - 1, 1, 1, 1);
    }
    begin();
    flow_count(&f, 5);
    flow_count(&f, UINT32_MAX); /* six behind: before 0 */
    check(5, 0, 0, 1);
}

/* Gaps of all lengths, up to several windows: nothing old is taken for something new. */
static void gaps(void)
{
    for (uint32_t gap = 1; gap < 3 * FLOW_BITS; gap += gap < 200 ? 1 : 997) {
        const uint32_t n = 2 * FLOW_BITS + gap % 64, again = n + gap;

        begin();
        for (uint32_t i = 0; i < n; i++)
            flow_count(&f, i);
        flow_count(&f, again);
        check(gap, 0, 0, 0);
        for (uint32_t i = n; i < again; i++)
            if (again + 1 - i <= FLOW_WINDOW)
                flow_count(&f, i); /* none has come before */
        CU_ASSERT_EQUAL(f.duplicates, 0);
        CU_ASSERT_EQUAL(flow_lost(&f), gap > FLOW_WINDOW - 1 ? gap - (FLOW_WINDOW - 1) : 0);
    }
}

static void goes_round(void)
{
    begin();
    for (uint32_t i = 0; i < 1000; i++)
        flow_count(&f, UINT32_MAX - 499 + i);
    CU_ASSERT_EQUAL(f.next, (1ull << 32) + 500);
    CU_ASSERT_EQUAL(f.unique, 1000);
    flow_count(&f, UINT32_MAX);
    CU_ASSERT_EQUAL(f.duplicates, 1);
}

/* Random loss, duplicates and displacement, against a list of all that was sent. */
static void random_sequences(void)
{
    enum { N = 200000 };
    uint32_t *seq = malloc(2 * N * sizeof(seq[0]));
    uint8_t *seen = malloc(N);

    for (unsigned round = 0; round < 10; round++) {
        uint64_t lost = 0, duplicates = 0, reordered = 0;
        uint32_t greatest = 0;
        unsigned n = 0;

        for (uint32_t i = 0; i < N; i++) {
            if (random32() % 100 < 3)
                continue;
            seq[n++] = i;
            if (random32() % 100 < 2)
                seq[n++] = i;
        }
        for (unsigned i = 0; i + 400 < n; i++)
            if (random32() % 50 == 0) {
                unsigned k = i + random32() % 400;
                uint32_t swap = seq[i];

                seq[i] = seq[k];
                seq[k] = swap;
            }
        memset(seen, 0, N);
        for (unsigned i = 0; i < n; i++) {
            duplicates += seen[seq[i]];
            reordered += !seen[seq[i]] && seq[i] < greatest;
            seen[seq[i]] = 1;
            greatest = seq[i] > greatest ? seq[i] : greatest;
        }
        for (uint32_t i = 0; i < greatest; i++)
            lost += !seen[i];
        count(seq, n);
        check(lost, duplicates, reordered, 0);
    }
    free(seq);
    free(seen);
}

static const struct test tests[] = {
    {"few", few},
    {"extents of reordering", extents},
    {"one lost in a million", one_in_a_million},
    {"the window", window},
    {"gaps", gaps},
    {"numbers go round", goes_round},
    {"random sequences", random_sequences},
    {NULL, NULL},
};

const struct test_program test_program = {"numbers of packets", tests, NULL, NULL};
