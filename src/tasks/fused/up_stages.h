/* SPDX-License-Identifier: BSD-3-Clause */
/* What a chain upstream does with a packet, stage by stage: a part of up.c. */
#ifndef TASKS_FUSED_UP_STAGES_H
#define TASKS_FUSED_UP_STAGES_H

#include "tasks/classify/classify.h"
#include "tasks/classify/pppoe.h"
#include "tasks/fused/fused.h"
#include "tasks/gre_encap.h"
#include "tasks/mpls_push.h"
#include "tasks/qinq_decap.h"
#include "tasks/route.h"

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
    /* What a function that is not inline gets, so that what is above is in registers. */
    const struct route *route_state;
    const struct gre_encap *gre_state;
    const struct subscriber *record;
    bool takes_ipv6;   /* somebody has it; else the tasks say what becomes of it */
    bool labels_flows; /* a tunnel may be over IPv6, whose flow label is made of ports */
    uint32_t step;     /* between two stages */
    uint32_t run;      /* packets that go through a stage before the next one has its turn */
    uint16_t in_port;
};

/* The packets of a family on their way through the stages. */
struct batch4 {
    uint32_t dst[BURST_MAX];
    const uint32_t *entry[BURST_MAX]; /* of the route */
    uint32_t nexthop[BURST_MAX];
};

struct batch6 {
    struct ipv6 dst[BURST_MAX];
    uint32_t entry[BURST_MAX]; /* of the route, as far as it has been followed */
    uint32_t nexthop[BURST_MAX];
};

/* A burst on its way. */
struct burst {
    const uint32_t *slot[BURST_MAX]; /* of the subscriber's id */
    uint32_t id[BURST_MAX];
    struct batch4 four;
    struct batch6 six;
    struct fused_run run;
};

/* The destination of a packet, or 0 where there is none. */
static __rte_always_inline uint32_t destination(const struct rte_mbuf *m)
{
    const uint8_t *ip = frame_bytes(m) + QINQ_LEN;

    if (unlikely(m->data_len < QINQ_LEN + sizeof(struct rte_ipv4_hdr)))
        return 0;
    return net32(load32(ip + offsetof(struct rte_ipv4_hdr, dst_addr)));
}

/* Is the next packet of a burst of IPv6? A frame of a PPPoE session has its headers moved up to the
 * packet, so that the stages find all as in others. */
static __rte_always_inline bool find_six(struct rte_mbuf **m, uint32_t i, uint32_t n,
                                         const struct up *u, struct shape has)
{
    rte_be16_t type = qinq_type(frame_bytes(m[i]));

    if (has.classify && unlikely(type == RTE_BE16(PPPOE_TYPE)) && !u->classify.not_only_ip)
        type = classify_move_up(m[i], i + u->step < n ? m[i + u->step] : m[i]);
    return (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) & (m[i]->data_len >= QINQ_LEN + IPV6_LEN) &
           u->takes_ipv6;
}

/* --- the stages of classify, whatever the family, each for packet i --- */

static __rte_always_inline void find_slot(struct burst *b, uint32_t i, const struct rte_mbuf *m,
                                          const struct up *u, struct shape has)
{
    if (!has.classify)
        return;
    b->slot[i] = classify_slot(
        &u->classify, m, u->in_port != PORT_IN_MBUF ? u->in_port : meta_in_port(m), &b->id[i]);
    rte_prefetch0(b->slot[i]);
}

static __rte_always_inline void find_record(struct burst *b, uint32_t i, const struct rte_mbuf *m,
                                            const struct up *u, struct shape has)
{
    b->id[i] = has.classify ? __atomic_load_n(b->slot[i], __ATOMIC_RELAXED) : meta_subscriber(m);
    if (has.classify || has.gre)
        rte_prefetch0(&u->record[b->id[i]]);
}

/* --- the stages of IPv4, each for packet i of its family --- */

static __rte_always_inline void begin(struct batch4 *b, uint32_t i, const struct rte_mbuf *m,
                                      const struct up *u)
{
    b->dst[i] = destination(m);
    b->entry[i] = route_first(&u->route, b->dst[i]);
    rte_prefetch0(b->entry[i]);
}

static __rte_always_inline void look_up(struct batch4 *b, uint32_t i, const struct up *u)
{
    b->entry[i] = route_entry(&u->route, b->dst[i]);
    rte_prefetch0(b->entry[i]);
}

static __rte_always_inline void find_nexthop(struct batch4 *b, uint32_t i, const struct rte_mbuf *m,
                                             const struct up *u)
{
    uint32_t number = route_number(&u->route, b->entry[i], b->dst[i]);

    b->nexthop[i] =
        route_nexthop(&u->route, number, (const struct rte_ipv4_hdr *)(frame_bytes(m) + QINQ_LEN),
                      (uint32_t)m->data_len - QINQ_LEN);
    rte_prefetch0(&u->route.nexthop[b->nexthop[i]]);
}

/* --- the stages of IPv6 --- */

static __rte_always_inline const struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (const struct ipv6_hdr *)(frame_bytes(m) + QINQ_LEN);
}

static __rte_always_inline void begin6(struct batch6 *b, uint32_t i, const struct rte_mbuf *m,
                                       const struct up *u)
{
    if (unlikely(u->labels_flows)) /* of ports, which end in the frame's second line */
        rte_prefetch0(frame_bytes(m) + QINQ_LEN + IPV6_LEN + sizeof(uint16_t));
    b->dst[i] = ipv6_of(header6(m)->destination);
    b->entry[i] = fib6_first(u->route.fib6, b->dst[i]);
    rte_prefetch0(&u->route.fib6->first[b->entry[i]]);
}

static __rte_always_inline void look_up6(struct batch6 *b, uint32_t i, const struct up *u)
{
    b->entry[i] = fib6_read(&u->route.fib6->first[b->entry[i]]);
    fib6_prefetch(u->route.fib6, b->entry[i]);
}

static __rte_always_inline void find_nexthop6(struct batch6 *b, uint32_t i,
                                              const struct rte_mbuf *m, uint32_t id,
                                              const struct up *u, struct shape has)
{
    fib6_follow(u->route.fib6, &b->dst[i], 1, &b->entry[i]);
    if (has.classify)
        subscriber_prefetch6(&u->record[id], &u->classify.v6->record[id]);
    b->nexthop[i] = route_nexthop6(u->route_state, b->entry[i] & FIB6_NUMBER, b->dst[i], header6(m),
                                   (uint32_t)m->data_len - QINQ_LEN);
    rte_prefetch0(&u->route.nexthop[b->nexthop[i]]);
}

/* --- the last stage --- */

/* Are so many bytes enough for the tunnel and the label of a next hop? Most are for any. */
static __rte_always_inline bool has_headroom(const struct up *u, struct shape has,
                                             const struct nexthop *nh, uint32_t at)
{
    return likely(at >= (has.gre ? gre_encap_len(true) + (uint32_t)GRE_ENCAP_MORE6 : 0) +
                            (has.mpls ? MPLS_ENTRY_LEN : 0)) ||
           at >= (has.gre && nh->has_gre ? gre_encap_len_to(u->gre.with_key, nh) : 0) +
                     (has.mpls && nh->has_mpls ? MPLS_ENTRY_LEN : 0);
}

/* Will classify, where there is one, let the packet go on? */
static __rte_always_inline bool is_of_subscriber(const struct up *u, struct shape has,
                                                 const uint8_t *f, uint32_t len, uint32_t id,
                                                 const struct subscriber *s, bool is_six)
{
    if (!has.classify)
        return is_six || likely(qinq_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV4));
    if (unlikely(id == 0))
        return false;
    if (unlikely(s->session != 0))
        return classify_is_in_session(f, s, is_six) &&
               (is_six ? classify_may_pass6(&u->classify, f, len, s, &u->classify.v6->record[id])
                       : classify_may_pass(&u->classify, f, len, s));
    return is_six ? classify_is_good6(&u->classify, f, len, s, &u->classify.v6->record[id])
                  : classify_is_good(&u->classify, f, len, s);
}

/* Will each task let the packet go by its first output at once? */
static __rte_always_inline bool is_plain(const struct up *u, struct shape has,
                                         const struct rte_mbuf *m, const uint8_t *f, uint32_t id,
                                         const struct subscriber *s, const struct nexthop *nh,
                                         bool is_six)
{
    const uint8_t *ip = f + QINQ_LEN;

    if (!is_of_subscriber(u, has, f, m->data_len, id, s, is_six))
        return false;
    if (has.gre && unlikely(!s->has_gre_key) && nh->has_gre && u->gre.with_key)
        return false;
    if (is_six ? !route_is_plain6((const struct ipv6_hdr *)ip, nh)
               : !route_is_plain((const struct rte_ipv4_hdr *)ip, nh))
        return false;
    return has_headroom(u, has, nh, (uint32_t)m->data_off + QINQ_TAGS_LEN) &&
           route_fits(nh, m, QINQ_TAGS_LEN, ETH_LEN + fused_len(ip, is_six));
}

/* Write into the packet of a tagged frame what qinq_decap and route do. */
static __rte_always_inline void change_packet(const struct up *u, uint8_t *f, bool is_six)
{
    if (is_six) {
        qinq_decap_dscp6(&u->decap, f);
        ((struct ipv6_hdr *)(f + QINQ_LEN))->hop_limit--;
    } else {
        qinq_decap_dscp(&u->decap, f);
        ipv4_ttl_decrement((struct rte_ipv4_hdr *)(f + QINQ_LEN));
    }
}

/* Write the headers before a packet, of which header is the first one so far: the label, and
 * Ethernet. Returns the beginning of the frame. */
static __rte_always_inline uint8_t *finish_headers(const struct up *u, struct shape has,
                                                   uint8_t *header, const struct nexthop *nh,
                                                   bool is_six)
{
    uint8_t *f = header - ETH_LEN;

    if (has.mpls && likely(nh->has_mpls))
        return is_six ? mpls_push_write6(header, nh, u->push.exp_from_dscp)
                      : mpls_push_write(header, nh, u->push.exp_from_dscp);
    route_write_eth(f, nh);
    if (is_six)
        store16(f + ETH_MACS, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    return f;
}

/* Do the work of all tasks on a plain packet. */
static __rte_always_inline void rewrite(const struct up *u, struct shape has, struct rte_mbuf *m,
                                        uint8_t *f, uint32_t id, const struct subscriber *s,
                                        const struct nexthop *nh, uint32_t nexthop, bool is_six)
{
    uint8_t *inner = f + QINQ_LEN;
    uint32_t len = ETH_LEN + fused_len(inner, is_six);

    if (has.classify) {
        if (u->classify.dscp != NULL)
            meta_set_path(m, s->path + dscp_queue(u->classify.dscp, fused_class(inner, is_six)));
        meta_set_subscriber(m, id);
        if (u->in_port != PORT_IN_MBUF)
            meta_set_in_port(m, u->in_port);
    }
    change_packet(u, f, is_six);
    meta_set_nexthop(m, (uint16_t)nexthop);
    meta_set_out_port(m, nh->port);
    if (unlikely(len < nh->min_len)) {
        memset(inner - ETH_LEN + len, 0, nh->min_len - len);
        len = has.gre && nh->has_gre && u->gre.with_key ? len : nh->min_len;
    }
    if (has.gre && likely(nh->has_gre == TUNNEL_IPV4)) {
        f = is_six ? gre_encap_write6(&u->gre, inner, nh, s->gre_key)
                   : gre_encap_write(&u->gre, inner, nh, s->gre_key);
        f = finish_headers(u, has, f, nh, false);
        len += gre_encap_len(u->gre.with_key);
    } else if (has.gre && unlikely(nh->has_gre == TUNNEL_IPV6)) {
        f = gre_encap_write_over6(u->gre_state, inner, nh, s->gre_key, is_six);
        f = finish_headers(u, has, f, nh, true);
        len += gre_encap_len_to(u->gre.with_key, nh);
    } else {
        f = finish_headers(u, has, inner, nh, is_six);
    }
    if (has.mpls && likely(nh->has_mpls))
        len += MPLS_ENTRY_LEN;
    m->data_off = (uint16_t)(f - (uint8_t *)m->buf_addr);
    frame_set(m, 0, len);
}

static __rte_always_inline void finish(uint32_t i, struct rte_mbuf *m, uint32_t id,
                                       uint32_t nexthop, const struct up *u, struct shape has,
                                       bool is_six, struct fused_tally *y)
{
    const struct subscriber *s = has.classify || has.gre ? &u->record[id] : NULL;
    const struct nexthop *nh = &u->route.nexthop[nexthop];
    uint8_t *f = frame_bytes(m);

    if (likely(is_plain(u, has, m, f, id, s, nh, is_six))) {
        if (has.classify && unlikely(s->session != 0))
            classify_clamp_mss(f + QINQ_LEN, s, is_six);
        y->bytes += fused_len(f + QINQ_LEN, is_six);
        rewrite(u, has, m, f, id, s, nh, nexthop, is_six);
    } else {
        y->rest |= UINT64_C(1) << i;
        if (has.classify && unlikely(qinq_type(f) == RTE_BE16(PPPOE_TYPE)) &&
            !u->classify.not_only_ip)
            classify_move_back(m);
    }
}

/* --- the stages, each for packet i of a family --- */

static __rte_always_inline void first_stage(struct burst *b, uint32_t i, const struct rte_mbuf *m,
                                            const struct up *u, bool is_six)
{
    is_six ? begin6(&b->six, i, m, u) : begin(&b->four, i, m, u);
}

/* The line that encapsulation writes into is fetched apart from the frame's, for the processor
 * drops some of those that are asked for in a row. */
static __rte_always_inline void second_stage(struct burst *b, uint32_t i, const struct rte_mbuf *m,
                                             const struct up *u, struct shape has, bool is_six)
{
    if (has.gre || has.mpls)
        frame_prefetch_at(m, QINQ_TAGS_LEN - FRAME_ENCAP_LEN);
    is_six ? look_up6(&b->six, i, u) : look_up(&b->four, i, u);
}

static __rte_always_inline void third_stage(struct burst *b, uint32_t i, const struct rte_mbuf *m,
                                            uint32_t id, const struct up *u, struct shape has,
                                            bool is_six)
{
    is_six ? find_nexthop6(&b->six, i, m, id, u, has) : find_nexthop(&b->four, i, m, u);
}

static __rte_always_inline void last_stage(struct burst *b, uint32_t i, struct rte_mbuf *m,
                                           uint32_t id, const struct up *u, struct shape has,
                                           bool is_six, struct fused_tally *y)
{
    finish(i, m, id, is_six ? b->six.nexthop[i] : b->four.nexthop[i], u, has, is_six, y);
}

#endif
