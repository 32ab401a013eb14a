/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backend on librte_sched: what its files share. librte_sched.c runs a port of the library,
 * build.c makes one, limits.c knows what the library can do. doc/qos.md says where the library
 * falls short.
 */
#ifndef SCHED_LIBRTE_SCHED_H
#define SCHED_LIBRTE_SCHED_H

#include <rte_sched.h>

#include "sched/backend.h"
#include "sched/librte/limits.h"

/** The library looks at the low bits of a time difference only: 2^24 TSC cycles. */
#define LIBRTE_CLOCK_WRAP_LOG2 24
/** Rates that subports can be given over the life of a scheduler. */
#define LIBRTE_SUBPORT_RATES QOS_MAX_SUBPORTS
/** Bytes that may come to a bucket at once: a bucket of the smallest frame holds them. */
#define LIBRTE_MAX_CREDITS 64u
/** Room for the profile that lets everything out before the port is freed. */
#define LIBRTE_DRAIN_PROFILES 1

/** A scheduler on the library. It belongs to the thread that schedules, but for what base says. */
struct librte {
    struct sched base;
    struct rte_sched_port *port;
    /* The pacer: the line is busy until free_at (TSC). Times are in TSC cycles. */
    uint64_t free_at;
    uint64_t slack;           /* how far the line may lag behind before time is lost */
    uint64_t cycles_per_byte; /* in 1/2^20 */
    uint64_t previous;        /* the last dequeue */
    uint32_t overhead;

    struct sched_drops dropped;
    enum qos_aqm aqm;
    uint64_t clock; /* port rate that the library was told, bytes/s */
    uint32_t n_pipes, pipe_shift, n_profiles, max_profiles;
    uint32_t n_subports, n_port_subports; /* as configured; as the library has them */
    uint32_t n_subport_profiles;
    struct {
        uint32_t subport;
        uint64_t rate;
    } subport_profile[QOS_MAX_SUBPORTS + LIBRTE_SUBPORT_RATES];
    struct cfg_scheduler shape; /* a copy; its subports are the following ones */
    struct cfg_subport subport[QOS_MAX_SUBPORTS];
    enum qos_direction direction;
};

static inline struct librte *librte_of(struct sched *s)
{
    return (struct librte *)s;
}

/** Subports of a port of the library with n of them: the next power of two. */
static inline uint32_t librte_subports(uint32_t n)
{
    return rte_align32pow2(n);
}

/* --- limits.c: the checks and the memory of struct sched_backend --- */

uint64_t librte_clock(const struct cfg_scheduler *s, uint64_t hz, const uint64_t *rates,
                      unsigned n);
void librte_check_rate(struct findings *l, uint64_t clock, uint64_t rate);
void librte_check_shape(struct findings *l, const struct cfg_scheduler *s,
                        const struct qos_shape *shape);
void librte_check_scheduler(struct findings *l, const struct cfg_scheduler *s);
uint64_t librte_bytes(const struct cfg_scheduler *s, unsigned max_profiles);

/* --- build.c --- */

/** A shape in the library's notation. Returns 0, or -EINVAL for one that the library would refuse:
 * it frees the whole port when it does. */
int librte_pipe_params(const struct librte *s, const struct qos_shape *shape,
                       struct rte_sched_pipe_params *p);

/** A subport with a rate in bit/s in the library's notation. Returns 0 or -EINVAL. */
int librte_subport_params(const struct librte *s, const struct cfg_subport *subport, uint64_t rate,
                          struct rte_sched_subport_profile_params *p);

/** Build the port of a scheduler whose shape is set. Returns 0, or -EINVAL or -ENOMEM with the
 * reason on stderr. */
int librte_build(struct librte *s, const struct sched_config *config);

#endif
