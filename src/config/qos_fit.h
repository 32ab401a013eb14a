/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can a scheduler do what a configuration asks, and in how much memory; and what librte_sched makes
 * of a rate, and the nearest to it that can be got. (Our own engine represents all rates.) Free of
 * DPDK; the facts are in doc/qos.md. The library measures time in bytes of a port's line: its clock
 * ticks so many times a second as the port rate that it is told. That rate is ours to choose (the
 * scheduler paces the port itself), so it is chosen to make the profiles' rates exact.
 */
#ifndef CONFIG_QOS_FIT_H
#define CONFIG_QOS_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "config/qos.h"

#define QOS_NOMINAL_HZ 2500000000u /* a TSC, where the machine is not known */
#define QOS_MAX_RATE   UINT64_C(1000000000000)
/** bit/s: below, the cycles for a large packet do not fit into the wheel's arithmetic. */
#define QOS_WHEEL_MIN_RATE 1000u

/** A token bucket as the library runs it: credits (bytes) in every period (clock ticks). */
struct qos_fraction {
    uint64_t credits, period;
};

/** What the library makes of rate bytes/s on a clock of that many ticks/s. {0, 0} if it cannot: the
 * rate is 0, above the clock, or below 2e-7 of it. */
struct qos_fraction qos_fraction(uint64_t clock, uint64_t rate);

/**
 * The rate in bytes/s to ask for, so that what comes out is nearest to rate (bit/s). No more than
 * max_credits come at once (the bucket loses what it cannot hold), if that is possible. achieved
 * (may be NULL) is in bit/s. Returns 0 if the rate is impossible.
 */
uint64_t qos_fit_rate(uint64_t clock, uint64_t rate, uint64_t max_credits, double *achieved);

/**
 * The clock (ticks/s) for a port of port_rate bit/s on a machine with that TSC, with which the
 * worst of n rates (bit/s; those above port_rate do not count) is met best. Always 1.02 to about 2
 * times as fast as the port, but never below 1 MHz; one tick is a whole number of 1/256 TSC cycles.
 */
uint64_t qos_fit_clock(uint64_t hz, uint64_t port_rate, const uint64_t *rates, unsigned n);

/** A period in ms in which a class that is not capped can use up no credits: it makes the library's
 * clock ticks per period wrap to about a minute, but not the credits, which last for a day or more.
 * Needs class rates of at most half the clock. */
uint64_t qos_unbound_period_ms(uint64_t clock);

/** Is the class used, and has the shape a cap on it? */
bool qos_class_used(const struct cfg_scheduler *s, unsigned class);
bool qos_has_caps(const struct cfg_scheduler *s, const struct qos_shape *shape);

enum qos_problem {
    QOS_RATE_ZERO,
    QOS_RATE_ABOVE_PORT,
    QOS_RATE_TOO_LOW, /* below what the engine can represent on this port */
    QOS_RATE_DEVIATES,
    QOS_BURST_BELOW_FRAME,
    QOS_BURST_SHORT, /* a core that is away for 100 us loses credits */
    QOS_CLASS_ABOVE_RATE,
    QOS_CLASS_BELOW_FRAME,     /* not even one frame fits into the class's credits of a period */
    QOS_CLASS_DEVIATES,        /* what is left of a period's credits may be more than 1 % */
    QOS_UNCAPPED_DEVIATES,     /* the same for a class without a cap, beside classes with one */
    QOS_PERIOD_ZERO,           /* a class is capped, but over no time */
    QOS_WEIGHT_ZERO,           /* of a best-effort queue, or of oversubscription */
    QOS_WEIGHTS_TOO_DIFFERENT, /* 16-bit counters of the library would wrap */
    QOS_BE_UNUSED,
    QOS_SIZE_INVALID, /* queue size is not a power of two up to 32768 */
    QOS_RED_INVALID,
    QOS_PIE_INVALID,
    QOS_AQM_MIXED, /* RED and PIE in one scheduler */
    QOS_PIPES_INVALID,
    QOS_SUBPORTS_INVALID,
    QOS_MEMORY_WRAPS, /* beyond the library's 32-bit sizes */
    QOS_PROBLEMS
};

struct qos_finding {
    enum qos_problem problem;
    bool error;              /* else a warning */
    unsigned class;          /* that it is about; subport for a subport's rate */
    double wanted, achieved; /* bit/s for rates, bytes for bursts, ms for a period that would do */
};

/** In words, for a person. */
const char *qos_problem_text(enum qos_problem p);

/** What is wrong with a shape on a scheduler; clock as of qos_fit_clock(). At most max findings;
 * returns their number. */
unsigned qos_shape_check(const struct cfg_scheduler *s, uint64_t clock,
                         const struct qos_shape *shape, struct qos_finding *f, unsigned max);

/** What is wrong with a scheduler itself. */
unsigned qos_scheduler_check(const struct cfg_scheduler *s, enum qos_direction direction,
                             struct qos_finding *f, unsigned max);

/** What our own engine keeps, in bytes. Its code asserts them. */
enum {
    QOS_SCHED_CLASS = 64, /* counters of a class of a subport */
    QOS_WHEEL_PIPE = 64,
    QOS_WHEEL_QUEUE = 32,
    QOS_WHEEL_DROPS = 24, /* of a queue */
    QOS_WHEEL_RED = 16,
    QOS_WHEEL_PIE = 80,
    QOS_WHEEL_CAP = 16, /* of a class */
    QOS_WHEEL_SUBPORT = 1024,
    QOS_WHEEL_PROFILE = 256,
    QOS_WHEEL_SELF = 35200,
};

/** Where it keeps them: offsets in one piece of memory. Only queues and classes that are used
 * count. */
struct qos_wheel_layout {
    unsigned queues, classes, aqm_queues; /* of a pipe */
    unsigned aqm_size;                    /* bytes for each of aqm_queues */
    uint64_t pipe, queue, drops, aqm, cap, ring, subport, profile, total;
};

void qos_wheel_layout(const struct cfg_scheduler *s, unsigned max_profiles,
                      struct qos_wheel_layout *l);

/** Bytes of memory that the scheduler takes with room for max_profiles; 0 if it is impossible
 * because the library's 32-bit sizes wrap. */
uint64_t qos_sched_bytes(const struct cfg_scheduler *s, unsigned max_profiles);

#endif
