/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops by the neighbour that they leave to. */
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "tables/memory.h"
#include "tasks/arp_impl.h"

#define SWEEPS_PER_AGE 8 /* each entry is looked at so often while it grows old */

/** As the fields of struct arp of these names. */
struct arp_nexthops {
    struct neighbour *neighbour;
    uint32_t n_neighbours;
    uint16_t *member;
    uint32_t *neighbour_of;
};

/* Next hops with an address to ask for, as keys that sort by port and address, id below. */
static uint32_t list_nexthops(const struct route_table *r, const uint32_t *in_use, __uint128_t *key)
{
    uint32_t n = 0;

    for (uint32_t id = 1; id <= r->n_nexthops; id++)
        if (r->nexthop[id].via != 0 && (in_use == NULL || in_use[id] != 0))
            key[n++] = (__uint128_t)r->nexthop[id].port << 64 |
                       (uint64_t)rte_be_to_cpu_32(r->nexthop[id].via) << 32 | id;
    return n;
}

static int by_key(const void *a, const void *b)
{
    __uint128_t x = *(const __uint128_t *)a, y = *(const __uint128_t *)b;

    return x < y ? -1 : x > y;
}

static void group_nexthops(struct arp_nexthops *a, const __uint128_t *key, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint16_t id = (uint16_t)key[i];

        if (i == 0 || key[i] >> 32 != key[i - 1] >> 32)
            a->neighbour[a->n_neighbours++] = (struct neighbour){
                .port = (uint8_t)(key[i] >> 64), .via = (uint32_t)(key[i] >> 32), .first = i};
        a->neighbour[a->n_neighbours - 1].n++;
        a->member[i] = id;
        a->neighbour_of[id] = a->n_neighbours - 1;
    }
}

void arp_nexthops_free(struct arp_nexthops *n)
{
    if (n == NULL)
        return;
    rte_free(n->neighbour);
    rte_free(n->member);
    rte_free(n->neighbour_of);
    rte_free(n);
}

struct arp_nexthops *arp_nexthops_make(const struct route_table *r, const uint32_t *in_use,
                                       int socket)
{
    size_t room = r->capacity + UINT64_C(1);
    __uint128_t *key = rte_zmalloc(NULL, room * sizeof(key[0]), sizeof(key[0]));
    struct arp_nexthops *n = rte_zmalloc(NULL, sizeof(*n), 0);
    uint32_t listed;

    if (key == NULL || n == NULL)
        goto no_memory;
    n->neighbour = table_zalloc(room * sizeof(n->neighbour[0]), socket);
    n->member = table_zalloc(room * sizeof(n->member[0]), socket);
    n->neighbour_of = table_zalloc(room * sizeof(n->neighbour_of[0]), socket);
    if (n->neighbour == NULL || n->member == NULL || n->neighbour_of == NULL)
        goto no_memory;
    memset(n->neighbour_of, 0xff, room * sizeof(n->neighbour_of[0]));
    listed = list_nexthops(r, in_use, key);
    qsort(key, listed, sizeof(key[0]), by_key);
    group_nexthops(n, key, listed);
    rte_free(key);
    return n;
no_memory:
    rte_free(key);
    arp_nexthops_free(n);
    return NULL;
}

static uint64_t order_of(const struct neighbour *nb)
{
    return (uint64_t)nb->port << 32 | nb->via;
}

/* Both lists ascend. */
static void take_entries(struct arp_nexthops *n, const struct arp *a)
{
    uint32_t old = 0;

    for (uint32_t i = 0; i < n->n_neighbours; i++) {
        struct neighbour *nb = &n->neighbour[i];

        while (old < a->n_neighbours && order_of(&a->neighbour[old]) < order_of(nb))
            old++;
        if (old < a->n_neighbours && order_of(&a->neighbour[old]) == order_of(nb))
            nb->entry = a->neighbour[old].entry;
    }
}

void arp_swap_nexthops(struct arp *a, struct arp_nexthops *n)
{
    struct arp_nexthops old = {a->neighbour, a->n_neighbours, a->member, a->neighbour_of};
    uint64_t sweep = RTE_MAX(a->age / SWEEPS_PER_AGE, 1u), entries;

    take_entries(n, a);
    a->neighbour = n->neighbour;
    a->n_neighbours = n->n_neighbours;
    a->member = n->member;
    a->neighbour_of = n->neighbour_of;
    *n = old;
    entries = (uint64_t)a->tables->subscribers->capacity + a->n_neighbours;
    a->sweep_add = (entries << ARP_SWEEP_SHIFT) / sweep + 1;
    if (a->sweep_next >= entries)
        a->sweep_next = 0;
}

/* What some of a neighbour's next hops know, all do. */
static void share_mac(struct arp *a, const struct neighbour *nb)
{
    const struct nexthop *nexthop = a->tables->routes->nexthop;

    for (uint32_t i = 0; i < nb->n; i++) {
        const struct nexthop *nh = &nexthop[a->member[nb->first + i]];

        if (nh->mac_known) {
            uint8_t mac[6];

            memcpy(mac, nh->eth, sizeof(mac));
            arp_set_neighbour_mac(a, nb, mac);
            return;
        }
    }
}

int arp_take_nexthops(struct task *t, void *arg)
{
    struct arp *a = t->state;

    arp_swap_nexthops(a, arg);
    for (uint32_t i = 0; i < a->n_neighbours; i++) {
        a->is_core[a->neighbour[i].port] = true;
        share_mac(a, &a->neighbour[i]);
    }
    return 0;
}

void arp_forget_subscriber(struct task *t, uint32_t id)
{
    struct arp *a = t->state;

    subscriber_set_mac(&a->tables->subscribers->record[id], NULL);
    memset(&a->subscriber[id], 0, sizeof(a->subscriber[id]));
}
