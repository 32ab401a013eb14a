/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu/core_latency.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu/topology.h"
#include "base/json.h"
#include "base/log.h"

#define TRIPS       32 /* there and back, of a round, so that a look at the clock is no part of it */
#define ROUNDS      31
#define PATIENCE_NS 1000000000
#define SPINS       1024 /* between two looks at the clock of who waits */

enum { ANSWERED, ASKED, OVER };

struct line {
    alignas(64) _Atomic int word; /* the line that goes there and back */
    alignas(64) double ns[ROUNDS];
    pthread_mutex_t gate; /* locked until both threads are there: one that goes before all others
                             may have the CPU that is needed to start the other one */
    bool late;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Once both threads are there, go before all with ordinary priority; without the permission the
 * median of the rounds is of those in which both had their CPUs. */
static void begin(struct line *l)
{
    pthread_mutex_lock(&l->gate);
    pthread_mutex_unlock(&l->gate);
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
}

static void *answer(void *arg)
{
    struct line *l = arg;
    int is;

    begin(l);
    while ((is = atomic_load_explicit(&l->word, memory_order_acquire)) != OVER) {
        if (is == ASKED)
            atomic_store_explicit(&l->word, ANSWERED, memory_order_release);
    }
    return NULL;
}

static bool trip(struct line *l, uint64_t end)
{
    unsigned spins = 0;

    atomic_store_explicit(&l->word, ASKED, memory_order_release);
    while (atomic_load_explicit(&l->word, memory_order_acquire) != ANSWERED) {
        if (++spins % SPINS == 0 && now_ns() > end)
            return false;
    }
    return true;
}

static void *ask(void *arg)
{
    struct line *l = arg;
    uint64_t end;

    begin(l);
    end = now_ns() + PATIENCE_NS;
    l->late = !trip(l, end); /* in which the other thread begins */
    for (unsigned i = 0; i < ROUNDS && !l->late; i++) {
        uint64_t start = now_ns();

        for (unsigned n = 0; n < TRIPS && !l->late; n++)
            l->late = !trip(l, end);
        l->ns[i] = (double)(now_ns() - start) / TRIPS;
    }
    atomic_store_explicit(&l->word, OVER, memory_order_release);
    return NULL;
}

static int start_on(unsigned cpu, pthread_t *thread, void *(*run)(void *), struct line *l)
{
    pthread_attr_t attr;
    cpu_set_t set;
    int rc;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_attr_init(&attr);
    rc = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
    if (rc == 0)
        rc = pthread_create(thread, &attr, run, l);
    pthread_attr_destroy(&attr);
    return -rc;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int core_latency(unsigned a, unsigned b, struct core_latency *out)
{
    struct line l = {.word = ANSWERED, .gate = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[2];
    int rc, answering;

    if (a == b || a >= CPU_SETSIZE || b >= CPU_SETSIZE)
        return -EINVAL;
    pthread_mutex_lock(&l.gate);
    rc = answering = start_on(b, &threads[1], answer, &l);
    if (rc == 0)
        rc = start_on(a, &threads[0], ask, &l);
    if (rc != 0)
        atomic_store(&l.word, OVER);
    pthread_mutex_unlock(&l.gate);
    if (rc == 0)
        pthread_join(threads[0], NULL);
    if (answering == 0)
        pthread_join(threads[1], NULL);
    pthread_mutex_destroy(&l.gate);
    if (rc == 0 && l.late)
        rc = -ETIMEDOUT;
    if (rc != 0)
        return rc;
    qsort(l.ns, ROUNDS, sizeof(l.ns[0]), ascending);
    *out = (struct core_latency){l.ns[0], l.ns[ROUNDS / 2], l.ns[ROUNDS - 1]};
    return 0;
}

static int measured(unsigned a, unsigned b, struct core_latency *l)
{
    int rc = core_latency(a, b, l);

    if (rc != 0)
        log_error("core-to-core latency of CPUs %u and %u: %s", a, b, strerror(-rc));
    return rc;
}

static int print_text(FILE *to, const uint16_t *cpus, unsigned n)
{
    fputs("Core-to-core latency: ns there and back\n\nCPU ", to);
    for (unsigned j = 1; j < n; j++)
        fprintf(to, " %5u", cpus[j]);
    fputc('\n', to);
    for (unsigned i = 0; i + 1 < n; i++) {
        fprintf(to, "%4u%*s", cpus[i], (int)(i * 6), "");
        for (unsigned j = i + 1; j < n; j++) {
            struct core_latency l;
            int rc = measured(cpus[i], cpus[j], &l);

            if (rc != 0)
                return rc;
            fprintf(to, " %5.0f", l.median);
        }
        fputc('\n', to);
        fflush(to); /* a row shows how far it is */
    }
    return 0;
}

static json_t *as_json(unsigned a, unsigned b, const struct core_latency *l)
{
    return json_pack("{s:i, s:i, s:{s:o, s:o, s:o}}", "a", (int)a, "b", (int)b, "round_trip_ns",
                     "least", json_rounded(l->least, 1), "median", json_rounded(l->median, 1),
                     "most", json_rounded(l->most, 1));
}

static int print_json(FILE *to, const uint16_t *cpus, unsigned n)
{
    json_t *pairs = json_array(), *all;
    int rc = 0;

    for (unsigned i = 0; i + 1 < n && rc == 0; i++) {
        for (unsigned j = i + 1; j < n && rc == 0; j++) {
            struct core_latency l;

            rc = measured(cpus[i], cpus[j], &l);
            if (rc == 0)
                pairs = json_with_item(pairs, as_json(cpus[i], cpus[j], &l));
        }
    }
    all = json_pack("{s:s, s:o}", "format", "vbng-core-latency/1", "pairs", pairs);
    if (rc == 0 && (all == NULL || json_dumpf(all, to, JSON_INDENT(1) | JSON_DIGITS) != 0)) {
        log_error("no memory, or no room, for core-to-core latencies as JSON");
        rc = -ENOMEM;
    }
    json_decref(all);
    if (rc == 0)
        fputc('\n', to);
    return rc;
}

int core_latency_print(FILE *to, bool json)
{
    static uint8_t given[TOPO_MAX_CPUS];
    static uint16_t cpus[TOPO_MAX_CPUS];
    unsigned n = 0;
    int rc = topo_affinity(given);

    if (rc != 0) {
        log_error("which CPUs this process may run on: %s", strerror(-rc));
        return rc;
    }
    for (unsigned cpu = 0; cpu < TOPO_MAX_CPUS; cpu++) {
        if (given[cpu])
            cpus[n++] = (uint16_t)cpu;
    }
    if (n < 2) {
        log_error("core-to-core latency is of two CPUs, and this process may run on CPU %u only",
                  cpus[0]);
        return -EINVAL;
    }
    return json ? print_json(to, cpus, n) : print_text(to, cpus, n);
}
