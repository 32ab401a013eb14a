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
    union {
        const uint32_t *slot[BURST_MAX]; /* of the subscriber's id, of IPv4 */
        struct subscriber6_search search[BURST_MAX];
    };
    uint32_t id[BURST_MAX];
};

/* A burst on its way. */
struct burst {
    struct batch four, six;
    uint32_t at, is_six;      /* the part whose frames are sorted next, of which these are IPv6 */
    struct fused_tally tally; /* of those before it, which are of one family */
};

/* Fetch mbuf and frame, and the line that the tags are written into. */
static __rte_always_inline void fetch(struct rte_mbuf **m, struct part p)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        frame_prefetch_fresh(m[i], 1);
        frame_prefetch_at(m[i], -QINQ_TAGS_LEN);
    }
}

/* A bit for each frame of IPv6. */
static __rte_always_inline uint32_t find_six(struct rte_mbuf **m, struct part p,
                                             const struct plain *c)
{
    const bool takes_ipv6 = c->classify.v6 != NULL;
    uint32_t six = 0;

    for (uint32_t i = p.from; i < p.to; i++)
        six |= (uint32_t)(eth_is_ipv6(frame_bytes(m[i])) & (m[i]->nb_segs == 1) &
                          (m[i]->data_len >= ETH_LEN + IPV6_LEN) & takes_ipv6)
               << (i - p.from);
    return six;
}

static __rte_always_inline const struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (const struct ipv6_hdr *)(frame_bytes(m) + ETH_LEN);
}

static __rte_always_inline void find_slots(struct rte_mbuf **m, struct batch *b, struct part p,
                                           const struct plain *c, bool is_six)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        if (is_six) {
            b->search[i] = subscriber6_begin(c->classify.v6, ipv6_of(header6(m[i])->destination));
        } else {
            b->slot[i] = classify_slot_by_address(&c->classify, m[i]);
            rte_prefetch0(b->slot[i]);
        }
    }
}

static __rte_always_inline void find_records(struct rte_mbuf **m, struct batch *b, struct part p,
                                             const struct plain *c, bool is_six)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct subscriber6_table *v6 = c->classify.v6;

        if (is_six) {
            b->id[i] = subscriber6_end(v6, &b->search[i], ipv6_of(header6(m[i])->destination));
        } else {
            b->id[i] = __atomic_load_n(b->slot[i], __ATOMIC_RELAXED);
        }
        rte_prefetch0(&c->classify.record[b->id[i]]);
    }
}

/* Will both tasks let the packet go by their first output at once? */
static __rte_always_inline bool is_plain(const struct plain *c, const struct rte_mbuf *m,
                                         const uint8_t *f, uint32_t id, bool is_six)
{
    const uint8_t *own_mac = task_own_mac(c->classify.port_mac, c->in_port, m), *ip = f + ETH_LEN;
    const struct subscriber *s = &c->classify.record[id];
    const uint32_t at = (uint32_t)m->data_off + ETH_LEN;

    if (unlikely(id == 0))
        return false;
    if (is_six)
        return classify_may_reach6(&c->classify, f, m->data_len, s, &c->classify.v6->record[id],
                                   own_mac) &&
               qinq_encap_fits6(at, (const struct ipv6_hdr *)ip, s, qinq_encap_l2(s));
    return classify_may_reach(&c->classify, f, m->data_len, s, own_mac) &&
           qinq_encap_fits(m, at, (const struct rte_ipv4_hdr *)ip, s, qinq_encap_l2(s));
}

/* Do the work of both tasks on a plain packet. */
static __rte_always_inline void rewrite(const struct plain *c, struct rte_mbuf *m, uint8_t *f,
                                        uint32_t id, bool is_six)
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

static __rte_always_inline void finish(struct rte_mbuf **m, const struct batch *b, struct part p,
                                       const struct plain *c, bool is_six, struct fused_tally *y)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        uint8_t *f = frame_bytes(m[i]);

        if (likely(is_plain(c, m[i], f, b->id[i], is_six))) {
            y->bytes += fused_len(f + ETH_LEN, is_six);
            rewrite(c, m[i], f, b->id[i], is_six);
        } else {
            y->rest |= UINT64_C(1) << i;
        }
    }
}

#define LATE (3 * STAGE_STEP) /* of the last stage of a family behind its first one */

/* The stages of packet/stages.h: slot, record, and all that is done. at: of the first one, of n
 * packets. */
static __rte_always_inline void turn(struct rte_mbuf **m, struct batch *b, uint32_t n, uint32_t at,
                                     const struct plain *c, bool is_six, struct fused_tally *y)
{
    find_slots(m, b, part_of(n, at, 0), c, is_six);
    find_records(m, b, part_of(n, at, STAGE_STEP), c, is_six);
    finish(m, b, part_of(n, at, LATE), c, is_six, y);
}

static __rte_always_inline void open_chain(struct plain *c, const struct task *t)
{
    c->classify = *(const struct classify *)t->state;
    c->encap = t->chain.task[1]->state;
    c->in_port = t->in_port;
}

/* All stages for the packets of a family that have not been through them. */
static __rte_always_inline void go_on(struct fused_mix *x, enum family f, struct batch *b,
                                      const struct plain *c)
{
    struct rte_mbuf **m = x->m + x->first[f];
    uint32_t n = x->n[f];

    for (uint32_t at = x->begun[f]; at < n + LATE; at += STAGE_STEP) {
        fetch(m, part_of(n, at + STAGE_STEP, 0));
        turn(m, b, n, at, c, f == FAMILY_IPV6, &x->tally[f]);
    }
}

/* Go on with a burst at a part that is not of the family of all before it. */
static __rte_noinline FUSED_FLAT void mixed(struct task *t, struct rte_mbuf **m, uint16_t n,
                                            struct burst *b, bool begins_with_six)
{
    uint64_t six = fused_before(b->at, begins_with_six) | (uint64_t)b->is_six << b->at;
    struct fused_mix x;
    struct plain c;

    open_chain(&c, t);
    fetch(m, part_of(n, b->at + STAGE_NEAR, 0));
    for (uint32_t at = b->at + STAGE_STEP; at < n; at += STAGE_STEP) {
        fetch(m, part_of(n, at + STAGE_NEAR, 0));
        six |= (uint64_t)find_six(m, part_of(n, at, 0), &c) << at;
    }
    fused_sort(&x, m, n, six, b->at, b->tally);
    go_on(&x, FAMILY_IPV4, &b->four, &c);
    go_on(&x, FAMILY_IPV6, &b->six, &c);
    fused_count_mix(t, &x);
    fused_end(t, m, n, &x, false);
}

/* Go through a burst whose first part is of one family. Returns whether all of it is. */
static __rte_always_inline bool of_one(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                       const struct plain *c, bool is_six)
{
    struct fused_tally y = {0, 0};
    uint32_t at;

    for (at = 0; at < n + LATE; at += STAGE_STEP) {
        struct part next = part_of(n, at + STAGE_STEP, 0);

        turn(m, is_six ? &b->six : &b->four, n, at, c, is_six, &y);
        fetch(m, part_of(n, at + STAGE_NEAR, 0));
        b->is_six = find_six(m, next, c);
        if (unlikely(b->is_six != (is_six ? fused_all(next) : 0)))
            break;
    }
    b->at = at + STAGE_STEP;
    b->tally = y;
    return at >= n + LATE;
}

FUSED_FLAT void fused_plain(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct part first = part_of(n, 0, 0);
    struct burst b;
    struct plain c;
    bool is_six;

    open_chain(&c, t);
    if (unlikely(!link_chain_is_whole(t) || !c.classify.by_address)) {
        t->type->handle(t, m, n);
        return;
    }
    fetch(m, part_near(n));
    b.at = 0;
    b.is_six = find_six(m, first, &c);
    b.tally = (struct fused_tally){0, 0};
    is_six = b.is_six == fused_all(first);
    if ((b.is_six != 0 && !is_six) ||
        !(is_six ? of_one(m, n, &b, &c, true) : of_one(m, n, &b, &c, false))) {
        mixed(t, m, n, &b, is_six);
        return;
    }
    fused_count(t, is_six ? FAMILY_IPV6 : FAMILY_IPV4, n, &b.tally);
    fused_end_of_one(t, m, n, b.tally.rest);
}
