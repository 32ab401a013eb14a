/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine on librte_sched: what its files share. */
#ifndef SCHED_LIBRARY_H
#define SCHED_LIBRARY_H

#include <rte_sched.h>

#include "sched/engine.h"

/** The library's clock looks at the low bits of a time difference only: 2^24 TSC cycles. */
#define LIBRARY_CLOCK_WRAP_LOG2 24
/** Rates that a subport can be given, over the life of a scheduler. */
#define LIBRARY_SUBPORT_RATES QOS_MAX_SUBPORTS
/** Room for the profile that empties everything at the end. */
#define LIBRARY_DRAIN_PROFILES 1

/** All of it belongs to the thread that schedules, but for what base says. */
struct library {
    struct sched base;
    struct rte_sched_port *port;
    /* The pacer: the line is busy until free_at (TSC). Its times are in TSC cycles. */
    uint64_t free_at;
    uint64_t slack;           /* how far the line may lag behind before time is lost */
    uint64_t cycles_per_byte; /* in 1/2^20 */
    uint64_t previous;        /* when the library was last asked */
    uint32_t overhead;

    struct sched_drops dropped;
    enum qos_aqm aqm;
    uint64_t clock; /* port rate that the library was told, bytes/s */
    uint32_t n_pipes, pipe_shift, n_profiles, max_profiles;
    uint32_t n_subports, n_library_subports; /* as configured; the next power of two */
    uint32_t n_subport_profiles;
    struct {
        uint32_t subport;
        uint64_t rate;
    } subport_profile[QOS_MAX_SUBPORTS + LIBRARY_SUBPORT_RATES];
    struct cfg_scheduler shape; /* a copy; subports: too */
    struct cfg_subport subport[QOS_MAX_SUBPORTS];
    enum qos_direction direction;
};

static inline struct library *library_of(struct sched *s)
{
    return (struct library *)s;
}

/** The library's notation of a shape. Returns 0, or -EINVAL for one that the library would refuse
 * (it frees the whole port when it does). */
int library_pipe_params(const struct library *s, const struct qos_shape *shape,
                        struct rte_sched_pipe_params *p);

/** The library's notation of a subport with a rate in bit/s. Returns 0 or -EINVAL. */
int library_subport_params(const struct library *s, const struct cfg_subport *subport,
                           uint64_t rate, struct rte_sched_subport_profile_params *p);

/** Queue sizes of all classes as the library wants them. */
void library_queue_sizes(const struct cfg_scheduler *shape, uint16_t qsize[QOS_CLASSES]);

/** RED or PIE of all classes; returns which of them, or AQM_TAIL for neither. */
enum qos_aqm library_aqm_params(const struct cfg_scheduler *shape, struct rte_sched_cman_params *p);

/** Build the port. Returns 0, -EINVAL or -ENOMEM with the reason on stderr. */
int library_build(struct library *s, const struct sched_config *config);

#endif
