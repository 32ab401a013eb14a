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
    uint32_t step; /* between two stages */
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
    struct fused_run run;
};

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

/* Find tunnel and slot of packet i. Returns whether IPv6 is in the tunnel. */
static __rte_always_inline bool find_slot(struct burst *b, uint32_t i, const struct rte_mbuf *m,
                                          const struct down *d, struct shape has)
{
    struct tunnel *t = &b->tunnel[i];

    t->outer = find_tunnel(d, has, m, &t->in);
    rte_prefetch0(t->in.slot);
    return t->in.is_ipv6;
}

static __rte_always_inline void find_record(struct burst *b, uint32_t i, const struct down *d)
{
    b->id[i] = __atomic_load_n(b->tunnel[i].in.slot, __ATOMIC_RELAXED);
    rte_prefetch0(&d->record[b->id[i]]);
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

/* All that is done with packet i. */
static __rte_always_inline void finish(struct burst *b, uint32_t i, struct rte_mbuf *m,
                                       const struct down *d, struct shape has, bool is_six,
                                       struct fused_tally *y)
{
    const struct tunnel *t = &b->tunnel[i];
    uint32_t id = b->id[i];
    uint8_t *ip;

    if (unlikely(id == 0)) {
        y->rest |= UINT64_C(1) << i;
        return;
    }
    ip = (uint8_t *)((uintptr_t)t->outer + t->in.inner);
    if (likely(is_plain(d, has, m, t->in.outer_class, ip, t->in.avail, id, is_six)))
        y->bytes += rewrite(d, has, m, ip, id, is_six);
    else
        y->rest |= UINT64_C(1) << i;
}

#define ANNOUNCED 4u /* packets at once, to the task that is next */

static __rte_always_inline void open_chain(struct down *d, const struct task *t, uint32_t n,
                                           struct shape has)
{
    struct task *const *task = t->chain.task;

    *d = (struct down){
        .step = stage_step(n), .in_port = t->in_port, .last = t->chain.task[t->chain.type->n - 1]};
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
static __rte_always_inline void fetch_again(const struct burst *b, uint32_t i,
                                            const struct rte_mbuf *m, const struct down *d)
{
    frame_prefetch_at(m, RTE_CACHE_LINE_SIZE);
    rte_prefetch0(&d->record[b->id[i]]);
}

/* The last stage for these packets, which are of a family, where stages are far apart. */
static __rte_always_inline void finish_far(struct burst *b, struct rte_mbuf **m, uint64_t bits,
                                           const struct down *d, struct shape has, bool is_six,
                                           struct fused_tally *y)
{
    for (uint64_t left = is_six ? bits : 0; left != 0;) {
        uint32_t i = fused_next(&left);

        subscriber_prefetch6(&d->record[b->id[i]], &d->record6[b->id[i]]);
    }
    while (bits != 0) {
        uint32_t i = fused_next(&bits);

        finish(b, i, m[i], d, has, is_six, y);
    }
}

/* Likewise, where they are near each other: such a processor drops some of what it is asked for. */
static __rte_always_inline void finish_near(struct burst *b, struct rte_mbuf **m, uint64_t bits,
                                            const struct down *d, struct shape has, bool is_six,
                                            struct fused_tally *y)
{
    uint64_t ahead = bits;

    for (uint32_t k = 0; k < STAGE_FRAMES * d->step && ahead != 0; k++) {
        uint32_t i = fused_next(&ahead);

        fetch_again(b, i, m[i], d);
    }
    while (bits != 0) {
        uint32_t i = fused_next(&bits);

        if (ahead != 0) {
            uint32_t k = fused_next(&ahead);

            fetch_again(b, k, m[k], d);
        }
        if (is_six)
            subscriber_prefetch6(&d->record[b->id[i]], &d->record6[b->id[i]]);
        finish(b, i, m[i], d, has, is_six, y);
    }
}

static __rte_always_inline void finish_family(struct burst *b, struct rte_mbuf **m, uint64_t bits,
                                              const struct down *d, struct shape has, bool is_six,
                                              struct fused_tally *y)
{
    if (stage_is_far(d->step))
        finish_far(b, m, bits, d, has, is_six, y);
    else
        finish_near(b, m, bits, d, has, is_six, y);
}

/* Go on with a burst after a run of one family. */
static __rte_always_inline void mixed(struct task *t, struct rte_mbuf **m, uint16_t n,
                                      struct burst *b, struct shape has)
{
    const uint32_t begun = b->run.begun;
    uint32_t finished, announced;
    uint64_t six = b->run.six, left;
    struct fused_mix x;
    struct down d;

    open_chain(&d, t, n, has);
    finished = stage_behind(begun, d.step);
    announced = finished - finished % ANNOUNCED;
    left = UINT64_MAX << finished;
    for (uint32_t at = begun; at < n + d.step; at += d.step) {
        const struct part slots = part_of(d.step, n, at, 0),
                          records = part_of(d.step, n, at, d.step),
                          ahead = part_of(d.step, n, at + STAGE_FRAMES * d.step, 0);

        for (uint32_t i = ahead.from; i < ahead.to; i++)
            frame_prefetch_fresh(m[i], 2);
        for (uint32_t i = RTE_MAX(records.from, begun); i < records.to; i++)
            find_record(b, i, &d);
        for (uint32_t i = RTE_MAX(slots.from, b->run.known); i < slots.to; i++)
            six |= (uint64_t)find_slot(b, i, m[i], &d, has) << i;
    }
    fused_divide(&x, n, six, &b->run);
    finish_family(b, m, x.of[FAMILY_IPV4] & left, &d, has, false, &x.tally[FAMILY_IPV4]);
    finish_family(b, m, x.of[FAMILY_IPV6] & left, &d, has, true, &x.tally[FAMILY_IPV6]);
    task_announce(d.last, m + announced, n - announced);
    fused_count_mix(counter(t, has), &x);
    fused_end(t, m, n, x.tally[FAMILY_IPV4].rest | x.tally[FAMILY_IPV6].rest);
}

/* Go through a burst whose first packets are of one family, where stages are far apart. Returns
 * whether all are. */
static __rte_always_inline bool of_one_far(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                           const struct down *d, struct shape has, bool is_six)
{
    struct fused_tally y = {0, 0};

    for (uint32_t at = 0; at < n + d->step; at += d->step) {
        const struct part records = part_of(d->step, n, at, 0),
                          last = part_of(d->step, n, at, d->step),
                          next = part_of(d->step, n, at + d->step, 0),
                          ahead = part_of(d->step, n, at + STAGE_FRAMES * d->step, 0);

        for (uint32_t i = ahead.from; i < ahead.to; i++)
            frame_prefetch_fresh(m[i], 2);
        for (uint32_t i = records.from; i < records.to; i++)
            find_record(b, i, d);
        if (is_six)
            for (uint32_t i = last.from; i < last.to; i++)
                subscriber_prefetch6(&d->record[b->id[i]], &d->record6[b->id[i]]);
        for (uint32_t i = last.from; i < last.to; i++)
            finish(b, i, m[i], d, has, is_six, &y);
        if (last.from < last.to)
            task_announce(d->last, m + last.from, last.to - last.from);
        for (uint32_t i = next.from; i < next.to; i++)
            if (unlikely(find_slot(b, i, m[i], d, has) != is_six)) {
                fused_stop(&b->run, at + d->step, i, is_six, y);
                return false;
            }
    }
    b->run.tally = y;
    return true;
}

/* Likewise, at any distance. */
static __rte_always_inline bool of_one(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                       const struct down *d, struct shape has, bool is_six)
{
    struct fused_tally y = {0, 0};

    if (stage_is_far(d->step))
        return of_one_far(m, n, b, d, has, is_six);
    for (uint32_t i = 0; i < n + d->step; i++) {
        uint32_t late = i - d->step, next = i + d->step, ahead = i + STAGE_FRAMES * d->step;

        if (ahead < n)
            frame_prefetch_fresh(m[ahead], 2);
        if (i < n)
            find_record(b, i, d);
        if (late < n) {
            if (is_six)
                subscriber_prefetch6(&d->record[b->id[late]], &d->record6[b->id[late]]);
            finish(b, late, m[late], d, has, is_six, &y);
            if (late % ANNOUNCED == ANNOUNCED - 1 || late == n - 1u)
                task_announce(d->last, m + late - late % ANNOUNCED, late % ANNOUNCED + 1);
        }
        if (next < n && unlikely(find_slot(b, next, m[next], d, has) != is_six)) {
            fused_stop(&b->run, i + 1, next, is_six, y);
            return false;
        }
    }
    b->run.tally = y;
    return true;
}

static __rte_always_inline void down(struct task *t, struct rte_mbuf **m, uint16_t n,
                                     struct shape has, fused_mixed mixed_too)
{
    struct burst b;
    struct down d;
    bool is_six;

    if (unlikely(!link_chain_is_whole(t))) {
        t->type->handle(t, m, n);
        return;
    }
    open_chain(&d, t, n, has);
    burst_prefetch_fresh(m, (uint16_t)RTE_MIN(n, STAGE_FRAMES * d.step), 2);
    b.run = (struct fused_run){.known = d.step};
    for (uint32_t i = 0; i < b.run.known; i++)
        b.run.six |= (uint64_t)find_slot(&b, i, m[i], &d, has) << i;
    is_six = fused_is_six(&b.run);
    if ((b.run.six != 0 && !is_six) ||
        !(is_six ? of_one(m, n, &b, &d, has, true) : of_one(m, n, &b, &d, has, false))) {
        mixed_too(t, m, n, &b);
        return;
    }
    fused_count(counter(t, has), is_six ? FAMILY_IPV6 : FAMILY_IPV4, n, &b.run.tally);
    fused_end(t, m, n, b.run.tally.rest);
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
