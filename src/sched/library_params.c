/* SPDX-License-Identifier: BSD-3-Clause */
/* From the configuration's words to the library's. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sched/library.h"

#define FINDINGS 64

void library_queue_sizes(const struct cfg_scheduler *shape, uint16_t qsize[QOS_CLASSES])
{
    bool pie = false;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        pie |= qos_class_used(shape, c) && shape->class[c].aqm == AQM_PIE;
    /* PIE is configured for all classes at once, and each must have a tail of at least one packet
     * within its queue: so there, even an unused class has a queue of one. */
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        qsize[c] = qos_class_used(shape, c) ? shape->class[c].size : pie;
}

/* Milliseconds in which a rate (bit/s) earns that many frames. */
static uint64_t period_for(const struct cfg_scheduler *shape, double frames, uint64_t rate)
{
    return (uint64_t)ceil(frames * (shape->mtu + shape->overhead) * 8000 / rate);
}

int library_pipe_params(const struct library *s, const struct qos_shape *shape,
                        struct rte_sched_pipe_params *p)
{
    struct qos_finding f[FINDINGS];
    unsigned n = qos_shape_check(&s->shape, s->clock, shape, f, FINDINGS);
    uint16_t qsize[QOS_CLASSES];

    for (unsigned i = 0; i < n; i++)
        if (f[i].error)
            return -EINVAL;

    uint64_t frame = s->shape.mtu + s->shape.overhead;
    uint64_t room = shape->burst - frame;
    memset(p, 0, sizeof(*p));
    p->tb_rate = qos_fit_rate(s->clock, shape->rate, room < 64 ? room : 64, NULL);
    p->tb_size = shape->burst;
    p->tc_period =
        qos_has_caps(&s->shape, shape) ? shape->tc_period_ms : qos_unbound_period_ms(s->clock);
    library_queue_sizes(&s->shape, qsize);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t rate = shape->class_rate[c] / 8;
        /* The library wants 0 where there is no queue, and no more than the rate of all. */
        if (qsize[c] == 0)
            continue;
        p->tc_rate[c] = !qos_class_used(&s->shape, c) || shape->class_rate[c] == shape->rate ||
                                rate > p->tb_rate
                            ? p->tb_rate
                            : rate;
        if (p->tc_rate[c] == 0)
            return -EINVAL;
    }
    p->tc_ov_weight = shape->oversubscription_weight;
    memcpy(p->wrr_weights, shape->weight, sizeof(p->wrr_weights));
    return 0;
}

/* Over what time a subport's class caps hold: up to a frame of each period is lost. */
static uint64_t subport_period(const struct library *s, const struct cfg_subport *subport,
                               uint64_t rate)
{
    uint64_t least = UINT64_MAX, period;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(&s->shape, c) && subport->class_rate[c] < rate &&
            subport->class_rate[c] < least)
            least = subport->class_rate[c];
    if (least != UINT64_MAX)
        return period_for(&s->shape, 200, least);
    if (!s->shape.oversubscription)
        return qos_unbound_period_ms(s->clock);
    /* Once in this time the library adapts what it allows each subscriber, by 1/128, but to no less
     * than a frame in this time: so a subscriber's fair share must be more than that. */
    period = period_for(&s->shape, fmax(100, 2.0 * subport->n_pipes), rate);
    return period == 0 ? 1 : period;
}

int library_subport_params(const struct library *s, const struct cfg_subport *subport,
                           uint64_t rate, struct rte_sched_subport_profile_params *p)
{
    uint64_t frame = s->shape.mtu + s->shape.overhead, bytes = rate / 8;

    memset(p, 0, sizeof(*p));
    if (rate == 0 || rate > s->shape.rate)
        return -EINVAL;
    p->tb_rate = qos_fit_rate(s->clock, rate, frame, NULL);
    if (p->tb_rate == 0)
        return -EINVAL;
    /* 8 ms: a core that is away for so long does not lose rate. */
    p->tb_size = bytes / 125 > 64 * frame ? bytes / 125 : 64 * frame;
    p->tc_period = subport_period(s, subport, rate);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t class_rate = subport->class_rate[c] / 8;
        p->tc_rate[c] =
            subport->class_rate[c] >= rate || class_rate > p->tb_rate ? p->tb_rate : class_rate;
        if (!qos_class_used(&s->shape, c))
            p->tc_rate[c] = p->tb_rate; /* the library wants one even where there is no queue */
        else if (p->tc_rate[c] == 0)
            return -EINVAL;
    }
    return 0;
}

static void red_params(const struct cfg_class *k, struct rte_red_params p[RTE_COLORS])
{
    /* Both thresholds 0 switch RED off for a class. */
    for (unsigned colour = 0; colour < RTE_COLORS && k->size != 0 && k->aqm == AQM_RED; colour++)
        p[colour] = (struct rte_red_params){.min_th = k->red_min,
                                            .max_th = k->red_max,
                                            .maxp_inv = k->red_inverse_probability,
                                            .wq_log2 = k->red_weight_log2};
}

/* A class that is to drop at its tail only: the library has no switch for a single class, but drops
 * by chance only while a class's burst allowance is exactly 0. It takes the update interval off the
 * allowance in 32-bit cycles without stopping at 0; from 1 ms, by 65535 ms at a time, it does not
 * meet 0 in years. */
static struct rte_pie_params pie_params(const struct cfg_class *k)
{
    if (k->size != 0 && k->aqm == AQM_PIE)
        return (struct rte_pie_params){.qdelay_ref = k->pie_target_ms,
                                       .dp_update_interval = k->pie_update_ms,
                                       .max_burst = k->pie_max_burst_ms,
                                       .tailq_th = k->pie_tail};
    return (struct rte_pie_params){.qdelay_ref = UINT16_MAX,
                                   .dp_update_interval = UINT16_MAX,
                                   .max_burst = 1,
                                   .tailq_th = k->size == 0 ? 1 : k->size};
}

enum qos_aqm library_aqm_params(const struct cfg_scheduler *shape, struct rte_sched_cman_params *p)
{
    enum qos_aqm aqm = AQM_TAIL;

    memset(p, 0, sizeof(*p));
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(shape, c) && shape->class[c].aqm != AQM_TAIL)
            aqm = shape->class[c].aqm;
    p->cman_mode = aqm == AQM_PIE ? RTE_SCHED_CMAN_PIE : RTE_SCHED_CMAN_RED;
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        if (aqm == AQM_RED)
            red_params(&shape->class[c], p -> red_params[c]);
        else if (aqm == AQM_PIE)
            p->pie_params[c] = pie_params(&shape->class[c]);
    }
    return aqm;
}
