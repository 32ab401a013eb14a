/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing tags, GRE key and addresses of a frame with those of a subscriber; telling its family.
 */
#include "capture/match.h"

#include <string.h>

#include "engine/meta.h"
#include "engine/tap_ring.h"
#include "packet/frame.h"
#include "packet/gre.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/mpls.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"

#define MPLS_MAX_LABELS 16
#define IPV4_HEADER     20 /* without options */

struct frames_of frames_of_subscriber(const struct subscriber_table *t, uint32_t id)
{
    const struct subscriber *s = &t->record[id];
    uint64_t tags = qinq_tags(s->l2);
    struct frames_of of = {
        .port = s->port,
        .svlan = qinq_svlan(tags),
        .cvlan = qinq_cvlan(tags),
        .has_gre_key = s->has_gre_key != 0,
        .gre_key = rte_be_to_cpu_32(s->gre_key),
        .ipv4_net = rte_be_to_cpu_32(s->ipv4_net),
        .ipv4_mask = rte_be_to_cpu_32(s->ipv4_mask),
        .has_ipv6 = s->has_ipv6 != 0,
    };

    if (of.has_ipv6)
        memcpy(of.ipv6, &t->v6->record[id], sizeof(of.ipv6));
    return of;
}

static bool has_key(const struct frames_of *of, const uint8_t *gre, uint32_t len)
{
    uint16_t flags;

    if (len < GRE_LEN)
        return false;
    flags = gre_flags(gre);
    return (flags & GRE_HAS_KEY) != 0 && gre_len(flags) <= len && of->has_gre_key &&
           rte_be_to_cpu_32(gre_key(gre, flags)) == of->gre_key;
}

static bool is_packet6_of(const struct frames_of *of, const struct ipv6_hdr *ip)
{
    struct subscriber6 s;

    memcpy(&s, of->ipv6, sizeof(s));
    return subscriber6_owns(&s, ipv6_of(ip->source)) ||
           subscriber6_owns(&s, ipv6_of(ip->destination));
}

static bool is_packet_of(const struct frames_of *of, const uint8_t *ip, uint32_t len)
{
    uint32_t header;

    if (len >= IPV6_LEN && ip[0] >> 4 == 6) {
        if (ip[offsetof(struct ipv6_hdr, next_header)] == IPPROTO_GRE)
            return has_key(of, ip + IPV6_LEN, len - IPV6_LEN);
        return of->has_ipv6 && is_packet6_of(of, (const struct ipv6_hdr *)ip);
    }
    if (len < IPV4_HEADER || ip[0] >> 4 != 4)
        return false;
    header = (ip[0] & 0xfu) * 4;
    if (ip[9] == IPPROTO_GRE && header >= IPV4_HEADER && header <= len)
        return has_key(of, ip + header, len - header);
    return (rte_be_to_cpu_32(load32(ip + 12)) & of->ipv4_mask) == of->ipv4_net ||
           (rte_be_to_cpu_32(load32(ip + 16)) & of->ipv4_mask) == of->ipv4_net;
}

bool is_frame_of(const void *ctx, const struct rte_mbuf *m, uint16_t port)
{
    const struct frames_of *of = ctx;
    const uint8_t *f = frame_bytes(m);
    uint32_t len = m->data_len;
    uint64_t tags;
    int stack;

    if (len < QINQ_LEN)
        return false;
    tags = qinq_tags(f);
    if (qinq_is_double(tags)) {
        if (port == TAP_ANY_PORT)
            port = meta_in_port(m);
        return qinq_svlan(tags) == of->svlan && qinq_cvlan(tags) == of->cvlan &&
               (port == of->port || port == TAP_ANY_PORT);
    }
    switch (rte_be_to_cpu_16(eth_type(f))) {
    case RTE_ETHER_TYPE_IPV4:
    case RTE_ETHER_TYPE_IPV6:
        return is_packet_of(of, f + ETH_LEN, len - ETH_LEN);
    case MPLS_TYPE:
        stack = mpls_stack_len(f + ETH_LEN, len - ETH_LEN, MPLS_MAX_LABELS);
        return stack > 0 && is_packet_of(of, f + ETH_LEN + stack, len - ETH_LEN - (uint32_t)stack);
    default:
        return false;
    }
}

/* --- the family of a frame --- */

enum { OTHER_FAMILY = 0, FAMILY_4 = 4, FAMILY_6 = 6 };

/* The family that the version of an IP packet in len bytes says. */
static unsigned version(const uint8_t *ip, uint32_t len)
{
    if (len >= IPV4_HEADER && ip[0] >> 4 == 4)
        return FAMILY_4;
    return len >= IPV6_LEN && ip[0] >> 4 == 6 ? FAMILY_6 : OTHER_FAMILY;
}

/* The family of what a GRE header in len bytes leads to; that of the packet around it where that is
 * not IP. */
static unsigned in_tunnel(const uint8_t *gre, uint32_t len, unsigned outer)
{
    if (len < GRE_LEN)
        return outer;
    switch (rte_be_to_cpu_16(gre_protocol(gre))) {
    case GRE_PROTO_IPV4:
        return FAMILY_4;
    case GRE_PROTO_IPV6:
        return FAMILY_6;
    default:
        return outer;
    }
}

/* The family of an IP packet of the core, or of what is in its tunnel. */
static unsigned of_core(const uint8_t *ip, uint32_t len)
{
    unsigned outer = version(ip, len);
    uint32_t header = outer == FAMILY_4 ? (ip[0] & 0xfu) * 4 : IPV6_LEN;

    if (outer == OTHER_FAMILY || header > len || ip[outer == FAMILY_4 ? 9 : 6] != IPPROTO_GRE)
        return outer;
    return in_tunnel(ip + header, len - header, outer);
}

/* The family of a frame behind l2 bytes, of which the last two are its EtherType. */
static unsigned behind(const uint8_t *f, uint32_t l2, uint32_t len)
{
    const uint8_t *packet = f + l2;
    int stack;

    switch (rte_be_to_cpu_16(load16(packet - 2))) {
    case RTE_ETHER_TYPE_ARP:
        return FAMILY_4;
    case RTE_ETHER_TYPE_IPV4:
    case RTE_ETHER_TYPE_IPV6:
        return l2 == ETH_LEN ? of_core(packet, len - l2) : version(packet, len - l2);
    case PPPOE_TYPE:
        return len - l2 > PPPOE_PPP_LEN ? version(packet + PPPOE_PPP_LEN, len - l2 - PPPOE_PPP_LEN)
                                        : OTHER_FAMILY;
    case MPLS_TYPE:
        stack = mpls_stack_len(packet, len - l2, MPLS_MAX_LABELS);
        return stack > 0 ? of_core(packet + stack, len - l2 - (uint32_t)stack) : OTHER_FAMILY;
    default:
        return OTHER_FAMILY;
    }
}

static unsigned family_of(const struct rte_mbuf *m)
{
    const uint8_t *f = frame_bytes(m);

    if (m->data_len < ETH_LEN)
        return OTHER_FAMILY;
    if (m->data_len >= QINQ_LEN && qinq_is_double(qinq_tags(f)))
        return behind(f, QINQ_LEN, m->data_len);
    return behind(f, ETH_LEN, m->data_len);
}

bool is_frame_of_ipv4(const struct rte_mbuf *m)
{
    return family_of(m) == FAMILY_4;
}

bool is_frame_of_ipv6(const struct rte_mbuf *m)
{
    return family_of(m) == FAMILY_6;
}
