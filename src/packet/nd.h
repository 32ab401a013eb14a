/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery for IPv6 over Ethernet (RFC 4861, RFC 2464): which messages are right, what
 * they say, and those that a router sends. Options are walked within the message only, and so many
 * at most as ND_MOST_OPTIONS.
 *
 *   solicitation, advertisement: type 8, code 8, checksum 16 | flags 32 | target 128 | options
 *   router solicitation:         type 8, code 8, checksum 16 | reserved 32 | options
 *   option:                      type 8, length 8 in units of 8 bytes, ...
 */
#ifndef PACKET_ND_H
#define PACKET_ND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "packet/icmpv6.h"

#define ND_HOP_LIMIT      255 /* shows that no router has forwarded it: RFC 4861 section 11.2 */
#define ND_MOST_OPTIONS   32  /* that are walked */
#define ND_NEIGHBOUR_LEN  24  /* of a solicitation or advertisement without options, */
#define ND_LINK_LEN       8   /* and of an option with a MAC */
#define ND_SOURCE_LINK    1   /* options: the sender's MAC, */
#define ND_TARGET_LINK    2   /* the target's */
#define ND_PREFIX         3   /* a prefix of the link, */
#define ND_MTU            5   /* the link's MTU */
#define ND_FLAG_ROUTER    0x80
#define ND_FLAG_SOLICITED 0x40
#define ND_FLAG_OVERRIDE  0x20

/** A message that nd_parse() has found right. */
struct nd {
    uint8_t type;          /* ICMPV6_ROUTER_SOLICIT, ICMPV6_SOLICIT or ICMPV6_ADVERT */
    uint8_t flags;         /* of an advertisement: ND_FLAG_* */
    const uint8_t *target; /* NULL of a router solicitation */
    const uint8_t *mac;    /* of the sender; of an advertisement: of the target. NULL: not said */
};

/** Is a packet, whose header is right and which is in avail bytes, a message to a neighbour or to a
 * router, right or wrong? No header may be between (RFC 6980 section 5). */
static inline bool nd_is(const struct ipv6_hdr *ip, uint32_t avail)
{
    uint8_t type;

    if (ip->next_header != IPPROTO_ICMPV6 || avail <= IPV6_LEN || ip->payload_length == 0)
        return false;
    type = ((const uint8_t *)(ip + 1))[0];
    return type == ICMPV6_SOLICIT || type == ICMPV6_ADVERT || type == ICMPV6_ROUTER_SOLICIT;
}

/** Is such a packet one that the slow path answers on a link: a message, or a ping to an address of
 * the link? */
static inline bool nd_is_for_link(const struct ipv6_hdr *ip, uint32_t avail)
{
    return nd_is(ip, avail) ||
           (icmpv6_is_ping(ip, avail) && ipv6_kind(ip->destination) == IPV6_LINK_LOCAL);
}

/** Is a frame of len bytes, with an Ethernet header and tags of l2 bytes, such a packet to an
 * address that no router forwards to? */
static inline bool nd_is_frame(const uint8_t *frame, uint32_t l2, uint32_t len)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(frame + l2);

    return load16(frame + l2 - 2) == RTE_BE16(RTE_ETHER_TYPE_IPV6) && len > l2 + IPV6_LEN &&
           ipv6_check(ip, len - l2) == IPV6_OK && nd_is_for_link(ip, len - l2) &&
           !ipv6_is_forwarded(ipv6_upper(ip->destination));
}

/** Write the link-local address of a MAC: fe80::/64 and the modified EUI-64 (RFC 4291 appendix A).
 */
static inline void nd_link_local(const uint8_t *mac, uint8_t *addr)
{
    memset(addr, 0, IPV6_ADDR_LEN);
    addr[0] = 0xfe;
    addr[1] = 0x80;
    memcpy(addr + 8, mac, 3);
    addr[8] ^= 2;
    addr[11] = 0xff;
    addr[12] = 0xfe;
    memcpy(addr + 13, mac + 3, 3);
}

/** Write the solicited-node group of an address: ff02::1:ff00:0/104 and its last 24 bits (RFC 4291
 * section 2.7.1). */
static inline void nd_solicited_node(const uint8_t *addr, uint8_t *group)
{
    static const uint8_t prefix[13] = {0xff, 0x02, [11] = 0x01, [12] = 0xff};
    uint8_t last[3];

    memcpy(last, addr + 13, sizeof(last));
    memcpy(group, prefix, sizeof(prefix));
    memcpy(group + 13, last, sizeof(last));
}

/** Write ff02::1, all nodes of a link. */
static inline void nd_all_nodes(uint8_t *group)
{
    memset(group, 0, IPV6_ADDR_LEN);
    group[0] = 0xff;
    group[1] = 0x02;
    group[15] = 1;
}

/** Write the MAC of a group of IPv6: 33:33 and its last 32 bits (RFC 2464 section 7). */
static inline void nd_group_mac(const uint8_t *group, uint8_t *mac)
{
    mac[0] = 0x33;
    mac[1] = 0x33;
    memcpy(mac + 2, group + 12, 4);
}

/** Walk along the options in len bytes; *mac: of the first one of that type which has 8 bytes.
 * Returns false where one has no length, or goes beyond the end, or there are too many: RFC 4861
 * section 4.6. */
static inline bool nd_walk(const uint8_t *option, uint32_t len, uint8_t type, const uint8_t **mac)
{
    for (unsigned i = 0; len > 0; i++) {
        uint32_t size;

        if (i == ND_MOST_OPTIONS || len < 8)
            return false;
        size = option[1] * 8u;
        if (size == 0 || size > len)
            return false;
        if (option[0] == type && size == ND_LINK_LEN && *mac == NULL)
            *mac = option + 2;
        option += size;
        len -= size;
    }
    return true;
}

/* Is a message with a target right, but for its options? */
static inline bool nd_target_ok(const struct ipv6_hdr *ip, const uint8_t *p, uint32_t len)
{
    bool to_group = ip->destination[0] == 0xff;
    uint8_t group[IPV6_ADDR_LEN];

    if (len < ND_NEIGHBOUR_LEN || p[8] == 0xff)
        return false;
    if (p[0] == ICMPV6_ADVERT)
        return !to_group || (p[4] & ND_FLAG_SOLICITED) == 0;
    if (ipv6_kind(ip->source) != IPV6_UNSPECIFIED)
        return true;
    nd_solicited_node(p + 8, group);
    return memcmp(ip->destination, group, sizeof(group)) == 0;
}

/**
 * Parse a message of which nd_is() is true, in avail bytes. Returns false where a receiver must
 * discard it: RFC 4861 sections 6.1.1, 7.1.1 and 7.1.2. The source is not judged, but that a group
 * is none; nor is a MAC.
 */
static inline bool nd_parse(const struct ipv6_hdr *ip, uint32_t avail, struct nd *out)
{
    const uint8_t *p = (const uint8_t *)(ip + 1);
    uint32_t len = net16(ip->payload_length), fixed = ICMPV6_LEN;

    if (len > avail - IPV6_LEN || len < ICMPV6_LEN || ip->hop_limit != ND_HOP_LIMIT || p[1] != 0 ||
        ip->source[0] == 0xff || !icmpv6_checksum_ok(ip, p, len))
        return false;
    *out = (struct nd){.type = p[0]};
    if (out->type != ICMPV6_ROUTER_SOLICIT) {
        if (!nd_target_ok(ip, p, len))
            return false;
        out->flags = p[4];
        out->target = p + 8;
        fixed = ND_NEIGHBOUR_LEN;
    }
    if (!nd_walk(p + fixed, len - fixed,
                 out->type == ICMPV6_ADVERT ? ND_TARGET_LINK : ND_SOURCE_LINK, &out->mac))
        return false;
    return out->mac == NULL || ipv6_kind(ip->source) != IPV6_UNSPECIFIED;
}

#define ND_NEIGHBOUR_SIZE (IPV6_LEN + ND_NEIGHBOUR_LEN + ND_LINK_LEN)

/**
 * Write a solicitation or an advertisement of ND_NEIGHBOUR_SIZE bytes, with its IPv6 header and the
 * MAC that type is about. Addresses of 16 bytes; none may lie where it is written.
 */
static inline void nd_write(struct ipv6_hdr *ip, uint8_t type, uint8_t flags, const uint8_t *from,
                            const uint8_t *to, const uint8_t *target, const uint8_t *mac)
{
    uint8_t *p = (uint8_t *)(ip + 1);

    icmpv6_write_ipv6(ip, 0, from, to, ND_HOP_LIMIT, ND_NEIGHBOUR_LEN + ND_LINK_LEN);
    memset(p, 0, 8);
    p[0] = type;
    p[4] = flags;
    memcpy(p + 8, target, IPV6_ADDR_LEN);
    p[24] = type == ICMPV6_ADVERT ? ND_TARGET_LINK : ND_SOURCE_LINK;
    p[25] = ND_LINK_LEN / 8;
    memcpy(p + 26, mac, 6);
    icmpv6_seal(ip, p, ND_NEIGHBOUR_LEN + ND_LINK_LEN);
}

#define ND_OUR_HOPS       64   /* that hosts are to begin with */
#define ND_PREFIX_ON_LINK 0x80 /* flags of a prefix: RFC 4861 section 4.6.2 */
#define ND_PREFIX_AUTO    0x40

#define ND_FLAG_MANAGED 0x80 /* addresses are to be had by DHCPv6, */
#define ND_FLAG_OTHER   0x40 /* other things are */

/** What a router says of itself and its link: RFC 4861 section 4.2. */
struct nd_router {
    uint8_t flags;      /* ND_FLAG_MANAGED, ND_FLAG_OTHER */
    bool has_prefix;    /* on the link, for addresses that hosts make (RFC 4862) */
    uint16_t lifetime;  /* seconds as a default router; 0: it is none */
    uint16_t mtu;       /* of the link; 0: not said */
    uint64_t prefix;    /* upper half of the prefix of 64 bits, */
    uint32_t valid;     /* seconds that it is valid, */
    uint32_t preferred; /* and preferred */
};

#define ND_ROUTER_LEN  16 /* without options */
#define ND_MTU_LEN     8
#define ND_PREFIX_LEN  32
#define ND_ROUTER_MOST (IPV6_LEN + ND_ROUTER_LEN + ND_LINK_LEN + ND_MTU_LEN + ND_PREFIX_LEN)

/** Write a router advertisement with its IPv6 header and the router's MAC, of ND_ROUTER_MOST bytes
 * at most. Returns its length. Addresses of 16 bytes; none may lie where it is written. */
static inline uint32_t nd_write_router(struct ipv6_hdr *ip, const struct nd_router *say,
                                       const uint8_t *from, const uint8_t *to, const uint8_t *mac)
{
    uint8_t *p = (uint8_t *)(ip + 1), *at = p + ND_ROUTER_LEN;

    memset(p, 0, ND_ROUTER_MOST - IPV6_LEN);
    p[0] = ICMPV6_ROUTER_ADVERT;
    p[4] = ND_OUR_HOPS;
    p[5] = say->flags;
    store16(p + 6, net16(say->lifetime));
    at[0] = ND_SOURCE_LINK;
    at[1] = ND_LINK_LEN / 8;
    memcpy(at + 2, mac, 6);
    at += ND_LINK_LEN;
    if (say->mtu != 0) {
        at[0] = ND_MTU;
        at[1] = ND_MTU_LEN / 8;
        store32(at + 4, net32(say->mtu));
        at += ND_MTU_LEN;
    }
    if (say->has_prefix) {
        at[0] = ND_PREFIX;
        at[1] = ND_PREFIX_LEN / 8;
        at[2] = 64;
        at[3] = ND_PREFIX_ON_LINK | ND_PREFIX_AUTO;
        store32(at + 4, net32(say->valid));
        store32(at + 8, net32(say->preferred));
        store64(at + 16, net64(say->prefix));
        at += ND_PREFIX_LEN;
    }
    icmpv6_write_ipv6(ip, 0, from, to, ND_HOP_LIMIT, (uint32_t)(at - p));
    icmpv6_seal(ip, p, (uint32_t)(at - p));
    return IPV6_LEN + (uint32_t)(at - p);
}

#endif
