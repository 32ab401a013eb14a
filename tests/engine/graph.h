/* SPDX-License-Identifier: BSD-3-Clause */
/* A small graph made by hand: tester end of wire "in" -> tasks in a row -> wire "out" -> tester
 * end. */
#ifndef TESTS_ENGINE_GRAPH_H
#define TESTS_ENGINE_GRAPH_H

#include "engine/engine.h"
#include "engine/ledger.h"

#define MAX_ROW 4

enum { PORT_IN, PORT_OUT, PORT_TESTER_IN, PORT_TESTER_OUT, N_PORTS };

struct graph_spec {
    unsigned n_tasks;
    const struct task_type *type[MAX_ROW];
    uint16_t core[MAX_ROW]; /* a link between two cores becomes a ring */
    uint32_t ring;          /* size of the rings */
    enum full_policy ring_full, port_full;
    uint16_t out_desc; /* size of the wire "out" */
};

struct graph {
    struct cfg_model cfg;
    struct cfg_task tasks[MAX_ROW];
    struct plan plan;
    struct plan_core cores[MAX_ROW];
    struct plan_instance instances[MAX_ROW];
    struct plan_ring rings[MAX_ROW];
    struct plan_dest dest[MAX_ROW];
    struct plan_rx rx;
    struct plan_tx tx[N_PORTS];
    uint16_t order[MAX_ROW][MAX_ROW];
    struct engine engine;
};

/** Build it and open the engine. Returns 0 or -errno. */
int graph_open(struct graph *g, const struct graph_spec *spec);

/** Put n packets on the wire to the first task. Returns how many fitted. */
unsigned graph_inject(struct graph *g, unsigned n);

/** Take all packets that the last task has sent and free them. Returns how many there were. */
unsigned graph_collect(struct graph *g);

/** n rounds of one core, on the calling thread. */
void graph_rounds(struct graph *g, unsigned core, unsigned n);

/** The ledger without the tester's ends of the wires, whose packets no task of the graph moved. */
struct ledger graph_ledger(struct graph *g, FILE *faults);

/** Close it. Returns the mbufs that are missing. */
uint64_t graph_close(struct graph *g);

#endif
