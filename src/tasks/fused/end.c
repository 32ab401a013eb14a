/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a chain's burst: packets leave in the order in which the tasks would let them go. */
#include "tasks/fused/fused.h"

void fused_end(struct task *head, struct rte_mbuf **m, uint16_t n, uint64_t rest)
{
    struct rte_mbuf *good[BURST_MAX], *left[BURST_MAX];
    uint32_t n_good, n_left;

    if (likely(rest == 0)) {
        link_chain_end(head, m, n, NULL, 0);
        return;
    }
    n_good = fused_gather(good, m, ~rest & UINT64_MAX >> (64 - n));
    n_left = fused_gather(left, m, rest);
    link_chain_end(head, good, (uint16_t)n_good, left, (uint16_t)n_left);
}

/* The bits in a burst of some packets of a family, which are these of the family's own. */
static uint64_t in_burst(uint64_t family, uint64_t bits)
{
    uint64_t in = 0;

    for (; bits != 0; bits >>= 1) {
        uint32_t i = fused_next(&family);

        in |= (bits & 1) << i;
    }
    return in;
}

uint64_t fused_rest(const struct fused_mix *x)
{
    return in_burst(x->of[FAMILY_IPV4], x->tally[FAMILY_IPV4].rest) |
           in_burst(x->of[FAMILY_IPV6], x->tally[FAMILY_IPV6].rest);
}

void fused_end_by_family(struct task *head, struct rte_mbuf **m, uint16_t n, struct fused_mix *x)
{
    const uint64_t *of = x->of;
    struct rte_mbuf *good[BURST_MAX], *left[BURST_MAX];
    const uint64_t rest = fused_rest(x);
    uint32_t n_good, n_left;

    if (likely(rest == 0)) {
        link_chain_end(head, x->m, n, NULL, 0);
        return;
    }
    n_good = fused_gather(good, m, of[FAMILY_IPV4] & ~rest);
    n_good += fused_gather(good + n_good, m, of[FAMILY_IPV6] & ~rest);
    n_left = fused_gather(left, m, rest);
    link_chain_end(head, good, (uint16_t)n_good, left, (uint16_t)n_left);
}
