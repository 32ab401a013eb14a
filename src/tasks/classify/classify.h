/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks and the result of classify for a subscriber's packet, shared by the task and its fused
 * chains (fused/). */
#ifndef TASKS_CLASSIFY_H
#define TASKS_CLASSIFY_H

#include "engine/task.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/line.h"
#include "packet/qinq.h"
#include "tables/dscp.h"
#include "tables/martians.h"
#include "tables/tables.h"

/** The state of an instance. */
struct classify {
    const struct idmap *map;
    const struct subscriber *record;
    const struct subscriber6_table *v6; /* NULL: nobody has IPv6 */
    const struct route_table *routes;
    const uint8_t (*port_mac)[MAC_ROOM];
    const struct dscp_table *dscp; /* NULL: no scheduler follows */
    struct punt_lines *lines;      /* of who punts for the control plane; NULL: there is none */
    bool anti_spoof;
    bool by_address;
    bool not_only_ip; /* match = "any" */
    bool has_control; /* there is a control plane, which answers DHCP and such */
    bool encap; /* the next task runs on this core at once, and some next hop puts headers before */
};

/** The slot of the subscriber that a frame's port and tags name; that of nobody where they cannot.
 */
static inline const uint32_t *classify_slot(const struct classify *c, const struct rte_mbuf *m,
                                            uint16_t port, uint32_t *own)
{
    uint64_t tags;

    if (unlikely(m->nb_segs != 1 || m->data_len < QINQ_LEN))
        return idmap_no_slot();
    tags = qinq_tags(frame_bytes(m));
    if (unlikely(!qinq_is_double(tags) || port > UINT8_MAX))
        return idmap_no_slot();
    return idmap_slot(c->map,
                      subscriber_vlan_key((uint8_t)port, qinq_svlan(tags), qinq_cvlan(tags)), own);
}

/** The slot of the subscriber that an IPv4 packet's destination names; that of nobody where it
 * cannot. */
static inline const uint32_t *classify_slot_by_address(const struct classify *c,
                                                       const struct rte_mbuf *m, uint32_t *own)
{
    const uint8_t *f = frame_bytes(m);

    if (unlikely(m->nb_segs != 1 || m->data_len < ETH_LEN + sizeof(struct rte_ipv4_hdr) ||
                 eth_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV4)))
        return idmap_no_slot();
    return idmap_slot(c->map, net32(((const struct rte_ipv4_hdr *)(f + ETH_LEN))->dst_addr), own);
}

/** Does a frame of len bytes from a subscriber's line, of this family, hold a packet of his to the
 * gateway's MAC, which is the source in his header template? Ingress filtering: RFC 2827. */
static inline bool classify_may_pass(const struct classify *c, const uint8_t *f, uint32_t len,
                                     const struct subscriber *s)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + QINQ_LEN);

    return eth_is_to(f, s->l2 + 6) && ipv4_check(ip, len - QINQ_LEN) == IPV4_OK &&
           (!c->anti_spoof || subscriber_has_ipv4(s, ip->src_addr));
}

/** The same of a frame whose family is not known. */
static inline bool classify_is_good(const struct classify *c, const uint8_t *f, uint32_t len,
                                    const struct subscriber *s)
{
    return qinq_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV4) && classify_may_pass(c, f, len, s);
}

/** The same of an IPv6 packet of a subscriber who has IPv6, from and to what a router forwards. */
static inline bool classify_may_pass6(const struct classify *c, const uint8_t *f, uint32_t len,
                                      const struct subscriber *s, const struct subscriber6 *s6)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f + QINQ_LEN);
    struct ipv6 source = ipv6_of(ip->source);

    return s->has_ipv6 && eth_is_to(f, s->l2 + 6) && ipv6_check(ip, len - QINQ_LEN) == IPV6_OK &&
           ipv6_is_forwarded(source.upper) && ipv6_is_forwarded(ipv6_upper(ip->destination)) &&
           (!c->anti_spoof || subscriber_has_ipv6(s, c->v6, s6, source));
}

static inline bool classify_is_good6(const struct classify *c, const uint8_t *f, uint32_t len,
                                     const struct subscriber *s, const struct subscriber6 *s6)
{
    return qinq_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV6) && classify_may_pass6(c, f, len, s, s6);
}

/** Does a frame of len bytes from a core without tunnels hold an IPv4 packet to a subscriber that
 * may come from there? */
static inline bool classify_may_reach(const struct classify *c, const uint8_t *f, uint32_t len,
                                      const struct subscriber *s, const uint8_t *own_mac)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + ETH_LEN);

    return eth_is_to(f, own_mac) && ipv4_check(ip, len - ETH_LEN) == IPV4_OK &&
           !source_is_martian(c->routes, s, ip->src_addr);
}

/** The same of an IPv6 packet. */
static inline bool classify_may_reach6(const struct classify *c, const uint8_t *f, uint32_t len,
                                       const struct subscriber *s, const struct subscriber6 *s6,
                                       const uint8_t *own_mac)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f + ETH_LEN);
    struct ipv6 source = ipv6_of(ip->source);

    return eth_is_to(f, own_mac) && ipv6_check(ip, len - ETH_LEN) == IPV6_OK &&
           ipv6_is_forwarded(source.upper) && !source_is_martian6(c->routes, c->v6, s, s6, source);
}

/** What a frame from a line has for the control plane, where it is to the gateway's MAC or to a
 * group; PUNT_HELLO: nothing. */
static inline enum punt_kind classify_line_kind(const struct rte_mbuf *m, const uint8_t *own_mac)
{
    const uint8_t *f = frame_bytes(m);

    if (m->nb_segs != 1 || m->data_len < QINQ_LEN || !qinq_is_double(qinq_tags(f)) ||
        !line_vlan_ok(qinq_svlan(qinq_tags(f))) || !line_vlan_ok(qinq_cvlan(qinq_tags(f))) ||
        ((f[0] & 1) == 0 && !eth_is_to(f, own_mac)))
        return PUNT_HELLO;
    return line_kind(f, QINQ_LEN, m->data_len);
}

/**
 * May a subscriber (id 0: the line has none) send such a frame from its source? DHCP: from 0.0.0.0,
 * from an address of the subscriber, and on a line without a subscriber from any address, as a CPE
 * may renew an earlier lease. DHCPv6: from a link-local address (RFC 8415 section 18.2.1) or from
 * an address of the subscriber.
 */
static inline bool classify_line_source(const struct classify *c, const uint8_t *f,
                                        enum punt_kind kind, uint32_t id)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + QINQ_LEN);
    const struct ipv6_hdr *ip6 = (const struct ipv6_hdr *)(f + QINQ_LEN);

    if (kind == PUNT_DHCP4)
        return id == 0 || ip->src_addr == 0 || subscriber_has_ipv4(&c->record[id], ip->src_addr);
    if (kind == PUNT_DHCP6)
        return ipv6_kind(ip6->source) == IPV6_LINK_LOCAL ||
               (id != 0 && c->record[id].has_ipv6 &&
                subscriber6_owns(&c->v6->record[id], ipv6_of(ip6->source)));
    return true;
}

#endif
