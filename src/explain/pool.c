/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/pool.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

/* Without a cache, nothing stays behind. */
#define MBUFS 255

static int populate(struct look_pool *p)
{
    size_t chunk, align;
    ssize_t need = rte_mempool_op_calc_mem_size_default(p->mp, MBUFS, 0, &chunk, &align);

    if (need <= 0)
        return -ENOMEM;
    p->memory =
        aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL((size_t)need, RTE_CACHE_LINE_SIZE));
    if (p->memory == NULL)
        return -ENOMEM;
    return rte_mempool_populate_iova(p->mp, p->memory, RTE_BAD_IOVA, (size_t)need, NULL, NULL) ==
                   MBUFS
               ? 0
               : -ENOMEM;
}

int look_pool_open(struct look_pool *p, const char *name, uint16_t data_room)
{
    struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = data_room};

    *p = (struct look_pool){
        .mp =
            rte_mempool_create_empty(name, MBUFS, sizeof(struct rte_mbuf) + data_room, 0,
                                     sizeof(private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG),
    };
    if (p->mp == NULL)
        return -ENOMEM;
    if (rte_mempool_set_ops_byname(p->mp, RTE_MBUF_DEFAULT_MEMPOOL_OPS, NULL) == 0) {
        rte_pktmbuf_pool_init(p->mp, &private);
        if (populate(p) == 0) {
            rte_mempool_obj_iter(p->mp, rte_pktmbuf_init, NULL);
            return 0;
        }
    }
    look_pool_close(p);
    return -ENOMEM;
}

void look_pool_close(struct look_pool *p)
{
    rte_mempool_free(p->mp);
    free(p->memory);
    *p = (struct look_pool){0};
}

struct rte_mbuf *look_pool_packet(const struct look_pool *p, const uint8_t *frame, uint32_t len)
{
    struct rte_mbuf *first = NULL, *last = NULL;
    uint32_t done = 0;

    do {
        struct rte_mbuf *m = rte_pktmbuf_alloc(p->mp);
        uint32_t n;

        if (m == NULL) {
            rte_pktmbuf_free(first);
            return NULL;
        }
        n = RTE_MIN(len - done, (uint32_t)rte_pktmbuf_tailroom(m));
        memcpy(rte_pktmbuf_append(m, (uint16_t)n), frame + done, n);
        done += n;
        if (first == NULL) {
            first = m;
        } else {
            last->next = m;
            first->nb_segs++;
        }
        last = m;
    } while (done < len);
    first->pkt_len = len;
    return first;
}
