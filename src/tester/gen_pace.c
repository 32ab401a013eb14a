/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/gen_pace.h"

#include <math.h>
#include <stddef.h>

#define FIXED_ONE 65536.0 /* gap of one TSC cycle */
#define FEW_MS    1000    /* 1/FEW_MS s of packets: the longest train by default */
#define LEAST_PPS 0.001
#define MOST_TIME (double)(UINT64_MAX >> 18) /* cycles: 2^16 of each fit in 62 bits */

#define LOG_STEPS 256
#define LOG_ONE   (1u << 24)

/* log2(1 + i/LOG_STEPS) * 2^24. Written once, at a start, then only read. */
static uint32_t log_table[LOG_STEPS + 1];

static void make_log_table(void)
{
    for (unsigned i = 0; i <= LOG_STEPS; i++)
        log_table[i] = (uint32_t)lround(log2(1 + i / (double)LOG_STEPS) * LOG_ONE);
}

/* -log2(u) of u = (2 random + 1) / 2^33, which is never 0: the whole part from the leading zeros,
 * the rest from the table, between whose points it is interpolated. It is off by at most 3e-6. */
uint32_t pace_exponential(uint32_t random)
{
    uint64_t u = (uint64_t)random << 1 | 1;
    unsigned zeros = (unsigned)__builtin_clzll(u); /* 31..63 */
    uint64_t mantissa = u << zeros << 1;
    unsigned i = mantissa >> 56;
    uint32_t part = mantissa >> 32 & 0xffffff, step = log_table[i + 1] - log_table[i];
    uint32_t log = log_table[i] + (uint32_t)((uint64_t)step * part >> 24);

    return (zeros - 30) * LOG_ONE - log;
}

static uint32_t default_train(const struct gen_pace_spec *spec)
{
    double few = spec->pps / FEW_MS;

    if (spec->poisson)
        return 1;
    return few >= spec->burst ? spec->burst : few > 1 ? (uint32_t)few : 1;
}

static uint32_t train_of(const struct gen_pace_spec *spec)
{
    return spec->train != 0 ? spec->train : default_train(spec);
}

const char *pace_refusal(const struct gen_pace_spec *spec)
{
    if (!(spec->pps >= LEAST_PPS))
        return "less than 0.001 packets per second and instance cannot be kept";
    if ((double)spec->tsc_hz / spec->pps * train_of(spec) > MOST_TIME)
        return "so many packets back to back take too long at this rate";
    return NULL;
}

static void set_rate(struct gen_pace *p, const struct gen_pace_spec *spec)
{
    double mean;

    p->train = train_of(spec);
    p->cost = (double)spec->tsc_hz / spec->pps;
    mean = p->cost * p->train * FIXED_ONE;
    p->gap = (uint64_t)((spec->poisson ? mean * M_LN2 : mean) + 0.5);
}

void pace_init(struct gen_pace *p, const struct gen_pace_spec *spec)
{
    make_log_table();
    set_rate(p, spec);
    p->poisson = spec->poisson;
    p->draw = hash(hash_seed(spec->seed) + GOLDEN);
    p->draw_step = hash(p->draw + GOLDEN) | 1;
    p->catch_up = spec->catch_up;
    pace_stop(p);
}

void pace_change(struct gen_pace *p, const struct gen_pace_spec *spec, uint64_t now)
{
    p->missed += (double)p->late / p->cost;
    __atomic_store_n(&p->late, 0, __ATOMIC_RELAXED);
    set_rate(p, spec);
    if (p->due == PACE_NEVER)
        return;
    if (p->poisson)
        pace_start(p, now); /* what is still to come does not depend on what was */
    else if (p->due > now + (p->gap >> 16))
        p->due = now + (p->gap >> 16);
}

void pace_start(struct gen_pace *p, uint64_t at)
{
    p->due = at;
    p->due_frac = 0;
    p->left = 0;
    if (p->poisson)
        pace_advance(p);
}

void pace_end(struct gen_pace *p, uint64_t at)
{
    double packets = p->left;

    if (p->due < at)
        packets += ceil((double)(at - p->due) / (p->cost * p->train)) * p->train;
    __atomic_store_n(&p->late, p->late + (uint64_t)ceil(packets * p->cost), __ATOMIC_RELAXED);
    pace_stop(p);
}
