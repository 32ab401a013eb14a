/* SPDX-License-Identifier: BSD-3-Clause */
/* What a queue discipline wants to know of a frame: which flow it is of, and whether congestion may
 * be marked in it (RFC 3168). Untagged frames and up to three VLAN tags are understood. */
#ifndef PACKET_FLOW_H
#define PACKET_FLOW_H

#include <netinet/in.h>

#include "packet/ethernet.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/qinq.h"

#define FLOW_MAX_TAGS 3
#define FLOW_TPID_OLD 0x9100
#define FLOW_FRAGMENT 0x3fff /* of the word at 6 of IPv4: more fragments, or an offset */

#define ECN_MASK    3
#define ECN_NOT_ECT 0
#define ECN_ECT1    1
#define ECN_CE      3

/** The header behind the tags of a frame of len bytes, and its EtherType (network order); NULL:
 * there are fewer than 20 bytes of it. */
static inline uint8_t *flow_l3(uint8_t *frame, uint32_t len, uint16_t *type)
{
    uint32_t at = ETH_MACS;

    if (unlikely(len < ETH_LEN + 20 + 4 * FLOW_MAX_TAGS)) /* a short frame has no known flow */
        return NULL;
    *type = load16(frame + at);
    for (unsigned i = 0;
         i < FLOW_MAX_TAGS && (*type == RTE_BE16(TPID_C) || *type == RTE_BE16(TPID_S) ||
                               *type == RTE_BE16(FLOW_TPID_OLD));
         i++) {
        at += 4;
        *type = load16(frame + at);
    }
    return frame + at + 2;
}

static inline uint64_t flow_mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

    x ^= x >> 32;
    return x * UINT64_C(0xc4ceb9fe1a85ec53);
}

/** A number of the flow of a frame: addresses, protocol, and ports where all packets of the flow
 * have them. What is not IP has one number for each EtherType. */
static inline uint16_t flow_of(uint8_t *frame, uint32_t len)
{
    uint16_t type = 0;
    const uint8_t *ip = flow_l3(frame, len, &type), *end = frame + len, *ports = NULL;
    uint64_t both, rest;

    if (unlikely(ip == NULL))
        return 0;
    if (likely(type == RTE_BE16(RTE_ETHER_TYPE_IPV4))) {
        both = load64(ip + 12);
        rest = ip[9];
        if ((net16(load16(ip + 6)) & FLOW_FRAGMENT) == 0)
            ports = ip + (ip[0] & 0xf) * 4;
    } else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && end - ip >= IPV6_LEN) {
        both = load64(ip + 8) ^ load64(ip + 16) * 3 ^ load64(ip + 24) * 5 ^ load64(ip + 32) * 7;
        rest = ip[6];
        ports = ip + IPV6_LEN;
    } else {
        return type;
    }
    if (ports != NULL && (rest == IPPROTO_TCP || rest == IPPROTO_UDP) && end - ports >= 4)
        rest |= (uint64_t)load32(ports) << 32;
    return (uint16_t)(flow_mix(both, rest) >> 48);
}

/** 32 bits that name the flow of an IPv4 packet, of which len (at least 20) bytes are there: of its
 * addresses, protocol, and ports, which fragments do not have, so that all of them are one flow. */
static inline uint32_t flow_of_ipv4(const uint8_t *ip, uint32_t len)
{
    uint64_t rest = ip[9];
    uint32_t ports = (ip[0] & 0xf) * 4u;

    if ((net16(load16(ip + 6)) & FLOW_FRAGMENT) == 0 &&
        (rest == IPPROTO_TCP || rest == IPPROTO_UDP || rest == IPPROTO_SCTP) &&
        ports + 4 <= RTE_MIN(len, (uint32_t)net16(load16(ip + 2))))
        rest |= (uint64_t)load32(ip + ports) << 32;
    return (uint32_t)(flow_mix(load64(ip + 12), rest) >> 32);
}

/** The same of an IPv6 packet, of which len (at least 40) bytes are there. A packet with extension
 * headers has no ports here: fragments, which have one, are all one flow. */
static inline uint32_t flow_of_ipv6(const uint8_t *ip, uint32_t len)
{
    uint64_t both =
                 load64(ip + 8) ^ load64(ip + 16) * 3 ^ load64(ip + 24) * 5 ^ load64(ip + 32) * 7,
             rest = ip[6];

    if ((rest == IPPROTO_TCP || rest == IPPROTO_UDP || rest == IPPROTO_SCTP) &&
        IPV6_LEN + 4 <= RTE_MIN(len, ipv6_len((const struct ipv6_hdr *)ip)))
        rest |= (uint64_t)load32(ip + IPV6_LEN) << 32;
    return (uint32_t)(flow_mix(both, rest) >> 32);
}

/** The ECN field of a frame (RFC 3168): ECN_*; ECN_NOT_ECT of what is not IP. */
static inline unsigned flow_ecn(uint8_t *frame, uint32_t len)
{
    uint16_t type = 0;
    const uint8_t *ip = flow_l3(frame, len, &type);

    if (ip == NULL)
        return ECN_NOT_ECT;
    if (likely(type == RTE_BE16(RTE_ETHER_TYPE_IPV4)))
        return ip[1] & ECN_MASK;
    return type == RTE_BE16(RTE_ETHER_TYPE_IPV6) ? ip[1] >> 4 & ECN_MASK : ECN_NOT_ECT;
}

/** Mark congestion in an IP packet whose sender knows ECN. Returns whether it is marked now. */
static inline bool flow_mark_ce(uint8_t *frame, uint32_t len)
{
    uint16_t type = 0, word;
    uint8_t *ip = flow_l3(frame, len, &type);

    if (ip == NULL)
        return false;
    word = load16(ip);
    if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
        uint16_t marked = word | rte_cpu_to_be_16(ECN_CE);

        if ((ip[1] & ECN_MASK) == ECN_NOT_ECT)
            return false;
        store16(ip + 10, csum_replace(load16(ip + 10), word, marked));
        store16(ip, marked);
        return true;
    }
    if (type != RTE_BE16(RTE_ETHER_TYPE_IPV6) || (ip[1] >> 4 & ECN_MASK) == ECN_NOT_ECT)
        return false;
    ip[1] |= ECN_CE << 4;
    return true;
}

#endif
