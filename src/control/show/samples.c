/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/show/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "control/control.h"

#define TOLERANCE 0.01 /* of the shaping error */
#define PPM       1e6
#define STEPS     100000          /* of the spread: of an error of 1 */
#define SPREAD    (2 * STEPS + 1) /* errors from -1 to 1 */

int samples_open(struct samples *r)
{
    r->spread = calloc(SPREAD, sizeof(*r->spread));
    return r->spread != NULL ? 0 : -1;
}

void samples_close(struct samples *r)
{
    free(r->spread);
    r->spread = NULL;
}

/* --- a pipe --- */

/* The shaping error of a pipe since the last sample, and how far above 0 it may be: what was earned
 * before, while the core was away, is sent in this interval. Returns whether the pipe was limited.
 */
static bool pipe_error(struct shaper *s, uint32_t pipe, uint64_t interval, double *error,
                       double *may)
{
    const struct qos_pipe *p = &s->q->pipe[pipe];
    uint32_t profile = __atomic_load_n(&p->profile, __ATOMIC_RELAXED);
    struct qos_run was = s->before[pipe], now = qos_run(p);
    uint64_t cycles = now.to - was.to;

    s->before[pipe] = now;
    if (was.to == 0 || now.from > was.to || cycles < interval / 2 ||
        __atomic_load_n(&p->profile, __ATOMIC_RELAXED) != profile)
        return false;
    *error = (double)(now.bytes - was.bytes) * 8 * (double)s->q->tsc_hz / (double)cycles /
                 (double)s->q->cfg->profiles[profile].shape[s->q->direction].rate -
             1;
    *may =
        TOLERANCE + (double)s->q->shape->catch_up_ns * 1e-9 * (double)s->q->tsc_hz / (double)cycles;
    return true;
}

/* A counter modulo 2^32, which has counted on since it was so much. */
static uint64_t widened(uint64_t was, uint32_t now)
{
    return was + (uint32_t)(now - (uint32_t)was);
}

uint64_t shaper_packets(const struct shaper *s, uint32_t pipe)
{
    const struct sched_pipe_counters *n = sched_pipe_counters(s->q->sched, pipe);

    return widened(s->sample[pipe].packets, __atomic_load_n(&n->packets, __ATOMIC_RELAXED));
}

static void sample_pipe(struct shaper *s, uint32_t pipe, double seconds)
{
    const struct sched_pipe_counters *n = sched_pipe_counters(s->q->sched, pipe);
    const struct qos_pipe *p = &s->q->pipe[pipe];
    struct pipe_sample was = s->sample[pipe], *now = &s->sample[pipe];

    *now = (struct pipe_sample){
        .bytes = __atomic_load_n(&n->bytes, __ATOMIC_RELAXED),
        .packets = shaper_packets(s, pipe),
        .drops = widened(was.drops, __atomic_load_n(&n->dropped, __ATOMIC_RELAXED)),
        .sojourn_ns = (uint32_t)fmin(1e9 * qos_sojourn(s->q, p), UINT32_MAX),
        .profile = __atomic_load_n(&p->profile, __ATOMIC_RELAXED),
    };
    now->bps = (uint64_t)((double)(now->bytes - was.bytes) * 8 / seconds);
    now->drop_pps = (uint32_t)((double)(now->drops - was.drops) / seconds + 0.5);
}

/* --- a shaper --- */

static void count_error(struct samples *r, double error, double may, uint32_t subscriber)
{
    struct shaping_error *e = &r->error;

    r->spread[(uint32_t)((fmax(fmin(error, 1), -1) + 1) * STEPS + 0.5)]++;
    e->limited++;
    e->under += error < -TOLERANCE;
    e->over += error > may;
    if (e->worst_subscriber == 0 || fabs(error) > fabs(e->worst)) {
        e->worst = error;
        e->worst_subscriber = subscriber;
    }
}

static void sample_slice(struct samples *r, struct shaper *s)
{
    uint32_t first = r->slice * SAMPLES_SLICE, end = RTE_MIN(first + SAMPLES_SLICE, s->q->n_pipes);
    uint64_t now = rte_rdtsc(), interval = now - s->sampled[r->slice];
    double seconds = (double)interval / (double)s->q->tsc_hz, error, may;

    s->sampled[r->slice] = now;
    if (first == 0)
        r->error.seconds = seconds;
    for (uint32_t pipe = first; pipe < end; pipe++) {
        if (s->subscriber[pipe] == 0)
            continue;
        sample_pipe(s, pipe, seconds);
        if (!pipe_error(s, pipe, interval, &error, &may))
            continue;
        s->sample[pipe].shaped_ppm = (uint32_t)((1 + error) * PPM + 0.5);
        count_error(r, error, may, s->subscriber[pipe]);
    }
}

/* The error that half of the limited subscribers are below. */
static double median(const struct samples *r)
{
    uint32_t below = 0, i = 0;

    while (below + r->spread[i] <= r->sum.limited / 2)
        below += r->spread[i++];
    return ((double)i - STEPS) / STEPS;
}

/* The histogram of an interval is the difference of two; its maximum is as exact as the buckets. */
static void hist_since(const struct hist *now, struct hist *before, struct hist *interval)
{
    interval->count = 0;
    interval->max = now->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        uint64_t n = __atomic_load_n(&now->bucket[i], __ATOMIC_RELAXED);

        interval->bucket[i] = n - before->bucket[i];
        interval->count += interval->bucket[i];
        before->bucket[i] = n;
    }
    interval->max = hist_percentile(interval, 1);
}

/* Add the errors of an instance to those of its task. */
static void add_error(struct shaping_error *sum, const struct shaping_error *e)
{
    sum->seconds = e->seconds;
    sum->limited += e->limited;
    sum->under += e->under;
    sum->over += e->over;
    if (e->limited > 0 && fabs(e->worst) >= fabs(sum->worst)) {
        sum->worst = e->worst;
        sum->worst_subscriber = e->worst_subscriber;
    }
}

static void end_shaper(struct samples *r, struct shaper *s)
{
    struct hist times;

    s->error = r->error;
    r->error = (struct shaping_error){0};
    add_error(&r->sum, &s->error);
    qos_lag(s->q, &times);
    hist_since(&times, &s->lag_before, &s->lag);
    for (unsigned k = 0; k < QOS_CLASSES; k++) {
        qos_sojourn_times(s->q, k, &times);
        hist_since(&times, &s->sojourn_before[k], &s->sojourn[k]);
    }
}

/* All instances of a task have been looked at, of which s is the first. */
static void end_task(struct samples *r, struct shaper *s)
{
    if (r->sum.limited > 0) {
        r->sum.median = median(r);
        memset(r->spread, 0, SPREAD * sizeof(*r->spread));
    }
    s->task_error = r->sum;
    r->sum = (struct shaping_error){0};
    r->shards = 0;
}

/* --- a round --- */

void samples_begin(struct control *c)
{
    c->samples.under_way = c->n_shapers > 0;
}

bool samples_next(struct control *c)
{
    struct samples *r = &c->samples;
    struct shaper *s = &c->shaper[r->shaper];

    if (!r->under_way)
        return false;
    sample_slice(r, s);
    if (++r->slice == samples_slices(s->q->n_pipes)) {
        struct shaper *first = s - r->shards;

        end_shaper(r, s);
        if (++r->shards == first->n_shards)
            end_task(r, first);
        r->slice = 0;
        r->shaper++;
    }
    if (r->shaper == c->n_shapers) {
        r->shaper = 0;
        r->under_way = false;
    }
    return r->under_way;
}

void control_sample(struct control *c)
{
    samples_begin(c);
    while (samples_next(c))
        ;
}
