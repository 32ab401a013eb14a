/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops, and sets of them, that routes share: found by what they say, however many there are.
 */
#include <stdlib.h>
#include <string.h>

#include "config/routes.h"

int nexthop_index_open(struct nexthop_index *x, uint32_t n)
{
    for (x->n_heads = 1; x->n_heads < n; x->n_heads *= 2)
        ;
    x->head = calloc(x->n_heads, sizeof(*x->head));
    x->next = calloc(n + UINT64_C(1), sizeof(*x->next));
    return x->head != NULL && x->next != NULL ? 0 : -1;
}

void nexthop_index_close(struct nexthop_index *x)
{
    free(x->head);
    free(x->next);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

/* The chain of a next hop: a hash of all that same_nexthop() compares. */
static uint32_t *chain_of(const struct nexthop_index *x, const struct cfg_nexthop *nh)
{
    uint64_t mac = 0, h;

    memcpy(&mac, nh->mac, sizeof(nh->mac));
    h = mix(mix(mac, nh->via.upper), nh->via.lower);
    h = mix(mix(h, nh->gre.upper), nh->gre.lower);
    h = mix(h, (uint64_t)nh->port << 32 | nh->mpls);
    h = mix(h, (uint64_t)nh->mac_set << 2 | (uint64_t)nh->has_gre << 1 | nh->has_mpls);
    return &x->head[h & (x->n_heads - 1)];
}

uint32_t nexthop_index_find(const struct nexthop_index *x, const struct cfg_nexthop *list,
                            const struct cfg_nexthop *nh)
{
    uint32_t i = *chain_of(x, nh);

    while (i != 0 && !same_nexthop(&list[i - 1], nh))
        i = x->next[i - 1];
    return i != 0 ? i - 1 : CFG_NONE;
}

void nexthop_index_add(struct nexthop_index *x, const struct cfg_nexthop *list, uint32_t i)
{
    uint32_t *head = chain_of(x, &list[i]);

    x->next[i] = *head;
    *head = i + 1;
}

void nexthop_index_remove(struct nexthop_index *x, const struct cfg_nexthop *list, uint32_t i)
{
    uint32_t *at = chain_of(x, &list[i]);

    while (*at != i + 1)
        at = &x->next[*at - 1];
    *at = x->next[i];
}

/* --- sets --- */

static uint32_t *set_chain(const struct nexthop_index *x, const struct cfg_nexthop_set *set)
{
    uint64_t h = set->n;

    for (uint32_t i = 0; i < set->n; i++)
        h = mix(h, set->nexthop[i]);
    return &x->head[h & (x->n_heads - 1)];
}

static bool same_set(const struct cfg_nexthop_set *a, const struct cfg_nexthop_set *b)
{
    return a->n == b->n && memcmp(a->nexthop, b->nexthop, a->n * sizeof(a->nexthop[0])) == 0;
}

uint32_t set_index_find(const struct nexthop_index *x, const struct cfg_nexthop_set *list,
                        const struct cfg_nexthop_set *set)
{
    uint32_t i = *set_chain(x, set);

    while (i != 0 && !same_set(&list[i - 1], set))
        i = x->next[i - 1];
    return i != 0 ? i - 1 : CFG_NONE;
}

void set_index_add(struct nexthop_index *x, const struct cfg_nexthop_set *list, uint32_t i)
{
    uint32_t *head = set_chain(x, &list[i]);

    x->next[i] = *head;
    *head = i + 1;
}

void set_index_remove(struct nexthop_index *x, const struct cfg_nexthop_set *list, uint32_t i)
{
    uint32_t *at = set_chain(x, &list[i]);

    while (*at != i + 1)
        at = &x->next[*at - 1];
    *at = x->next[i];
}

void set_sort(struct cfg_nexthop_set *set)
{
    for (uint32_t i = 1; i < set->n; i++)
        for (uint32_t k = i; k > 0 && set->nexthop[k] < set->nexthop[k - 1]; k--) {
            uint32_t swap = set->nexthop[k];

            set->nexthop[k] = set->nexthop[k - 1];
            set->nexthop[k - 1] = swap;
        }
}

/* --- what a model has --- */

static uint32_t share_nexthop(struct loader *l, struct shared_ways *known,
                              const struct cfg_nexthop *nh)
{
    struct cfg_model *m = l->m;
    uint32_t i = nexthop_index_find(&known->nexthops, m->nexthops, nh);

    if (i != CFG_NONE)
        return i;
    if (m->n_nexthops == CFG_MAX_NEXTHOPS) {
        diag_error(l->d, nh->loc, "expected at most %d different next hops", CFG_MAX_NEXTHOPS);
        return CFG_NONE;
    }
    GROW_ONE(m->nexthops, m->n_nexthops);
    m->nexthops[m->n_nexthops] = *nh;
    nexthop_index_add(&known->nexthops, m->nexthops, m->n_nexthops);
    return m->n_nexthops++;
}

static uint32_t share_set(struct loader *l, struct shared_ways *known, struct loc loc,
                          const struct cfg_nexthop_set *set)
{
    struct cfg_model *m = l->m;
    uint32_t i = set_index_find(&known->sets, m->sets, set);

    if (i != CFG_NONE)
        return CFG_SET | i;
    if (m->n_sets == CFG_MAX_SETS) {
        diag_error(l->d, loc, "expected at most %d different sets of next hops", CFG_MAX_SETS);
        return CFG_NONE;
    }
    GROW_ONE(m->sets, m->n_sets);
    m->sets[m->n_sets] = *set;
    set_index_add(&known->sets, m->sets, m->n_sets);
    return CFG_SET | m->n_sets++;
}

uint32_t share_ways(struct loader *l, struct shared_ways *known, const struct route_block *r)
{
    struct cfg_nexthop_set set = {.n = r->n_nexthops};

    for (uint32_t i = 0; i < set.n; i++) {
        set.nexthop[i] = share_nexthop(l, known, &r->nexthop[i]);
        if (set.nexthop[i] == CFG_NONE)
            return CFG_NONE;
    }
    set_sort(&set);
    return set.n == 1 ? set.nexthop[0] : share_set(l, known, r->loc, &set);
}

int shared_ways_open(struct shared_ways *w, uint32_t nexthops, uint32_t sets)
{
    *w = (struct shared_ways){0};
    return nexthop_index_open(&w->nexthops, nexthops) == 0 &&
                   nexthop_index_open(&w->sets, sets) == 0
               ? 0
               : -1;
}

void shared_ways_close(struct shared_ways *w)
{
    nexthop_index_close(&w->nexthops);
    nexthop_index_close(&w->sets);
}
