/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMPv6 (RFC 4443): types, the checksum with its pseudo-header, when a router may send an error,
 * and the messages that the gateway sends. */
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

#define ICMPV6_NO_ROUTE_CODE    0 /* of unreachable: no route leads there, */
#define ICMPV6_ADDRESS_CODE     3 /* the address does not answer, */
#define ICMPV6_PORT_CODE        4 /* its port */
#define ICMPV6_HOP_LIMIT_CODE   0 /* of time exceeded */
#define ICMPV6_NEXT_HEADER_CODE 1 /* of a parameter problem: an unknown next header */
#define ICMPV6_OUR_HOPS         64

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

/** Is a packet, whose header is right and which is in avail bytes, an echo request without
 * extension headers? Its checksum is not looked at. */
static inline bool icmpv6_is_ping(const struct ipv6_hdr *ip, uint32_t avail)
{
    const uint8_t *p = (const uint8_t *)(ip + 1);

    return ip->next_header == IPPROTO_ICMPV6 && avail >= IPV6_LEN + ICMPV6_LEN &&
           net16(ip->payload_length) >= ICMPV6_LEN && p[0] == ICMPV6_ECHO_REQUEST && p[1] == 0;
}

/** May a packet with that source be answered: is it one host's, of a link at least? */
static inline bool icmpv6_is_host(const uint8_t *source)
{
    enum ipv6_kind kind = ipv6_kind(source);

    return kind == IPV6_GLOBAL || kind == IPV6_UNIQUE_LOCAL || kind == IPV6_LINK_LOCAL;
}

/**
 * May an ICMPv6 error be sent about a packet, whose header is right and which is in avail bytes?
 * Not about an error or a redirect, also where that cannot be told, nor to what is no one host's
 * address; about a packet to a group only that it is too big: RFC 4443 section 2.4 (e).
 */
static inline bool icmpv6_may_answer(const struct ipv6_hdr *ip, uint32_t avail, bool too_big)
{
    struct ipv6_payload payload;
    uint8_t type;

    if (!icmpv6_is_host(ip->source) || (!too_big && ip->destination[0] == 0xff) ||
        ipv6_walk(ip, avail, &payload) != IPV6_WALK_OK)
        return false;
    if (payload.protocol != IPPROTO_ICMPV6)
        return true;
    if (payload.later || payload.at >= ipv6_len(ip))
        return false;
    type = ((const uint8_t *)ip)[payload.at];
    return type >= ICMPV6_FIRST_INFO && type != ICMPV6_REDIRECT;
}

/** The bytes of a packet that an error quotes: as many as the least MTU of IPv6 has room for (RFC
 * 4443 section 2.4 (c)). */
static inline uint32_t icmpv6_quote_len(const struct ipv6_hdr *ip)
{
    uint32_t most = IPV6_MIN_MTU - IPV6_LEN - ICMPV6_LEN, total = ipv6_len(ip);

    return most < total ? most : total;
}

/** Write an error with its IPv6 header before a quote of so many bytes. value: the MTU of "packet
 * too big", where a parameter problem is, or 0. from and to, of 16 bytes, may lie in the quote. */
static inline void icmpv6_write_error(struct ipv6_hdr *ip, uint8_t traffic_class,
                                      const uint8_t *from, const uint8_t *to, uint8_t type,
                                      uint8_t code, uint32_t value, uint32_t quote)
{
    uint8_t *p = (uint8_t *)(ip + 1);

    icmpv6_write_ipv6(ip, traffic_class, from, to, ICMPV6_OUR_HOPS, ICMPV6_LEN + quote);
    p[0] = type;
    p[1] = code;
    store32(p + 4, net32(value));
    icmpv6_seal(ip, p, ICMPV6_LEN + quote);
}

/** Turn an echo request, the addresses of which are to change places, into its reply: only type
 * and checksum change. */
static inline void icmpv6_make_reply(uint8_t *p)
{
    p[0] = ICMPV6_ECHO_REPLY;
    store16(p + 2, csum_replace(load16(p + 2), RTE_BE16(ICMPV6_ECHO_REQUEST << 8),
                                RTE_BE16(ICMPV6_ECHO_REPLY << 8)));
}

#endif
