/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP packets (RFC 826), inside the double tag of a subscriber or untagged on a core port. A
 * request for an address of the port is answered; a sender's MAC is learned where the address that
 * it claims is its own. Requests are sent for a MAC that is needed and not known, and for one that
 * grows old, which is forgotten without an answer (RFC 1122 section 2.3.2.1: a timeout, and a
 * unicast poll before it).
 */
#include <rte_arp.h>

#include "packet/arp.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/qinq.h"
#include "tasks/arp/discovery.h"

#define SWEEP_LOOK_MAX   256u            /* entries looked at in one round of the core */
#define SWEEP_SEND_MAX   (BURST_MAX / 2) /* requests sent in one round */
#define MEMBERS_LOOK_MAX 32u             /* neighbours of sets looked at in one round */

static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static bool is_port_address(const struct arp *a, unsigned port, uint32_t addr)
{
    const struct cfg_port *p = &a->cfg->ports[port];

    for (unsigned i = 0; i < p->n_addresses; i++)
        if (p->addresses[i] == addr)
            return true;
    return false;
}

/* Turn a request into its reply: same mbuf, same port; with the tags of the subscriber's record as
 * in every frame to him, whatever TPID and priority the request had. */
static void reply(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                  struct rte_arp_hdr *arp)
{
    const struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    uint8_t port = (uint8_t)meta_in_port(m);
    const uint8_t *ours = a->tables->port_mac[port];
    uint8_t asker[6];

    if (f->l2_len == QINQ_LEN) {
        uint32_t id = idmap_get(s->by_vlan, subscriber_vlan_key(port, f->svlan, f->cvlan));

        memcpy(f->bytes + ETH_MACS, s->record[id].l2 + ETH_MACS, QINQ_TAGS_LEN);
    }
    memcpy(asker, &arp->arp_data.arp_sha, 6);
    arp_write(arp, RTE_ARP_OP_REPLY, ours, arp->arp_data.arp_tip, asker, arp->arp_data.arp_sip);
    memcpy(f->bytes, asker, 6);
    memcpy(f->bytes + 6, ours, 6);
    meta_set_out_port(m, (uint8_t)meta_in_port(m));
    arp_send(t, m);
}

/* Is the frame addressed to the gateway, and the sender's MAC that of one host? A router must not
 * believe ARP that claims a group address for a host: RFC 1812 section 3.3.2. */
static bool is_sane(const struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                    const struct rte_arp_hdr *arp)
{
    const struct rte_ether_addr *to = (const struct rte_ether_addr *)f->bytes;

    return rte_is_valid_assigned_ether_addr(&arp->arp_data.arp_sha) &&
           (rte_is_multicast_ether_addr(to) ||
            memcmp(to, a->tables->port_mac[meta_in_port(m)], 6) == 0);
}

bool arp_is_own_mac(const struct arp *a, const uint8_t *mac)
{
    for (unsigned i = 0; i < a->cfg->n_ports; i++)
        if (memcmp(a->tables->port_mac[i], mac, 6) == 0)
            return true;
    return false;
}

bool arp_hear_neighbour(struct task *t, struct neighbour *nb, const uint8_t *mac, bool answers)
{
    bool believed = arp_learn_neighbour(t->state, nb, mac, answers);

    if (believed)
        arp_answered(t, &nb->entry);
    else
        arp_doubt(t, nb);
    return believed;
}

/* Learn the MAC of a neighbour of the core, who must have been asked for it. An unasked one is
 * asked then. Returns the reason to drop the packet, which a request that is to be answered
 * outlives, or -1. */
static int learn_neighbour(struct task *t, struct neighbour *nb, const struct rte_arp_hdr *arp)
{
    bool is_reply = arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY);

    if (arp_hear_neighbour(t, nb, arp->arp_data.arp_sha.addr_bytes, is_reply))
        return -1;
    return is_reply || arp->arp_data.arp_tip == arp->arp_data.arp_sip ? DROP_ARP_UNSOLICITED : -1;
}

/* Learn the sender's MAC where the sender's address belongs to it. Returns the reason to drop the
 * packet, or -1; *known: the tables have a place for the sender's MAC. */
static int learn(struct task *t, const struct rte_mbuf *m, const struct arp_frame *f,
                 const struct rte_arp_hdr *arp, bool *known)
{
    struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    const uint8_t *mac = arp->arp_data.arp_sha.addr_bytes;
    uint32_t sender = rte_be_to_cpu_32(arp->arp_data.arp_sip);
    uint8_t port = (uint8_t)meta_in_port(m);
    struct neighbour *nb;
    struct arp_entry *e;
    uint32_t id;

    *known = false;
    if (f->l2_len == ETH_LEN) {
        if (!a->is_core[port])
            return DROP_ARP_UNTAGGED;
        if (route_is_local(a->tables->routes, sender))
            return DROP_ARP_SPOOFED;
        nb = arp_find_neighbour(a, port, mapped6(sender));
        *known = nb != NULL;
        return nb != NULL ? learn_neighbour(t, nb, arp) : -1;
    }
    id = idmap_get(s->by_vlan, subscriber_vlan_key(port, f->svlan, f->cvlan));
    if (id == 0)
        return DROP_UNKNOWN_SUBSCRIBER;
    if (sender == 0) /* a probe (RFC 5227 section 2.1.1): the sender has no address yet */
        return -1;
    if (!subscriber_has_ipv4(&s->record[id], arp->arp_data.arp_sip) ||
        route_is_local(a->tables->routes, sender))
        return DROP_ARP_SPOOFED;
    *known = true;
    e = arp_learn_subscriber(t, id, mac, sender);
    if (e == NULL)
        return DROP_TOO_MANY_HOSTS;
    arp_answered(t, e);
    return -1;
}

void arp_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    struct rte_arp_hdr *arp = (struct rte_arp_hdr *)(f->bytes + f->l2_len);
    bool known = false, is_request;
    int why;

    if (meta_in_port(m) >= a->cfg->n_ports) {
        task_drop(t, m, DROP_BAD_PORT);
        return;
    }
    if (!arp_bucket_take(
            &a->bucket[f->l2_len == ETH_LEN ? SIDE_CORE : SIDE_SUBSCRIBERS][CLASS_ARP])) {
        task_drop(t, m, DROP_ARP_RATE);
        return;
    }
    if (!arp_is_valid(arp, f->avail) || !is_sane(a, m, f, arp)) {
        task_drop(t, m, DROP_ARP_MALFORMED);
        return;
    }
    why = arp_is_own_mac(a, arp->arp_data.arp_sha.addr_bytes) ? DROP_ARP_OWN_MAC
                                                              : learn(t, m, f, arp, &known);
    is_request = arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST);
    if (why >= 0)
        task_drop(t, m, (unsigned)why);
    else if (is_request &&
             is_port_address(a, meta_in_port(m), rte_be_to_cpu_32(arp->arp_data.arp_tip)))
        reply(t, m, f, arp);
    else if (known && (!is_request || arp->arp_data.arp_tip == arp->arp_data.arp_sip))
        task_consume(t, &m, 1); /* learning was all that the packet is for */
    else
        task_drop(t, m, DROP_ARP_FOREIGN);
}

struct rte_mbuf *arp_new_frame(struct task *t, const uint8_t *l2, uint32_t l2_len, uint32_t size)
{
    struct arp *a = t->state;
    struct rte_mbuf *m = rte_pktmbuf_alloc(a->pool);

    if (m == NULL) {
        a->no_mbuf++;
        return NULL;
    }
    t->created++;
    memcpy(rte_pktmbuf_append(m, (uint16_t)(l2_len + size)), l2, l2_len); /* every mbuf has room */
    return m;
}

struct rte_mbuf *arp_question(struct task *t, enum arp_asking asking, const uint8_t *l2,
                              uint32_t l2_len, uint32_t size)
{
    struct arp *a = t->state;
    struct rte_mbuf *m = NULL;

    if (arp_bucket_take(&a->ask[asking]))
        m = arp_new_frame(t, l2, l2_len, size);
    a->requests += m != NULL;
    return m;
}

void arp_send_question(struct task *t, struct rte_mbuf *m, uint8_t port)
{
    meta_set_subscriber(m, 0);
    meta_set_nexthop(m, 0);
    meta_set_in_port(m, port);
    meta_set_out_port(m, port);
    arp_send(t, m);
}

/*
 * Send a request for target from the port's nearest address. l2: Ethernet header and tags of len
 * bytes, of which the destination and the EtherType are replaced. to: all (broadcast), or the one
 * whose MAC grows old. Returns false where the rate of requests or the pool is exhausted.
 */
static bool send_request(struct task *t, const uint8_t *to, const uint8_t *l2, uint32_t len,
                         uint8_t port, uint32_t target)
{
    struct arp *a = t->state;
    const uint8_t *ours = a->tables->port_mac[port];
    struct rte_mbuf *m =
        arp_question(t, to == broadcast ? ASK_FOR_NEW : ASK_FOR_OLD, l2, len, ARP_LEN);
    uint8_t *f;

    if (m == NULL)
        return false;
    f = frame_bytes(m);
    memcpy(f, to, 6);
    store16(f + len - 2, RTE_BE16(RTE_ETHER_TYPE_ARP));
    arp_write((struct rte_arp_hdr *)(f + len), RTE_ARP_OP_REQUEST, ours,
              rte_cpu_to_be_32(arp_gateway_address(a, port, target)), NULL,
              rte_cpu_to_be_32(target));
    arp_send_question(t, m, port);
    return true;
}

static bool request_subscriber(struct task *t, uint32_t id, const uint8_t *to, uint32_t target)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];

    return send_request(t, to, s->l2, sizeof(s->l2), s->port, target);
}

bool arp_request_neighbour(struct task *t, struct neighbour *nb, enum arp_asking asking)
{
    const struct arp *a = t->state;
    const struct nexthop *nh = &a->tables->routes->nexthop[nb->first];
    bool in_public = asking == ASK_FOR_NEW || !nh->mac_known;
    const uint8_t *l2 = nh->eth;

    if (is_mapped6(nb->via)
            ? !send_request(t, in_public ? broadcast : l2, l2, sizeof(nh->eth), nb->port,
                            (uint32_t)nb->via.lower)
            : !arp_nd_solicit(t, in_public ? NULL : l2, l2, sizeof(nh->eth), nb->port, nb->via))
        return false;
    if (a->notes == NULL) {
        nb->entry.asked = a->tick;
        nb->entry.in_public = in_public;
    }
    return true;
}

bool arp_may_ask(const struct arp *a, const struct arp_entry *e)
{
    return a->tick - e->asked >= ARP_ASK_GAP;
}

/* The address that is asked for is the packet's destination where that is one of the subscriber's,
 * who may have several. */
void arp_ask_subscriber(struct task *t, uint32_t id, uint32_t addr)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct arp_entry *e;
    uint8_t mac[6];

    if (s->ipv4_mask == 0)
        return;
    if (!subscriber_has_ipv4(s, rte_cpu_to_be_32(addr))) {
        if (s->hosts != NULL)
            return; /* nobody knows whom to ask for */
        addr = rte_be_to_cpu_32(subscriber_ipv4(s));
    }
    if (subscriber_find_mac(s, rte_cpu_to_be_32(addr), mac))
        return;
    e = a->notes != NULL ? arp_subscriber_entry(a, id, addr)
                         : arp_subscriber_place(t, id, addr, false);
    if (e == NULL ? a->notes == NULL : !arp_may_ask(a, e))
        return;
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
    if (arp_may_ask(a, &nb->entry))
        arp_request_neighbour(t, nb, ASK_FOR_NEW);
}

enum verdict { FRESH, ASK_AGAIN, FORGET };

static enum verdict judge(const struct arp *a, const struct arp_entry *e)
{
    uint32_t age = a->tick - e->learned;

    if (age >= a->age)
        return FORGET;
    return age >= a->refresh && !e->refreshed ? ASK_AGAIN : FRESH;
}

/* Look at a subscriber's neighbours: forget one, or request its MAC by unicast, once, as it grows
 * old. Returns the number of requests sent. */
static uint16_t look_at_subscriber(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    uint16_t sent = 0;
    uint8_t mac[6];

    for (unsigned i = 0; i < arp_n_of_subscriber(t, id); i++) {
        struct arp_entry *e = arp_neighbour_of_subscriber(a, id, i, mac);

        if (e == NULL)
            continue;
        switch (judge(a, e)) {
        case FRESH:
            break;
        case ASK_AGAIN:
            e->refreshed = e->addr != 0 ? request_subscriber(t, id, mac, e->addr)
                                        : arp_poll_subscriber6(t, id, mac);
            sent += e->refreshed;
            break;
        case FORGET:
            arp_set_subscriber_mac(a, id, e, NULL);
            a->forgotten++;
            break;
        }
    }
    return sent;
}

/* The same for a neighbour. */
static bool look_at_neighbour(struct task *t, struct neighbour *nb)
{
    struct arp *a = t->state;
    const struct nexthop *nh = &a->tables->routes->nexthop[nb->first];

    if (!nh->mac_known)
        return false;
    switch (judge(a, &nb->entry)) {
    case FRESH:
        break;
    case ASK_AGAIN:
        nb->entry.refreshed = arp_request_neighbour(t, nb, ASK_FOR_OLD);
        return nb->entry.refreshed;
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
    uint32_t look = arp_walk_due(&a->sweep, entries, SWEEP_LOOK_MAX);
    uint16_t sent = 0;

    for (; look > 0 && sent < SWEEP_SEND_MAX; look--) {
        uint32_t i = arp_walk_next(&a->sweep, entries);

        sent += i < subscribers ? look_at_subscriber(t, i + 1)
                                : look_at_neighbour(t, &a->neighbour[i - subscribers]);
    }
    return sent;
}

/* Is the neighbour's MAC needed by a set, and not known? */
static bool is_missed(const struct arp *a, const struct neighbour *nb)
{
    bool in_sets = false;

    for (uint32_t id = nb->first; id != 0; id = a->member[id].next) {
        const struct nexthop *nh = &a->tables->routes->nexthop[id];

        if (nh->mac_known)
            return false;
        in_sets |= __atomic_load_n(&nh->in_sets, __ATOMIC_RELAXED) != 0;
    }
    return in_sets;
}

uint16_t arp_ask_members(struct task *t)
{
    struct arp *a = t->state;
    uint32_t due = RTE_MIN(a->members_due, a->n_neighbours), look = RTE_MIN(due, MEMBERS_LOOK_MAX);
    uint16_t sent = 0;

    if (__atomic_load_n(&a->tables->routes->n_sets, __ATOMIC_RELAXED) == 0)
        return 0;
    a->members_due = due - look;
    for (; look > 0; look--) {
        struct neighbour *nb =
            &a->neighbour[a->members_next < a->n_neighbours ? a->members_next : 0];

        a->members_next = (uint32_t)(nb - a->neighbour) + 1;
        if (is_missed(a, nb) && arp_may_ask(a, &nb->entry))
            sent += arp_request_neighbour(t, nb, ASK_FOR_NEW);
    }
    return sent;
}
