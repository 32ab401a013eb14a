/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that are dropped or consumed go back to their pool by the first cache line of their
 * mbufs. Nothing here depends on what is in a packet. */
#ifndef PACKET_FREE_H
#define PACKET_FREE_H

#include <rte_mbuf.h>

/**
 * Put n packets back into their pool; the order of m[] is lost. rte_pktmbuf_free_bulk() reads the
 * second cache line of each mbuf, which nobody else has touched. That is spared where a packet is
 * one direct segment with one reference, of the first one's pool, as ports receive them; any other
 * packet is freed by itself.
 */
static inline void packets_free(struct rte_mbuf **m, uint32_t n)
{
    struct rte_mempool *pool = n > 0 ? m[0]->pool : NULL;
    uint32_t k = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (likely(m[i]->nb_segs == 1 && rte_mbuf_refcnt_read(m[i]) == 1 && RTE_MBUF_DIRECT(m[i]) &&
                   m[i]->pool == pool))
            m[k++] = m[i];
        else
            rte_pktmbuf_free(m[i]);
    }
    if (likely(k > 0))
        rte_mempool_put_bulk(pool, (void **)m, k);
}

#endif
