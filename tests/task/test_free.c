/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets go back to their pools, each segment to its own, whatever they are made of. */
#include "frames.h"
#include "packet/free.h"

#define OTHERS 63

static struct rte_mempool *other;

static struct rte_mbuf *of(struct rte_mempool *pool)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static bool all_back(void)
{
    return rte_mempool_avail_count(harness_pool) == RIG_MBUFS &&
           rte_mempool_avail_count(other) == OTHERS;
}

static void open_other(void)
{
    other = rte_pktmbuf_pool_create("other", OTHERS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
}

static void none(void)
{
    open_other();
    packets_free(NULL, 0);
    CU_ASSERT(all_back());
    rte_mempool_free(other);
}

/* A usual packet; two segments; a second reference, which stays; a clone, whose data is another's;
 * another pool's. Each kind is the first one once, as that one's pool is the usual one. */
static void of_all_kinds(void)
{
    open_other();
    for (unsigned first = 0; first < 5; first++) {
        struct rte_mbuf *kind[5], *m[5], *kept;

        for (unsigned i = 0; i < RTE_DIM(kind); i++)
            kind[i] = of(i == 4 ? other : harness_pool);
        CU_ASSERT_EQUAL(rte_pktmbuf_chain(kind[1], of(other)), 0);
        kept = kind[2];
        rte_mbuf_refcnt_update(kept, 1);
        rte_pktmbuf_free(kind[3]);
        kind[3] = of(other);
        rte_pktmbuf_attach(kind[3], kept);
        for (unsigned i = 0; i < RTE_DIM(m); i++)
            m[i] = kind[(first + i) % RTE_DIM(kind)];
        packets_free(m, RTE_DIM(m));
        CU_ASSERT_EQUAL(rte_mbuf_refcnt_read(kept), 1);
        CU_ASSERT_EQUAL(rte_mempool_avail_count(harness_pool), RIG_MBUFS - 1);
        CU_ASSERT_EQUAL(rte_mempool_avail_count(other), OTHERS);
        packets_free(&kept, 1);
        CU_ASSERT(all_back());
    }
    /* what comes from the pools is a packet of one segment again */
    for (unsigned i = 0; i < OTHERS; i++) {
        struct rte_mbuf *m = of(other);

        CU_ASSERT(m->nb_segs == 1 && m->next == NULL && RTE_MBUF_DIRECT(m));
    }
    rte_mempool_free(other);
}

static const struct test tests[] = {
    {"none", none},
    {"of all kinds", of_all_kinds},
    {NULL, NULL},
};

const struct test_program test_program = {"free", tests, harness_open, harness_close};
