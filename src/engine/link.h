/* SPDX-License-Identifier: BSD-3-Clause */
/* Links: how the packets of an output reach their destination. A link is a direct call into a task
 * instance on the same core, a ring to another core, or a port's transmit queue. */
#ifndef ENGINE_LINK_H
#define ENGINE_LINK_H

#include <stdbool.h>

#include "engine/task.h"

/** Lead an output to an instance on the same core: a burst is a call of task_run(). */
void link_to_task(struct out *o, struct task *next);

/** Lead an output to an instance on another core. producers: cores that put into the ring. */
void link_to_ring(struct out *o, struct rte_ring *r, enum full_policy on_full, uint16_t producers);

/** Lead an output to a transmit queue. count_bytes: count bytes in out->bytes, for a device that
 * does not. */
void link_to_port(struct out *o, uint16_t dpdk_port, uint16_t queue, enum full_policy on_full,
                  bool count_bytes);

/** Lead an output to a port whose link is down: packets are dropped as link_full, held ones at
 * once, until link_to_port() is called again. */
void link_down(struct out *o);

/**
 * Back-pressure: may this destination lack room for one more burst from each of its producers?
 * Packets that a port did not take before are sent first. Always false for FULL_DROP. Called by the
 * core that runs the output's task only.
 */
bool link_blocked(struct out *o);

/** Have a task announce packets to the one that is called for them: task_announce(). */
void link_ahead(struct task *t);

/* --- chains: tasks that are run as one (struct chain_type) --- */

/** Make a task the head of the longest chain that its type and its links to tasks on the same core
 * allow. Returns whether there is one. */
bool link_chain(struct task *t);

/** May the chain's function handle a burst of the head, or does a capture look at what is between
 * its tasks? */
bool link_chain_is_whole(const struct task *head);

/**
 * End a burst of a chain: n_good packets (from 0), on which the work of all tasks is done, count in
 * each of them and leave by the last one; then n_rest packets, none of which is changed, go through
 * the tasks one by one. With and without the chain, packets that a task holds or diverts come after
 * the packets passed on at once, so that the order is the same.
 */
void link_chain_end(struct task *head, struct rte_mbuf **good, uint16_t n_good,
                    struct rte_mbuf **rest, uint16_t n_rest);

#endif
