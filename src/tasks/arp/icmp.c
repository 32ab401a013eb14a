/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP that the gateway sends: echo replies, and errors about packets that could not be forwarded.
 * Each is made in the mbuf of the packet that caused it. The receiver's address leads to a record
 * with the Ethernet header, because a frame from the data path has lost its tags.
 */
#include "packet/frame.h"
#include "packet/icmp.h"
#include "packet/qinq.h"
#include "tasks/arp/answer.h"
#include "tasks/arp/lines.h"

/* Id of the subscriber with an address (host order), or 0. */
static uint32_t subscriber_of(const struct arp *a, uint32_t addr)
{
    return idmap_get(a->tables->subscribers->by_ipv4, addr);
}

/* Find the way to a subscriber, with its tags. Returns false, after an ARP request, where its MAC
 * is not known. */
static bool to_subscriber(struct task *t, uint32_t id, uint32_t addr, struct arp_answer *to)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint8_t mac[6];

    if (!subscriber_find_mac(s, rte_cpu_to_be_32(addr), mac)) {
        arp_ask_subscriber(t, id, addr);
        return false;
    }
    to->output = ARP_OUT_TO;
    to->port = s->port;
    to->subscriber = id;
    to->l2_len = QINQ_LEN;
    memcpy(to->l2, s->l2, QINQ_LEN);
    memcpy(to->l2, mac, sizeof(mac));
    return true;
}

void arp_set_ethernet(struct arp_answer *to, const uint8_t *dst, const uint8_t *src,
                      rte_be16_t type)
{
    to->l2_len = ETH_LEN;
    memcpy(to->l2, dst, 6);
    memcpy(to->l2 + 6, src, 6);
    store16(to->l2 + ETH_MACS, type);
}

uint8_t *arp_reframe(struct rte_mbuf *m, const struct arp_answer *to, uint32_t at, uint32_t keep,
                     uint32_t len)
{
    int pull = (int)at - (int)(to->l2_len + len - keep);

    if (-pull > (int)rte_pktmbuf_headroom(m))
        return NULL;
    frame_set(m, pull, to->l2_len + len);
    memcpy(frame_bytes(m), to->l2, to->l2_len);
    return frame_bytes(m) + to->l2_len;
}

/* Give an answer to a subscriber the priority that qinq_encap gives packets of the same DSCP. */
static void set_priority(const struct arp *a, struct rte_mbuf *m, const struct arp_answer *to)
{
    const uint8_t *packet = frame_bytes(m) + to->l2_len;
    uint8_t tos = load16(packet - 2) == RTE_BE16(RTE_ETHER_TYPE_IPV6)
                      ? ipv6_traffic_class((const struct ipv6_hdr *)packet)
                      : ((const struct rte_ipv4_hdr *)packet)->type_of_service;

    if (a->pcp_from_dscp && to->l2_len == QINQ_LEN)
        qinq_write(frame_bytes(m), to->l2, tos >> 5);
}

void arp_send_answer(struct task *t, struct rte_mbuf *m, const struct arp_answer *to)
{
    set_priority(t->state, m, to);
    meta_set_subscriber(m, to->subscriber);
    meta_set_nexthop(m, 0);
    meta_set_out_port(m, to->port);
    if (to->output == ARP_OUT_TO)
        arp_send(t, m);
    else
        task_emit(t, to->output, m);
}

/* What an error says: type and code. */
struct icmp_kind {
    uint8_t type, code;
};

static const struct icmp_kind no_protocol = {ICMP_UNREACHABLE, ICMP_PROTOCOL_CODE};
static const struct icmp_kind no_port = {ICMP_UNREACHABLE, ICMP_PORT_CODE};

/* Check that an ICMP packet to the gateway, whose IPv4 header is right, is a whole echo request
 * (RFC 792). Returns the reason to drop it, or -1. */
static int check_echo(const struct rte_ipv4_hdr *ip)
{
    const rte_be16_t part = RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG);
    uint32_t header = rte_ipv4_hdr_len(ip), len = rte_be_to_cpu_16(ip->total_length) - header;
    const uint8_t *icmp = (const uint8_t *)ip + header;

    if ((ip->fragment_offset & part) != 0)
        return DROP_ICMP_FRAGMENT;
    if (len < ICMP_LEN || rte_raw_cksum(icmp, len) != 0xffff)
        return DROP_ICMP_MALFORMED;
    return icmp[0] == ICMP_ECHO_REQUEST && icmp[1] == 0 ? -1 : DROP_UNSUPPORTED;
}

/* RFC 1122 section 3.2.1.3: a source must be one host's, and not the gateway's. */
static bool is_foreign_host(const struct arp *a, uint32_t addr)
{
    return ipv4_is_unicast(addr) && !route_is_local(a->tables->routes, addr);
}

/* Find the way back to the sender of a packet to the gateway. Returns the reason to drop it, or -1.
 */
static int way_back(struct task *t, const struct rte_mbuf *m, const struct arp_frame *f,
                    uint32_t asker, struct arp_answer *to)
{
    const struct arp *a = t->state;
    uint32_t id = subscriber_of(a, asker);

    if (id != 0)
        return to_subscriber(t, id, asker, to) ? -1 : DROP_UNRESOLVED;
    if (f->l2_len != ETH_LEN)
        return DROP_UNKNOWN_SUBSCRIBER;
    if (meta_in_port(m) >= a->cfg->n_ports)
        return DROP_BAD_PORT;
    if (!rte_is_valid_assigned_ether_addr((const struct rte_ether_addr *)(f->bytes + 6)))
        return DROP_BAD_FRAME;
    to->output = ARP_OUT_TO;
    to->subscriber = 0;
    to->port = (uint8_t)meta_in_port(m);
    arp_set_ethernet(to, f->bytes + 6, a->tables->port_mac[to->port],
                     RTE_BE16(RTE_ETHER_TYPE_IPV4));
    return -1;
}

/* Send the error about a packet, in its mbuf, from an address of the gateway. Returns the reason to
 * drop the packet, or -1. */
static int send_error(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                      const struct arp_answer *to, struct icmp_kind kind, rte_be32_t ours,
                      uint16_t mtu)
{
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(f->bytes + f->l2_len);
    rte_be32_t sender = ip->src_addr;
    uint32_t quote = icmp_quote_len(ip);

    ip =
        (struct rte_ipv4_hdr *)arp_reframe(m, to, f->l2_len, quote, sizeof(*ip) + ICMP_LEN + quote);
    if (ip == NULL)
        return DROP_NO_ROOM;
    icmp_write_error((uint8_t *)(ip + 1), kind.type, kind.code, mtu, quote);
    icmp_write_ipv4(ip, ARP_TOS, ours, sender, ICMP_LEN + quote);
    arp_send_answer(t, m, to);
    return -1;
}

/* Tell the sender of a packet to the gateway that nobody here has its port or its protocol: from
 * the address that it was sent to (RFC 1122 section 3.2.2.1, RFC 1812 section 4.3.3.1). */
static void refuse(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f->bytes + f->l2_len);
    uint32_t src = rte_be_to_cpu_32(ip->src_addr);
    struct arp_answer to;
    int why = -1;

    if (!icmp_may_answer(ip) || !is_foreign_host(a, src) ||
        rte_is_multicast_ether_addr((const struct rte_ether_addr *)f->bytes))
        why = DROP_ICMP_NOT_ALLOWED;
    else if (!arp_bucket_take(&a->bucket[arp_side_of(a, m, src)][CLASS_ERROR]))
        why = DROP_ICMP_RATE;
    else
        why = way_back(t, m, f, src, &to);
    if (why < 0)
        why = send_error(t, m, f, &to, ip->next_proto_id == IPPROTO_UDP ? no_port : no_protocol,
                         ip->dst_addr, 0);
    if (why >= 0)
        task_drop(t, m, (unsigned)why);
}

/* Answer an echo request in its mbuf. */
static void echo(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(f->bytes + f->l2_len), was = *ip;
    uint32_t src = rte_be_to_cpu_32(ip->src_addr), header = rte_ipv4_hdr_len(ip), len;
    struct arp_answer to;
    int why = check_echo(ip);

    if (why < 0 && !is_foreign_host(a, src))
        why = DROP_ICMP_NOT_ALLOWED;
    if (why < 0 && !arp_bucket_take(&a->bucket[arp_side_of(a, m, src)][CLASS_ECHO]))
        why = DROP_ICMP_RATE;
    if (why < 0)
        why = way_back(t, m, f, src, &to);
    if (why >= 0) {
        task_drop(t, m, (unsigned)why);
        return;
    }
    len = rte_be_to_cpu_16(ip->total_length) - header;
    /* the reply has no options */
    ip = (struct rte_ipv4_hdr *)arp_reframe(m, &to, f->l2_len + header, len, sizeof(*ip) + len);
    if (ip == NULL) {
        task_drop(t, m, DROP_NO_ROOM);
        return;
    }
    icmp_write_ipv4(ip, was.type_of_service, was.dst_addr, was.src_addr, len);
    icmp_make_reply((uint8_t *)(ip + 1));
    arp_send_answer(t, m, &to);
}

void arp_ip_to_us(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct arp *a = t->state;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f->bytes + f->l2_len);

    if (ipv4_check(ip, f->avail) != IPV4_OK)
        task_drop(t, m, DROP_IP_MALFORMED);
    else if (!route_is_local(a->tables->routes, rte_be_to_cpu_32(ip->dst_addr)))
        task_drop(t, m, DROP_NOT_FOR_US);
    else if (arp_is_renewal(a, m, ip))
        arp_renew(t, m, f);
    else if (ip->next_proto_id != IPPROTO_ICMP)
        refuse(t, m, f);
    else if (arp_path_is_news(ip))
        arp_path_learn(t, m, ip);
    else
        echo(t, m, f);
}

/*
 * Find the way to the sender of a packet that could not be forwarded. A subscriber is answered with
 * its tags. Towards the core the answer is routed like a packet of the subscriber that the lost
 * packet was for, so that it takes the same tunnel. *port: the answer's source is its address.
 * Returns the reason to drop the packet, or -1.
 */
static int error_way(struct task *t, const struct rte_ipv4_hdr *ip, struct arp_answer *to,
                     uint8_t *port)
{
    const struct arp *a = t->state;
    uint32_t src = rte_be_to_cpu_32(ip->src_addr), dst = rte_be_to_cpu_32(ip->dst_addr);
    uint32_t id = subscriber_of(a, src);

    if (id != 0) {
        *port = a->tables->subscribers->record[id].port;
        return to_subscriber(t, id, src, to) ? -1 : DROP_UNRESOLVED;
    }
    id = subscriber_of(a, dst);
    if (id == 0)
        return DROP_UNKNOWN_SUBSCRIBER;
    if (!task_has_output(t, ARP_OUT_ROUTE))
        return DROP_NO_ROUTE_OUTPUT;
    *port = a->tables->subscribers->record[id].port;
    to->output = ARP_OUT_ROUTE;
    to->subscriber = id;
    to->port = *port;
    arp_set_ethernet(to, a->tables->port_mac[*port], a->tables->port_mac[*port],
                     RTE_BE16(RTE_ETHER_TYPE_IPV4));
    return -1;
}

uint32_t arp_exceeded(const struct arp *a, const struct rte_mbuf *m, uint32_t from, uint32_t to,
                      uint32_t size)
{
    const struct route_table *r = a->tables->routes;
    uint32_t best = 0, limit, id = meta_nexthop(m);

    if (to != 0) {
        limit = a->tables->subscribers->record[to].mtu;
        best = size > limit ? limit : 0;
    }
    if (from != 0 && id >= 1 && id <= r->n_nexthops) {
        limit = r->nexthop[id].max_ip;
        if (size > limit && (best == 0 || limit < best))
            best = limit;
    }
    return best;
}

/* The same of a packet of IPv4. */
static uint16_t exceeded(const struct arp *a, const struct rte_mbuf *m,
                         const struct rte_ipv4_hdr *ip)
{
    return (uint16_t)arp_exceeded(a, m, subscriber_of(a, rte_be_to_cpu_32(ip->src_addr)),
                                  subscriber_of(a, rte_be_to_cpu_32(ip->dst_addr)),
                                  rte_be_to_cpu_16(ip->total_length));
}

/* Check that a packet may be answered with an ICMP error; *mtu: of a packet that is too big.
 * Returns the reason to drop it, or -1. */
static int check_error(struct arp *a, const struct rte_mbuf *m, const struct arp_frame *f,
                       enum punt_reason why, uint16_t *mtu)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f->bytes + f->l2_len);
    enum arp_side side;

    *mtu = 0;
    if (f->type != RTE_ETHER_TYPE_IPV4)
        return DROP_UNSUPPORTED;
    if (ipv4_check(ip, f->avail) != IPV4_OK)
        return DROP_IP_MALFORMED;
    if (rte_is_multicast_ether_addr((const struct rte_ether_addr *)f->bytes) ||
        !icmp_may_answer(ip))
        return DROP_ICMP_NOT_ALLOWED;
    if (why == PUNT_TOO_BIG && (*mtu = exceeded(a, m, ip)) == 0)
        return DROP_NO_MTU;
    side = arp_side_of(a, m, rte_be_to_cpu_32(ip->src_addr));
    return arp_bucket_take(&a->bucket[side][CLASS_ERROR]) ? -1 : DROP_ICMP_RATE;
}

static const struct icmp_kind kind_of[N_PUNTS] = {
    [PUNT_NO_MAC] = {ICMP_UNREACHABLE, ICMP_HOST_CODE},
    [PUNT_TTL_EXPIRED] = {ICMP_TIME_EXCEEDED, ICMP_TTL_CODE},
    [PUNT_TOO_BIG] = {ICMP_UNREACHABLE, ICMP_TOO_BIG_CODE},
    [PUNT_NO_ROUTE] = {ICMP_UNREACHABLE, ICMP_NET_CODE},
};

/* Make the error about a packet and send it in its mbuf. Returns the reason to drop the packet
 * where it must or can not be answered, or -1. */
static int answer_error(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                        enum punt_reason reason)
{
    struct arp *a = t->state;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f->bytes + f->l2_len);
    struct arp_answer to;
    uint32_t ours = 0;
    uint16_t mtu;
    uint8_t port = 0;
    int why;

    if (f->type == RTE_ETHER_TYPE_IPV6)
        return arp_answer_error6(t, m, f, reason);
    why = check_error(a, m, f, reason, &mtu);
    if (why < 0)
        why = error_way(t, ip, &to, &port);
    if (why >= 0)
        return why;
    ours = arp_gateway_address(a, port, rte_be_to_cpu_32(ip->src_addr));
    if (ours == 0)
        return DROP_NO_GATEWAY_ADDRESS;
    return send_error(t, m, f, &to, kind_of[reason], rte_cpu_to_be_32(ours), mtu);
}

void arp_icmp_error(struct task *t, struct rte_mbuf *m, const struct arp_frame *f,
                    enum punt_reason reason)
{
    int why = answer_error(t, m, f, reason);

    if (why >= 0)
        task_drop(t, m, (unsigned)why);
}

bool arp_host_unreachable(struct task *t, struct rte_mbuf *m)
{
    struct arp *a = t->state;
    struct arp_frame f = {.bytes = frame_bytes(m),
                          .l2_len = ETH_LEN,
                          .avail = m->data_len - ETH_LEN,
                          .type = rte_be_to_cpu_16(eth_type(frame_bytes(m)))};

    if (answer_error(t, m, &f, PUNT_NO_MAC) >= 0)
        return false;
    a->unreachables++;
    return true;
}
