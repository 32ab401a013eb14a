/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways from one task instance to the next: direct call, ring, or a port's transmit queue. */
#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include <stdbool.h>

#include "engine/task.h"

/** To an instance on the same core. */
void link_to_task(struct out *o, struct task *next);

/** To an instance on another core. producers: cores that feed the ring. */
void link_to_ring(struct out *o, struct rte_ring *r, enum full_policy on_full, uint16_t producers);

/** To a transmit queue. count_bytes: the device does not count bytes, so this does. */
void link_to_port(struct out *o, uint16_t dpdk_port, uint16_t queue, enum full_policy on_full,
                  bool count_bytes);

/** Of an output to a port: the peer has gone. All is dropped as link_full, what was held too, until
 * link_to_port() again. */
void link_to_nobody(struct out *o);

/**
 * Back-pressure: could this destination fall short of room for one more burst from each of its
 * producers? Where a port has left packets with us, tries them first. Always false for FULL_DROP.
 * Called by the owner's core only.
 */
bool link_blocked(struct out *o);

#endif
