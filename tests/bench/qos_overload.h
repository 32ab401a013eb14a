/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes out of a core to which more is offered than it can take. */
#ifndef BENCH_QOS_OVERLOAD_H
#define BENCH_QOS_OVERLOAD_H

#include "bench.h"
#include "tasks/qos/qos.h"

#define QUEUE_LEN        1024u  /* of the device, packets */
#define HELD             24576u /* packets in the scheduler at first */
#define WARM_CYCLES      20000000u
#define RUN_CYCLES       60000000u
#define MAX_ROUND_CYCLES 60000u /* more: the core was taken away, which is not part of its work */
#define NAIVE_BURSTS     8u
#define MID_PERCENT      25u

enum { HIGH, MID, LOW, N_CLASSES };

struct run {
    /* what is asked for */
    double offered; /* packets a cycle; 0: exactly as many as the core takes */
    bool naive;
    unsigned high_percent; /* of the packets; MID_PERCENT are in the class below */

    /* what came of it: packets by class */
    uint64_t filled[N_CLASSES];  /* put into the scheduler before */
    uint64_t arrived[N_CLASSES]; /* offered */
    uint64_t missed[N_CLASSES];  /* lost by the receive queue */
    uint64_t dropped[N_CLASSES]; /* by the tasks */
    uint64_t out[N_CLASSES];     /* sent */
    uint64_t drained[N_CLASSES]; /* left the scheduler afterwards */
    double rate;                 /* sent a cycle */

    /* on the way */
    struct core *core;
    struct task *qos;
    uint64_t clock; /* cycles of work */
    uint64_t due;   /* packets that have arrived by then */
    uint64_t sent;
};

void overload_run(struct bench *b, struct graph *g, struct run *r);

#endif
