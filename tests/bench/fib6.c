/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles per lookup of an IPv6 destination: tables/fib/fib6.h beside rte_lpm6 and rte_fib6 (its
 * trie, by the function that it chooses itself), in bursts, in turn on the same addresses
 * (doc/scale.md). Prefixes are random, below random /32s of which there are 1024 at most, as
 * networks get them; addresses are of random prefixes among them.
 *
 *     bench-fib6 [ROUTES [ROUNDS]]    at most 60000 routes
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_fib6.h>
#include <rte_lpm6.h>
#include <rte_version.h>

#include "packet/ipv6.h"
#include "tables/fib/fib6.h"

#define BURST     32u
#define ADDRESSES 65536u
#define MOST      60000u
#define OPERATORS 1024u

#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define IP(p) ((struct rte_ipv6_addr *)(p))
#else
#define IP(p) (p)
#endif

static uint8_t ip[ADDRESSES][IPV6_ADDR_LEN];
static struct ipv6 addr[ADDRESSES], prefix[MOST];
static struct fib6 fib;
static struct rte_lpm6 *lpm;
static struct rte_fib6 *trie;
static uint64_t state;

static uint32_t random_below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * n >> 32);
}

static uint64_t random64(void)
{
    return (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
}

static void bytes_of(struct ipv6 words, uint8_t *p)
{
    store64(p, net64(words.upper));
    store64(p + 8, net64(words.lower));
}

static uint64_t look_up_lpm(uint32_t from)
{
    int32_t found[BURST];
    uint64_t sum = 0;

    rte_lpm6_lookup_bulk_func(lpm, IP(&ip[from]), found, BURST);
    for (unsigned i = 0; i < BURST; i++)
        sum += (uint32_t)found[i];
    return sum;
}

static uint64_t look_up_trie(uint32_t from)
{
    uint64_t found[BURST], sum = 0;

    rte_fib6_lookup_bulk(trie, IP(&ip[from]), found, BURST);
    for (unsigned i = 0; i < BURST; i++)
        sum += found[i];
    return sum;
}

static uint64_t look_up_fib(uint32_t from)
{
    struct ipv6 dst[BURST];
    uint32_t found[BURST];
    uint64_t sum = 0;

    for (unsigned i = 0; i < BURST; i++)
        dst[i] = ipv6_of(ip[from + i]);
    fib6_lookup_burst(&fib.own, dst, BURST, found);
    for (unsigned i = 0; i < BURST; i++)
        sum += found[i];
    return sum;
}

/* Cycles per lookup of one turn through all addresses. */
static double turn(uint64_t (*look_up)(uint32_t from), uint64_t *sum)
{
    uint64_t start = rte_rdtsc_precise();

    *sum = 0;
    for (unsigned i = 0; i < ADDRESSES; i += BURST)
        *sum += look_up(i);
    return (double)(rte_rdtsc_precise() - start) / ADDRESSES;
}

/* Returns not 0 where there is no room. */
static int add(uint32_t i, unsigned len, uint32_t number)
{
    uint8_t p[IPV6_ADDR_LEN];

    bytes_of(prefix[i], p);
    return rte_lpm6_add(lpm, IP(p), (uint8_t)len, number) |
           rte_fib6_add(trie, IP(p), (uint8_t)len, number) | fib6_add(&fib, prefix[i], len, number);
}

static int fill(uint32_t n, unsigned len)
{
    const uint32_t groups = RTE_MIN(n * ((len + 7) / 8 - 3) + 1000, (1u << 20) - 1);
    struct rte_lpm6_config lpm_config = {.max_rules = n, .number_tbl8s = groups};
    struct rte_fib6_conf trie_config = {.type = RTE_FIB6_TRIE,
                                        .max_routes = (int)n,
                                        .trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = groups}};
    struct ipv6 operator[OPERATORS];
    int rc = fib6_create(&fib, n, SOCKET_ID_ANY);

    lpm = rte_lpm6_create("bench", SOCKET_ID_ANY, &lpm_config);
    trie = rte_fib6_create("bench", SOCKET_ID_ANY, &trie_config);
    if (rc != 0 || lpm == NULL || trie == NULL)
        return -1;
    for (uint32_t i = 0; i < OPERATORS; i++) /* of 2000::/3 */
        operator[i].upper = UINT64_C(1) << 61 | random64() >> 3;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        uint64_t upper = operator[random_below(OPERATORS)].upper>> 32 << 32;

        if (len <= 32)
            upper = UINT64_C(1) << 61 | random64() >> 3;
        prefix[i] = first6((struct ipv6){upper | random64() >> 32, random64()}, len);
        rc = add(i, len, 1 + i % 64);
    }
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        struct ipv6 mask = mask6(len);

        addr[i] = prefix[random_below(n)];
        addr[i].upper |= random64() & ~mask.upper;
        addr[i].lower |= random64() & ~mask.lower;
        bytes_of(addr[i], ip[i]);
    }
    return rc;
}

/* Returns whether all have found the same. */
static bool measure(uint32_t n, unsigned len, unsigned rounds)
{
    static uint64_t (*const look_up[])(uint32_t from) = {look_up_lpm, look_up_trie, look_up_fib};
    double best[] = {1e9, 1e9, 1e9};
    uint64_t sum[RTE_DIM(best)] = {0};

    if (fill(n, len) != 0) {
        fprintf(stderr, "bench-fib6: no room for %u routes\n", n);
        return false;
    }
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < RTE_DIM(best); i++) {
            double took = turn(look_up[i], &sum[i]);

            best[i] = RTE_MIN(best[i], took);
        }
    printf("%7u of /%-3u   rte_lpm6 %6.1f   rte_fib6 %6.1f   fib6 %6.1f, %u nodes\n", n, len,
           best[0], best[1], best[2], lines_in_use(&fib.nodes));
    rte_lpm6_free(lpm);
    rte_fib6_free(trie);
    fib6_free(&fib);
    return sum[0] == sum[1] && sum[1] == sum[2];
}

int main(int argc, char **argv)
{
    static const unsigned lens[] = {32, 48, 56, 64, 128};
    char *eal[] = {argv[0], "--no-pci",  "--no-telemetry", "--log-level=*:warning", "-l", "0", "-m",
                   "4000",  "--no-huge", "--no-shconf"};
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : MOST;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
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
