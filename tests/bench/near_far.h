/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of two cores, told apart by core-to-core latency, which changes where virtual CPUs are not
 * pinned: what is shared between cores costs by it.
 */
#ifndef BENCH_NEAR_FAR_H
#define BENCH_NEAR_FAR_H

#include <stdbool.h>

#define ALIKE 1.5 /* times; more is another part of a last-level cache */

/** Core-to-core latency between two CPUs now, in ns; 0: it is not known. */
double core_ns(unsigned a, unsigned b);

/** The latency of a round that began and ended with these; 0: it changed meanwhile. */
double core_ns_of_round(double before, double after);

/** The smallest of the rounds whose latency is known, INFINITY without one; and is one far beside
 * it? */
double nearest_ns(const double *ns, unsigned n);
bool is_far(double ns, double nearest);

/** Median of n figures, which are sorted. */
double median(double *v, unsigned n);

#endif
