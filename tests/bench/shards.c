/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench-shards: what one scheduler does on one core and on two (doc/qos.md). Each core is a thread
 * that is pinned, puts bursts of packets for random subscribers, classes and queues into its shard,
 * and takes bursts out; nobody generates or sends. Beside it stand two schedulers that share
 * nothing, for the machine's two CPUs may not be as fast together as each alone. Rounds are told
 * apart by core-to-core latency, which changes where virtual CPUs are not pinned: what is shared
 * costs by it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "common/qos_shapes.h"
#include "near_far.h"
#include "sched/sched.h"
#include "sched/shards/shards.h"

#define PIPES       32768u /* of the scheduler, however many cores have a part of them */
#define MOST        2u     /* cores */
#define IN_FLIGHT   16384u /* packets of a core */
#define BURST       32u
#define FRAME       60 /* bytes, without FCS */
#define PORT_RATE   UINT64_C(200000000000)
#define PIPE_RATE   UINT64_C(1000000000)
#define SUBPORTS    4u
#define ROUNDS      201
#define QUICK       3
#define ROUND_MS    5
#define UNDISTURBED 0.98 /* of a round that a core has had its CPU */
#define HIGH_QUEUES 2    /* classes in use beside best effort */

enum { ALONE, SHARD, APART, SHARDS, N_KINDS };

static const struct kind {
    const char *name;
    unsigned cores;
    bool shared;
} kinds[N_KINDS] = {
    [ALONE] = {"1 core, without shards", 1, false},
    [SHARD] = {"1 core, 1 shard", 1, true},
    [APART] = {"2 cores, 2 schedulers that share nothing", 2, false},
    [SHARDS] = {"2 cores, 2 shards", 2, true},
};

/* What all kinds did within some 80 ms. */
struct round {
    double core_ns;       /* core-to-core latency; 0: it changed meanwhile */
    double mpps[N_KINDS]; /* 0: something else had one of the CPUs */
};

/* What a core works on. */
struct lane {
    unsigned cpu;
    struct sched *s;
    struct rte_mbuf **free; /* a ring of IN_FLIGHT in random order */
    uint32_t *path;         /* a ring of IN_FLIGHT */
    uint32_t head, n;       /* of free */
    uint64_t sent;
    uint64_t cycles;                      /* TSC, of a round */
    double had;                           /* of them it has had its CPU */
} __rte_aligned(2 * RTE_CACHE_LINE_SIZE); /* cores share no line, nor a pair fetched at once */

static struct cfg_profile profile;
static struct cfg_subport subports[SUBPORTS];
static struct lane lanes[MOST];
static pthread_barrier_t barrier;
static uint64_t round_cycles;

static void pin(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- a core --- */

static void put_burst(struct lane *l)
{
    struct rte_mbuf *m[BURST];

    for (uint32_t i = 0; i < BURST; i++) {
        uint32_t at = (l->head + i) % IN_FLIGHT;

        m[i] = l->free[at];
        m[i]->hash.sched.queue_id = l->path[at];
        m[i]->hash.sched.color = 0;
    }
    l->head = (l->head + BURST) % IN_FLIGHT;
    l->n -= BURST;
    sched_expect(l->s, m, BURST, 0); /* as the task does */
    if (sched_enqueue(l->s, m, BURST) != BURST) {
        fprintf(stderr, "bench-shards: a queue was full\n");
        exit(1);
    }
}

static void take_burst(struct lane *l)
{
    struct rte_mbuf *m[BURST];
    uint32_t n = sched_dequeue(l->s, m, BURST);

    for (uint32_t i = 0; i < n; i++)
        l->free[(l->head + l->n + i) % IN_FLIGHT] = m[i];
    l->n += n;
    l->sent += n;
}

/* Packets go in and out for the time of a round. */
static void pass_packets(struct lane *l)
{
    uint64_t start = rte_rdtsc();

    while (rte_rdtsc() - start < round_cycles) {
        if (l->n >= BURST)
            put_burst(l);
        take_burst(l);
    }
}

static void *work(void *arg)
{
    struct lane *l = arg;
    double cpu;
    uint64_t start;

    pin(l->cpu);
    pthread_barrier_wait(&barrier);
    pass_packets(l); /* to warm up */
    cpu = cpu_seconds();
    start = rte_rdtsc();
    l->sent = 0;
    pass_packets(l);
    l->cycles = rte_rdtsc() - start;
    l->had = (cpu_seconds() - cpu) * (double)rte_get_tsc_hz() / (double)l->cycles;
    for (uint64_t sent = l->sent; sched_held(l->s) > 0; l->sent = sent)
        take_burst(l);
    return NULL;
}

/* --- a round --- */

static void make_sched(struct lane *l, const struct cfg_scheduler *shape, struct shards *all,
                       unsigned shard)
{
    struct sched_config config = {.name = "bench",
                                  .socket = SOCKET_ID_ANY,
                                  .shape = shape,
                                  .direction = QOS_UP,
                                  .profiles = &profile,
                                  .n_profiles = 1,
                                  .max_profiles = 1,
                                  .shards = all,
                                  .shard = shard};

    l->s = sched_create(&config);
    if (l->s == NULL)
        exit(1);
    for (uint32_t p = 0; p < shape->pipes.n; p++)
        sched_set_profile(l->s, p, 0);
}

/* Mpps of all cores of a kind in one round; 0: something else had one of their CPUs. */
static double run(const struct kind *k)
{
    struct cfg_scheduler shape =
        plain_scheduler(PORT_RATE, subports, SUBPORTS, PIPES / SUBPORTS / k->cores);
    struct shards *all = NULL;
    pthread_t thread[MOST];
    bool disturbed = false;
    double mpps = 0;

    for (unsigned c = 0; c < HIGH_QUEUES; c++)
        shape.class[c].size = 64;
    for (unsigned i = 0; i < SUBPORTS;
         i++) /* below the port's, so that it is paid and shared, too */
        plain_subport_rate(&subports[i], PORT_RATE / 2);
    if (k->shared)
        all = shards_create(&shape, k->cores, NULL, SOCKET_ID_ANY);
    for (unsigned i = 0; i < k->cores; i++) {
        struct lane *l = &lanes[i];

        make_sched(l, &shape, all, i);
        for (uint32_t p = 0; p < IN_FLIGHT; p++) {
            unsigned queue = (unsigned)rand() % (HIGH_QUEUES + QOS_BE_QUEUES);

            l->path[p] = (uint32_t)rand() % (PIPES / k->cores) * QOS_QUEUES +
                         (queue < HIGH_QUEUES ? queue : QOS_BE + queue - HIGH_QUEUES);
        }
    }
    pthread_barrier_init(&barrier, NULL, k->cores);
    for (unsigned i = 0; i < k->cores; i++)
        pthread_create(&thread[i], NULL, work, &lanes[i]);
    for (unsigned i = 0; i < k->cores; i++) {
        pthread_join(thread[i], NULL);
        mpps += (double)lanes[i].sent / (double)lanes[i].cycles * (double)rte_get_tsc_hz() / 1e6;
        disturbed |= lanes[i].had < UNDISTURBED;
        sched_free(lanes[i].s);
    }
    pthread_barrier_destroy(&barrier);
    shards_free(all);
    return disturbed ? 0 : mpps;
}

/* --- start --- */

static void shuffle(struct rte_mbuf **m, uint32_t n)
{
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t k = (uint32_t)rand() % (i + 1);
        struct rte_mbuf *was = m[i];

        m[i] = m[k];
        m[k] = was;
    }
}

static void make_packets(void)
{
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("packets", MOST * IN_FLIGHT, 0, 0, 256, SOCKET_ID_ANY);

    for (unsigned i = 0; i < MOST; i++) {
        struct lane *l = &lanes[i];

        l->cpu = i;
        l->n = IN_FLIGHT;
        l->free = calloc(IN_FLIGHT, sizeof(*l->free));
        l->path = calloc(IN_FLIGHT, sizeof(*l->path));
        if (pool == NULL || l->free == NULL || l->path == NULL ||
            rte_pktmbuf_alloc_bulk(pool, l->free, IN_FLIGHT) != 0) {
            fprintf(stderr, "bench-shards: no memory for packets\n");
            exit(1);
        }
        for (uint32_t p = 0; p < IN_FLIGHT; p++)
            rte_pktmbuf_append(l->free[p], FRAME);
        shuffle(l->free, IN_FLIGHT);
    }
}

static void run_all(struct round *r)
{
    double before = core_ns(lanes[0].cpu, lanes[1].cpu);

    for (unsigned k = 0; k < N_KINDS; k++)
        r->mpps[k] = run(&kinds[k]);
    r->core_ns = core_ns_of_round(before, core_ns(lanes[0].cpu, lanes[1].cpu));
}

/* Print a row: Mpps, which of one core that is, and rounds that count. "none": in no round the CPUs
 * were its own, so that there is no figure. */
static void print_row(const struct kind *k, double mpps, double one, unsigned n, unsigned rounds)
{
    char figure[16] = "none", ratio[16] = "none";

    if (n > 0)
        snprintf(figure, sizeof(figure), "%.2f", mpps);
    if (n > 0 && one > 0)
        snprintf(ratio, sizeof(ratio), "%.2f", mpps / one);
    printf("%-44s %8s %12s %10u of %u\n", k->name, figure, ratio, n, rounds);
}

/* Print what the rounds did in which the cores were near, or far from each other. */
static void print_table(const struct round *round, unsigned rounds, double nearest, bool far)
{
    double one = 0, ns[ROUNDS];
    unsigned n_all = 0;

    for (unsigned r = 0; r < rounds; r++) {
        if (round[r].core_ns > 0 && is_far(round[r].core_ns, nearest) == far)
            ns[n_all++] = round[r].core_ns;
    }
    printf("%-44s %8s %12s %14s\n", "enqueue + dequeue, 32768 pipes", "Mpps", "of one core",
           "of so many rounds");
    for (unsigned k = 0; k < N_KINDS; k++) {
        double mpps[ROUNDS], got;
        unsigned n = 0;

        for (unsigned r = 0; r < rounds; r++) {
            if (round[r].core_ns > 0 && is_far(round[r].core_ns, nearest) == far &&
                round[r].mpps[k] > 0)
                mpps[n++] = round[r].mpps[k];
        }
        got = n > 0 ? median(mpps, n) : 0;
        one = k == ALONE ? got : one;
        print_row(&kinds[k], got, one, n, n_all);
    }
    if (n_all > 0)
        printf("core-to-core latency %.0f ns\n\n", median(ns, n_all));
    else
        printf("core-to-core latency changed in each round\n\n");
}

int main(int argc, char **argv)
{
    static char *huge[] = {
        "bench-shards", "--no-pci",       "--in-memory", "--log-level=lib.*:4", "--lcores=0", "-m",
        "512",          "--no-telemetry", NULL};
    static char *small[] = {
        "bench-shards", "--no-pci",       "--no-huge", "--log-level=lib.*:4", "--lcores=0", "-m",
        "512",          "--no-telemetry", NULL};
    bool quick = false, no_huge = false;
    static struct round round[ROUNDS];
    double ns[ROUNDS], nearest;
    bool far = false;
    unsigned rounds;

    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        no_huge |= strcmp(argv[i], "--no-huge") == 0;
    }
    if (rte_eal_init(RTE_DIM(huge) - 1, no_huge ? small : huge) < 0)
        return 1;
    rounds = quick ? QUICK : ROUNDS;
    round_cycles = rte_get_tsc_hz() / 1000 * ROUND_MS;
    profile.shape[QOS_UP] = profile.shape[QOS_DOWN] = plain_shape(PIPE_RATE, 1000000);
    make_packets();
    for (unsigned r = 0; r < rounds; r++) {
        run_all(&round[r]);
        ns[r] = round[r].core_ns;
    }
    nearest = nearest_ns(ns, rounds);
    for (unsigned r = 0; r < rounds; r++)
        far |= is_far(ns[r], nearest);
    print_table(round, rounds, nearest, false);
    if (far)
        print_table(round, rounds, nearest, true);
    return 0;
}
