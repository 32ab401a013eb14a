/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token bucket that counts in time: instead of its tokens it keeps the TSC at which it will be
 * full. So a bucket that fills up needs no work, and the time at which a packet may leave is a
 * subtraction. A byte costs a number of TSC cycles with 22 binary places, and the rest of a cycle
 * is carried over: rates are exact to 1e-5 at 1 Tbit/s, and better below.
 */
#ifndef SCHED_BUCKET_H
#define SCHED_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_PLACES 22

/** A rate and a depth, as a bucket counts them. */
struct pace {
    uint64_t byte;  /* TSC cycles in which a byte is earned, times 2^BUCKET_PLACES */
    uint64_t depth; /* TSC cycles in which the empty bucket fills up */
};

struct bucket {
    uint64_t full_at;                  /* TSC; in the past: the bucket is full */
    uint32_t part;                     /* of a cycle beyond full_at, times 2^BUCKET_PLACES */
} __attribute__((packed, aligned(4))); /* without padding: a subscriber may have fourteen */

/** The pace of a rate in bit/s and a depth in bytes, on a TSC of hz. */
static inline struct pace pace_of(uint64_t hz, uint64_t rate, uint64_t depth)
{
    double cycles = (double)hz * 8 / (double)rate;

    return (struct pace){.byte = (uint64_t)(cycles * (1 << BUCKET_PLACES) + 0.5),
                         .depth = (uint64_t)(cycles * (double)depth)};
}

/** Is a at or after b? TSC values at most half their range apart. */
static inline bool is_after(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) >= 0;
}

/** The cost of so many bytes, in TSC cycles times 2^BUCKET_PLACES. */
static inline uint64_t bucket_cost(const struct pace *p, uint32_t bytes)
{
    return p->byte * bytes;
}

/** The TSC from which a cost may be taken; the cost must be no more than the bucket holds. */
static inline uint64_t bucket_ready(const struct bucket *b, const struct pace *p, uint64_t cost)
{
    return b->full_at + (cost >> BUCKET_PLACES) - p->depth;
}

/** What may be taken out of a bucket now (TSC), as bucket_cost() counts; below 0: it owes. */
static inline int64_t bucket_credit(const struct bucket *b, const struct pace *p, uint64_t now)
{
    bool full = is_after(now, b->full_at);
    int64_t cycles = (int64_t)(p->depth - (full ? 0 : b->full_at - now));

    return cycles * (1 << BUCKET_PLACES) - (full ? 0 : (int64_t)b->part);
}

/** Take a cost out of a bucket, now (TSC). */
static inline void bucket_take(struct bucket *b, uint64_t cost, uint64_t now)
{
    bool full = is_after(now, b->full_at);

    cost += full ? 0 : b->part;
    b->full_at = (full ? now : b->full_at) + (cost >> BUCKET_PLACES);
    b->part = cost & ((1u << BUCKET_PLACES) - 1);
}

/** Take a cost out of a bucket now (TSC), as bucket_take() does, if it holds as much; one that is
 * full holds any packet's. Returns whether it did: in fewer steps than to ask first. */
static inline bool bucket_try(struct bucket *b, const struct pace *p, uint64_t cost, uint64_t now)
{
    uint64_t from = now;

    if (!is_after(now, b->full_at)) {
        from = b->full_at;
        if (!is_after(now + p->depth, from + (cost >> BUCKET_PLACES)))
            return false;
        cost += b->part;
    }
    b->full_at = from + (cost >> BUCKET_PLACES);
    b->part = cost & ((1u << BUCKET_PLACES) - 1);
    return true;
}

/** Let a bucket be half full now (TSC). */
static inline void bucket_fill_half(struct bucket *b, const struct pace *p, uint64_t now)
{
    b->full_at = now + p->depth / 2;
    b->part = 0;
}

#endif
