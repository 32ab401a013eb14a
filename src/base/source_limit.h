/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rate that each of many sources keeps, in a table of fixed size. A source's bucket is the time
 * at which it will be full again (the generic cell rate algorithm, ITU-T I.371 annex A), and a full
 * bucket needs no memory: so the table only has those that sent something a moment ago. Where more
 * of them meet in one set than it has places, the bucket that is nearest to full is forgotten. That
 * gives its source some packets more, and never takes one from a source that kept its rate.
 */
#ifndef BASE_SOURCE_LIMIT_H
#define BASE_SOURCE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_SETS 512 /* a power of two */
#define SOURCE_WAYS 5   /* as many as a cache line holds */

/** A rate, in any unit of time. cost 0: no limit. */
struct source_rate {
    uint64_t cost;  /* the time in which one packet is earned */
    uint64_t depth; /* the time in which an empty bucket fills up; at least cost */
};

struct source_set {
    uint64_t full_at[SOURCE_WAYS]; /* in the past: the bucket is full, the place is free */
    uint32_t key[SOURCE_WAYS];
} __attribute__((aligned(64)));

/** Begins as zeros. One thread uses it. */
struct source_limit {
    struct source_set set[SOURCE_SETS];
};

/** The rate of so many packets a second (0: one an hour, or so), of which burst (from 1) may come
 * at once, where a second has hz units of time. */
struct source_rate source_rate_of(uint64_t hz, uint64_t per_s, uint64_t burst);

/** Take a packet out of one bucket, which is full at *full_at (0 at first), as below. */
bool source_take(uint64_t *full_at, uint64_t now, const struct source_rate *rate);

/** Take a packet out of a source's bucket, at a time that does not go back by more than cores
 * differ. Returns false where the bucket has none. */
bool source_limit_take(struct source_limit *l, uint32_t key, uint64_t now,
                       const struct source_rate *rate);

#endif
