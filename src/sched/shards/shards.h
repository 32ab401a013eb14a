/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One scheduler on several cores: each core has a shard, which is a wheel (sched/wheel/wheel.h) of
 * its own with the pipes of its subscribers. Shared are the rates of the port, and those of
 * subports, and of their classes, whose subscribers are on several shards: struct purse. A subport
 * that lies on one shard as a whole keeps its rates to itself, and they are as exact as without
 * shards.
 *
 * The port is shared out as one wheel would: a class after the other; in a class the subports take
 * turns, and in a subport its pipes. So the rounds of a purse count
 *
 *     of a subport          rounds of its pipes in a class
 *     of the port           rounds of its subports in a class; or of the pipes of the only one
 *
 * and what a subport sends in its turn is counted on all shards together. Where it lies across
 * them, those go first whose pipes are in an earlier round.
 */
#ifndef SCHED_SHARDS_SHARDS_H
#define SCHED_SHARDS_SHARDS_H

#include "sched/shards/purse.h"

/** The turns of a subport in a class, where it is not the only one. */
struct shards_turns {
    uint64_t sent; /* bytes, on all shards; or those of the rounds that it has missed, if more */
    uint32_t round[SHARDS_MAX]; /* of its pipes, by shard, as in purse.waits; 0: it has nothing to
                                   send there, or lies on one shard */
} __attribute__((aligned(SHARDS_LINE)));

/** What the shards of a scheduler, in one direction, share. */
struct shards {
    struct peers peers;
    unsigned holders;
    uint64_t quantum; /* TSC cycles: what is borrowed at once, if that sends a frame */
    uint32_t n_subports;
    uint64_t across[QOS_MAX_SUBPORTS / 64]; /* bit per subport: lies across shards */
    struct purse port;
    struct purse *subport; /* [subport * (QOS_CLASSES + 1) + class]; QOS_CLASSES: of all classes */
    struct shards_turns *turns;  /* [subport * QOS_CLASSES + class] */
    uint64_t round[QOS_CLASSES]; /* of subports, of who borrowed last from the port in a class */
};

/**
 * Make what n shards (1..SHARDS_MAX) of a scheduler share, full of credit. across has a bit for
 * each subport whose subscribers are on several shards; NULL: all of them. Returns NULL, with the
 * reason on stderr, where there is no memory on the socket (-1: any), n is out of range, or the
 * scheduler has another backend than the wheel.
 */
struct shards *shards_create(const struct cfg_scheduler *shape, unsigned n, const uint64_t *across,
                             int socket);

/** One more shard holds what was made. Not while another thread makes or frees it. Returns s. */
struct shards *shards_hold(struct shards *s);

/** Let go of what was made, or held: the last one frees it. The shard itself has been freed. NULL:
 * nothing to do. */
void shards_free(struct shards *s);

/** Bytes of memory of what shards_create() makes for so many subports. */
uint64_t shards_bytes(uint32_t n_subports);

/** Does a subport lie across shards? */
static inline bool shards_across(const struct shards *s, uint32_t subport)
{
    return (s->across[subport / 64] >> subport % 64 & 1) != 0;
}

/** The purse of a class of a subport; class QOS_CLASSES: that of the subport itself. */
static inline struct purse *shards_purse(const struct shards *s, uint32_t subport, unsigned class)
{
    return &s->subport[(size_t)subport * (QOS_CLASSES + 1) + class];
}

/** The turns of a subport in a class. */
static inline struct shards_turns *shards_turns(const struct shards *s, uint32_t subport,
                                                unsigned class)
{
    return &s->turns[(size_t)subport * QOS_CLASSES + class];
}

#endif
