/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of gre_decap for a tunnelled packet, shared by the task and its fused chains
 * (fused/). */
#ifndef TASKS_GRE_DECAP_H
#define TASKS_GRE_DECAP_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/gre.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "tables/dscp.h"
#include "tables/martians.h"
#include "tables/tables.h"

#define GRE_DECAP_KEY_IPV4                                                                         \
    RTE_BE32(GRE_HAS_KEY << 16 | GRE_PROTO_IPV4) /* the usual first word of GRE, */
#define GRE_DECAP_KEY_IPV6 RTE_BE32(GRE_HAS_KEY << 16 | GRE_PROTO_IPV6) /* and of RFC 7676 */
#define GRE_DECAP_FRAGMENT (RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)

/** The state of an instance. */
struct gre_decap {
    const struct subscriber_table *subscribers;
    const struct route_table *routes;
    const uint8_t (*port_mac)[MAC_ROOM];
    const struct dscp_table *dscp; /* NULL: no scheduler follows */
    struct far_ends far_ends;
    bool key_required;
    bool any_far_end;
    bool cold; /* packets come from a port or another core */
};

/** What an outer packet has in its tunnel. */
struct gre_found {
    const uint32_t *slot; /* of the subscriber's id; of nobody where the packet names none */
    uint32_t id;          /* the slot of a packet whose subscriber has been found already */
    uint32_t inner;       /* bytes from the outer header to the inner one */
    uint32_t avail;       /* bytes from the inner header to the end of the outer packet */
    int verdict;          /* where the slot is empty */
    bool is_ipv6;         /* by the protocol type; else IPv4 */
    uint8_t outer_class;  /* TOS byte or traffic class of the outer header */
};

/** Parse an outer packet in avail bytes of any kind. Returns the verdict for an empty slot. */
int gre_decap_parse(const struct gre_decap *d, const struct rte_ipv4_hdr *ip, uint32_t avail,
                    struct gre_found *out);

/** The same of one whose outer header should be IPv6, where tunnels of IPv6 may end. */
int gre_decap_parse6(const struct gre_decap *d, const struct ipv6_hdr *ip, uint32_t avail,
                     struct gre_found *out);

/** May tunnels of IPv6 end here? */
static inline bool gre_decap_takes6(const struct gre_decap *d)
{
    return far_ends6_any(&d->routes->far_ends6) || (d->any_far_end && route_has6(d->routes));
}

/** Is the first word of a GRE header a usual one, with a key and of a family that there is? */
static inline bool gre_decap_is_usual(const struct gre_decap *d, rte_be32_t word)
{
    /* A product is 0 where a factor is: of a disjunction the compiler makes a branch by the family,
     * which the processor mispredicts where both families are mixed. */
    uint64_t four = word ^ GRE_DECAP_KEY_IPV4, six = word ^ GRE_DECAP_KEY_IPV6;

    return four * (six | (d->subscribers->v6 == NULL)) == 0;
}

/** Find what an outer packet in avail bytes of the usual kind has in its tunnel: no options, whole,
 * a key and nothing else in the GRE header. Returns whether it is one; else gre_decap_parse() has
 * to look. */
static inline bool gre_decap_find(const struct gre_decap *d, const struct rte_ipv4_hdr *ip,
                                  uint32_t avail, struct gre_found *out)
{
    const uint8_t *gre = (const uint8_t *)(ip + 1);
    uint32_t total = net16(ip->total_length);

    if (unlikely(avail < sizeof(*ip) + GRE_KEY_LEN || ip->version_ihl != RTE_IPV4_VHL_DEF ||
                 ipv4_check(ip, avail) != IPV4_OK || total < sizeof(*ip) + GRE_KEY_LEN ||
                 !far_ends_have(&d->far_ends, load64(&ip->src_addr)) ||
                 (ip->fragment_offset & RTE_BE16(GRE_DECAP_FRAGMENT)) != 0 ||
                 ip->next_proto_id != IPPROTO_GRE || !gre_decap_is_usual(d, load32(gre))))
        return false;
    out->slot = idmap_slot(d->subscribers->by_gre_key, net32(load32(gre + GRE_LEN)), &out->id);
    out->inner = sizeof(*ip) + GRE_KEY_LEN;
    out->avail = total - sizeof(*ip) - GRE_KEY_LEN;
    out->is_ipv6 = load32(gre) == GRE_DECAP_KEY_IPV6;
    out->outer_class = ip->type_of_service;
    return true;
}

/** Is an address of IPv6 one from which no packet can come out of the core to a subscriber? */
static inline bool gre_decap_is_martian6(const struct gre_decap *d, struct ipv6 from,
                                         const struct subscriber *s, const struct subscriber6 *s6)
{
    return !ipv6_is_forwarded(from.upper) ||
           source_is_martian6(d->routes, d->subscribers->v6, s, s6, from);
}

/** Is an inner packet to an address of the subscriber? */
static inline bool gre_decap_is_to(const struct rte_ipv4_hdr *ip, const struct subscriber *s)
{
    return subscriber_has_ipv4(s, ip->dst_addr);
}

/** May an inner packet of IPv6 in avail bytes go to a subscriber? */
static inline bool gre_decap_may_pass6(const struct gre_decap *d, const struct ipv6_hdr *ip,
                                       uint32_t avail, const struct subscriber *s,
                                       const struct subscriber6 *s6)
{
    struct ipv6 to, from;

    if (ipv6_check(ip, avail) != IPV6_OK)
        return false;
    to = ipv6_of(ip->destination);
    from = ipv6_of(ip->source);
    return ipv6_is_forwarded(to.upper) && subscriber_has_ipv6(s, d->subscribers->v6, s6, to) &&
           !gre_decap_is_martian6(d, from, s, s6);
}

/** May an inner packet in avail bytes, out of a packet with this outer TOS byte, go to a
 * subscriber? What the outer header tells of congestion is left to the task: RFC 6040. */
static inline bool gre_decap_may_pass(const struct gre_decap *d, const struct rte_ipv4_hdr *ip,
                                      uint32_t avail, const struct subscriber *s)
{
    return ipv4_check(ip, avail) == IPV4_OK && gre_decap_is_to(ip, s) &&
           !source_is_martian(d->routes, s, ip->src_addr);
}

#endif
