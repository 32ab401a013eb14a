/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment: what options a plan needs, and starting it. */
#ifndef ENGINE_EAL_H
#define ENGINE_EAL_H

#include "config/plan.h"

/**
 * Start EAL for a plan: one lcore per core of the plan (lcore = index + 1, pinned), lcore 0 for
 * housekeeping on any CPU that the process may use; huge pages or ordinary memory as the
 * configuration and the machine allow. Returns 0 or -errno; the reason is on stderr.
 */
int eal_start(const struct plan *p, bool verbose);

/** Release EAL and its run-time folder. */
void eal_stop(void);

/** What packets live in: "no-huge" (4 KiB pages) or "hugepages". After eal_start(). */
const char *eal_memory_name(void);

#endif
