/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from the core to a subscriber at once: mpls_pop, gre_decap and qinq_encap, of which the
 * first or the last may be missing.
 *
 *   old frame: eth 14 | labels 4 each | outer IPv4 20 | GRE 8 | inner IPv4 ...
 *   new frame:                             eth 14 | tags 8 | inner IPv4 ...
 */
#include "packet/stages.h"
#include "tasks/fused/fused.h"
#include "tasks/gre_decap.h"
#include "tasks/mpls_pop.h"
#include "tasks/qinq_encap.h"
#include "tasks/task_types.h"

/* Which tasks there are. Constants of each chain's function. */
struct shape {
    bool pop, encap;
};

/* The states of the tasks. */
struct down {
    const struct mpls_pop *pop;
    const struct qinq_encap *encap;
    struct gre_decap gre;
    const struct subscriber *record;
    const uint8_t (*port_mac)[MAC_ROOM]; /* NULL: whoever called us has looked at the MAC */
    uint16_t in_port;
};

/* A burst on its way through the stages. */
struct batch {
    struct rte_mbuf **m;
    struct gre_found found[BURST_MAX];
    const struct rte_ipv4_hdr *outer[BURST_MAX];
    uint32_t id[BURST_MAX];
    struct rte_mbuf *good[BURST_MAX], *rest[BURST_MAX];
    uint16_t n_good, n_rest;
    uint64_t bytes; /* of IPv4, in good[] */
};

static inline void fetch(struct batch *b, struct part p)
{
    for (uint32_t i = p.from; i < p.to; i++)
        frame_prefetch_fresh(b->m[i], 2);
}

/* The offset of the outer IPv4 header in a frame that mpls_pop lets go on, or 0. */
static inline uint32_t find_outer(const struct down *d, struct shape has, const uint8_t *f,
                                  uint32_t len)
{
    uint32_t labels;

    if (likely(eth_type(f) == RTE_BE16(MPLS_TYPE)) && has.pop) {
        labels = mpls_pop_plain_len(d->pop, f + ETH_LEN, len - ETH_LEN);
        return labels != 0 ? ETH_LEN + labels : 0;
    }
    return eth_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV4) && !(has.pop && d->pop->drop_unlabelled)
               ? ETH_LEN
               : 0;
}

/* Find the outer header and what is in the tunnel. The slot is that of nobody where mpls_pop or
 * gre_decap will not let the frame go on, as far as its outer headers tell. */
static inline const struct rte_ipv4_hdr *
find_tunnel(const struct down *d, struct shape has, const struct rte_mbuf *m, struct gre_found *out)
{
    const uint8_t *f = frame_bytes(m);
    uint32_t at;

    out->slot = idmap_no_slot();
    if (unlikely(m->nb_segs != 1 || m->data_len < ETH_LEN))
        return NULL;
    at = find_outer(d, has, f, m->data_len);
    if (unlikely(at == 0 ||
                 (d->port_mac != NULL && !eth_is_to(f, task_own_mac(d->port_mac, d->in_port, m)))))
        return NULL;
    gre_decap_find(&d->gre, (const struct rte_ipv4_hdr *)(f + at), m->data_len - at, out);
    return (const struct rte_ipv4_hdr *)(f + at);
}

static inline void find_slots(struct batch *b, struct part p, const struct down *d,
                              struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        b->outer[i] = find_tunnel(d, has, b->m[i], &b->found[i]);
        rte_prefetch0(b->found[i].slot);
    }
}

static inline void find_records(struct batch *b, struct part p, const struct down *d)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        b->id[i] = __atomic_load_n(b->found[i].slot, __ATOMIC_RELAXED);
        rte_prefetch0(&d->record[b->id[i]]);
    }
}

/* Will each task let the packet of a subscriber go by its first output at once? Congestion that the
 * outer header tells of is merged last: nothing else depends on it, and it may end the packet. */
static inline bool is_plain(const struct down *d, struct shape has, const struct rte_mbuf *m,
                            uint8_t outer_tos, struct rte_ipv4_hdr *ip, uint32_t avail,
                            const struct subscriber *s)
{
    uint32_t at = (uint32_t)((uint8_t *)ip - (uint8_t *)m->buf_addr);

    if (unlikely(!gre_decap_may_pass(&d->gre, ip, avail, s)))
        return false;
    if (has.encap && unlikely(!qinq_encap_is_plain(d->encap, m, at, ip, s)))
        return false;
    return likely(!ipv4_tells_ecn(outer_tos)) || ipv4_merge_ecn(ip, outer_tos);
}

/* Do the work of all tasks on a plain packet. */
static inline void rewrite(const struct down *d, struct shape has, struct rte_mbuf *m,
                           struct rte_ipv4_hdr *ip, uint32_t id, const struct subscriber *s)
{
    uint8_t *f = (uint8_t *)ip - ETH_LEN;
    uint32_t len = ETH_LEN + net16(ip->total_length);

    if (d->in_port != PORT_IN_MBUF)
        meta_set_in_port(m, d->in_port);
    if (d->gre.dscp != NULL)
        meta_set_path(m, s->path + dscp_queue(d->gre.dscp, ip->type_of_service));
    meta_set_subscriber(m, id);
    if (has.encap) {
        len = qinq_encap_write(ip, s, d->encap->pcp_from_dscp);
        meta_set_out_port(m, s->port);
        f -= QINQ_TAGS_LEN;
    } else {
        eth_move_macs(f, frame_bytes(m));
        store16(f + ETH_MACS, RTE_BE16(RTE_ETHER_TYPE_IPV4));
    }
    m->data_off = (uint16_t)(f - (uint8_t *)m->buf_addr);
    frame_set(m, 0, len);
}

static inline void finish(struct batch *b, struct part p, const struct down *d, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        struct rte_mbuf *m = b->m[i];
        const struct subscriber *s = &d->record[b->id[i]];
        struct rte_ipv4_hdr *ip;

        if (unlikely(b->id[i] == 0 || b->found[i].is_ipv6)) {
            b->rest[b->n_rest++] = m;
            continue;
        }
        ip = (struct rte_ipv4_hdr *)((uintptr_t)b->outer[i] + b->found[i].inner);
        if (likely(is_plain(d, has, m, b->outer[i]->type_of_service, ip, b->found[i].avail, s))) {
            b->bytes += net16(ip->total_length);
            rewrite(d, has, m, ip, b->id[i], s);
            b->good[b->n_good++] = m;
        } else {
            b->rest[b->n_rest++] = m;
        }
    }
}

static inline void open_chain(struct down *d, const struct task *t, struct shape has)
{
    struct task *const *task = t->chain.task;

    *d = (struct down){.in_port = t->in_port};
    if (has.pop)
        d->pop = (*task++)->state;
    d->gre = *(const struct gre_decap *)(*task++)->state;
    if (has.encap)
        d->encap = (*task)->state;
    d->record = d->gre.subscribers->record;
    d->port_mac = has.pop || d->gre.cold ? d->gre.port_mac : NULL;
}

/* The stages of packet/stages.h: frame, slot, record, and all that is done. */
static inline __rte_always_inline void down(struct task *t, struct rte_mbuf **m, uint16_t n,
                                            struct shape has)
{
    struct down d;
    struct batch b;

    if (unlikely(!link_chain_is_whole(t))) {
        t->type->handle(t, m, n);
        return;
    }
    open_chain(&d, t, has);
    b.m = m;
    b.n_good = b.n_rest = 0;
    b.bytes = 0;
    for (uint32_t at = 0; at < n + 3 * STAGE_STEP; at += STAGE_STEP) {
        fetch(&b, part_of(n, at, 0));
        find_slots(&b, part_of(n, at, STAGE_STEP), &d, has);
        find_records(&b, part_of(n, at, 2 * STAGE_STEP), &d);
        finish(&b, part_of(n, at, 3 * STAGE_STEP), &d, has);
    }
    task_count_ip(t->chain.task[has.pop ? 1 : 0], FAMILY_IPV4, b.n_good, b.bytes); /* gre_decap's */
    link_chain_end(t, b.good, b.n_good, b.rest, b.n_rest);
}

static void down_all(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    down(t, m, n, (struct shape){.pop = true, .encap = true});
}

static void down_to_scheduler(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    down(t, m, n, (struct shape){.pop = true});
}

static void down_tunnel(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    down(t, m, n, (struct shape){.encap = true});
}

const struct chain_type chains_down[N_CHAINS_DOWN] = {
    {{&task_mpls_pop, &task_gre_decap, &task_qinq_encap}, 3, down_all},
    {{&task_mpls_pop, &task_gre_decap}, 2, down_to_scheduler},
};

const struct chain_type chains_tunnel[N_CHAINS_TUNNEL] = {
    {{&task_gre_decap, &task_qinq_encap}, 2, down_tunnel},
};
