/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMPv6 (RFC 4443): types, the checksum with its pseudo-header, and the IPv6 header before what
 * the gateway sends. */
#ifndef PACKET_ICMPV6_H
#define PACKET_ICMPV6_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_ip.h>

#include "packet/bytes.h"
#include "packet/ipv6.h"

#define ICMPV6_LEN            8 /* of an error or echo before its data, and of the least message */
#define ICMPV6_UNREACHABLE    1
#define ICMPV6_TOO_BIG        2
#define ICMPV6_TIME_EXCEEDED  3
#define ICMPV6_PARAMETER      4
#define ICMPV6_FIRST_INFO     128 /* types from here on are no errors: RFC 4443 section 2.1 */
#define ICMPV6_ECHO_REQUEST   128
#define ICMPV6_ECHO_REPLY     129
#define ICMPV6_ROUTER_SOLICIT 133 /* neighbour discovery: RFC 4861 section 4, nd.h */
#define ICMPV6_ROUTER_ADVERT  134
#define ICMPV6_SOLICIT        135
#define ICMPV6_ADVERT         136
#define ICMPV6_REDIRECT       137

/**
 * The one's-complement sum, not inverted, of an ICMPv6 message of len bytes (0..65535) and of its
 * pseudo-header, RFC 8200 section 8.1: 0xffff where the checksum in the message is right. The
 * addresses are those of ip, whose other fields are not read.
 */
static inline uint16_t icmpv6_sum(const struct ipv6_hdr *ip, const uint8_t *message, uint32_t len)
{
    uint32_t sum = (uint32_t)rte_raw_cksum(ip->source, 2 * IPV6_ADDR_LEN) +
                   rte_raw_cksum(message, len) + net16((uint16_t)len) + net16(IPPROTO_ICMPV6);

    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static_assert(offsetof(struct ipv6_hdr, destination) ==
                  offsetof(struct ipv6_hdr, source) + IPV6_ADDR_LEN,
              "both addresses are summed up at once");

/** Is the checksum of a message of len bytes (4..65535) right? */
static inline bool icmpv6_checksum_ok(const struct ipv6_hdr *ip, const uint8_t *message,
                                      uint32_t len)
{
    return icmpv6_sum(ip, message, len) == 0xffff;
}

/** Write the checksum into a message of len bytes (4..65535) behind its final IPv6 header. */
static inline void icmpv6_seal(const struct ipv6_hdr *ip, uint8_t *message, uint32_t len)
{
    store16(message + 2, 0);
    store16(message + 2, (uint16_t)~icmpv6_sum(ip, message, len));
}

/** Write the IPv6 header before an ICMPv6 message of len bytes (to 65535). from and to, of 16
 * bytes, may lie in it. */
static inline void icmpv6_write_ipv6(struct ipv6_hdr *ip, uint8_t traffic_class,
                                     const uint8_t *from, const uint8_t *to, uint8_t hop_limit,
                                     uint32_t len)
{
    struct ipv6_hdr made = {.first = {0x60},
                            .payload_length = net16((uint16_t)len),
                            .next_header = IPPROTO_ICMPV6,
                            .hop_limit = hop_limit};

    ipv6_set_traffic_class(&made, traffic_class);
    memcpy(made.source, from, IPV6_ADDR_LEN);
    memcpy(made.destination, to, IPV6_ADDR_LEN);
    *ip = made;
}

#endif
