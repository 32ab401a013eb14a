/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of tasks whose work one function does at once (struct chain_type): one look at each frame,
 * one pass that prefetches for all of them, headers written once. What a task asks of a packet and
 * writes into it is in the task's own header.
 *
 * A burst is taken to be of one family, and its packets go through the stages of packet/stages.h,
 * until one is of the other family. All that are left are then told apart by family, without a
 * branch by family, which the processor would mispredict where both are mixed, and go through the
 * stages that depend on it one family after the other: one loop for both is slower where lines are
 * in the caches (doc/bench.md). All that is a function of its own, because in one function with the
 * loop of bursts of one family, both would be slower.
 */
#ifndef TASKS_FUSED_FUSED_H
#define TASKS_FUSED_FUSED_H

#include <assert.h>

#include "engine/link.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/stages.h"

#define N_CHAINS_CLASSIFY 5
#define N_CHAINS_ROUTED   4
#define N_CHAINS_DOWN     2
#define N_CHAINS_TUNNEL   1

/** From an access port: classify > qinq_decap > route, and gre_encap, mpls_push or both. From a
 * core without tunnels: classify > qinq_encap. */
extern const struct chain_type chains_classify[N_CHAINS_CLASSIFY];
/** The first of these without classify, behind a scheduler. */
extern const struct chain_type chains_routed[N_CHAINS_ROUTED];
/** From the core: mpls_pop > gre_decap, and qinq_encap. */
extern const struct chain_type chains_down[N_CHAINS_DOWN];
/** From a core without labels: gre_decap > qinq_encap. */
extern const struct chain_type chains_tunnel[N_CHAINS_TUNNEL];

/** The types that chains are made of. The list of all types changes with each new one, and the
 * chains, which take a compiler 10 s, do not depend on it. */
extern const struct task_type task_classify, task_gre_decap, task_gre_encap, task_mpls_pop,
    task_mpls_push, task_qinq_decap, task_qinq_encap, task_route;

/** Handle a burst of classify > qinq_encap. */
void fused_plain(struct task *t, struct rte_mbuf **m, uint16_t n);

/** The length of a packet with its header. */
static inline uint32_t fused_len(const uint8_t *ip, bool is_six)
{
    return is_six ? ipv6_len((const struct ipv6_hdr *)ip)
                  : net16(((const struct rte_ipv4_hdr *)ip)->total_length);
}

/** Its TOS byte or traffic class. */
static inline uint8_t fused_class(const uint8_t *ip, bool is_six)
{
    return is_six ? ipv6_traffic_class((const struct ipv6_hdr *)ip)
                  : ((const struct rte_ipv4_hdr *)ip)->type_of_service;
}

/** What has become of packets of one family. */
struct fused_tally {
    uint64_t rest;  /* a bit for each that is left to the tasks one by one */
    uint64_t bytes; /* of all others */
};

static_assert(BURST_MAX <= 64, "rest has a bit for each packet");

/** Count n packets of a family, but for those that are left, in a task. */
static inline void fused_count(struct task *t, enum family family, uint32_t n,
                               const struct fused_tally *y)
{
    task_count_ip(t, family, n - (uint32_t)__builtin_popcountll(y->rest), y->bytes);
}

/** A burst as far as it is of one family. */
struct fused_run {
    uint64_t six;   /* a bit for each packet of IPv6, of those whose family is known */
    uint32_t known; /* packets whose family is known */
    uint32_t begun; /* packets that have been through the first stage, all of one family */
    struct fused_tally tally; /* of those that have been through the last one */
};

/** Are all packets whose family is known of IPv6? */
static inline bool fused_is_six(const struct fused_run *r)
{
    return r->six == UINT64_MAX >> (64 - r->known);
}

/** End a run, of whose packets so many have begun, at packet i, which is of the other family. */
static inline void fused_stop(struct fused_run *r, uint32_t begun, uint32_t i, bool is_six,
                              struct fused_tally tally)
{
    const uint64_t bit = UINT64_C(1) << i;

    *r = (struct fused_run){is_six ? bit - 1 : bit, i + 1, begun, tally};
}

/** A mixed burst, each family's packets in the burst's order. */
struct fused_mix {
    uint64_t of[N_FAMILIES]; /* a bit for each packet of a family */
    uint32_t n[N_FAMILIES];
    uint32_t begun[N_FAMILIES]; /* packets that have been through the first stage */
    struct fused_tally tally[N_FAMILIES];
    struct rte_mbuf *m[BURST_MAX]; /* IPv4 before IPv6, where they leave so: fused_gather() */
};

/** Divide a burst of n packets, after a run of one family. six: a bit for each packet of IPv6. */
static inline void fused_divide(struct fused_mix *x, uint32_t n, uint64_t six,
                                const struct fused_run *r)
{
    const enum family begins = (six & 1) != 0 ? FAMILY_IPV6 : FAMILY_IPV4;

    x->of[FAMILY_IPV4] = ~six & UINT64_MAX >> (64 - n);
    x->of[FAMILY_IPV6] = six;
    x->n[FAMILY_IPV6] = (uint32_t)__builtin_popcountll(six);
    x->n[FAMILY_IPV4] = n - x->n[FAMILY_IPV6];
    x->begun[FAMILY_IPV4] = x->begun[FAMILY_IPV6] = 0;
    x->tally[FAMILY_IPV4] = x->tally[FAMILY_IPV6] = (struct fused_tally){0, 0};
    x->begun[begins] = r->begun;
    x->tally[begins] = r->tally;
}

/** Take the first packet of some, a bit for each. Returns its place in the burst. */
static inline uint32_t fused_next(uint64_t *bits)
{
    const uint32_t i = (uint32_t)__builtin_ctzll(*bits);

    *bits &= *bits - 1;
    return i;
}

/** Put these packets of a burst side by side. Returns how many. */
static inline uint32_t fused_gather(struct rte_mbuf **to, struct rte_mbuf *const *m, uint64_t bits)
{
    uint32_t n = 0;

    while (bits != 0)
        to[n++] = m[fused_next(&bits)];
    return n;
}

/** Count the packets of both families, but for those that are left, in a task. */
static inline void fused_count_mix(struct task *t, const struct fused_mix *x)
{
    for (enum family f = 0; f < N_FAMILIES; f++)
        fused_count(t, f, x->n[f], &x->tally[f]);
}

/** Of a function with the loops of a chain: the compiler would leave calls of what is in many
 * chains, and their shapes would be known at run time only. */
#define FUSED_FLAT __attribute__((flatten))

/** A burst on its way after a run of one family, and what goes on with it. */
struct burst;
typedef void (*fused_mixed)(struct task *t, struct rte_mbuf **m, uint16_t n, struct burst *b);

/** The function of a chain: loop(), and mixed() out of its way, of a shape that is constant. */
#define FUSED_CHAIN(name, loop, ...)                                                               \
    static __rte_noinline FUSED_FLAT void name##_mixed(struct task *t, struct rte_mbuf **m,        \
                                                       uint16_t n, struct burst *b)                \
    {                                                                                              \
        mixed(t, m, n, b, (struct shape){__VA_ARGS__});                                            \
    }                                                                                              \
    static FUSED_FLAT void name(struct task *t, struct rte_mbuf **m, uint16_t n)                   \
    {                                                                                              \
        loop(t, m, n, (struct shape){__VA_ARGS__}, name##_mixed);                                  \
    }

/** End a burst whose packets leave in its order. rest: a bit for each that is left to the tasks. */
void fused_end(struct task *head, struct rte_mbuf **m, uint16_t n, uint64_t rest);

/** The packets of a mixed burst that are left to the tasks, a bit for each, where the bits of a
 * family's rest are of its packets. */
uint64_t fused_rest(const struct fused_mix *x);

/** End a mixed burst whose packets leave family by family, as route lets them: those that have gone
 * through all tasks from x->m. The bits of a family's rest are of its packets. */
void fused_end_by_family(struct task *head, struct rte_mbuf **m, uint16_t n, struct fused_mix *x);

#endif
