/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/check.h"

#include <math.h>

#include "sched/backend.h"
#include "sched/shards/shard.h"

#define KEPT_AWAY_SECS 1e-4 /* interrupts keep a core away for so long */
#define MAX_QUEUE_SIZE 32768
#define MAX_FINDINGS   64   /* of one shape; there are fewer */
#define RED_MAX        1023 /* packets: DPDK's limit for RED's thresholds */
#define RED_MAX_WEIGHT 12   /* log2 */

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
        [QOS_CODEL_INVALID] = "FQ-CoDel needs a target above 0 and below its interval",
        [QOS_L4S_INVALID] =
            "L4S needs a step above 0 and below its target, and a coupling of 1 to 10",
        [QOS_AQM_UNKNOWN] = "librte_sched has neither FQ-CoDel nor L4S: use the wheel, RED or PIE",
        [QOS_AQM_MIXED] = "librte_sched cannot have both RED and PIE in one scheduler",
        [QOS_PIPES_INVALID] = "blocks of pipes are not a power of two",
        [QOS_SUBPORTS_INVALID] = "number of subports is not 1..256",
        [QOS_MEMORY_WRAPS] = "queues take more than the 4 GiB per subport that librte_sched counts",
    };

    return text[p];
}

uint64_t qos_check_clock(const struct cfg_scheduler *s, uint64_t hz, const uint64_t *rates,
                         unsigned n)
{
    const struct sched_backend *backend = sched_backend_of(s);

    return backend->clock != NULL ? backend->clock(s, hz, rates, n) : 0;
}

/* --- a shape --- */

struct class_period class_period_of(const struct cfg_scheduler *s, const struct qos_shape *shape,
                                    unsigned class)
{
    double bytes_per_ms = shape->class_rate[class] / 8000.0;
    double credits = bytes_per_ms * shape->tc_period_ms;
    uint32_t frame = qos_largest_frame(s);

    return (struct class_period){
        .credits = credits,
        .achieved = shape->class_rate[class] * (1 - fmin(1, (frame - 1) / credits)),
        .enough = ceil(frame / SCHED_DEVIATION / bytes_per_ms),
    };
}

static void check_rate(struct findings *l, const struct cfg_scheduler *s, uint64_t clock,
                       uint64_t rate)
{
    if (rate == 0)
        FIND_ERROR(l, QOS_RATE_ZERO);
    else if (rate > s->rate)
        FIND_ERROR(l, QOS_RATE_ABOVE_PORT, .wanted = rate, .achieved = s->rate);
    else
        sched_backend_of(s)->check_rate(l, clock, rate);
}

static void check_burst(struct findings *l, const struct cfg_scheduler *s,
                        const struct qos_shape *shape)
{
    uint32_t frame = qos_largest_frame(s);
    double kept_away = frame + shape->rate / 8.0 * KEPT_AWAY_SECS;

    if (shape->burst < frame)
        FIND_ERROR(l, QOS_BURST_BELOW_FRAME, .wanted = shape->burst, .achieved = frame);
    else if (shape->burst < kept_away)
        FIND_WARNING(l, QOS_BURST_SHORT, .wanted = shape->burst, .achieved = kept_away);
}

static void check_classes(struct findings *l, const struct cfg_scheduler *s,
                          const struct qos_shape *shape)
{
    if (qos_has_caps(s, shape) && shape->tc_period_ms == 0) {
        FIND_ERROR(l, QOS_PERIOD_ZERO);
        return;
    }
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t rate = shape->class_rate[c];

        if (!qos_class_used(s, c))
            continue;
        if (rate == 0 || rate > shape->rate) {
            FIND_ERROR(l, QOS_CLASS_ABOVE_RATE, .class = c, .wanted = rate,
                       .achieved = shape->rate);
        } else if (rate < shape->rate) {
            struct class_period p = class_period_of(s, shape, c);

            if (p.credits < qos_largest_frame(s))
                FIND_ERROR(l, QOS_CLASS_BELOW_FRAME, .class = c, .wanted = p.enough,
                           .achieved = p.achieved);
        }
    }
}

static void check_weights(struct findings *l, const struct qos_shape *shape)
{
    for (unsigned q = 0; q < QOS_BE_QUEUES; q++) {
        if (shape->weight[q] != 0)
            continue;
        FIND_ERROR(l, QOS_WEIGHT_ZERO, .class = QOS_BE);
        return;
    }
    if (shape->oversubscription_weight == 0)
        FIND_ERROR(l, QOS_WEIGHT_ZERO, .class = QOS_CLASSES);
}

unsigned qos_shape_check(const struct cfg_scheduler *s, uint64_t clock,
                         const struct qos_shape *shape, struct qos_finding *f, unsigned max)
{
    const struct sched_backend *backend = sched_backend_of(s);
    struct findings l = {f, 0, max};

    check_rate(&l, s, clock, shape->rate);
    check_burst(&l, s, shape);
    check_classes(&l, s, shape);
    check_weights(&l, shape);
    if (backend->check_shape != NULL)
        backend->check_shape(&l, s, shape);
    return l.n;
}

bool qos_shape_fits(const struct cfg_scheduler *s, uint64_t clock, const struct qos_shape *shape)
{
    struct qos_finding f[MAX_FINDINGS];
    unsigned n = qos_shape_check(s, clock, shape, f, MAX_FINDINGS);

    for (unsigned i = 0; i < n; i++)
        if (f[i].error)
            return false;
    return true;
}

/* --- a scheduler --- */

static void check_red(struct findings *l, const struct cfg_class *k, unsigned class)
{
    if (k->red_min == 0 || k->red_min >= k->red_max || k->red_max > RED_MAX ||
        k->red_inverse_probability == 0 || k->red_weight_log2 == 0 ||
        k->red_weight_log2 > RED_MAX_WEIGHT)
        FIND_ERROR(l, QOS_RED_INVALID, .class = class);
}

static void check_pie(struct findings *l, const struct cfg_class *k, unsigned class)
{
    if (k->pie_target_ms == 0 || k->pie_update_ms == 0 || k->pie_max_burst_ms == 0 ||
        k->pie_tail == 0 || k->pie_tail > k->size)
        FIND_ERROR(l, QOS_PIE_INVALID, .class = class);
}

static void check_queues(struct findings *l, const struct cfg_scheduler *s)
{
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        const struct cfg_class *k = &s->class[c];

        if (!qos_class_used(s, c))
            continue;
        if ((k->size & (k->size - 1)) != 0 || k->size > MAX_QUEUE_SIZE)
            FIND_ERROR(l, QOS_SIZE_INVALID, .class = c, .wanted = k->size);
        if (k->aqm == AQM_RED)
            check_red(l, k, c);
        else if (k->aqm == AQM_PIE)
            check_pie(l, k, c);
        else if (k->aqm == AQM_CODEL && (k->codel_target_us == 0 || k->codel_active == 0 ||
                                         k->codel_target_us >= k->codel_interval_us))
            FIND_ERROR(l, QOS_CODEL_INVALID, .class = c);
        else if (k->aqm == AQM_L4S &&
                 (k->l4s_step_us == 0 || k->l4s_step_us >= k->l4s_target_us ||
                  k->l4s_coupling == 0 || k->l4s_coupling > QOS_L4S_COUPLING_MAX))
            FIND_ERROR(l, QOS_L4S_INVALID, .class = c);
    }
    if (!qos_class_used(s, QOS_BE))
        FIND_ERROR(l, QOS_BE_UNUSED, .class = QOS_BE);
}

static void check_subport_rates(struct findings *l, const struct cfg_scheduler *s,
                                enum qos_direction direction)
{
    for (unsigned i = 0; i < s->n_subports; i++) {
        uint64_t rate = s->subports[i].rate[direction];

        if (rate == 0)
            FIND_ERROR(l, QOS_RATE_ZERO, .class = i);
        else if (rate > s->rate)
            FIND_ERROR(l, QOS_RATE_ABOVE_PORT, .class = i, .wanted = rate, .achieved = s->rate);
    }
}

unsigned qos_scheduler_check(const struct cfg_scheduler *s, enum qos_direction direction,
                             struct qos_finding *f, unsigned max)
{
    const struct sched_backend *backend = sched_backend_of(s);
    bool pipes_valid = s->pipes.block != 0 && (s->pipes.block & (s->pipes.block - 1)) == 0 &&
                       s->pipes.n % s->pipes.block == 0;
    bool subports_valid = s->n_subports != 0 && s->n_subports <= QOS_MAX_SUBPORTS;
    struct findings l = {f, 0, max};
    unsigned before;

    if (s->rate == 0 || s->rate > QOS_MAX_RATE)
        FIND_ERROR(&l, s->rate == 0 ? QOS_RATE_ZERO : QOS_RATE_ABOVE_PORT, .class = QOS_CLASSES,
                   .wanted = s->rate, .achieved = QOS_MAX_RATE);
    before = l.n;
    check_queues(&l, s);
    if (backend->check_scheduler != NULL)
        backend->check_scheduler(&l, s);
    if (!pipes_valid)
        FIND_ERROR(&l, QOS_PIPES_INVALID, .wanted = s->pipes.block);
    if (!subports_valid)
        FIND_ERROR(&l, QOS_SUBPORTS_INVALID, .wanted = s->n_subports);
    if (l.n == before && qos_sched_bytes(s, QOS_MAX_PROFILES) == 0)
        FIND_ERROR(&l, QOS_MEMORY_WRAPS);
    if (pipes_valid && subports_valid && s->rate != 0)
        check_subport_rates(&l, s, direction);
    return l.n;
}

uint64_t qos_sched_bytes(const struct cfg_scheduler *s, unsigned max_profiles)
{
    uint64_t own = sched_backend_of(s)->bytes(s, max_profiles);
    uint64_t counters = (uint64_t)s->n_subports * QOS_CLASSES *
                            (sizeof(struct sched_class_state) + sizeof(struct sched_class_rest)) +
                        s->pipes.n * sizeof(struct sched_pipe_counters) + 3 * SCHED_MALLOC_BYTES;

    if (own != 0 && s->backend == QOS_LIBRTE_SCHED) /* the wheel's are in its own memory */
        own += counters;
    return own;
}

uint64_t qos_shards_bytes(const struct cfg_scheduler *s, unsigned max_profiles)
{
    struct cfg_scheduler shape = qos_shard_shape(s);
    uint64_t one = qos_sched_bytes(&shape, max_profiles);

    if (qos_shards(s) == 1)
        return one;
    return qos_shards(s) * (one + shard_bytes(s->n_subports) + SCHED_MALLOC_BYTES) +
           shards_bytes(s->n_subports) + 3 * SCHED_MALLOC_BYTES;
}
