/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from a core without tunnels to a subscriber at once: classify by the address, and
 * qinq_encap.
 *
 *   old frame: eth 14 | IPv4 or IPv6 ...
 *   new frame: eth 14 | tags 8 | IPv4 or IPv6 ...
 *   or:        eth 14 | tags 8 | PPPoE 6, PPP 2 | IPv4 or IPv6 ...
 */
#include "tasks/classify/classify.h"
#include "tasks/fused/fused.h"
#include "tasks/qinq_encap.h"

/* The states of the tasks. */
struct plain {
    struct classify classify;
    const struct qinq_encap *encap;
    uint16_t in_port;
};

/* The packets of a family on their way through the stages. */
struct batch {
    struct fused_family of;
    union {
        const uint32_t *slot[BURST_MAX]; /* of the subscriber's id, of IPv4 */
        struct subscriber6_search search[BURST_MAX];
    };
    uint32_t id[BURST_MAX];
    uint32_t n_good;
    uint64_t bytes; /* of those that are good */
};

/* Fetch mbuf and frame, and the line that the tags are written into. */
static inline void fetch(struct rte_mbuf **m, struct part p)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        frame_prefetch_fresh(m[i], 1);
        __builtin_prefetch((const uint8_t *)(m[i] + 1) + RTE_PKTMBUF_HEADROOM - QINQ_TAGS_LEN, 1,
                           3);
    }
}

static inline void sort(struct rte_mbuf **m, struct part p, const struct plain *c,
                        struct fused_family *four, struct fused_family *six)
{
    const bool takes_ipv6 = c->classify.v6 != NULL;

    for (uint32_t i = p.from; i < p.to; i++)
        fused_sort(four, six, m[i],
                   eth_is_ipv6(frame_bytes(m[i])) & (m[i]->nb_segs == 1) &
                       (m[i]->data_len >= ETH_LEN + IPV6_LEN) & takes_ipv6);
}

static inline const struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (const struct ipv6_hdr *)(frame_bytes(m) + ETH_LEN);
}

static inline void find_slots(struct batch *b, struct part p, const struct plain *c, bool is_six)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct rte_mbuf *m = b->of.m[i];

        if (is_six) {
            b->search[i] = subscriber6_begin(c->classify.v6, ipv6_of(header6(m)->destination));
        } else {
            b->slot[i] = classify_slot_by_address(&c->classify, m);
            rte_prefetch0(b->slot[i]);
        }
    }
}

static inline void find_records(struct batch *b, struct part p, const struct plain *c, bool is_six)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct subscriber6_table *v6 = c->classify.v6;
        const struct rte_mbuf *m = b->of.m[i];

        if (is_six) {
            b->id[i] = subscriber6_end(v6, &b->search[i], ipv6_of(header6(m)->destination));
            if (subscriber6_suspects(v6, ipv6_upper(header6(m)->source)))
                rte_prefetch0(&v6->record[b->id[i]]);
        } else {
            b->id[i] = __atomic_load_n(b->slot[i], __ATOMIC_RELAXED);
        }
        rte_prefetch0(&c->classify.record[b->id[i]]);
    }
}

/* Will both tasks let the packet go by their first output at once? */
static inline bool is_plain(const struct plain *c, const struct rte_mbuf *m, const uint8_t *f,
                            uint32_t id, bool is_six)
{
    const uint8_t *own_mac = task_own_mac(c->classify.port_mac, c->in_port, m), *ip = f + ETH_LEN;
    const struct subscriber *s = &c->classify.record[id];
    const uint32_t at = (uint32_t)m->data_off + ETH_LEN;

    if (unlikely(id == 0))
        return false;
    if (is_six)
        return classify_may_reach6(&c->classify, f, m->data_len, &c->classify.v6->record[id],
                                   own_mac) &&
               qinq_encap_fits6(at, (const struct ipv6_hdr *)ip, s, qinq_encap_l2(s));
    return classify_may_reach(&c->classify, f, m->data_len, s, own_mac) &&
           qinq_encap_fits(m, at, (const struct rte_ipv4_hdr *)ip, s, qinq_encap_l2(s));
}

/* Do the work of both tasks on a plain packet. */
static inline void rewrite(const struct plain *c, struct rte_mbuf *m, uint8_t *f, uint32_t id,
                           bool is_six)
{
    const struct subscriber *s = &c->classify.record[id];
    const bool pcp = c->encap->pcp_from_dscp;
    uint8_t *ip = f + ETH_LEN;

    if (c->classify.dscp != NULL)
        meta_set_path(m, s->path + dscp_queue(c->classify.dscp, fused_class(ip, is_six)));
    meta_set_subscriber(m, id);
    if (c->in_port != PORT_IN_MBUF)
        meta_set_in_port(m, c->in_port);
    meta_set_out_port(m, s->port);
    if (unlikely(s->session != 0)) {
        frame_set(m, ETH_LEN - PPPOE_QINQ_LEN,
                  is_six ? qinq_encap_write_pppoe6((struct ipv6_hdr *)ip, s, pcp)
                         : qinq_encap_write_pppoe((struct rte_ipv4_hdr *)ip, s, pcp));
        return;
    }
    frame_set(m, -QINQ_TAGS_LEN,
              is_six ? qinq_encap_write6((struct ipv6_hdr *)ip, s, pcp)
                     : qinq_encap_write((struct rte_ipv4_hdr *)ip, s, pcp));
}

static inline void finish(struct batch *b, struct part p, const struct plain *c, bool is_six)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        struct rte_mbuf *m = b->of.m[i];
        uint8_t *f = frame_bytes(m);

        if (likely(is_plain(c, m, f, b->id[i], is_six))) {
            b->n_good++;
            b->bytes += fused_len(f + ETH_LEN, is_six);
            rewrite(c, m, f, b->id[i], is_six);
        } else {
            b->of.rest |= UINT64_C(1) << i;
        }
    }
}

#define LATE (2 * STAGE_STEP) /* of the last stage of a family behind its first one */

/* The stages of packet/stages.h: slot, record, and all that is done. */
static inline void turn(struct batch *b, const struct plain *c, bool is_six)
{
    find_slots(b, part_of(b->of.n, b->of.at, 0), c, is_six);
    find_records(b, part_of(b->of.n, b->of.at, STAGE_STEP), c, is_six);
    finish(b, part_of(b->of.n, b->of.at, LATE), c, is_six);
    b->of.at += STAGE_STEP;
}

static inline void open_batch(struct batch *b)
{
    fused_family_open(&b->of);
    b->n_good = 0;
    b->bytes = 0;
}

void fused_plain(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct plain c = {*(const struct classify *)t->state, t->chain.task[1]->state,
                            t->in_port};
    struct batch four, six;

    if (unlikely(!link_chain_is_whole(t) || !c.classify.by_address)) {
        t->type->handle(t, m, n);
        return;
    }
    open_batch(&four);
    open_batch(&six);
    for (uint32_t at = 0; at < n + STAGE_STEP; at += STAGE_STEP) {
        fetch(m, part_of(n, at, 0));
        sort(m, part_of(n, at, STAGE_STEP), &c, &four.of, &six.of);
        if (fused_has_turn(&four.of))
            turn(&four, &c, false);
        if (fused_has_turn(&six.of))
            turn(&six, &c, true);
    }
    while (fused_has_late(&four.of, LATE))
        turn(&four, &c, false);
    while (fused_has_late(&six.of, LATE))
        turn(&six, &c, true);
    task_count_ip(t, FAMILY_IPV4, four.n_good, four.bytes);
    task_count_ip(t, FAMILY_IPV6, six.n_good, six.bytes);
    fused_end(t, m, n, &four.of, &six.of, false);
}
