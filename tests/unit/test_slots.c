/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of slots: each is filled, seen and given back in order, by one thread or two. */
#include "base/ring/slots.h"
#include "common/program.h"

#include <pthread.h>
#include <string.h>

#define N 8

static void in_order(void)
{
    struct slots *s = slots_create(N, 100);
    uint32_t next = 0, seen = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_PTR_NULL(slots_full(s, 0));
    for (unsigned round = 0; round < 50; round++) {
        unsigned n = 1 + round % N;

        for (unsigned i = 0; i < n; i++) {
            uint8_t *slot = slots_room(s, i);

            CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
            CU_ASSERT_EQUAL((uintptr_t)slot % 64, 0);
            memset(slot, (int)(uint8_t)next++, 100);
        }
        CU_ASSERT_PTR_NULL(slots_full(s, 0)); /* until they are put */
        slots_put(s, n);
        CU_ASSERT_PTR_NULL(slots_room(s, N - n));
        CU_ASSERT_PTR_NULL(slots_full(s, n));
        for (unsigned i = 0; i < n; i++) {
            const uint8_t *slot = slots_full(s, i);

            CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
            CU_ASSERT(slot[0] == (uint8_t)seen && slot[99] == (uint8_t)seen);
            seen++;
        }
        slots_take(s, n);
    }
    slots_free(s);
    slots_free(NULL);
}

#define MANY 200000u

static void *fill(void *arg)
{
    struct slots *s = arg;

    for (uint32_t i = 0; i < MANY;) {
        uint32_t *slot = slots_room(s, 0);

        if (slot == NULL)
            continue;
        slot[0] = i;
        slot[24] = ~i;
        slots_put(s, 1);
        i++;
    }
    return NULL;
}

static void two_threads(void)
{
    struct slots *s = slots_create(N, 100);
    uint32_t wrong = 0;
    pthread_t thread;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, fill, s) == 0);
    for (uint32_t i = 0; i < MANY;) {
        const uint32_t *slot = slots_full(s, 0);

        if (slot == NULL)
            continue;
        wrong += slot[0] != i || slot[24] != ~i;
        slots_take(s, 1);
        i++;
    }
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_PTR_NULL(slots_full(s, 0));
    slots_free(s);
}

static const struct test tests[] = {
    {"in order", in_order},
    {"two threads", two_threads},
    {NULL, NULL},
};

const struct test_program test_program = {"slots", tests, NULL, NULL};
