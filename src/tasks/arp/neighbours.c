/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: CPEs, each the neighbour of a subscriber, and next hops, which are one neighbour
 * where they have the same port and address. The MACs are in the tables. This file has the rest:
 * age and state of each neighbour, learning, and access by control (arp.h).
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
#include "tasks/arp/discovery.h"
#include "tasks/arp/lines.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

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
    int rc = arp_nexthops_init(a, socket);

    a->subscriber = table_zalloc((subscribers + UINT64_C(1)) * sizeof(a->subscriber[0]), socket);
    if (a->tables->subscribers->v6 != NULL)
        a->spoke = table_zalloc((subscribers + UINT64_C(1)) * sizeof(a->spoke[0]), socket);
    if (rc != 0 || a->subscriber == NULL ||
        (a->tables->subscribers->v6 != NULL && a->spoke == NULL)) {
        arp_nexthops_free(a);
        rte_free(a->subscriber);
        rte_free(a->spoke);
        return -ENOMEM;
    }
    find_core_ports(a);
    return 0;
}

void arp_neighbours_free(struct arp *a)
{
    for (unsigned i = 0; i < ARP_WAITS; i++)
        rte_pktmbuf_free_bulk(a->wait[i].m, a->wait[i].n);
    rte_free(a->subscriber);
    rte_free(a->spoke);
    arp_nexthops_free(a);
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
    for (uint32_t id = nb->first; id != 0; id = a->member[id].next) {
        struct nexthop *nh = &a->tables->routes->nexthop[id];

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
    const struct nexthop *nh = &a->tables->routes->nexthop[nb->first];
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
        char was[32], is[32], address[IPV6_TEXT];

        format_mac(c->was, was, sizeof(was));
        format_mac(c->is, is, sizeof(is));
        log_warning("port %s: next hop %s has the MAC %s now, it had %s",
                    a->cfg->ports[c->port].name, format_address(c->address, address), is, was);
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
    const struct nexthop *nh = &a->tables->routes->nexthop[nb->first];

    *port = nb->port;
    out->address = is_mapped6(nb->via) ? (uint32_t)nb->via.lower : 0;
    out->address6 = out->address == 0 ? nb->via : (struct ipv6){0, 0};
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
    struct neighbour *nb =
        arp_find_neighbour(a, port, l->address != 0 ? mapped6(l->address) : l->address6);
    int rc;

    if (nb == NULL)
        return -ENOENT;
    if (a->tables->routes->nexthop[nb->first].mac_known)
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
    arp_echo_forget(a, id);
    arp_forget_hosts(a, id);
    subscriber_set_mac(&a->tables->subscribers->record[id], NULL);
    memset(&a->subscriber[id], 0, sizeof(a->subscriber[id]));
    if (a->spoke != NULL)
        a->spoke[id] = (struct ipv6){0};
}
