/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery (RFC 4861) on a core port. A solicitation for the gateway's addresses there
 * is answered. Of neighbours only the next hops are known, and one is believed what it was asked
 * for, as of ARP: whoever takes its MAC takes all upstream traffic.
 */
#include "tasks/arp/discovery.h"

/* Does a port have an address of IPv6? The others' are not on its link. */
static bool has_address(const struct arp *a, unsigned port, const uint8_t *addr)
{
    const struct cfg_port *p = &a->cfg->ports[port];
    uint8_t ours[IPV6_ADDR_LEN];

    for (unsigned i = 0; i < p->n_addresses6; i++)
        if (same6(p->addresses6[i], ipv6_of(addr)))
            return true;
    nd_link_local(a->tables->port_mac[port], ours);
    return memcmp(addr, ours, sizeof(ours)) == 0;
}

/* What a next hop says of its MAC in an advertisement: RFC 4861 section 7.2.5. One that does not
 * override leaves a MAC that is known as it is. Who was asked in public must say it; who was asked
 * at his own may leave it to the frame (section 4.4). */
static int advertised(struct task *t, const struct arp_frame *f, const struct nd *nd,
                      struct neighbour *nb)
{
    const struct arp *a = t->state;
    bool known = a->tables->routes->nexthop[nb->first].mac_known,
         overrides = (nd->flags & ND_FLAG_OVERRIDE) != 0,
         answers = (nd->flags & ND_FLAG_SOLICITED) != 0;

    if (nd->mac == NULL && (!known || nb->entry.in_public))
        return DROP_ND_MALFORMED;
    return arp_hear_neighbour(t, nb, nd->mac != NULL ? nd->mac : f->bytes + 6,
                              answers && (overrides || !known))
               ? -1
               : DROP_ND_UNSOLICITED;
}

/* Answer a solicitation for an address of the port's. It may say the sender's MAC. */
static void solicited(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct nd *nd, struct neighbour *nb)
{
    if (nd->mac != NULL && nb != NULL)
        arp_hear_neighbour(t, nb, nd->mac, false);
    if (has_address(t->state, meta_in_port(m), nd->target))
        arp_nd_advertise(t, m, f, nd, NULL);
    else
        task_drop(t, m, DROP_ND_FOREIGN);
}

void arp_nd_from_core(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct nd *nd)
{
    const struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    uint8_t port = (uint8_t)meta_in_port(m);
    const uint8_t *who = nd->type == ICMPV6_ADVERT ? nd->target : ip->source;
    struct neighbour *nb = arp_find_neighbour(a, port, ipv6_of(who));
    int why = DROP_ND_FOREIGN;

    if (arp_is_own6(a, port, ip->source) || arp_is_own6(a, port, who)) {
        why = DROP_ND_SPOOFED;
    } else if (nd->type == ICMPV6_SOLICIT) {
        solicited(t, m, f, nd, nb);
        return;
    } else if (nd->type == ICMPV6_ADVERT && nb != NULL) {
        why = advertised(t, f, nd, nb);
    }
    if (why < 0)
        task_consume(t, &m, 1); /* learning was all that the packet is for */
    else
        task_drop(t, m, (unsigned)why);
}
