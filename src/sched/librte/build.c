/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port of librte_sched, built from the parameters of a scheduler. The library frees the whole
 * port, and more than once, when it gets an argument that it does not like: so everything is
 * checked before.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "sched/librte/librte_sched.h"

#define SUBPORT_SHARE     125 /* a subport's bucket holds 1/125 s: a core may be away for 8 ms */
#define SUBPORT_FRAMES    64  /* and at least so many frames */
#define CAPPED_FRAMES     200 /* of a capped class in each period, of which it may lose one */
#define OVERSOLD_FRAMES   100 /* of best effort in each period of an oversold subport */
#define FRAMES_PER_SHARER 2.0 /* and at least so many for each subscriber */

/* --- from the parameters to the library's notation --- */

int librte_pipe_params(const struct librte *s, const struct qos_shape *shape,
                       struct rte_sched_pipe_params *p)
{
    bool caps = qos_has_caps(&s->shape, shape);
    uint16_t qsize[QOS_CLASSES];
    uint64_t room;

    if (!qos_shape_fits(&s->shape, s->clock, shape))
        return -EINVAL;
    room = shape->burst - qos_largest_frame(&s->shape);
    memset(p, 0, sizeof(*p));
    p->tb_rate = librte_fit_rate(s->clock, shape->rate, RTE_MIN(room, LIBRTE_MAX_CREDITS), NULL);
    p->tb_size = shape->burst;
    p->tc_period = caps ? shape->tc_period_ms : librte_unbound_period_ms(s->clock);
    librte_queue_sizes(&s->shape, qsize);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t rate = shape->class_rate[c] / 8;
        bool capped = qos_class_used(&s->shape, c) && shape->class_rate[c] != shape->rate;

        if (qsize[c] == 0)
            continue; /* the library wants a rate of 0 where there is no queue */
        p->tc_rate[c] = capped && rate <= p->tb_rate ? rate : p->tb_rate;
        if (p->tc_rate[c] == 0)
            return -EINVAL;
    }
    p->tc_ov_weight = shape->oversubscription_weight;
    memcpy(p->wrr_weights, shape->weight, sizeof(p->wrr_weights));
    return 0;
}

/* Milliseconds in which a rate (bit/s) earns that many frames. */
static uint64_t period_for(const struct cfg_scheduler *shape, double frames, uint64_t rate)
{
    return (uint64_t)ceil(frames * qos_largest_frame(shape) * 8000 / rate);
}

/* The time over which a subport's class caps hold: up to a frame of each period is lost. */
static uint64_t subport_period(const struct librte *s, const struct cfg_subport *subport,
                               uint64_t rate)
{
    uint64_t least = UINT64_MAX, period;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(&s->shape, c) && subport->class_rate[c] < rate)
            least = RTE_MIN(least, subport->class_rate[c]);
    if (least != UINT64_MAX)
        return period_for(&s->shape, CAPPED_FRAMES, least);
    if (!s->shape.oversubscription)
        return librte_unbound_period_ms(s->clock);
    /* Once in a period the library adapts what it allows each subscriber, by 1/128, but to no less
     * than a frame in each period: so a subscriber's fair share must be more than that. */
    period =
        period_for(&s->shape, fmax(OVERSOLD_FRAMES, FRAMES_PER_SHARER * subport->n_pipes), rate);
    return period == 0 ? 1 : period;
}

int librte_subport_params(const struct librte *s, const struct cfg_subport *subport, uint64_t rate,
                          struct rte_sched_subport_profile_params *p)
{
    uint64_t frame = qos_largest_frame(&s->shape);

    memset(p, 0, sizeof(*p));
    if (rate == 0 || rate > s->shape.rate)
        return -EINVAL;
    p->tb_rate = librte_fit_rate(s->clock, rate, frame, NULL);
    if (p->tb_rate == 0)
        return -EINVAL;
    p->tb_size = RTE_MAX(rate / 8 / SUBPORT_SHARE, SUBPORT_FRAMES * frame);
    p->tc_period = subport_period(s, subport, rate);
    for (unsigned c = 0; c < QOS_CLASSES; c++) {
        uint64_t class_rate = subport->class_rate[c] / 8;
        bool capped = qos_class_used(&s->shape, c) && subport->class_rate[c] < rate;

        /* the library wants a rate even where there is no queue */
        p->tc_rate[c] = capped && class_rate <= p->tb_rate ? class_rate : p->tb_rate;
        if (p->tc_rate[c] == 0)
            return -EINVAL;
    }
    return 0;
}

/* RED stays off for a class whose thresholds are 0. */
static void red_params(const struct cfg_class *k, struct rte_red_params p[RTE_COLORS])
{
    for (unsigned colour = 0; colour < RTE_COLORS && k->size != 0 && k->aqm == AQM_RED; colour++)
        p[colour] = (struct rte_red_params){.min_th = k->red_min,
                                            .max_th = k->red_max,
                                            .maxp_inv = k->red_inverse_probability,
                                            .wq_log2 = k->red_weight_log2};
}

/* The library cannot switch PIE off for a single class, but drops by chance only while the class's
 * burst allowance is exactly 0. From that allowance the library takes the update interval, in
 * 32-bit cycles and without stopping at 0: starting at 1 ms, in steps of 65535 ms, it does not meet
 * 0 in years. So a class without PIE drops at its tail only. */
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

/* RED or PIE of all classes; returns which of them, or AQM_TAIL for neither. */
static enum qos_aqm aqm_params(const struct cfg_scheduler *shape, struct rte_sched_cman_params *p)
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

/* --- the port --- */

static int choose_clock(struct librte *s, const struct sched_config *config)
{
    uint64_t rates[QOS_MAX_PROFILES];

    for (unsigned i = 0; i < config->n_profiles; i++)
        rates[i] = config->profiles[i].shape[s->direction].rate;
    s->clock = librte_fit_clock(rte_get_tsc_hz(), s->shape.rate, rates, config->n_profiles);
    return sched_check_profiles(config, s->clock);
}

static int make_port(struct librte *s, const struct sched_config *config)
{
    static struct rte_sched_subport_profile_params profiles[QOS_MAX_SUBPORTS];
    struct rte_sched_port_params p = {
        .name = config->name,
        .socket = config->socket < 0 ? 0 : config->socket,
        .rate = s->clock,
        .mtu = s->shape.mtu,
        .frame_overhead = s->overhead,
        .n_subports_per_port = s->n_port_subports,
        .subport_profiles = profiles,
        .n_subport_profiles = s->n_subports,
        .n_max_subport_profiles = s->n_port_subports + LIBRTE_SUBPORT_RATES + LIBRTE_DRAIN_PROFILES,
        .n_pipes_per_subport = s->shape.pipes.block,
    };

    for (uint32_t i = 0; i < s->n_subports; i++) {
        uint64_t rate = s->subport[i].rate[s->direction];

        if (librte_subport_params(s, &s->subport[i], rate, &profiles[i]) != 0) {
            log_error("scheduler %s: subport %u has a rate that librte_sched cannot represent",
                      config->name, i);
            return -EINVAL;
        }
        s->subport_profile[i].subport = i;
        s->subport_profile[i].rate = rate;
    }
    s->n_subport_profiles = s->n_subports;
    s->port = rte_sched_port_config(&p);
    return s->port == NULL ? -ENOMEM : 0;
}

/* Subports beyond those of the configuration have one pipe: the library counts subports by powers
 * of two. */
static int configure_subport(struct librte *s, uint32_t i, struct rte_sched_pipe_params *pipes,
                             struct rte_sched_cman_params *cman)
{
    struct rte_sched_subport_params p = {
        .n_pipes_per_subport_enabled = i < s->n_subports ? s->shape.pipes.block : 1,
        .pipe_profiles = pipes,
        .n_pipe_profiles = s->n_profiles,
        .n_max_pipe_profiles = s->max_profiles + LIBRTE_DRAIN_PROFILES,
        .cman_params = s->aqm == AQM_TAIL ? NULL : cman,
    };
    uint32_t profile = i < s->n_subports ? i : 0;

    librte_queue_sizes(&s->shape, p.qsize);
    if (rte_sched_subport_config(s->port, i, &p, profile) != 0) {
        s->port = NULL; /* the library has freed it */
        return -ENOMEM;
    }
    return rte_sched_subport_tc_ov_config(s->port, i, s->shape.oversubscription);
}

static int configure_subports(struct librte *s, const struct sched_config *config)
{
    struct rte_sched_pipe_params *pipes = calloc(config->n_profiles, sizeof(*pipes));
    struct rte_sched_cman_params cman;
    int ret = pipes == NULL ? -ENOMEM : 0;

    s->aqm = aqm_params(&s->shape, &cman);
    for (unsigned i = 0; ret == 0 && i < config->n_profiles; i++)
        ret = librte_pipe_params(s, &config->profiles[i].shape[s->direction], &pipes[i]);
    for (uint32_t i = 0; ret == 0 && i < s->n_port_subports; i++)
        ret = configure_subport(s, i, pipes, &cman);
    free(pipes);
    return ret;
}

/* Let the library's time pass before any pipe gets its profile: one that is configured at time 0 is
 * to the library one that never was, so that changing its profile would count its share twice. */
static void leave_time_zero(struct librte *s)
{
    uint64_t start = rte_get_tsc_cycles(), wait = 4 * rte_get_tsc_hz() / s->clock + 1;
    struct rte_mbuf *none;

    while (rte_get_tsc_cycles() - start < wait)
        ;
    rte_sched_port_dequeue(s->port, &none, 1);
    s->previous = rte_rdtsc();
}

int librte_build(struct librte *s, const struct sched_config *config)
{
    int ret = choose_clock(s, config);
    uint64_t before;

    if (ret != 0)
        return ret;
    s->n_profiles = config->n_profiles;
    s->max_profiles = config->max_profiles;
    s->n_port_subports = librte_subports(s->n_subports);
    s->n_pipes = s->shape.pipes.n;
    s->pipe_shift = (uint32_t)__builtin_ctz(s->shape.pipes.block);
    s->cycles_per_byte = (uint64_t)((double)rte_get_tsc_hz() * 8 / s->shape.rate * (1 << 20) + 0.5);
    s->slack = (uint64_t)(SCHED_CATCH_UP_SECS * rte_get_tsc_hz());

    before = sched_heap_bytes(config->socket);
    ret = make_port(s, config);
    if (ret == 0)
        ret = configure_subports(s, config);
    if (ret == -ENOMEM)
        log_error("scheduler %s: no memory for %llu bytes", config->name,
                  (unsigned long long)qos_sched_bytes(&s->shape, s->max_profiles));
    if (ret != 0)
        return ret;
    s->base.bytes = sched_heap_bytes(config->socket) - before;
    leave_time_zero(s);
    return 0;
}
