/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles per lookup of a subscriber by an IPv6 destination (tables/subscriber6.h), of few and of
 * many subscribers in turn, in bursts and stages as the data path does it (doc/scale.md). Each has
 * a /64 for his link and a delegated /56; addresses are random, half of each. Ids are in the order
 * of prefixes, as those of a range, or in none, as those of sessions.
 *
 *     bench-subscriber6 [MANY [ROUNDS]]    a power of two, 1048576 at most; a sixteenth are few
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_memory.h>

#include "tables/subscriber6.h"

#define BURST     32u
#define ADDRESSES 65536u
#define MOST      1048576u
#define LINKS     UINT64_C(0x20010db000000000) /* 2001:db0::/44 and on: a /64 for each */
#define DELEGATED UINT64_C(0x20010dc000000000) /* 2001:dc0::/36: a /56 for each */

/* A table, and addresses of those in it with their ids. */
struct gateway {
    struct subscriber6_table *t;
    struct ipv6 addr[ADDRESSES];
    uint32_t id[ADDRESSES], n;
    bool in_order;
    double best;
};

/* The number of a subscriber's prefixes among those of all. */
static uint32_t number(const struct gateway *g, uint32_t id)
{
    return g->in_order ? id : id * 2654435761u % g->n;
}

static uint32_t random_below(uint32_t n)
{
    static uint64_t state = 0x9e3779b97f4a7c15;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * n >> 32);
}

static int fill(struct gateway *g, uint32_t n, bool in_order)
{
    g->n = n;
    g->in_order = in_order;
    g->best = 1e9;
    g->t = subscriber6_table_create(n, 2 * n, SOCKET_ID_ANY);
    if (g->t == NULL)
        return -1;
    for (uint32_t id = 1; id <= n; id++) {
        struct cpe_prefixes spec = {.wan = {LINKS + number(g, id), 0},
                                    .wan_len = 64,
                                    .delegated = {DELEGATED + ((uint64_t)number(g, id) << 8)},
                                    .delegated_len = {56},
                                    .n_delegated = 1};

        if (subscriber6_check(g->t, &spec) != 0)
            return -1;
        subscriber6_fill(g->t, id, &spec);
        subscriber6_publish(g->t, id);
    }
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        uint32_t id = 1 + random_below(n), at = number(g, id);

        g->id[i] = id;
        g->addr[i].upper =
            random_below(2) == 0 ? LINKS + at : DELEGATED + ((uint64_t)at << 8) + random_below(256);
        g->addr[i].lower = random_below(UINT32_MAX);
    }
    return 0;
}

/* One turn through all addresses. Returns how many were not found. */
static uint32_t turn(struct gateway *g)
{
    struct subscriber6_search search[BURST];
    uint64_t start = rte_rdtsc_precise();
    uint32_t wrong = 0;
    double took;

    for (unsigned from = 0; from < ADDRESSES; from += BURST) {
        for (unsigned i = 0; i < BURST; i++)
            search[i] = subscriber6_begin(g->t, g->addr[from + i]);
        for (unsigned i = 0; i < BURST; i++)
            wrong += subscriber6_end(g->t, &search[i], g->addr[from + i]) != g->id[from + i];
    }
    took = (double)(rte_rdtsc_precise() - start) / ADDRESSES;
    g->best = RTE_MIN(g->best, took);
    return wrong;
}

/* Measure few and many subscribers in turn. Returns 0; 1 where an address was not found, 2 without
 * room. */
static int measure(const char *what, uint32_t n, bool in_order, unsigned rounds)
{
    static struct gateway few, many;
    uint32_t wrong = 0;

    if (fill(&few, n / 16, in_order) != 0 || fill(&many, n, in_order) != 0) {
        fprintf(stderr, "bench-subscriber6: no room for %u subscribers\n", n);
        return 2;
    }
    for (unsigned r = 0; r < rounds; r++)
        wrong += turn(&few) + turn(&many);
    printf("%s: %u subscribers %.1f, %u subscribers %.1f, ratio %.2f\n", what, few.n, few.best,
           many.n, many.best, many.best / few.best);
    subscriber6_table_free(few.t);
    subscriber6_table_free(many.t);
    return wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char *eal[] = {argv[0], "--no-pci",  "--no-telemetry", "--log-level=*:warning", "-l", "0", "-m",
                   "600",   "--no-huge", "--no-shconf"};
    uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : MOST;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 40;
    int rc;

    /* huge pages, where the caller asks for them, and else ordinary ones */
    if (getenv("BENCH_HUGE") != NULL)
        eal[8] = "--in-memory";
    if (n < 16 || n > MOST || (n & (n - 1)) != 0 || rte_eal_init(RTE_DIM(eal), eal) < 0)
        return 2;
    printf("cycles per lookup, the least of %u turns\n", rounds);
    rc = measure("ids in order", n, true, rounds);
    if (rc == 0)
        rc = measure("ids in no order", n, false, rounds);
    rte_eal_cleanup();
    return rc;
}
