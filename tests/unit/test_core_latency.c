/* SPDX-License-Identifier: BSD-3-Clause */
/* Core-to-core latency of the CPUs that the test may run on: alone, and beside threads that poll on
 * them. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/cpu/core_latency.h"
#include "base/cpu/topology.h"
#include "common/program.h"

#define POLLERS 6
#define TIMES   20
#define TRIES   3

static unsigned cpus[TOPO_MAX_CPUS], n_cpus;
static cpu_set_t all;
static atomic_bool over;

static int read_cpus(void)
{
    sched_getaffinity(0, sizeof(all), &all);
    for (unsigned i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all))
            cpus[n_cpus++] = i;
    }
    return n_cpus > 1 ? 0 : PROGRAM_SKIPPED;
}

/* Measure; a machine that takes a CPU away for a second gets another try. */
static void ordered(const char *when)
{
    struct core_latency l = {0, 0, 0};
    int rc = -ETIMEDOUT;

    for (unsigned i = 0; i < TRIES && rc == -ETIMEDOUT; i++)
        rc = core_latency(cpus[0], cpus[1], &l);
    EXPECT(rc == 0, "%s: %s\n", when, strerror(-rc));
    EXPECT(l.least > 1 && l.least <= l.median && l.median <= l.most, "%s: %f %f %f\n", when,
           l.least, l.median, l.most);
}

static void two_cpus(void)
{
    ordered("alone");
}

static void pin(unsigned cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static void *poll_there(void *cpu)
{
    pin(*(unsigned *)cpu);
    while (!over) {
    }
    return NULL;
}

/* The thread that is started first may not take the CPU of who starts the other one. */
static void beside_pollers(void)
{
    pthread_t threads[POLLERS];

    for (unsigned i = 0; i < POLLERS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, poll_there, &cpus[i % 2]), 0);
    pin(cpus[1]);
    for (unsigned i = 0; i < TIMES; i++)
        ordered("beside pollers");
    sched_setaffinity(0, sizeof(all), &all);
    over = true;
    for (unsigned i = 0; i < POLLERS; i++)
        pthread_join(threads[i], NULL);
}

static void no_pairs(void)
{
    struct core_latency l;

    CU_ASSERT_EQUAL(core_latency(cpus[0], cpus[0], &l), -EINVAL);
    CU_ASSERT_EQUAL(core_latency(cpus[0], CPU_SETSIZE - 1, &l), -EINVAL);
    CU_ASSERT_EQUAL(core_latency(CPU_SETSIZE - 1, cpus[0], &l), -EINVAL);
    CU_ASSERT_EQUAL(core_latency(cpus[0], CPU_SETSIZE, &l), -EINVAL);
}

/* What is printed of all CPUs, in the first of some tries that is as expected; to be freed. */
static char *printed(bool json, int expected)
{
    char *text = NULL;
    size_t len;
    int rc = expected + 1;

    for (unsigned i = 0; i < TRIES && rc != expected; i++) {
        FILE *f = open_memstream(&text, &len);

        rc = core_latency_print(f, json);
        fclose(f);
        if (rc != expected)
            free(text);
    }
    CU_ASSERT_EQUAL_FATAL(rc, expected);
    return text;
}

static void as_json(void)
{
    char *text = printed(true, 0);
    json_t *all_of_it = json_loads(text, 0, NULL), *pairs = json_object_get(all_of_it, "pairs");
    const char *format = "";
    size_t i;
    json_t *pair;

    json_unpack(all_of_it, "{s:s}", "format", &format);
    CU_ASSERT_STRING_EQUAL(format, "vbng-core-latency/1");
    CU_ASSERT_EQUAL(json_array_size(pairs), n_cpus * (n_cpus - 1) / 2);
    json_array_foreach(pairs, i, pair)
    {
        int a = -1, b = -1;
        double least = 0, median = 0, most = 0;

        CU_ASSERT_EQUAL(json_unpack(pair, "{s:i, s:i, s:{s:F, s:F, s:F}}", "a", &a, "b", &b,
                                    "round_trip_ns", "least", &least, "median", &median, "most",
                                    &most),
                        0);
        CU_ASSERT(a >= 0 && a < b && CPU_ISSET(a, &all) && CPU_ISSET(b, &all));
        CU_ASSERT(0 < least && least <= median && median <= most);
    }
    json_decref(all_of_it);
    free(text);
}

static void as_text(void)
{
    char *text = printed(false, 0);
    unsigned lines = 0;

    for (const char *p = text; *p != '\0'; p++)
        lines += *p == '\n';
    EXPECT(lines == n_cpus + 2, "%s", text); /* title, empty line, head, a row for all but one */
    free(text);
}

static void one_cpu(void)
{
    pin(cpus[0]);
    free(printed(false, -EINVAL));
    sched_setaffinity(0, sizeof(all), &all);
}

static const struct test tests[] = {
    {"two CPUs", two_cpus}, {"beside pollers", beside_pollers},
    {"no pairs", no_pairs}, {"as JSON", as_json},
    {"as text", as_text},   {"one CPU", one_cpu},
    {NULL, NULL},
};

const struct test_program test_program = {"core latency", tests, read_cpus, NULL};
