/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment: what options a plan needs, and starting it. */
#ifndef ENGINE_EAL_H
#define ENGINE_EAL_H

#include "config/plan.h"

/**
 * Start EAL for a plan: one lcore per core of the plan (eal_lcore(), pinned), one for
 * housekeeping on any CPU that the process may use; huge pages or ordinary memory as the
 * configuration and the machine allow. Returns 0 or -errno; the reason is on stderr.
 */
int eal_start(const struct plan *p, bool verbose);

/** The lcore of a core of the plan: index + 1, but with shared memory one of the last of DPDK's. */
unsigned eal_lcore(unsigned core);

/** Release EAL, its run-time folder and the files of its huge pages. */
void eal_stop(void);

/** What packets live in: "no-huge" (4 KiB pages), "hugepages", or "shared": huge pages that
 * dpdk-dumpcap may map. After eal_start(). */
const char *eal_memory_name(void);

#endif
