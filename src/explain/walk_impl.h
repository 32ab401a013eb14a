/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a walk: walker.c, from task to task; notes.c, what each found; walk.c, what is
 * kept of it and how it is shown. */
#ifndef EXPLAIN_WALK_IMPL_H
#define EXPLAIN_WALK_IMPL_H

#include "explain/explain.h"
#include "explain/pool.h"
#include "explain/shadow.h"

struct explain {
    const struct engine *e;
    struct tables *tables;
    explain_depth depth; /* or NULL */
    void *ctx;
    struct look_pool pool[CFG_MAX_POOLS]; /* mp NULL: not needed yet */
};

/** With the room that mbufs of a pool of the configuration have; made when it is first asked for.
 * NULL: no memory. */
const struct look_pool *explain_pool(struct explain *x, uint32_t pool);

/** What the mbuf says of its packet (engine/meta.h). */
struct meta {
    uint32_t subscriber, path;
    uint16_t nexthop;
    enum punt_reason punt;
};

/** Write what a task found: by what it has changed in the mbuf, and where it sent it. */
void notes_print(const struct explain *x, const struct walk_step *step, const struct meta *before,
                 const struct meta *after, const struct walk_frame *frame, FILE *to);

/** Add to what is kept; all die without memory, as diag.h does. */
struct walk *walk_new(const struct plan *p);
struct walk_frame walk_copy(const struct rte_mbuf *m);
struct walk_step *walk_add_step(struct walk *w);
struct walk_end *walk_add_end(struct walk_step *s, enum walk_end_kind kind, uint64_t n);

#endif
