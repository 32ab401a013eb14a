/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rate that several shards share: a token bucket from which each shard borrows some credit at a
 * time into a wallet of its own, out of which it pays for packets, so that nothing is shared per
 * packet. What it does not use it gives back.
 *
 *     purse     the bucket, in the cache line of full_at: as struct bucket (wheel/bucket.h) it
 *               keeps the time at which it will be full, which a borrower moves on by an atomic
 *               compare and exchange, and who gives back by an atomic subtraction; beside it, for
 *               each shard that was refused: the class for which it waits, and its round
 *     wallet    the credit of one shard; only that shard sees it
 *
 * Who borrows waits where another shard waits with a higher class, or with the same class and an
 * earlier round. A round is what deficit round robin calls so: all pipes that may send have had
 * their turn once. Shards whose rounds go on together share a rate as their pipes would in one
 * ring. A shard that has shown no sign of life for peers.patience is not waited for.
 *
 * So rate x time + depth bounds what all shards together have sent, but for what their wallets may
 * hold: one quantum each. Time is in TSC cycles, which must be the same on all cores. Free of DPDK.
 */
#ifndef SCHED_SHARDS_PURSE_H
#define SCHED_SHARDS_PURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/params.h"
#include "sched/wheel/bucket.h"

#define SHARDS_MAX  QOS_MAX_SHARDS
#define SHARDS_LINE 64 /* bytes of a cache line */

#define PURSE_ROUND_PLACES 16 /* binary places of a round */
#define PURSE_ROUND        (1u << PURSE_ROUND_PLACES)
#define PURSE_ROUND_BITS   28 /* rounds count modulo 2^28 */

#define PURSE_LEAST (INT64_C(1) << BUCKET_PLACES) /* of credit that may be given back: a cycle */

struct purse {
    uint64_t full_at;            /* TSC; in the past: it is full */
    uint32_t round[QOS_CLASSES]; /* of who borrowed last in a class */
    uint32_t waits[SHARDS_MAX];  /* by shard, in a line of their own: 0: it does not wait; or the
                                    class + 1, above 28 bits of its round */
} __attribute__((aligned(SHARDS_LINE)));

/** What one shard has of a purse. Zero-initialise it but for purse. */
struct wallet {
    struct purse *purse; /* NULL: the rate is not shared */
    int64_t credit;      /* TSC cycles times 2^BUCKET_PLACES; below 0: it owes */
    int64_t seen;        /* credit when its shard looked for idle wallets last */
    uint32_t waits;      /* what purse.waits says of this shard */
    unsigned class;      /* for which it was borrowed: lower ones have to ask others first */
};

/** The shards that share purses, and when each was seen last. */
struct peers {
    unsigned n;        /* 1..SHARDS_MAX */
    uint64_t patience; /* TSC cycles: who was not seen for so long is not waited for */
    struct {
        uint64_t tsc;
    } __attribute__((aligned(SHARDS_LINE))) seen[SHARDS_MAX];
};

/** What a shard asks of a purse. */
struct purse_ask {
    unsigned shard;  /* who asks */
    unsigned class;  /* for whose packets: 0..QOS_CLASSES - 1 */
    uint32_t round;  /* that of the class in this shard, modulo 2^28 */
    uint64_t cycles; /* credit, at most depth */
    uint64_t depth;  /* of the bucket, in TSC cycles: struct pace */
    uint64_t now;    /* TSC */
};

/** A class for which a shard waits, with its round, as purse.waits has it. */
static inline uint32_t purse_waiting(unsigned class, uint32_t round)
{
    return (class + 1) << PURSE_ROUND_BITS | (round & ((1u << PURSE_ROUND_BITS) - 1));
}

/** Is round a before b? Modulo 2^28, at most half of that apart; higher bits do not matter. */
static inline bool purse_is_before(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << (32 - PURSE_ROUND_BITS)) < 0;
}

/** Make a purse full, and no shard wait for it. Before others see it. */
void purse_start(struct purse *p, uint64_t now);

/** Show that a shard lives, now (TSC). */
static inline void peers_see(struct peers *all, unsigned shard, uint64_t now)
{
    __atomic_store_n(&all->seen[shard].tsc, now, __ATOMIC_RELAXED);
}

/** Has a shard shown lately that it lives? */
static inline bool peers_live(const struct peers *all, unsigned shard, uint64_t now)
{
    return is_after(__atomic_load_n(&all->seen[shard].tsc, __ATOMIC_RELAXED) + all->patience, now);
}

/** Does some shard wait? */
static inline bool purse_is_short(const struct purse *p, const struct peers *all)
{
    uint32_t waits = 0;

    for (unsigned i = 0; i < all->n; i++)
        waits |= __atomic_load_n(&p->waits[i], __ATOMIC_RELAXED);
    return waits != 0;
}

/**
 * Borrow credit into the wallet of a shard. Returns true; or false where there is too little, or
 * another shard goes first, and the TSC from which it is worth to ask again in *again: until then,
 * the shard waits in its class, and others know.
 */
bool wallet_borrow(struct wallet *w, const struct peers *all, const struct purse_ask *ask,
                   uint64_t *again);

/**
 * Borrow into the wallet of a shard that does not need it yet. Returns whether there was as much;
 * if not, nothing has changed, and nobody is told. Who goes first is not asked: only where no shard
 * waits.
 */
bool wallet_stock(struct wallet *w, const struct purse_ask *ask);

/** Does a wallet hold so much (as wallet.credit) that a class may spend without asking? */
static inline bool wallet_holds(const struct wallet *w, unsigned class, int64_t cost)
{
    return w->credit >= cost && class <= w->class;
}

/**
 * Have credit that a wallet holds go to packets of a lower class. Returns true; or false, as
 * wallet_borrow() does, where others go first: the credit has gone back to the purse.
 */
bool wallet_pass(struct wallet *w, const struct peers *all, const struct purse_ask *ask,
                 uint64_t *again);

/** Have others been told that a shard waits in a class? */
static inline bool wallet_waits_in(const struct wallet *w, unsigned class)
{
    return w->waits >> PURSE_ROUND_BITS == class + 1;
}

/** Tell others that a shard waits in a class, in a round, for something else than this purse; what
 * has been said of a class that is as high, or higher, stays. */
void wallet_wait(struct wallet *w, unsigned shard, unsigned class, uint32_t round);

/** Tell others that a shard does not wait any more. */
void wallet_withdraw(struct wallet *w, unsigned shard);

/** Give all whole cycles of a wallet's credit back. What it owes stays. */
void wallet_return(struct wallet *w);

/** Let a purse, whose depth (TSC cycles) has changed, owe no more than that now (TSC). */
void purse_limit(struct purse *p, uint64_t depth, uint64_t now);

#define PURSE_KEEP 16 /* rounds that a shard which comes back may stay ahead of others */

/**
 * The round in which a shard goes on that had nothing to send in a class for a while, and whose
 * round was own: that of the others, or its own where that is later, so that nobody gains by a
 * pause; but no more than ahead (in parts of PURSE_ROUND, less than 2^27) later than theirs.
 */
uint32_t purse_join(const struct purse *p, unsigned class, uint32_t own, uint32_t ahead);

/** Note the round of who has borrowed for a class. */
static inline void purse_note_round(struct purse *p, unsigned class, uint32_t round)
{
    __atomic_store_n(&p->round[class], round, __ATOMIC_RELAXED);
}

#endif
