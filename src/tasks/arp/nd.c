/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery (RFC 4861), inside the double tag of a subscriber; nd_core.c has what is
 * another on a core port. On every VLAN pair and on every core port the gateway has the link-local
 * address of the port's MAC, and answers for that. A CPE's MAC is learned from advertisements and
 * solicitations for addresses of the subscriber, and solicited when a packet needs it. Each
 * subscriber has one MAC for all IPv6 addresses, so that packets to random addresses of a prefix
 * fill no cache (RFC 6583).
 */
#include "packet/nd.h"
#include "packet/frame.h"
#include "packet/qinq.h"
#include "tasks/arp/discovery.h"

static bool is_link_local(const uint8_t *addr)
{
    return ipv6_kind(addr) == IPV6_LINK_LOCAL;
}

bool arp_is_on_link(const struct arp *a, uint32_t id, struct ipv6 addr)
{
    const struct subscriber6 *s = &a->tables->subscribers->v6->record[id];

    return addr.upper == s->wan_upper && ((addr.lower ^ s->wan_lower) & s->wan_lower_mask) == 0;
}

bool arp_is_his(const struct arp *a, uint32_t id, const uint8_t *addr)
{
    const struct subscriber_table *s = a->tables->subscribers;
    uint8_t ours[IPV6_ADDR_LEN];

    nd_link_local(s->record[id].l2 + 6, ours);
    if (is_link_local(addr))
        return memcmp(addr, ours, sizeof(ours)) != 0;
    return ipv6_is_forwarded(ipv6_upper(addr)) &&
           subscriber6_owns(&s->v6->record[id], ipv6_of(addr));
}

bool arp_may_speak(const struct arp *a, uint32_t id, struct ipv6 addr)
{
    const struct subscriber *s = &a->tables->subscribers->record[id];

    return s->has_ipv6 && s->hosts == NULL && (is_link_local6(addr) || arp_is_on_link(a, id, addr));
}

void arp_nd_advertise(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct nd *nd, const uint8_t *l2)
{
    const struct arp *a = t->state;
    uint8_t port = (uint8_t)meta_in_port(m);
    const uint8_t *our_mac = a->tables->port_mac[port];
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    bool is_probe = ipv6_kind(ip->source) == IPV6_UNSPECIFIED;
    uint32_t len = f->l2_len + ND_NEIGHBOUR_SIZE, more = len - RTE_MIN(len, m->data_len);
    uint8_t to[IPV6_ADDR_LEN], ours[IPV6_ADDR_LEN], mac[6], *answer;

    if (rte_pktmbuf_headroom(m) < more) {
        task_drop(t, m, DROP_NO_ROOM);
        return;
    }
    memcpy(ours, nd->target, sizeof(ours));
    if (is_probe) {
        nd_all_nodes(to);
        nd_group_mac(to, mac);
    } else {
        memcpy(to, ip->source, sizeof(to));
        memcpy(mac, nd->mac != NULL ? nd->mac : f->bytes + 6, sizeof(mac));
    }
    frame_set(m, -(int)more, len); /* as all that grows: into the headroom */
    answer = frame_bytes(m);
    if (l2 != NULL)
        memcpy(answer, l2, f->l2_len);
    memcpy(answer, mac, sizeof(mac));
    memcpy(answer + 6, our_mac, 6);
    store16(answer + f->l2_len - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    nd_write((struct ipv6_hdr *)(answer + f->l2_len), ICMPV6_ADVERT,
             ND_FLAG_ROUTER | ND_FLAG_OVERRIDE | (is_probe ? 0 : ND_FLAG_SOLICITED), ours, to, ours,
             our_mac);
    meta_set_out_port(m, port);
    arp_send(t, m);
}

/* Learn a CPE's MAC, which it says to have at an address of its own. One that does not override
 * what is known (RFC 4861 section 7.2.5) changes nothing, nor does a host of a network without a
 * router: the gateway does not know which of them has an address. */
static void learn(struct task *t, uint32_t id, const uint8_t *mac, const uint8_t *addr,
                  bool overrides)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct arp_entry *e;

    if (s->hosts != NULL || (!overrides && s->mac_known && memcmp(s->l2, mac, 6) != 0))
        return;
    e = arp_learn_subscriber(t, id, mac, 0);
    if (a->notes == NULL && !s->mac_static && arp_may_speak(a, id, ipv6_of(addr)))
        a->spoke[id] = ipv6_of(addr);
    arp_answered(t, e);
}

/* A solicitation asks for the sender's target, and may say the sender's MAC. */
static void solicited(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct nd *nd, uint32_t id)
{
    const struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint8_t ours[IPV6_ADDR_LEN];

    nd_link_local(s->l2 + 6, ours);
    if (ipv6_kind(ip->source) != IPV6_UNSPECIFIED) {
        if (!arp_is_his(a, id, ip->source)) {
            task_drop(t, m, DROP_ND_SPOOFED);
            return;
        }
        if (nd->mac != NULL)
            learn(t, id, nd->mac, ip->source, true);
    }
    if (memcmp(nd->target, ours, sizeof(ours)) == 0)
        arp_nd_advertise(t, m, f, nd, s->l2);
    else
        task_drop(t, m, DROP_ND_FOREIGN);
}

/* An advertisement says the target's MAC, asked or unasked, as ARP does on a subscriber's line; one
 * to a question by unicast may leave it to the frame. */
static void advertised(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                       const struct nd *nd, uint32_t id)
{
    const struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);

    if (!arp_is_his(a, id, ip->source) || !arp_is_his(a, id, nd->target)) {
        task_drop(t, m, DROP_ND_SPOOFED);
        return;
    }
    learn(t, id, nd->mac != NULL ? nd->mac : f->bytes + 6, nd->target,
          (nd->flags & ND_FLAG_OVERRIDE) != 0);
    task_consume(t, &m, 1);
}

/* A router solicitation asks whether a router is there, and may say the sender's MAC (RFC 4861
 * section 6.2.6). */
static void router_solicited(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                             const struct nd *nd, uint32_t id)
{
    const struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);

    if (ipv6_kind(ip->source) != IPV6_UNSPECIFIED && !arp_is_his(a, id, ip->source)) {
        task_drop(t, m, DROP_ND_SPOOFED);
        return;
    }
    if (nd->mac != NULL)
        learn(t, id, nd->mac, ip->source, true);
    if (a->answers_routers)
        arp_advertise(t, m, f, nd, id);
    else
        task_drop(t, m, DROP_RA_OFF);
}

/* Is the frame addressed to the gateway, and the MAC which it says that of one host? */
static bool is_sane(const struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                    const struct nd *nd)
{
    const struct rte_ether_addr *to = (const struct rte_ether_addr *)f->bytes;
    const uint8_t *mac = nd->mac != NULL ? nd->mac : f->bytes + 6;

    return rte_is_valid_assigned_ether_addr((const struct rte_ether_addr *)mac) &&
           (rte_is_multicast_ether_addr(to) ||
            memcmp(to, a->tables->port_mac[meta_in_port(m)], 6) == 0);
}

/* Check a message, and find whose it is. Returns the reason to drop it, or -1; *id 0: of a core
 * port. */
static int check(struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f, struct nd *nd,
                 uint32_t *id)
{
    const struct subscriber_table *s = a->tables->subscribers;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);

    *id = 0;
    if (s->v6 == NULL && (f->l2_len != ETH_LEN || !a->core_has_ipv6))
        return DROP_UNSUPPORTED;
    if (!arp_bucket_take(&a->bucket[f->l2_len == ETH_LEN ? SIDE_CORE : SIDE_SUBSCRIBERS][CLASS_ND]))
        return DROP_ND_RATE;
    if (!nd_parse(ip, f->avail, nd) || !is_sane(a, m, f, nd))
        return DROP_ND_MALFORMED;
    if (arp_is_own_mac(a, nd->mac != NULL ? nd->mac : f->bytes + 6))
        return DROP_ARP_OWN_MAC;
    if (f->l2_len == ETH_LEN)
        return a->is_core[meta_in_port(m)] ? -1 : DROP_ARP_UNTAGGED;
    *id = idmap_get(s->by_vlan, subscriber_vlan_key((uint8_t)meta_in_port(m), f->svlan, f->cvlan));
    return *id != 0 && s->record[*id].has_ipv6 ? -1 : DROP_UNKNOWN_SUBSCRIBER;
}

void arp_nd_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct nd nd;
    uint32_t id;
    int why = check(t->state, m, f, &nd, &id);

    if (why >= 0)
        task_drop(t, m, (unsigned)why);
    else if (id == 0)
        arp_nd_from_core(t, m, f, &nd);
    else if (nd.type == ICMPV6_ROUTER_SOLICIT)
        router_solicited(t, m, f, &nd, id);
    else if (nd.type == ICMPV6_SOLICIT)
        solicited(t, m, f, &nd, id);
    else
        advertised(t, m, f, &nd, id);
}

/* --- questions --- */

/* It is sent to the target's solicited-node group, or to the target itself (RFC 4861 section
 * 7.2.2). */
bool arp_nd_solicit(struct task *t, const uint8_t *to, const uint8_t *l2, uint32_t l2_len,
                    uint8_t port, struct ipv6 addr)
{
    uint8_t target[IPV6_ADDR_LEN], group[IPV6_ADDR_LEN], ours[IPV6_ADDR_LEN];
    struct rte_mbuf *m =
        arp_question(t, to == NULL ? ASK_FOR_NEW : ASK_FOR_OLD, l2, l2_len, ND_NEIGHBOUR_SIZE);
    uint8_t *f;

    if (m == NULL)
        return false;
    f = frame_bytes(m);
    store64(target, net64(addr.upper));
    store64(target + 8, net64(addr.lower));
    nd_solicited_node(target, group);
    nd_link_local(l2 + 6, ours);
    if (to != NULL)
        memcpy(f, to, 6);
    else
        nd_group_mac(group, f);
    store16(f + l2_len - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    nd_write((struct ipv6_hdr *)(f + l2_len), ICMPV6_SOLICIT, 0, ours, to == NULL ? group : target,
             target, l2 + 6);
    arp_send_question(t, m, port);
    return true;
}

/* Solicit an address of a subscriber, of anybody or (to) of the one whose MAC grows old. */
static bool solicit(struct task *t, uint32_t id, const uint8_t *to, struct ipv6 addr)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];

    return arp_nd_solicit(t, to, s->l2, sizeof(s->l2), s->port, addr);
}

static bool has_spoken(const struct arp *a, uint32_t id)
{
    return a->spoke != NULL && a->spoke[id].upper != 0;
}

bool arp_poll_subscriber6(struct task *t, uint32_t id, const uint8_t *mac)
{
    const struct arp *a = t->state;

    return has_spoken(a, id) && solicit(t, id, mac, a->spoke[id]);
}

void arp_ask_subscriber6(struct task *t, uint32_t id, struct ipv6 addr)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    const struct subscriber6 *s6 = &a->tables->subscribers->v6->record[id];
    struct arp_entry *e = &a->subscriber[id];
    bool sent = false, spoke = has_spoken(a, id);

    if (s->mac_known || s->hosts != NULL || !arp_may_ask(a, e))
        return;
    if (!arp_is_on_link(a, id, addr) && s6->wan_len == 128)
        addr = (struct ipv6){s6->wan_upper, s6->wan_lower};
    if (arp_is_on_link(a, id, addr))
        sent = solicit(t, id, NULL, addr);
    /* a stranger's choice of addresses must not keep the CPE from being asked */
    if (spoke && !same6(addr, a->spoke[id]))
        sent |= solicit(t, id, NULL, a->spoke[id]);
    if (sent && a->notes == NULL)
        e->asked = a->tick;
    else if (!sent)
        arp_ask_subscriber(t, id, 0);
}
