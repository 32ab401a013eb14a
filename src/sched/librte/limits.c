/* SPDX-License-Identifier: BSD-3-Clause */
/* What librte_sched can represent, its checks, and its memory: the numbers of one library. */
#include "sched/librte/limits.h"

#include <math.h>

#include "sched/librte/librte_sched.h"

/* The library represents rate / clock by the simplest fraction strictly between (n - 1) / STEPS and
 * (n + 1) / STEPS, with n = the integer part of rate / clock * STEPS. */
#define STEPS      10000000u
#define STEP_TENS  7
#define MIN_CLOCK  1000000u
#define TIME_SHIFT 8 /* the library keeps cycles per byte in 1/256 */
/* TSC cycles between two calls of the library: each call counts up to a cycle twice. */
#define CALL_CYCLES 2000.0

#define FAR_OFF     0.1   /* a deviation from a rate that is an error */
#define WRR_COUNTER 65535 /* the largest number in the library's counters of best effort */

/* Structures that rte_sched_port_get_memory_footprint() leaves out, in bytes: what DPDK 22.11 to
 * 24.11 allocates for each subport and for each subport profile on x86-64. A test holds the sum
 * against DPDK's heap. */
#define SUBPORT_BYTES         3904
#define SUBPORT_PROFILE_BYTES 136
#define LINE                  64

/* --- rates and the clock --- */

/* The simplest fraction strictly inside (a/b, c/d), a/b < c/d <= 1: by continued fractions. */
static struct librte_fraction simplest(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t whole = a / b;

    if ((whole + 1) * d < c)
        return (struct librte_fraction){whole + 1, 1};
    a -= whole * b;
    c -= whole * d;
    /* Both ends are between 0 and 1 now; the interval of 1/x runs the other way. */
    struct librte_fraction r;
    if (a == 0)
        r = (struct librte_fraction){d / c + 1, 1};
    else
        r = simplest(d, c, b, a);
    return (struct librte_fraction){whole * r.credits + r.period, r.credits};
}

struct librte_fraction librte_fraction(uint64_t clock, uint64_t rate)
{
    if (rate == clock && rate != 0)
        return (struct librte_fraction){1, 1};
    if (rate == 0 || rate > clock)
        return (struct librte_fraction){0, 0};

    double x = (double)rate / (double)clock;
    for (int i = 0; i < STEP_TENS; i++)
        x *= 10; /* in steps, to be rounded as the library rounds */
    uint64_t n = (uint64_t)x;
    if (n < 2 || n + 1 >= STEPS)
        return (struct librte_fraction){0, 0};
    return simplest(n - 1, STEPS, n + 1, STEPS);
}

/* A rate that may be asked for. */
struct fit {
    uint64_t rate;
    double error; /* relative */
    bool smooth;  /* credits come in portions that the bucket can hold */
};

/* Take a rate (bytes/s) instead of the best one so far if it comes out nearer to the wanted one. */
static void try_rate(struct fit *best, uint64_t clock, uint64_t rate, double wanted,
                     uint64_t max_credits)
{
    struct librte_fraction f = librte_fraction(clock, rate);

    if (f.period == 0)
        return;
    double error = (double)clock / f.period * f.credits / wanted - 1;
    bool smooth = f.credits <= max_credits;
    if (best->rate == 0 || (smooth && !best->smooth) ||
        (smooth == best->smooth && fabs(error) < fabs(best->error)))
        *best = (struct fit){rate, error, smooth};
}

/* The rate whose fraction, of all with no more than max_credits, is nearest to the wanted rate. */
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
    return (uint64_t)best + 1; /* rounded up, into the step that contains the fraction */
}

uint64_t librte_fit_rate(uint64_t clock, uint64_t rate, uint64_t max_credits, double *achieved)
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

/* How bad a clock is: the worst deviation of n rates, and the time that the library counts twice at
 * each call because it rounds whole ticks down to whole cycles. */
static double badness(uint64_t clock, uint64_t cycles, const uint64_t *rates, unsigned n,
                      uint64_t port_rate)
{
    uint64_t low_bit = cycles & -cycles;
    double worst = 0;

    for (unsigned i = 0; i < n; i++) {
        double got;
        if (rates[i] == 0 || rates[i] > port_rate)
            continue;
        if (librte_fit_rate(clock, rates[i], LIBRTE_MAX_CREDITS, &got) == 0)
            got = 0;
        worst = fmax(worst, fabs(got / rates[i] - 1));
    }
    if (low_bit < 256)
        worst += (256 - low_bit) / 512.0 / CALL_CYCLES;
    return worst;
}

uint64_t librte_fit_clock(uint64_t hz, uint64_t port_rate, const uint64_t *rates, unsigned n)
{
    double line = fmax(port_rate / 8.0, MIN_CLOCK);
    uint64_t ticks = hz << TIME_SHIFT, best = 0;
    uint64_t most = (uint64_t)(ticks / (line * 1.02)), least = (uint64_t)(ticks / (line * 2));
    /* Prefer whole cycles per tick where there are enough of them to choose from. */
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

uint64_t librte_unbound_period_ms(uint64_t clock)
{
    return UINT64_MAX / clock + 60000;
}

/* --- what the library cannot do --- */

uint64_t librte_clock(const struct cfg_scheduler *s, uint64_t hz, const uint64_t *rates, unsigned n)
{
    return librte_fit_clock(hz, s->rate, rates, n);
}

void librte_check_rate(struct findings *l, uint64_t clock, uint64_t rate)
{
    double got = 0;

    if (librte_fit_rate(clock, rate, LIBRTE_MAX_CREDITS, &got) == 0 ||
        fabs(got / rate - 1) > FAR_OFF)
        FIND_ERROR(l, QOS_RATE_TOO_LOW, .wanted = rate, .achieved = clock * 8 * 3e-7);
    else if (fabs(got / rate - 1) > SCHED_DEVIATION)
        FIND_WARNING(l, QOS_RATE_DEVIATES, .wanted = rate, .achieved = got);
}

/* Where one class has a cap, tc_period counts for all of them: each class gets its credits at the
 * start of a period and loses the rest at the end. */
static void check_periods(struct findings *l, const struct cfg_scheduler *s,
                          const struct qos_shape *shape)
{
    if (!qos_has_caps(s, shape) || shape->tc_period_ms == 0)
        return;
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t rate = shape->class_rate[c];
        struct class_period p;

        if (!qos_class_used(s, c) || rate == 0 || rate > shape->rate)
            continue;
        p = class_period_of(s, shape, c);
        if (p.credits < qos_largest_frame(s)) {
            if (rate == shape->rate) /* with a cap it is an error for all backends */
                FIND_ERROR(l, QOS_CLASS_BELOW_FRAME, .class = c, .wanted = p.enough,
                           .achieved = p.achieved);
        } else if (p.achieved < rate * (1 - SCHED_DEVIATION)) {
            FIND_WARNING(l, rate < shape->rate ? QOS_CLASS_DEVIATES : QOS_UNCAPPED_DEVIATES,
                         .class = c, .wanted = p.enough, .achieved = p.achieved);
        }
    }
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

/* The library counts lcm / weight for each byte in 16 bits, and keeps that factor in 8. */
static void check_weights(struct findings *l, const struct cfg_scheduler *s,
                          const struct qos_shape *shape)
{
    uint32_t lcm = 1, least = UINT8_MAX, most = WRR_COUNTER / qos_largest_frame(s);

    for (unsigned q = 0; q < QOS_BE_QUEUES; q++) {
        uint32_t w = shape->weight[q];

        if (w == 0)
            return; /* an error for all backends */
        lcm = lcm / gcd(lcm, w) * w;
        least = w < least ? w : least;
    }
    if (most > UINT8_MAX)
        most = UINT8_MAX;
    if (lcm / least > most)
        FIND_ERROR(l, QOS_WEIGHTS_TOO_DIFFERENT, .class = QOS_BE, .wanted = lcm / least,
                   .achieved = most);
}

void librte_check_shape(struct findings *l, const struct cfg_scheduler *s,
                        const struct qos_shape *shape)
{
    check_periods(l, s, shape);
    check_weights(l, s, shape);
}

void librte_check_scheduler(struct findings *l, const struct cfg_scheduler *s)
{
    bool red = false, pie = false;

    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        red |= qos_class_used(s, c) && s->class[c].aqm == AQM_RED;
        pie |= qos_class_used(s, c) && s->class[c].aqm == AQM_PIE;
    }
    if (red && pie)
        FIND_ERROR(l, QOS_AQM_MIXED);
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(s, c) && qos_drops_late(s->class[c].aqm))
            FIND_ERROR(l, QOS_AQM_UNKNOWN, .class = c);
}

/* --- memory --- */

void librte_queue_sizes(const struct cfg_scheduler *s, uint16_t qsize[QOS_CLASSES])
{
    bool pie = false;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        pie |= qos_class_used(s, c) && s->class[c].aqm == AQM_PIE;
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        qsize[c] = qos_class_used(s, c) ? s->class[c].size : pie;
}

static uint64_t lines(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Ask the library for the bytes of a port with 1 or 2 subports of so many pipes. Only their number
 * and the queues' sizes count; the library wants rates, too, but none for a class without a queue.
 */
static uint32_t footprint(const struct cfg_scheduler *s, unsigned max_profiles, uint32_t pipes,
                          uint32_t n_subports)
{
    struct rte_sched_pipe_params pipe = {
        .tb_rate = 1, .tb_size = 1, .tc_period = 1, .tc_ov_weight = 1, .wrr_weights = {1, 1, 1, 1}};
    struct rte_sched_subport_profile_params profile = {.tb_rate = 1, .tb_size = 1, .tc_period = 1};
    struct rte_sched_port_params port = {.rate = 1,
                                         .mtu = s->mtu,
                                         .n_subports_per_port = n_subports,
                                         .subport_profiles = &profile,
                                         .n_subport_profiles = 1,
                                         .n_max_subport_profiles = 1,
                                         .n_pipes_per_subport = pipes};
    struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = pipes,
                                               .pipe_profiles = &pipe,
                                               .n_pipe_profiles = 1,
                                               .n_max_pipe_profiles =
                                                   max_profiles + LIBRTE_DRAIN_PROFILES};
    struct rte_sched_subport_params *subports[2] = {&subport, &subport};

    librte_queue_sizes(s, subport.qsize);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        pipe.tc_rate[c] = subport.qsize[c] != 0;
        profile.tc_rate[c] = 1;
    }
    return rte_sched_port_get_memory_footprint(&port, subports);
}

/* Bytes of a subport of so many pipes (a power of two), or 0 where they do not fit the library's
 * 32-bit sizes. These wrap without notice, so the number of pipes is doubled step by step. */
static uint64_t subport_bytes(const struct cfg_scheduler *s, unsigned max_profiles,
                              uint32_t port_bytes, uint32_t pipes)
{
    uint64_t bytes = footprint(s, max_profiles, 1, 1);

    for (uint64_t n = 2; n <= pipes; n *= 2) {
        if (2 * bytes + SUBPORT_BYTES > UINT32_MAX)
            return 0;
        bytes = footprint(s, max_profiles, (uint32_t)n, 1);
    }
    return bytes != 0 ? bytes - port_bytes + SUBPORT_BYTES + SCHED_MALLOC_BYTES : 0;
}

uint64_t librte_bytes(const struct cfg_scheduler *s, unsigned max_profiles)
{
    uint32_t port = 2 * footprint(s, max_profiles, 1, 1) - footprint(s, max_profiles, 1, 2);
    uint64_t each = subport_bytes(s, max_profiles, port, s->pipes.block);
    uint64_t spare = subport_bytes(s, max_profiles, port, 1);
    uint64_t subports = librte_subports(s->n_subports);
    uint64_t profiles = subports + LIBRTE_SUBPORT_RATES + LIBRTE_DRAIN_PROFILES;

    if (each == 0)
        return 0;
    return port + lines(subports * sizeof(void *)) + lines(profiles * SUBPORT_PROFILE_BYTES) +
           2 * SCHED_MALLOC_BYTES + s->n_subports * each + (subports - s->n_subports) * spare;
}
