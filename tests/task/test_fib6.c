/* SPDX-License-Identifier: BSD-3-Clause */
/* Longest-prefix match of IPv6, against a list of prefixes that is searched from end to end. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "tables/fib/fib6.h"
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

/* How many of n addresses some copy has another number of than is right, looked up one by one or in
 * a burst. */
static unsigned wrong_of(const struct fib6 *f, const struct ipv6 *addr, unsigned n,
                         const uint32_t *right)
{
    uint32_t found[8];
    unsigned wrong = 0;

    for (unsigned k = 0; k <= f->n_more; k++) {
        fib6_lookup_burst(fib6_copy(f, k), addr, n, found);
        for (unsigned i = 0; i < n; i++)
            wrong += found[i] != right[i] || fib6_lookup(fib6_copy(f, k), addr[i]) != right[i];
    }
    return wrong;
}

/* Entries that are not 0 in the first level of any copy. */
static unsigned left_over(const struct fib6 *f)
{
    unsigned n = 0;

    for (unsigned k = 0; k <= f->n_more; k++)
        for (uint32_t i = 0; i < 1u << FIB6_FIRST_BITS; i++)
            n += fib6_copy(f, k)->first[i] != 0;
    return n;
}

/* Compare around the ends of a prefix, and anywhere. */
static unsigned differences(const struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    struct ipv6 mask = mask6(len), last = {prefix.upper | ~mask.upper, prefix.lower | ~mask.lower};
    struct ipv6 addr[] = {prefix,        plus(prefix, -1), last,
                          plus(last, 1), some_address(),   some_address()};
    uint32_t right[RTE_DIM(addr)];

    for (unsigned i = 0; i < RTE_DIM(addr); i++)
        right[i] = oracle_lookup(addr[i]);
    return wrong_of(f, addr, RTE_DIM(addr), right);
}

static void against_the_oracle(void)
{
    enum { ROUNDS = 20000 };
    struct fib6 f;
    unsigned wrong = 0;

    random_state = 0x9e3779b97f4a7c15;
    oracle.n = 0;
    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, MOST, SOCKET_ID_ANY), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned again = oracle.n > 0 ? random_below(oracle.n) : 0;
        bool old = oracle.n == MOST || (oracle.n > 0 && random_below(3) == 0);
        unsigned len = old ? oracle.route[again].len : random_below(129);
        struct ipv6 prefix = old ? oracle.route[again].prefix : first6(some_address(), len);

        change(&f, prefix, len);
        wrong += differences(&f, prefix, len);
        if (round == 0 || round == ROUNDS / 4) /* one from the beginning, one of what is there */
            CU_ASSERT_EQUAL_FATAL(fib6_add_copy(&f, SOCKET_ID_ANY), 0);
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
    CU_ASSERT_EQUAL(left_over(&f), 0);
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
            wrong += fib6_lookup(&f.own, lone(i)) != i + round;
            wrong += fib6_lookup(&f.own, plus(lone(i), 1)) != 0;
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
    fib6_set_readers(&f, v);
    rte_rcu_qsbr_thread_online(v, 0);
    while (rc == 0 && f.nodes.n_touched + 2 <= f.nodes.n) {
        rc |= fib6_add(&f, host, 128, 7);
        rc |= fib6_remove(&f, host, 128);
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_EQUAL(fib6_add(&f, host, 128, 7), -ENOSPC);
    CU_ASSERT_EQUAL(fib6_lookup(&f.own, host), 0);
    rte_rcu_qsbr_quiescent(v, 0);
    CU_ASSERT_EQUAL(fib6_add(&f, host, 128, 7), 0);
    CU_ASSERT_EQUAL(fib6_lookup(&f.own, host), 7);
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

/* All addresses have a prefix: the /16 with number 1, or a longer one; in both copies. */
static void *read_on(void *ctx)
{
    struct reader *r = ctx;
    uint32_t addr = 0;

    rte_rcu_qsbr_thread_online(r->f->nodes.readers, 0);
    while (__atomic_load_n(&r->stop, __ATOMIC_RELAXED) == 0) {
        for (unsigned i = 0; i < 64; i++) {
            uint32_t number;

            addr = addr * 1664525 + 1013904223;
            number = fib6_lookup(fib6_copy(r->f, i % 2), near(addr >> 16 & 0x3ff));
            r->wrong += number < 1 || number > 129;
        }
        __atomic_store_n(&r->lookups, r->lookups + 64, __ATOMIC_RELAXED);
        rte_rcu_qsbr_quiescent(r->f->nodes.readers, 0);
    }
    rte_rcu_qsbr_thread_offline(r->f->nodes.readers, 0);
    return NULL;
}

/* Add or remove so many routes beside those that are read that their region gets a page, or loses
 * it. Returns how many were refused. */
static unsigned crowd(struct fib6 *f, bool add)
{
    const uint64_t upper = UINT64_C(0x2001000008000000);
    unsigned refused = 0, len = FIB6_PAGE_END;

    for (uint64_t i = 0; i < FIB6_DENSE; i++) {
        struct ipv6 prefix = {upper | i << 16, 0};

        refused += (add ? fib6_add(f, prefix, len, len + 1) : fib6_remove(f, prefix, len)) != 0;
    }
    return refused;
}

static void while_it_is_read(void)
{
    enum { N = 200, ROUNDS = 100000, CROWDS = 50 };
    struct fib6 f;
    struct reader r = {.f = &f};
    pthread_t thread;
    unsigned refused = 0, with_page = 0;
    bool crowded = false;

    random_state = 88172645463325252;
    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, N + 1 + FIB6_DENSE, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL_FATAL(fib6_add_copy(&f, SOCKET_ID_ANY), 0);
    fib6_set_readers(&f, make_readers());
    CU_ASSERT_EQUAL(fib6_add(&f, first6(near(0), 16), 16, 1), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_on, &r), 0);
    while (__atomic_load_n(&r.lookups, __ATOMIC_RELAXED) == 0)
        sched_yield();
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned len = 20 + random_below(109);
        struct ipv6 prefix = first6(near(random_below(1024)), len);

        if (i % (ROUNDS / CROWDS) == 0) {
            crowded = !crowded;
            refused += crowd(&f, crowded);
        }
        with_page += lines_in_use(&f.pages);
        if (prefixes6_get(&f.routes, prefix, len) != PREFIXES6_NONE)
            refused += fib6_remove(&f, prefix, len) != 0;
        else if (f.routes.n <= N + (crowded ? FIB6_DENSE : 0))
            refused += fib6_add(&f, prefix, len, len + 1) != 0;
    }
    __atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(r.wrong, 0);
    CU_ASSERT(with_page > 0 && with_page < ROUNDS);
    rte_free(f.nodes.readers);
    fib6_free(&f);
}

/* --- pages of regions with many routes --- */

/* An address of a /32 by its number; many share a /20. */
static struct ipv6 region(uint32_t i)
{
    return (struct ipv6){UINT64_C(0x2400000000000000) | (uint64_t)i << 32, 0};
}

/* A prefix of a region, by a number that says its length, too: from /33 to /128, most of /48. */
static struct ipv6 long_prefix(uint32_t in, uint32_t i, unsigned *len)
{
    static const uint8_t lens[] = {48, 48, 48, 48, 44, 48, 56, 64, 47, 48, 36, 49, 48, 128, 33, 52};
    struct ipv6 addr = region(in);

    addr.upper |= (uint64_t)(i * 2654435761u >> 13) << 13;
    addr.lower = i / 3;
    *len = lens[i % RTE_DIM(lens)];
    return first6(addr, *len);
}

static uint32_t by_length(const struct fib6 *f, struct ipv6 addr)
{
    unsigned len;
    uint32_t number = prefixes6_match(&f->routes, addr, 128, &len);

    return number != PREFIXES6_NONE ? number : 0;
}

/* Compare with the routes asked for length by length, which know nothing of pages and nodes. */
static unsigned differs(const struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    struct ipv6 mask = mask6(len), last = {prefix.upper | ~mask.upper, prefix.lower | ~mask.lower};
    struct ipv6 addr[] = {prefix, plus(prefix, -1), last, plus(last, 1), prefix, prefix};
    uint32_t right[RTE_DIM(addr)];
    unsigned any;

    addr[4].upper ^= (uint64_t)random_below(65536) << 16;
    addr[5] = long_prefix(random_below(4), random_below(UINT32_MAX), &any);
    for (unsigned i = 0; i < RTE_DIM(addr); i++)
        right[i] = by_length(f, addr[i]);
    return wrong_of(f, addr, RTE_DIM(addr), right);
}

/* Add a prefix that is not there, or else remove it. Returns how many addresses are wrong then. */
static unsigned turn_over(struct fib6 *f, struct ipv6 prefix, unsigned len)
{
    if (prefixes6_get(&f->routes, prefix, len) != PREFIXES6_NONE)
        CU_ASSERT_EQUAL(fib6_remove(f, prefix, len), 0)
    else
        CU_ASSERT_EQUAL(fib6_add(f, prefix, len, 1 + random_below(FIB6_NUMBER)), 0)
    return differs(f, prefix, len);
}

/* All copies have it, or none. */
static bool has_page(const struct fib6 *f, uint32_t in)
{
    uint32_t first = fib6_first(&f->own, region(in));

    for (unsigned k = 1; k <= f->n_more; k++)
        CU_ASSERT_EQUAL(fib6_first(fib6_copy(f, k), region(in)), first);
    return first >= 1u << FIB6_FIRST_BITS;
}

/* Two regions below one /20 get pages and lose them again, while routes of all lengths change. */
static void pages(void)
{
    enum { MANY = 3 * FIB6_DENSE / 2, ROUNDS = 20000 };
    unsigned wrong = 0, len;
    struct ipv6 prefix;
    struct fib6 f;

    random_state = 0x9e3779b97f4a7c15;
    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, 4 * MANY, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL_FATAL(fib6_add_copy(&f, SOCKET_ID_ANY), 0);
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        prefix = long_prefix(i & 1, i / 2, &len);
        if (prefixes6_get(&f.routes, prefix, len) == PREFIXES6_NONE)
            wrong += turn_over(&f, prefix, len);
    }
    CU_ASSERT_EQUAL_FATAL(fib6_add_copy(&f, SOCKET_ID_ANY), 0); /* of what is there, with pages */
    CU_ASSERT(has_page(&f, 0) && has_page(&f, 1) && !has_page(&f, 2));
    for (unsigned round = 0; round < ROUNDS; round++) {
        prefix = long_prefix(random_below(3), random_below(MANY), &len);
        if (random_below(16) == 0) {
            len = random_below(33);
            prefix = first6(prefix, len);
        }
        wrong += turn_over(&f, prefix, len);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    while (f.routes.n > 0)
        for (uint32_t i = 0; i < f.routes.n_touched; i++) {
            struct prefix6 p = f.routes.entry[i];

            if (prefixes6_get(&f.routes, p.prefix, p.len) != PREFIXES6_NONE)
                wrong += turn_over(&f, p.prefix, p.len);
        }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(!has_page(&f, 0) && !has_page(&f, 1));
    CU_ASSERT_EQUAL(lines_in_use(&f.pages) + lines_in_use(&f.nodes) + f.regions.n, 0);
    CU_ASSERT_EQUAL(left_over(&f), 0);
    fib6_free(&f);
}

static unsigned fill(struct fib6 *f, uint32_t in, bool add)
{
    unsigned wrong = 0, len = FIB6_PAGE_END;

    for (uint32_t i = 0; i < FIB6_DENSE; i++) {
        struct ipv6 prefix = region(in);

        prefix.upper |= (uint64_t)i << 16;
        wrong += (add ? fib6_add(f, prefix, len, 1 + i) : fib6_remove(f, prefix, len)) != 0;
        wrong += fib6_lookup(&f->own, prefix) != (add ? 1 + i : 0);
    }
    return wrong;
}

/* A region whose slot another has, and one that comes when all pages are taken or when a reader may
 * still be in them, is looked up by nodes. */
static void regions_without_a_page(void)
{
    struct rte_rcu_qsbr *v = make_readers();
    uint32_t same = 1, other = 1;
    struct fib6 f;
    unsigned wrong = 0;

    while (fib6_slot(region(same).upper >> 32) != fib6_slot(region(0).upper >> 32))
        same++;
    CU_ASSERT_EQUAL_FATAL(fib6_create(&f, FIB6_DENSE * 3, SOCKET_ID_ANY), 0);
    f.pages.n = 1; /* of 6 */
    fib6_set_readers(&f, v);
    rte_rcu_qsbr_thread_online(v, 0);
    wrong += fill(&f, 0, true);
    CU_ASSERT_EQUAL(fib6_remove(&f, region(0), FIB6_PAGE_END), 0);
    CU_ASSERT(has_page(&f, 0)); /* it goes with half of the routes that made it */
    CU_ASSERT_EQUAL(fib6_add(&f, region(0), FIB6_PAGE_END, 1), 0);
    wrong += fill(&f, same, true);
    CU_ASSERT(!has_page(&f, same));
    wrong += fill(&f, other, true);
    CU_ASSERT(!has_page(&f, other));
    wrong += fill(&f, 0, false);
    wrong += fill(&f, same, false);
    CU_ASSERT(!has_page(&f, 0));
    rte_rcu_qsbr_thread_online(v, 0);
    wrong += fill(&f, same, true);
    CU_ASSERT(!has_page(&f, same));
    rte_rcu_qsbr_quiescent(v, 0);
    wrong += fill(&f, same, false);
    wrong += fill(&f, same, true);
    CU_ASSERT(has_page(&f, same));
    CU_ASSERT_EQUAL(wrong, 0);
    fib6_free(&f);
    rte_free(v);
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
    {"pages of regions with many routes", pages},
    {"regions without a page", regions_without_a_page},
    {"numbers by prefix", prefixes_of_all_lengths},
    {NULL, NULL},
};

const struct test_program test_program = {"fib6", tests, harness_open, harness_close};
