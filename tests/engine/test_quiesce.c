/* SPDX-License-Identifier: BSD-3-Clause */
/* What a grace period waits for, step by step: cores, then tasks that gather, then rings. */
#include <stdlib.h>

#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/quiesce.h"
#include "engine/task.h"

static uint32_t number; /* what the task says of its packets */

static uint32_t gathered(const struct task *t)
{
    (void)t;
    return number;
}

static const struct task_type gathers = {.gathered = gathered};
static const struct task_type gathers_none;

/* Two cores and a ring between two tasks, of which the first gathers: two steps. */
static struct bed {
    struct plan_core core[2];
    struct plan plan;
    struct task first, second;
    struct task *tasks[2];
    struct rte_ring *rings[1];
    struct engine e;
    struct quiesce g;
} bed;

static void open_bed(void)
{
    bed = (struct bed){
        .plan = {.n_cores = 2, .n_instances = 2, .n_rings = 1, .rings_on_way = 1},
        .first.type = &gathers,
        .second.type = &gathers_none,
    };
    bed.plan.cores = bed.core;
    bed.tasks[0] = &bed.first;
    bed.tasks[1] = &bed.second;
    bed.rings[0] = rte_ring_create("quiesce", 64, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bed.rings[0]);
    bed.e = (struct engine){.plan = &bed.plan, .tasks = bed.tasks, .rings = bed.rings};
    bed.e.readers = aligned_alloc(RTE_CACHE_LINE_SIZE, rte_rcu_qsbr_get_memsize(2));
    rte_rcu_qsbr_init(bed.e.readers, 2);
    CU_ASSERT_EQUAL_FATAL(quiesce_open(&bed.g, &bed.e), 0);
    for (unsigned i = 0; i < 2; i++)
        rte_rcu_qsbr_thread_online(bed.e.readers, i);
    number = 0;
}

static void close_bed(void)
{
    quiesce_close(&bed.g);
    free(bed.e.readers);
    rte_ring_free(bed.rings[0]);
}

static void rounds(void)
{
    for (unsigned i = 0; i < 2; i++)
        rte_rcu_qsbr_quiescent(bed.e.readers, i);
}

static bool over(uint64_t period)
{
    return quiesce_poll(&bed.g) >= period;
}

static void send_one(void)
{
    static int packet;

    CU_ASSERT_EQUAL(rte_ring_enqueue(bed.rings[0], &packet), 0);
}

static void take_one(void)
{
    void *packet;

    CU_ASSERT_EQUAL(rte_ring_dequeue(bed.rings[0], &packet), 0);
}

static void test_cores(void)
{
    uint64_t period;

    open_bed();
    period = quiesce_begin(&bed.g);
    CU_ASSERT_FALSE(over(period));
    rte_rcu_qsbr_quiescent(bed.e.readers, 0);
    CU_ASSERT_FALSE(over(period));
    rounds();
    CU_ASSERT_FALSE(over(period)); /* the first of two steps */
    rounds();
    CU_ASSERT(over(period));
    close_bed();
}

static void test_rings(void)
{
    uint64_t period;

    open_bed();
    period = quiesce_begin(&bed.g);
    send_one();
    rounds();
    CU_ASSERT_FALSE(over(period));
    send_one(); /* behind those that were there when the step began to wait */
    rounds();
    CU_ASSERT_FALSE(over(period));
    take_one();
    CU_ASSERT_FALSE(over(period));
    take_one();
    rounds();
    CU_ASSERT(over(period));
    close_bed();
}

/* A packet that was gathered goes into the ring, and must be out of that as well. */
static void test_tasks(void)
{
    uint64_t period;

    open_bed();
    period = quiesce_begin(&bed.g);
    number = 7;
    rounds();
    CU_ASSERT_FALSE(over(period));
    rounds();
    CU_ASSERT_FALSE(over(period)); /* however many rounds there are */
    send_one();
    number = 8; /* all has been sent that was there, and others have come */
    CU_ASSERT_FALSE(over(period));
    rounds();
    CU_ASSERT_FALSE(over(period)); /* the ring */
    take_one();
    CU_ASSERT_FALSE(over(period));
    rounds();
    CU_ASSERT_FALSE(over(period)); /* the second step waits for those others */
    number = 0;
    CU_ASSERT(over(period));
    close_bed();
}

static int open_eal(void)
{
    return test_eal_start(64, NULL);
}

static int close_eal(void)
{
    test_eal_stop();
    return 0;
}

static const struct test tests[] = {
    {"cores", test_cores},
    {"rings", test_rings},
    {"tasks that gather", test_tasks},
    {NULL, NULL},
};

const struct test_program test_program = {"quiesce", tests, open_eal, close_eal};
