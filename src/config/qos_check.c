/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a scheduler do what a configuration asks of it, and how well. */
#include "config/qos_fit.h"

#include <math.h>

#define DEVIATION   0.01 /* from here on it is worth a warning */
#define FAR_OFF     0.1
#define AWAY        1e-4 /* s: interrupts keep a core away so long */
#define MAX_SIZE    32768
#define RED_MAX     1023 /* packets: the library's limit for RED's thresholds */
#define WRR_COUNTER 65535

struct findings {
    struct qos_finding *f;
    unsigned n, max;
};

static void find(struct findings *l, struct qos_finding f)
{
    if (l->n < l->max)
        l->f[l->n++] = f;
}

#define ERROR(l, p, ...)   find(l, (struct qos_finding){.problem = (p), .error = true, __VA_ARGS__})
#define WARNING(l, p, ...) find(l, (struct qos_finding){.problem = (p), __VA_ARGS__})

bool qos_class_used(const struct cfg_scheduler *s, unsigned class)
{
    return s->class[class].size != 0;
}

bool qos_has_caps(const struct cfg_scheduler *s, const struct qos_shape *shape)
{
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(s, c) && shape->class_rate[c] < shape->rate)
            return true;
    return false;
}

const char *qos_problem_text(enum qos_problem p)
{
    static const char *const text[QOS_PROBLEMS] = {
        [QOS_RATE_ZERO] = "rate is 0",
        [QOS_RATE_ABOVE_PORT] = "rate is above that of the port",
        [QOS_RATE_TOO_LOW] = "rate is lower than the scheduler can represent on this port",
        [QOS_RATE_DEVIATES] = "librte_sched cannot represent the rate",
        [QOS_BURST_BELOW_FRAME] =
            "burst is smaller than the largest frame, which could never leave",
        [QOS_BURST_SHORT] = "burst is so short that a core which is away for 100 us loses rate",
        [QOS_CLASS_ABOVE_RATE] = "rate of the class is 0 or above the rate of all",
        [QOS_CLASS_BELOW_FRAME] =
            "rate of the class x tc_period is less than the largest frame, which could never leave",
        [QOS_CLASS_DEVIATES] = "rate of the class x tc_period is few frames: what is left of each "
                               "period is lost",
        [QOS_UNCAPPED_DEVIATES] = "tc_period, which other classes need, takes rate from a class "
                                  "without a cap: what is left of each period is lost",
        [QOS_PERIOD_ZERO] = "tc_period is 0, but a class has a rate of its own",
        [QOS_WEIGHT_ZERO] = "a weight is 0",
        [QOS_WEIGHTS_TOO_DIFFERENT] =
            "weights of best effort have too large a common multiple for librte_sched",
        [QOS_BE_UNUSED] = "best effort needs a queue size",
        [QOS_SIZE_INVALID] = "queue size is not a power of two from 1 to 32768",
        [QOS_RED_INVALID] =
            "RED needs 0 < min < max <= 1023, an inverse probability of 1..255 and a "
            "weight of 1..12",
        [QOS_PIE_INVALID] = "PIE needs times above 0 and a tail of 1 to the queue's size",
        [QOS_AQM_MIXED] = "librte_sched cannot have both RED and PIE in one scheduler",
        [QOS_PIPES_INVALID] = "pipes per subport are not a power of two",
        [QOS_SUBPORTS_INVALID] = "number of subports is not 1..256",
        [QOS_MEMORY_WRAPS] = "queues take more than the 4 GiB per subport that librte_sched counts",
    };
    return text[p];
}

static uint32_t frame_of(const struct cfg_scheduler *s)
{
    return s->mtu + s->overhead;
}

static void check_classes(struct findings *l, const struct cfg_scheduler *s,
                          const struct qos_shape *shape)
{
    bool caps = qos_has_caps(s, shape);

    if (caps && shape->tc_period_ms == 0) {
        ERROR(l, QOS_PERIOD_ZERO);
        return;
    }
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t rate = shape->class_rate[c];
        if (!qos_class_used(s, c))
            continue;
        if (rate == 0 || rate > shape->rate) {
            ERROR(l, QOS_CLASS_ABOVE_RATE, .class = c, .wanted = rate, .achieved = shape->rate);
            continue;
        }
        if (!caps || (s->engine == QOS_WHEEL && rate == shape->rate))
            continue;
        double credits = rate / 8000.0 * shape->tc_period_ms;
        double enough = ceil(frame_of(s) / DEVIATION / (rate / 8000.0));
        /* The last frame of a period may miss a single byte of credit. */
        double got = rate * (1 - fmin(1, (frame_of(s) - 1) / credits));
        if (credits < frame_of(s))
            ERROR(l, QOS_CLASS_BELOW_FRAME, .class = c, .wanted = enough, .achieved = got);
        else if (s->engine == QOS_LIBRTE_SCHED && got < rate * (1 - DEVIATION))
            WARNING(l, rate < shape->rate ? QOS_CLASS_DEVIATES : QOS_UNCAPPED_DEVIATES, .class = c,
                    .wanted = enough, .achieved = got);
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

/* The library counts lcm / weight per byte in 16 bits, and keeps that factor in 8. */
static void check_weights(struct findings *l, const struct cfg_scheduler *s,
                          const struct qos_shape *shape)
{
    uint32_t lcm = 1, least = UINT8_MAX;

    for (unsigned q = 0; q < QOS_BE_QUEUES; q++) {
        uint32_t w = shape->weight[q];
        if (w == 0) {
            ERROR(l, QOS_WEIGHT_ZERO, .class = QOS_BE);
            return;
        }
        lcm = lcm / gcd(lcm, w) * w;
        least = w < least ? w : least;
    }
    uint32_t most = WRR_COUNTER / frame_of(s);
    if (most > UINT8_MAX)
        most = UINT8_MAX;
    if (s->engine == QOS_LIBRTE_SCHED && lcm / least > most)
        ERROR(l, QOS_WEIGHTS_TOO_DIFFERENT, .class = QOS_BE, .wanted = lcm / least,
              .achieved = most);
    if (shape->oversubscription_weight == 0)
        ERROR(l, QOS_WEIGHT_ZERO, .class = QOS_CLASSES);
}

/* What librte_sched makes of a rate. */
static void check_fit(struct findings *l, uint64_t clock, uint64_t rate)
{
    double got = 0;

    if (qos_fit_rate(clock, rate, 64, &got) == 0 || fabs(got / rate - 1) > FAR_OFF)
        ERROR(l, QOS_RATE_TOO_LOW, .wanted = rate, .achieved = clock * 8 * 3e-7);
    else if (fabs(got / rate - 1) > DEVIATION)
        WARNING(l, QOS_RATE_DEVIATES, .wanted = rate, .achieved = got);
}

unsigned qos_shape_check(const struct cfg_scheduler *s, uint64_t clock,
                         const struct qos_shape *shape, struct qos_finding *f, unsigned max)
{
    struct findings l = {f, 0, max};
    uint32_t frame = frame_of(s);

    if (shape->rate == 0)
        ERROR(&l, QOS_RATE_ZERO);
    else if (shape->rate > s->rate)
        ERROR(&l, QOS_RATE_ABOVE_PORT, .wanted = shape->rate, .achieved = s->rate);
    else if (s->engine == QOS_WHEEL && shape->rate < QOS_WHEEL_MIN_RATE)
        ERROR(&l, QOS_RATE_TOO_LOW, .wanted = shape->rate, .achieved = QOS_WHEEL_MIN_RATE);
    else if (s->engine == QOS_LIBRTE_SCHED)
        check_fit(&l, clock, shape->rate);

    double away = frame + shape->rate / 8.0 * AWAY;
    if (shape->burst < frame)
        ERROR(&l, QOS_BURST_BELOW_FRAME, .wanted = shape->burst, .achieved = frame);
    else if (shape->burst < away)
        WARNING(&l, QOS_BURST_SHORT, .wanted = shape->burst, .achieved = away);
    check_classes(&l, s, shape);
    check_weights(&l, s, shape);
    return l.n;
}

static void check_queues(struct findings *l, const struct cfg_scheduler *s)
{
    unsigned red = 0, pie = 0;

    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        const struct cfg_class *k = &s->class[c];
        if (k->size == 0)
            continue;
        if ((k->size & (k->size - 1)) != 0 || k->size > MAX_SIZE)
            ERROR(l, QOS_SIZE_INVALID, .class = c, .wanted = k->size);
        if (k->aqm == AQM_RED) {
            red++;
            if (k->red_min == 0 || k->red_min >= k->red_max || k->red_max > RED_MAX ||
                k->red_inverse_probability == 0 || k->red_weight_log2 == 0 ||
                k->red_weight_log2 > 12)
                ERROR(l, QOS_RED_INVALID, .class = c);
        } else if (k->aqm == AQM_PIE) {
            pie++;
            if (k->pie_target_ms == 0 || k->pie_update_ms == 0 || k->pie_max_burst_ms == 0 ||
                k->pie_tail == 0 || k->pie_tail > k->size)
                ERROR(l, QOS_PIE_INVALID, .class = c);
        }
    }
    if (s->engine == QOS_LIBRTE_SCHED && red != 0 && pie != 0)
        ERROR(l, QOS_AQM_MIXED);
    if (!qos_class_used(s, QOS_BE))
        ERROR(l, QOS_BE_UNUSED, .class = QOS_BE);
}

unsigned qos_scheduler_check(const struct cfg_scheduler *s, enum qos_direction direction,
                             struct qos_finding *f, unsigned max)
{
    struct findings l = {f, 0, max};
    uint32_t pipes = s->pipes_per_subport;

    if (s->rate == 0 || s->rate > QOS_MAX_RATE)
        ERROR(&l, s->rate == 0 ? QOS_RATE_ZERO : QOS_RATE_ABOVE_PORT, .class = QOS_CLASSES,
              .wanted = s->rate, .achieved = QOS_MAX_RATE);
    check_queues(&l, s);
    bool shape_known = true;
    if (pipes == 0 || (pipes & (pipes - 1)) != 0) {
        ERROR(&l, QOS_PIPES_INVALID, .wanted = pipes);
        shape_known = false;
    }
    if (s->n_subports == 0 || s->n_subports > QOS_MAX_SUBPORTS) {
        ERROR(&l, QOS_SUBPORTS_INVALID, .wanted = s->n_subports);
        shape_known = false;
    }
    if (shape_known && qos_sched_bytes(s, QOS_MAX_PROFILES) == 0)
        ERROR(&l, QOS_MEMORY_WRAPS);
    for (unsigned i = 0; shape_known && s->rate != 0 && i < s->n_subports; i++) {
        const struct cfg_subport *sp = &s->subports[i];
        uint64_t rate = sp->rate[direction];
        if (rate == 0)
            ERROR(&l, QOS_RATE_ZERO, .class = i);
        else if (rate > s->rate)
            ERROR(&l, QOS_RATE_ABOVE_PORT, .class = i, .wanted = rate, .achieved = s->rate);
    }
    return l.n;
}
