/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms with a bounded relative error, in memory of a fixed size: each power of two has the
 * same number of buckets. Zeroed memory is an empty histogram. It has one writer; a reader on
 * another core sees each counter as it was at some moment.
 *
 *   hist    32-bit numbers, 8 buckets per power of two (12.5 % wide), exact below 16; 2 KB
 *   hist64  numbers below 2^40, 64 buckets per power of two (1.6 % wide), exact below 128; 18 KB;
 *           for percentiles far out
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

/* --- hist --- */

#define HIST_SUB     3 /* 2^3 buckets per power of two */
#define HIST_BUCKETS ((32 - HIST_SUB) * (1 << HIST_SUB) + (1 << HIST_SUB))

struct hist {
    uint64_t count, sum;
    uint32_t max;
    uint64_t bucket[HIST_BUCKETS];
};

/** The bucket of a number. */
static inline unsigned hist_index(uint32_t v)
{
    unsigned octave;

    if (v < 1u << (HIST_SUB + 1))
        return v;
    octave = 31u - (unsigned)__builtin_clz(v);
    return ((octave - HIST_SUB) << HIST_SUB) + (v >> (octave - HIST_SUB));
}

/** Note n numbers that are in their buckets: their sum, and the greatest of them. */
static inline void hist_note(struct hist *h, uint32_t n, uint64_t sum, uint32_t max)
{
    h->count += n;
    h->sum += sum;
    if (max > h->max)
        h->max = max;
}

/** Count a number. */
static inline void hist_add(struct hist *h, uint32_t v)
{
    h->bucket[hist_index(v)]++;
    hist_note(h, 1, v, v);
}

/** Add the counters of another histogram. */
void hist_merge(struct hist *to, const struct hist *from);

/** The number at or below which the share p (0..1) of all numbers lies, rounded up to the end of
 * its bucket, but at most max. 0 without numbers. */
uint32_t hist_percentile(const struct hist *h, double p);

/** The mean of all numbers; 0 without numbers. */
double hist_mean(const struct hist *h);

/* --- hist64 --- */

#define HIST64_SUB     6  /* 2^6 buckets per power of two */
#define HIST64_BITS    40 /* greater numbers count as the largest one of so many bits */
#define HIST64_BUCKETS ((HIST64_BITS - HIST64_SUB + 1) << HIST64_SUB)
#define HIST64_MAX     ((1ull << HIST64_BITS) - 1)

struct hist64 {
    uint64_t sum, max;
    uint64_t least; /* complement of the smallest number: so 0 stands for none */
    uint64_t bucket[HIST64_BUCKETS];
};

/** The bucket of a number of at most HIST64_MAX. */
static inline unsigned hist64_index(uint64_t v)
{
    unsigned octave;

    if (v < 1u << (HIST64_SUB + 1))
        return (unsigned)v;
    octave = 63u - (unsigned)__builtin_clzll(v);
    return ((octave - HIST64_SUB) << HIST64_SUB) + (unsigned)(v >> (octave - HIST64_SUB));
}

/** Count a number. */
static inline void hist64_add(struct hist64 *h, uint64_t v)
{
    if (__builtin_expect(v > HIST64_MAX, 0))
        v = HIST64_MAX;
    h->sum += v;
    h->max = v > h->max ? v : h->max;
    h->least = ~v > h->least ? ~v : h->least;
    h->bucket[hist64_index(v)]++;
}

/** Add the counters of another histogram. */
void hist64_merge(struct hist64 *to, const struct hist64 *from);

/** How many numbers have been counted. */
uint64_t hist64_count(const struct hist64 *h);

/** The smallest number; 0 without numbers. */
uint64_t hist64_min(const struct hist64 *h);

/** The largest number that falls into a bucket. */
uint64_t hist64_upper_end(unsigned index);

/** The number at or below which the share p (0..1) of all numbers lies, rounded up to the end of
 * its bucket (by up to 1.6 %), but at most max. 0 without numbers. */
uint64_t hist64_percentile(const struct hist64 *h, double p);

/** The mean of all numbers; 0 without numbers. */
double hist64_mean(const struct hist64 *h);

#endif
