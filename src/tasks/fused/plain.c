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
    uint32_t step; /* between two stages */
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
    struct fused_run run;
};

static __rte_always_inline bool find_six(const struct rte_mbuf *m, const struct plain *c)
{
    return eth_is_ipv6(frame_bytes(m)) & (m->nb_segs == 1) & (m->data_len >= ETH_LEN + IPV6_LEN) &
           (c->classify.v6 != NULL);
}

static __rte_always_inline const struct ipv6_hdr *header6(const struct rte_mbuf *m)
{
    return (const struct ipv6_hdr *)(frame_bytes(m) + ETH_LEN);
}

/* The stages, each for packet i of its family. */

static __rte_always_inline void find_slot(struct batch *b, uint32_t i, const struct rte_mbuf *m,
                                          const struct plain *c, bool is_six)
{
    if (is_six) {
        b->search[i] = subscriber6_begin(c->classify.v6, ipv6_of(header6(m)->destination));
    } else {
        b->slot[i] = classify_slot_by_address(&c->classify, m, &b->id[i]);
        rte_prefetch0(b->slot[i]);
    }
}

static __rte_always_inline void find_record(struct batch *b, uint32_t i, const struct rte_mbuf *m,
                                            const struct plain *c, bool is_six)
{
    b->id[i] =
        is_six ? subscriber6_end(c->classify.v6, &b->search[i], ipv6_of(header6(m)->destination))
               : __atomic_load_n(b->slot[i], __ATOMIC_RELAXED);
    rte_prefetch0(&c->classify.record[b->id[i]]);
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

static __rte_always_inline void finish(const struct batch *b, uint32_t i, struct rte_mbuf *m,
                                       const struct plain *c, bool is_six, struct fused_tally *y)
{
    uint8_t *f = frame_bytes(m);

    if (likely(is_plain(c, m, f, b->id[i], is_six))) {
        y->bytes += fused_len(f + ETH_LEN, is_six);
        rewrite(c, m, f, b->id[i], is_six);
    } else {
        y->rest |= UINT64_C(1) << i;
    }
}

#define LATE 3u /* steps of the last stage behind the first one */

/* A step of the stages of packet/stages.h, through n packets of a family: slot, record, and all
 * that is done. i: of the first stage. The line that the tags are written into is fetched apart
 * from the frame's, for the processor drops some of those that are asked for in a row. */
static __rte_always_inline void step(struct rte_mbuf **m, struct batch *b, uint32_t n, uint32_t i,
                                     const struct plain *c, bool is_six, struct fused_tally *y)
{
    if (i < n)
        find_slot(b, i, m[i], c, is_six);
    i -= c->step;
    if (i < n) {
        frame_prefetch_at(m[i], -QINQ_TAGS_LEN);
        find_record(b, i, m[i], c, is_six);
    }
    i -= (LATE - 1) * c->step;
    if (i < n)
        finish(b, i, m[i], c, is_six, y);
}

static __rte_always_inline void open_chain(struct plain *c, const struct task *t, uint32_t n)
{
    c->classify = *(const struct classify *)t->state;
    c->encap = t->chain.task[1]->state;
    c->in_port = t->in_port;
    c->step = stage_step(n);
}

/* The packets of a family in a mixed burst. */
struct half {
    struct rte_mbuf **m;
    struct batch *batch;
    uint32_t n, begun; /* begun: packets that have been through the first stage */
};

/* Stages, each for the packets of a family that have not been through it, where stages are far
 * apart. */
static __rte_always_inline void slots_of(const struct half *h, const struct plain *c, bool is_six)
{
    for (uint32_t i = h->begun; i < h->n; i++)
        find_slot(h->batch, i, h->m[i], c, is_six);
}

static __rte_always_inline void records_of(const struct half *h, const struct plain *c, bool is_six)
{
    for (uint32_t i = stage_behind(h->begun, c->step); i < h->n; i++) {
        frame_prefetch_at(h->m[i], -QINQ_TAGS_LEN);
        find_record(h->batch, i, h->m[i], c, is_six);
    }
}

static __rte_always_inline void last_of(const struct half *h, const struct plain *c, bool is_six,
                                        struct fused_tally *y)
{
    for (uint32_t i = stage_behind(h->begun, LATE * c->step); i < h->n; i++)
        finish(h->batch, i, h->m[i], c, is_six, y);
}

/* All stages for the packets of both families that have not been through them. Where stages are far
 * apart both go through one before the next: what a stage asks for comes while the other family has
 * its turn. */
static __rte_always_inline void go_on(struct fused_mix *x, struct rte_mbuf **m, struct burst *b,
                                      const struct plain *c)
{
    struct fused_tally *y4 = &x->tally[FAMILY_IPV4], *y6 = &x->tally[FAMILY_IPV6];
    struct half four = {x->m, &b->four, fused_gather(x->m, m, x->of[FAMILY_IPV4]),
                        x->begun[FAMILY_IPV4]};
    struct half six = {x->m + four.n, &b->six, fused_gather(x->m + four.n, m, x->of[FAMILY_IPV6]),
                       x->begun[FAMILY_IPV6]};

    if (!stage_is_far(c->step)) {
        for (uint32_t i = four.begun; i < four.n + LATE * c->step; i++)
            step(four.m, four.batch, four.n, i, c, false, y4);
        for (uint32_t i = six.begun; i < six.n + LATE * c->step; i++)
            step(six.m, six.batch, six.n, i, c, true, y6);
        return;
    }
    slots_of(&four, c, false);
    slots_of(&six, c, true);
    records_of(&four, c, false);
    records_of(&six, c, true);
    last_of(&four, c, false, y4);
    last_of(&six, c, true, y6);
}

/* Go on with a burst after a run of one family. */
static __rte_noinline FUSED_FLAT void mixed(struct task *t, struct rte_mbuf **m, uint16_t n,
                                            struct burst *b)
{
    uint64_t six = b->run.six;
    struct fused_mix x;
    struct plain c;

    open_chain(&c, t, n);
    for (uint32_t i = b->run.known, next = i + c.step; i < n; i++) {
        for (; next < n && next <= i + STAGE_FRAMES * c.step; next++)
            frame_prefetch_fresh(m[next], 1);
        six |= (uint64_t)find_six(m[i], &c) << i;
    }
    fused_divide(&x, n, six, &b->run);
    go_on(&x, m, b, &c);
    fused_count_mix(t, &x);
    fused_end(t, m, n, fused_rest(&x));
}

/* Go through a burst whose first packets are of one family, where stages are far apart. Returns
 * whether all are. */
static __rte_always_inline bool of_one_far(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                           const struct plain *c, bool is_six)
{
    struct batch *f = is_six ? &b->six : &b->four;
    struct fused_tally y = {0, 0};

    for (uint32_t at = 0; at < n + LATE * c->step; at += c->step) {
        const struct part slots = part_of(c->step, n, at, 0),
                          records = part_of(c->step, n, at, c->step),
                          last = part_of(c->step, n, at, LATE * c->step),
                          next = part_of(c->step, n, at + c->step, 0),
                          ahead = part_of(c->step, n, at + STAGE_FRAMES * c->step, 0);

        for (uint32_t i = slots.from; i < slots.to; i++)
            find_slot(f, i, m[i], c, is_six);
        for (uint32_t i = records.from; i < records.to; i++) {
            frame_prefetch_at(m[i], -QINQ_TAGS_LEN);
            find_record(f, i, m[i], c, is_six);
        }
        for (uint32_t i = last.from; i < last.to; i++)
            finish(f, i, m[i], c, is_six, &y);
        for (uint32_t i = ahead.from; i < ahead.to; i++)
            frame_prefetch_fresh(m[i], 1);
        for (uint32_t i = next.from; i < next.to; i++)
            if (unlikely(find_six(m[i], c) != is_six)) {
                fused_stop(&b->run, at + c->step, i, is_six, y);
                return false;
            }
    }
    b->run.tally = y;
    return true;
}

/* Likewise, at any distance. */
static __rte_always_inline bool of_one(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                       const struct plain *c, bool is_six)
{
    struct fused_tally y = {0, 0};

    if (stage_is_far(c->step))
        return of_one_far(m, n, b, c, is_six);
    for (uint32_t i = 0; i < n + LATE * c->step; i++) {
        uint32_t next = i + c->step, ahead = i + STAGE_FRAMES * c->step;

        step(m, is_six ? &b->six : &b->four, n, i, c, is_six, &y);
        if (ahead < n)
            frame_prefetch_fresh(m[ahead], 1);
        if (next < n && unlikely(find_six(m[next], c) != is_six)) {
            fused_stop(&b->run, i + 1, next, is_six, y);
            return false;
        }
    }
    b->run.tally = y;
    return true;
}

FUSED_FLAT void fused_plain(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    struct burst b;
    struct plain c;
    bool is_six;

    open_chain(&c, t, n);
    if (unlikely(!link_chain_is_whole(t) || !c.classify.by_address)) {
        t->type->handle(t, m, n);
        return;
    }
    burst_prefetch_fresh(m, (uint16_t)RTE_MIN(n, STAGE_FRAMES * c.step), 1);
    b.run = (struct fused_run){.known = c.step};
    for (uint32_t i = 0; i < b.run.known; i++)
        b.run.six |= (uint64_t)find_six(m[i], &c) << i;
    is_six = fused_is_six(&b.run);
    if ((b.run.six != 0 && !is_six) ||
        !(is_six ? of_one(m, n, &b, &c, true) : of_one(m, n, &b, &c, false))) {
        mixed(t, m, n, &b);
        return;
    }
    fused_count(t, is_six ? FAMILY_IPV6 : FAMILY_IPV4, n, &b.run.tally);
    fused_end(t, m, n, b.run.tally.rest);
}
