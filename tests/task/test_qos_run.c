/* SPDX-License-Identifier: BSD-3-Clause */
/* The run of a subscriber: the stretch of time in which its rate limits it, in real time. */
#include <stdbool.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "qos_rig.h"

#define ATTEMPTS 20

/* The attempt was not disturbed: this thread was never away for long. */
static bool judged(void)
{
    return qos_away.longest < rte_get_tsc_hz() / 1000;
}

/* May another attempt follow? The first one that was not disturbed is judged, whatever it says. */
static bool again(const char *test, unsigned attempt)
{
    if (judged())
        return false;
    if (attempt == ATTEMPTS)
        printf(
            "\nSKIP %s: others took the CPU in each of %u attempts, at last for %.1f ms at once\n",
            test, ATTEMPTS, (double)qos_away.longest * 1e3 / (double)rte_get_tsc_hz());
    return attempt < ATTEMPTS;
}

/* bit/s of pipe 0 over 0.1 s, between two departures of its run, without the time that its
 * scheduler has lost because this thread was away. 0: the run has ended. */
static double rate_of_run(struct rig *r)
{
    struct qos_run first, last;
    double took, bytes;
    uint64_t lost;

    delivered(r, 0.01, &took); /* an absence at the end of the attempt before ends the run here */
    first = qos_run(&rig_qos(r)->pipe[0]);
    lost = sched_lost_cycles(rig_qos(r)->sched);
    delivered(r, 0.1, &took);
    last = qos_run(&rig_qos(r)->pipe[0]);
    lost = sched_lost_cycles(rig_qos(r)->sched) - lost;
    if (last.from > first.to)
        return 0;
    bytes = (double)(last.bytes - first.bytes);
    took = (double)(last.to - first.to - lost) / (double)rte_get_tsc_hz();
    return bytes * 8 / took;
}

/* The stretch of time in which a subscriber is limited: its rate is the profile's. */
static void run_of_a_limited(void)
{
    unsigned attempt = 0;
    double took, rate;
    struct qos_run last;
    struct rig *r;

    qos_model();
    qos_profiles[PROFILE_10M].shape[QOS_UP].burst = 50000; /* we may be away for 40 ms */
    r = qos_open();
    delivered(r, 0.05, &took);
    do {
        rate = rate_of_run(r);
    } while (again("the run of a limited subscriber", ++attempt));
    if (judged())
        CU_ASSERT_DOUBLE_EQUAL(rate, 10e6, 10e6 * 0.01);
    last = qos_run(&rig_qos(r)->pipe[0]);
    /* another rate, another run */
    CU_ASSERT_EQUAL(qos_set_profile(rig_task(r), 0, PROFILE_50M), 0);
    CU_ASSERT(qos_run(&rig_qos(r)->pipe[0]).from > last.to);
    drain(r);
    rig_close(r);
}

/* Returns whether the run goes on while packets of a higher class overtake those that wait. */
static bool goes_on(void)
{
    uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 5;
    struct qos_run first;
    uint64_t voice = 0, next = 0;
    double took;
    struct rig *r;

    qos_model();
    r = qos_open();
    delivered(r, 0.05, &took);
    first = qos_run(&rig_qos(r)->pipe[0]);
    qos_away = (struct absence){0};
    while (rte_rdtsc() < end || voice < 30) {
        absence_look(&qos_away, rte_rdtsc(), 0);
        if (rig_held(r) < 40)
            put_numbered(r, path_of(0, BE_QUEUE), 0, 20, 1000);
        if (rte_rdtsc() >= next) {
            put_numbered(r, path_of(0, 0), 0, 1, 500);
            voice++;
            next = rte_rdtsc() + rte_get_tsc_hz() / 700;
        }
        rig_poll(r, rte_rdtsc());
        rig_clear(r);
    }
    struct qos_run last = qos_run(&rig_qos(r)->pipe[0]);
    drain(r);
    rig_close(r);
    return last.from <= first.to && last.to - first.to > rte_get_tsc_hz() / 10;
}

/* Packets of a higher class that overtake those that wait do not end the run. One that waited
 * because this thread was away does. */
static void run_of_two_classes(void)
{
    unsigned attempt = 0;
    bool good;

    do {
        good = goes_on();
    } while (again("a run with two classes", ++attempt));
    if (judged())
        CU_ASSERT(good);
}

/* Who sends less than he may has no such stretch, however steadily he sends. */
static void run_of_another(void)
{
    uint64_t ms = rte_get_tsc_hz() / 1000;
    struct qos_run first, last;
    struct rig *r;

    qos_model();
    r = qos_open();
    put_numbered(r, path_of(0, BE_QUEUE), 0, 1, 500);
    drain(r);
    first = qos_run(&rig_qos(r)->pipe[0]);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t start = rte_rdtsc();

        put_numbered(r, path_of(0, BE_QUEUE), i, 1, 500);
        while (rte_rdtsc() - start < ms || rig_held(r) > 0)
            rig_poll(r, rte_rdtsc());
    }
    last = qos_run(&rig_qos(r)->pipe[0]);
    CU_ASSERT(last.to <= first.to || last.from > first.to);
    CU_ASSERT_EQUAL(rig_captured(r, "to"), 101);
    rig_close(r);
}

static int open_undisturbed(void)
{
    absence_avoid();
    return harness_open();
}

static const struct test tests[] = {
    {"the run of a limited subscriber", run_of_a_limited},
    {"a run with two classes", run_of_two_classes},
    {"no run of one that is not", run_of_another},
    {NULL, NULL},
};

const struct test_program test_program = {"qos run", tests, open_undisturbed, harness_close};
