/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/explain.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "base/log.h"
#include "explain/frame.h"
#include "explain/walker.h"

#define FEW_MBUFS 1024 /* of each pool: enough for the caches of its cores */
#define MBUFS     255  /* of a pool for dry runs; it has no cache that could keep some */

struct explain *explain_open(const struct engine *e, struct tables *tables, explain_depth depth,
                             void *ctx)
{
    struct explain *x = calloc(1, sizeof(*x));

    if (x != NULL)
        *x = (struct explain){.e = e, .tables = tables, .depth = depth, .ctx = ctx};
    return x;
}

void explain_free(struct explain *x)
{
    if (x == NULL)
        return;
    for (unsigned i = 0; i < CFG_MAX_POOLS; i++)
        look_pool_close(&x->pool[i]);
    free(x);
}

const struct look_pool *explain_pool(struct explain *x, uint32_t pool)
{
    char name[32];

    snprintf(name, sizeof(name), "explain_%u", pool);
    if (x->pool[pool].mp == NULL &&
        look_pool_open(&x->pool[pool], name, x->e->plan->cfg->pools[pool].data_room) != 0)
        return NULL;
    return &x->pool[pool];
}

struct walk *explain_text(struct explain *x, const char *text, char *err, size_t err_len)
{
    struct frame_spec *s = malloc(sizeof(*s));
    uint8_t *frame = malloc(SPEC_MAX_FRAME);
    struct walk *w = NULL;
    unsigned port;
    uint32_t len;

    if (s == NULL || frame == NULL)
        snprintf(err, err_len, "no memory");
    else if (spec_parse(text, s, err, err_len) == 0 &&
             frame_build(s, x->e->plan->cfg, x->tables, &port, frame, &len, err, err_len) == 0)
        w = explain_frame(x, port, frame, len, err, err_len);
    free(frame);
    free(s);
    return w;
}

void offline_prepare(struct cfg_model *m, struct plan *p)
{
    static char device[CFG_MAX_PORTS][32];

    for (unsigned i = 0; i < m->n_ports; i++) {
        snprintf(device[i], sizeof(device[i]), "net_null%u,no-rx=1", i);
        m->ports[i].device = device[i];
    }
    for (unsigned i = 0; i < p->n_pools; i++)
        p->memory.pool_mbufs[i] = FEW_MBUFS;
    p->offline = true;
    m->memory = "no-huge";
    m->eal = "";
    p->memory.total -= p->memory.mbufs_total;
    p->memory.mbufs_total = 0;
}

int offline_explain(const struct engine *e, struct tables *tables, const char *text, FILE *to)
{
    struct explain *x = explain_open(e, tables, NULL, NULL);
    struct walk *w = NULL;
    char err[256] = "no memory";
    int rc = -EINVAL;

    if (x != NULL)
        w = explain_text(x, text, err, sizeof(err));
    if (w != NULL) {
        walk_print(w, to);
        rc = w->verdict == WALK_SENT;
    } else {
        log_error("--explain: %s", err);
    }
    walk_free(w);
    explain_free(x);
    return rc;
}

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
