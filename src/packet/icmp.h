/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP (RFC 792): when a router may send an error, and the messages that the gateway sends. */
#ifndef PACKET_ICMP_H
#define PACKET_ICMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "packet/bytes.h"
#include "packet/ipv4.h"

#define ICMP_LEN           8
#define ICMP_ECHO_REPLY    0
#define ICMP_UNREACHABLE   3
#define ICMP_NET_CODE      0 /* of unreachable: the network, */
#define ICMP_HOST_CODE     1 /* the host, */
#define ICMP_PROTOCOL_CODE 2 /* its protocol, */
#define ICMP_PORT_CODE     3 /* its port; */
#define ICMP_TOO_BIG_CODE  4 /* fragmentation needed and DF set */
#define ICMP_ECHO_REQUEST  8
#define ICMP_TIME_EXCEEDED 11
#define ICMP_TTL_CODE      0
#define ICMP_OUR_TTL       64
#define ICMP_MOST          576 /* bytes of an error with its IPv4 header: RFC 1812 section 4.3.2.3 */

/** Types that ask or answer: echo, router discovery, timestamp, information, address mask. All
 * others are errors, or may be. */
#define ICMP_QUERIES                                                                               \
    (1u << 0 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << 16 |          \
     1u << 17 | 1u << 18)

/**
 * May an ICMP error be sent about a packet, whose header is checked? Not about an ICMP error, a
 * later fragment, or a packet whose source or destination is no unicast address: RFC 1812 section
 * 4.3.2.7.
 */
static inline bool icmp_may_answer(const struct rte_ipv4_hdr *ip)
{
    uint32_t header = rte_ipv4_hdr_len(ip);
    uint8_t type;

    if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0 ||
        !ipv4_is_unicast(rte_be_to_cpu_32(ip->dst_addr)) ||
        !ipv4_is_unicast(rte_be_to_cpu_32(ip->src_addr)))
        return false;
    if (ip->next_proto_id != IPPROTO_ICMP)
        return true;
    if (rte_be_to_cpu_16(ip->total_length) <= header)
        return false;
    type = ((const uint8_t *)ip)[header];
    return type < 32 && (ICMP_QUERIES >> type & 1) != 0;
}

/** The bytes of a packet that an error quotes: as many as ICMP_MOST leaves room for. */
static inline uint32_t icmp_quote_len(const struct rte_ipv4_hdr *ip)
{
    uint32_t most = ICMP_MOST - sizeof(*ip) - ICMP_LEN;
    uint32_t total = rte_be_to_cpu_16(ip->total_length);

    return most < total ? most : total;
}

/** Write the IPv4 header of an ICMP packet of the gateway, before payload bytes. */
static inline void icmp_write_ipv4(struct rte_ipv4_hdr *ip, uint8_t tos, rte_be32_t from,
                                   rte_be32_t to, uint32_t payload)
{
    *ip = (struct rte_ipv4_hdr){
        .version_ihl = RTE_IPV4_VHL_DEF,
        .type_of_service = tos,
        .total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + payload)),
        /* an atomic datagram: RFC 6864 section 4.1 */
        .fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
        .time_to_live = ICMP_OUR_TTL,
        .next_proto_id = IPPROTO_ICMP,
        .src_addr = from,
        .dst_addr = to,
    };
    ip->hdr_checksum = rte_ipv4_cksum(ip);
}

/** Write the 8 bytes of an error before its quote of so many bytes. mtu is 0 but in "fragmentation
 * needed" (RFC 1191 section 4). */
static inline void icmp_write_error(uint8_t *p, uint8_t type, uint8_t code, uint16_t mtu,
                                    uint32_t quote)
{
    memset(p, 0, ICMP_LEN);
    p[0] = type;
    p[1] = code;
    store16(p + 6, rte_cpu_to_be_16(mtu));
    store16(p + 2, (uint16_t)~rte_raw_cksum(p, ICMP_LEN + quote));
}

/** Turn an echo request into its reply: only type and checksum change. */
static inline void icmp_make_reply(uint8_t *p)
{
    p[0] = ICMP_ECHO_REPLY;
    store16(p + 2, csum_replace(load16(p + 2), RTE_BE16(ICMP_ECHO_REQUEST << 8),
                                RTE_BE16(ICMP_ECHO_REPLY << 8)));
}

#endif
