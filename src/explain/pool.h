/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that only look: of memory that no device knows, so that making them disturbs none. */
#ifndef EXPLAIN_POOL_H
#define EXPLAIN_POOL_H

#include <rte_mempool.h>

struct look_pool {
    struct rte_mempool *mp;
    void *memory;
};

/** Of mbufs with that data room, headroom included. Returns 0 or -ENOMEM. */
int look_pool_open(struct look_pool *p, const char *name, uint16_t data_room);
void look_pool_close(struct look_pool *p);

/** A packet as a device would fill it: what does not fit into one mbuf goes on in the next. NULL:
 * there are not enough. */
struct rte_mbuf *look_pool_packet(const struct look_pool *p, const uint8_t *frame, uint32_t len);

#endif
