/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a core has taken from a port beyond what it can bear, so that the choice of what is lost is
 * its own and not the device's. Packets leave in the order of their arrival. When there are too
 * many, those that their task ranks lowest are dropped, the youngest of them first: so a packet is
 * lost only while all the others that wait are at least as important.
 *
 * Written by the input's core only; others may read the count.
 */
#ifndef ENGINE_BACKLOG_H
#define ENGINE_BACKLOG_H

#include "engine/task.h"

#define BACKLOG_LOOK 256 /* most packets taken from the device at a time */

struct backlog {
    struct task *task;   /* whose packets they are; ranks them */
    uint32_t hold;       /* more are not kept */
    uint32_t head, tail; /* m[head] to m[tail - 1] wait */
    uint32_t waiting;    /* so many; read by others */
    uint32_t ranked;     /* m[head] to m[ranked - 1] have a rank; not below head */
    unsigned limit;      /* the rank that has lost some since the backlog was empty; RANKS: none */
    unsigned lowest;     /* of the ranks that have lost some since then */
    uint32_t count[RANKS]; /* of these, by rank */
    uint32_t look;         /* packets to take at a time at present */
    uint32_t fills;        /* since the last time that look was thought over */
    uint64_t since, spent; /* TSC then; cycles that filling has taken since */
    uint8_t *rank;         /* parallel to m */
    struct rte_mbuf *m[];  /* hold + 2 * BACKLOG_LOOK */
};

/** An empty one for the ports of a task with hold > 0; NULL: no memory. */
struct backlog *backlog_create(struct task *t, int socket);

/** Free it with what waits. NULL is allowed. */
void backlog_free(struct backlog *b);

static inline uint32_t backlog_count(const struct backlog *b)
{
    return b == NULL ? 0 : __atomic_load_n(&b->waiting, __ATOMIC_RELAXED);
}

/**
 * Take packets from a receive queue (DPDK's port number), and drop what is too many then. That is
 * to take a quarter of the core's time at most, so that most of it is left for those that are kept:
 * what is beyond, the device loses. spare: the core has nothing else to do. Returns how many were
 * taken.
 */
uint16_t backlog_fill(struct backlog *b, uint16_t dpdk_port, uint16_t queue, bool spare);

/** Take out the oldest, up to n. They stand at *m until the next call. Returns how many. */
uint16_t backlog_take(struct backlog *b, uint16_t n, struct rte_mbuf ***m);

#endif
