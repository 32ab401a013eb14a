/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles per packet of putting sent mbufs back into their pool, as the transmit functions of NICs
 * do it, beside fast free (doc/bench.md): with a look at each, for other references and further
 * mbufs of the packet, or without. Bursts are taken from the pool and their first lines written, as
 * a receive function does; so many packets are under way, in descriptors and queues, until they are
 * put back. All else is alike, so that the difference is what fast free saves.
 *
 *     bench-free [ROUNDS [PACKETS ...]]    numbers of packets under way
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#define BURST     32u
#define CACHE     256u
#define DATA_ROOM 2176u
#define LEAST     (1u << 20) /* packets of a round */
#define MOST      1001u      /* rounds */

enum { WITH_LOOK, FAST, N_WAYS };

static struct rte_mempool *pool;
static struct rte_mbuf **way; /* a ring of those under way */
static uint32_t n_way;

/* What a NIC's driver writes into an mbuf that it receives. */
static void receive(struct rte_mbuf **m)
{
    if (rte_mempool_get_bulk(pool, (void **)m, BURST) != 0)
        abort(); /* the pool has more mbufs than are under way */
    for (unsigned i = 0; i < BURST; i++) {
        m[i]->data_off = RTE_PKTMBUF_HEADROOM;
        rte_mbuf_refcnt_set(m[i], 1);
        m[i]->nb_segs = 1;
        m[i]->port = 0;
        m[i]->ol_flags = 0;
        m[i]->pkt_len = m[i]->data_len = 64;
    }
}

static void put_back_looking(struct rte_mbuf **m)
{
    struct rte_mbuf *of_pool[BURST];
    unsigned n = 0;

    for (unsigned i = 0; i < BURST; i++) {
        struct rte_mbuf *one = rte_pktmbuf_prefree_seg(m[i]);

        if (one == NULL)
            continue;
        if (n > 0 && one->pool != of_pool[0]->pool) {
            rte_mempool_put_bulk(of_pool[0]->pool, (void **)of_pool, n);
            n = 0;
        }
        of_pool[n++] = one;
    }
    if (n > 0)
        rte_mempool_put_bulk(of_pool[0]->pool, (void **)of_pool, n);
}

/* Cycles per packet. */
static double pass(unsigned how)
{
    uint32_t n = RTE_MAX(LEAST, 4 * n_way), at = 0;
    uint64_t begun = rte_rdtsc();

    for (uint32_t i = 0; i < n; i += BURST) {
        if (how == FAST)
            rte_mempool_put_bulk(pool, (void **)&way[at], BURST);
        else
            put_back_looking(&way[at]);
        receive(&way[at]);
        at = at + BURST < n_way ? at + BURST : 0;
    }
    return (double)(rte_rdtsc() - begun) / n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double report(const char *what, double *cycles, unsigned rounds)
{
    qsort(cycles, rounds, sizeof(cycles[0]), by_value);
    printf("  %-18s %6.2f (%.2f-%.2f)\n", what, cycles[rounds / 2], cycles[0], cycles[rounds - 1]);
    return cycles[rounds / 2];
}

static void measure(unsigned rounds)
{
    static double cycles[N_WAYS][MOST];
    double look, fast;

    for (unsigned r = 0; r < rounds; r++)
        for (unsigned how = 0; how < N_WAYS; how++)
            cycles[how][r] = pass(how);
    printf("%u packets under way, cycles per packet, median (min-max) of %u\n", n_way, rounds);
    look = report("a look at each", cycles[WITH_LOOK], rounds);
    fast = report("fast free", cycles[FAST], rounds);
    printf("  saved              %6.2f\n", look - fast);
}

/* Mbufs that have left the order in which they lie, as traffic leaves them. */
static void mix(void)
{
    for (uint32_t i = n_way - 1; i > 0; i--) {
        uint32_t k = (uint32_t)rand() % (i + 1);
        struct rte_mbuf *m = way[i];

        way[i] = way[k];
        way[k] = m;
    }
}

static bool start(uint32_t n)
{
    n_way = n / BURST * BURST;
    pool = rte_pktmbuf_pool_create("free", n_way + 4 * CACHE, CACHE, 0, DATA_ROOM, SOCKET_ID_ANY);
    way = calloc(n_way, sizeof(way[0]));
    if (pool == NULL || way == NULL)
        return false;
    for (uint32_t i = 0; i < n_way; i += BURST)
        receive(&way[i]);
    mix();
    return true;
}

/* All mbufs are there when those under way are put back. */
static bool end(void)
{
    bool all;

    for (uint32_t i = 0; i < n_way; i += BURST)
        put_back_looking(&way[i]);
    all = rte_mempool_avail_count(pool) == pool->size;
    rte_mempool_free(pool);
    free(way);
    return all;
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {2048, 65536, 262144}; /* of two queues, and of pools */
    char *eal[] = {argv[0], "--no-pci",  "--no-telemetry", "--log-level=*:warning", "-l", "0", "-m",
                   "800",   "--no-huge", "--no-shconf"};
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 31;
    unsigned n = argc > 2 ? (unsigned)argc - 2 : RTE_DIM(sizes);
    bool all = true;

    /* huge pages, where the caller asks for them, and else ordinary ones */
    if (getenv("BENCH_HUGE") != NULL)
        eal[8] = "--in-memory";
    if (rounds < 1 || rounds > MOST || rte_eal_init(RTE_DIM(eal), eal) < 0)
        return 2;
    for (unsigned i = 0; all && i < n; i++) {
        if (!start(argc > 2 ? (uint32_t)atoi(argv[2 + i]) : sizes[i])) {
            fprintf(stderr, "bench-free: no room for %u packets\n", n_way);
            return 2;
        }
        measure(rounds);
        all = end();
    }
    rte_eal_cleanup();
    return all ? 0 : 1;
}
