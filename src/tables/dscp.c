/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/dscp.h"

#include <rte_mbuf.h>

#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/gre.h"
#include "packet/icmpv6.h"
#include "packet/ipv6.h"
#include "packet/mpls.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"

#define IPV4_LEN  20u
#define GRE_KEY   0x20 /* RFC 2890: there is a key */
#define MPLS_LEN  4u
#define LAST      (SHED_RANKS - 1)
#define AHEAD     24u /* packets whose lines are prefetched before they are read */
#define IPV4_TYPE RTE_BE16(RTE_ETHER_TYPE_IPV4)
#define IPV6_TYPE RTE_BE16(RTE_ETHER_TYPE_IPV6)
#define CUT_OFF   (-1) /* instead of a TOS octet: the frame ends before it */
#define ND        (-2) /* neighbour discovery */

/* The traffic class of the IPv6 packet at p. */
static inline int class_of(const uint8_t *p, const uint8_t *end)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)p;

    if (unlikely(p + IPV6_LEN > end))
        return CUT_OFF;
    /* a router never forwards it: RFC 4861 sections 6.1, 7.1, 8.1 */
    if (unlikely(ip->next_header == IPPROTO_ICMPV6 && ip->hop_limit == 255) && p + IPV6_LEN < end &&
        p[IPV6_LEN] >= ICMPV6_ROUTER_SOLICIT && p[IPV6_LEN] <= ICMPV6_REDIRECT)
        return ND;
    return ipv6_traffic_class(ip);
}

/* The TOS octet or traffic class of the packet at ip (its version tells the family) or, in a GRE
 * tunnel, of the inner packet; or CUT_OFF or ND. */
static inline int tos_of(const uint8_t *ip, const uint8_t *end)
{
    const uint8_t *inner = ip + IPV4_LEN + 4; /* RFC 2784 section 2.1; RFC 2890: the key */

    if (unlikely(ip + IPV4_LEN > end))
        return CUT_OFF;
    if (unlikely(ip[0] >> 4 == 6)) {
        if (ip[offsetof(struct ipv6_hdr, next_header)] != IPPROTO_GRE)
            return class_of(ip, end);
        inner += IPV6_LEN - IPV4_LEN;
    } else if (ip[9] != IPPROTO_GRE || ip[0] != RTE_IPV4_VHL_DEF) {
        return ip[1];
    }
    if (likely(inner <= end) && (inner[-4] & GRE_KEY) != 0)
        inner += 4;
    if (unlikely(inner + IPV4_LEN > end))
        return CUT_OFF;
    return unlikely(inner[0] >> 4 == 6) ? class_of(inner, end) : inner[1];
}

/* The rank of a queue is its class. */
static inline uint8_t rank_of_queue(unsigned queue)
{
    return (uint8_t)RTE_MIN(queue, (unsigned)DSCP_BE);
}

/* The rank of a frame that is not checked yet, by what its headers say. */
static inline uint8_t apparent_rank(const struct dscp_table *dscp, const struct rte_mbuf *m)
{
    const uint8_t *f = frame_bytes(m), *end = f + m->data_len;
    uint32_t l2 = ETH_LEN;
    rte_be16_t type;
    int tos;

    if (unlikely(m->nb_segs != 1 || m->data_len < QINQ_LEN))
        return LAST;
    type = eth_type(f);
    if (type == RTE_BE16(MPLS_TYPE)) {
        l2 += (f[16] & 1) != 0 ? MPLS_LEN : 2 * MPLS_LEN; /* RFC 3032: bottom of stack */
        type = IPV4_TYPE;
    } else if (qinq_is_double(qinq_tags(f))) {
        l2 = QINQ_LEN;
        type = qinq_type(f);
    }
    if (unlikely(type == RTE_BE16(PPPOE_TYPE))) {
        if (m->data_len < PPPOE_QINQ_LEN || l2 != QINQ_LEN)
            return LAST;
        l2 = PPPOE_QINQ_LEN;
        type = pppoe_type_of(net16(load16(f + l2 - 2)));
        if (type == 0) /* what keeps the session */
            return 0;
    }
    if (unlikely(type != IPV4_TYPE && type != IPV6_TYPE))
        return type == RTE_BE16(RTE_ETHER_TYPE_ARP) ? 0 : rank_of_queue(dscp->non_ip);
    tos = tos_of(f + l2, end);
    if (unlikely(tos < 0))
        return tos == ND ? 0 : LAST;
    return rank_of_queue(dscp_queue(dscp, (uint8_t)tos));
}

void shed_rank(const struct dscp_table *dscp, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank)
{
    for (uint32_t i = 0; i < AHEAD && i < n; i++)
        frame_prefetch_fresh(m[i], 1);
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            frame_prefetch_fresh(m[i + AHEAD], 1);
        rank[i] = apparent_rank(dscp, m[i]);
    }
}
