/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scheduler on the bench: build one from few numbers, keep queues full, measure what comes out.
 * Each program takes the backend to be tested as its argument: wheel or librte_sched.
 *
 * The wheel takes its time from the caller: a clock that each dequeue moves on by 2 us. So its
 * tests are exact, and faster than real time. librte_sched reads the TSC itself, inside a shared
 * object: with it they run in real time. What comes out is counted between the TSC times of actual
 * dequeues. The library's clock loses time when this thread is kept away for long: a measurement
 * during which that happened is repeated, with a note, and only if it happens every time is the
 * lost time (which sched_lost_cycles() tells) taken off. Where this thread never gets its CPU the
 * program ends as skipped. No bar is ever lowered.
 */
#ifndef TESTS_SCHED_BED_H
#define TESTS_SCHED_BED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_mbuf.h>

#include "common/absence.h"
#include "common/program.h"
#include "sched/sched.h"

#define BED_PIPES    1024
#define BED_PROFILES 64
#define BED_MBUFS    65535
#define BED_FCS      4
#define BED_BURST    32
#define BED_TRIALS   16
#define BED_PATIENCE 6.0  /* s of measuring until an undisturbed measurement is given up */
#define BED_LONGEST  0.01 /* of a measurement, that a thread may be away at once; in all: */
#define BED_AWAY     0.05

/** What is built; bed_shape() fills in a port of 10 Gbit/s with one subport and best effort. */
struct bed {
    struct cfg_scheduler shape;
    struct cfg_subport subports[8];
    struct cfg_profile profiles[BED_PROFILES];
    unsigned n_profiles;
    struct sched *s;
    bool real_time; /* the clock is the TSC */
    uint64_t clock; /* otherwise: now, in TSC cycles */

    /* What came out, since bed_reset(). */
    uint64_t bytes[BED_PIPES * QOS_QUEUES]; /* by queue, with FCS, after its first packet */
    uint64_t packets[BED_PIPES * QOS_QUEUES];
    uint64_t first[BED_PIPES * QOS_QUEUES], last[BED_PIPES * QOS_QUEUES]; /* TSC */
    uint64_t first_lost[BED_PIPES * QOS_QUEUES]; /* sched_lost_cycles() at these times */
    uint64_t last_lost[BED_PIPES * QOS_QUEUES];
    uint64_t lost;       /* sched_lost_cycles() at bed_reset(); after bed_measure(): during it */
    struct absence away; /* in real time: from one turn to the next */
};

extern struct rte_mempool *bed_pool; /* of all mbufs */
extern enum qos_backend bed_backend; /* that the program was told to test */

void bed_shape(struct bed *b, uint32_t pipes_per_subport, unsigned n_subports);

/** A profile of that rate and burst, without caps. Returns its index. */
unsigned bed_profile(struct bed *b, uint64_t rate, uint64_t burst);

/** Enough burst that a thread which is away for some ms loses nothing. */
uint64_t bed_burst(uint64_t rate);

/** Create the scheduler; a failure is a failed test. Pipes have no profile yet. */
bool bed_create(struct bed *b);

/** Create a scheduler of the bed's shape and profiles, which the caller frees: shard i of all, or
 * (NULL, 0) one without shards. A failure ends the test. */
struct sched *bed_shard(const struct bed *b, struct shards *all, unsigned i);

void bed_free(struct bed *b);

/** A packet of size bytes with FCS for a queue; NULL and a failed test without mbufs. */
struct rte_mbuf *bed_packet(uint32_t pipe, unsigned queue, uint32_t size);

/** Put n packets of that size into a queue. */
void bed_fill(struct bed *b, uint32_t pipe, unsigned queue, uint32_t size, unsigned n);

void bed_reset(struct bed *b);

/** A time (TSC) at which what was just made may begin, whose buckets are all full by then: so that
 * nothing follows from when it was made. */
uint64_t bed_begin(void);

/** The time. */
uint64_t bed_now(const struct bed *b);
/** Move an injected clock on, then take out up to n packets. */
uint32_t bed_dequeue(struct bed *b, struct rte_mbuf **m, uint32_t n);

/** Check that packets of an empty queue all leave in two dequeues. The second one looks ahead at a
 * queue that the first did not empty, whose AQM may link packets as no plain queue does. */
void bed_empty_in_two(struct bed *b, uint32_t pipe, unsigned queue);

/** Dequeue a burst, count it, put every packet back into the queue from which it came. */
void bed_turn(struct bed *b);
/** The same for some seconds. */
void bed_run(struct bed *b, double seconds);

/** bit/s that left a queue between its first and its last packet since bed_reset(), less lost time.
 */
double bed_rate(const struct bed *b, uint32_t pipe, unsigned queue);
/** bit/s that left all queues, over the time of the run. */
double bed_sum(const struct bed *b, uint32_t first_pipe, uint32_t n_pipes);

/**
 * Run for warm_up seconds, then measure for some seconds; again, with a note, if this thread was
 * kept away or the scheduler lost time meanwhile. If so each time until BED_PATIENCE, the program
 * ends here, as skipped, or as failed if something has failed before.
 */
void bed_measure(struct bed *b, double warm_up, double seconds);

/**
 * The seed of the first random round: always the same; with SEED=any in the environment another one
 * in each run; with SEED=N that one, and of one round. It is printed.
 */
unsigned bed_seed(unsigned *rounds);

/** Of a test program: EAL, the pool, and the backend that its argument names. */
int bed_open(void);
int bed_close(void);

#endif
