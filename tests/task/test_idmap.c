/* SPDX-License-Identifier: BSD-3-Clause */
/* The map from keys to ids. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tables_bed.h"

#define BASE 0x12345000u /* the first key of a block */

static void keys_and_ids(void)
{
    struct idmap *m = idmap_create(SOCKET_ID_ANY);
    uint64_t empty;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    empty = idmap_bytes(m);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 0);
    CU_ASSERT_EQUAL(idmap_get(m, UINT32_MAX), 0);
    CU_ASSERT_EQUAL(idmap_set(m, 77, 0), 0);
    CU_ASSERT_EQUAL(idmap_bytes(m), empty); /* nothing to unmap takes no page */
    CU_ASSERT_EQUAL(idmap_set(m, 0, 1), 0);
    CU_ASSERT_EQUAL(idmap_set(m, UINT32_MAX, UINT32_MAX), 0);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 1);
    CU_ASSERT_EQUAL(idmap_get(m, 1), 0);
    CU_ASSERT_EQUAL(idmap_get(m, UINT32_MAX), UINT32_MAX);
    CU_ASSERT_EQUAL(idmap_get(m, 0x10000), 0); /* another page, the same slot */
    CU_ASSERT_EQUAL(idmap_set(m, 0, 2), -EEXIST);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 1);
    CU_ASSERT_EQUAL(idmap_set(m, 0, 1), 0);
    CU_ASSERT_EQUAL(idmap_set(m, 0, 0), 0);
    CU_ASSERT_EQUAL(idmap_get(m, 0), 0);
    CU_ASSERT_EQUAL(idmap_set(m, 0, 2), 0);
    CU_ASSERT_EQUAL(idmap_bytes(m), empty + 2 * sizeof(struct idmap_page));
    idmap_free(m);
    idmap_free(NULL);
}

/* The id as the data path reads it. */
static uint32_t look_up(const struct idmap *m, uint32_t key)
{
    uint32_t own;

    return __atomic_load_n(idmap_slot(m, key, &own), __ATOMIC_RELAXED);
}

static bool is_by_run(const struct idmap *m, uint32_t key)
{
    uint32_t own;

    return idmap_slot(m, key, &own) == &own;
}

/* How many of a block's keys are answered without their slots, if all answers are right. */
static unsigned by_run(const struct idmap *m, const uint32_t *ids)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < IDMAP_BLOCK; i++) {
        if (look_up(m, BASE + i) != ids[i])
            return UINT32_MAX;
        n += is_by_run(m, BASE + i);
    }
    return n;
}

static void set(struct idmap *m, uint32_t *ids, uint32_t i, uint32_t id)
{
    CU_ASSERT_EQUAL(idmap_set(m, BASE + i, id), 0);
    ids[i] = id;
}

/* Have runs looked at: there is a long one, in another block. */
static void add_long_run(struct idmap *m)
{
    for (uint32_t i = 0; i < IDMAP_LONG; i++)
        CU_ASSERT_EQUAL(idmap_set(m, BASE + IDMAP_BLOCK + i, 1 + i), 0);
}

/* Ids that follow one another are told without their slots, whichever came first, and until one of
 * them is taken away. */
static void ids_in_order(void)
{
    static uint32_t ids[IDMAP_BLOCK];
    struct idmap *m = idmap_create(SOCKET_ID_ANY);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    for (uint32_t i = 256; i < 512; i++)
        set(m, ids, i, i + 1000);
    CU_ASSERT_EQUAL(by_run(m, ids), 256);
    for (uint32_t i = 256; i-- > 0;)
        set(m, ids, i, i + 1000);
    CU_ASSERT_EQUAL(by_run(m, ids), 512);
    CU_ASSERT_EQUAL(look_up(m, BASE - 1), 0);
    CU_ASSERT_EQUAL(look_up(m, BASE + IDMAP_BLOCK), 0);

    set(m, ids, 513, 1513);
    CU_ASSERT_EQUAL(by_run(m, ids), 512); /* 512 is nobody's */
    set(m, ids, 512, 9);
    CU_ASSERT_EQUAL(by_run(m, ids), 512); /* or somebody else's */
    set(m, ids, 512, 0);
    set(m, ids, 512, 1512);
    CU_ASSERT_EQUAL(by_run(m, ids), 514);

    set(m, ids, 100, 0);
    CU_ASSERT_EQUAL(by_run(m, ids), 413);
    CU_ASSERT(!is_by_run(m, BASE + 99));
    set(m, ids, 500, 0);
    CU_ASSERT_EQUAL(by_run(m, ids), 399);
    set(m, ids, 500, 1500);
    set(m, ids, 100, 1100);
    CU_ASSERT_EQUAL(by_run(m, ids), 514);

    for (uint32_t i = 0; i < 514 - (IDMAP_LONG - 1); i++)
        set(m, ids, i, 0);
    CU_ASSERT_EQUAL(by_run(m, ids), 0); /* a run that is not long, and no other */
    add_long_run(m);
    CU_ASSERT_EQUAL(by_run(m, ids), IDMAP_LONG - 1);
    for (uint32_t i = 514 - (IDMAP_LONG - 1); i < 514; i++)
        set(m, ids, i, 0);
    CU_ASSERT_EQUAL(by_run(m, ids), 0);
    set(m, ids, IDMAP_BLOCK - 1, UINT32_MAX);
    set(m, ids, IDMAP_BLOCK - 2, UINT32_MAX - 1);
    CU_ASSERT_EQUAL(by_run(m, ids), 2);
    set(m, ids, IDMAP_BLOCK - 1, 0);
    CU_ASSERT_EQUAL(by_run(m, ids), 1); /* no id follows the highest */
    idmap_free(m);
}

/* Random changes, against an array. */
static void random_changes(void)
{
    static uint32_t ids[IDMAP_BLOCK];
    struct idmap *m = idmap_create(SOCKET_ID_ANY);
    unsigned wrong = 0, by_runs = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    add_long_run(m);
    random_state = 88172645463325252;
    for (unsigned round = 0; round < 2000; round++) {
        uint32_t from = random_below(IDMAP_BLOCK), n = 1 + random_below(64),
                 shift = 1 + 5000 * random_below(2);
        bool is_away = random_below(3) == 0, is_down = random_below(2) == 0;

        n = RTE_MIN(n, IDMAP_BLOCK - from);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t i = is_down ? from + n - 1 - k : from + k;

            if (is_away || ids[i] != 0)
                set(m, ids, i, 0);
            if (!is_away)
                set(m, ids, i, i + shift);
        }
        n = by_run(m, ids);
        wrong += n == UINT32_MAX;
        by_runs += n;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(by_runs > 2000);
    idmap_free(m);
}

/* --- a reader and the writer at the same time --- */

struct reader {
    const struct idmap *m;
    uint64_t lookups, wrong, by_run;
    int stop;
};

/* A key has an id that follows from it, or none. */
static void *read_on(void *arg)
{
    struct reader *r = arg;
    uint32_t key = 0, id;

    while (__atomic_load_n(&r->stop, __ATOMIC_RELAXED) == 0) {
        key = key * 1664525 + 1013904223;
        id = look_up(r->m, BASE + key % IDMAP_BLOCK);
        r->wrong += id != 0 && id != 7 + key % IDMAP_BLOCK;
        r->by_run += is_by_run(r->m, BASE + key % IDMAP_BLOCK);
        __atomic_store_n(&r->lookups, r->lookups + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void while_it_is_read(void)
{
    static uint32_t ids[IDMAP_BLOCK];
    struct idmap *m = idmap_create(SOCKET_ID_ANY);
    struct reader r = {.m = m};
    pthread_t thread;

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    random_state = 88172645463325252;
    for (uint32_t i = 0; i < IDMAP_BLOCK; i++)
        set(m, ids, i, 7 + i);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_on, &r), 0);
    while (__atomic_load_n(&r.lookups, __ATOMIC_RELAXED) < 1000000) {
        for (unsigned round = 0; round < 1000; round++) {
            uint32_t i = random_below(IDMAP_BLOCK);

            set(m, ids, i, ids[i] != 0 ? 0 : 7 + i);
        }
        for (uint32_t i = 0; i < IDMAP_BLOCK; i++)
            set(m, ids, i, 7 + i);
    }
    __atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(r.wrong, 0);
    CU_ASSERT(r.by_run > 0);
    CU_ASSERT_EQUAL(by_run(m, ids), IDMAP_BLOCK);
    idmap_free(m);
}

static const struct test tests[] = {
    {"keys and ids", keys_and_ids},
    {"ids in order are told without their slots", ids_in_order},
    {"random changes", random_changes},
    {"while it is read", while_it_is_read},
    {NULL, NULL},
};

const struct test_program test_program = {"map of ids", tests, harness_open, harness_close};
