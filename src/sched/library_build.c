/* SPDX-License-Identifier: BSD-3-Clause */
/* Build the library's port. It frees the whole port, and more than once, when it gets an argument
 * that it does not like: so everything is checked before. */
#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "base/log.h"
#include "sched/library.h"

#define PACE_SECS 4e-3 /* what a core that was away so long did not send, the line may catch up */

static int choose_clock(struct library *s, const struct sched_config *config)
{
    uint64_t rates[QOS_MAX_PROFILES];

    for (unsigned i = 0; i < config->n_profiles; i++)
        rates[i] = config->profiles[i].shape[s->direction].rate;
    s->clock = qos_fit_clock(rte_get_tsc_hz(), s->shape.rate, rates, config->n_profiles);
    return sched_check_profiles(config, s->clock);
}

/* The library counts subports by powers of two; those that nobody needs have one pipe. */
static int configure_subport(struct library *s, uint32_t i, struct rte_sched_pipe_params *pipes,
                             struct rte_sched_cman_params *cman)
{
    struct rte_sched_subport_params p = {
        .n_pipes_per_subport_enabled = i < s->n_subports ? s->shape.pipes_per_subport : 1,
        .pipe_profiles = pipes,
        .n_pipe_profiles = s->n_profiles,
        .n_max_pipe_profiles = s->max_profiles + LIBRARY_DRAIN_PROFILES,
        .cman_params = s->aqm == AQM_TAIL ? NULL : cman,
    };
    uint32_t profile = i < s->n_subports ? i : 0;

    library_queue_sizes(&s->shape, p.qsize);
    if (rte_sched_subport_config(s->port, i, &p, profile) != 0) {
        s->port = NULL; /* the library has freed it */
        return -ENOMEM;
    }
    return rte_sched_subport_tc_ov_config(s->port, i, s->shape.oversubscription);
}

static int make_port(struct library *s, const struct sched_config *config)
{
    static struct rte_sched_subport_profile_params profiles[QOS_MAX_SUBPORTS];

    for (uint32_t i = 0; i < s->n_subports; i++) {
        uint64_t rate = s->subport[i].rate[s->direction];
        if (library_subport_params(s, &s->subport[i], rate, &profiles[i]) != 0) {
            log_error("scheduler %s: subport %u has a rate that librte_sched cannot represent",
                      config->name, i);
            return -EINVAL;
        }
        s->subport_profile[i].subport = i;
        s->subport_profile[i].rate = rate;
    }
    s->n_subport_profiles = s->n_subports;
    struct rte_sched_port_params p = {
        .name = config->name,
        .socket = config->socket < 0 ? 0 : config->socket,
        .rate = s->clock,
        .mtu = s->shape.mtu,
        .frame_overhead = s->overhead,
        .n_subports_per_port = s->n_library_subports,
        .subport_profiles = profiles,
        .n_subport_profiles = s->n_subports,
        .n_max_subport_profiles =
            s->n_library_subports + LIBRARY_SUBPORT_RATES + LIBRARY_DRAIN_PROFILES,
        .n_pipes_per_subport = s->shape.pipes_per_subport,
    };
    s->port = rte_sched_port_config(&p);
    return s->port == NULL ? -ENOMEM : 0;
}

/* To the library a pipe that was configured at time 0 is one that never was: changing it later
 * would count its share twice. So let time pass before the first. */
static void leave_time_zero(struct library *s)
{
    uint64_t start = rte_get_tsc_cycles(), wait = 4 * rte_get_tsc_hz() / s->clock + 1;
    struct rte_mbuf *none;

    while (rte_get_tsc_cycles() - start < wait)
        ;
    rte_sched_port_dequeue(s->port, &none, 1);
    s->previous = rte_rdtsc();
}

static int configure_subports(struct library *s, const struct sched_config *config)
{
    struct rte_sched_pipe_params *pipes = calloc(config->n_profiles, sizeof(*pipes));
    struct rte_sched_cman_params cman;
    int ret = pipes == NULL ? -ENOMEM : 0;

    s->aqm = library_aqm_params(&s->shape, &cman);
    for (unsigned i = 0; ret == 0 && i < config->n_profiles; i++)
        ret = library_pipe_params(s, &config->profiles[i].shape[s->direction], &pipes[i]);
    for (uint32_t i = 0; ret == 0 && i < s->n_library_subports; i++)
        ret = configure_subport(s, i, pipes, &cman);
    free(pipes);
    return ret;
}

int library_build(struct library *s, const struct sched_config *config)
{
    int ret = choose_clock(s, config);

    if (ret != 0)
        return ret;
    s->n_profiles = config->n_profiles;
    s->max_profiles = config->max_profiles;
    for (s->n_library_subports = 1; s->n_library_subports < s->n_subports;)
        s->n_library_subports *= 2;
    s->n_pipes = s->n_subports * s->shape.pipes_per_subport;
    s->pipe_shift = __builtin_ctz(s->shape.pipes_per_subport);
    s->cycles_per_byte = (uint64_t)((double)rte_get_tsc_hz() * 8 / s->shape.rate * (1 << 20) + 0.5);
    s->slack = (uint64_t)(PACE_SECS * rte_get_tsc_hz());

    uint64_t before = sched_heap_bytes(config->socket);
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
