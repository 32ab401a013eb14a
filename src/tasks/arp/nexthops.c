/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops by neighbour, as they come and go: a hash table of neighbours, and a list of each one's
 * next hops, changed in place, so that the cost of a change does not depend on how many there are.
 * The task's core alone changes them. The thread that announces next hops reads the chains beside
 * it: a neighbour is put at the head of one when it is whole, and only taken out of it while that
 * thread waits.
 */
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "tables/mac.h"
#include "tables/memory.h"
#include "tasks/arp/instance.h"

#define SWEEPS_PER_AGE 8    /* how often each entry is looked at while it grows old */
#define NEWS           1024 /* next hops that the core may not have seen yet; a power of two */

static uint32_t *chain_of(const struct arp *a, uint8_t port, struct ipv6 via)
{
    uint64_t hash = via.upper * UINT64_C(0x9e3779b97f4a7c15) ^ via.lower;

    hash = ((uint64_t)port << 56 ^ hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &a->heads[hash >> 32 & (a->n_heads - 1)];
}

struct neighbour *arp_find_neighbour(const struct arp *a, uint8_t port, struct ipv6 addr)
{
    uint32_t i = __atomic_load_n(chain_of(a, port, addr), __ATOMIC_ACQUIRE);

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
    __atomic_store_n(head, i, __ATOMIC_RELEASE);
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

/* Have a next hop the MAC of another one of its neighbour, or none as that. */
static void take_mac(struct nexthop *nh, const struct nexthop *other)
{
    if (!other->mac_known && nh->mac_known)
        nexthop_set_mac(nh, NULL);
    else if (other->mac_known && (!nh->mac_known || memcmp(nh->eth, other->eth, 6) != 0))
        nexthop_set_mac(nh, other->eth);
}

static void add(struct arp *a, uint32_t id)
{
    struct nexthop *nexthop = a->tables->routes->nexthop, *nh = &nexthop[id];
    struct ipv6 via = a->tables->routes->via[id];
    struct neighbour *nb = arp_find_neighbour(a, nh->port, via);

    if (nb == NULL)
        nb = new_neighbour(a, nh->port, via);
    else
        take_mac(nh, &nexthop[nb->first]);
    a->member[id] = (struct arp_member){.next = nb->first};
    a->member[nb->first].previous = (uint16_t)id; /* that of id 0 says nothing */
    __atomic_store_n(&nb->first, (uint16_t)id, __ATOMIC_RELAXED);
    a->neighbour_of[id] = (uint32_t)(nb - a->neighbour);
    a->is_core[nh->port] = true;
    a->core_has_ipv6 |= !is_mapped6(via);
}

void arp_add_nexthop(struct task *t, uint32_t id)
{
    arp_take_news(t);
    add(t->state, id);
}

/* The MAC may have changed when the core takes the news, which it has as of then. */
bool arp_tell_nexthop(const struct task *t, uint32_t id)
{
    const struct arp *a = t->state;
    struct nexthop *nexthop = a->tables->routes->nexthop;
    const struct neighbour *nb =
        arp_find_neighbour(a, nexthop[id].port, a->tables->routes->via[id]);
    uint32_t first = nb != NULL ? __atomic_load_n(&nb->first, __ATOMIC_RELAXED) : 0,
             *slot = slots_room(a->news, 0);
    uint8_t mac[6];

    if (slot == NULL)
        return false;
    if (first != 0 && record_mac(nexthop[first].eth, mac))
        nexthop_set_mac(&nexthop[id], mac);
    *slot = id;
    slots_put(a->news, 1);
    return true;
}

void arp_take_news(struct task *t)
{
    struct arp *a = t->state;
    const uint32_t *id;
    uint32_t n = 0;

    while ((id = slots_full(a->news, n)) != NULL) {
        add(a, *id);
        n++;
    }
    if (n > 0)
        slots_take(a->news, n);
}

void arp_forget_nexthop(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    struct arp_member member;
    struct neighbour *nb;

    arp_take_news(t);
    member = a->member[id];
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
    a->news = slots_create(NEWS, sizeof(uint32_t));
    if (a->heads == NULL || a->neighbour == NULL || a->member == NULL || a->neighbour_of == NULL ||
        a->news == NULL)
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
    slots_free(a->news);
}
