/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backlog of a port: packets that a core has received beyond what it can handle, so that the
 * core chooses which packets are lost, and not the device. Packets leave in the order of arrival.
 * When too many wait, those that their task ranks lowest are dropped, the youngest first: a packet
 * is lost only while all packets that wait are at least as important.
 *
 * Written by the input's core only; other threads may read the count.
 */
#ifndef ENGINE_BACKLOG_H
#define ENGINE_BACKLOG_H

#include "engine/task.h"

#define BACKLOG_LOOK 256 /* most packets received at a time */

struct backlog {
    struct task *task;   /* gets the packets, and ranks them */
    uint32_t hold;       /* most packets kept */
    uint32_t head, tail; /* m[head] to m[tail - 1] wait */
    uint32_t waiting;    /* tail - head, for other threads */
    uint32_t ranked;     /* m[head] to m[ranked - 1] have a rank; not below head */
    unsigned limit;      /* the rank that lost some packets since the backlog was empty, or RANKS */
    unsigned lowest;     /* the lowest rank (greatest number) that lost packets since then */
    uint32_t count[RANKS]; /* ranked packets that wait, by rank */
    uint32_t look;         /* packets to receive at a time at present */
    uint32_t fills;        /* calls of backlog_fill() since look was last adjusted */
    uint64_t since, spent; /* TSC of that; cycles that backlog_fill() has taken since */
    uint8_t *rank;         /* parallel to m */
    struct rte_mbuf *m[];  /* hold + 2 * BACKLOG_LOOK */
};

/** Make an empty backlog for a port of a task with hold > 0. Returns NULL without memory. */
struct backlog *backlog_create(struct task *t, int socket);

/** Free a backlog and the packets that wait. NULL is allowed. */
void backlog_free(struct backlog *b);

/** Packets that wait; 0 where b is NULL. */
static inline uint32_t backlog_count(const struct backlog *b)
{
    return b == NULL ? 0 : __atomic_load_n(&b->waiting, __ATOMIC_RELAXED);
}

/**
 * Receive packets from a queue, and drop those that are too many. The number of packets adapts, so
 * that this takes a quarter of the core's time at most and the rest is left for the packets that
 * are kept; the device loses the others. spare: the core has nothing else to do, so the number does
 * not adapt. Returns the number of packets received.
 */
uint16_t backlog_fill(struct backlog *b, uint16_t dpdk_port, uint16_t queue, bool spare);

/** Take out the oldest packets, up to n. *m holds them until the next call. Returns their number.
 */
uint16_t backlog_take(struct backlog *b, uint16_t n, struct rte_mbuf ***m);

#endif
