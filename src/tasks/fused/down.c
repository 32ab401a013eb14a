/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from the core to a subscriber at once: mpls_pop, gre_decap and qinq_encap, of which the
 * first or the last may be missing.
 *
 *   old frame: eth 14 | labels 4 each | outer IPv4 20 or IPv6 40 | GRE 8 | inner IPv4 or IPv6 ...
 *   new frame:                             eth 14 | tags 8 | inner IPv4 or IPv6 ...
 */
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
    const struct gre_decap
        *gre_state; /* for what is not inline, so that the copy is in registers */
    const struct subscriber *record;
    const struct subscriber6 *record6;   /* NULL: nobody has IPv6 */
    const uint8_t (*port_mac)[MAC_ROOM]; /* NULL: whoever called us has looked at the MAC */
    const struct task *last;
    uint16_t in_port;
};

/* The tunnel that a packet came in. */
struct tunnel {
    const uint8_t *outer; /* its header */
    struct gre_found in;
};

/* A burst on its way. */
struct burst {
    struct tunnel tunnel[BURST_MAX];
    uint32_t id[BURST_MAX];
    uint32_t at, is_six;      /* the part whose tunnels were found last, of which these have IPv6 */
    struct fused_tally tally; /* of those before it, which are of one family */
};

static __rte_always_inline void fetch(struct rte_mbuf **m, struct part p)
{
    for (uint32_t i = p.from; i < p.to; i++)
        frame_prefetch_fresh(m[i], 2);
}

/* The offset of the outer header in a frame that mpls_pop lets go on, or 0, and its family. Below
 * labels its version tells that; an explicit null of IPv4 is not the label above IPv6. */
static __rte_always_inline uint32_t find_outer(const struct down *d, struct shape has,
                                               const uint8_t *f, uint32_t len, bool *is_six)
{
    uint32_t labels, at;

    *is_six = false;
    if (likely(eth_type(f) == RTE_BE16(MPLS_TYPE)) && has.pop) {
        labels = mpls_pop_plain_len(d->pop, f + ETH_LEN, len - ETH_LEN);
        at = ETH_LEN + labels;
        *is_six = labels != 0 && unlikely(mpls_pop_is_ipv6(f + ETH_LEN, labels, len - ETH_LEN));
        if (unlikely(*is_six) &&
            mpls_label(net32(load32(f + at - MPLS_ENTRY_LEN))) == MPLS_EXPLICIT_NULL)
            return 0;
        return labels != 0 ? at : 0;
    }
    *is_six = unlikely(eth_is_ipv6(f));
    return (eth_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV4) || *is_six) &&
                   !(has.pop && d->pop->drop_unlabelled)
               ? ETH_LEN
               : 0;
}

/* A frame that mpls_pop or gre_decap will not let go on, as far as its outer headers tell, has the
 * slot of nobody. */
static const uint8_t *find_nobody(struct gre_found *out)
{
    out->slot = idmap_no_slot();
    out->is_ipv6 = false;
    return NULL;
}

/* Find what is in a tunnel of an unusual kind. */
static __rte_noinline const uint8_t *find_unusual(const struct gre_decap *g, const uint8_t *outer,
                                                  uint32_t avail, bool is_six,
                                                  struct gre_found *out)
{
    if (!is_six)
        gre_decap_parse(g, (const struct rte_ipv4_hdr *)outer, avail, out);
    else if (gre_decap_takes6(g))
        gre_decap_parse6(g, (const struct ipv6_hdr *)outer, avail, out);
    else
        return find_nobody(out);
    return outer;
}

/* Find the outer header and what is in the tunnel. */
static __rte_always_inline const uint8_t *
find_tunnel(const struct down *d, struct shape has, const struct rte_mbuf *m, struct gre_found *out)
{
    const uint8_t *f = frame_bytes(m);
    bool is_six;
    uint32_t at;

    if (unlikely(m->nb_segs != 1 || m->data_len < ETH_LEN))
        return find_nobody(out);
    at = find_outer(d, has, f, m->data_len, &is_six);
    if (unlikely(at == 0 ||
                 (d->port_mac != NULL && !eth_is_to(f, task_own_mac(d->port_mac, d->in_port, m)))))
        return find_nobody(out);
    if (unlikely(is_six) || unlikely(!gre_decap_find(&d->gre, (const struct rte_ipv4_hdr *)(f + at),
                                                     m->data_len - at, out)))
        return find_unusual(d->gre_state, f + at, m->data_len - at, is_six, out);
    return f + at;
}

/* Find tunnels and slots. Returns a bit for each packet with IPv6 in its tunnel. */
static __rte_always_inline uint32_t find_slots(struct rte_mbuf **m, struct part p,
                                               const struct down *d, struct shape has,
                                               struct tunnel *tunnel)
{
    uint32_t six = 0;

    for (uint32_t i = p.from; i < p.to; i++) {
        tunnel[i].outer = find_tunnel(d, has, m[i], &tunnel[i].in);
        rte_prefetch0(tunnel[i].in.slot);
        six |= (uint32_t)tunnel[i].in.is_ipv6 << (i - p.from);
    }
    return six;
}

static __rte_always_inline void find_records(struct burst *b, struct part p, const struct down *d)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        b->id[i] = __atomic_load_n(b->tunnel[i].in.slot, __ATOMIC_RELAXED);
        rte_prefetch0(&d->record[b->id[i]]);
    }
}

/* Will gre_decap let a packet of a subscriber go on, as far as its own header tells? */
static __rte_always_inline bool may_pass(const struct down *d, const uint8_t *ip, uint32_t avail,
                                         uint32_t id, bool is_six)
{
    return is_six ? gre_decap_may_pass6(&d->gre, (const struct ipv6_hdr *)ip, avail, &d->record[id],
                                        &d->record6[id])
                  : gre_decap_may_pass(&d->gre, (const struct rte_ipv4_hdr *)ip, avail,
                                       &d->record[id]);
}

/* Will each task let the packet of a subscriber go by its first output at once? Congestion that the
 * outer header tells of is merged last: nothing else depends on it, and it may end the packet. */
static __rte_always_inline bool is_plain(const struct down *d, struct shape has,
                                         const struct rte_mbuf *m, uint8_t outer_tos, uint8_t *ip,
                                         uint32_t avail, uint32_t id, bool is_six)
{
    uint32_t at = (uint32_t)(ip - (uint8_t *)m->buf_addr);
    const struct subscriber *s = &d->record[id];

    if (unlikely(!may_pass(d, ip, avail, id, is_six)))
        return false;
    if (has.encap &&
        unlikely(is_six ? !qinq_encap_fits6(at, (struct ipv6_hdr *)ip, s, qinq_encap_l2(s))
                        : !qinq_encap_fits(m, at, (struct rte_ipv4_hdr *)ip, s, qinq_encap_l2(s))))
        return false;
    if (likely(!ipv4_tells_ecn(outer_tos)))
        return true;
    return is_six ? ipv6_merge_ecn((struct ipv6_hdr *)ip, outer_tos)
                  : ipv4_merge_ecn((struct rte_ipv4_hdr *)ip, outer_tos);
}

/* Do the work of all tasks on a plain packet. Returns its length. */
static __rte_always_inline uint32_t rewrite(const struct down *d, struct shape has,
                                            struct rte_mbuf *m, uint8_t *ip, uint32_t id,
                                            bool is_six)
{
    const struct subscriber *s = &d->record[id];
    uint32_t size = fused_len(ip, is_six);
    uint32_t len = ETH_LEN + size;
    uint8_t *f = ip - ETH_LEN;

    if (d->in_port != PORT_IN_MBUF)
        meta_set_in_port(m, d->in_port);
    if (d->gre.dscp != NULL)
        meta_set_path(m, s->path + dscp_queue(d->gre.dscp, fused_class(ip, is_six)));
    meta_set_subscriber(m, id);
    if (has.encap && unlikely(s->session != 0)) {
        len = is_six
                  ? qinq_encap_write_pppoe6((struct ipv6_hdr *)ip, s, d->encap->pcp_from_dscp)
                  : qinq_encap_write_pppoe((struct rte_ipv4_hdr *)ip, s, d->encap->pcp_from_dscp);
        meta_set_out_port(m, s->port);
        f = ip - PPPOE_QINQ_LEN;
    } else if (has.encap) {
        len = is_six ? qinq_encap_write6((struct ipv6_hdr *)ip, s, d->encap->pcp_from_dscp)
                     : qinq_encap_write((struct rte_ipv4_hdr *)ip, s, d->encap->pcp_from_dscp);
        meta_set_out_port(m, s->port);
        f -= QINQ_TAGS_LEN;
    } else {
        eth_move_macs(f, frame_bytes(m));
        store16(f + ETH_MACS,
                is_six ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : RTE_BE16(RTE_ETHER_TYPE_IPV4));
    }
    m->data_off = (uint16_t)(f - (uint8_t *)m->buf_addr);
    frame_set(m, 0, len);
    return size;
}

/* place: of each packet in the burst; NULL: they are those of the burst. */
static __rte_always_inline void finish(struct rte_mbuf **m, const uint8_t *place,
                                       const struct burst *b, struct part p, const struct down *d,
                                       struct shape has, bool is_six, struct fused_tally *y)
{
    for (uint32_t i = p.from; is_six && i < p.to; i++) {
        uint32_t id = b->id[place != NULL ? place[i] : i];

        subscriber_prefetch6(&d->record[id], &d->record6[id]);
    }
    for (uint32_t i = p.from; i < p.to; i++) {
        const struct tunnel *t = &b->tunnel[place != NULL ? place[i] : i];
        uint32_t id = b->id[place != NULL ? place[i] : i];
        uint8_t *ip;

        if (unlikely(id == 0)) {
            y->rest |= UINT64_C(1) << i;
            continue;
        }
        ip = (uint8_t *)((uintptr_t)t->outer + t->in.inner);
        if (likely(is_plain(d, has, m[i], t->in.outer_class, ip, t->in.avail, id, is_six)))
            y->bytes += rewrite(d, has, m[i], ip, id, is_six);
        else
            y->rest |= UINT64_C(1) << i;
    }
    task_announce(d->last, m + p.from, p.to - p.from);
}

#define LATE STAGE_STEP /* of the last stage of a family behind its first one */

static __rte_always_inline void open_chain(struct down *d, const struct task *t, struct shape has)
{
    struct task *const *task = t->chain.task;

    *d = (struct down){.in_port = t->in_port, .last = t->chain.task[t->chain.type->n - 1]};
    if (has.pop)
        d->pop = (*task++)->state;
    d->gre_state = (*task++)->state;
    d->gre = *d->gre_state;
    if (has.encap)
        d->encap = (*task)->state;
    d->record = d->gre.subscribers->record;
    d->record6 = d->gre.subscribers->v6 != NULL ? d->gre.subscribers->v6->record : NULL;
    d->port_mac = has.pop || d->gre.cold ? d->gre.port_mac : NULL;
}

/* The task that counts packets. */
static struct task *counter(const struct task *t, struct shape has)
{
    return t->chain.task[has.pop ? 1 : 0];
}

/* Fetch what the last stage reads and no stage before it has. */
static __rte_always_inline void fetch_sorted(struct rte_mbuf **m, const uint8_t *place,
                                             const struct burst *b, struct part p,
                                             const struct down *d)
{
    for (uint32_t i = p.from; i < p.to; i++) {
        frame_prefetch_at(m[i], RTE_CACHE_LINE_SIZE);
        rte_prefetch0(&d->record[b->id[place[i]]]);
    }
}

/* The last stage for the packets of a family that have not been through it. */
static __rte_always_inline void finish_family(struct fused_mix *x, enum family f,
                                              const struct burst *b, const struct down *d,
                                              struct shape has)
{
    uint32_t at = x->begun[f] > LATE ? x->begun[f] - LATE : 0, n = x->n[f];
    struct rte_mbuf **m = x->m + x->first[f];
    const uint8_t *place = x->place + x->first[f];

    fetch_sorted(m, place, b, part_of(n, at, 0), d);
    fetch_sorted(m, place, b, part_of(n, at + STAGE_STEP, 0), d);
    for (; at < n; at += STAGE_STEP) {
        fetch_sorted(m, place, b, part_of(n, at + STAGE_NEAR, 0), d);
        finish(m, place, b, part_of(n, at, 0), d, has, f == FAMILY_IPV6, &x->tally[f]);
    }
}

/* Go on with a burst at a part that is not of the family of all before it. */
static __rte_always_inline void mixed(struct task *t, struct rte_mbuf **m, uint16_t n,
                                      struct burst *b, bool begins_with_six, struct shape has)
{
    uint64_t six = fused_before(b->at, begins_with_six) | (uint64_t)b->is_six << b->at;
    struct fused_mix x;
    struct down d;

    open_chain(&d, t, has);
    fetch(m, part_of(n, b->at + STAGE_NEAR, 0));
    for (uint32_t at = b->at + STAGE_STEP; at < n; at += STAGE_STEP) {
        fetch(m, part_of(n, at + STAGE_NEAR, 0));
        six |= (uint64_t)find_slots(m, part_of(n, at, 0), &d, has, b->tunnel) << at;
    }
    fused_sort(&x, m, n, six, b->at, b->tally);
    find_records(b, (struct part){b->at, n}, &d);
    finish_family(&x, FAMILY_IPV4, b, &d, has);
    finish_family(&x, FAMILY_IPV6, b, &d, has);
    fused_count_mix(counter(t, has), &x);
    fused_end(t, m, n, &x, false);
}

/* Go through a burst whose first part is of one family. Returns whether all of it is. */
static __rte_always_inline bool of_one(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                       const struct down *d, struct shape has, bool is_six)
{
    struct fused_tally y = {0, 0};
    uint32_t at;

    for (at = 0; at < n + LATE; at += STAGE_STEP) {
        struct part next = part_of(n, at + STAGE_STEP, 0);

        fetch(m, part_of(n, at + STAGE_NEAR, 0));
        find_records(b, part_of(n, at, 0), d);
        finish(m, NULL, b, part_of(n, at, LATE), d, has, is_six, &y);
        b->is_six = find_slots(m, next, d, has, b->tunnel);
        if (unlikely(b->is_six != (is_six ? fused_all(next) : 0)))
            break;
    }
    b->at = at + STAGE_STEP;
    b->tally = y;
    return at >= n + LATE;
}

static __rte_always_inline void down(struct task *t, struct rte_mbuf **m, uint16_t n,
                                     struct shape has, fused_mixed mixed_too)
{
    struct part first = part_of(n, 0, 0);
    struct burst b;
    struct down d;
    bool is_six;

    if (unlikely(!link_chain_is_whole(t))) {
        t->type->handle(t, m, n);
        return;
    }
    open_chain(&d, t, has);
    fetch(m, part_near(n));
    b.at = 0;
    b.is_six = find_slots(m, first, &d, has, b.tunnel);
    b.tally = (struct fused_tally){0, 0};
    is_six = b.is_six == fused_all(first);
    if ((b.is_six != 0 && !is_six) ||
        !(is_six ? of_one(m, n, &b, &d, has, true) : of_one(m, n, &b, &d, has, false))) {
        mixed_too(t, m, n, &b, is_six);
        return;
    }
    fused_count(counter(t, has), is_six ? FAMILY_IPV6 : FAMILY_IPV4, n, &b.tally);
    fused_end_of_one(t, m, n, b.tally.rest);
}

FUSED_CHAIN(down_all, down, .pop = true, .encap = true)
FUSED_CHAIN(down_to_scheduler, down, .pop = true)
FUSED_CHAIN(down_tunnel, down, .encap = true)

const struct chain_type chains_down[N_CHAINS_DOWN] = {
    {{&task_mpls_pop, &task_gre_decap, &task_qinq_encap}, 3, down_all},
    {{&task_mpls_pop, &task_gre_decap}, 2, down_to_scheduler},
};

const struct chain_type chains_tunnel[N_CHAINS_TUNNEL] = {
    {{&task_gre_decap, &task_qinq_encap}, 2, down_tunnel},
};
