/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timing wheel of buckets that lack credit. A slot stands for 2^13 TSC cycles (3 us at 2.6 GHz)
 * and is a line of nodes: a bucket is in no cache when its time comes, so all that are due are
 * known before the first is looked at. A full line moves into a spare one behind its slot. A node
 * is owner * 16 + class, or + 13 for the owner's own bucket. A time beyond one round of the wheel
 * (26 ms) goes into the last slot: the owner is woken too early, lacks credit still, and is added
 * again.
 */
#ifndef SCHED_TIMERS_H
#define SCHED_TIMERS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#define TIMERS_SHIFT 13
#define TIMERS_SLOTS 8192u
#define TIMERS_LINE  7u  /* nodes of a line: half a line of the caches */
#define TIMERS_FRESH 64u /* nodes whose slots' lines are under way */
#define TIMERS_SOON  16u /* slots: how long before they are due nodes are looked at */
#define TIMERS_AHEAD 4u  /* slots: how long before it is emptied one is fetched */

struct timers_line {
    uint32_t n : 4;     /* nodes */
    uint32_t more : 28; /* a spare line, full, of the same slot. Of one without nodes: the next */
    uint32_t node[TIMERS_LINE];
} __rte_aligned(RTE_CACHE_LINE_SIZE / 2);

static_assert(sizeof(struct timers_line) == RTE_CACHE_LINE_SIZE / 2, "half a line of the caches");

struct timers {
    uint64_t at;      /* number of the slot that is emptied next: its low bits are its place */
    uint64_t seen;    /* likewise: the first slot that timers_look() has not seen */
    uint64_t pending; /* nodes in all */
    struct timers_line *spare;
    uint32_t unused;  /* the first spare line without nodes */
    uint32_t n_fresh; /* nodes that were added last and are in no slot yet */
    struct {
        uint32_t slot, node;
    } fresh[TIMERS_FRESH];
    struct timers_line slot[TIMERS_SLOTS];
};

#define TIMERS_ALONE ((UINT32_C(1) << 28) - 1) /* timers_line.more: none */

/** The spare lines that so many nodes may need. */
static inline uint64_t timers_spares(uint64_t nodes)
{
    return nodes / TIMERS_LINE;
}

/** Begin at a TSC, without nodes. t: zeroed; spare: as many lines. */
static inline void timers_start(struct timers *t, uint64_t tsc, struct timers_line *spare,
                                uint64_t spares)
{
    t->at = tsc >> TIMERS_SHIFT;
    t->spare = spare;
    for (unsigned i = 0; i < TIMERS_SLOTS; i++)
        t->slot[i].more = TIMERS_ALONE;
    for (uint64_t i = 0; i < spares; i++)
        spare[i].more = (uint32_t)(i + 1) & TIMERS_ALONE;
}

/* Have the nodes of a full line stand behind it. */
static inline void timers_spill(struct timers *t, struct timers_line *l)
{
    uint32_t spare = t->unused;

    t->unused = t->spare[spare].more;
    t->spare[spare] = *l;
    l->more = spare & TIMERS_ALONE;
    l->n = 0;
}

/* Put the nodes that were added last into their slots. */
static inline void timers_settle(struct timers *t)
{
    for (uint32_t i = 0; i < t->n_fresh; i++) {
        struct timers_line *l = &t->slot[t->fresh[i].slot];

        if (unlikely(l->n == TIMERS_LINE))
            timers_spill(t, l);
        l->node[l->n++] = t->fresh[i].node;
    }
    t->n_fresh = 0;
}

/** Have a node, which is not there yet, due at a TSC or up to a slot later. */
static inline void timers_add(struct timers *t, uint64_t tsc, uint32_t node)
{
    uint64_t number = RTE_MAX((tsc >> TIMERS_SHIFT) + 1, t->at);

    number = RTE_MIN(number, t->at + TIMERS_SLOTS - 1);
    rte_prefetch0_write(&t->slot[number % TIMERS_SLOTS]);
    if (unlikely(t->n_fresh == TIMERS_FRESH))
        timers_settle(t);
    t->fresh[t->n_fresh].slot = (uint32_t)(number % TIMERS_SLOTS);
    t->fresh[t->n_fresh++].node = node;
    t->pending++;
}

/* Take up to most nodes out of a line. node: has room for a whole line. Returns their number; done
 * tells whether the slot has no more. */
static inline uint32_t timers_take(struct timers *t, struct timers_line *l, uint32_t *node,
                                   uint32_t most, bool *done)
{
    uint32_t spare = l->more, n = l->n;

    *done = false;
    if (unlikely(n > most)) {
        memcpy(node, l->node + (n - most), most * sizeof(*node));
        l->n = n - most;
        return most;
    }
    memcpy(node, l->node, sizeof(l->node)); /* of a constant size: no loop */
    if (likely(spare == TIMERS_ALONE)) {
        l->n = 0;
        *done = true;
        return n;
    }
    *l = t->spare[spare];
    t->spare[spare].more = t->unused;
    t->unused = spare;
    return n;
}

/** Take out nodes that are due at a TSC, but at most most of them. node: has room for so many, and
 * for TIMERS_LINE. Returns their number. */
static inline uint32_t timers_due(struct timers *t, uint64_t tsc, uint32_t *node, uint32_t most)
{
    uint64_t due = tsc >> TIMERS_SHIFT;
    uint32_t n = 0;
    bool done;

    timers_settle(t);
    most = (uint32_t)RTE_MIN(most, t->pending);
    while (n < most && t->at <= due) {
        struct timers_line *l = &t->slot[t->at % TIMERS_SLOTS];

        rte_prefetch0_write(&t->slot[(t->at + TIMERS_AHEAD) % TIMERS_SLOTS]);
        n += timers_take(t, l, node + n, most - n, &done);
        if (likely(done)) /* a branch: which slot is next does not wait for this one's line */
            t->at++;
    }
    t->pending -= n;
    if (t->pending == 0)
        t->at = RTE_MAX(t->at, due + 1);
    return n;
}

/** Look once at each slot that is due within TIMERS_SOON. Copies at least most of the nodes, if
 * there are as many; of a slot of several lines those of the last. node: has room for most, and for
 * TIMERS_LINE. Returns their number. */
static inline uint32_t timers_look(struct timers *t, uint32_t *node, uint32_t most)
{
    uint64_t end = t->at + TIMERS_SOON, number = RTE_MAX(t->seen, t->at);
    uint32_t n = 0;

    for (; number < end && n < most; number++) {
        const struct timers_line *l = &t->slot[number % TIMERS_SLOTS];

        rte_prefetch0_write(&t->slot[(number + TIMERS_AHEAD) % TIMERS_SLOTS]);
        memcpy(node + n, l->node, sizeof(l->node)); /* of a constant size: no loop */
        n += l->n;
    }
    t->seen = number;
    return n;
}

#endif
