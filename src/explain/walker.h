/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the walker that its files share: walker.c goes from task to task, notes.c writes what
 * each task found out, walk.c keeps and prints the walk. */
#ifndef EXPLAIN_WALKER_H
#define EXPLAIN_WALKER_H

#include "explain/dry_run.h"
#include "explain/explain.h"

struct explain {
    const struct engine *e;
    struct tables *tables;
    explain_depth depth; /* or NULL */
    void *ctx;
    struct look_pool pool[CFG_MAX_POOLS]; /* mp NULL: not needed yet */
};

/** Find the pool for dry runs whose mbufs have the room of a pool of the configuration; the first
 * call makes it. Returns NULL without memory. */
const struct look_pool *explain_pool(struct explain *x, uint32_t pool);

/** Metadata of a packet, read from its mbuf (engine/meta.h). */
struct meta {
    uint32_t subscriber, path;
    uint16_t nexthop;
    enum punt_reason punt;
};

/** Write what a task found out, by the changes in the mbuf and by the outputs that it chose. */
void notes_print(const struct explain *x, const struct walk_step *step, const struct meta *before,
                 const struct meta *after, const struct walk_frame *frame, FILE *to);

/** Parts of a walk. All abort without memory, as diag.h does. */
struct walk *walk_new(const struct plan *p);
struct walk_frame walk_copy(const struct rte_mbuf *m);
struct walk_step *walk_add_step(struct walk *w);
struct walk_end *walk_add_end(struct walk_step *s, enum walk_end_kind kind, uint64_t n);

#endif
