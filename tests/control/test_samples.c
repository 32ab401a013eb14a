/* SPDX-License-Identifier: BSD-3-Clause */
/* A round of samples goes by slices of bounded work, and its figures are those of a whole. The
 * argument is a configuration with two shapers, each of several slices, that serve all subscribers;
 * the time of a slice is printed, and not judged. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "bed.h"
#include "common/program.h"

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct sched_pipe_counters *counters(const struct shaper *s, uint32_t pipe)
{
    return (struct sched_pipe_counters *)(uintptr_t)sched_pipe_counters(s->q->sched, pipe);
}

/* Pipes whose figures are those of now; before, they were all marked as old. */
static uint32_t fresh(const struct shaper *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->q->n_pipes; i++)
        n += s->subscriber[i] != 0 && s->sample[i].bps != UINT64_MAX;
    return n;
}

static void mark(struct shaper *s)
{
    for (uint32_t i = 0; i < s->q->n_pipes; i++)
        s->sample[i].bps = UINT64_MAX;
}

static void bounded(void)
{
    uint32_t slices = 0, calls = 0, last = 0, now;
    uint64_t start, took, longest = 0, all = 0;
    bool more = true;

    CU_ASSERT_EQUAL_FATAL(control->n_shapers, 2);
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(samples_slices(control->shaper[i].q->n_pipes) > 2);
        slices += samples_slices(control->shaper[i].q->n_pipes);
        mark(&control->shaper[i]);
    }
    CU_ASSERT_FALSE(samples_next(control)); /* none is under way */
    CU_ASSERT_EQUAL(fresh(&control->shaper[0]), 0);
    samples_begin(control);
    for (; more && calls <= slices; calls++) {
        start = cpu_ns();
        more = samples_next(control);
        took = cpu_ns() - start;
        longest = RTE_MAX(longest, took);
        all += took;
        if (calls < 16 || !more) { /* to count takes longer than to sample */
            now = fresh(&control->shaper[0]) + fresh(&control->shaper[1]);
            CU_ASSERT(now - last <= SAMPLES_SLICE || calls >= 16);
            last = now;
        }
        if (calls == 2)
            samples_begin(control); /* goes on with the round under way */
    }
    CU_ASSERT_EQUAL(calls, slices);
    CU_ASSERT_EQUAL(last, 2 * control_model(control)->n_subscribers);
    printf("%u slices, %.2f ms of CPU, the longest %.3f ms; ", slices, (double)all / 1e6,
           (double)longest / 1e6);
}

/* A counter of 32 bits that wraps between two rounds, in the first slice and in the last. */
static void widened(void)
{
    struct shaper *s = &control->shaper[1];
    uint32_t last = 0;

    for (uint32_t i = 0; i < s->q->n_pipes; i++)
        last = s->subscriber[i] != 0 ? i : last;
    CU_ASSERT_FATAL(last >= 2 * SAMPLES_SLICE);
    for (uint32_t i = 0; i <= last; i += last) {
        counters(s, i)->packets = UINT32_MAX - 15;
        counters(s, i)->dropped = UINT32_MAX - 7;
    }
    control_sample(control);
    for (uint32_t i = 0; i <= last; i += last) {
        counters(s, i)->packets = 16;
        counters(s, i)->dropped = 8;
        CU_ASSERT_EQUAL(shaper_packets(s, i), (1ull << 32) + 16);
    }
    samples_begin(control);
    while (samples_next(control))
        ;
    for (uint32_t i = 0; i <= last; i += last) {
        CU_ASSERT_EQUAL(s->sample[i].packets, (1ull << 32) + 16);
        CU_ASSERT_EQUAL(s->sample[i].drops, (1ull << 32) + 8);
    }
}

/* The rate of a pipe is of the time since its own slice was sampled, not since the round began. */
static void rates(void)
{
    struct shaper *s = &control->shaper[0];
    uint64_t hz = s->q->tsc_hz, early = rte_rdtsc() - 1000 * hz;

    control_sample(control);
    s->sampled[0] = early;
    counters(s, 0)->bytes += 125000;
    samples_begin(control);
    samples_next(control);
    CU_ASSERT_DOUBLE_EQUAL((double)s->sample[0].bps, 1000, 2); /* over 1000 s */
    s->sampled[2] = early + 500 * hz;
    counters(s, 2 * SAMPLES_SLICE)->bytes += 125000;
    while (samples_next(control))
        ;
    CU_ASSERT_DOUBLE_EQUAL((double)s->sample[2 * SAMPLES_SLICE].bps, 2000, 8);
    CU_ASSERT_EQUAL(s->sample[2 * SAMPLES_SLICE - 1].bps, 0);
}

/* Runs of limited subscribers in all slices: the errors are those of all of them together. */
static void errors(void)
{
    /* 0.019 in 2 s is within what catch_up adds, 20 ms, and 0.01 */
    static const double want[5] = {-0.5, -0.02, 0.0001, 0.019, 1.5};
    struct shaper *s = &control->shaper[0];
    uint64_t hz = s->q->tsc_hz, now;

    control_sample(control);
    now = rte_rdtsc();
    for (uint32_t i = 0; i < 3; i++)
        s->sampled[i] = now - hz;
    for (unsigned i = 0; i < 5; i++) {
        uint32_t pipe = i * 1200;
        struct qos_pipe *p = (struct qos_pipe *)&s->q->pipe[pipe];

        s->before[pipe] = (struct qos_run){.from = now - 3 * hz, .to = now - 2 * hz, .bytes = 0};
        p->run_from = now - 3 * hz;
        p->run_to = now;
        p->run_bytes = (uint64_t)(2 * 50e6 / 8 * (1 + want[i]) + 0.5);
    }
    control_sample(control);
    CU_ASSERT_EQUAL(s->error.limited, 5);
    CU_ASSERT_EQUAL(s->error.under, 2);
    CU_ASSERT_EQUAL(s->error.over, 1);
    CU_ASSERT_DOUBLE_EQUAL(s->task_error.median, 0.0001, 0.000006);
    CU_ASSERT_DOUBLE_EQUAL(s->error.worst, 1.5, 1e-5);
    CU_ASSERT_EQUAL(s->error.worst_subscriber, s->subscriber[4800]);
    CU_ASSERT(s->error.seconds >= 1);
    control_sample(control); /* nobody was limited since: nothing is left of the last round */
    CU_ASSERT_EQUAL(s->error.limited, 0);
    CU_ASSERT_EQUAL(s->task_error.median, 0);
}

static const struct test tests[] = {
    {"a slice is bounded", bounded},
    {"counters that wrap", widened},
    {"rates are of a slice", rates},
    {"errors are of all slices", errors},
    {NULL, NULL},
};

const struct test_program test_program = {"samples", tests, bed_open, bed_close};
