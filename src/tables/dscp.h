/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the DSCP of a packet decides: its queue in a pipe, and its rank under overload. There is one
 * table for each scheduler and direction. Control changes single bytes while the data path reads
 * them.
 */
#ifndef TABLES_DSCP_H
#define TABLES_DSCP_H

#include <stdint.h>

#include <rte_common.h>

/* Classes and queues of a pipe, as sched/params.h has them: provision.c asserts it. */
#define DSCP_CLASSES 13
#define DSCP_BE      12
#define DSCP_QUEUES  16

#define SHED_RANKS (DSCP_CLASSES + 1) /* a rank for each class, and one for what is no packet */

struct dscp_table {
    uint8_t queue[64]; /* 0..15, by DSCP */
    uint8_t non_ip;
} __rte_cache_aligned;

/** The queue (0..15) of a packet, by the TOS octet of its IPv4 header, or its IPv6 traffic class.
 */
static inline uint8_t dscp_queue(const struct dscp_table *t, uint8_t tos)
{
    return __atomic_load_n(&t->queue[tos >> 2], __ATOMIC_RELAXED);
}

struct rte_mbuf;

/**
 * Rank n packets (0 is the most important), as they came from a port that brings more than a core
 * can take: those of the highest rank are dropped before any other work is done for them. A rank is
 * the class that the DSCP table gives the subscriber's packet, behind two tags, a label, GRE or
 * none of them, of IPv4 or IPv6; nothing else of the packet is checked. ARP and neighbour discovery
 * rank with class 0: without them a subscriber is unreachable for longer than the overload lasts. A
 * frame that holds no packet ranks last. See task_type.rank and doc/qos.md.
 */
void shed_rank(const struct dscp_table *dscp, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank);

#endif
