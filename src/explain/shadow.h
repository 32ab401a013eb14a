/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shadow of one task instance: it runs the code of the task's type, on counters of its own, and
 * what it sends goes into a trap. Most types get a state of their own, made by their init() from
 * the same tables; those that change more than the packet say themselves how to do without
 * (task_type.explain).
 */
#ifndef EXPLAIN_SHADOW_H
#define EXPLAIN_SHADOW_H

#include "engine/engine.h"

#define SHADOW_MAX 128 /* packets that one may become */

struct shadow {
    struct task task;
    unsigned n_caught, n_lost; /* lost: beyond SHADOW_MAX */
    struct caught {
        struct rte_mbuf *m; /* whoever takes it out of here frees it */
        uint16_t output, way;
    } caught[SHADOW_MAX];
};

/** Make one. pool: for packets that the task makes. Returns NULL without memory, or where init()
 * fails. */
struct shadow *shadow_open(const struct engine *e, struct tables *tables, struct rte_mempool *pool,
                           unsigned instance);

/** Give it a packet as its core would: from a port of the configuration, or PORT_IN_MBUF. */
void shadow_run(struct shadow *s, struct rte_mbuf *m, uint16_t in_port,
                const struct task_explain *x);

void shadow_close(struct shadow *s);

#endif
