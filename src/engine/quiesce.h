/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grace periods: when is an entry that was removed from the tables in use nowhere any more? A core
 * may hold a pointer to the entry until the end of its round, and packets that bear the entry's
 * number may wait in a ring for the next core, which puts them into the next ring. So a grace
 * period has one step more than a packet can meet rings on its way, however many there are beside
 * each other. In each step every core reports a quiescent state (rte_rcu_qsbr), then sends what its
 * tasks have gathered (task_type.gathered), and then takes out of its rings the packets that were
 * in them.
 *
 * A grace period does not wait for packets that a task holds (a scheduler): the caller drains those
 * before the entry is removed.
 *
 * All functions belong to the main thread, and none of them waits.
 */
#ifndef ENGINE_QUIESCE_H
#define ENGINE_QUIESCE_H

#include "engine/engine.h"

struct quiesce {
    struct engine *e;
    uint64_t begun, over; /* grace periods begun and ended so far */
    unsigned steps, step; /* of each grace period; ended steps of the current one */
    bool wanted; /* entries were removed since the current one began: another must follow */
    enum { QUIESCE_CORES, QUIESCE_TASKS, QUIESCE_RINGS } waits; /* what the step waits for */
    uint64_t token;                                             /* of rte_rcu_qsbr, for the step */
    uint32_t *gathered; /* by task instance: task_type.gathered() when the step began to wait */
    uint32_t *tail;     /* by ring: the position up to which its core must have taken packets */
};

/** Register the cores with e->readers, which must be set; after engine_build(). Returns 0, -ENOMEM
 * or -EINVAL; call quiesce_close() in either case. */
int quiesce_open(struct quiesce *g, struct engine *e);
void quiesce_close(struct quiesce *g);

/** Begin a grace period for entries that the caller has just removed from the tables. Returns the
 * number of the grace period at whose end no core uses them any more. */
uint64_t quiesce_begin(struct quiesce *g);

/** Proceed as far as possible without waiting. Returns the number of the last grace period that has
 * ended. */
uint64_t quiesce_poll(struct quiesce *g);

#endif
