/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hist.h"

#include <math.h>

/* --- hist --- */

void hist_merge(struct hist *to, const struct hist *from)
{
    to->count += from->count;
    to->sum += from->sum;
    if (from->max > to->max)
        to->max = from->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        to->bucket[i] += from->bucket[i];
}

/* The largest number that falls into a bucket. */
static uint32_t upper_end(unsigned index)
{
    unsigned octave;

    if (index < 1u << (HIST_SUB + 1))
        return index;
    octave = (index >> HIST_SUB) + HIST_SUB - 1;
    return (uint32_t)(((uint64_t)(index & ((1u << HIST_SUB) - 1)) + (1u << HIST_SUB) + 1)
                      << (octave - HIST_SUB)) -
           1;
}

uint32_t hist_percentile(const struct hist *h, double p)
{
    double below = 0, want = p * (double)h->count;

    if (h->count == 0)
        return 0;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        below += (double)h->bucket[i];
        if (h->bucket[i] > 0 && below >= want)
            return upper_end(i) < h->max ? upper_end(i) : h->max;
    }
    return h->max;
}

double hist_mean(const struct hist *h)
{
    return h->count > 0 ? (double)h->sum / (double)h->count : 0;
}

/* --- hist64 --- */

void hist64_merge(struct hist64 *to, const struct hist64 *from)
{
    to->sum += from->sum;
    if (from->max > to->max)
        to->max = from->max;
    if (from->least > to->least)
        to->least = from->least;
    for (unsigned i = 0; i < HIST64_BUCKETS; i++)
        to->bucket[i] += from->bucket[i];
}

uint64_t hist64_count(const struct hist64 *h)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < HIST64_BUCKETS; i++)
        count += h->bucket[i];
    return count;
}

uint64_t hist64_min(const struct hist64 *h)
{
    return h->least != 0 ? ~h->least : 0;
}

uint64_t hist64_upper_end(unsigned index)
{
    unsigned shift;

    if (index < 1u << (HIST64_SUB + 1))
        return index;
    shift = (index >> HIST64_SUB) - 1;
    return (((uint64_t)(index & ((1u << HIST64_SUB) - 1)) + (1u << HIST64_SUB) + 1) << shift) - 1;
}

uint64_t hist64_percentile(const struct hist64 *h, double p)
{
    uint64_t count = hist64_count(h), below = 0, rank;

    if (count == 0)
        return 0;
    /* The rank is a whole number, 1 for the smallest one. A product of doubles may come out just
     * above a whole number, which must not round it up to the next one. */
    rank = (uint64_t)ceil(p * (double)count * (1 - 1e-15));
    if (rank == 0)
        rank = 1;
    for (unsigned i = 0; i < HIST64_BUCKETS; i++) {
        below += h->bucket[i];
        if (below >= rank)
            return hist64_upper_end(i) < h->max ? hist64_upper_end(i) : h->max;
    }
    return h->max;
}

double hist64_mean(const struct hist64 *h)
{
    uint64_t count = hist64_count(h);

    return count > 0 ? (double)h->sum / (double)count : 0;
}
