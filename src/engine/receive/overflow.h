/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a kernel interface received while the ring of a net_af_packet device had no room. The kernel
 * counts such packets per socket, and the driver does not ask. All functions belong to the main
 * thread.
 */
#ifndef ENGINE_OVERFLOW_H
#define ENGINE_OVERFLOW_H

#include <stdint.h>

#define OVERFLOW_SOCKETS 16 /* net_af_packet has at most so many queues */

/** The sockets of a device; all zeros: a device that has none. */
struct overflow {
    int fd[OVERFLOW_SOCKETS];
    unsigned n;
    uint64_t packets; /* so far */
};

/** Find the packet sockets of this process on an interface, by its index, after their device has
 * started. They are the driver's: it closes them. */
void overflow_find(struct overflow *o, unsigned if_index);

/** Read the number of packets that found no room since overflow_find(). */
uint64_t overflow_read(struct overflow *o);

#endif
