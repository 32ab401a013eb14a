/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each pipe did between two samples: rates, and how far from its profile a limited subscriber
 * was. A round samples all pipes, a slice of them in each call, because the main thread serves
 * requests between two calls and must not let them wait. An interval of a pipe goes from one round
 * to the next. The scheduler's 32-bit counters are widened here, so a round must end before one of
 * them has wrapped: 2^32 packets of one subscriber, 4 minutes at 14.88 Mpps.
 */
#ifndef CONTROL_SHOW_SAMPLES_H
#define CONTROL_SHOW_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLES_SLICE 2048 /* pipes at a time; each costs some 100 ns where no line is cached */

struct control;
struct shaper;

/**
 * The shaping error of an interval: delivered / configured rate - 1, of the subscribers that were
 * limited during all of the interval. A subscriber counts as limited when his run (tasks/qos/qos.h)
 * began before the interval's first sample and covers at least half of the interval. Bytes and time
 * are taken between two departures of the run, so that no packet is counted by halves. A subscriber
 * that is held back by less than his own rate (that of his subport, a class or the port) has a
 * negative error.
 */
struct shaping_error {
    double seconds;            /* length of the interval; 0: none has ended yet */
    uint32_t limited;          /* number of limited subscribers */
    uint32_t under, over;      /* limited ones that are more than 1 % too slow, too fast */
    double median;             /* to 10 ppm; more than 1 counts as 1. Of a whole task only */
    double worst;              /* the error that is farthest from 0 */
    uint32_t worst_subscriber; /* id; 0: nobody is limited */
};

/** Figures of a pipe at the last sample, and of the interval that ended there. Telemetry reads
 * these instead of the core's own cache lines, so that frequent readers cost the core nothing. */
struct pipe_sample {
    uint64_t bytes, packets, drops; /* since the start */
    uint64_t bps;                   /* with the scheduler's overhead */
    uint32_t drop_pps;
    uint32_t
        shaped_ppm; /* delivered / configured rate, as in struct shaping_error; 0: not limited */
    uint32_t sojourn_ns; /* moving average; at most 4.2 s */
    uint32_t profile;    /* index in qos.profiles[] */
};

/** A round under way. */
struct samples {
    bool under_way;
    unsigned shaper;            /* next in shaper[] */
    uint32_t slice;             /* next of its slices */
    struct shaping_error error; /* of its slices so far */
    unsigned shards;            /* instances of the same task that were before it */
    struct shaping_error sum;   /* of these */
    uint32_t *spread;           /* by error, in steps of 10 ppm: limited subscribers of the task */
};

/** Returns 0 or -1 without memory. */
int samples_open(struct samples *r);
void samples_close(struct samples *r);

/** The number of slices of n pipes, at least 1. */
static inline uint32_t samples_slices(uint32_t n)
{
    return n <= SAMPLES_SLICE ? 1 : (n - 1) / SAMPLES_SLICE + 1;
}

/** Begin a round, unless one is under way. */
void samples_begin(struct control *c);

/** Sample the next slice of the round under way, between metrics_hold() and metrics_release(). The
 * errors and histograms of a shaper are of the new interval from its last slice on. Returns whether
 * the round is still under way. */
bool samples_next(struct control *c);

/** Sample all that is left of the round under way, or a whole round. Takes 0.1 s with a million
 * subscribers. */
void control_sample(struct control *c);

/** Packets that a pipe has sent since the start. */
uint64_t shaper_packets(const struct shaper *s, uint32_t pipe);

#endif
