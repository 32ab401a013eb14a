/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a kernel interface received while the ring of a net_af_packet device had no room. The kernel
 * counts such packets per socket, and the driver does not ask. overflow_read() is for any thread,
 * as threads of DPDK's telemetry read ports, too; the others belong to the main thread.
 */
#ifndef ENGINE_OVERFLOW_H
#define ENGINE_OVERFLOW_H

#include <stdint.h>

struct overflow;

/** Find the packet sockets of this process on an interface, by its index, after their device has
 * started. They are the driver's: it closes them. Returns NULL without memory. */
struct overflow *overflow_open(unsigned if_index);

/** Forget them (NULL: nothing to do). */
void overflow_close(struct overflow *o);

/** Read the number of packets that found no room since overflow_open() (NULL: 0). */
uint64_t overflow_read(struct overflow *o);

#endif
