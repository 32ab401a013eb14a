/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * L4S of the wheel: the dual queue with coupled marks and drops of RFC 9332, after its DualPI2.
 *
 * Packets behind the first of a queue wait in one of two chains: L for whose senders respond to
 * each mark by a little (ECT(1), RFC 9331, and CE), C for the classic rest. A controller of
 * proportion and integral moves the base probability p' every 16 ms so that the longer-waiting of
 * both waits for the target. C loses packets, or has them marked, with p'^2, L has them marked with
 * k * p', which is what makes a flow of either kind get as much; and each packet that waits in L
 * for longer than the step is marked. Where k * p' reaches 1, marks do not help: then L loses
 * packets with p'^2 as well, and C none but loses.
 *
 * L goes first, but C gets at least a sixteenth of the bytes, and at once where it has not had it.
 * The first packet of a queue has been chosen already, as in any queue of the wheel; it is dropped
 * or marked when it becomes the first.
 */
#ifndef SCHED_L4S_H
#define SCHED_L4S_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/wheel/chain.h"

struct cfg_scheduler;
struct qos_shape;
struct wheel;
struct wheel_queue;

/** Of a class. Times are in units of stamps (stamp.h). */
struct l4s_config {
    uint32_t update;   /* time between two steps of the controller */
    float alpha, beta; /* of delay and of its growth, for each unit and step */
    float coupling;    /* k */
};

/** Times for a subscriber's rate in a class, in units. */
struct l4s_times {
    uint32_t target, step;
};

enum l4s_side { L4S_LOW, L4S_CLASSIC, L4S_SIDES };

/** The state of a queue: one cache line; zero-initialise it. */
struct l4s {
    struct chain chain[L4S_SIDES];
    float base;                    /* p' */
    uint32_t delay;                /* units, as of the last step */
    uint32_t updated;              /* low bits of the TSC in units */
    float marks, drops[L4S_SIDES]; /* probabilities added up since the last one */
    uint32_t overtaken;            /* bytes that have left L since C had its share */
} __rte_cache_aligned;

static_assert(sizeof(struct l4s) == RTE_CACHE_LINE_SIZE, "one line for each queue");

/** Configure a class on a TSC of hz. */
struct l4s_config l4s_configure(uint64_t hz, unsigned coupling);

/** The times for a shape: a packet and a half may wait without a mark, and no target is below that,
 * so that a slow line can be filled. */
struct l4s_times l4s_times_of(const struct wheel *w, const struct qos_shape *shape, unsigned class);

/** Put a packet behind the first of its queue. Returns true. */
bool l4s_put(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q);

/** Choose the first packet of a queue whose first has left, and which holds more. */
void l4s_next(struct wheel *w, uint32_t pipe, unsigned queue);

/** Prefetch the states of so many queues of best effort, which are in the cache. */
void l4s_fetch_states(const struct wheel *w, struct wheel_queue *const *q, uint32_t n);

/** Free what waits behind the first of a queue. */
void l4s_clear(struct wheel *w, uint32_t pipe, unsigned queue);

#endif
