/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the task gen: when packets leave.
 *
 * Time earns credit and each packet costs some of it, both in 2^-16 TSC cycles. As soon as there is
 * enough for a train of packets, it leaves back to back. What a core that stalls misses is made up
 * for at most for one millisecond; the rest is lost and counted.
 */
#ifndef TASKS_GEN_PACE_H
#define TASKS_GEN_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

struct gen_pace {
    uint64_t last;       /* TSC of the previous call of pace_earn() */
    uint64_t credit;     /* 2^-16 cycles */
    uint64_t train_cost; /* credit for a train */
    uint64_t longest;    /* cycles: of a longer time since the last call, the rest is lost */
    uint64_t credit_max; /* for a train and a millisecond */
    uint64_t missed;     /* cycles lost; written by its core, read by others */
    uint32_t train;      /* packets */
    double cost;         /* cycles per packet */
};

/** What a pace is made of; pps is of this instance. train 0: as long as a burst, but not more than
 * a millisecond's packets. */
struct gen_pace_spec {
    const char *name; /* of the task, for errors */
    double pps;
    uint32_t train, burst;
    uint64_t tsc_hz;
};

/** Returns 0, or -EINVAL and says why on stderr. */
int pace_init(struct gen_pace *p, const struct gen_pace_spec *spec);

/** From now on; the first train may leave at once. */
static inline void pace_start(struct gen_pace *p, uint64_t now)
{
    p->last = now;
    p->credit = p->train_cost;
}

/** May a train leave? Then it is paid for. */
static inline bool pace_earn(struct gen_pace *p, uint64_t now)
{
    uint64_t elapsed = now - p->last;

    p->last = now;
    if (unlikely(elapsed > p->longest)) {
        p->missed += elapsed - p->longest;
        elapsed = p->longest;
    }
    p->credit += elapsed << 16;
    if (unlikely(p->credit > p->credit_max)) {
        p->missed += (p->credit - p->credit_max) >> 16;
        p->credit = p->credit_max;
    }
    if (p->credit < p->train_cost)
        return false;
    p->credit -= p->train_cost;
    return true;
}

/** Packets that the rate asked for, but that a busy core could not make. */
static inline uint64_t pace_missed(const struct gen_pace *p)
{
    return (uint64_t)((double)__atomic_load_n(&p->missed, __ATOMIC_RELAXED) / p->cost);
}

#endif
