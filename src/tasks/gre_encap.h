/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers that gre_encap puts before a packet, for the task itself and for the chains that it
 * is in (fused/). */
#ifndef TASKS_GRE_ENCAP_H
#define TASKS_GRE_ENCAP_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/gre.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "tables/tables.h"

#define GRE_ENCAP_IP_LEN (sizeof(struct rte_ipv4_hdr)) /* of the outer header */
#define GRE_ENCAP_MORE6  (IPV6_LEN - GRE_ENCAP_IP_LEN) /* bytes more where that is IPv6 */

/** The state of an instance. */
struct gre_encap {
    const struct nexthop *nexthop;
    const struct subscriber *record;
    uint8_t tos_mask; /* bits of the inner TOS byte that the outer TOS byte gets */
    bool with_key;
    bool cold; /* packets come from a port or another core */
};

/** Bytes that go before a packet into a tunnel of IPv4. */
static inline uint32_t gre_encap_len(bool with_key)
{
    return GRE_ENCAP_IP_LEN + (with_key ? GRE_KEY_LEN : GRE_LEN);
}

/** Bytes that go before a packet to a next hop, whose tunnel may be of either family. */
static inline uint32_t gre_encap_len_to(bool with_key, const struct nexthop *nh)
{
    return gre_encap_len(with_key) +
           (unlikely(nh->has_gre == TUNNEL_IPV6) ? (uint32_t)GRE_ENCAP_MORE6 : 0);
}

/**
 * Write the outer IPv4 header and the first four bytes of GRE from the next hop's template before
 * an inner packet of so many bytes; len: bytes of outer IPv4 and GRE. Returns the outer IPv4
 * header. No store reaches the inner header. With the usual headroom, no store that holds a byte
 * which mpls_push will read (DSCP, TTL) crosses a cache line: a load waits until such a store has
 * reached the cache.
 */
static inline uint8_t *gre_encap_write_ip(uint8_t *inner, const struct nexthop *nh, uint32_t len,
                                          uint8_t tos, uint32_t size)
{
    uint8_t *outer = inner - len;
    /* version and IHL come from the template: here are 0, TOS and total length */
    rte_be32_t first = rte_cpu_to_be_32((uint32_t)tos << 16 | (size + len));

    store32(outer, load32(nh->ip_gre) | first);
    store32(outer + 4, load32(nh->ip_gre + 4));
    copy16(outer + 8, nh->ip_gre + 8);
    store16(outer + offsetof(struct rte_ipv4_hdr, hdr_checksum),
            (uint16_t)~csum_fold(nh->ip_sum + (first & 0xffff) + (first >> 16)));
    return outer;
}

/** Write the tunnel's headers before an inner packet of IPv4, with a key or without. Returns the
 * outer IPv4 header. */
static inline uint8_t *gre_encap_write(const struct gre_encap *e, uint8_t *inner,
                                       const struct nexthop *nh, rte_be32_t key)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)inner;
    uint8_t *outer = gre_encap_write_ip(inner, nh, gre_encap_len(e->with_key),
                                        ip->type_of_service & e->tos_mask, net16(ip->total_length));

    store32(outer + GRE_ENCAP_IP_LEN + (e->with_key ? GRE_LEN : 0),
            e->with_key ? key : RTE_BE32(GRE_PROTO_IPV4)); /* no flags */
    return outer;
}

/** The same before an inner packet of IPv6: RFC 7676. The outer header is IPv4's; it gets the DSCP
 * of the traffic class. */
static inline uint8_t *gre_encap_write6(const struct gre_encap *e, uint8_t *inner,
                                        const struct nexthop *nh, rte_be32_t key)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)inner;
    uint8_t tos = ipv6_traffic_class(ip) & e->tos_mask;
    uint8_t *outer = gre_encap_write_ip(inner, nh, gre_encap_len(e->with_key), tos, ipv6_len(ip));
    uint8_t *gre = outer + GRE_ENCAP_IP_LEN;

    store32(gre,
            e->with_key ? RTE_BE32(GRE_HAS_KEY << 16 | GRE_PROTO_IPV6) : RTE_BE32(GRE_PROTO_IPV6));
    if (e->with_key)
        store32(gre + GRE_LEN, key);
    return outer;
}

/**
 * Write the tunnel's headers before an inner packet of either family where it is of IPv6 (RFC
 * 7676). Returns the outer IPv6 header, which gets the DSCP as one of IPv4 does, and whose flow
 * label names the inner flow, so that routers share the tunnel's packets among equal ways (RFC 6438
 * section 3).
 */
uint8_t *gre_encap_write_over6(const struct gre_encap *e, uint8_t *inner, const struct nexthop *nh,
                               rte_be32_t key, bool is_six);

#endif
