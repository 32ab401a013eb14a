/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench-growth: cycles per packet of enqueue and dequeue as a scheduler grows (doc/scale.md), each
 * size in turn, many times. Each packet is of a random subscriber, class and queue; HELD packets
 * wait. What a packet needs is asked for a burst ahead, as classify does.
 *
 *     bench-growth [--quick] [--no-huge] [--cpu N] [--rounds N]
 *
 * Exit status: 0 when bars are met by the median, 1 when one is not, 2 for usage, 3 when something
 * does not work. --quick judges no bar, and has a quarter of the pipes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "common/qos_shapes.h"
#include "sched/sched.h"

#define HELD       32768u
#define PACKETS    (2 * HELD)
#define BURST      32u
#define FRAME      60 /* bytes, without FCS */
#define PORT_RATE  UINT64_C(200000000000)
#define PIPE_RATE  UINT64_C(1000000000)
#define TURN       (2048u * BURST) /* packets of a size in a round */
#define MAX_ROUNDS 201u
#define QUICK_PART 4u /* of the pipes */
#define QUEUE      64 /* packets */

/* A size, and that of its row's first one, to which it is compared. */
static const struct size {
    const char *row;
    uint32_t subports, pipes;
    unsigned first;
    double bar; /* 0: none */
} sizes[] = {
    {"pipes in one subport", 1, 4096, 0, 0},      {"pipes in one subport", 1, 32768, 0, 0},
    {"pipes in one subport", 1, 262144, 0, 0},    {"pipes in one subport", 1, 1048576, 0, 1.15},
    {"subports of 65536 pipes", 1, 65536, 4, 0},  {"subports of 65536 pipes", 4, 65536, 4, 0},
    {"subports of 65536 pipes", 32, 65536, 4, 0}, {"subports of 65536 pipes", 256, 65536, 4, 1.15},
};

#define N_SIZES RTE_DIM(sizes)

static struct cfg_profile profile;
static struct rte_mbuf *ring[PACKETS]; /* of those that do not wait, in random order */
static uint32_t head, n_free;
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench-growth: %s\n", what);
    exit(3);
}

static struct sched *make(const struct size *z, unsigned part, uint32_t *pipes)
{
    static struct cfg_subport subports[QOS_MAX_SUBPORTS];
    struct cfg_scheduler shape =
        plain_scheduler(PORT_RATE, subports, z->subports, z->pipes / part / z->subports);
    struct sched_config config = {.name = "bench",
                                  .socket = SOCKET_ID_ANY,
                                  .shape = &shape,
                                  .direction = QOS_UP,
                                  .profiles = &profile,
                                  .n_profiles = 1,
                                  .max_profiles = 1};
    struct sched *s;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        shape.class[c].size = QUEUE;
    s = sched_create(&config);
    if (s == NULL)
        fail("no scheduler");
    for (uint32_t p = 0; p < shape.pipes.n; p++)
        sched_set_profile(s, p, 0);
    *pipes = shape.pipes.n;
    return s;
}

static void put_burst(struct sched *s, uint32_t pipes)
{
    struct rte_mbuf *m[BURST];

    for (uint32_t i = 0; i < BURST; i++) {
        uint64_t bits = random_bits();

        m[i] = ring[(head + i) % PACKETS];
        m[i]->hash.sched.queue_id =
            (uint32_t)((bits >> 32) * pipes >> 32) * QOS_QUEUES + (uint32_t)(bits % QOS_QUEUES);
        m[i]->hash.sched.color = 0;
    }
    head = (head + BURST) % PACKETS;
    n_free -= BURST;
    sched_expect(s, m, BURST, 0);
    if (sched_enqueue(s, m, BURST) != BURST)
        fail("a queue was full");
}

static uint32_t take_burst(struct sched *s)
{
    struct rte_mbuf *m[BURST];
    uint32_t n = sched_dequeue(s, m, BURST);

    for (uint32_t i = 0; i < n; i++)
        ring[(head + n_free + i) % PACKETS] = m[i];
    n_free += n;
    return n;
}

/* CPU time of this thread, in cycles of the TSC. */
static double cpu_cycles(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec) * (double)rte_get_tsc_hz();
}

/* Pass so many packets, and return cycles for each of them. */
static double pass(struct sched *s, uint32_t pipes, uint32_t packets)
{
    double start = cpu_cycles();

    for (uint32_t sent = 0; sent < packets;) {
        if (n_free >= PACKETS - HELD)
            put_burst(s, pipes);
        sent += take_burst(s);
    }
    return (cpu_cycles() - start) / packets;
}

static double run(struct sched *s, uint32_t pipes)
{
    double cycles;

    while (n_free > PACKETS - HELD)
        put_burst(s, pipes);
    pass(s, pipes, TURN / 2); /* to warm up */
    cycles = pass(s, pipes, TURN);
    while (sched_held(s) > 0)
        take_burst(s);
    return cycles;
}

static void make_packets(void)
{
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("packets", PACKETS, 0, 0, 256, SOCKET_ID_ANY);

    if (pool == NULL || rte_pktmbuf_alloc_bulk(pool, ring, PACKETS) != 0)
        fail("no memory for packets");
    for (uint32_t i = PACKETS - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(random_bits() % (i + 1));
        struct rte_mbuf *was = ring[i];

        ring[i] = ring[k];
        ring[k] = was;
    }
    for (uint32_t i = 0; i < PACKETS; i++)
        rte_pktmbuf_append(ring[i], FRAME);
    n_free = PACKETS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Print a row, and return whether its bar is missed. */
static unsigned report(unsigned i, uint32_t pipes, const struct sched *s, const double *cycles,
                       const double *first, unsigned rounds)
{
    double c[MAX_ROUNDS], ratio[MAX_ROUNDS];
    bool missed;

    for (unsigned r = 0; r < rounds; r++) {
        c[r] = cycles[r];
        ratio[r] = cycles[r] / first[r];
    }
    qsort(c, rounds, sizeof(*c), by_size);
    qsort(ratio, rounds, sizeof(*ratio), by_size);
    missed = sizes[i].bar > 0 && ratio[rounds / 2] > sizes[i].bar;
    printf("%-24s %8u %8u %6.0f (%.0f-%.0f) %6.2f (%.2f-%.2f) %6.0f MiB", sizes[i].row,
           sizes[i].subports, pipes, c[rounds / 2], c[0], c[rounds - 1], ratio[rounds / 2],
           ratio[0], ratio[rounds - 1], (double)sched_bytes(s) / (1 << 20));
    if (sizes[i].bar > 0)
        printf("  <= %.2f %s", sizes[i].bar, missed ? "MISSED" : "OK");
    printf("\n");
    return missed;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench-growth [--quick] [--no-huge] [--cpu N] [--rounds 1..%u]\n",
            MAX_ROUNDS);
    return 2;
}

int main(int argc, char **argv)
{
    static double cycles[N_SIZES][MAX_ROUNDS];
    static char lcores[32] = "--lcores=0";
    char *eal[] = {
        "bench-growth", "--no-pci",       "--in-memory", "--log-level=lib.*:4", lcores, "-m",
        "3072",         "--no-telemetry", NULL};
    struct sched *s[N_SIZES];
    uint32_t pipes[N_SIZES];
    unsigned rounds = 61, missed = 0;
    bool quick = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--no-huge") == 0)
            eal[2] = "--no-huge";
        else if (strcmp(argv[i], "--cpu") == 0 && i + 1 < argc)
            snprintf(lcores, sizeof(lcores), "--lcores=0@%u", (unsigned)atoi(argv[++i]));
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = (unsigned)atoi(argv[++i]);
        else
            return usage();
    }
    if (rounds < 1 || rounds > MAX_ROUNDS)
        return usage();
    rounds = quick ? 1 : rounds;
    eal[6] = quick ? "1024" : eal[6];
    if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
        return 3;
    profile.shape[QOS_UP] = profile.shape[QOS_DOWN] = plain_shape(PIPE_RATE, 1000000);
    make_packets();
    for (unsigned i = 0; i < N_SIZES; i++)
        s[i] = make(&sizes[i], quick ? QUICK_PART : 1, &pipes[i]);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < N_SIZES; i++)
            cycles[i][r] = run(s[i], pipes[i]);
    printf("%-24s %8s %8s %16s %20s %10s\n", "enqueue + dequeue", "subports", "pipes",
           "cycles a packet", "ratio", "memory");
    for (unsigned i = 0; i < N_SIZES; i++)
        missed += report(i, pipes[i], s[i], cycles[i], cycles[sizes[i].first], rounds);
    for (unsigned i = 0; i < N_SIZES; i++)
        sched_free(s[i]);
    return missed > 0 && !quick ? 1 : 0;
}
