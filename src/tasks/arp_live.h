/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What changes under the arp task, the only writer of MACs, while it runs. What is made and freed
 * here belongs to the caller; what takes a task runs on its own core: use engine_call().
 */
#ifndef TASKS_ARP_LIVE_H
#define TASKS_ARP_LIVE_H

#include "engine/task.h"
#include "tables/tables.h"

/** Next hops as the task knows them. */
struct arp_nexthops;

/**
 * All next hops of a table to which routes lead: in_use[id] is not 0 (in_use NULL: all). NULL
 * without memory.
 */
struct arp_nexthops *arp_nexthops_make(const struct route_table *r, const uint32_t *in_use,
                                       int socket);
void arp_nexthops_free(struct arp_nexthops *n);

/**
 * Take them (arg: struct arp_nexthops) instead of those so far, which are there afterwards. A next
 * hop that has come gets its MAC where the task knows that neighbour. Returns 0.
 */
int arp_take_nexthops(struct task *t, void *arg);

/** Forget what is known of a subscriber, who is in no index any more. */
void arp_forget_subscriber(struct task *t, uint32_t id);

#endif
