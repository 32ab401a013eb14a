/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from a subscriber to the core at once: classify, qinq_decap, route, gre_encap and
 * mpls_push, each of which but qinq_decap and route may be missing.
 *
 *   old frame:            eth 14 | tags 8 | inner IPv4 ...
 *   new frame: eth 14 | label 4 | outer IPv4 20 | GRE 8 | inner IPv4 ...
 */
#include "packet/stages.h"
#include "tasks/classify.h"
#include "tasks/fused/fused.h"
#include "tasks/gre_encap.h"
#include "tasks/mpls_push.h"
#include "tasks/qinq_decap.h"
#include "tasks/route.h"
#include "tasks/task_types.h"

/* Which tasks there are. Constants of each chain's function. */
struct shape {
    bool classify, gre, mpls;
};

/* The states of the tasks that there are. */
struct up {
    struct classify classify;
    struct qinq_decap decap;
    struct route route;
    struct gre_encap gre;
    struct mpls_push push;
    const struct subscriber *record;
    uint16_t in_port;
};

/* A burst on its way through the stages. */
struct batch {
    struct rte_mbuf **m;
    const uint32_t *slot[BURST_MAX]; /* of the subscriber's id */
    uint32_t dst[BURST_MAX];
    const uint32_t *entry[BURST_MAX]; /* of the route */
    uint32_t id[BURST_MAX];
    uint32_t nexthop[BURST_MAX];
    struct rte_mbuf *good[BURST_MAX], *rest[BURST_MAX];
    uint16_t n_good, n_rest;
    uint64_t bytes; /* of IPv4, in good[] */
};

/* The destination of a packet, or 0 where there is none. */
static inline uint32_t destination(const struct rte_mbuf *m)
{
    const uint8_t *ip = frame_bytes(m) + QINQ_LEN;

    if (unlikely(m->data_len < QINQ_LEN + sizeof(struct rte_ipv4_hdr)))
        return 0;
    return net32(load32(ip + offsetof(struct rte_ipv4_hdr, dst_addr)));
}

/* Fetch mbuf and frame, and the line that encapsulation writes into. */
static inline void fetch(struct batch *b, struct part p, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        frame_prefetch_fresh(b->m[i], 1);
        if (has.gre || has.mpls)
            __builtin_prefetch((const uint8_t *)(b->m[i] + 1) + RTE_PKTMBUF_HEADROOM +
                                   QINQ_TAGS_LEN - FRAME_ENCAP_LEN,
                               1, 3);
    }
}

static inline void find_slots(struct batch *b, struct part p, const struct up *u, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct rte_mbuf *m = b->m[i];

        if (has.classify) {
            b->slot[i] = classify_slot(&u->classify, m,
                                       u->in_port != PORT_IN_MBUF ? u->in_port : meta_in_port(m));
            rte_prefetch0(b->slot[i]);
        }
        b->dst[i] = destination(m);
        b->entry[i] = route_first(&u->route, b->dst[i]);
        rte_prefetch0(b->entry[i]);
    }
}

static inline void find_records(struct batch *b, struct part p, const struct up *u,
                                struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        b->id[i] =
            has.classify ? __atomic_load_n(b->slot[i], __ATOMIC_RELAXED) : meta_subscriber(b->m[i]);
        if (has.classify || has.gre)
            rte_prefetch0(&u->record[b->id[i]]);
        b->entry[i] = route_entry(&u->route, b->dst[i]);
        rte_prefetch0(b->entry[i]);
    }
}

static inline void find_nexthops(struct batch *b, struct part p, const struct up *u)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct rte_mbuf *m = b->m[i];

        b->nexthop[i] = route_nexthop(&u->route, route_number(&u->route, b->entry[i], b->dst[i]),
                                      (const struct rte_ipv4_hdr *)(frame_bytes(m) + QINQ_LEN),
                                      (uint32_t)m->data_len - QINQ_LEN);
        rte_prefetch0(&u->route.nexthop[b->nexthop[i]]);
    }
}

/* Headroom that a frame without tags must have for the tunnel and the label of its next hop. */
static inline uint32_t headroom(const struct up *u, struct shape has, const struct nexthop *nh)
{
    return (has.gre && likely(nh->has_gre) ? gre_encap_len(u->gre.with_key) : 0) +
           (has.mpls && likely(nh->has_mpls) ? MPLS_ENTRY_LEN : 0);
}

/* Will each task let the packet go by its first output at once? */
static inline bool is_plain(const struct up *u, struct shape has, const struct rte_mbuf *m,
                            const uint8_t *f, uint32_t id, const struct subscriber *s,
                            const struct nexthop *nh)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + QINQ_LEN);

    if (!has.classify && unlikely(qinq_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV4)))
        return false;
    if (has.classify && unlikely(id == 0 || !classify_is_good(&u->classify, f, m->data_len, s)))
        return false;
    if (has.gre && unlikely(nh->has_gre && u->gre.with_key && !s->has_gre_key))
        return false;
    return route_is_plain(ip, nh, ETH_LEN + net16(ip->total_length),
                          (uint32_t)m->buf_len - m->data_off - QINQ_TAGS_LEN) &&
           (uint32_t)m->data_off + QINQ_TAGS_LEN >= headroom(u, has, nh);
}

/* Do the work of all tasks on a plain packet. */
static inline void rewrite(const struct up *u, struct shape has, struct rte_mbuf *m, uint8_t *f,
                           uint32_t id, const struct subscriber *s, const struct nexthop *nh,
                           uint32_t nexthop)
{
    uint8_t *inner = f + QINQ_LEN, *header = inner;
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)inner;
    uint32_t len = ETH_LEN + net16(ip->total_length);

    if (has.classify) {
        if (u->classify.dscp != NULL)
            meta_set_path(m, s->path + dscp_queue(u->classify.dscp, ip->type_of_service));
        meta_set_subscriber(m, id);
        if (u->in_port != PORT_IN_MBUF)
            meta_set_in_port(m, u->in_port);
    }
    qinq_decap_dscp(&u->decap, f);
    ipv4_ttl_decrement(ip);
    meta_set_nexthop(m, (uint16_t)nexthop);
    meta_set_out_port(m, nh->port);
    if (unlikely(len < nh->min_len)) {
        memset(inner - ETH_LEN + len, 0, nh->min_len - len);
        len = has.gre && nh->has_gre && u->gre.with_key ? len : nh->min_len;
    }
    if (has.gre && likely(nh->has_gre)) {
        header = gre_encap_write(&u->gre, inner, nh, s->gre_key);
        len += gre_encap_len(u->gre.with_key);
    }
    if (has.mpls && likely(nh->has_mpls)) {
        f = mpls_push_write(header, nh, u->push.exp_from_dscp);
        len += MPLS_ENTRY_LEN;
    } else {
        f = header - ETH_LEN;
        route_write_eth(f, nh);
    }
    m->data_off = (uint16_t)(f - (uint8_t *)m->buf_addr);
    frame_set(m, 0, len);
}

static inline void finish(struct batch *b, struct part p, const struct up *u, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        struct rte_mbuf *m = b->m[i];
        const struct subscriber *s = has.classify || has.gre ? &u->record[b->id[i]] : NULL;
        const struct nexthop *nh = &u->route.nexthop[b->nexthop[i]];
        uint8_t *f = frame_bytes(m);

        if (likely(is_plain(u, has, m, f, b->id[i], s, nh))) {
            b->bytes += net16(((const struct rte_ipv4_hdr *)(f + QINQ_LEN))->total_length);
            rewrite(u, has, m, f, b->id[i], s, nh, b->nexthop[i]);
            b->good[b->n_good++] = m;
        } else {
            b->rest[b->n_rest++] = m;
        }
    }
}

static inline void open_chain(struct up *u, const struct task *t, struct shape has)
{
    struct task *const *task = t->chain.task;

    u->in_port = t->in_port;
    if (has.classify)
        u->classify = *(const struct classify *)(*task++)->state;
    u->decap = *(const struct qinq_decap *)(*task++)->state;
    u->route = *(const struct route *)(*task++)->state;
    if (has.gre)
        u->gre = *(const struct gre_encap *)(*task++)->state;
    if (has.mpls)
        u->push = *(const struct mpls_push *)(*task++)->state;
    u->record = has.classify ? u->classify.record : has.gre ? u->gre.record : NULL;
}

/* The stages of packet/stages.h: frame, slot and first entry, record and entry, next hop, and all
 * that is done. */
static inline __rte_always_inline void up(struct task *t, struct rte_mbuf **m, uint16_t n,
                                          struct shape has)
{
    struct up u;
    struct batch b;

    if (unlikely(!link_chain_is_whole(t))) {
        t->type->handle(t, m, n);
        return;
    }
    open_chain(&u, t, has);
    b.m = m;
    b.n_good = b.n_rest = 0;
    b.bytes = 0;
    for (uint32_t at = 0; at < n + 4 * STAGE_STEP; at += STAGE_STEP) {
        fetch(&b, part_of(n, at, 0), has);
        find_slots(&b, part_of(n, at, STAGE_STEP), &u, has);
        find_records(&b, part_of(n, at, 2 * STAGE_STEP), &u, has);
        find_nexthops(&b, part_of(n, at, 3 * STAGE_STEP), &u);
        finish(&b, part_of(n, at, 4 * STAGE_STEP), &u, has);
    }
    if (has.classify) /* what goes on from a scheduler was counted before it */
        task_count_ip(t, FAMILY_IPV4, b.n_good, b.bytes);
    link_chain_end(t, b.good, b.n_good, b.rest, b.n_rest);
}

#define CHAIN_FUNCTION(name, ...)                                                                  \
    static void name(struct task *t, struct rte_mbuf **m, uint16_t n)                              \
    {                                                                                              \
        up(t, m, n, (struct shape){__VA_ARGS__});                                                  \
    }

CHAIN_FUNCTION(up_all, .classify = true, .gre = true, .mpls = true)
CHAIN_FUNCTION(up_gre, .classify = true, .gre = true)
CHAIN_FUNCTION(up_mpls, .classify = true, .mpls = true)
CHAIN_FUNCTION(up_plain, .classify = true)
CHAIN_FUNCTION(routed_all, .gre = true, .mpls = true)
CHAIN_FUNCTION(routed_gre, .gre = true)
CHAIN_FUNCTION(routed_mpls, .mpls = true)
CHAIN_FUNCTION(routed_plain, .classify = false)

const struct chain_type chains_up[N_CHAINS_UP] = {
    {{&task_classify, &task_qinq_decap, &task_route, &task_gre_encap, &task_mpls_push}, 5, up_all},
    {{&task_classify, &task_qinq_decap, &task_route, &task_gre_encap}, 4, up_gre},
    {{&task_classify, &task_qinq_decap, &task_route, &task_mpls_push}, 4, up_mpls},
    {{&task_classify, &task_qinq_decap, &task_route}, 3, up_plain},
};

const struct chain_type chains_routed[N_CHAINS_UP] = {
    {{&task_qinq_decap, &task_route, &task_gre_encap, &task_mpls_push}, 4, routed_all},
    {{&task_qinq_decap, &task_route, &task_gre_encap}, 3, routed_gre},
    {{&task_qinq_decap, &task_route, &task_mpls_push}, 3, routed_mpls},
    {{&task_qinq_decap, &task_route}, 2, routed_plain},
};
