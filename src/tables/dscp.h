/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DSCP to queue of a pipe, one table for each scheduler and direction. Control changes single bytes
 * while the data path reads them.
 */
#ifndef TABLES_DSCP_H
#define TABLES_DSCP_H

#include <stdint.h>

#include <rte_common.h>

#define DSCP_CLASSES 13 /* of a pipe: 12 strict ones, and the last, best effort, */
#define DSCP_BE      12
#define DSCP_QUEUES  16 /* which has four queues */

struct dscp_table {
    uint8_t queue[64]; /* 0..15, by DSCP */
    uint8_t non_ip;
} __rte_cache_aligned;

/** Queue of a packet by the TOS octet of its IPv4 header. */
static inline uint8_t dscp_queue(const struct dscp_table *t, uint8_t tos)
{
    return __atomic_load_n(&t->queue[tos >> 2], __ATOMIC_RELAXED);
}

#endif
