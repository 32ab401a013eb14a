/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a scheduler before it is built: whether its backend can do what a configuration
 * asks, and how much memory that takes. Free of DPDK, and callable before EAL starts. The reasons
 * are in doc/qos.md.
 */
#ifndef SCHED_CHECK_H
#define SCHED_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/params.h"

#define QOS_NOMINAL_HZ 2500000000u /* a TSC, where the machine is not known */

enum qos_problem {
    QOS_RATE_ZERO,
    QOS_RATE_ABOVE_PORT,
    QOS_RATE_TOO_LOW, /* below what the backend can represent on this port */
    QOS_RATE_DEVIATES,
    QOS_BURST_BELOW_FRAME,
    QOS_BURST_SHORT, /* a core that is kept away for 100 us loses credits */
    QOS_CLASS_ABOVE_RATE,
    QOS_CLASS_BELOW_FRAME,     /* not even one frame fits into the class's credits of a period */
    QOS_CLASS_DEVIATES,        /* the lost rest of a period's credits may be more than 1 % */
    QOS_UNCAPPED_DEVIATES,     /* the same for a class without a cap, beside classes with one */
    QOS_PERIOD_ZERO,           /* a class is capped, but over no time */
    QOS_WEIGHT_ZERO,           /* of a best-effort queue, or of oversubscription */
    QOS_WEIGHTS_TOO_DIFFERENT, /* 16-bit counters of librte_sched would wrap */
    QOS_BE_UNUSED,
    QOS_SIZE_INVALID, /* queue size is not a power of two up to 32768 */
    QOS_RED_INVALID,
    QOS_PIE_INVALID,
    QOS_CODEL_INVALID,
    QOS_L4S_INVALID,
    QOS_AQM_UNKNOWN, /* to librte_sched */
    QOS_AQM_MIXED,   /* RED and PIE in one scheduler of librte_sched */
    QOS_PIPES_INVALID,
    QOS_SUBPORTS_INVALID,
    QOS_MEMORY_WRAPS, /* beyond the 32-bit sizes of librte_sched */
    QOS_PROBLEMS
};

struct qos_finding {
    enum qos_problem problem;
    bool error;              /* else a warning */
    unsigned class;          /* affected class, or subport where a subport's rate is wrong */
    double wanted, achieved; /* bit/s for rates, bytes for bursts, ms for a period that would do */
};

/** A problem in words, for a person. */
const char *qos_problem_text(enum qos_problem p);

/**
 * The clock (ticks/s) that a scheduler will run on, on a machine with a TSC of hz, when n rates
 * (bit/s) are used: to be handed to qos_shape_check(). 0 for a backend that represents all rates.
 */
uint64_t qos_check_clock(const struct cfg_scheduler *s, uint64_t hz, const uint64_t *rates,
                         unsigned n);

/** Write what is wrong with a shape on a scheduler to f, at most max findings; returns their
 * number. */
unsigned qos_shape_check(const struct cfg_scheduler *s, uint64_t clock,
                         const struct qos_shape *shape, struct qos_finding *f, unsigned max);

/** Can a scheduler do what a shape says, apart from warnings? */
bool qos_shape_fits(const struct cfg_scheduler *s, uint64_t clock, const struct qos_shape *shape);

/** Write what is wrong with a scheduler itself to f, at most max findings; returns their number. */
unsigned qos_scheduler_check(const struct cfg_scheduler *s, enum qos_direction direction,
                             struct qos_finding *f, unsigned max);

/** Bytes of memory that a scheduler without errors takes with room for max_profiles; 0 where the
 * 32-bit sizes of librte_sched would wrap. */
uint64_t qos_sched_bytes(const struct cfg_scheduler *s, unsigned max_profiles);

/** Bytes of memory that all shards of a scheduler take, and what they share; without shards, as
 * qos_sched_bytes(). */
uint64_t qos_shards_bytes(const struct cfg_scheduler *s, unsigned max_profiles);

#endif
