/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hierarchical scheduler behind a narrow interface: configure, enqueue a burst, dequeue a
 * burst, read counters. The qos task knows no more of a scheduler, and the accuracy tests are
 * written against it. One of two backends does the work, as the parameters say: the wheel (wheel/)
 * or DPDK's librte_sched (librte/).
 *
 * One thread makes all calls; only sched_held(), sched_class(), sched_pipe_counters(),
 * sched_lost_cycles() and sched_bytes() may be called by others.
 *
 * An mbuf is of one segment. While it is queued, the scheduler owns its hash, pkt_len, next and
 * tx_offload; it leaves as it came, but for its color: enum sched_limited.
 *
 * A packet names its queue in m->hash.sched.queue_id: pipe * 16 + queue, where pipe counts through
 * all subports (cfg_subport.first + pipe within it). Where the queue has PIE, FQ-CoDel or L4S, it
 * says when it came, too: sched_tell() of stamp.h. The latter two read its headers, and
 * may write them.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sched/params.h"

/** What sched_create() makes a scheduler of. Pointers need to live during the call only. */
struct sched_config {
    const char *name;
    int socket;
    const struct cfg_scheduler *shape;
    enum qos_direction direction;
    const struct cfg_profile *profiles; /* all that a pipe may be given */
    unsigned n_profiles;
    unsigned max_profiles; /* room for profiles that are added later */
    struct shards *shards; /* what it shares with others (shards/shards.h), each with a thread of
                              its own; NULL: nothing. It must outlive the scheduler */
    unsigned shard;        /* its number among them, from 0 on */
    const void *records;   /* a line of the caches for each pipe, which whoever dequeues reads of
                              packets that were held back, prefetched before; NULL: there are none */
};

/** Has a packet that leaves been held back by its pipe's rate, or by a class's? The wheel says so
 * in hash.sched.color. librte_sched does not. */
enum sched_limited {
    SCHED_PROMPT,        /* the pipe has had credit ever since it was empty */
    SCHED_LIMITED,       /* it has lacked credit */
    SCHED_LIMITED_FIRST, /* likewise; the first packet for which it did */
};

/** What a pipe has counted since the start; packets modulo 2^32, which a reader makes whole who
 * comes at least once in some seconds. */
struct sched_pipe_counters {
    uint64_t bytes;   /* sent, with the scheduler's overhead */
    uint32_t packets; /* sent */
    uint32_t dropped; /* packets; sched_knows_drops() */
};

/** What a queue has counted since it was last read. */
struct sched_queue_counters {
    uint64_t packets, bytes; /* taken into the queue */
    uint64_t tail, aqm;      /* dropped: queue full; by an AQM */
    uint64_t dropped_bytes;
    uint16_t depth; /* packets in the queue now */
};

/**
 * What a class of a subport, all its pipes together, has counted since the start. Packets that wait
 * are accepted - sent - cleared - late.
 */
struct sched_class {
    uint64_t accepted;  /* packets taken into queues */
    uint64_t sent;      /* packets that have left */
    uint64_t bytes;     /* of them, with the scheduler's overhead */
    uint64_t tail, aqm; /* packets dropped: queue full; by an AQM */
    uint64_t cleared;   /* packets that waited and were dropped by sched_clear() */
    uint64_t
        late; /* packets that waited and were dropped by FQ-CoDel or L4S: in tail or aqm, too */
    uint64_t marked; /* packets in which congestion was marked (RFC 3168) */
};

/** Why packets were dropped, since the start. */
struct sched_drops {
    uint64_t tail, red, pie, codel, l4s;
};

struct sched;

/** Build a scheduler; its configuration is checked first. Returns NULL with the reason on stderr.
 * No pipe is active until sched_set_profile(). */
struct sched *sched_create(const struct sched_config *config);

/** Release a scheduler (NULL: nothing to do); packets that wait in it are freed. */
void sched_free(struct sched *s);

/**
 * Put n packets into their queues. The scheduler takes all of them: what is not accepted is freed
 * and counted. Returns how many were accepted. What FQ-CoDel or L4S has accepted may be dropped
 * later, by this or by a dequeue.
 */
uint32_t sched_enqueue(struct sched *s, struct rte_mbuf **m, uint32_t n);

/** Prefetch what enqueueing n packets will read, as far as their paths tell: the sooner before
 * that, the less it waits. first: path of the scheduler's first queue. Paths may be of any value.
 */
void sched_expect(const struct sched *s, struct rte_mbuf *const *m, uint32_t n, uint32_t first);

/** Take up to n packets that may leave now. Returns their number. */
uint32_t sched_dequeue(struct sched *s, struct rte_mbuf **m, uint32_t n);

/**
 * Take up to n packets that may leave at a time (TSC cycles) that the caller tells: for tests, and
 * where the TSC was just read. Time does not go back: a time before the last one counts as the last
 * one. librte_sched reads the TSC itself; there, now must be what rte_rdtsc() has just said.
 */
uint32_t sched_dequeue_at(struct sched *s, uint64_t now, struct rte_mbuf **m, uint32_t n);

/**
 * Give a pipe a profile (index in profiles[]), its first one or another while packets are queued:
 * none is lost or reordered. The pipe's bucket starts half full. Returns 0 or -EINVAL. In the wheel
 * a packet that waits for credit may leave up to 2^26 cycles (26 ms) later than the new profile
 * would let it.
 */
int sched_set_profile(struct sched *s, uint32_t pipe, uint32_t profile);

/**
 * Drop what waits in a pipe, and forget what its queues have counted: the pipe is nobody's until
 * the next sched_set_profile(), and nothing may be enqueued until then. Returns the packets
 * dropped, or -EINVAL, or -ENOTSUP (librte_sched): they leave in their time.
 */
int64_t sched_clear(struct sched *s, uint32_t pipe);

/** Add a profile while running. Returns its index, -EINVAL or -ENOSPC. */
int sched_add_profile(struct sched *s, const struct qos_shape *shape);

/** Change a subport's rate (bit/s) while running. Returns 0, -EINVAL or -ENOSPC (too many different
 * rates so far). */
int sched_set_subport_rate(struct sched *s, uint32_t subport, uint64_t rate);

/** Packets that wait in all queues. */
uint64_t sched_held(const struct sched *s);

/** Why packets were dropped, all queues together, since the start. */
struct sched_drops sched_drops(const struct sched *s);

/** What a class (0..QOS_CLASSES - 1) of a subport has counted. Both must exist. */
struct sched_class sched_class(const struct sched *s, uint32_t subport, unsigned class);

/** The counters of a pipe, to be read with relaxed loads. */
const struct sched_pipe_counters *sched_pipe_counters(const struct sched *s, uint32_t pipe);

/** Let a pipe's counters start from 0: it is another subscriber's now. On the thread that
 * schedules. */
void sched_reset_pipe_counters(struct sched *s, uint32_t pipe);

/** Does the backend count dropped packets by pipe? librte_sched does not. */
bool sched_knows_drops(const struct sched *s);

/** Add what a queue (0..15) of a pipe has counted since it was last read to add, and set its depth.
 * Returns 0 or -EINVAL. */
int sched_read_queue(struct sched *s, uint32_t pipe, unsigned queue,
                     struct sched_queue_counters *add);

/**
 * Time for which nobody got credits, in TSC cycles since the start, because nobody called
 * sched_dequeue() for long: shaped rates fall short by that. librte_sched loses portions of 2^24
 * cycles. In the wheel buckets go on filling up: lost is, where packets waited, the time beyond
 * that in which the slowest of all profiles' buckets is full. Pipes with a smaller bucket have lost
 * more.
 */
uint64_t sched_lost_cycles(const struct sched *s);

/** Bytes of DPDK's heap that a scheduler really takes; qos_sched_bytes() says beforehand what to
 * expect. */
uint64_t sched_bytes(const struct sched *s);

#endif
