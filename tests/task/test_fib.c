/* SPDX-License-Identifier: BSD-3-Clause */
/* Longest-prefix match, against a list of prefixes that is searched from end to end. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "tables/fib/fib.h"
#include "tables_bed.h"

#define MOST 300

static struct oracle {
    struct {
        uint32_t prefix, number;
        uint8_t len;
    } route[MOST];
    unsigned n;
} oracle;

static uint32_t oracle_lookup(uint32_t addr)
{
    int longest = -1;
    uint32_t number = 0;

    for (unsigned i = 0; i < oracle.n; i++)
        if (oracle.route[i].len > longest &&
            ((addr ^ oracle.route[i].prefix) & prefix_mask(oracle.route[i].len)) == 0) {
            longest = oracle.route[i].len;
            number = oracle.route[i].number;
        }
    return number;
}

static unsigned oracle_find(uint32_t prefix, uint8_t len)
{
    unsigned i = 0;

    while (i < oracle.n && (oracle.route[i].prefix != prefix || oracle.route[i].len != len))
        i++;
    return i;
}

/* Few addresses, near one another, so that prefixes lie in prefixes; and seldom any. */
static uint32_t some_address(void)
{
    uint32_t addr = 0x0a000000 | random_below(4) << 22 | random_below(4) << 8 | random_below(256);

    return random_below(8) == 0 ? random_below(UINT32_MAX) : addr;
}

/* Short ones cost much, and are seldom. */
static uint8_t some_length(void)
{
    return (uint8_t)(random_below(200) == 0 ? random_below(17) : 17 + random_below(16));
}

static void change(struct fib *f, uint32_t prefix, uint8_t len)
{
    unsigned i = oracle_find(prefix, len);

    if (i < oracle.n && random_below(2) == 0) {
        CU_ASSERT_EQUAL(fib_remove(f, prefix, len), 0);
        CU_ASSERT_EQUAL(fib_remove(f, prefix, len), -ENOENT);
        oracle.route[i] = oracle.route[--oracle.n];
        return;
    }
    if (oracle.n == MOST)
        return;
    oracle.n += i == oracle.n;
    oracle.route[i].prefix = prefix;
    oracle.route[i].len = len;
    oracle.route[i].number = random_below(FIB_NUMBER + 1);
    CU_ASSERT_EQUAL(fib_add(f, prefix, len, oracle.route[i].number), 0);
}

/* Compare around the ends of a prefix, and anywhere; in all copies. */
static unsigned differences(const struct fib *f, uint32_t prefix, uint8_t len)
{
    uint32_t last = prefix | ~prefix_mask(len);
    uint32_t addr[] = {prefix, prefix - 1, last, last + 1, some_address(), some_address()};
    unsigned n = 0;

    for (unsigned i = 0; i < RTE_DIM(addr); i++) {
        uint32_t right = oracle_lookup(addr[i]);

        for (unsigned k = 0; k <= f->n_more; k++)
            n += fib_lookup(fib_copy(f, k), addr[i]) != right;
    }
    return n;
}

/* Entries that are not 0 in the first level of any copy. */
static unsigned left_over(const struct fib *f)
{
    unsigned n = 0;

    for (unsigned k = 0; k <= f->n_more; k++)
        for (uint32_t i = 0; i < 1u << FIB_FIRST_BITS; i++)
            n += fib_copy(f, k)->first[i] != 0;
    return n;
}

static void against_the_oracle(void)
{
    enum { ROUNDS = 20000 };
    struct fib f;
    unsigned wrong = 0;

    random_state = 0x9e3779b97f4a7c15;
    oracle.n = 0;
    CU_ASSERT_EQUAL_FATAL(fib_create(&f, MOST, SOCKET_ID_ANY), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned again = oracle.n > 0 ? random_below(oracle.n) : 0;
        bool old = oracle.n == MOST || (oracle.n > 0 && random_below(3) == 0);
        uint8_t len = old ? oracle.route[again].len : some_length();
        uint32_t prefix = old ? oracle.route[again].prefix : some_address() & prefix_mask(len);

        change(&f, prefix, len);
        wrong += differences(&f, prefix, len);
        if (round == 0 || round == ROUNDS / 4) /* one from the beginning, one of what is there */
            CU_ASSERT_EQUAL_FATAL(fib_add_copy(&f, SOCKET_ID_ANY), 0);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (unsigned k = 1; k <= f.n_more; k++)
        wrong += memcmp(fib_copy(&f, k)->line, f.own.line,
                        f.lines.n_touched * sizeof(*f.own.line)) != 0 ||
                 fib_copy(&f, k)->line == f.own.line;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(oracle.n > MOST / 4 && lines_in_use(&f.lines) > 0);
    while (oracle.n > 0) {
        oracle.n--;
        CU_ASSERT_EQUAL(fib_remove(&f, oracle.route[oracle.n].prefix, oracle.route[oracle.n].len),
                        0);
        wrong += differences(&f, oracle.route[oracle.n].prefix, oracle.route[oracle.n].len);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(lines_in_use(&f.lines), 0); /* no memory is lost */
    CU_ASSERT_EQUAL(left_over(&f), 0);
    fib_free(&f);
}

/* As many routes as there is room for, each longer than /28 and alone in its /24: nothing of the
 * memory is left, and all of it can be used again. */
static void worst_case(void)
{
    enum { N = 5000 };
    struct fib f;
    unsigned wrong = 0;

    CU_ASSERT_EQUAL_FATAL(fib_create(&f, N, SOCKET_ID_ANY), 0);
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < N; i++)
            wrong += fib_add(&f, i << 8 | (i & 0xff), 32, i + round) != 0;
        for (uint32_t i = 0; i < N; i++) {
            wrong += fib_lookup(&f.own, i << 8 | (i & 0xff)) != i + round;
            wrong += fib_lookup(&f.own, i << 8 | ((i + 1) & 0xff)) != 0;
        }
        CU_ASSERT_EQUAL(lines_in_use(&f.lines), 2 * N);
        for (uint32_t i = 0; round < 2 && i < N; i++)
            wrong += fib_remove(&f, i << 8 | (i & 0xff), 32) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fib_free(&f);
}

static struct rte_rcu_qsbr *make_readers(void)
{
    struct rte_rcu_qsbr *v = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(2), RTE_CACHE_LINE_SIZE);

    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    CU_ASSERT_EQUAL_FATAL(rte_rcu_qsbr_init(v, 2), 0);
    CU_ASSERT_EQUAL_FATAL(rte_rcu_qsbr_thread_register(v, 0), 0);
    return v;
}

/* A reader that never says that it has left old lines keeps them from being used again. */
static void a_reader_stays(void)
{
    enum { N = 4, ROUNDS = (N + FIB_SPARE) / 2 };
    struct rte_rcu_qsbr *v = make_readers();
    struct fib f;
    int rc = 0;

    CU_ASSERT_EQUAL_FATAL(fib_create(&f, N, SOCKET_ID_ANY), 0);
    f.lines.readers = v;
    rte_rcu_qsbr_thread_online(v, 0);
    for (unsigned i = 0; rc == 0 && i < ROUNDS; i++) {
        rc |= fib_add(&f, 0x0a000001, 32, 7);
        rc |= fib_remove(&f, 0x0a000001, 32);
    }
    CU_ASSERT_EQUAL(rc, 0);
    while (rc == 0 && f.lines.n_touched + 2 <= f.lines.n) {
        rc |= fib_add(&f, 0x0a000001, 32, 7);
        rc |= fib_remove(&f, 0x0a000001, 32);
    }
    CU_ASSERT_EQUAL(fib_add(&f, 0x0a000001, 32, 7), -ENOSPC);
    CU_ASSERT_EQUAL(fib_lookup(&f.own, 0x0a000001), 0);
    rte_rcu_qsbr_quiescent(v, 0);
    CU_ASSERT_EQUAL(fib_add(&f, 0x0a000001, 32, 7), 0);
    CU_ASSERT_EQUAL(fib_lookup(&f.own, 0x0a000001), 7);
    fib_free(&f);
    rte_free(v);
}

/* --- readers and the writer at the same time --- */

struct reader {
    struct fib *f;
    uint64_t lookups, wrong;
    int stop;
};

/* All addresses have a prefix: the /16 with number 1, or a longer one; in both copies. */
static void *read_on(void *ctx)
{
    struct reader *r = ctx;
    uint32_t addr = 0;

    rte_rcu_qsbr_thread_online(r->f->lines.readers, 0);
    while (__atomic_load_n(&r->stop, __ATOMIC_RELAXED) == 0) {
        for (unsigned i = 0; i < 64; i++) {
            uint32_t number;

            addr = addr * 1664525 + 1013904223;
            number = fib_lookup(fib_copy(r->f, i % 2), 0x0a000000 | (addr >> 16 & 0x3ff));
            r->wrong += number < 1 || number > 33;
        }
        r->lookups += 64;
        rte_rcu_qsbr_quiescent(r->f->lines.readers, 0);
    }
    rte_rcu_qsbr_thread_offline(r->f->lines.readers, 0);
    return NULL;
}

static void while_it_is_read(void)
{
    enum { N = 200, ROUNDS = 100000 };
    static uint8_t there[1024][33];
    struct fib f;
    struct reader r = {.f = &f};
    pthread_t thread;
    unsigned n = 0, refused = 0;

    random_state = 88172645463325252;
    CU_ASSERT_EQUAL_FATAL(fib_create(&f, N + 1, SOCKET_ID_ANY), 0);
    CU_ASSERT_EQUAL_FATAL(fib_add_copy(&f, SOCKET_ID_ANY), 0);
    f.lines.readers = make_readers();
    CU_ASSERT_EQUAL(fib_add(&f, 0x0a000000, 16, 1), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_on, &r), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint8_t len = (uint8_t)(20 + random_below(13));
        uint32_t prefix = (0x0a000000 | random_below(1024)) & prefix_mask(len);
        uint8_t *is = &there[prefix & 1023][len];

        if (*is)
            n -= fib_remove(&f, prefix, len) == 0;
        else if (n == N)
            continue;
        else if (fib_add(&f, prefix, len, len + 1u) == 0)
            n++;
        else
            refused++;
        *is = !*is;
    }
    __atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(r.wrong, 0);
    CU_ASSERT(r.lookups > 0);
    rte_free(f.lines.readers);
    fib_free(&f);
}

/* --- numbers by prefix --- */

static void prefixes_of_all_lengths(void)
{
    uint64_t place[64] = {0};
    struct prefixes p = {.place = place, .n_places = prefixes_places(33)};
    uint8_t len = 99;

    CU_ASSERT_FATAL(p.n_places <= RTE_DIM(place));
    CU_ASSERT_EQUAL(prefixes_match(&p, 0xffffffff, 32, &len), PREFIXES_NONE);
    for (uint8_t l = 0; l <= 32; l++)
        prefixes_put(&p, prefix_mask(l), l, l);
    prefixes_put(&p, 0, 0, PREFIXES_MOST);
    CU_ASSERT_EQUAL(prefixes_get(&p, 0, 0), PREFIXES_MOST);
    CU_ASSERT_EQUAL(prefixes_get(&p, 0, 1), PREFIXES_NONE);
    CU_ASSERT_EQUAL(prefixes_match(&p, 0xffffff00, 32, &len), 24);
    CU_ASSERT_EQUAL(len, 24);
    CU_ASSERT_EQUAL(prefixes_match(&p, 0xffffffff, 31, &len), 31);
    CU_ASSERT_EQUAL(prefixes_match(&p, 0, 32, &len), PREFIXES_MOST);
    CU_ASSERT_EQUAL(len, 0);
    for (uint8_t l = 0; l <= 32; l += 2)
        CU_ASSERT_EQUAL(prefixes_remove(&p, prefix_mask(l), l), l > 0 ? l : PREFIXES_MOST);
    CU_ASSERT_EQUAL(prefixes_remove(&p, 0, 0), PREFIXES_NONE);
    for (uint8_t l = 0; l <= 32; l++)
        CU_ASSERT_EQUAL(prefixes_get(&p, prefix_mask(l), l), l % 2 == 1 ? l : PREFIXES_NONE);
}

static const struct test tests[] = {
    {"changes at random against a list", against_the_oracle},
    {"room for the worst case", worst_case},
    {"a reader that stays in a line", a_reader_stays},
    {"changes while it is read", while_it_is_read},
    {"numbers by prefix", prefixes_of_all_lengths},
    {NULL, NULL},
};

const struct test_program test_program = {"fib", tests, harness_open, harness_close};
