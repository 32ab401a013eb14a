/* SPDX-License-Identifier: BSD-3-Clause */
/* What bursts of chains of both families begin and end with: packets leave in the order in which
 * the tasks would let them go. */
#include "tasks/fused/fused.h"

#include <string.h>

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

/* Take packets from both families in the order of the burst. */
static void merge(struct ends *e, struct rte_mbuf **m, uint16_t n, struct fused_family *four,
                  const struct fused_family *six)
{
    uint32_t k[2] = {0, 0};

    four->m[four->n] = NULL; /* the place behind the last may have one of IPv6 */
    for (uint16_t i = 0; i < n; i++) {
        bool is_six = four->m[k[0]] != m[i];

        end(e, m[i], ((is_six ? six->tally.rest : four->tally.rest) >> k[is_six] & 1) != 0);
        k[is_six]++;
    }
}

static void gather(struct ends *e, const struct fused_family *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        e->good[e->n_good] = f->m[i];
        e->n_good = (uint16_t)(e->n_good + !(f->tally.rest >> i & 1));
    }
}

void fused_families_open(struct fused_family *four, struct fused_family *six, struct rte_mbuf **m,
                         uint32_t n, bool are_six, struct fused_tally tally)
{
    struct fused_family *first = are_six ? six : four, *other = are_six ? four : six;

    first->n = first->at = n;
    first->tally = tally;
    memcpy(first->m, m, n * sizeof(m[0]));
    other->n = other->at = 0;
    other->tally = (struct fused_tally){0, 0};
}

void fused_end(struct task *head, struct rte_mbuf **m, uint16_t n, struct fused_family *four,
               struct fused_family *six, bool by_family)
{
    const bool all_good = (four->tally.rest | six->tally.rest) == 0;
    struct ends e;

    if (all_good && !by_family) {
        link_chain_end(head, m, n, NULL, 0);
        return;
    }
    e.n_good = e.n_rest = 0;
    if (!all_good)
        merge(&e, m, n, four, six);
    if (by_family) {
        e.n_good = 0;
        gather(&e, four);
        gather(&e, six);
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
