/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: CPEs, each the neighbour of a subscriber, and next hops, which are one neighbour
 * where they have the same port and address. Their MACs are in the tables; here is what else is
 * known of them, how they are learned, and how control reads and changes them (arp.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/log.h"
#include "base/units.h"
#include "tables/mac.h"
#include "tables/memory.h"
#include "tasks/arp/arp.h"
#include "tasks/arp/instance.h"

#define SWEEPS_PER_AGE 8 /* how often each entry is looked at while it grows old */

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

/** The fields of struct arp that have these names. */
struct arp_nexthops {
    struct neighbour *neighbour;
    uint32_t n_neighbours;
    uint16_t *member;
    uint32_t *neighbour_of;
};

/* --- next hops by neighbour --- */

/* The order of neighbours: by port, then address. */
static uint64_t order_of(const struct neighbour *nb)
{
    return (uint64_t)nb->port << 32 | nb->via;
}

struct neighbour *arp_find_neighbour(const struct arp *a, uint8_t port, uint32_t addr)
{
    uint64_t want = (uint64_t)port << 32 | addr;
    uint32_t low = 0, high = a->n_neighbours;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct neighbour *nb = &a->neighbour[middle];
        uint64_t key = order_of(nb);

        if (key == want)
            return nb;
        if (key < want)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Write the next hops that have an address to ask for as keys that sort by port, address and id.
 * Returns their number. */
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

/* Copy the entries of neighbours that a has, too; both lists ascend. */
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

/* Exchange the next hops of the task with those of n, which get those so far. Entries of neighbours
 * that are in both go over to the new ones. */
static void swap_nexthops(struct arp *a, struct arp_nexthops *n)
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

/* Give the MAC that one of a neighbour's next hops has to all of them. */
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

    swap_nexthops(a, arg);
    for (uint32_t i = 0; i < a->n_neighbours; i++) {
        a->is_core[a->neighbour[i].port] = true;
        share_mac(a, &a->neighbour[i]);
    }
    return 0;
}

/* --- start and end --- */

/* Find the ports on which untagged ARP is right: those with next hops, and those without
 * subscribers. */
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
    if (a->tables->subscribers->v6 != NULL)
        a->spoke = table_zalloc((subscribers + UINT64_C(1)) * sizeof(a->spoke[0]), socket);
    if (n == NULL || a->subscriber == NULL ||
        (a->tables->subscribers->v6 != NULL && a->spoke == NULL)) {
        arp_nexthops_free(n);
        rte_free(a->subscriber);
        rte_free(a->spoke);
        return -ENOMEM;
    }
    swap_nexthops(a, n);
    arp_nexthops_free(n);
    find_core_ports(a);
    return 0;
}

void arp_neighbours_free(struct arp *a)
{
    for (unsigned i = 0; i < ARP_WAITS; i++)
        rte_pktmbuf_free_bulk(a->wait[i].m, a->wait[i].n);
    rte_free(a->subscriber);
    rte_free(a->spoke);
    rte_free(a->neighbour);
    rte_free(a->member);
    rte_free(a->neighbour_of);
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

/* --- learning --- */

/* Count a packet from which a neighbour was learned. */
static void heard(struct arp *a, struct arp_entry *e)
{
    e->learned = a->tick;
    e->refreshed = false;
    a->learned++;
}

/* Note in a dry run what would be learned. */
static void note_learned(const struct arp *a, const uint8_t *mac, bool known)
{
    char text[32];

    format_mac(mac, text, sizeof(text));
    fprintf(a->notes, known ? "hears that %s is still there\n" : "would learn the MAC %s\n", text);
}

struct arp_entry *arp_learn_subscriber(struct task *t, uint32_t id, const uint8_t *mac,
                                       uint32_t addr)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint8_t was[6];
    bool known = subscriber_find_mac(s, rte_cpu_to_be_32(addr), was);
    bool same = known && memcmp(was, mac, 6) == 0;
    struct arp_entry *e;

    if (s->mac_static) {
        a->static_conflicts += !same;
        return &a->subscriber[id];
    }
    if (a->notes != NULL) {
        note_learned(a, mac, same);
        return &a->subscriber[id];
    }
    e = arp_subscriber_place(t, id, addr, true);
    if (e == NULL)
        return NULL;
    a->cpe_changes += !same && known;
    if (!same) /* not without need: every core reads the line */
        arp_set_subscriber_mac(a, id, e, mac);
    e->addr = addr;
    heard(a, e);
    return e;
}

void arp_set_neighbour_mac(struct arp *a, const struct neighbour *nb, const uint8_t *mac)
{
    for (uint32_t i = 0; i < nb->n; i++) {
        struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first + i]];

        if (mac == NULL || !nh->mac_known || memcmp(nh->eth, mac, 6) != 0)
            nexthop_set_mac(nh, mac);
    }
}

/* Is a question to anybody pending? */
static bool is_asked_for(const struct arp *a, const struct arp_entry *e)
{
    return e->in_public && a->tick - e->asked <= ARP_ASK_GAP;
}

static void note_change(struct arp *a, const struct neighbour *nb, const uint8_t *was,
                        const uint8_t *is)
{
    struct arp_change *c = &a->change[a->n_changes % ARP_CHANGES];

    memcpy(c->was, was, 6);
    memcpy(c->is, is, 6);
    c->port = nb->port;
    c->address = nb->via;
    __atomic_store_n(&a->n_changes, a->n_changes + 1, __ATOMIC_RELEASE);
}

bool arp_learn_neighbour(struct arp *a, struct neighbour *nb, const uint8_t *mac, bool answers)
{
    const struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first]];
    bool same = nh->mac_known && memcmp(nh->eth, mac, 6) == 0;

    if (!same && !(answers && is_asked_for(a, &nb->entry)))
        return false;
    if (a->notes != NULL) {
        note_learned(a, mac, same);
        return true;
    }
    if (!same && nh->mac_known)
        note_change(a, nb, nh->eth, mac);
    arp_set_neighbour_mac(a, nb, mac);
    nb->entry.in_public = false;
    heard(a, &nb->entry);
    return true;
}

/* --- control --- */

bool arp_is(const struct task *t)
{
    return t->type == &task_arp;
}

/* Read the MAC at the begin of a record, which is written as one word (tables/mac.h). Returns false
 * where it is not known. */
static bool read_mac(const uint8_t *record, const uint8_t *known, uint8_t *mac)
{
    return record_mac(record, mac) && READ(*known) != 0;
}

void arp_log_changes(const struct task *t, uint64_t *seen)
{
    const struct arp *a = t->state;
    uint64_t n = __atomic_load_n(&a->n_changes, __ATOMIC_ACQUIRE);

    if (n - *seen > ARP_CHANGES)
        log_warning("%" PRIu64 " MACs of next hops have changed; these are the latest", n - *seen);
    for (uint64_t i = n - *seen > ARP_CHANGES ? n - ARP_CHANGES : *seen; i < n; i++) {
        const struct arp_change *c = &a->change[i % ARP_CHANGES];
        char was[32], is[32];

        format_mac(c->was, was, sizeof(was));
        format_mac(c->is, is, sizeof(is));
        log_warning("port %s: next hop %u.%u.%u.%u has the MAC %s now, it had %s",
                    a->cfg->ports[c->port].name, c->address >> 24, c->address >> 16 & 0xff,
                    c->address >> 8 & 0xff, c->address & 0xff, is, was);
    }
    *seen = n;
}

static uint32_t age_of(const struct arp *a, const struct arp_entry *e)
{
    return (READ(a->tick) - READ(e->learned)) / TICKS_PER_S;
}

unsigned arp_n_of_subscriber(const struct task *t, uint32_t id)
{
    const struct arp *a = t->state;

    return READ(a->tables->subscribers->record[id].hosts) != NULL ? HOSTS_MAX : 1;
}

bool arp_of_subscriber(const struct task *t, uint32_t id, unsigned i, struct arp_learned *out)
{
    const struct arp *a = t->state;
    const struct arp_entry *e = arp_neighbour_of_subscriber(a, id, i, out->mac);

    if (e == NULL)
        return false;
    out->address = READ(e->addr);
    out->address6 = (struct ipv6){0};
    if (out->address == 0 && a->spoke != NULL)
        out->address6 = (struct ipv6){READ(a->spoke[id].upper), READ(a->spoke[id].lower)};
    out->age = age_of(a, e);
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

    *port = nb->port;
    out->address = nb->via;
    if (!read_mac(nh->eth, &nh->mac_known, out->mac))
        return false;
    out->age = age_of(a, &nb->entry);
    return true;
}

/* Remember what was learned before the start, with its age. Returns 0, or -ESTALE where it is too
 * old. */
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
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct arp_entry *e;
    uint8_t mac[6];
    int rc;

    if (l->address == 0 ? !arp_may_speak(a, id, l->address6)
                        : !subscriber_has_ipv4(s, rte_cpu_to_be_32(l->address)))
        return -ENOENT;
    if (subscriber_find_mac(s, rte_cpu_to_be_32(l->address), mac))
        return -EEXIST;
    e = arp_subscriber_place(t, id, l->address, true);
    if (e == NULL)
        return -ENOSPC;
    rc = remember(a, e, l);
    if (rc != 0)
        return rc;
    arp_set_subscriber_mac(a, id, e, l->mac);
    if (l->address == 0)
        a->spoke[id] = l->address6;
    return 0;
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

void arp_forget_subscriber(struct task *t, uint32_t id)
{
    struct arp *a = t->state;

    arp_forget_waiting(t, id);
    arp_forget_hosts(a, id);
    subscriber_set_mac(&a->tables->subscribers->record[id], NULL);
    memset(&a->subscriber[id], 0, sizeof(a->subscriber[id]));
    if (a->spoke != NULL)
        a->spoke[id] = (struct ipv6){0};
}
