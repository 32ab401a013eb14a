/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model senders in the scheduler's simulated time, whose packets are IPv4 or IPv6 in QinQ. A
 * responsive one is a window in the manner of TCP: slow start, then a packet more in each round
 * trip, times 0.7 after a loss or a CE mark (once in a round trip), and a timeout. A scalable one
 * takes marks in the manner of DCTCP (RFC 8257): half of their mean share off the window, once in a
 * round trip. A paced one sends at a rate. A loss is what is missing in the numbers of the packets
 * that come out, so it may be at either end of the queue.
 */
#ifndef TESTS_SCHED_FLOW_H
#define TESTS_SCHED_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "bed.h"

#define FLOW_EVENTS 8192

struct flow {
    /* What it is. */
    uint32_t pipe;
    unsigned queue;
    uint16_t port; /* of the source: tells the flow */
    uint32_t size; /* bytes with FCS, at least 74 */
    double rtt;    /* s without the queue */
    double pace;   /* bit/s of a paced one; 0: responsive */
    bool ecn;      /* sends ECT(0) */
    bool is_ipv6;  /* all its packets are one flow to FQ-CoDel and L4S */
    bool scalable; /* sends ECT(1), and responds to marks accordingly */

    /* How it is. */
    double window, threshold; /* packets */
    double owed;              /* packets of a paced one */
    uint32_t next, expected;  /* numbers */
    uint32_t in_flight;
    uint32_t heard_all, heard_marks; /* of this round trip */
    double marked_share;             /* DCTCP's alpha */
    uint64_t calm_until;             /* the clock: no other reduction before */
    uint64_t heard;                  /* the clock of the last acknowledgement */
    uint64_t event[FLOW_EVENTS];     /* when acknowledgements come, times 4; and 1 lost, 2 marked */
    uint32_t event_head, event_tail;

    /* What came out since flows_reset(). */
    uint64_t packets, bytes, lost, marked;
    double waited, longest; /* s in the scheduler */
};

/** Let flows begin, all of them anew. */
void flows_start(struct bed *b, struct flow *f, unsigned n);

/** Forget what came out so far. */
void flows_reset(struct flow *f, unsigned n);

/** Run them for some seconds. */
void flows_run(struct bed *b, struct flow *f, unsigned n, double seconds);

/** Mean time in the scheduler, s. */
double flow_delay(const struct flow *f);

/** What all flows got out, bit/s over some seconds. */
double flows_rate(const struct flow *f, unsigned n, double seconds);

#endif
