/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from a subscriber's line that a control plane answers (BBF TR-459): DHCP (RFC 2131),
 * DHCPv6 (RFC 8415), PPPoE discovery (RFC 2516) and all of PPP but IP (RFC 1661), by what stands in
 * their headers.
 */
#ifndef PACKET_LINE_H
#define PACKET_LINE_H

#include "packet/ethernet.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/pppoe.h"
#include "packet/punt.h"

#define LINE_DHCP_SERVER     67
#define LINE_DHCP_CLIENT     68
#define LINE_DHCP6_SERVER    547
#define LINE_PPPOE_DISCOVERY 0x8863
#define LINE_UDP_LEN         8

/** May a VLAN id be one of a line's: 1..4094 (IEEE 802.1Q table 9-2)? */
static inline bool line_vlan_ok(uint16_t id)
{
    return id - 1u < 4094;
}

/** Is a packet of IPv4, whose header is right, from a DHCP client to a server, and whole? */
static inline bool line_is_dhcp(const struct rte_ipv4_hdr *ip)
{
    const uint8_t *udp = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);

    return ip->next_proto_id == IPPROTO_UDP &&
           (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) == 0 &&
           net16(ip->total_length) >= rte_ipv4_hdr_len(ip) + LINE_UDP_LEN &&
           load16(udp) == RTE_BE16(LINE_DHCP_CLIENT) &&
           load16(udp + 2) == RTE_BE16(LINE_DHCP_SERVER);
}

/** The same of IPv6, without extension headers, to a DHCPv6 server or relay. */
static inline bool line_is_dhcp6(const struct ipv6_hdr *ip)
{
    const uint8_t *udp = (const uint8_t *)(ip + 1);

    return ip->next_header == IPPROTO_UDP && ipv6_len(ip) >= IPV6_LEN + LINE_UDP_LEN &&
           load16(udp + 2) == RTE_BE16(LINE_DHCP6_SERVER);
}

/** Is a session frame of PPPoE, len bytes with l2 bytes before its PPPoE header, whole and to one
 * station, with another protocol than IP? */
static inline bool line_is_ppp(const uint8_t *frame, uint32_t l2, uint32_t len)
{
    struct pppoe p;

    return (frame[0] & 1) == 0 && pppoe_read(frame + l2, len - l2, &p) && !ppp_is_ip(p.protocol);
}

/** What a frame of len bytes in one segment, of which l2 are its Ethernet header and tags, has for
 * a control plane; PUNT_HELLO: nothing. */
static inline enum punt_kind line_kind(const uint8_t *frame, uint32_t l2, uint32_t len)
{
    const uint8_t *p = frame + l2;

    switch (load16(p - 2)) {
    case RTE_BE16(RTE_ETHER_TYPE_IPV4):
        return ipv4_check((const struct rte_ipv4_hdr *)p, len - l2) == IPV4_OK &&
                       line_is_dhcp((const struct rte_ipv4_hdr *)p)
                   ? PUNT_DHCP4
                   : PUNT_HELLO;
    case RTE_BE16(RTE_ETHER_TYPE_IPV6):
        return ipv6_check((const struct ipv6_hdr *)p, len - l2) == IPV6_OK &&
                       line_is_dhcp6((const struct ipv6_hdr *)p)
                   ? PUNT_DHCP6
                   : PUNT_HELLO;
    case RTE_BE16(LINE_PPPOE_DISCOVERY):
        return len - l2 >= PPPOE_LEN ? PUNT_PPPOE_DISCOVERY : PUNT_HELLO;
    case RTE_BE16(PPPOE_TYPE):
        return line_is_ppp(frame, l2, len) ? PUNT_PPP : PUNT_HELLO;
    default:
        return PUNT_HELLO;
    }
}

#endif
