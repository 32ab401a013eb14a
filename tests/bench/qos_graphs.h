/* SPDX-License-Identifier: BSD-3-Clause */
/* The graphs of bench-qos: with librte_sched (LIB) and with the wheel. */
#ifndef BENCH_QOS_GRAPHS_H
#define BENCH_QOS_GRAPHS_H

#include "bench.h"

enum graph_id {
    LIB_MINIMAL,
    LIB_MINIMAL_32, /* bursts of 32 */
    LIB_BNG,
    LIB_QUEUE_256,
    LIB_FEW,     /* two strict classes and best effort */
    LIB_ADVISED, /* the same in bursts of 64 */
    LIB_HALF,    /* profiles for half of what arrives in pass_shaped() */
    LIB_TENTH,
    MINIMAL,
    MINIMAL_32,
    BNG,
    BNG_FUSED,
    QUEUE_256,
    FEW,
    HALF,
    TENTH,
    FQ, /* FQ-CoDel in best effort, with a state for each subscriber */
    N_GRAPHS
};

/** A graph, and how much memory its schedulers take. */
struct qos_graph {
    struct graph_text text;
    unsigned mib;
};

extern const struct qos_graph qos_graphs[N_GRAPHS];

#endif
