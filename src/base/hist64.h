/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of numbers below 2^40 with a small relative error, for percentiles far out: 64
 * buckets per power of two, so 1/64 (1.6 %) wide, exact below 128. It takes 18 KB. One writer; a
 * reader on another core sees each counter as it was at some moment.
 */
#ifndef BASE_HIST64_H
#define BASE_HIST64_H

#include <stdint.h>

#define HIST64_SUB     6  /* 2^6 buckets per power of two */
#define HIST64_BITS    40 /* greater numbers cannot be told apart: they count as the largest */
#define HIST64_BUCKETS ((HIST64_BITS - HIST64_SUB + 1) << HIST64_SUB)
#define HIST64_MAX     ((1ull << HIST64_BITS) - 1)

struct hist64 {
    uint64_t sum, max;
    uint64_t least; /* complement of the smallest number, so that zeroed memory is an empty one */
    uint64_t bucket[HIST64_BUCKETS];
};

static inline unsigned hist64_index(uint64_t v)
{
    unsigned octave;

    if (v < 1u << (HIST64_SUB + 1))
        return (unsigned)v;
    octave = 63u - (unsigned)__builtin_clzll(v);
    return ((octave - HIST64_SUB) << HIST64_SUB) + (unsigned)(v >> (octave - HIST64_SUB));
}

static inline void hist64_add(struct hist64 *h, uint64_t v)
{
    if (__builtin_expect(v > HIST64_MAX, 0))
        v = HIST64_MAX;
    h->sum += v;
    h->max = v > h->max ? v : h->max;
    h->least = ~v > h->least ? ~v : h->least;
    h->bucket[hist64_index(v)]++;
}

/** Add the counters of another. */
void hist64_merge(struct hist64 *to, const struct hist64 *from);

uint64_t hist64_count(const struct hist64 *h);

/** The smallest number; 0 if there are none. */
uint64_t hist64_min(const struct hist64 *h);

/** The largest number that falls into a bucket. */
uint64_t hist64_upper_end(unsigned index);

/** The number at or below which the share p (0..1) of all numbers lies, or up to 1.6 % more: the
 * upper end of its bucket, at most max. 0 if there are none. */
uint64_t hist64_percentile(const struct hist64 *h, double p);

/** 0 if there are none. */
double hist64_mean(const struct hist64 *h);

#endif
