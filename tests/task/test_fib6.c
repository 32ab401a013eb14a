/* SPDX-License-Identifier: BSD-3-Clause */
/* Longest-prefix match of IPv6, against a list of prefixes that is searched from end to end. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "tables/fib6.h"
#include "tables_bed.h"

#define MOST 300

static struct oracle {
    struct {
        struct ipv6 prefix;
        uint32_t number;
        unsigned len;
    } route[MOST];
    unsigned n;
} oracle;

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

static uint64_t half(struct ipv6 addr, unsigned bit)
{
    return bit < 64 ? addr.upper : addr.lower;
}

/* Bit by bit, and nothing of prefixes.h. */
static bool begins_with(struct ipv6 addr, struct ipv6 prefix, unsigned len)
{
    for (unsigned i = 0; i < len; i++)
        if (((half(addr, i) ^ half(prefix, i)) >> (63 - i % 64) & 1) != 0)
            return false;
    return true;
}

static uint32_t oracle_lookup(struct ipv6 addr)
{
    int longest = -1;
    uint32_t number = 0;

    for (unsigned i = 0; i < oracle.n; i++)
        if ((int)oracle.route[i].len > longest &&
            begins_with(addr, oracle.route[i].prefix, oracle.route[i].len)) {
            longest = (int)oracle.route[i].len;
            number = oracle.route[i].number;
        }
    return number;
}

static unsigned oracle_find(struct ipv6 prefix, unsigned len)
{
    unsigned i = 0;

    while (i < oracle.n &&
           (oracle.route[i].prefix.upper != prefix.upper ||
            oracle.route[i].prefix.lower != prefix.lower || oracle.route[i].len != len))
        i++;
    return i;
}

/* Few bits of few addresses are set, so that prefixes lie in prefixes and part everywhere; and
 * seldom any. */
static struct ipv6 some_address(void)
{
    struct ipv6 addr = {UINT64_C(0x20010db800000000), 0};

    if (random_below(8) == 0)
        return (struct ipv6){random64(), random64()};
    for (unsigned i = random_below(4); i > 0; i--) {
        unsigned bit = random_below(128);

        *(bit < 64 ? &addr.upper : &addr.lower) ^= UINT64_C(1) << (63 - bit % 64);
    }
    if (random_below(4) == 0)
        addr.lower ^= random_below(256);
    return addr;
}

static void change(struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    unsigned i = oracle_find(prefix, len);

    if (i < oracle.n && random_below(2) == 0) {
        CU_ASSERT_EQUAL(fib6_remove(f, prefix, len), 0);
        CU_ASSERT_EQUAL(fib6_remove(f, prefix, len), -ENOENT);
        oracle.route[i] = oracle.route[--oracle.n];
        return;
    }
    if (oracle.n == MOST)
        return;
    oracle.n += i == oracle.n;
    oracle.route[i].prefix = prefix;
    oracle.route[i].len = len;
    oracle.route[i].number = random_below(FIB6_NUMBER + 1);
    CU_ASSERT_EQUAL(fib6_add(f, prefix, len, oracle.route[i].number), 0);
}

static struct ipv6 plus(struct ipv6 a, int64_t n)
{
    uint64_t lower = a.lower + (uint64_t)n;

    return (struct ipv6){a.upper + (n < 0 ? lower > a.lower ? UINT64_MAX : 0 : lower < a.lower),
                         lower};
}

/* Compare around the ends of a prefix, and anywhere, one by one and in a burst. */
static unsigned differences(const struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    struct ipv6 mask = mask6(len), last = {prefix.upper | ~mask.upper, prefix.lower | ~mask.lower};
    struct ipv6 addr[] = {prefix,        plus(prefix, -1), last,
                          plus(last, 1), some_address(),   some_address()};
    uint32_t found[RTE_DIM(addr)];
    unsigned n = 0;

    fib6_lookup_burst(f, addr, RTE_DIM(addr), found);
    for (unsigned i = 0; i < RTE_DIM(addr); i++) {
        uint32_t right = oracle_lookup(addr[i]);

        n += found[i] != right || fib6_lookup(f, addr[i]) != right;
    }
    return n;
}

static void against_the_oracle(void)
{
    enum { ROUNDS = 20000 };
    struct fib6 f;
    unsigned wrong = 0;

    state = 0x9e3779b97f4a7c15;
    oracle.n = 0;
    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, MOST, SOCKET_ID_ANY), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned again = oracle.n > 0 ? random_below(oracle.n) : 0;
        bool old = oracle.n == MOST || (oracle.n > 0 && random_below(3) == 0);
        unsigned len = old ? oracle.route[again].len : random_below(129);
        struct ipv6 prefix = old ? oracle.route[again].prefix : first6(some_address(), len);

        change(&f, prefix, len);
        wrong += differences(&f, prefix, len);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(oracle.n > MOST / 4 && lines_in_use(&f.nodes) > 0);
    CU_ASSERT(lines_in_use(&f.nodes) < 2 * oracle.n);
    while (oracle.n > 0) {
        oracle.n--;
        CU_ASSERT_EQUAL(fib6_remove(&f, oracle.route[oracle.n].prefix, oracle.route[oracle.n].len),
                        0);
        wrong += differences(&f, oracle.route[oracle.n].prefix, oracle.route[oracle.n].len);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(lines_in_use(&f.nodes), 0); /* no memory is lost */
    for (uint32_t i = 0; i < 1u << FIB6_FIRST_BITS; i++)
        wrong += f.first[i] != 0;
    CU_ASSERT_EQUAL(wrong, 0);
    fib6_free(&f);
}

/* As many routes as there is room for, in pairs, each of which needs three nodes: where its two
 * addresses part, and where each of them ends. */
static struct ipv6 lone(uint32_t i)
{
    return (struct ipv6){(uint64_t)(i / 2) << 48, (uint64_t)(i & 1) << 63 | i};
}

static void worst_case(void)
{
    enum { N = 5000 };
    struct fib6 f;
    unsigned wrong = 0;

    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, N, SOCKET_ID_ANY), 0);
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < N; i++)
            wrong += fib6_add(&f, lone(i), 128, i + round) != 0;
        CU_ASSERT_EQUAL(fib6_add(&f, lone(N), 128, 1), -ENOSPC);
        for (uint32_t i = 0; i < N; i++) {
            wrong += fib6_lookup(&f, lone(i)) != i + round;
            wrong += fib6_lookup(&f, plus(lone(i), 1)) != 0;
        }
        CU_ASSERT_EQUAL(lines_in_use(&f.nodes), N + N / 2);
        for (uint32_t i = 0; round < 2 && i < N; i++)
            wrong += fib6_remove(&f, lone(i), 128) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fib6_free(&f);
}

static struct rte_rcu_qsbr *make_readers(void)
{
    struct rte_rcu_qsbr *v = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(2), RTE_CACHE_LINE_SIZE);

    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    CU_ASSERT_EQUAL_FATAL(rte_rcu_qsbr_init(v, 2), 0);
    CU_ASSERT_EQUAL_FATAL(rte_rcu_qsbr_thread_register(v, 0), 0);
    return v;
}

/* A reader that never says that it has left old nodes keeps them from being used again. */
static void a_reader_stays(void)
{
    const struct ipv6 host = {UINT64_C(0x20010db800000000), 1};
    struct rte_rcu_qsbr *v = make_readers();
    struct fib6 f;
    int rc = 0;

    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, 4, SOCKET_ID_ANY), 0);
    f.nodes.readers = v;
    rte_rcu_qsbr_thread_online(v, 0);
    while (rc == 0 && f.nodes.n_touched + 2 <= f.nodes.n) {
        rc |= fib6_add(&f, host, 128, 7);
        rc |= fib6_remove(&f, host, 128);
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_EQUAL(fib6_add(&f, host, 128, 7), -ENOSPC);
    CU_ASSERT_EQUAL(fib6_lookup(&f, host), 0);
    rte_rcu_qsbr_quiescent(v, 0);
    CU_ASSERT_EQUAL(fib6_add(&f, host, 128, 7), 0);
    CU_ASSERT_EQUAL(fib6_lookup(&f, host), 7);
    fib6_free(&f);
    rte_free(v);
}

/* --- readers and the writer at the same time --- */

struct reader {
    struct fib6 *f;
    uint64_t lookups, wrong;
    int stop;
};

/* One of 1024 addresses, whose prefixes part at many depths. */
static struct ipv6 near(uint32_t i)
{
    return (struct ipv6){UINT64_C(0x2001000000000000) | (uint64_t)(i & 0x1f) << 28 |
                             (uint64_t)(i >> 5 & 3) << 8,
                         (uint64_t)(i >> 7) << 30};
}

/* All addresses have a prefix: the /16 with number 1, or a longer one. */
static void *read_on(void *ctx)
{
    struct reader *r = ctx;
    uint32_t addr = 0;

    rte_rcu_qsbr_thread_online(r->f->nodes.readers, 0);
    while (__atomic_load_n(&r->stop, __ATOMIC_RELAXED) == 0) {
        for (unsigned i = 0; i < 64; i++) {
            uint32_t number;

            addr = addr * 1664525 + 1013904223;
            number = fib6_lookup(r->f, near(addr >> 16 & 0x3ff));
            r->wrong += number < 1 || number > 129;
        }
        __atomic_store_n(&r->lookups, r->lookups + 64, __ATOMIC_RELAXED);
        rte_rcu_qsbr_quiescent(r->f->nodes.readers, 0);
    }
    rte_rcu_qsbr_thread_offline(r->f->nodes.readers, 0);
    return NULL;
}

static void while_it_is_read(void)
{
    enum { N = 200, ROUNDS = 100000 };
    struct fib6 f;
    struct reader r = {.f = &f};
    pthread_t thread;
    unsigned refused = 0;

    state = 88172645463325252;
    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, N + 1, SOCKET_ID_ANY), 0);
    f.nodes.readers = make_readers();
    CU_ASSERT_EQUAL(fib6_add(&f, first6(near(0), 16), 16, 1), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_on, &r), 0);
    while (__atomic_load_n(&r.lookups, __ATOMIC_RELAXED) == 0)
        sched_yield();
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned len = 20 + random_below(109);
        struct ipv6 prefix = first6(near(random_below(1024)), len);

        if (prefixes6_get(&f.routes, prefix, len) != PREFIXES6_NONE)
            refused += fib6_remove(&f, prefix, len) != 0;
        else if (f.routes.n <= N)
            refused += fib6_add(&f, prefix, len, len + 1) != 0;
    }
    __atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(r.wrong, 0);
    rte_free(f.nodes.readers);
    fib6_free(&f);
}

/* --- numbers by prefix --- */

static void prefixes_of_all_lengths(void)
{
    const struct ipv6 all = {UINT64_MAX, UINT64_MAX}, none = {0, 0};
    struct prefixes6 p;
    unsigned len = 999;

    CU_ASSERT_EQUAL_FATAL(prefixes6_create(&p, 129, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL(prefixes6_match(&p, all, 128, &len), PREFIXES6_NONE);
    for (unsigned l = 0; l <= 128; l++)
        CU_ASSERT(prefixes6_put(&p, mask6(l), l, l));
    CU_ASSERT(!prefixes6_put(&p, none, 1, 7));
    CU_ASSERT(prefixes6_put(&p, none, 0, 77));
    CU_ASSERT_EQUAL(prefixes6_get(&p, none, 0), 77);
    CU_ASSERT_EQUAL(prefixes6_get(&p, none, 1), PREFIXES6_NONE);
    for (unsigned l = 1; l < 128; l++) {
        CU_ASSERT_EQUAL(prefixes6_match(&p, mask6(l), 128, &len), l);
        CU_ASSERT_EQUAL(len, l);
        CU_ASSERT_EQUAL(prefixes6_match(&p, all, l, &len), l);
    }
    CU_ASSERT_EQUAL(prefixes6_match(&p, none, 128, &len), 77);
    CU_ASSERT_EQUAL(len, 0);
    for (unsigned l = 0; l <= 128; l += 2)
        CU_ASSERT_EQUAL(prefixes6_remove(&p, mask6(l), l), l > 0 ? l : 77);
    CU_ASSERT_EQUAL(prefixes6_remove(&p, none, 0), PREFIXES6_NONE);
    for (unsigned l = 0; l <= 128; l++)
        CU_ASSERT_EQUAL(prefixes6_get(&p, mask6(l), l), l % 2 == 1 ? l : PREFIXES6_NONE);
    for (unsigned l = 0; l <= 128; l += 2) /* what is free is used again */
        CU_ASSERT(prefixes6_put(&p, mask6(l), l, l));
    prefixes6_free(&p);
}

static const struct test tests[] = {
    {"changes at random against a list", against_the_oracle},
    {"room for the worst case", worst_case},
    {"a reader that stays in a node", a_reader_stays},
    {"changes while it is read", while_it_is_read},
    {"numbers by prefix", prefixes_of_all_lengths},
    {NULL, NULL},
};

const struct test_program test_program = {"fib6", tests, harness_open, harness_close};
