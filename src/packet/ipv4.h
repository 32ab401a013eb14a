/* SPDX-License-Identifier: BSD-3-Clause */
/* The IPv4 header: checks of a received one (RFC 1812 section 5.2.2), and changes that keep its
 * checksum right (RFC 1624). */
#ifndef PACKET_IPV4_H
#define PACKET_IPV4_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

#include "packet/bytes.h"

#define IPV4_LINK_LOCAL     0xa9fe0000u /* 169.254.0.0, host order */
#define IPV4_LINK_LOCAL_LEN 16

enum ipv4_verdict {
    IPV4_OK,
    IPV4_BAD_HEADER,   /* version is not 4, IHL is below 5, or the packet is shorter than its header
                        */
    IPV4_BAD_LENGTH,   /* total length below the header's or beyond the frame's end */
    IPV4_BAD_CHECKSUM, /* options are covered */
};

/** Fold a one's-complement sum to 16 bits. */
static inline uint16_t csum_fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/** Is the checksum of a header of IPv4 of len bytes (a multiple of 4, at least 20) right? The
 * one's-complement sum of its words is 0xffff then (RFC 1071), so that any sum of them is a
 * multiple of 0xffff. Its remainder takes one product, where folding takes six operations in a row.
 */
static inline bool ipv4_sum_is_right(const void *header, uint32_t len)
{
    const uint8_t *p = header;
    uint64_t sum = (uint64_t)load32(p) + load32(p + 4) + load32(p + 8) + load32(p + 12);

    for (uint32_t i = 16; i < 20 || unlikely(i < len); i += 4)
        sum += load32(p + i);
    return sum % 0xffff == 0;
}

/** What ipv4_check() says of a header of so many bytes, which are there. */
static inline enum ipv4_verdict ipv4_check_sized(const struct rte_ipv4_hdr *ip, uint32_t header,
                                                 uint32_t avail)
{
    uint32_t total = net16(ip->total_length);

    if (unlikely(total < header || total > avail))
        return IPV4_BAD_LENGTH;
    if (unlikely(!ipv4_sum_is_right(ip, header)))
        return IPV4_BAD_CHECKSUM;
    return IPV4_OK;
}

/** Check the header of a packet in avail bytes, Ethernet padding included. The usual header is of a
 * size that the compiler knows, which makes its sum shorter. */
static inline enum ipv4_verdict ipv4_check(const struct rte_ipv4_hdr *ip, uint32_t avail)
{
    uint32_t header;

    if (unlikely(avail < sizeof(*ip)))
        return IPV4_BAD_HEADER;
    if (likely(ip->version_ihl == RTE_IPV4_VHL_DEF))
        return ipv4_check_sized(ip, sizeof(*ip), avail);
    header = rte_ipv4_hdr_len(ip); /* options, or no IPv4 at all */
    if ((ip->version_ihl & 0xf0) != 0x40 || header < sizeof(*ip) || header > avail)
        return IPV4_BAD_HEADER;
    return ipv4_check_sized(ip, header, avail);
}

/** Replace one 16-bit word of a header in its checksum: HC' = ~(~HC + ~m + m'), RFC 1624
 * equation 3. */
static inline rte_be16_t csum_replace(rte_be16_t csum, rte_be16_t old, rte_be16_t new)
{
    return (rte_be16_t)~csum_fold((uint32_t)(uint16_t)~csum + (uint16_t)~old + new);
}

/** Decrement the TTL, which must be above 0, and mend the checksum. */
static inline void ipv4_ttl_decrement(struct rte_ipv4_hdr *ip)
{
    uint32_t sum = (uint32_t)ip->hdr_checksum + RTE_BE16(0x0100);

    ip->time_to_live--;
    ip->hdr_checksum = (rte_be16_t)(sum + (sum >= 0xffff));
}

/**
 * Is an address (host order) one that a router may send unicast to? Not 0/8, loopback, multicast,
 * reserved or broadcast: RFC 1812 sections 4.2.2.11 and 5.3.7.
 */
static inline bool ipv4_is_unicast(uint32_t addr)
{
    uint32_t net = addr >> 24;

    return net - 1 < 223 && net != 127;
}

/** Is an address (host order) in 169.254/16, which no router forwards: RFC 3927 section 7? */
static inline bool ipv4_is_link_local(uint32_t addr)
{
    return addr >> 16 == IPV4_LINK_LOCAL >> 16;
}

/** The six bits of the Differentiated Services field (RFC 2474). */
static inline uint8_t ipv4_dscp(const struct rte_ipv4_hdr *ip)
{
    return ip->type_of_service >> 2;
}

/** Write the DSCP, leave the ECN bits, mend the checksum. */
static inline void ipv4_set_dscp(struct rte_ipv4_hdr *ip, uint8_t dscp)
{
    uint8_t tos = (uint8_t)(dscp << 2 | (ip->type_of_service & 3));

    ip->hdr_checksum = csum_replace(ip->hdr_checksum, net16(ip->type_of_service), net16(tos));
    ip->type_of_service = tos;
}

#define ECN_MASK    3 /* the two bits behind the DSCP: RFC 3168 section 5 */
#define ECN_NOT_ECT 0
#define ECN_ECT1    1
#define ECN_ECT0    2
#define ECN_CE      3

/** Write the ECN bits, leave the DSCP, mend the checksum. */
static inline void ipv4_set_ecn(struct rte_ipv4_hdr *ip, uint8_t ecn)
{
    uint8_t tos = (uint8_t)((ip->type_of_service & ~ECN_MASK) | ecn);

    ip->hdr_checksum = csum_replace(ip->hdr_checksum, net16(ip->type_of_service), net16(tos));
    ip->type_of_service = tos;
}

/** Must ipv4_merge_ecn() be called for a packet out of a tunnel whose outer TOS byte this is? Only
 * ECT(1) and CE may change the inner one. */
static inline bool ipv4_tells_ecn(uint8_t outer_tos)
{
    return (outer_tos & ECN_ECT1) != 0;
}

/**
 * Give a packet out of a tunnel what the outer header, whose TOS byte is ECT(1) or CE, has learned
 * of congestion: RFC 6040 section 4.2, figure 4. Returns false where the packet must be dropped,
 * because a router has marked it congested and its transport would not understand that.
 */
static inline bool ipv4_merge_ecn(struct rte_ipv4_hdr *ip, uint8_t outer_tos)
{
    uint8_t outer = outer_tos & ECN_MASK, inner = ip->type_of_service & ECN_MASK;

    if (inner == ECN_NOT_ECT)
        return outer != ECN_CE;
    if (inner == ECN_ECT0 || outer == ECN_CE)
        ipv4_set_ecn(ip, outer);
    return true;
}

#endif
