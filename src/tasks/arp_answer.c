/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP packets received (RFC 826): inside the double tag of a subscriber, or untagged on a core
 * port. Who asks for an address of the port is answered; a sender teaches its MAC where the address
 * that it claims is its own.
 */
#include <rte_arp.h>

#include "packet/arp.h"
#include "packet/ethernet.h"
#include "tasks/arp_impl.h"

static bool is_port_address(const struct arp *a, unsigned port, uint32_t addr)
{
    const struct cfg_port *p = &a->cfg->ports[port];

    for (unsigned i = 0; i < p->n_addresses; i++)
        if (p->addresses[i] == addr)
            return true;
    return false;
}

/* A reply goes the way that its request came, tags and all, in the same mbuf. */
static void reply(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                  struct rte_arp_hdr *arp)
{
    const struct arp *a = t->state;
    const uint8_t *ours = a->tables->port_mac[meta_in_port(m)];
    uint8_t asker[6];

    memcpy(asker, &arp->arp_data.arp_sha, 6);
    arp_write(arp, RTE_ARP_OP_REPLY, ours, arp->arp_data.arp_tip, asker, arp->arp_data.arp_sip);
    memcpy(f->bytes, asker, 6);
    memcpy(f->bytes + 6, ours, 6);
    meta_set_out_port(m, (uint8_t)meta_in_port(m));
    arp_pad(m);
    task_emit(t, ARP_OUT_TO, m);
}

/*
 * Is the frame for us and from a station? A router must not believe an ARP packet that claims a
 * group address for a host: RFC 1812 section 3.3.2.
 */
static bool is_sane(const struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                    const struct rte_arp_hdr *arp)
{
    const struct rte_ether_addr *to = (const struct rte_ether_addr *)f->bytes;

    return rte_is_valid_assigned_ether_addr(&arp->arp_data.arp_sha) &&
           (rte_is_multicast_ether_addr(to) ||
            memcmp(to, a->tables->port_mac[meta_in_port(m)], 6) == 0);
}

/*
 * Learn from a sender with an address. Returns the reason to drop the packet, or -1; *known: the
 * sender is one whose MAC we keep.
 */
static int learn(struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                 const struct rte_arp_hdr *arp, bool *known)
{
    const struct subscriber_table *s = a->tables->subscribers;
    const uint8_t *mac = arp->arp_data.arp_sha.addr_bytes;
    uint32_t sender = rte_be_to_cpu_32(arp->arp_data.arp_sip);
    uint8_t port = (uint8_t)meta_in_port(m);
    struct neighbour *nb;
    uint32_t id;

    *known = false;
    if (f->l2_len == ETH_LEN) {
        if (!a->is_core[port])
            return DROP_ARP_UNTAGGED;
        if (route_is_local(a->tables->routes, sender))
            return DROP_ARP_SPOOFED;
        nb = arp_find_neighbour(a, port, sender);
        *known = nb != NULL;
        if (nb != NULL)
            arp_learn_neighbour(a, nb, mac);
        return -1;
    }
    id = idmap_get(s->by_vlan, subscriber_vlan_key(port, f->svlan, f->cvlan));
    if (id == 0)
        return DROP_UNKNOWN_SUBSCRIBER;
    if (sender == 0) /* a probe (RFC 5227 section 2.1.1): it has no address yet */
        return -1;
    if (((arp->arp_data.arp_sip ^ s->record[id].ipv4) & s->record[id].ipv4_mask) != 0 ||
        route_is_local(a->tables->routes, sender))
        return DROP_ARP_SPOOFED;
    *known = true;
    arp_learn_subscriber(a, id, mac, sender);
    return -1;
}

void arp_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    struct rte_arp_hdr *arp = (struct rte_arp_hdr *)(f->bytes + f->l2_len);
    bool known, is_request;
    int why;

    if (meta_in_port(m) >= a->cfg->n_ports) {
        task_drop(t, m, DROP_BAD_PORT);
        return;
    }
    if (!arp_bucket_take(&a->arp)) {
        task_drop(t, m, DROP_ARP_RATE);
        return;
    }
    if (!arp_is_valid(arp, f->avail) || !is_sane(a, m, f, arp)) {
        task_drop(t, m, DROP_ARP_MALFORMED);
        return;
    }
    why = learn(a, m, f, arp, &known);
    is_request = arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST);
    if (why >= 0)
        task_drop(t, m, (unsigned)why);
    else if (is_request &&
             is_port_address(a, meta_in_port(m), rte_be_to_cpu_32(arp->arp_data.arp_tip)))
        reply(t, m, f, arp);
    else if (known && (!is_request || arp->arp_data.arp_tip == arp->arp_data.arp_sip))
        task_consume(t, &m, 1); /* it has told us what it was to tell */
    else
        task_drop(t, m, DROP_ARP_FOREIGN);
}
