/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to drop when a port brings more than a core can take: the lowest classes, before any other
 * work is done for them. See task_type.shed and doc/qos.md.
 */
#ifndef TABLES_SHED_H
#define TABLES_SHED_H

#include <stdint.h>

#include "tables/dscp.h"

#define SHED_MAX 320 /* packets to choose from */

struct rte_mbuf;

/**
 * Of n packets (1..SHED_MAX), as they came from a port, keep the room most important, in their
 * order, at the front of m; the others are put into drop. What counts is the class that a DSCP
 * table gives the DSCP of the subscriber's packet: behind two tags, a label, GRE or none of them.
 * Nothing else of the packet is checked. ARP goes first: without it the subscriber is gone for
 * longer than the overload lasts. What is no packet goes last. Returns how many are kept.
 */
uint16_t shed_lowest(const struct dscp_table *dscp, struct rte_mbuf **m, uint16_t n, uint16_t room,
                     struct rte_mbuf **drop);

#endif
