/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP requests that the gateway sends: for a neighbour that is needed and not known, and for one
 * whose MAC grows old, which then is forgotten (RFC 1122 section 2.3.2.1: a timeout, and a poll
 * before it).
 */
#include "packet/arp.h"
#include "packet/bytes.h"
#include "tasks/arp_impl.h"

#define SWEEP_LOOK_MAX 256u /* entries in one round of the core */
#define SWEEP_SEND_MAX (BURST_MAX / 2)

static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* Send a request for target from the port's nearest address; l2 is a header of len bytes but for
 * where it goes to and what it holds. */
static bool send_request(struct task *t, const uint8_t *to, const uint8_t *l2, uint32_t len,
                         uint8_t port, uint32_t target)
{
    struct arp *a = t->state;
    const uint8_t *ours = a->tables->port_mac[port];
    struct rte_mbuf *m;
    uint8_t *f;

    if (!arp_bucket_take(&a->request))
        return false;
    m = rte_pktmbuf_alloc(a->pool);
    if (m == NULL) {
        a->no_mbuf++;
        return false;
    }
    t->created++;
    a->requests++;
    f = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(len + ARP_LEN)); /* a pool holds that much */
    memcpy(f, l2, len);
    memcpy(f, to, 6);
    store16(f + len - 2, RTE_BE16(RTE_ETHER_TYPE_ARP));
    arp_write((struct rte_arp_hdr *)(f + len), RTE_ARP_OP_REQUEST, ours,
              rte_cpu_to_be_32(arp_gateway_address(a, port, target)), NULL,
              rte_cpu_to_be_32(target));
    arp_pad(m);
    meta_set_subscriber(m, 0);
    meta_set_nexthop(m, 0);
    meta_set_in_port(m, port);
    meta_set_out_port(m, port);
    task_emit(t, ARP_OUT_TO, m);
    return true;
}

static bool request_subscriber(struct task *t, uint32_t id, const uint8_t *to, uint32_t target)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];

    return send_request(t, to, s->l2, sizeof(s->l2), s->port, target);
}

static bool request_neighbour(struct task *t, const struct neighbour *nb, const uint8_t *to)
{
    const struct arp *a = t->state;
    const struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first]];

    return send_request(t, to, nh->eth, sizeof(nh->eth), nb->port, nb->via);
}

static bool may_ask(const struct arp *a, const struct arp_entry *e)
{
    return a->tick - e->asked >= ASK_GAP;
}

/* A packet's destination is asked for where the subscriber has more addresses than one. */
void arp_ask_subscriber(struct task *t, uint32_t id, uint32_t addr)
{
    struct arp *a = t->state;
    struct arp_entry *e = &a->subscriber[id];
    const struct subscriber *s = &a->tables->subscribers->record[id];

    if (s->mac_known || !may_ask(a, e))
        return;
    if (((rte_cpu_to_be_32(addr) ^ s->ipv4) & s->ipv4_mask) != 0)
        addr = rte_be_to_cpu_32(s->ipv4);
    if (request_subscriber(t, id, broadcast, addr) && a->notes == NULL)
        e->asked = a->tick;
}

void arp_ask_nexthop(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    struct neighbour *nb;

    if (a->neighbour_of[id] == UINT32_MAX || a->tables->routes->nexthop[id].mac_known)
        return;
    nb = &a->neighbour[a->neighbour_of[id]];
    if (may_ask(a, &nb->entry) && request_neighbour(t, nb, broadcast) && a->notes == NULL)
        nb->entry.asked = a->tick;
}

enum verdict { FRESH, ASK_AGAIN, FORGET };

static enum verdict judge(const struct arp *a, const struct arp_entry *e)
{
    uint32_t age = a->tick - e->learned;

    if (age >= a->age)
        return FORGET;
    return age >= a->refresh && !e->refreshed ? ASK_AGAIN : FRESH;
}

/* Both return whether they sent a request. An entry grown old is asked for by unicast, once. */
static bool look_at_subscriber(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    struct arp_entry *e = &a->subscriber[id];
    struct subscriber *s = &a->tables->subscribers->record[id];

    if (!s->mac_known || s->mac_static)
        return false;
    switch (judge(a, e)) {
    case FRESH:
        break;
    case ASK_AGAIN:
        e->refreshed = true;
        return request_subscriber(t, id, s->l2, e->addr);
    case FORGET:
        subscriber_set_mac(s, NULL);
        a->forgotten++;
        break;
    }
    return false;
}

static bool look_at_neighbour(struct task *t, struct neighbour *nb)
{
    struct arp *a = t->state;
    const struct nexthop *nh = &a->tables->routes->nexthop[a->member[nb->first]];

    if (!nh->mac_known)
        return false;
    switch (judge(a, &nb->entry)) {
    case FRESH:
        break;
    case ASK_AGAIN:
        nb->entry.refreshed = true;
        return request_neighbour(t, nb, nh->eth);
    case FORGET:
        arp_set_neighbour_mac(a, nb, NULL);
        a->forgotten++;
        break;
    }
    return false;
}

uint16_t arp_sweep(struct task *t)
{
    struct arp *a = t->state;
    uint32_t subscribers = a->tables->subscribers->capacity;
    uint64_t entries = (uint64_t)subscribers + a->n_neighbours;
    uint32_t look;
    uint16_t sent = 0;

    a->sweep_due = RTE_MIN(a->sweep_due, entries << ARP_SWEEP_SHIFT);
    look = (uint32_t)RTE_MIN(a->sweep_due >> ARP_SWEEP_SHIFT, (uint64_t)SWEEP_LOOK_MAX);
    for (; look > 0 && sent < SWEEP_SEND_MAX; look--) {
        uint32_t i = a->sweep_next;

        a->sweep_due -= UINT64_C(1) << ARP_SWEEP_SHIFT;
        a->sweep_next = i + 1 < entries ? i + 1 : 0;
        sent += i < subscribers ? look_at_subscriber(t, i + 1)
                                : look_at_neighbour(t, &a->neighbour[i - subscribers]);
    }
    return sent;
}
