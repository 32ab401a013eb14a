/* SPDX-License-Identifier: BSD-3-Clause */
/* A rate that several shards share. What a purse says beside its time is advice: relaxed loads and
 * stores will do, because each decision about credit is one exchange of full_at. */
#include "sched/shards/purse.h"

#define YIELD_PART                                                                                 \
    8 /* of what it has asked for, after which a shard that lets others go asks again */

void purse_start(struct purse *p, uint64_t now)
{
    *p = (struct purse){.full_at = now};
}

/* Tell others for what a shard waits (0: nothing), if that is new. */
static void say(struct wallet *w, unsigned shard, uint32_t waits)
{
    if (w->waits == waits)
        return;
    w->waits = waits;
    __atomic_store_n(&w->purse->waits[shard], waits, __ATOMIC_RELAXED);
}

void wallet_wait(struct wallet *w, unsigned shard, unsigned class, uint32_t round)
{
    if (w->waits == 0 || w->waits >> PURSE_ROUND_BITS > class + 1)
        say(w, shard, purse_waiting(class, round));
}

void wallet_withdraw(struct wallet *w, unsigned shard)
{
    say(w, shard, 0);
}

/* Does a shard wait that lives, and goes before who asks? */
static bool is_outranked(const struct purse *p, const struct peers *all,
                         const struct purse_ask *ask)
{
    for (unsigned i = 0; i < all->n; i++) {
        uint32_t waits = __atomic_load_n(&p->waits[i], __ATOMIC_RELAXED),
                 class = (waits >> PURSE_ROUND_BITS) - 1;

        if (waits == 0 || i == ask->shard || class > ask->class ||
            (class == ask->class && !purse_is_before(waits, ask->round)))
            continue;
        if (peers_live(all, i, ask->now))
            return true;
    }
    return false;
}

/* The TSC at which a shard that lets others go first asks again. */
static uint64_t let_go_first(const struct purse_ask *ask)
{
    return ask->now + ask->cycles / YIELD_PART;
}

bool wallet_borrow(struct wallet *w, const struct peers *all, const struct purse_ask *ask,
                   uint64_t *again)
{
    struct purse *p = w->purse;
    uint64_t full_at = __atomic_load_n(&p->full_at, __ATOMIC_RELAXED), after;

    do {
        after = (is_after(ask->now, full_at) ? ask->now : full_at) + ask->cycles;
        *again = after - ask->depth;
        if (!is_after(ask->now, *again) || is_outranked(p, all, ask)) {
            if (is_after(ask->now, *again))
                *again = let_go_first(ask);
            say(w, ask->shard, purse_waiting(ask->class, ask->round));
            return false;
        }
    } while (!__atomic_compare_exchange_n(&p->full_at, &full_at, after, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    w->credit += (int64_t)(ask->cycles << BUCKET_PLACES);
    w->class = ask->class;
    say(w, ask->shard, 0);
    return true;
}

bool wallet_stock(struct wallet *w, const struct purse_ask *ask)
{
    struct purse *p = w->purse;
    uint64_t full_at = __atomic_load_n(&p->full_at, __ATOMIC_RELAXED), after;

    do {
        after = (is_after(ask->now, full_at) ? ask->now : full_at) + ask->cycles;
        if (!is_after(ask->now, after - ask->depth))
            return false;
    } while (!__atomic_compare_exchange_n(&p->full_at, &full_at, after, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    w->credit += (int64_t)(ask->cycles << BUCKET_PLACES);
    w->class = ask->class;
    return true;
}

bool wallet_pass(struct wallet *w, const struct peers *all, const struct purse_ask *ask,
                 uint64_t *again)
{
    if (!is_outranked(w->purse, all, ask)) {
        w->class = ask->class;
        return true;
    }
    wallet_return(w);
    say(w, ask->shard, purse_waiting(ask->class, ask->round));
    *again = let_go_first(ask);
    return false;
}

void wallet_return(struct wallet *w)
{
    int64_t whole = w->credit >> BUCKET_PLACES;

    if (whole <= 0)
        return;
    w->credit -= whole << BUCKET_PLACES;
    __atomic_fetch_sub(&w->purse->full_at, (uint64_t)whole, __ATOMIC_RELAXED);
}

void purse_limit(struct purse *p, uint64_t depth, uint64_t now)
{
    uint64_t full_at = __atomic_load_n(&p->full_at, __ATOMIC_RELAXED);

    while (!is_after(now + depth, full_at) &&
           !__atomic_compare_exchange_n(&p->full_at, &full_at, now + depth, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

uint32_t purse_join(const struct purse *p, unsigned class, uint32_t own, uint32_t ahead)
{
    uint32_t round = __atomic_load_n(&p->round[class], __ATOMIC_RELAXED), most = round + ahead;

    if (purse_is_before(own, round))
        return round;
    return purse_is_before(most, own) ? most : own;
}
