/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMPv6 (RFC 4443) that the gateway sends, as icmp.c does for IPv4 and within the same limits:
 * replies to pings, and errors about packets that could not be forwarded. The gateway has the
 * addresses of its ports, and on each link the link-local one of the port's MAC. Nobody is told
 * that his source was refused (section 3.1, code 5): the answer would go to whom the source
 * belongs, who has sent nothing.
 */
#include "packet/frame.h"
#include "tasks/arp/answer.h"
#include "tasks/arp/discovery.h"

static uint32_t subscriber_of(const struct arp *a, const uint8_t *addr)
{
    const struct subscriber6_table *v6 = a->tables->subscribers->v6;

    return v6 != NULL ? subscriber6_find(v6, ipv6_of(addr)) : 0;
}

enum arp_side arp_side_of6(const struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct subscriber_table *s = a->tables->subscribers;
    uint32_t id = subscriber_of(a, ((const struct ipv6_hdr *)(f->bytes + f->l2_len))->source);

    if (f->l2_len != ETH_LEN)
        return SIDE_SUBSCRIBERS;
    return id != 0 && s->record[id].port == meta_in_port(m) ? SIDE_SUBSCRIBERS : SIDE_CORE;
}

/* Find the way to a subscriber, with its tags. Returns false, after a question, where its MAC is
 * not known. */
static bool to_subscriber(struct task *t, uint32_t id, const uint8_t *addr, struct arp_answer *to)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];

    if (!s->mac_known) {
        arp_ask_subscriber6(t, id, ipv6_of(addr));
        return false;
    }
    *to = (struct arp_answer){
        .output = ARP_OUT_TO, .port = s->port, .subscriber = id, .l2_len = QINQ_LEN};
    memcpy(to->l2, s->l2, QINQ_LEN);
    store16(to->l2 + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    return true;
}

/* An error about a packet: where to, from which address, and what it says. */
struct error {
    struct arp_answer to;
    uint8_t from[IPV6_ADDR_LEN];
    uint8_t type, code;
    uint32_t value; /* as icmpv6_write_error() has it */
};

/* Make an error in the mbuf of the packet that it is about. Returns the reason to drop that packet,
 * or -1. */
static int send_error(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct error *e)
{
    struct ipv6_hdr *ip = (struct ipv6_hdr *)(f->bytes + f->l2_len);
    uint32_t quote = icmpv6_quote_len(ip);
    uint8_t sender[IPV6_ADDR_LEN];

    memcpy(sender, ip->source, sizeof(sender));
    ip = (struct ipv6_hdr *)arp_reframe(m, &e->to, f->l2_len, quote,
                                        sizeof(*ip) + ICMPV6_LEN + quote);
    if (ip == NULL)
        return DROP_NO_ROOM;
    icmpv6_write_error(ip, ARP_TOS, e->from, sender, e->type, e->code, e->value, quote);
    arp_send_answer(t, m, &e->to);
    return -1;
}

/* --- packets to the gateway --- */

bool arp_is_own6(const struct arp *a, unsigned port, const uint8_t *addr)
{
    uint8_t ours[IPV6_ADDR_LEN];

    nd_link_local(a->tables->port_mac[port], ours);
    return memcmp(addr, ours, sizeof(ours)) == 0 ||
           route_is_local6(a->tables->routes, ipv6_of(addr));
}

/* Find the way back to the sender of a packet to the gateway: to a subscriber by the address, else
 * where the frame came from. Returns the reason to drop the packet, or -1. */
static int way_back(struct task *t, const struct rte_mbuf *m, const struct arp_frame *f,
                    struct arp_answer *to)
{
    const struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    uint8_t port = (uint8_t)meta_in_port(m);
    uint32_t id;

    if (f->l2_len == ETH_LEN && (id = subscriber_of(a, ip->source)) != 0)
        return to_subscriber(t, id, ip->source, to) ? -1 : DROP_UNRESOLVED;
    if (!rte_is_valid_assigned_ether_addr((const struct rte_ether_addr *)(f->bytes + 6)))
        return DROP_BAD_FRAME;
    *to = (struct arp_answer){.output = ARP_OUT_TO, .port = port};
    if (f->l2_len == ETH_LEN) {
        if (!a->is_core[port])
            return DROP_UNKNOWN_SUBSCRIBER;
        arp_set_ethernet(to, f->bytes + 6, a->tables->port_mac[port],
                         RTE_BE16(RTE_ETHER_TYPE_IPV6));
        return -1;
    }
    id = idmap_get(s->by_vlan, subscriber_vlan_key(port, f->svlan, f->cvlan));
    if (id == 0 || !s->record[id].has_ipv6)
        return DROP_UNKNOWN_SUBSCRIBER;
    if (!arp_is_his(a, id, ip->source))
        return DROP_ND_SPOOFED;
    to->subscriber = id;
    to->l2_len = QINQ_LEN;
    memcpy(to->l2, s->record[id].l2, QINQ_LEN);
    memcpy(to->l2, f->bytes + 6, 6); /* any host of the link may ask */
    store16(to->l2 + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    return -1;
}

/* RFC 4443 section 2.4 (e.6): a source must be one host's; and not the gateway's. */
static bool is_foreign_host(const struct arp *a, const struct rte_mbuf *m, const uint8_t *addr)
{
    return icmpv6_is_host(addr) && !arp_is_own6(a, meta_in_port(m), addr);
}

/* Check that a ping is whole. Returns the reason to drop it, or -1. */
static int check_echo(const struct ipv6_hdr *ip, uint32_t avail)
{
    uint32_t len = net16(ip->payload_length);

    if (len < ICMPV6_LEN || !icmpv6_checksum_ok(ip, (const uint8_t *)(ip + 1), len))
        return DROP_ICMP_MALFORMED;
    return icmpv6_is_ping(ip, avail) ? -1 : DROP_UNSUPPORTED;
}

/* Answer an echo request in its mbuf, from the address that it was sent to (RFC 4443 section 4.2).
 */
static void echo(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    struct ipv6_hdr *ip = (struct ipv6_hdr *)(f->bytes + f->l2_len), was = *ip;
    uint32_t len = net16(was.payload_length);
    struct arp_answer to;
    int why = check_echo(ip, f->avail);

    if (why < 0 && !is_foreign_host(a, m, was.source))
        why = DROP_ICMP_NOT_ALLOWED;
    if (why < 0 && !arp_bucket_take(&a->bucket[arp_side_of6(a, m, f)][CLASS_ECHO]))
        why = DROP_ICMP_RATE;
    if (why < 0)
        why = way_back(t, m, f, &to);
    if (why < 0) {
        ip =
            (struct ipv6_hdr *)arp_reframe(m, &to, f->l2_len, sizeof(*ip) + len, sizeof(*ip) + len);
        why = ip == NULL ? DROP_NO_ROOM : -1;
    }
    if (why >= 0) {
        task_drop(t, m, (unsigned)why);
        return;
    }
    icmpv6_write_ipv6(ip, ipv6_traffic_class(&was), was.destination, was.source, ICMPV6_OUR_HOPS,
                      len);
    icmpv6_make_reply((uint8_t *)(ip + 1));
    arp_send_answer(t, m, &to);
}

/* Check that the sender of a packet to the gateway may be told, and what: that nobody here has its
 * port (RFC 4443 section 3.1) or its protocol (section 3.4, RFC 8200 section 4). Returns the reason
 * to drop the packet, or -1. */
static int check_refusal(const struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                         struct error *e)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    struct ipv6_payload payload = {0};

    *e = (struct error){.type = ICMPV6_UNREACHABLE, .code = ICMPV6_PORT_CODE};
    if (!is_foreign_host(a, m, ip->source) || !icmpv6_may_answer(ip, f->avail, false) ||
        rte_is_multicast_ether_addr((const struct rte_ether_addr *)f->bytes) ||
        ipv6_walk(ip, f->avail, &payload) != IPV6_WALK_OK)
        return DROP_ICMP_NOT_ALLOWED;
    if (payload.has_fragment)
        return DROP_ICMP_FRAGMENT;
    if (payload.protocol == IPPROTO_UDP)
        return -1;
    if (payload.at != IPV6_LEN || payload.protocol == IPPROTO_NONE)
        return DROP_UNSUPPORTED;
    e->type = ICMPV6_PARAMETER;
    e->code = ICMPV6_NEXT_HEADER_CODE;
    e->value = offsetof(struct ipv6_hdr, next_header);
    return -1;
}

/* Tell the sender of a packet to the gateway that nobody here takes it, from the address that it
 * was sent to. */
static void refuse(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    struct error e;
    int why = check_refusal(a, m, f, &e);

    if (why < 0 && !arp_bucket_take(&a->bucket[arp_side_of6(a, m, f)][CLASS_ERROR]))
        why = DROP_ICMP_RATE;
    if (why < 0)
        why = way_back(t, m, f, &e.to);
    if (why < 0) {
        memcpy(e.from, ((const struct ipv6_hdr *)(f->bytes + f->l2_len))->destination,
               sizeof(e.from));
        why = send_error(t, m, f, &e);
    }
    if (why >= 0)
        task_drop(t, m, (unsigned)why);
}

void arp_ip6_to_us(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct arp *a = t->state;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);

    if (meta_in_port(m) >= a->cfg->n_ports)
        task_drop(t, m, DROP_BAD_PORT);
    else if (ipv6_check(ip, f->avail) != IPV6_OK)
        task_drop(t, m, DROP_IP_MALFORMED);
    else if (nd_is(ip, f->avail))
        arp_nd_receive(t, m, f);
    else if (!arp_is_own6(a, meta_in_port(m), ip->destination))
        task_drop(t, m, a->tables->subscribers->v6 != NULL ? DROP_NOT_FOR_US : DROP_UNSUPPORTED);
    else if (arp_path_is_news6(ip))
        arp_path_learn6(t, m, f);
    else if (a->tables->subscribers->v6 == NULL)
        task_drop(t, m, DROP_UNSUPPORTED);
    else if (ip->next_header == IPPROTO_ICMPV6)
        echo(t, m, f);
    else
        refuse(t, m, f);
}

/* --- packets that could not be forwarded --- */

/* The port's address with the longest prefix in common with another, or of all ports where that one
 * has none (RFC 6724 section 5, rules 5 and 8); NULL: there is none. */
static const struct ipv6 *nearest(const struct arp *a, unsigned port, struct ipv6 to)
{
    const struct ipv6 *best = NULL;

    for (unsigned i = 0; i < a->cfg->n_ports; i++)
        for (unsigned k = 0; k < a->cfg->ports[i].n_addresses6; k++) {
            const struct ipv6 *addr = &a->cfg->ports[i].addresses6[k];
            uint64_t upper = addr->upper ^ to.upper, lower = addr->lower ^ to.lower;

            if ((i != port && a->cfg->ports[port].n_addresses6 > 0) ||
                (best != NULL &&
                 (upper > (best->upper ^ to.upper) ||
                  (upper == (best->upper ^ to.upper) && lower >= (best->lower ^ to.lower)))))
                continue;
            best = addr;
        }
    return best;
}

/* Choose the source of an error to an address that is reached by a port (RFC 4443 section 2.2). The
 * link-local one is no use beyond the link of a subscriber (id; 0: to the core). Returns false
 * where there is none. */
static bool choose_source(const struct arp *a, unsigned port, uint32_t id, struct ipv6 to,
                          uint8_t *from)
{
    const struct ipv6 *addr = nearest(a, port, to);

    if (addr != NULL) {
        store64(from, net64(addr->upper));
        store64(from + 8, net64(addr->lower));
        return true;
    }
    nd_link_local(a->tables->port_mac[port], from);
    return id != 0 && arp_is_on_link(a, id, to);
}

/* Find the way to the sender of a packet, and the error's source: as error_way() of IPv4. Returns
 * the reason to drop the packet, or -1. */
static int error_way(struct task *t, const struct ipv6_hdr *ip, struct error *e)
{
    const struct arp *a = t->state;
    uint32_t id = subscriber_of(a, ip->source), other;
    const uint8_t *mac;

    if (id != 0) {
        if (!to_subscriber(t, id, ip->source, &e->to))
            return DROP_UNRESOLVED;
        return choose_source(a, e->to.port, id, ipv6_of(ip->source), e->from)
                   ? -1
                   : DROP_NO_GATEWAY_ADDRESS;
    }
    other = subscriber_of(a, ip->destination);
    if (other == 0)
        return DROP_UNKNOWN_SUBSCRIBER;
    if (!task_has_output(t, ARP_OUT_ROUTE))
        return DROP_NO_ROUTE_OUTPUT;
    e->to = (struct arp_answer){.output = ARP_OUT_ROUTE,
                                .port = a->tables->subscribers->record[other].port,
                                .subscriber = other};
    mac = a->tables->port_mac[e->to.port];
    arp_set_ethernet(&e->to, mac, mac, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    return choose_source(a, e->to.port, 0, ipv6_of(ip->source), e->from) ? -1
                                                                         : DROP_NO_GATEWAY_ADDRESS;
}

static uint32_t exceeded(const struct arp *a, const struct rte_mbuf *m, const struct ipv6_hdr *ip)
{
    return arp_exceeded(a, m, subscriber_of(a, ip->source), subscriber_of(a, ip->destination),
                        ipv6_len(ip));
}

static const struct {
    uint8_t type, code;
} kind_of[N_PUNTS] = {
    [PUNT_NO_MAC] = {ICMPV6_UNREACHABLE, ICMPV6_ADDRESS_CODE},
    [PUNT_TTL_EXPIRED] = {ICMPV6_TIME_EXCEEDED, ICMPV6_HOP_LIMIT_CODE},
    [PUNT_TOO_BIG] = {ICMPV6_TOO_BIG, 0},
    [PUNT_NO_ROUTE] = {ICMPV6_UNREACHABLE, ICMPV6_NO_ROUTE_CODE},
};

/* Check that a packet may be answered with an error. Returns the reason to drop it, or -1. */
static int check_error(struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                       enum punt_reason why, struct error *e)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    bool too_big = why == PUNT_TOO_BIG;

    if (a->tables->subscribers->v6 == NULL)
        return DROP_UNSUPPORTED;
    if (ipv6_check(ip, f->avail) != IPV6_OK)
        return DROP_IP_MALFORMED;
    if ((!too_big && rte_is_multicast_ether_addr((const struct rte_ether_addr *)f->bytes)) ||
        !icmpv6_may_answer(ip, f->avail, too_big))
        return DROP_ICMP_NOT_ALLOWED;
    *e = (struct error){.type = kind_of[why].type, .code = kind_of[why].code};
    if (too_big && (e->value = exceeded(a, m, ip)) == 0)
        return DROP_NO_MTU;
    return arp_bucket_take(&a->bucket[arp_side_of6(a, m, f)][CLASS_ERROR]) ? -1 : DROP_ICMP_RATE;
}

int arp_answer_error6(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      enum punt_reason reason)
{
    struct error e;
    int why = check_error(t->state, m, f, reason, &e);

    if (why < 0)
        why = error_way(t, (const struct ipv6_hdr *)(f->bytes + f->l2_len), &e);
    return why >= 0 ? why : send_error(t, m, f, &e);
}
