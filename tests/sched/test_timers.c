/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing wheel by itself: each node comes out once, in time, however many share a slot. */
#include <stdlib.h>

#include "common/program.h"
#include "sched/wheel/timers.h"

#define START (UINT64_C(5) << 40) /* TSC */
#define SLOT  (UINT64_C(1) << TIMERS_SHIFT)
#define ROUND (TIMERS_SLOTS * SLOT)
#define NODES 3000u
#define TURNS 60000
#define ROOM  256u /* nodes of a turn */

static struct timers wheel, *t = &wheel;
static struct timers_line spare[NODES / TIMERS_LINE];
static uint64_t at[NODES]; /* TSC at which a node is due; 0: it is not there */
static uint32_t out[ROOM + TIMERS_LINE];
static uint64_t now, n_in;

static void begin(void)
{
    CU_ASSERT_EQUAL_FATAL(timers_spares(NODES), RTE_DIM(spare));
    memset(t, 0, sizeof(*t));
    memset(at, 0, sizeof(at));
    timers_start(t, START, spare, timers_spares(NODES));
    now = START;
    n_in = 0;
}

static void add(uint32_t node, uint64_t tsc)
{
    CU_ASSERT_EQUAL_FATAL(at[node], 0);
    at[node] = tsc;
    timers_add(t, tsc, node);
    n_in++;
}

/* Take what is due now, at most most. Each is there and due, or was beyond the round. */
static uint32_t take(uint32_t most)
{
    uint32_t n = timers_due(t, now, out, most);

    EXPECT(n <= most, "%u of %u", n, most);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = out[i];

        CU_ASSERT_FATAL(node < NODES && at[node] != 0);
        EXPECT(at[node] <= now || at[node] - now > 2 * ROUND, "%llu early",
               (unsigned long long)(at[node] - now));
        at[node] = 0;
    }
    n_in -= n;
    CU_ASSERT_EQUAL(t->pending, n_in);
    return n;
}

/* None is left that was due a slot ago. */
static void none_late(void)
{
    for (uint32_t i = 0; i < NODES; i++)
        EXPECT(at[i] == 0 || at[i] + SLOT > now, "%llu late", (unsigned long long)(now - at[i]));
}

static void one_slot(void)
{
    begin();
    for (uint32_t i = 0; i < NODES; i++)
        add(i, START + 10 * SLOT);
    now = START + 10 * SLOT;
    CU_ASSERT_EQUAL(take(ROOM), 0);
    now += SLOT;
    for (uint32_t left = NODES; left > 0; left -= RTE_MIN(left, 100u))
        CU_ASSERT_EQUAL(take(100), RTE_MIN(left, 100u));
    for (uint32_t i = 0; i < NODES; i++) /* all spare lines have come back */
        add(i, now);
    now += SLOT;
    while (n_in > 0)
        CU_ASSERT_NOT_EQUAL_FATAL(take(ROOM), 0);
}

static void past(void)
{
    begin();
    now += 100 * SLOT;
    CU_ASSERT_EQUAL(take(ROOM), 0);
    add(1, START);
    now += SLOT;
    CU_ASSERT_EQUAL(take(ROOM), 1);
}

static void far(void)
{
    begin();
    add(1, START + 3 * ROUND);
    now += ROUND - 2 * SLOT;
    CU_ASSERT_EQUAL(take(ROOM), 0);
    now += SLOT;
    CU_ASSERT_EQUAL(take(ROOM), 1);
}

static void away(void)
{
    begin();
    add(1, START + SLOT);
    add(2, START + ROUND / 2);
    now += 1000 * ROUND;
    CU_ASSERT_EQUAL(take(1), 1);
    CU_ASSERT_EQUAL(take(ROOM), 1);
    CU_ASSERT(t->at > now >> TIMERS_SHIFT);
    add(3, now + SLOT);
    now += 2 * SLOT;
    CU_ASSERT_EQUAL(take(ROOM), 1);
}

/* Nodes at random times, in turns of a random length; often more are due than a turn takes. */
static void random_nodes(void)
{
    begin();
    for (unsigned i = 0; i < TURNS; i++) {
        for (unsigned k = (unsigned)random() % 128; k > 0; k--) {
            uint32_t node = (uint32_t)random() % NODES;

            if (at[node] == 0)
                add(node, now + (uint64_t)random() % (random() % 8 == 0 ? ROUND / 4 : 8 * SLOT));
        }
        now += (uint64_t)random() % (4 * SLOT);
        if (take(1 + (uint32_t)random() % ROOM) == 0)
            none_late();
    }
    now += ROUND;
    while (n_in > 0)
        CU_ASSERT_NOT_EQUAL_FATAL(take(ROOM), 0);
}

/* Nodes of every third slot are looked at before they are due, each once, and none of a later slot;
 * a look that has no room for all goes on where it ended. */
static void looks(void)
{
    uint32_t seen[TIMERS_LINE * 2], looked[100] = {0}, n;

    begin();
    for (uint32_t i = 0; i < 100; i++)
        add(i, START + (3 * i + 1) * SLOT);
    for (uint32_t slot = 0; slot < 310; slot++) {
        now = START + slot * SLOT;
        n = take(ROOM);
        for (uint32_t i = 0; i < n; i++)
            EXPECT(looked[out[i]] == 1, "node %u: looked at %u times", out[i], looked[out[i]]);
        while ((n = timers_look(t, seen, 2)) > 0) {
            for (uint32_t i = 0; i < n; i++) {
                EXPECT(at[seen[i]] < now + (TIMERS_SOON + 1) * SLOT, "node %u: too soon", seen[i]);
                looked[seen[i]]++;
            }
        }
    }
    CU_ASSERT_EQUAL(n_in, 0);
}

static const struct test tests[] = {
    {"a slot holds any number", one_slot},
    {"what is due already comes next", past},
    {"what is beyond the round comes early", far},
    {"after a long time all are due", away},
    {"nodes at random", random_nodes},
    {"nodes that are due soon", looks},
    {NULL, NULL},
};

const struct test_program test_program = {"timers", tests, NULL, NULL};
