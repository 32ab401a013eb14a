/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The maximum segment size (RFC 9293 section 3.7.1) that the ends of a TCP connection tell each
 * other in their SYN segments, lowered to what a narrower link on the way takes: path MTU discovery
 * fails behind firewalls that drop ICMP. The checksum is updated as RFC 1624 section 3 says.
 */
#ifndef PACKET_MSS_H
#define PACKET_MSS_H

#include <stdint.h>

#include <rte_branch_prediction.h>

#include "packet/bytes.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"

#define TCP_LEN      20
#define TCP_SYN      0x02
#define TCP_END      0 /* kinds of options: RFC 9293 section 3.1 */
#define TCP_NOP      1
#define TCP_MSS      2
#define TCP_MSS_SIZE 4

/** Write a 16-bit value into a TCP segment, at an even or odd place, and update its checksum. */
static inline void tcp_update16(uint8_t *tcp, uint32_t at, uint16_t value)
{
    uint16_t old = load16(tcp + at), new = net16(value);
    uint32_t sum = (uint16_t)~load16(tcp + 16);

    store16(tcp + at, new);
    if (at % 2 != 0) { /* each byte is in the other half of a word of the sum: RFC 1071 section 2 */
        old = __builtin_bswap16(old);
        new = __builtin_bswap16(new);
    }
    sum += (uint16_t)~old + (uint32_t) new;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    store16(tcp + 16, (uint16_t)~sum);
}

/** Lower the size in a SYN segment, of which avail bytes are there, to most. Options that are
 * malformed end the search. */
static inline void tcp_lower_mss(uint8_t *tcp, uint32_t avail, uint16_t most)
{
    uint32_t end = (tcp[12] >> 4) * 4u;

    if (end > avail)
        end = avail;
    for (uint32_t at = TCP_LEN; at < end && tcp[at] != TCP_END;) {
        if (tcp[at] == TCP_NOP) {
            at++;
            continue;
        }
        if (at + 1 >= end || tcp[at + 1] < 2 || at + tcp[at + 1] > end)
            return;
        if (tcp[at] == TCP_MSS && tcp[at + 1] == TCP_MSS_SIZE) {
            if (net16(load16(tcp + at + 2)) > most)
                tcp_update16(tcp, at + 2, most);
            return;
        }
        at += tcp[at + 1];
    }
}

/** Lower the size that a packet, whose header is right and which is whole, tells for a link of so
 * many bytes: of 40 fewer, the headers of IPv4 and TCP without options (RFC 6691). */
static inline void mss_clamp(struct rte_ipv4_hdr *ip, uint16_t mtu)
{
    uint32_t header = rte_ipv4_hdr_len(ip), avail = net16(ip->total_length) - header;
    uint8_t *tcp = (uint8_t *)ip + header;

    if (ip->next_proto_id == IPPROTO_TCP && avail >= TCP_LEN && unlikely(tcp[13] & TCP_SYN) &&
        (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) == 0)
        tcp_lower_mss(tcp, avail, (uint16_t)(mtu - sizeof(*ip) - TCP_LEN));
}

/** The same of a packet of IPv6 without extension headers: of 60 fewer. */
static inline void mss_clamp6(struct ipv6_hdr *ip, uint16_t mtu)
{
    uint32_t avail = net16(ip->payload_length);
    uint8_t *tcp = (uint8_t *)(ip + 1);

    if (ip->next_header == IPPROTO_TCP && avail >= TCP_LEN && unlikely(tcp[13] & TCP_SYN))
        tcp_lower_mss(tcp, avail, (uint16_t)(mtu - IPV6_LEN - TCP_LEN));
}

#endif
