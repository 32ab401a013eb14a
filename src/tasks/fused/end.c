/* SPDX-License-Identifier: BSD-3-Clause */
/* What bursts of chains of both families begin and end with: packets leave in the order in which
 * the tasks would let them go. */
#include "tasks/fused/fused.h"

/* Packets by what becomes of them. */
struct ends {
    struct rte_mbuf *good[BURST_MAX + 1], *rest[BURST_MAX + 1];
    uint16_t n_good, n_rest;
};

static void end(struct ends *e, struct rte_mbuf *m, bool is_rest)
{
    e->good[e->n_good] = e->rest[e->n_rest] = m;
    e->n_good = (uint16_t)(e->n_good + !is_rest);
    e->n_rest = (uint16_t)(e->n_rest + is_rest);
}

/* Take the packets in the order of the burst. */
static void merge(struct ends *e, struct rte_mbuf **m, uint16_t n, const struct fused_mix *x)
{
    uint32_t k[N_FAMILIES] = {0};

    for (uint16_t i = 0; i < n; i++) {
        bool is_six = (x->six >> i & 1) != 0;

        end(e, m[i], (x->tally[is_six].rest >> k[is_six]++ & 1) != 0);
    }
}

static void gather(struct ends *e, const struct fused_mix *x, enum family f)
{
    for (uint32_t i = 0; i < x->n[f]; i++) {
        e->good[e->n_good] = x->m[x->first[f] + i];
        e->n_good = (uint16_t)(e->n_good + !(x->tally[f].rest >> i & 1));
    }
}

/* Take the packets of these bits to a place on in the sorted burst. */
static void take(struct fused_mix *x, uint32_t to, struct rte_mbuf **m, uint64_t bits)
{
    for (; bits != 0; bits &= bits - 1, to++) {
        uint32_t i = (uint32_t)__builtin_ctzll(bits);

        x->m[to] = m[i];
        x->place[to] = (uint8_t)i;
    }
}

void fused_sort(struct fused_mix *x, struct rte_mbuf **m, uint32_t n, uint64_t six, uint32_t at,
                struct fused_tally tally)
{
    const uint32_t n_six = (uint32_t)__builtin_popcountll(six), n_four = n - n_six;
    const enum family begins = (six & 1) != 0 ? FAMILY_IPV6 : FAMILY_IPV4;

    x->six = six;
    x->first[FAMILY_IPV4] = 0;
    x->first[FAMILY_IPV6] = n_four;
    x->n[FAMILY_IPV4] = n_four;
    x->n[FAMILY_IPV6] = n_six;
    x->begun[FAMILY_IPV4] = x->begun[FAMILY_IPV6] = 0;
    x->tally[FAMILY_IPV4] = x->tally[FAMILY_IPV6] = (struct fused_tally){0, 0};
    x->begun[begins] = at;
    x->tally[begins] = tally;
    take(x, 0, m, ~six & UINT64_MAX >> (64 - n));
    take(x, n_four, m, six);
}

void fused_end(struct task *head, struct rte_mbuf **m, uint16_t n, struct fused_mix *x,
               bool by_family)
{
    struct ends e;

    if (likely((x->tally[FAMILY_IPV4].rest | x->tally[FAMILY_IPV6].rest) == 0)) {
        link_chain_end(head, by_family ? x->m : m, n, NULL, 0);
        return;
    }
    e.n_good = e.n_rest = 0;
    merge(&e, m, n, x);
    if (by_family) {
        e.n_good = 0;
        gather(&e, x, FAMILY_IPV4);
        gather(&e, x, FAMILY_IPV6);
    }
    link_chain_end(head, e.good, e.n_good, e.rest, e.n_rest);
}

void fused_end_of_one(struct task *head, struct rte_mbuf **m, uint16_t n, uint64_t rest)
{
    struct ends e;

    if (likely(rest == 0)) {
        link_chain_end(head, m, n, NULL, 0);
        return;
    }
    e.n_good = e.n_rest = 0;
    for (uint16_t i = 0; i < n; i++)
        end(&e, m[i], (rest >> i & 1) != 0);
    link_chain_end(head, e.good, e.n_good, e.rest, e.n_rest);
}
