/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL, DPDK's environment: its options follow from a plan and the machine. */
#ifndef ENGINE_EAL_H
#define ENGINE_EAL_H

#include "plan/plan.h"

/**
 * Start EAL for a plan: one pinned lcore for each core of the plan (eal_lcore()), one for the main
 * thread on any CPU that the process may use; huge pages or ordinary memory, as the configuration
 * and the machine allow. verbose: show all messages of DPDK. Returns 0, or -errno with the reason
 * on stderr.
 */
int eal_start(const struct plan *p, bool verbose);

/** The lcore of a core of the plan: index + 1, with shared memory one of DPDK's last. */
unsigned eal_lcore(unsigned core);

/** The NUMA socket to ask for memory in place of a layout's: SOCKET_ID_ANY where the layout is for
 * a machine with more sockets than this one. After eal_start(). */
int eal_socket(unsigned socket);

/** Release EAL, its run-time folder and the files of its huge pages. */
void eal_stop(void);

/** The memory that packets are in: "no-huge" (4 KiB pages), "hugepages", or "shared": huge pages
 * that dpdk-dumpcap may map. After eal_start(). */
const char *eal_memory_name(void);

#endif
