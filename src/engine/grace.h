/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When is something that was taken out of the tables nowhere in use any more? A core may hold it
 * until the end of its round, and packets that bear its number may wait in rings for the next core,
 * which puts them into the next ring. So a grace period is so many steps as packets can meet rings,
 * and one more: in each, every core ends its round (rte_rcu_qsbr), and what was in the rings then
 * is taken out by its core.
 *
 * Packets that a task holds back (a scheduler) are not waited for: whoever takes something away
 * sees to those himself, before.
 *
 * All of it belongs to the main thread, and nothing here waits.
 */
#ifndef ENGINE_GRACE_H
#define ENGINE_GRACE_H

#include "engine/engine.h"

struct grace {
    struct engine *e;
    uint64_t begun, over; /* periods, counted from 1 */
    unsigned steps, step; /* of a period; of the one that goes on */
    bool wanted;          /* another must follow: something was taken out since this one began */
    bool draining;        /* the step waits for rings; else for cores */
    uint64_t token;
    uint32_t *tail; /* by ring: what must be taken out of it */
};

/** After engine_build(); e->readers is set. Returns 0, -ENOMEM or -EINVAL; call grace_close()
 * in either case. */
int grace_open(struct grace *g, struct engine *e);
void grace_close(struct grace *g);

/** Something was taken out of the tables just now. Returns the number of the period at whose end
 * nobody has it any more. */
uint64_t grace_begin(struct grace *g);

/** Go on as far as is possible without waiting. Returns the number of the last period that is
 * over. */
uint64_t grace_poll(struct grace *g);

#endif
