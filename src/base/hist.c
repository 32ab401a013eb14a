/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hist.h"

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
