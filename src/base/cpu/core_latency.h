/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Core-to-core latency: how long a word takes from one CPU to another and back. Rings between
 * cores, and those of a virtio port, cost by it. In a virtual machine whose CPUs are not pinned it
 * changes while the machine runs: by a factor of four where its CPUs come to be in two parts of the
 * last-level cache.
 */
#ifndef BASE_CPU_CORE_LATENCY_H
#define BASE_CPU_CORE_LATENCY_H

#include <stdbool.h>
#include <stdio.h>

/** Of so many rounds, each a mean of some round trips; in ns. */
struct core_latency {
    double least, median, most;
};

/**
 * Measure it between two CPUs by a thread on each, within a millisecond or two. With CAP_SYS_NICE
 * they go before what polls there; without, they take turns with it. Returns 0; -EINVAL: they are
 * one, or the kernel does not let this process run on one of them; -ETIMEDOUT: others kept a thread
 * from its CPU for a second; or another -errno of pthread_create(3).
 */
int core_latency(unsigned a, unsigned b, struct core_latency *l);

/**
 * Print the medians of all pairs of CPUs that this process may run on as a table, or by json as
 * {"format": "vbng-core-latency/1", "pairs": [{"a": 0, "b": 1, "round_trip_ns": {"least": 95,
 * "median": 98, "most": 120}}]}. Returns 0, or -errno when it has said what is wrong.
 */
int core_latency_print(FILE *to, bool json);

#endif
