/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/*
 * The names that a layout uses for the CPUs of a machine:
 *
 *   "5"                  logical CPU 5, as the kernel numbers it
 *   "3s0"                physical core 3 of socket 0, its first hardware thread; the cores of a
 *                        socket are counted from 0
 *   "3s0h"               the SMT sibling of that thread
 *   "c3"                 the fourth of the physical cores that this process was given, and of the
 *                        threads that it was given there the first; counted socket by socket
 *   "c3h"                the second of those threads
 *   "7s0-9s0,7s0h-9s0h"  ranges and lists, each range of one form, in the order written
 */
/* clang-format on */
#ifndef BASE_CPU_CPU_LIST_H
#define BASE_CPU_CPU_LIST_H

#include <stddef.h>

#include "base/cpu/topology.h"

/**
 * Resolve a CPU list to logical CPU numbers, in the order written.
 * Returns the number of CPUs (1..max), or -EINVAL with a message in err that says which part is
 * wrong and what the machine has instead ("3s0h: core 3 of socket 0 has no SMT sibling", "12s0:
 * socket 0 has cores 0-9").
 */
int cpu_list_resolve(const struct topology *t, const char *list, uint16_t *cpus, size_t max,
                     char *err, size_t err_len);

#endif
