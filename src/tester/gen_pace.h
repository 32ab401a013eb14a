/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the task gen: when packets of a stream leave. A function of the TSC alone, so that a
 * test can make up the time.
 *
 * Packets leave in trains, back to back. Between the beginnings of two trains there is always the
 * same time (constant), or an exponentially distributed one (Poisson), both in 2^-16 TSC cycles. A
 * train that is due when the core looks leaves at once; what a core that was away missed is made up
 * for as far as catch_up goes, and the rest is lost and counted. So in any time T no more leaves at
 * a constant pace than rate * (T + lateness of the core, up to catch_up), rounded up to whole
 * trains.
 */
#ifndef TESTER_GEN_PACE_H
#define TESTER_GEN_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "tester/gen_frames.h"

#define PACE_MAX_TRAIN 1000000
#define PACE_NEVER     UINT64_MAX

struct gen_pace {
    uint64_t due;      /* TSC: the next train may leave; PACE_NEVER: it is switched off */
    uint32_t due_frac; /* and so many 2^-16 cycles later */
    uint32_t left;     /* packets of the train under way that are still to come */
    uint32_t train;    /* packets */
    bool poisson;
    uint32_t draw, draw_step; /* counter that is hashed for the next exponential number */
    uint64_t gap;             /* between trains (of Poisson: the mean), 2^-16 cycles */
    uint64_t catch_up;        /* cycles */
    uint64_t late; /* cycles lost since the last change of rate; written by its core, read by others
                    */
    double missed; /* packets lost before that */
    double cost;   /* cycles per packet */
};

/** What a pace is made of; pps is of this instance. */
struct gen_pace_spec {
    double pps;
    uint32_t train; /* 1..PACE_MAX_TRAIN; 0: constant: as long as a burst, but not more than a
                       millisecond's packets; Poisson: 1 */
    uint32_t burst;
    bool poisson;
    uint64_t seed;
    uint64_t catch_up; /* cycles */
    uint64_t tsc_hz;
};

/** Why such a pace cannot be kept, in words; NULL: it can. */
const char *pace_refusal(const struct gen_pace_spec *spec);

/** Switched off. */
void pace_init(struct gen_pace *p, const struct gen_pace_spec *spec);

/** Another rate from now (TSC) on. If it runs, it goes on running. */
void pace_change(struct gen_pace *p, const struct gen_pace_spec *spec, uint64_t now);

/** From a time on. At a constant pace the first train is due then. */
void pace_start(struct gen_pace *p, uint64_t at);

static inline void pace_stop(struct gen_pace *p)
{
    p->due = PACE_NEVER;
    p->left = 0;
}

/** Switched off as of a time (TSC): what was due before and has not left is missed. */
void pace_end(struct gen_pace *p, uint64_t at);

/** x * 2^24, of an exponentially distributed x with mean 1/ln 2, made of a random number. */
uint32_t pace_exponential(uint32_t random);

/* The train that was due has left. */
static inline void pace_advance(struct gen_pace *p)
{
    uint64_t gap = p->gap;

    if (p->poisson) {
        uint32_t x = pace_exponential(hash(p->draw));

        p->draw += p->draw_step;
        gap = (uint64_t)((unsigned __int128)gap * x >> 24);
    }
    gap += p->due_frac;
    p->due += gap >> 16;
    p->due_frac = gap & 0xffff;
}

/** The TSC from which on pace_take() will not return 0. */
static inline uint64_t pace_next(const struct gen_pace *p)
{
    return p->left > 0 ? 0 : p->due;
}

/** How many packets leave now, at most most. */
static inline unsigned pace_take(struct gen_pace *p, uint64_t now, unsigned most)
{
    unsigned n = p->left;

    if (now >= p->due && unlikely(now - p->due > p->catch_up)) {
        p->late += now - p->due - p->catch_up;
        p->due = now - p->catch_up;
    }
    while (n < most && p->due <= now) {
        n += p->train;
        pace_advance(p);
    }
    p->left = n > most ? n - most : 0;
    return n - p->left;
}

/** Packets that the rate asked for, but that a core that was busy or away did not make. */
static inline uint64_t pace_missed(const struct gen_pace *p)
{
    return (uint64_t)(p->missed + (double)__atomic_load_n(&p->late, __ATOMIC_RELAXED) / p->cost);
}

#endif
