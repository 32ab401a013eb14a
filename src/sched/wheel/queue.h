/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue of a pipe: its packets, and what it counts. */
#ifndef SCHED_WHEEL_QUEUE_H
#define SCHED_WHEEL_QUEUE_H

#include <assert.h>
#include <stdint.h>

#include "sched/wheel/chain.h"

/** The packets of a queue, in words of sched/chain.h. */
struct wheel_queue {
    uint64_t head;  /* first packet; and its length, at most 65535 */
    uint64_t tail;  /* last packet; and the number of packets. If that is 0, both pointers are
                       void */
    uint64_t taken; /* since it was read: packets above WHEEL_TAKEN_BITS, bytes below */
    uint32_t load;  /* where the queue is in_bytes: bytes behind the first packet, with overhead */
    uint32_t refused; /* dropped at the tail since it was moved or read: packets above
                         WHEEL_REFUSED_BITS, bytes below */
};

/* The bytes of 2^23 packets fit into wheel_queue.taken; then both move on to wheel_tally. */
#define WHEEL_TAKEN_BITS 40
#define WHEEL_TAKEN_FULL (UINT64_C(1) << 63)

/* The bytes of 2^9 packets, or 2^21 bytes, and then a packet more: both move to wheel_tally. */
#define WHEEL_REFUSED_BITS 22
#define WHEEL_REFUSED_FULL (UINT32_C(1) << 31 | UINT32_C(1) << (WHEEL_REFUSED_BITS - 1))

#define WHEEL_ROOM_MAX (UINT32_MAX / 2) /* bytes: no queue holds more, so that sums fit */

/** What a queue counts seldom, since it was read. */
struct wheel_tally {
    uint64_t tail, aqm, bytes; /* dropped; those at the tail were in wheel_queue.refused before */
    uint32_t packets_moved;    /* out of wheel_queue.taken, times 2^23 */
    uint32_t bytes_moved;      /* likewise, times 2^39 */
};

static_assert(sizeof(struct wheel_queue) == RTE_CACHE_LINE_SIZE / 2, "a queue is half a line");

/** Packets and bytes in wheel_queue.refused. */
static inline uint32_t wheel_refused_packets(uint32_t refused)
{
    return refused >> WHEEL_REFUSED_BITS;
}

static inline uint32_t wheel_refused_bytes(uint32_t refused)
{
    return refused & ((UINT32_C(1) << WHEEL_REFUSED_BITS) - 1);
}

/** sched_age() of the first packet of a queue that is not linked by flow. */
static inline uint32_t wheel_age(const struct wheel_queue *q, uint64_t tsc)
{
    return sched_age_since(chain_beside(q->head, wheel_number(q->tail)), tsc);
}

#endif
