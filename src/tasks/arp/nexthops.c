/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops by neighbour, as they come and go: a hash table of neighbours, and a list of each one's
 * next hops, changed in place, so that the cost of a change does not depend on how many there are.
 */
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "tables/memory.h"
#include "tasks/arp/instance.h"

#define SWEEPS_PER_AGE 8 /* how often each entry is looked at while it grows old */

static uint32_t *chain_of(const struct arp *a, uint8_t port, struct ipv6 via)
{
    uint64_t hash = via.upper * UINT64_C(0x9e3779b97f4a7c15) ^ via.lower;

    hash = ((uint64_t)port << 56 ^ hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &a->heads[hash >> 32 & (a->n_heads - 1)];
}

struct neighbour *arp_find_neighbour(const struct arp *a, uint8_t port, struct ipv6 addr)
{
    uint32_t i = *chain_of(a, port, addr);

    while (i != 0 && (!same6(a->neighbour[i - 1].via, addr) || a->neighbour[i - 1].port != port))
        i = a->neighbour[i - 1].chain;
    return i != 0 ? &a->neighbour[i - 1] : NULL;
}

/* Look at all entries in the time that one grows old in. */
static void set_sweep(struct arp *a)
{
    uint64_t sweep = RTE_MAX(a->age / SWEEPS_PER_AGE, 1u),
             entries = (uint64_t)a->tables->subscribers->capacity + a->n_neighbours;

    arp_walk_pace(&a->sweep, entries, sweep);
}

/* There are no more neighbours than next hops, and so there is a place. */
static struct neighbour *new_neighbour(struct arp *a, uint8_t port, struct ipv6 via)
{
    uint32_t *head = chain_of(a, port, via), i = a->free_neighbour;

    if (i != 0) {
        a->free_neighbour = a->neighbour[i - 1].chain;
    } else {
        i = ++a->n_neighbours;
        set_sweep(a);
    }
    a->neighbour[i - 1] = (struct neighbour){.via = via, .port = port, .chain = *head};
    *head = i;
    return &a->neighbour[i - 1];
}

static void free_neighbour(struct arp *a, struct neighbour *nb)
{
    uint32_t i = (uint32_t)(nb - a->neighbour) + 1, *link = chain_of(a, nb->port, nb->via);

    while (*link != i)
        link = &a->neighbour[*link - 1].chain;
    *link = nb->chain;
    *nb = (struct neighbour){.chain = a->free_neighbour};
    a->free_neighbour = i;
}

static void add(struct arp *a, uint32_t id)
{
    struct nexthop *nexthop = a->tables->routes->nexthop, *nh = &nexthop[id];
    struct ipv6 via = a->tables->routes->via[id];
    struct neighbour *nb = arp_find_neighbour(a, nh->port, via);

    if (nb == NULL)
        nb = new_neighbour(a, nh->port, via);
    else if (nexthop[nb->first].mac_known)
        nexthop_set_mac(nh, nexthop[nb->first].eth);
    a->member[id] = (struct arp_member){.next = nb->first};
    a->member[nb->first].previous = (uint16_t)id; /* that of id 0 says nothing */
    nb->first = (uint16_t)id;
    a->neighbour_of[id] = (uint32_t)(nb - a->neighbour);
    a->is_core[nh->port] = true;
    a->core_has_ipv6 |= !is_mapped6(via);
}

void arp_add_nexthop(struct task *t, uint32_t id)
{
    add(t->state, id);
}

void arp_forget_nexthop(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    struct arp_member member = a->member[id];
    struct neighbour *nb;

    if (a->neighbour_of[id] == UINT32_MAX)
        return;
    nb = &a->neighbour[a->neighbour_of[id]];
    a->neighbour_of[id] = UINT32_MAX;
    a->member[member.next].previous = member.previous;
    if (member.previous != 0)
        a->member[member.previous].next = member.next;
    else
        nb->first = member.next;
    if (nb->first == 0)
        free_neighbour(a, nb);
}

int arp_nexthops_init(struct arp *a, int socket)
{
    const struct route_table *r = a->tables->routes;
    size_t room = r->capacity + UINT64_C(1);

    a->n_heads = rte_align32pow2((uint32_t)room);
    a->heads = table_zalloc(a->n_heads * sizeof(a->heads[0]), socket);
    a->neighbour = table_zalloc(room * sizeof(a->neighbour[0]), socket);
    a->member = table_zalloc(room * sizeof(a->member[0]), socket);
    a->neighbour_of = table_zalloc(room * sizeof(a->neighbour_of[0]), socket);
    if (a->heads == NULL || a->neighbour == NULL || a->member == NULL || a->neighbour_of == NULL)
        return -ENOMEM;
    memset(a->neighbour_of, 0xff, room * sizeof(a->neighbour_of[0]));
    for (uint32_t id = 1; id <= r->n_nexthops; id++)
        if (!is_none6(r->via[id]))
            add(a, id);
    set_sweep(a);
    return 0;
}

void arp_nexthops_free(struct arp *a)
{
    rte_free(a->heads);
    rte_free(a->neighbour);
    rte_free(a->member);
    rte_free(a->neighbour_of);
}
