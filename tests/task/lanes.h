/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes: tasks in a row, each of which calls the next, and whether two lanes have done the same. */
#ifndef TEST_TASK_LANES_H
#define TEST_TASK_LANES_H

#include "engine/link.h"
#include "engine/tap.h"
#include "harness.h"

#define LANE_MAX    5
#define QINQ_HEADER 22

/** A task of a lane; the last of a list has no type. */
struct step {
    const struct task_type *type;
    const char *params;
};

struct lane {
    unsigned n;
    struct rig *rig[LANE_MAX];
};

/** Open a rig for each step. outputs: those of the last one, and but for "to" of all. */
struct lane lane_open(const struct step *steps, const char *outputs);
void lane_close(struct lane *l);
void lane_clear(struct lane *l);

/** Run a burst, all of it from one port, or from the port that each mbuf names (PORT_IN_MBUF). */
void lane_run(struct lane *l, struct rte_mbuf **m, unsigned n, uint16_t port);

/** Packets that the tasks have dropped. */
uint64_t lane_drops(const struct lane *l);

/** Check that two lanes have the same counters and have captured the same packets, with the same
 * metadata, since they were last cleared; clear both. */
void lanes_compare(struct lane *a, struct lane *b);

#endif
