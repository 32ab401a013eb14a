/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What librte_sched can represent, and in how much memory; the facts behind it are in doc/qos.md.
 * Free of DPDK.
 *
 * The library measures time in bytes of a port's line: its clock ticks so many times a second as
 * the port rate that it is told. That rate may be chosen, because the scheduler paces the port
 * itself, so it is chosen to make the profiles' rates exact.
 */
#ifndef SCHED_LIBRTE_LIMITS_H
#define SCHED_LIBRTE_LIMITS_H

#include <stdint.h>

#include "sched/params.h"

/** A token bucket as the library runs it: credits (bytes) in every period (clock ticks). */
struct librte_fraction {
    uint64_t credits, period;
};

/** What the library makes of rate bytes/s on a clock of that many ticks/s. {0, 0} where it cannot:
 * the rate is 0, above the clock, or below 2e-7 of it. */
struct librte_fraction librte_fraction(uint64_t clock, uint64_t rate);

/**
 * The rate in bytes/s to ask for, so that what comes out is nearest to rate (bit/s). No more than
 * max_credits come at once (the bucket loses what it cannot hold), where that is possible. achieved
 * (may be NULL) is in bit/s. Returns 0 where the rate is impossible.
 */
uint64_t librte_fit_rate(uint64_t clock, uint64_t rate, uint64_t max_credits, double *achieved);

/**
 * The clock (ticks/s) for a port of port_rate bit/s on a machine with a TSC of hz, with which the
 * worst of n rates (bit/s; those above port_rate do not count) is met best. Always 1.02 to about 2
 * times as fast as the port, but never below 1 MHz; one tick is a whole number of 1/256 TSC cycles.
 */
uint64_t librte_fit_clock(uint64_t hz, uint64_t port_rate, const uint64_t *rates, unsigned n);

/** A period in ms in which a class without a cap can use up no credits: it makes the library's
 * clock ticks per period wrap to about a minute, but not the credits, which last for a day or more.
 * Needs class rates of at most half the clock. */
uint64_t librte_unbound_period_ms(uint64_t clock);

/** Queue sizes of all classes as the library wants them. PIE is configured for all classes at once,
 * and each must have a tail of at least one packet within its queue: so there, even an unused class
 * has a queue of one. */
void librte_queue_sizes(const struct cfg_scheduler *s, uint16_t qsize[QOS_CLASSES]);

#endif
