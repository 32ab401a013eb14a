/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of mbufs in ordinary memory: how they lie there, and where devices find them. */
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "common/eal.h"
#include "common/program.h"
#include "engine/engine.h"
#include "engine/pools/pools.h"
#include "engine/task.h"

const struct task_type *const task_types[] = {NULL};

enum { MBUFS = 512, DATA_ROOM = 2176 };

static void is_found(struct rte_mempool *p, void *found, void *object, unsigned number)
{
    const struct rte_mbuf *m = object;

    (void)p;
    (void)number;
    *(unsigned *)found += rte_mbuf_iova_get(m) == (uintptr_t)m->buf_addr;
}

/* A NIC behind an IOMMU has the process's own addresses. */
static void test_addresses(void)
{
    struct rte_mempool *p = pool_create("test", MBUFS, 0, DATA_ROOM, SOCKET_ID_ANY);
    unsigned found = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    rte_mempool_obj_iter(p, is_found, &found);
    CU_ASSERT_EQUAL(found, MBUFS);
    rte_mempool_free(p);
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
    {"devices find each mbuf", test_addresses},
    {NULL, NULL},
};

const struct test_program test_program = {"pool", tests, open_eal, close_eal};
