/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench-rings: what a ring between two cores costs each of them, in TSC cycles a packet
 * (doc/project.md).
 *
 * One core takes mbufs from the pool, writes their first lines, as a receive function does, and
 * puts them into a ring; the other takes them out, asks for all of their lines, as the engine does,
 * writes them, as a task does, and gives them back to the pool. What the same work takes without a
 * ring, on one core, is subtracted: the rest is the ring, and lines that go from core to core and
 * back. Both cores have other work, too, which is not counted: either the one or the other is
 * slower, so that the ring holds packets, or runs empty. Rounds in which something else had a CPU
 * do not count.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "near_far.h"

#define MBUFS       16384u
#define CACHE       256u
#define DATA_ROOM   2176u
#define BURST       64u /* packets that a task takes at once */
#define SLOTS       1024u
#define MOST        16u /* rings */
#define ROUNDS      31u
#define QUICK       3u
#define ROUND_MS    5u
#define UNDISTURBED 0.98 /* of a round that a core has had its CPU */
#define FAST        40u  /* cycles a packet of other work */
#define SLOW        80u

#define CPUS 0, 1

enum { PUT, TAKE, N_SIDES };
enum { EMPTY, FULL, N_STATES }; /* of rings */

static const struct how {
    unsigned rings; /* that are put into in turn */
    unsigned batch; /* packets that are put at once */
    bool frame;     /* its first line is written by both, too */
} hows[] = {{1, 64, false},  {1, 32, false}, {1, 1, false},
            {16, 32, false}, {16, 1, false}, {1, 64, true}};

/* What a core does, and what that took in a round. */
struct side {
    void *(*work)(void *);
    unsigned cpu;
    unsigned other; /* cycles a packet of other work */
    const struct how *how;
    uint64_t cycles, packets;             /* of a round */
    double had;                           /* its CPU, of a round */
} __rte_aligned(2 * RTE_CACHE_LINE_SIZE); /* cores share no line, nor a pair fetched at once */

/* Cycles a packet that rings cost each side, and whether both cores had their CPUs. */
struct round {
    double core_ns; /* core-to-core latency; 0: it changed meanwhile */
    double cost[RTE_DIM(hows)][N_STATES][N_SIDES];
    bool own[RTE_DIM(hows)][N_STATES];
};

static struct rte_mempool *pool;
static struct rte_ring *ring[MOST];
static pthread_barrier_t barrier;
static uint64_t round_cycles;
static bool putting;

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void do_other(unsigned each, unsigned n)
{
    uint64_t start = rte_rdtsc();

    while (rte_rdtsc() - start < (uint64_t)each * n)
        ;
}

static void get_burst(struct rte_mbuf **m, bool frame)
{
    while (rte_mempool_get_bulk(pool, (void **)m, BURST) != 0)
        ; /* the other core's cache holds what is missing until it takes more */
    for (unsigned i = 0; i < BURST; i++) {
        m[i]->data_off = RTE_PKTMBUF_HEADROOM;
        rte_mbuf_refcnt_set(m[i], 1);
        m[i]->pkt_len = m[i]->data_len = 64;
        if (frame)
            *rte_pktmbuf_mtod(m[i], uint64_t *) = i;
    }
}

static void use_burst(struct rte_mbuf **m, unsigned n, bool frame)
{
    for (unsigned i = 0; i < n; i++)
        __builtin_prefetch(m[i], 1, 3);
    for (unsigned i = 0; i < n && frame; i++)
        __builtin_prefetch(rte_pktmbuf_mtod(m[i], void *), 1, 3);
    for (unsigned i = 0; i < n; i++)
        m[i]->hash.usr = m[i]->pkt_len;
    for (unsigned i = 0; i < n && frame; i++)
        ++*rte_pktmbuf_mtod(m[i], uint64_t *);
    rte_mempool_put_bulk(pool, (void **)m, n);
}

/* --- a round --- */

static void *put_packets(void *arg)
{
    struct side *s = arg;
    struct rte_mbuf *m[BURST];
    uint64_t until = rte_rdtsc() + round_cycles;
    unsigned next = 0;

    while (rte_rdtsc() < until) {
        uint64_t start;

        do_other(s->other, BURST);
        if (rte_ring_free_count(ring[next]) < BURST)
            continue;
        start = rte_rdtsc();
        get_burst(m, s->how->frame);
        for (unsigned i = 0; i < BURST; i += s->how->batch) {
            while (rte_ring_sp_enqueue_bulk(ring[next], (void **)&m[i], s->how->batch, NULL) == 0)
                ;
            next = next + 1 < s->how->rings ? next + 1 : 0;
        }
        s->cycles += rte_rdtsc() - start;
        s->packets += BURST;
    }
    __atomic_store_n(&putting, false, __ATOMIC_RELEASE);
    return NULL;
}

static void *take_packets(void *arg)
{
    struct side *s = arg;
    struct rte_mbuf *m[BURST];
    unsigned next = 0, empty = 0;

    /* to the end, all rings have been empty since the last was put */
    for (bool on = true; on || empty < s->how->rings;) {
        uint64_t start = rte_rdtsc();
        unsigned n;

        on = __atomic_load_n(&putting, __ATOMIC_ACQUIRE);
        n = rte_ring_sc_dequeue_burst(ring[next], (void **)m, BURST, NULL);
        next = next + 1 < s->how->rings ? next + 1 : 0;
        empty = on || n > 0 ? 0 : empty + 1;
        if (n == 0)
            continue;
        use_burst(m, n, s->how->frame);
        s->cycles += rte_rdtsc() - start;
        s->packets += n;
        do_other(s->other, n);
    }
    return NULL;
}

/* Both on this core, one after the other, without a ring. */
static void *do_both(void *arg)
{
    struct side *s = arg;
    struct rte_mbuf *m[BURST];
    uint64_t until = rte_rdtsc() + round_cycles;

    while (rte_rdtsc() < until) {
        uint64_t start, between;

        do_other(s[PUT].other, BURST);
        start = rte_rdtsc();
        get_burst(m, s->how->frame);
        between = rte_rdtsc();
        use_burst(m, BURST, s->how->frame);
        s[TAKE].cycles += rte_rdtsc() - between;
        s[PUT].cycles += between - start;
        s[PUT].packets += BURST;
        s[TAKE].packets += BURST;
    }
    return NULL;
}

static void *on_its_cpu(void *arg)
{
    struct side *s = arg;
    cpu_set_t set;
    uint64_t start;
    double cpu;

    CPU_ZERO(&set);
    CPU_SET(s->cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
    rte_thread_register(); /* so that it has a cache of the pool */
    pthread_barrier_wait(&barrier);
    cpu = cpu_seconds();
    start = rte_rdtsc();
    s->work(s);
    s->had = (cpu_seconds() - cpu) * (double)rte_get_tsc_hz() / (double)(rte_rdtsc() - start);
    rte_thread_unregister();
    return NULL;
}

/* Run sides[0..n). Returns whether each core has had its CPU. */
static bool run(struct side *sides, unsigned n)
{
    pthread_t thread[N_SIDES];
    bool own = true;

    putting = true;
    pthread_barrier_init(&barrier, NULL, n);
    for (unsigned i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, on_its_cpu, &sides[i]);
    for (unsigned i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        own &= sides[i].had >= UNDISTURBED;
    }
    pthread_barrier_destroy(&barrier);
    return own;
}

/* Cycles a packet that a ring costs each side. Returns false where a core lacked its CPU. */
static bool measure(unsigned put_other, unsigned take_other, const struct how *h, double *costs)
{
    struct side alone[N_SIDES] = {{.work = do_both, .other = put_other, .how = h}, {.work = NULL}};
    struct side apart[N_SIDES] = {{.work = put_packets, .cpu = 0, .other = put_other, .how = h},
                                  {.work = take_packets, .cpu = 1, .other = take_other, .how = h}};
    bool own = run(alone, 1);

    own &= run(apart, N_SIDES);
    for (unsigned i = 0; i < N_SIDES; i++)
        costs[i] = (double)apart[i].cycles / (double)apart[i].packets -
                   (double)alone[i].cycles / (double)alone[i].packets;
    return own;
}

/* --- all rounds --- */

static void run_all(struct round *r)
{
    double before = core_ns(CPUS);

    for (unsigned i = 0; i < RTE_DIM(hows); i++) {
        r->own[i][EMPTY] = measure(SLOW, FAST, &hows[i], r->cost[i][EMPTY]);
        r->own[i][FULL] = measure(FAST, SLOW, &hows[i], r->cost[i][FULL]);
    }
    r->core_ns = core_ns_of_round(before, core_ns(CPUS));
}

/* A row: what a way to put packets costs, in the rounds of a table. */
static void print_row(const struct round *const *round, unsigned n_rounds, unsigned i,
                      unsigned state)
{
    static const char *const states[] = {[EMPTY] = "run empty", [FULL] = "hold packets"};
    double v[ROUNDS];
    unsigned n = 0;

    printf("%8u %8u %-14s", hows[i].rings, hows[i].batch, states[state]);
    for (unsigned side = 0; side < N_SIDES; side++) {
        n = 0;
        for (unsigned r = 0; r < n_rounds; r++)
            if (round[r]->own[i][state])
                v[n++] = round[r]->cost[i][state][side];
        if (n > 0)
            printf(" %8.1f", median(v, n));
        if (n > 0)
            printf(" (%.1f-%.1f)", v[0], v[n - 1]);
    }
    printf("%s %u of %u%s\n", n > 0 ? "" : " none", n, n_rounds,
           hows[i].frame ? ", with the frame's line" : "");
}

/* Print what the rounds have found in which the cores were near, or far from each other. */
static void print_table(const struct round *round, unsigned rounds, double nearest, bool far)
{
    const struct round *these[ROUNDS];
    double ns[ROUNDS];
    unsigned n = 0;

    for (unsigned r = 0; r < rounds; r++)
        if (round[r].core_ns > 0 && is_far(round[r].core_ns, nearest) == far) {
            ns[n] = round[r].core_ns;
            these[n++] = &round[r];
        }
    if (n == 0)
        return;
    printf("core-to-core latency %.0f ns\n%8s %8s %-14s %22s %22s\n", median(ns, n), "rings",
           "at once", "they", "puts, cycles a packet", "takes");
    for (unsigned i = 0; i < RTE_DIM(hows); i++)
        for (unsigned state = 0; state < N_STATES; state++)
            print_row(these, n, i, state);
    putchar('\n');
}

/* Mbufs that have left the order in which they lie, as traffic leaves them. */
static void mix(void)
{
    static struct rte_mbuf *m[MBUFS];

    if (rte_mempool_get_bulk(pool, (void **)m, MBUFS) != 0)
        abort(); /* it has as many */
    for (uint32_t i = MBUFS - 1; i > 0; i--) {
        uint32_t k = (uint32_t)rand() % (i + 1);
        struct rte_mbuf *was = m[i];

        m[i] = m[k];
        m[k] = was;
    }
    rte_mempool_put_bulk(pool, (void **)m, MBUFS);
}

int main(int argc, char **argv)
{
    char *eal[] = {argv[0],
                   "--no-pci",
                   "--no-telemetry",
                   "--log-level=lib.*:4",
                   "--lcores=0",
                   "-m",
                   "256",
                   "--in-memory",
                   NULL};
    static struct round round[ROUNDS];
    double ns[ROUNDS], nearest;
    bool quick = false;
    unsigned rounds;

    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        if (strcmp(argv[i], "--no-huge") == 0)
            eal[RTE_DIM(eal) - 2] = "--no-huge";
    }
    if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
        return 1;
    pool = rte_pktmbuf_pool_create("rings", MBUFS, CACHE, 0, DATA_ROOM, SOCKET_ID_ANY);
    for (unsigned i = 0; i < MOST; i++) {
        char name[16];

        snprintf(name, sizeof(name), "ring%u", i);
        ring[i] = rte_ring_create(name, SLOTS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (ring[i] == NULL)
            return 1;
    }
    if (pool == NULL)
        return 1;
    mix();
    rounds = quick ? QUICK : ROUNDS;
    round_cycles = rte_get_tsc_hz() / 1000 * ROUND_MS;
    for (unsigned r = 0; r < rounds; r++) {
        run_all(&round[r]);
        ns[r] = round[r].core_ns;
    }
    nearest = nearest_ns(ns, rounds);
    if (isinf(nearest))
        printf("core-to-core latency changed in each round\n");
    print_table(round, rounds, nearest, false);
    print_table(round, rounds, nearest, true);
    if (rte_mempool_avail_count(pool) != MBUFS) {
        fprintf(stderr, "bench-rings: mbufs are lost\n");
        return 1;
    }
    return 0;
}
