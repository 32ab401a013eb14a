/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of tasks whose work one function does at once (struct chain_type): one look at each frame,
 * one pass that prefetches for all of them, headers written once. What a task asks of a packet and
 * writes into it is in the task's own header.
 *
 * A burst is taken to be of one family, and its parts take turns in the stages, until a part has a
 * packet of the other family. All packets that are left are then sorted by family, without a branch
 * by family, which the processor would mispredict where both are mixed, and go through the stages
 * that are left one family after the other: one loop for both is slower where lines are in the
 * caches (doc/bench.md). All that is a function of its own, because in one function with the loop
 * of bursts of one family, both would be slower.
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

/** A bit for each packet of a part. */
static inline uint32_t fused_all(struct part p)
{
    return (UINT32_C(1) << (p.to - p.from)) - 1;
}

static_assert(STAGE_STEP < 32, "a part has a bit for each packet");

/** A mixed burst by family: IPv4 before IPv6, each family in the burst's order. */
struct fused_mix {
    struct rte_mbuf *m[BURST_MAX];
    uint8_t place[BURST_MAX];   /* of each packet in the burst */
    uint64_t six;               /* a bit for each packet of the burst that is IPv6 */
    uint32_t first[N_FAMILIES]; /* index in m[] of each family's first packet */
    uint32_t n[N_FAMILIES];
    uint32_t begun[N_FAMILIES]; /* packets that have been through the first stage as a part */
    struct fused_tally tally[N_FAMILIES];
};

/** Count the packets of both families, but for those that are left, in a task. */
static inline void fused_count_mix(struct task *t, const struct fused_mix *x)
{
    for (enum family f = 0; f < N_FAMILIES; f++)
        fused_count(t, f, x->n[f], &x->tally[f]);
}

/** Bits of the packets before a part, all of which are of one family. */
static inline uint64_t fused_before(uint32_t at, bool are_six)
{
    return are_six ? (UINT64_C(1) << at) - 1 : 0;
}

/** Sort a burst of n packets by family. six: a bit for each packet of IPv6. The packets before at,
 * of one family, have been through the first stage, with what has become of them. */
void fused_sort(struct fused_mix *x, struct rte_mbuf **m, uint32_t n, uint64_t six, uint32_t at,
                struct fused_tally tally);

/** Of a function with the loops of a chain: the compiler would leave calls of what is in many
 * chains, and their shapes would be known at run time only. */
#define FUSED_FLAT __attribute__((flatten))

/** A burst on its way, whose packets before a part were of one family, and what goes on with it. */
struct burst;
typedef void (*fused_mixed)(struct task *t, struct rte_mbuf **m, uint16_t n, struct burst *b,
                            bool begins_with_six);

/** The function of a chain: loop(), and mixed() out of its way, of a shape that is constant. */
#define FUSED_CHAIN(name, loop, ...)                                                               \
    static __rte_noinline FUSED_FLAT void name##_mixed(                                            \
        struct task *t, struct rte_mbuf **m, uint16_t n, struct burst *b, bool begins_with_six)    \
    {                                                                                              \
        mixed(t, m, n, b, begins_with_six, (struct shape){__VA_ARGS__});                           \
    }                                                                                              \
    static FUSED_FLAT void name(struct task *t, struct rte_mbuf **m, uint16_t n)                   \
    {                                                                                              \
        loop(t, m, n, (struct shape){__VA_ARGS__}, name##_mixed);                                  \
    }

/**
 * End a mixed burst of a chain. by_family: those that have gone through all tasks leave family by
 * family, as route lets them; else in the burst's order.
 */
void fused_end(struct task *head, struct rte_mbuf **m, uint16_t n, struct fused_mix *x,
               bool by_family);

/** End a burst of one family. */
void fused_end_of_one(struct task *head, struct rte_mbuf **m, uint16_t n, uint64_t rest);

#endif
