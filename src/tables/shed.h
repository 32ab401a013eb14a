/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How important packets are, of which some must be dropped because a port brings more than a core
 * can take: by class, before any other work is done for them. See task_type.rank and doc/qos.md.
 */
#ifndef TABLES_SHED_H
#define TABLES_SHED_H

#include <stdint.h>

#include "tables/dscp.h"

#define SHED_RANKS (DSCP_CLASSES + 1)

struct rte_mbuf;

/**
 * Rank n packets, as they came from a port. What counts is the class that a DSCP table gives the
 * DSCP of the subscriber's packet: behind two tags, a label, GRE or none of them. Nothing else of
 * the packet is checked. ARP is with class 0: without it the subscriber is gone for longer than the
 * overload lasts. What is no packet goes last.
 */
void shed_rank(const struct dscp_table *dscp, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank);

#endif
