/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/qos_fit.h"

#include <math.h>

/* The library represents rate / clock by the simplest fraction strictly between (n - 1) / STEPS and
 * (n + 1) / STEPS, with n = the integer part of rate / clock * STEPS. */
#define STEPS      10000000u
#define STEP_TENS  7
#define MIN_CLOCK  1000000u
#define TIME_SHIFT 8 /* the library's cycles per byte are in 1/256 */
/* Times that the library is asked, in TSC cycles: each time up to a cycle counts twice. */
#define CALL_CYCLES 2000.0

/* The simplest fraction strictly inside (a/b, c/d), a/b < c/d <= 1: by continued fractions. */
static struct qos_fraction simplest(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t whole = a / b;

    if ((whole + 1) * d < c)
        return (struct qos_fraction){whole + 1, 1};
    a -= whole * b;
    c -= whole * d;
    /* 1/x of what is left, which is between 0 and 1, turns the interval around. */
    struct qos_fraction r;
    if (a == 0)
        r = (struct qos_fraction){d / c + 1, 1};
    else
        r = simplest(d, c, b, a);
    return (struct qos_fraction){whole * r.credits + r.period, r.credits};
}

struct qos_fraction qos_fraction(uint64_t clock, uint64_t rate)
{
    if (rate == clock && rate != 0)
        return (struct qos_fraction){1, 1};
    if (rate == 0 || rate > clock)
        return (struct qos_fraction){0, 0};

    double x = (double)rate / (double)clock;
    for (int i = 0; i < STEP_TENS; i++)
        x *= 10; /* step by step, for the same rounding as the library's */
    uint64_t n = (uint64_t)x;
    if (n < 2 || n + 1 >= STEPS)
        return (struct qos_fraction){0, 0};
    return simplest(n - 1, STEPS, n + 1, STEPS);
}

struct fit {
    uint64_t rate;
    double error; /* relative */
    bool smooth;  /* credits come in portions that the bucket can hold */
};

static void try_rate(struct fit *best, uint64_t clock, uint64_t rate, double wanted,
                     uint64_t max_credits)
{
    struct qos_fraction f = qos_fraction(clock, rate);

    if (f.period == 0)
        return;
    double error = (double)clock / f.period * f.credits / wanted - 1;
    bool smooth = f.credits <= max_credits;
    if (best->rate == 0 || (smooth && !best->smooth) ||
        (smooth == best->smooth && fabs(error) < fabs(best->error)))
        *best = (struct fit){rate, error, smooth};
}

/* The rate whose fraction is the nearest one with no more than max_credits. */
static uint64_t smooth_rate(uint64_t clock, double wanted, uint64_t max_credits)
{
    double ratio = clock / wanted, best_error = INFINITY, best = wanted;

    for (uint64_t credits = 1; credits <= max_credits; credits++) {
        double period = floor(credits * ratio + 0.5);
        double error = fabs(period / (credits * ratio) - 1);
        if (error < best_error) {
            best_error = error;
            best = clock * (double)credits / period;
        }
    }
    return (uint64_t)best + 1; /* not below: the step that it is in must reach up to it */
}

uint64_t qos_fit_rate(uint64_t clock, uint64_t rate, uint64_t max_credits, double *achieved)
{
    double wanted = rate / 8.0, step = (double)clock / STEPS;
    struct fit best = {0};

    if (rate == 0 || wanted > clock)
        return 0;
    for (int i = -1; i <= 2; i++)
        try_rate(&best, clock, (uint64_t)wanted + i, wanted, max_credits);
    try_rate(&best, clock, smooth_rate(clock, wanted, max_credits), wanted, max_credits);
    for (int i = -8; i <= 8; i++) {
        double middle = (floor(wanted / step) + i + 0.5) * step;
        if (middle >= 1)
            try_rate(&best, clock, (uint64_t)middle, wanted, max_credits);
    }
    if (achieved != NULL)
        *achieved = rate * (1 + best.error);
    return best.rate;
}

/* How bad a clock is: the worst deviation, and what the library counts twice at each call because
 * it rounds whole ticks down to whole cycles. */
static double badness(uint64_t clock, uint64_t cycles, const uint64_t *rates, unsigned n,
                      uint64_t port_rate)
{
    uint64_t low_bit = cycles & -cycles;
    double worst = 0;

    for (unsigned i = 0; i < n; i++) {
        double got;
        if (rates[i] == 0 || rates[i] > port_rate)
            continue;
        if (qos_fit_rate(clock, rates[i], 64, &got) == 0)
            got = 0;
        worst = fmax(worst, fabs(got / rates[i] - 1));
    }
    if (low_bit < 256)
        worst += (256 - low_bit) / 512.0 / CALL_CYCLES;
    return worst;
}

uint64_t qos_fit_clock(uint64_t hz, uint64_t port_rate, const uint64_t *rates, unsigned n)
{
    double line = fmax(port_rate / 8.0, MIN_CLOCK);
    uint64_t ticks = hz << TIME_SHIFT, best = 0;
    uint64_t most = (uint64_t)(ticks / (line * 1.02)), least = (uint64_t)(ticks / (line * 2));
    /* Whole cycles per tick where there is a choice of them. */
    uint64_t step = most - least > 64 * 256 ? 256 : 1;
    double best_badness = INFINITY;

    if (most == 0)
        return 0;
    if (least == 0)
        least = 1;
    if ((most - least) / step > 1024)
        step *= (most - least) / step / 512;
    for (uint64_t k = most - most % step; k >= least; k -= step) {
        double bad = badness(ticks / k, k, rates, n, port_rate);
        if (bad < best_badness) {
            best_badness = bad;
            best = ticks / k;
        }
        if (k <= step)
            break;
    }
    return best;
}

uint64_t qos_unbound_period_ms(uint64_t clock)
{
    return UINT64_MAX / clock + 60000;
}
