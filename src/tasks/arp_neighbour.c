/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours: CPEs by subscriber, next hops by port and address; and what they teach. */
#include <errno.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "tables/memory.h"
#include "tasks/arp_impl.h"

/* Untagged ARP is right where next hops are, and where no subscriber is. */
static void find_core_ports(struct arp *a)
{
    const struct subscriber_table *s = a->tables->subscribers;
    const struct route_table *r = a->tables->routes;

    for (unsigned i = 0; i < TABLES_MAX_PORTS; i++)
        a->is_core[i] = true;
    for (uint32_t id = 1; id <= s->n; id++)
        a->is_core[s->record[id].port] = false;
    for (uint32_t id = 1; id <= r->n_nexthops; id++)
        a->is_core[r->nexthop[id].port] = true;
}

int arp_neighbours_init(struct arp *a, int socket)
{
    uint32_t subscribers = a->tables->subscribers->capacity;
    struct arp_nexthops *n = arp_nexthops_make(a->tables->routes, NULL, socket);

    a->subscriber = table_zalloc((subscribers + UINT64_C(1)) * sizeof(a->subscriber[0]), socket);
    if (n == NULL || a->subscriber == NULL) {
        arp_nexthops_free(n);
        rte_free(a->subscriber);
        return -ENOMEM;
    }
    arp_swap_nexthops(a, n);
    arp_nexthops_free(n);
    find_core_ports(a);
    return 0;
}

void arp_neighbours_free(struct arp *a)
{
    rte_free(a->subscriber);
    rte_free(a->neighbour);
    rte_free(a->member);
    rte_free(a->neighbour_of);
}

struct neighbour *arp_find_neighbour(const struct arp *a, uint8_t port, uint32_t addr)
{
    uint64_t want = (uint64_t)port << 32 | addr;
    uint32_t low = 0, high = a->n_neighbours;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct neighbour *nb = &a->neighbour[middle];
        uint64_t key = (uint64_t)nb->port << 32 | nb->via;

        if (key == want)
            return nb;
        if (key < want)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

uint32_t arp_gateway_address(const struct arp *a, unsigned port, uint32_t addr)
{
    const struct cfg_port *p = &a->cfg->ports[port];
    uint32_t best = 0;

    for (unsigned i = 0; i < p->n_addresses; i++)
        if (i == 0 || (p->addresses[i] ^ addr) < (best ^ addr))
            best = p->addresses[i];
    return best;
}

uint32_t arp_subscriber_of(const struct arp *a, uint32_t addr)
{
    return idmap_get(a->tables->subscribers->by_ipv4, addr);
}

static void heard(struct arp *a, struct arp_entry *e)
{
    e->learned = a->tick;
    e->refreshed = false;
    a->learned++;
}

void arp_learn_subscriber(struct arp *a, uint32_t id, const uint8_t *mac, uint32_t addr)
{
    struct subscriber *s = &a->tables->subscribers->record[id];
    bool same = s->mac_known && memcmp(s->l2, mac, 6) == 0;

    if (s->mac_static) {
        a->static_conflicts += !same;
        return;
    }
    if (a->notes != NULL) {
        arp_note_learned(a, mac, same);
        return;
    }
    if (!same) /* a line that every core reads: not without need */
        subscriber_set_mac(s, mac);
    a->subscriber[id].addr = addr;
    heard(a, &a->subscriber[id]);
}

void arp_set_neighbour_mac(struct arp *a, const struct neighbour *nb, const uint8_t *mac)
{
    for (uint32_t i = 0; i < nb->n; i++) {
        struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first + i]];

        if (mac == NULL || !nh->mac_known || memcmp(nh->eth, mac, 6) != 0)
            nexthop_set_mac(nh, mac);
    }
}

void arp_learn_neighbour(struct arp *a, struct neighbour *nb, const uint8_t *mac)
{
    if (a->notes != NULL) {
        const struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first]];

        arp_note_learned(a, mac, nh->mac_known && memcmp(nh->eth, mac, 6) == 0);
        return;
    }
    arp_set_neighbour_mac(a, nb, mac);
    heard(a, &nb->entry);
}
