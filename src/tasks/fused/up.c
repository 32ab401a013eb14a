/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way from a subscriber to the core at once: classify, qinq_decap, route, gre_encap and
 * mpls_push, each of which but qinq_decap and route may be missing.
 *
 *   old frame:                        eth 14 | tags 8 | inner IPv4 or IPv6 ...
 *   or:              eth 14 | tags 8 | PPPoE 6, PPP 2 | inner IPv4 or IPv6 ...
 *   new frame: eth 14 | label 4 | outer IPv4 20 or IPv6 40 | GRE 8 | inner IPv4 or IPv6 ...
 */
#include "tasks/fused/up_stages.h"

#define LATE 3u /* steps of the last stage behind the first one */

/* A step of the stages of packet/stages.h, through n packets of a family, whose ids are found in
 * the same step or before: first entry, entry, next hop, and all that is done. i: of the first
 * stage. */
static __rte_always_inline void step(struct rte_mbuf **m, const uint32_t *id, struct burst *b,
                                     uint32_t n, uint32_t i, const struct up *u, struct shape has,
                                     bool is_six, struct fused_tally *y)
{
    if (i < n)
        first_stage(b, i, m[i], u, is_six);
    i -= u->step;
    if (i < n)
        second_stage(b, i, m[i], u, has, is_six);
    i -= u->step;
    if (i < n)
        third_stage(b, i, m[i], id[i], u, has, is_six);
    i -= u->step;
    if (i < n)
        last_stage(b, i, m[i], id[i], u, has, is_six, y);
}

static __rte_always_inline void open_chain(struct up *u, const struct task *t, uint32_t n,
                                           struct shape has)
{
    struct task *const *task = t->chain.task;

    u->step = stage_step(n);
    u->run = stage_is_far(u->step) ? u->step : 1;
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

/* The stages of classify for a run of packets, and for one a step before. at: of the first stage.
 */
static __rte_always_inline void find_subscribers(struct burst *b, struct rte_mbuf *const *m,
                                                 uint32_t n, uint32_t at, const struct up *u,
                                                 struct shape has)
{
    const struct part slots = part_of(u->run, n, at, 0), records = part_of(u->run, n, at, u->step);

    for (uint32_t i = slots.from; i < slots.to; i++)
        find_slot(b, i, m[i], u, has);
    for (uint32_t i = records.from; i < records.to; i++)
        find_record(b, i, m[i], u, has);
}

/* The packets of a family in a mixed burst. */
struct half {
    struct rte_mbuf **m;
    uint32_t id[BURST_MAX];
    uint32_t n, begun; /* begun: packets that have been through the first stage */
};

/* Take the packets of a family out of a burst. to: where they leave. */
static __rte_always_inline void take_half(struct half *h, const struct fused_mix *x, enum family f,
                                          struct rte_mbuf *const *m, struct rte_mbuf **to,
                                          const struct burst *b)
{
    h->m = to;
    h->n = 0;
    h->begun = x->begun[f];
    for (uint64_t left = x->of[f]; left != 0; h->n++) {
        const uint32_t i = fused_next(&left);

        to[h->n] = m[i];
        h->id[h->n] = b->id[i];
    }
}

/* Stages, each for the packets of a family that have not been through it, where stages are far
 * apart. */
static __rte_always_inline void first_of(const struct half *h, struct burst *b, const struct up *u,
                                         bool is_six)
{
    for (uint32_t i = h->begun; i < h->n; i++)
        first_stage(b, i, h->m[i], u, is_six);
}

static __rte_always_inline void second_of(const struct half *h, struct burst *b, const struct up *u,
                                          struct shape has, bool is_six)
{
    for (uint32_t i = stage_behind(h->begun, u->step); i < h->n; i++)
        second_stage(b, i, h->m[i], u, has, is_six);
}

static __rte_always_inline void third_of(const struct half *h, struct burst *b, const struct up *u,
                                         struct shape has, bool is_six)
{
    for (uint32_t i = stage_behind(h->begun, 2 * u->step); i < h->n; i++)
        third_stage(b, i, h->m[i], h->id[i], u, has, is_six);
}

static __rte_always_inline void last_of(const struct half *h, struct burst *b, const struct up *u,
                                        struct shape has, bool is_six, struct fused_tally *y)
{
    for (uint32_t i = stage_behind(h->begun, LATE * u->step); i < h->n; i++)
        last_stage(b, i, h->m[i], h->id[i], u, has, is_six, y);
}

/* All stages for the packets of both families that have not been through them. Where stages are far
 * apart both go through one before the next: what a stage asks for comes while the other family has
 * its turn. In parts, the ends of loops would be foretold wrongly, as each burst has others. */
static __rte_always_inline void go_on(struct fused_mix *x, struct rte_mbuf **m, struct burst *b,
                                      const struct up *u, struct shape has)
{
    struct fused_tally *y4 = &x->tally[FAMILY_IPV4], *y6 = &x->tally[FAMILY_IPV6];
    struct half four, six;

    take_half(&four, x, FAMILY_IPV4, m, x->m, b);
    take_half(&six, x, FAMILY_IPV6, m, x->m + four.n, b);
    if (!stage_is_far(u->step)) {
        for (uint32_t i = four.begun; i < four.n + LATE * u->step; i++)
            step(four.m, four.id, b, four.n, i, u, has, false, y4);
        for (uint32_t i = six.begun; i < six.n + LATE * u->step; i++)
            step(six.m, six.id, b, six.n, i, u, has, true, y6);
        return;
    }
    first_of(&four, b, u, false);
    first_of(&six, b, u, true);
    second_of(&four, b, u, has, false);
    second_of(&six, b, u, has, true);
    third_of(&four, b, u, has, false);
    third_of(&six, b, u, has, true);
    last_of(&four, b, u, has, false, y4);
    last_of(&six, b, u, has, true, y6);
}

/* Go on with a burst after a run of one family. */
static __rte_always_inline void mixed(struct task *t, struct rte_mbuf **m, uint16_t n,
                                      struct burst *b, struct shape has)
{
    uint64_t six = b->run.six;
    struct fused_mix x;
    struct up u;

    open_chain(&u, t, n, has);
    for (uint32_t at = b->run.begun; at < n + u.step; at += u.run) {
        const struct part ahead = part_of(u.run, n, at + STAGE_FRAMES * u.step, 0);

        for (uint32_t i = ahead.from; i < ahead.to; i++)
            frame_prefetch_fresh(m[i], 1);
        for (uint32_t i = RTE_MAX(at, b->run.known); i < RTE_MIN(at + u.run, (uint32_t)n); i++)
            six |= (uint64_t)find_six(m, i, n, &u, has) << i;
        find_subscribers(b, m, n, at, &u, has);
    }
    fused_divide(&x, n, six, &b->run);
    go_on(&x, m, b, &u, has);
    if (has.classify) /* what goes on from a scheduler was counted before it */
        fused_count_mix(t, &x);
    fused_end_by_family(t, m, n, &x);
}

/* Go through a burst whose first packets are of one family, where stages are far apart. Returns
 * whether all are. */
static __rte_always_inline bool of_one_far(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                           const struct up *u, struct shape has, bool is_six)
{
    struct fused_tally y = {0, 0};

    for (uint32_t at = 0; at < n + LATE * u->step; at += u->step) {
        const struct part first = part_of(u->step, n, at, 0),
                          second = part_of(u->step, n, at, u->step),
                          third = part_of(u->step, n, at, 2 * u->step),
                          last = part_of(u->step, n, at, LATE * u->step),
                          next = part_of(u->step, n, at + u->step, 0),
                          ahead = part_of(u->step, n, at + STAGE_FRAMES * u->step, 0);

        find_subscribers(b, m, n, at, u, has);
        for (uint32_t i = first.from; i < first.to; i++)
            first_stage(b, i, m[i], u, is_six);
        for (uint32_t i = second.from; i < second.to; i++)
            second_stage(b, i, m[i], u, has, is_six);
        for (uint32_t i = third.from; i < third.to; i++)
            third_stage(b, i, m[i], b->id[i], u, has, is_six);
        for (uint32_t i = last.from; i < last.to; i++)
            last_stage(b, i, m[i], b->id[i], u, has, is_six, &y);
        for (uint32_t i = ahead.from; i < ahead.to; i++)
            frame_prefetch_fresh(m[i], 1);
        for (uint32_t i = next.from; i < next.to; i++)
            if (unlikely(find_six(m, i, n, u, has) != is_six)) {
                fused_stop(&b->run, at + u->step, i, is_six, y);
                return false;
            }
    }
    b->run.tally = y;
    return true;
}

/* Likewise, at any distance. */
static __rte_always_inline bool of_one(struct rte_mbuf **m, uint16_t n, struct burst *b,
                                       const struct up *u, struct shape has, bool is_six)
{
    struct fused_tally y = {0, 0};

    if (stage_is_far(u->step))
        return of_one_far(m, n, b, u, has, is_six);
    for (uint32_t i = 0; i < n + LATE * u->step; i++) {
        uint32_t next = i + u->step, ahead = i + STAGE_FRAMES * u->step;

        if (i < n)
            find_slot(b, i, m[i], u, has);
        if (i - u->step < n)
            find_record(b, i - u->step, m[i - u->step], u, has);
        step(m, b->id, b, n, i, u, has, is_six, &y);
        if (ahead < n)
            frame_prefetch_fresh(m[ahead], 1);
        if (next < n && unlikely(find_six(m, next, n, u, has) != is_six)) {
            fused_stop(&b->run, i + 1, next, is_six, y);
            return false;
        }
    }
    b->run.tally = y;
    return true;
}

static __rte_always_inline void up(struct task *t, struct rte_mbuf **m, uint16_t n,
                                   struct shape has, fused_mixed mixed_too)
{
    struct burst b;
    struct up u;
    bool is_six;

    if (unlikely(!link_chain_is_whole(t))) {
        t->type->handle(t, m, n);
        return;
    }
    open_chain(&u, t, n, has);
    burst_prefetch_fresh(m, (uint16_t)RTE_MIN(n, STAGE_FRAMES * u.step), 1);
    b.run = (struct fused_run){.known = u.step};
    for (uint32_t i = 0; i < b.run.known; i++)
        b.run.six |= (uint64_t)find_six(m, i, n, &u, has) << i;
    is_six = fused_is_six(&b.run);
    if ((b.run.six != 0 && !is_six) ||
        !(is_six ? of_one(m, n, &b, &u, has, true) : of_one(m, n, &b, &u, has, false))) {
        mixed_too(t, m, n, &b);
        return;
    }
    if (has.classify) /* what goes on from a scheduler was counted before it */
        fused_count(t, is_six ? FAMILY_IPV6 : FAMILY_IPV4, n, &b.run.tally);
    fused_end(t, m, n, b.run.tally.rest);
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
