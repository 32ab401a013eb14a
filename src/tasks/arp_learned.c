/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks/arp.h"

#include <errno.h>

#include "tables/mac.h"
#include "tasks/arp_impl.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

bool arp_is(const struct task *t)
{
    return t->type == &task_arp;
}

/* A record begins with the MAC, written as one word: tables/mac.h. */
static bool read_mac(const uint8_t *record, const uint8_t *known, uint8_t *mac)
{
    uint64_t word = __atomic_load_n((const mac_word *)(const void *)record, __ATOMIC_ACQUIRE);

    memcpy(mac, &word, 6);
    return READ(*known) != 0 && (word & RTE_BE64(UINT64_C(0xffffffffffff0000))) != 0;
}

static uint32_t age_of(const struct arp *a, const struct arp_entry *e)
{
    return (READ(a->tick) - READ(e->learned)) / TICKS_PER_S;
}

bool arp_of_subscriber(const struct task *t, uint32_t id, struct arp_learned *out)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];

    if (s->mac_static || !read_mac(s->l2, &s->mac_known, out->mac))
        return false;
    out->address = READ(a->subscriber[id].addr);
    out->age = age_of(a, &a->subscriber[id]);
    return true;
}

uint32_t arp_n_neighbours(const struct task *t)
{
    return ((const struct arp *)t->state)->n_neighbours;
}

bool arp_of_neighbour(const struct task *t, uint32_t i, uint8_t *port, struct arp_learned *out)
{
    const struct arp *a = t->state;
    const struct neighbour *nb = &a->neighbour[i];
    const struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first]];

    if (!read_mac(nh->eth, &nh->mac_known, out->mac))
        return false;
    *port = nb->port;
    out->address = nb->via;
    out->age = age_of(a, &nb->entry);
    return true;
}

/* It grows old as if it had been learned here. */
static int remember(const struct arp *a, struct arp_entry *e, const struct arp_learned *l)
{
    if (l->age >= a->age / TICKS_PER_S)
        return -ESTALE;
    e->learned = a->tick - l->age * TICKS_PER_S;
    e->refreshed = false;
    e->addr = l->address;
    return 0;
}

int arp_give_subscriber(struct task *t, uint32_t id, const struct arp_learned *l)
{
    struct arp *a = t->state;
    struct subscriber *s = &a->tables->subscribers->record[id];
    int rc;

    if (s->mac_known)
        return -EEXIST;
    if (((rte_cpu_to_be_32(l->address) ^ s->ipv4) & s->ipv4_mask) != 0)
        return -ENOENT;
    rc = remember(a, &a->subscriber[id], l);
    if (rc == 0)
        subscriber_set_mac(s, l->mac);
    return rc;
}

int arp_give_neighbour(struct task *t, uint8_t port, const struct arp_learned *l)
{
    struct arp *a = t->state;
    struct neighbour *nb = arp_find_neighbour(a, port, l->address);
    int rc;

    if (nb == NULL)
        return -ENOENT;
    if (a->tables->routes->nexthop[a->member[nb->first]].mac_known)
        return -EEXIST;
    rc = remember(a, &nb->entry, l);
    if (rc == 0)
        arp_set_neighbour_mac(a, nb, l->mac);
    return rc;
}
