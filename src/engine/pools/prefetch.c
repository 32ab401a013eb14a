/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/pools/prefetch.h"

#include <stdlib.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "base/cpu/prefetch.h"

#define BURSTS 30
#define MOST   (BURSTS * PREFETCH_PACKETS)

/* Some mbufs of a pool. */
struct picked {
    uint32_t every; /* so manieth is one */
    uint32_t n;
    struct rte_mbuf *m[MOST];
};

static void pick(struct rte_mempool *pool, void *picked, void *object, unsigned i)
{
    struct picked *p = picked;

    (void)pool;
    if (i % p->every == 0 && p->n < RTE_DIM(p->m))
        p->m[p->n++] = object;
}

/* Bring them into an order that no processor foretells. */
static void shuffle(struct picked *p)
{
    uint32_t random = 1;

    for (uint32_t i = p->n; i > 1; i--) {
        struct rte_mbuf *last = p->m[i - 1];
        uint32_t k;

        random = random * 1664525 + 1013904223;
        k = (uint32_t)((uint64_t)random * i >> 32);
        p->m[i - 1] = p->m[k];
        p->m[k] = last;
    }
}

void prefetch_measure(struct rte_mempool *pool)
{
    struct picked p = {.every = RTE_MAX(pool->size / MOST, 1u)};
    const uint8_t *line[MOST * PREFETCH_LINES];
    unsigned n = 0;

    rte_mempool_obj_iter(pool, pick, &p);
    shuffle(&p);
    for (uint32_t i = 0; i < p.n; i++) {
        const uint8_t *frame = (uint8_t *)p.m[i]->buf_addr + RTE_PKTMBUF_HEADROOM;

        line[n++] = (uint8_t *)p.m[i];
        line[n++] = frame;
        line[n++] = (const uint8_t *)p.m[i]->buf_addr + p.m[i]->buf_len - RTE_CACHE_LINE_SIZE;
    }
    prefetch_step = prefetch_step_for(prefetch_ratio(line, p.n / PREFETCH_PACKETS));
}
