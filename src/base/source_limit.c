/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/source_limit.h"

#define SECONDS_OF_NONE 3600 /* what a rate of 0 earns a packet in: as good as never */

struct source_rate source_rate_of(uint64_t hz, uint64_t per_s, uint64_t burst)
{
    uint64_t cost = per_s > 0 ? hz / per_s : hz * SECONDS_OF_NONE;

    return (struct source_rate){.cost = cost, .depth = cost * burst};
}

/* The set of a key: keys of neighbouring sources are spread. */
static struct source_set *set_of(struct source_limit *l, uint32_t key)
{
    return &l->set[(key * UINT32_C(0x9e3779b1) >> 16) & (SOURCE_SETS - 1)];
}

/* The place of a key in its set: its own, or that of the bucket which is nearest to full. */
static unsigned place_of(struct source_set *s, uint32_t key)
{
    unsigned best = 0;

    for (unsigned i = 0; i < SOURCE_WAYS; i++) {
        if (s->key[i] == key)
            return i;
        if (s->full_at[i] < s->full_at[best])
            best = i;
    }
    s->key[best] = key;
    s->full_at[best] = 0;
    return best;
}

bool source_take(uint64_t *full_at, uint64_t now, const struct source_rate *rate)
{
    uint64_t from = *full_at > now ? *full_at : now;

    if (from + rate->cost > now + rate->depth)
        return false;
    *full_at = from + rate->cost;
    return true;
}

bool source_limit_take(struct source_limit *l, uint32_t key, uint64_t now,
                       const struct source_rate *rate)
{
    struct source_set *s = set_of(l, key);

    return rate->cost == 0 || source_take(&s->full_at[place_of(s, key)], now, rate);
}
