/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hist64.h"

#include <math.h>

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
    /* The rank as a whole number: 1 is the smallest. What a product of doubles adds to a whole
     * number must not make it the next one. */
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
