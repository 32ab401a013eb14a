/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dry run of one task instance: the code of the task's type runs on counters and outputs of the
 * dry run, which keeps the packets that the task sends. Most types get a state of their own, made
 * by their init() from the same tables; a type whose handle() changes more than the packet has a
 * function for dry runs (task_type.explain).
 */
#ifndef EXPLAIN_DRY_RUN_H
#define EXPLAIN_DRY_RUN_H

#include "engine/engine.h"

#define DRY_RUN_MAX 128 /* packets that one packet may become */

struct dry_run {
    struct task task;
    unsigned n_caught, n_lost; /* lost: those beyond DRY_RUN_MAX */
    struct caught {
        struct rte_mbuf *m; /* freed by the caller */
        uint16_t output, way;
    } caught[DRY_RUN_MAX];
};

/** Prepare a dry run. pool: for packets that the task makes. Returns NULL without memory, or where
 * init() fails. */
struct dry_run *dry_run_open(const struct engine *e, struct tables *tables,
                             struct rte_mempool *pool, unsigned instance);

/** Give the task a packet, as its core would. in_port: the configuration's, or PORT_IN_MBUF. */
void dry_run_run(struct dry_run *s, struct rte_mbuf *m, uint16_t in_port,
                 const struct task_explain *x);

void dry_run_close(struct dry_run *s);

#endif
