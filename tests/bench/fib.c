/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles per lookup of a destination: tables/fib/fib.h beside rte_lpm, by the passes of the route
 * task with both, in turn on the same addresses (doc/scale.md). Prefixes are random and each alone
 * in its /24; addresses are of random prefixes among them.
 *
 *     bench-fib [ROUTES [ROUNDS]]    at most 60000 routes, the room of rte_lpm
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lpm.h>
#include <rte_prefetch.h>

#include "tables/fib/fib.h"

#define BURST     32u
#define ADDRESSES 65536u
#define MOST      60000u

static uint32_t addr[ADDRESSES], prefix[MOST];
static struct fib fib;
static struct rte_lpm *lpm;
static uint64_t state;

static uint32_t random_below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * n >> 32);
}

static const void *lpm_entry(uint32_t dst)
{
    const void *first = &lpm->tbl24[dst >> 8];
    uint32_t entry = *(const uint32_t *)first;

    return (entry & RTE_LPM_VALID_EXT_ENTRY_BITMASK) == RTE_LPM_VALID_EXT_ENTRY_BITMASK
               ? &lpm->tbl8[(entry & 0x00ffffff) * RTE_LPM_TBL8_GROUP_NUM_ENTRIES + (uint8_t)dst]
               : first;
}

static uint32_t look_up_lpm(const uint32_t *dst)
{
    const void *entry[BURST];
    uint32_t sum = 0;

    for (unsigned i = 0; i < BURST; i++)
        rte_prefetch0(&lpm->tbl24[dst[i] >> 8]);
    for (unsigned i = 0; i < BURST; i++) {
        entry[i] = lpm_entry(dst[i]);
        rte_prefetch0(entry[i]);
    }
    for (unsigned i = 0; i < BURST; i++) {
        uint32_t found = *(const uint32_t *)entry[i];

        sum += (found & RTE_LPM_LOOKUP_SUCCESS) != 0 ? found & 0x00ffffff : 0;
    }
    return sum;
}

static uint32_t look_up_fib(const uint32_t *dst)
{
    const uint32_t *entry[BURST];
    uint32_t sum = 0;

    for (unsigned i = 0; i < BURST; i++)
        rte_prefetch0(&fib.own.first[dst[i] >> (32 - FIB_FIRST_BITS)]);
    for (unsigned i = 0; i < BURST; i++) {
        const uint32_t *first = &fib.own.first[dst[i] >> (32 - FIB_FIRST_BITS)];
        uint32_t found = fib_read(first);

        entry[i] = (found & FIB_MORE) != 0 ? fib_second(fib.own.line, found, dst[i]) : first;
        rte_prefetch0(entry[i]);
    }
    for (unsigned i = 0; i < BURST; i++) {
        uint32_t found = fib_read(entry[i]);

        if (unlikely((found & FIB_MORE) != 0))
            found = fib_read(fib_third(fib.own.line, found, dst[i]));
        sum += found & FIB_NUMBER;
    }
    return sum;
}

/* Cycles per lookup of one turn through all addresses. */
static double turn(uint32_t (*look_up)(const uint32_t *dst), uint32_t *sum)
{
    uint64_t start = rte_rdtsc_precise();

    *sum = 0;
    for (unsigned i = 0; i < ADDRESSES; i += BURST)
        *sum += look_up(&addr[i]);
    return (double)(rte_rdtsc_precise() - start) / ADDRESSES;
}

static int fill(uint32_t n, uint8_t len)
{
    struct rte_lpm_config config = {.max_rules = n, .number_tbl8s = n + 1};
    int rc = fib_create(&fib, n, SOCKET_ID_ANY);

    lpm = rte_lpm_create("bench", SOCKET_ID_ANY, &config);
    if (rc != 0 || lpm == NULL)
        return -1;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        /* a step that is odd passes through all /24s of 1/8 to 223/8 before one comes again */
        prefix[i] = (((1u << 16) + (uint32_t)(i * UINT64_C(7919993) % (222u << 16))) << 8 |
                     random_below(256)) &
                    prefix_mask(len);
        rc = rte_lpm_add(lpm, prefix[i], len, 1 + i % 64);
        rc |= fib_add(&fib, prefix[i], len, 1 + i % 64);
    }
    for (uint32_t i = 0; i < ADDRESSES; i++)
        addr[i] = prefix[random_below(n)] | (random_below(256) & ~prefix_mask(len));
    return rc;
}

/* Returns whether both have found the same. */
static bool measure(uint32_t n, uint8_t len, unsigned rounds)
{
    double best[2] = {1e9, 1e9};
    uint32_t sum[2] = {0};

    if (fill(n, len) != 0) {
        fprintf(stderr, "bench-fib: no room for %u routes\n", n);
        return false;
    }
    for (unsigned r = 0; r < rounds; r++) {
        double lpm_turn = turn(look_up_lpm, &sum[0]), fib_turn = turn(look_up_fib, &sum[1]);

        best[0] = RTE_MIN(best[0], lpm_turn);
        best[1] = RTE_MIN(best[1], fib_turn);
    }
    printf("%7u of /%-2u   rte_lpm %6.1f   fib %6.1f   %.2f\n", n, len, best[0], best[1],
           best[1] / best[0]);
    rte_lpm_free(lpm);
    fib_free(&fib);
    return sum[0] == sum[1];
}

int main(int argc, char **argv)
{
    static const uint8_t lens[] = {20, 24, 28, 32};
    char *eal[] = {argv[0], "--no-pci",  "--no-telemetry", "--log-level=*:warning", "-l", "0", "-m",
                   "400",   "--no-huge", "--no-shconf"};
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : MOST;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
    bool same = true;

    /* huge pages, where the caller asks for them, and else ordinary ones */
    if (getenv("BENCH_HUGE") != NULL)
        eal[8] = "--in-memory";
    if (n < 1 || n > MOST || rte_eal_init(RTE_DIM(eal), eal) < 0)
        return 2;
    printf("cycles per lookup, the least of %u turns\n", rounds);
    for (unsigned k = 0; k < RTE_DIM(lens); k++) {
        state = 0x9e3779b97f4a7c15;
        same &= measure(n, lens[k], rounds);
    }
    rte_eal_cleanup();
    return same ? 0 : 1;
}
