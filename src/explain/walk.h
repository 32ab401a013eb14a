/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of a frame through the graph. */
#ifndef EXPLAIN_WALK_H
#define EXPLAIN_WALK_H

#include <stdio.h>

#include "engine/engine.h"
#include "tables/tables.h"

struct walk_frame {
    uint8_t *bytes;
    uint32_t len; /* without FCS */
};

enum walk_end_kind { END_OUTPUT, END_DROP, END_CONSUMED };

/** One of the ends that packets had in a task. */
struct walk_end {
    enum walk_end_kind kind;
    uint64_t n; /* packets; 1 for an output */

    /* END_OUTPUT */
    unsigned packet; /* 1: the frame in question; above: packets that tasks made of it */
    const char *output;
    bool punted;  /* to the slow path */
    uint16_t way; /* of the output's destinations */
    struct plan_dest to;
    bool peer_gone;          /* a port whose peer has gone: the packet is lost there */
    struct walk_frame frame; /* as it leaves */

    const char *reason; /* END_DROP */
};

struct walk_step {
    unsigned instance, packet;
    struct walk_frame came; /* belongs to where it came from */
    char *notes;            /* what the task found, lines; "" for none */
    unsigned n_ends;
    struct walk_end *end;
};

enum walk_verdict {
    WALK_SENT,     /* the packet, or all its fragments, leaves by ports */
    WALK_ANSWERED, /* by the slow path, instead of being sent */
    WALK_DROPPED,  /* the packet, or a fragment of it, is dropped */
    WALK_CONSUMED, /* the packet ends in a sink, or only taught a MAC */
    WALK_ENDLESS,  /* the packet runs in a loop of links */
};

struct walk {
    const struct plan *plan;
    unsigned port, reader; /* where it came from, and the instance that takes it */
    struct walk_frame frame;
    unsigned n_steps, n_packets;
    struct walk_step *step;
    enum walk_verdict verdict;
    const char *task, *reason; /* of the first drop */
};

void walk_free(struct walk *w);

static inline const struct cfg_task *walk_task(const struct walk *w, unsigned instance)
{
    return &w->plan->cfg->tasks[w->plan->instances[instance].task];
}

/** The next task of a packet that did not leave by a port. */
static inline unsigned walk_next(const struct walk *w, const struct walk_end *end)
{
    return end->to.kind == DEST_RING ? w->plan->rings[end->to.index].consumer : end->to.index;
}

/** Name a verdict: "sent", "answered", "dropped", "consumed" or "endless". */
const char *walk_verdict_name(enum walk_verdict verdict);

/** Print the walk as lines for people. */
void walk_print(const struct walk *w, FILE *to);

#endif
