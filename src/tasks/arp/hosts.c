/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours of a subscriber: one CPE, or, where the addresses are a prefix that is not routed, a
 * host for each address, HOSTS_MAX at most. A host that is known keeps its place until it is
 * forgotten; one that is only asked for gives way, so that a stranger who sends to addresses of
 * nobody keeps no host out.
 */
#include "tables/hosts.h"
#include "tasks/arp/instance.h"

/* Of a subscriber's hosts, so many that packets wait for: some places are left for questions. */
#define HOSTS_WAITED_FOR (HOSTS_MAX / 2)

static struct hosts *hosts_of(const struct arp *a, uint32_t id)
{
    return __atomic_load_n(&a->tables->subscribers->record[id].hosts, __ATOMIC_ACQUIRE);
}

struct arp_entry *arp_subscriber_entry(const struct arp *a, uint32_t id, uint32_t addr)
{
    struct hosts *h = hosts_of(a, id);

    if (h == NULL)
        return &a->subscriber[id];
    for (unsigned i = 0; addr != 0 && i < HOSTS_MAX; i++)
        if (h->entry[i].addr == addr)
            return &h->entry[i];
    return NULL;
}

/* Is a better than b to be given to somebody else? First those for whom no packets wait, then those
 * that were asked for longest ago. */
static bool gives_way(const struct arp *a, const struct arp_entry *e, const struct arp_entry *other)
{
    if (other == NULL || (e->wait != 0) != (other->wait != 0))
        return other == NULL || e->wait == 0;
    return a->tick - e->asked > a->tick - other->asked;
}

struct arp_entry *arp_subscriber_place(struct task *t, uint32_t id, uint32_t addr, bool is_there)
{
    struct arp *a = t->state;
    struct arp_entry *e = arp_subscriber_entry(a, id, addr), *best = NULL;
    struct hosts *h = hosts_of(a, id);

    if (e != NULL)
        return e;
    for (unsigned i = 0; i < HOSTS_MAX; i++) {
        e = &h->entry[i];
        if (e->addr == 0) {
            best = e;
            break;
        }
        if (h->mac[i] == 0 && (is_there || e->wait == 0) && gives_way(a, e, best))
            best = e;
    }
    if (best == NULL)
        return NULL;
    arp_abandon(t, best);
    *best = (struct arp_entry){.addr = addr, .asked = a->tick - ARP_ASK_GAP};
    return best;
}

bool arp_may_wait_for_host(const struct arp *a, uint32_t id)
{
    const struct hosts *h = hosts_of(a, id);
    unsigned n = 0;

    for (unsigned i = 0; h != NULL && i < HOSTS_MAX; i++)
        n += h->entry[i].wait != 0;
    return n < HOSTS_WAITED_FOR;
}

struct arp_entry *arp_neighbour_of_subscriber(const struct arp *a, uint32_t id, unsigned i,
                                              uint8_t *mac)
{
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct hosts *h = hosts_of(a, id);

    if (s->mac_static)
        return NULL;
    if (h != NULL)
        return i < HOSTS_MAX && hosts_mac(h, i, mac) ? &h->entry[i] : NULL;
    return i == 0 && subscriber_find_mac(s, 0, mac) ? &a->subscriber[id] : NULL;
}

void arp_set_subscriber_mac(struct arp *a, uint32_t id, struct arp_entry *e, const uint8_t *mac)
{
    struct hosts *h = hosts_of(a, id);

    if (h == NULL)
        subscriber_set_mac(&a->tables->subscribers->record[id], mac);
    else
        hosts_set(h, (unsigned)(e - h->entry), mac);
    if (h != NULL && mac == NULL)
        *e = (struct arp_entry){0};
}

void arp_forget_hosts(struct arp *a, uint32_t id)
{
    struct hosts *h = hosts_of(a, id);

    for (unsigned i = 0; h != NULL && i < HOSTS_MAX; i++) {
        hosts_set(h, i, NULL);
        h->entry[i] = (struct arp_entry){0};
    }
}
