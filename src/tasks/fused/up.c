/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from a subscriber to the core at once: classify, qinq_decap, route, gre_encap and
 * mpls_push, each of which but qinq_decap and route may be missing.
 *
 *   old frame:                        eth 14 | tags 8 | inner IPv4 or IPv6 ...
 *   or:              eth 14 | tags 8 | PPPoE 6, PPP 2 | inner IPv4 or IPv6 ...
 *   new frame: eth 14 | label 4 | outer IPv4 20 or IPv6 40 | GRE 8 | inner IPv4 or IPv6 ...
 */
#include "tasks/classify/classify.h"
#include "tasks/classify/pppoe.h"
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
    /* What a function that is not inline gets, so that what is above is in registers. */
    const struct route *route_state;
    const struct gre_encap *gre_state;
    const struct subscriber *record;
    bool takes_ipv6;   /* somebody has it; else the tasks say what becomes of it */
    bool labels_flows; /* a tunnel may be over IPv6, whose flow label is made of ports */
    uint16_t in_port;
};

/* The packets of a family on their way through the stages. */
struct batch {
    const uint32_t *slot[BURST_MAX]; /* of the subscriber's id */
    uint32_t id[BURST_MAX];
    uint32_t nexthop[BURST_MAX];
};

struct batch4 {
    struct batch b;
    uint32_t dst[BURST_MAX];
    const uint32_t *entry[BURST_MAX]; /* of the route */
};

struct batch6 {
    struct batch b;
    struct ipv6 dst[BURST_MAX];
    uint32_t entry[BURST_MAX]; /* of the route, as far as it has been followed */
};

/* A burst on its way. */
struct burst {
    struct batch4 four;
    struct batch6 six;
    uint32_t at, is_six;      /* the part whose frames are sorted next, of which these are IPv6 */
    struct fused_tally tally; /* of those before it, which are of one family */
};

/* The destination of a packet, or 0 where there is none. */
static __rte_always_inline uint32_t destination(const struct rte_mbuf *m)
{
    const uint8_t *ip = frame_bytes(m) + QINQ_LEN;

    if (unlikely(m->data_len < QINQ_LEN + sizeof(struct rte_ipv4_hdr)))
        return 0;
    return net32(load32(ip + offsetof(struct rte_ipv4_hdr, dst_addr)));
}

/* Fetch mbuf and frame, if nobody has read them, and the line that encapsulation writes into. */
static __rte_always_inline void fetch(struct rte_mbuf **m, struct part p, struct shape has,
                                      bool are_fresh)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        if (are_fresh)
            frame_prefetch_fresh(m[i], 1);
        if (has.gre || has.mpls)
            frame_prefetch_at(m[i], QINQ_TAGS_LEN - FRAME_ENCAP_LEN);
    }
}

/* A bit for each frame of IPv6. One of a PPPoE session has its headers moved up to the packet, so
 * that the stages find all as in others. */
static __rte_always_inline uint32_t find_six(struct rte_mbuf **m, struct part p, uint32_t n,
                                             const struct up *u, struct shape has)
{
    uint32_t six = 0;

    for (uint32_t i = p.from; i < p.to; i++) {
        rte_be16_t type = qinq_type(frame_bytes(m[i]));

        if (has.classify && unlikely(type == RTE_BE16(PPPOE_TYPE)) && !u->classify.not_only_ip)
            type = classify_move_up(m[i], i + STAGE_STEP < n ? m[i + STAGE_STEP] : m[i]);
        six |= (uint32_t)((type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) &
                          (m[i]->data_len >= QINQ_LEN + IPV6_LEN) & u->takes_ipv6)
               << (i - p.from);
    }
    return six;
}

static __rte_always_inline void find_slot(struct batch *b, uint32_t i, const struct rte_mbuf *m,
                                          const struct up *u, struct shape has)
{
    if (!has.classify)
        return;
    b->slot[i] =
        classify_slot(&u->classify, m, u->in_port != PORT_IN_MBUF ? u->in_port : meta_in_port(m));
    rte_prefetch0(b->slot[i]);
}

static __rte_always_inline void find_record(struct batch *b, uint32_t i, const struct rte_mbuf *m,
                                            const struct up *u, struct shape has)
{
    b->id[i] = has.classify ? __atomic_load_n(b->slot[i], __ATOMIC_RELAXED) : meta_subscriber(m);
    if (has.classify || has.gre)
        rte_prefetch0(&u->record[b->id[i]]);
}

/* --- the stages of IPv4 --- */

static __rte_always_inline void find_slots(struct rte_mbuf **m, struct batch4 *b, struct part p,
                                           const struct up *u, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        find_slot(&b->b, i, m[i], u, has);
        b->dst[i] = destination(m[i]);
        b->entry[i] = route_first(&u->route, b->dst[i]);
        rte_prefetch0(b->entry[i]);
    }
}

static __rte_always_inline void find_records(struct rte_mbuf **m, struct batch4 *b, struct part p,
                                             const struct up *u, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        find_record(&b->b, i, m[i], u, has);
        b->entry[i] = route_entry(&u->route, b->dst[i]);
        rte_prefetch0(b->entry[i]);
    }
}

static __rte_always_inline void find_nexthops(struct rte_mbuf **m, struct batch4 *b, struct part p,
                                              const struct up *u)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        uint32_t number = route_number(&u->route, b->entry[i], b->dst[i]);

        b->b.nexthop[i] = route_nexthop(&u->route, number,
                                        (const struct rte_ipv4_hdr *)(frame_bytes(m[i]) + QINQ_LEN),
                                        (uint32_t)m[i]->data_len - QINQ_LEN);
        rte_prefetch0(&u->route.nexthop[b->b.nexthop[i]]);
    }
}

/* --- the stages of IPv6 --- */

static __rte_always_inline const struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (const struct ipv6_hdr *)(frame_bytes(m) + QINQ_LEN);
}

static __rte_always_inline void find_slots6(struct rte_mbuf **m, struct batch6 *b, struct part p,
                                            const struct up *u, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        find_slot(&b->b, i, m[i], u, has);
        b->dst[i] = ipv6_of(header6(m[i])->destination);
        b->entry[i] = fib6_first(u->route.fib6, b->dst[i]);
        rte_prefetch0(&u->route.fib6->first[b->entry[i]]);
    }
}

/* Fetch what a flow label is made of, which ends in the frame's second line. */
static __rte_always_inline void fetch_ports6(struct rte_mbuf **m, struct part p)
{
    for (uint32_t i = p.from; i < p.to; i++)
        rte_prefetch0(frame_bytes(m[i]) + QINQ_LEN + IPV6_LEN + sizeof(uint16_t));
}

static __rte_always_inline void find_records6(struct rte_mbuf **m, struct batch6 *b, struct part p,
                                              const struct up *u, struct shape has)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        find_record(&b->b, i, m[i], u, has);
        b->entry[i] = fib6_read(&u->route.fib6->first[b->entry[i]]);
        fib6_prefetch(u->route.fib6, b->entry[i]);
    }
}

static __rte_always_inline void find_nexthops6(struct rte_mbuf **m, struct batch6 *b, struct part p,
                                               const struct up *u, struct shape has)
{
    fib6_follow(u->route.fib6, b->dst + p.from, p.to - p.from, b->entry + p.from);
    for (uint32_t i = p.from; i < p.to; i++) {
        if (has.classify)
            subscriber_prefetch6(&u->record[b->b.id[i]], &u->classify.v6->record[b->b.id[i]]);
        b->b.nexthop[i] = route_nexthop6(u->route_state, b->entry[i] & FIB6_NUMBER, b->dst[i],
                                         header6(m[i]), (uint32_t)m[i]->data_len - QINQ_LEN);
        rte_prefetch0(&u->route.nexthop[b->b.nexthop[i]]);
    }
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

static __rte_always_inline void finish(struct rte_mbuf **m, const struct batch *b, struct part p,
                                       const struct up *u, struct shape has, bool is_six,
                                       struct fused_tally *y)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct subscriber *s = has.classify || has.gre ? &u->record[b->id[i]] : NULL;
        const struct nexthop *nh = &u->route.nexthop[b->nexthop[i]];
        uint8_t *f = frame_bytes(m[i]);

        if (likely(is_plain(u, has, m[i], f, b->id[i], s, nh, is_six))) {
            if (has.classify && unlikely(s->session != 0))
                classify_clamp_mss(f + QINQ_LEN, s, is_six);
            y->bytes += fused_len(f + QINQ_LEN, is_six);
            rewrite(u, has, m[i], f, b->id[i], s, nh, b->nexthop[i], is_six);
        } else {
            y->rest |= UINT64_C(1) << i;
            if (has.classify && unlikely(qinq_type(f) == RTE_BE16(PPPOE_TYPE)) &&
                !u->classify.not_only_ip)
                classify_move_back(m[i]);
        }
    }
}

#define LATE (3 * STAGE_STEP) /* of the last stage of a family behind its first one */

/* The stages of packet/stages.h: slot and first entry, record and entry, next hop, and all that is
 * done. at: of the first one, of n packets. */
static __rte_always_inline void turn(struct rte_mbuf **m, struct burst *b, uint32_t n, uint32_t at,
                                     const struct up *u, struct shape has, bool is_six,
                                     struct fused_tally *y)
{
    if (is_six) {
        if (unlikely(u->labels_flows))
            fetch_ports6(m, part_of(n, at, 0));
        find_slots6(m, &b->six, part_of(n, at, 0), u, has);
        find_records6(m, &b->six, part_of(n, at, STAGE_STEP), u, has);
        find_nexthops6(m, &b->six, part_of(n, at, 2 * STAGE_STEP), u, has);
        finish(m, &b->six.b, part_of(n, at, LATE), u, has, true, y);
    } else {
        find_slots(m, &b->four, part_of(n, at, 0), u, has);
        find_records(m, &b->four, part_of(n, at, STAGE_STEP), u, has);
        find_nexthops(m, &b->four, part_of(n, at, 2 * STAGE_STEP), u);
        finish(m, &b->four.b, part_of(n, at, LATE), u, has, false, y);
    }
}

static __rte_always_inline void open_chain(struct up *u, const struct task *t, struct shape has)
{
    struct task *const *task = t->chain.task;

    u->in_port = t->in_port;
    if (has.classify)
        u->classify = *(const struct classify *)(*task++)->state;
    u->decap = *(const struct qinq_decap *)(*task++)->state;
    u->route_state = (*task++)->state;
    u->route = *u->route_state;
    if (has.gre) {
        u->gre_state = (*task++)->state;
        u->gre = *u->gre_state;
    }
    if (has.mpls)
        u->push = *(const struct mpls_push *)(*task++)->state;
    u->record = has.classify ? u->classify.record : has.gre ? u->gre.record : NULL;
    u->labels_flows = has.classify && has.gre && far_ends6_any(&u->classify.routes->far_ends6);
    u->takes_ipv6 = u->route.fib6 != NULL && (!has.classify || u->classify.v6 != NULL);
}

/* All stages for the packets of a family that have not been through them. */
static __rte_always_inline void go_on(struct fused_mix *x, enum family f, struct burst *b,
                                      const struct up *u, struct shape has)
{
    struct rte_mbuf **m = x->m + x->first[f];
    uint32_t n = x->n[f];

    for (uint32_t at = x->begun[f]; at < n + LATE; at += STAGE_STEP) {
        fetch(m, part_of(n, at + STAGE_STEP, 0), has, false);
        turn(m, b, n, at, u, has, f == FAMILY_IPV6, &x->tally[f]);
    }
}

/* Go on with a burst at a part that is not of the family of all before it. */
static __rte_always_inline void mixed(struct task *t, struct rte_mbuf **m, uint16_t n,
                                      struct burst *b, bool begins_with_six, struct shape has)
{
    uint64_t six = fused_before(b->at, begins_with_six) | (uint64_t)b->is_six << b->at;
    struct fused_mix x;
    struct up u;

    open_chain(&u, t, has);
    fetch(m, part_of(n, b->at + STAGE_NEAR, 0), has, true);
    for (uint32_t at = b->at + STAGE_STEP; at < n; at += STAGE_STEP) {
        fetch(m, part_of(n, at + STAGE_NEAR, 0), has, true);
        six |= (uint64_t)find_six(m, part_of(n, at, 0), n, &u, has) << at;
    }
    fused_sort(&x, m, n, six, b->at, b->tally);
    go_on(&x, FAMILY_IPV4, b, &u, has);
    go_on(&x, FAMILY_IPV6, b, &u, has);
    if (has.classify) /* what goes on from a scheduler was counted before it */
        fused_count_mix(t, &x);
    fused_end(t, m, n, &x, true);
}

/* Go through a burst whose first part is of one family. Returns whether all of it is. */
static __rte_always_inline bool of_one(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                       const struct up *u, struct shape has, bool is_six)
{
    struct fused_tally y = {0, 0};
    uint32_t at;

    for (at = 0; at < n + LATE; at += STAGE_STEP) {
        struct part next = part_of(n, at + STAGE_STEP, 0);

        turn(m, b, n, at, u, has, is_six, &y);
        fetch(m, part_of(n, at + STAGE_NEAR, 0), has, true);
        b->is_six = find_six(m, next, n, u, has);
        if (unlikely(b->is_six != (is_six ? fused_all(next) : 0)))
            break;
    }
    b->at = at + STAGE_STEP;
    b->tally = y;
    return at >= n + LATE;
}

static __rte_always_inline void up(struct task *t, struct rte_mbuf **m, uint16_t n,
                                   struct shape has, fused_mixed mixed_too)
{
    struct part first = part_of(n, 0, 0);
    struct burst b;
    struct up u;
    bool is_six;

    if (unlikely(!link_chain_is_whole(t))) {
        t->type->handle(t, m, n);
        return;
    }
    open_chain(&u, t, has);
    fetch(m, part_near(n), has, true);
    b.at = 0;
    b.is_six = find_six(m, first, n, &u, has);
    b.tally = (struct fused_tally){0, 0};
    is_six = b.is_six == fused_all(first);
    if ((b.is_six != 0 && !is_six) ||
        !(is_six ? of_one(m, n, &b, &u, has, true) : of_one(m, n, &b, &u, has, false))) {
        mixed_too(t, m, n, &b, is_six);
        return;
    }
    if (has.classify) /* what goes on from a scheduler was counted before it */
        fused_count(t, is_six ? FAMILY_IPV6 : FAMILY_IPV4, n, &b.tally);
    fused_end_of_one(t, m, n, b.tally.rest);
}

FUSED_CHAIN(up_all, up, .classify = true, .gre = true, .mpls = true)
FUSED_CHAIN(up_gre, up, .classify = true, .gre = true)
FUSED_CHAIN(up_mpls, up, .classify = true, .mpls = true)
FUSED_CHAIN(up_plain, up, .classify = true)
FUSED_CHAIN(routed_all, up, .gre = true, .mpls = true)
FUSED_CHAIN(routed_gre, up, .gre = true)
FUSED_CHAIN(routed_mpls, up, .mpls = true)
FUSED_CHAIN(routed_plain, up, .classify = false)

const struct chain_type chains_classify[N_CHAINS_CLASSIFY] = {
    {{&task_classify, &task_qinq_decap, &task_route, &task_gre_encap, &task_mpls_push}, 5, up_all},
    {{&task_classify, &task_qinq_decap, &task_route, &task_gre_encap}, 4, up_gre},
    {{&task_classify, &task_qinq_decap, &task_route, &task_mpls_push}, 4, up_mpls},
    {{&task_classify, &task_qinq_decap, &task_route}, 3, up_plain},
    {{&task_classify, &task_qinq_encap}, 2, fused_plain},
};

const struct chain_type chains_routed[N_CHAINS_ROUTED] = {
    {{&task_qinq_decap, &task_route, &task_gre_encap, &task_mpls_push}, 4, routed_all},
    {{&task_qinq_decap, &task_route, &task_gre_encap}, 3, routed_gre},
    {{&task_qinq_decap, &task_route, &task_mpls_push}, 3, routed_mpls},
    {{&task_qinq_decap, &task_route}, 2, routed_plain},
};
