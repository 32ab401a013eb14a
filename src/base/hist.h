/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of 32-bit numbers with a bounded relative error: 8 buckets per power of two (12.5 %),
 * exact below 16. One writer; a reader on another core sees each counter as it was at some moment.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

#define HIST_SUB     3 /* 2^3 buckets per power of two */
#define HIST_BUCKETS ((32 - HIST_SUB) * (1 << HIST_SUB) + (1 << HIST_SUB))

struct hist {
    uint64_t count, sum;
    uint32_t max;
    uint64_t bucket[HIST_BUCKETS];
};

static inline unsigned hist_index(uint32_t v)
{
    unsigned octave;

    if (v < 1u << (HIST_SUB + 1))
        return v;
    octave = 31u - (unsigned)__builtin_clz(v);
    return ((octave - HIST_SUB) << HIST_SUB) + (v >> (octave - HIST_SUB));
}

static inline void hist_add(struct hist *h, uint32_t v)
{
    h->count++;
    h->sum += v;
    if (v > h->max)
        h->max = v;
    h->bucket[hist_index(v)]++;
}

/** Add the counters of another. */
void hist_merge(struct hist *to, const struct hist *from);

/** The value below or at which the share p (0..1) of all numbers lies: the upper end of its bucket,
 * at most max. 0 if there are none. */
uint32_t hist_percentile(const struct hist *h, double p);

double hist_mean(const struct hist *h);

#endif
