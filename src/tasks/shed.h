/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a task drops that reads from a port and has fallen behind: the lowest classes of what it is
 * shown, before any other work is done for them. See task_type.shed and doc/qos.md.
 */
#ifndef TASKS_SHED_H
#define TASKS_SHED_H

#include "engine/task.h"
#include "tables/dscp.h"

/** The parameter "shed" of such a task. */
#define SHED_PARAM                                                                                 \
    {                                                                                              \
        .name = "shed", .type = PARAM_COUNT, .def = "96", .max = LOOK_MAX,                         \
        .help = "with a scheduler: when the port brings more than the core can take, look at so "  \
                "many packets beyond each burst and drop the lowest classes of them all; 0: the "  \
                "device drops, of any class"                                                       \
    }

/**
 * Of n packets (1..BURST_MAX + LOOK_MAX), as they came from a port, keep the room most important,
 * in their order, and drop the others for that reason. What counts is the class that a DSCP table
 * gives the DSCP of the subscriber's packet: behind two tags, a label, GRE or none of them. Nothing
 * else of the packet is checked. ARP goes first: without it the subscriber is gone for longer than
 * the overload lasts. What is no packet goes last. Returns how many are kept.
 */
uint16_t shed_lowest(struct task *t, const struct dscp_table *dscp, unsigned reason,
                     struct rte_mbuf **m, uint16_t n, uint16_t room);

#endif
