/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The IPv6 header (RFC 8200): checks of a received one, its fields, its extension headers and the
 * kinds of addresses. rte_ipv6_hdr has other names and types of fields in DPDK 24.11 than in 22.11,
 * so the structure is an own one.
 *
 *   version 4, traffic class 8, flow label 20 | payload length 16, next header 8, hop limit 8 |
 *   source 128 | destination 128
 */
#ifndef PACKET_IPV6_H
#define PACKET_IPV6_H

#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "base/ipv6.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/ipv4.h"

#define IPV6_LEN      40
#define IPV6_ADDR_LEN 16
#define IPV6_MIN_MTU  1280 /* of every link: RFC 8200 section 5 */
#define IPV6_MOST_EXT 8    /* extension headers that are walked */

struct ipv6_hdr {
    uint8_t first[4]; /* version, traffic class, flow label */
    rte_be16_t payload_length;
    uint8_t next_header;
    uint8_t hop_limit;
    uint8_t source[IPV6_ADDR_LEN];
    uint8_t destination[IPV6_ADDR_LEN];
} __attribute__((packed));

static_assert(sizeof(struct ipv6_hdr) == IPV6_LEN, "an IPv6 header");

/** Does a frame with an Ethernet header and no tags hold IPv6? Its length has been looked at. */
static inline bool eth_is_ipv6(const uint8_t *frame)
{
    return eth_type(frame) == RTE_BE16(RTE_ETHER_TYPE_IPV6);
}

enum ipv6_verdict {
    IPV6_OK,
    IPV6_BAD_HEADER, /* version is not 6, or the packet is shorter than the header */
    IPV6_BAD_LENGTH, /* payload length beyond the frame's end */
};

/** Check the header of a packet in avail bytes, Ethernet padding included. It has no checksum:
 * RFC 8200 section 8.1 leaves that to the payload. */
static inline enum ipv6_verdict ipv6_check(const struct ipv6_hdr *ip, uint32_t avail)
{
    if (unlikely(avail < IPV6_LEN || (ip->first[0] & 0xf0) != 0x60))
        return IPV6_BAD_HEADER;
    if (unlikely(net16(ip->payload_length) > avail - IPV6_LEN))
        return IPV6_BAD_LENGTH;
    return IPV6_OK;
}

/** The length of a packet with its header: 40..65575 bytes. A jumbogram (RFC 2675) says that its
 * payload has 0 bytes; no Ethernet frame holds one. */
static inline uint32_t ipv6_len(const struct ipv6_hdr *ip)
{
    return IPV6_LEN + (uint32_t)net16(ip->payload_length);
}

/** The traffic class, which is made like the TOS byte of IPv4: DSCP and ECN (RFC 8200 section 7).
 */
static inline uint8_t ipv6_traffic_class(const struct ipv6_hdr *ip)
{
    return (uint8_t)(net16(load16(ip)) >> 4);
}

/** Write the traffic class, leave version and flow label. */
static inline void ipv6_set_traffic_class(struct ipv6_hdr *ip, uint8_t traffic_class)
{
    uint16_t word = net16(load16(ip));

    store16(ip, net16((uint16_t)((word & 0xf00f) | (uint16_t)(traffic_class << 4))));
}

/** The six bits of the Differentiated Services field (RFC 2474). */
static inline uint8_t ipv6_dscp(const struct ipv6_hdr *ip)
{
    return ipv6_traffic_class(ip) >> 2;
}

/** Write the DSCP, leave the ECN bits. */
static inline void ipv6_set_dscp(struct ipv6_hdr *ip, uint8_t dscp)
{
    ipv6_set_traffic_class(ip, (uint8_t)(dscp << 2 | (ipv6_traffic_class(ip) & ECN_MASK)));
}

/** The flow label (RFC 6437): 0..0xfffff. */
static inline uint32_t ipv6_flow_label(const struct ipv6_hdr *ip)
{
    return net32(load32(ip)) & 0xfffff;
}

/**
 * Give a packet out of a tunnel what the outer header, whose TOS byte is ECT(1) or CE, has learned
 * of congestion: as ipv4_merge_ecn() does, RFC 6040 section 4.2.
 */
static inline bool ipv6_merge_ecn(struct ipv6_hdr *ip, uint8_t outer_tos)
{
    uint8_t class = ipv6_traffic_class(ip), outer = outer_tos & ECN_MASK, inner = class & ECN_MASK;

    if (inner == ECN_NOT_ECT)
        return outer != ECN_CE;
    if (inner == ECN_ECT0 || outer == ECN_CE)
        ipv6_set_traffic_class(ip, (uint8_t)((class & ~ECN_MASK) | outer));
    return true;
}

/** The upper 64 bits of an address in host order: the prefix of its link (RFC 4291 section 2.5.4).
 */
static inline uint64_t ipv6_upper(const uint8_t *addr)
{
    return net64(load64(addr));
}

/** The lower 64 bits of an address in host order: its interface identifier. */
static inline uint64_t ipv6_lower(const uint8_t *addr)
{
    return net64(load64(addr + 8));
}

/** An address of 16 bytes. */
static inline struct ipv6 ipv6_of(const uint8_t *addr)
{
    return (struct ipv6){ipv6_upper(addr), ipv6_lower(addr)};
}

/** Write an address into 16 bytes. */
static inline void ipv6_put(uint8_t *addr, struct ipv6 from)
{
    store64(addr, net64(from.upper));
    store64(addr + 8, net64(from.lower));
}

/** Kinds of addresses by who may forward packets to or from them. */
enum ipv6_kind {
    IPV6_GLOBAL,       /* all that are none of the others: RFC 4291 section 2.5.4 */
    IPV6_UNIQUE_LOCAL, /* fc00::/7: routed within a site, RFC 4193 */
    IPV6_UNSPECIFIED,  /* ::, never forwarded: RFC 4291 section 2.5.2 */
    IPV6_LOOPBACK,     /* ::1, never outside of a node: section 2.5.3 */
    IPV6_MAPPED,       /* ::ffff:0:0/96, an IPv4 address in a program: section 2.5.5.2, RFC 6890 */
    IPV6_RESERVED,     /* the rest of ::/64, where the IPv4-compatible ones were: section 2.5.5.1 */
    IPV6_LINK_LOCAL,   /* fe80::/10, never forwarded: section 2.5.6 */
    IPV6_MULTICAST,    /* ff00::/8: section 2.7 */
};

/** The kind of an address. fec0::/10 (site-local) is global, as RFC 3879 section 4 has it, and so
 * is 64:ff9b::/96 (RFC 6052). */
static inline enum ipv6_kind ipv6_kind(const uint8_t *addr)
{
    uint64_t upper = ipv6_upper(addr), lower = ipv6_lower(addr);

    if (upper >> 56 == 0xff)
        return IPV6_MULTICAST;
    if (upper >> 54 == 0xfe80 >> 6)
        return IPV6_LINK_LOCAL;
    if (upper >> 57 == 0xfc >> 1)
        return IPV6_UNIQUE_LOCAL;
    if (upper != 0)
        return IPV6_GLOBAL;
    if (lower >> 32 == 0xffff)
        return IPV6_MAPPED;
    if (lower <= 1)
        return lower == 0 ? IPV6_UNSPECIFIED : IPV6_LOOPBACK;
    return IPV6_RESERVED;
}

/** May a router forward unicast to or from an address with this upper half: is its kind
 * IPV6_GLOBAL or IPV6_UNIQUE_LOCAL? */
static inline bool ipv6_is_forwarded(uint64_t upper)
{
    return upper != 0 && upper >> 54 != 0xfe80 >> 6 && upper >> 56 != 0xff;
}

/** What is behind the extension headers of a packet. */
struct ipv6_payload {
    uint32_t at;       /* bytes from the beginning of the IPv6 header */
    uint8_t protocol;  /* IPPROTO_*; IPPROTO_NONE: nothing follows */
    bool has_fragment; /* one of the headers was a fragment header, */
    bool later;        /* of a fragment that is not the first: there is no transport header */
};

enum ipv6_walk {
    IPV6_WALK_OK,
    IPV6_WALK_CUT,      /* a header goes beyond the packet */
    IPV6_WALK_TOO_MANY, /* more than IPV6_MOST_EXT headers */
    IPV6_WALK_MISPLACED /* hop-by-hop options that do not come first: RFC 8200 section 4.1 */
};

/**
 * Walk along the extension headers of a packet in avail bytes whose header is right, up to the
 * first header of another kind, of which nothing is read: transport, ESP (RFC 4303, the rest is
 * encrypted), another IP header, or what a later fragment goes on with. The order of headers is not
 * looked at but for hop-by-hop options: RFC 8200 section 4.1. A router need not walk along headers
 * to forward a packet; who wants the transport's header must.
 */
static inline enum ipv6_walk ipv6_walk(const struct ipv6_hdr *ip, uint32_t avail,
                                       struct ipv6_payload *to)
{
    const uint8_t *p = (const uint8_t *)ip;
    uint32_t end = ipv6_len(ip), len;

    *to = (struct ipv6_payload){.at = IPV6_LEN, .protocol = ip->next_header};
    if (end > avail)
        end = avail;
    for (unsigned i = 0; !to->later; i++) {
        const uint8_t *header = p + to->at;

        switch (to->protocol) {
        case IPPROTO_HOPOPTS:
            if (i > 0)
                return IPV6_WALK_MISPLACED;
            break;
        case IPPROTO_ROUTING:
        case IPPROTO_DSTOPTS:
        case IPPROTO_FRAGMENT:
        case IPPROTO_AH:
        case IPPROTO_MH:
            break;
        default:
            return IPV6_WALK_OK;
        }
        if (i == IPV6_MOST_EXT)
            return IPV6_WALK_TOO_MANY;
        if (end - to->at < 8)
            return IPV6_WALK_CUT;
        len = 8 + (uint32_t)header[1] * 8;
        if (to->protocol == IPPROTO_AH) /* RFC 4302 section 2.2 counts in 4 bytes, less 2 */
            len = 8 + (uint32_t)header[1] * 4;
        if (to->protocol == IPPROTO_FRAGMENT) { /* RFC 8200 section 4.5: the length is reserved */
            len = 8;
            to->has_fragment = true;
            to->later = (net16(load16(header + 2)) & 0xfff8) != 0;
        }
        if (end - to->at < len)
            return IPV6_WALK_CUT;
        to->protocol = header[0];
        to->at += len;
    }
    return IPV6_WALK_OK;
}

#endif
