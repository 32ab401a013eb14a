/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FQ-CoDel of the wheel: RFC 8290 with CoDel of RFC 8289 and ECN of RFC 3168.
 *
 * The first packet of a queue has been chosen already, as in any queue of the wheel: so serving a
 * pipe knows its length. As long as all that waits leaves within the target, and is some packets
 * only, a queue is an ordinary one: who is not held back for longer costs nothing. One packet more
 * makes the queue take a state from a pool, in which those behind the first wait by flow. CoDel
 * looks at a packet when it becomes the first, a packet's time before it leaves. A state that holds
 * nothing stays with its queue, which may need its memory of drops again, until another queue takes
 * it, in turn. Where all states hold packets, a queue is an ordinary one until it holds one packet
 * at most.
 *
 * A queue's tail names its state: number of the state * 2 + 1, where a pointer would be even.
 */
#ifndef SCHED_FQ_H
#define SCHED_FQ_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/wheel/chain.h"

#define FQ_FLOWS    32
#define FQ_WORDS(n) (((n) + 63) / 64) /* of bits, one for each state */
#define FQ_NONE     UINT8_MAX         /* no flow */
#define FQ_NOBODY   UINT32_MAX        /* no queue, no state */

struct wheel;
struct wheel_queue;

/** CoDel for a shape, and from when on a queue needs a state. */
struct codel {
    uint32_t target, interval; /* units of stamps (stamp.h) */
    uint32_t short_bytes;      /* with overhead, that wait for no longer than the target */
    uint32_t short_packets;    /* an ordinary queue holds no more than these */
};

struct fq_flow {
    struct chain packets;
    uint32_t bytes;  /* with overhead */
    int32_t deficit; /* bytes that it may send in its turn */
    /* CoDel, RFC 8289 section 5.5; times in units: */
    uint32_t above;             /* when the delay has been above the target for long; 0: is not */
    uint32_t drop_next;         /* when to drop the next */
    uint16_t count, last_count; /* drops since dropping began, and then the last time */
    uint8_t dropping;
    uint8_t next; /* in its list */
};

/** The state of a queue. One flow touches the first line and its own. */
struct fq {
    uint32_t known;           /* bit per flow: its tag and its CoDel are valid */
    uint32_t listed;          /* bit per flow: in a list */
    uint32_t packets;         /* in all flows */
    uint32_t owner;           /* pipe * 16 + queue, or FQ_NOBODY */
    uint8_t head[2], tail[2]; /* lists: new flows, old flows */
    uint16_t tag[FQ_FLOWS];   /* by which packets find their flow */
    _Alignas(RTE_CACHE_LINE_SIZE) struct fq_flow flow[FQ_FLOWS];
} __rte_cache_aligned;

static_assert(sizeof(struct fq) <= 2048, "for each active subscriber");

/** Number of states that a scheduler's classes have together. */
struct cfg_scheduler;
uint32_t fq_states(const struct cfg_scheduler *s);

/** Make all states of a wheel free. */
void fq_start(struct wheel *w);

/** Put a packet behind the first of its queue. Returns false if the queue is an ordinary one: it is
 * short, or there is no state. */
bool fq_put(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q);

/** Drop packets of a queue, from the heads of the flows with the most bytes, until one of load
 * bytes has room. Returns false if there is none to drop. */
bool fq_make_room(struct wheel *w, uint32_t pipe, unsigned queue, uint32_t load);

/** Choose the first packet of a queue whose first has left, and which holds more. */
void fq_next(struct wheel *w, uint32_t pipe, unsigned queue);

/** Prefetch the states of so many queues, which are in the cache. */
void fq_fetch_states(const struct wheel *w, struct wheel_queue *const *q, uint32_t n);

/** Prefetch the packets that become the first of so many queues, whose states are in the cache. */
void fq_fetch_packets(const struct wheel *w, struct wheel_queue *const *q, uint32_t n);

/** Free what waits behind the first of a queue, and give its state back. */
void fq_clear(struct wheel *w, uint32_t pipe, unsigned queue);

#endif
