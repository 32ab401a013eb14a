/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of tasks whose work one function does at once (struct chain_type): one look at each frame,
 * one pass that prefetches for all of them, headers written once. What a task asks of a packet and
 * writes into it is in the task's own header.
 *
 * A burst is sorted by family as soon as its frames are there, without a branch by family, which
 * would be guessed wrong where both are mixed. The packets of a family then go through stages of
 * their own, a turn whenever there are enough of them.
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

/** The packets of a burst that are of one family, in the burst's order. */
struct fused_family {
    struct rte_mbuf *m[BURST_MAX + 1]; /* one more: the next packet of the other family */
    uint32_t n;                        /* so many have been sorted */
    uint32_t at;                       /* where the first stage's next turn begins */
    uint64_t rest;                     /* a bit for each that is left to the tasks one by one */
};

static_assert(BURST_MAX <= 64, "rest has a bit for each packet");

static inline void fused_family_open(struct fused_family *f)
{
    f->n = f->at = 0;
    f->rest = 0;
}

/** Put a packet to those of its family. */
static inline void fused_sort(struct fused_family *four, struct fused_family *six,
                              struct rte_mbuf *m, bool is_six)
{
    four->m[four->n] = six->m[six->n] = m;
    four->n += !is_six;
    six->n += is_six;
}

/** Are there enough packets for another turn of the first stage? */
static inline bool fused_has_turn(const struct fused_family *f)
{
    return f->n >= f->at + STAGE_STEP;
}

/** After the last packet: is one of them before the end of a stage that is late packets behind the
 * first? */
static inline bool fused_has_late(const struct fused_family *f, uint32_t late)
{
    return f->n > 0 && f->at < f->n + late;
}

/**
 * End a burst of a chain, of which all n packets have been sorted. by_family: those that have gone
 * through all tasks leave family by family, as route lets them; else in the burst's order.
 */
void fused_end(struct task *head, struct rte_mbuf **m, uint16_t n, struct fused_family *four,
               struct fused_family *six, bool by_family);

#endif
