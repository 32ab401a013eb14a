/* SPDX-License-Identifier: BSD-3-Clause */
/* The header that qinq_encap writes before a packet, and its checks, shared by the task and its
 * fused chains (fused/). */
#ifndef TASKS_QINQ_ENCAP_H
#define TASKS_QINQ_ENCAP_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/mss.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"
#include "tables/tables.h"

#define QINQ_ENCAP_PAD 18 /* bytes that padding writes behind a short packet: 60 - 22 - 20 */

static_assert(QINQ_ENCAP_PAD == ETH_MIN_LEN - QINQ_LEN - sizeof(struct rte_ipv4_hdr),
              "the shortest packet is a bare header");

/** The state of an instance. */
struct qinq_encap {
    const struct subscriber *record;
    bool pcp_from_dscp;
    bool cold; /* packets come from a port or another core */
};

/** Is there room for the padding behind a packet of total bytes at a place of the mbuf, or is none
 * needed? */
static inline bool qinq_encap_has_tailroom(const struct rte_mbuf *m, uint32_t at, uint32_t total)
{
    return at + total + QINQ_ENCAP_PAD <= m->buf_len || total >= ETH_MIN_LEN;
}

/** May a packet, at a place of the mbuf, be sent to its subscriber at once, behind l2 bytes of
 * headers? */
static inline bool qinq_encap_fits(const struct rte_mbuf *m, uint32_t at,
                                   const struct rte_ipv4_hdr *ip, const struct subscriber *s,
                                   uint32_t l2)
{
    uint32_t total = net16(ip->total_length);

    return ip->time_to_live > 1 && total <= s->mtu && s->mac_known && at >= l2 &&
           qinq_encap_has_tailroom(m, at, total);
}

/** Bytes of the headers before a packet to a subscriber. */
static inline uint32_t qinq_encap_l2(const struct subscriber *s)
{
    return s->session != 0 ? PPPOE_QINQ_LEN : QINQ_LEN;
}

/** Decrement the TTL of a packet, write the subscriber's header before it and the padding behind
 * it. Returns the length of the frame. */
static inline uint32_t qinq_encap_write(struct rte_ipv4_hdr *ip, const struct subscriber *s,
                                        bool pcp_from_dscp)
{
    static const uint8_t zeros[16];
    uint8_t *f = (uint8_t *)ip - QINQ_LEN;
    uint32_t len = QINQ_LEN + net16(ip->total_length);

    ipv4_ttl_decrement(ip);
    /* the three class selector bits become the priority: IEEE 802.1Q table I-2 */
    qinq_write(f, s->l2, pcp_from_dscp ? ip->type_of_service >> 5 : 0);
    if (len >= ETH_MIN_LEN)
        return len;
    /* up to the shortest frame's end and some bytes more, so that nothing leaves of what the mbuf
     * held before */
    copy16(f + len, zeros);
    copy16(f + len + QINQ_ENCAP_PAD - 16, zeros);
    return ETH_MIN_LEN;
}

/** The same questions of a packet of IPv6, behind which no padding is needed. */
static inline bool qinq_encap_fits6(uint32_t at, const struct ipv6_hdr *ip,
                                    const struct subscriber *s, uint32_t l2)
{
    return ip->hop_limit > 1 && ipv6_len(ip) <= s->mtu && s->mac_known && at >= l2;
}

/** The same of a packet of IPv6: its header, the EtherType and the length of its frame, which is
 * never shorter than the shortest one. */
static inline uint32_t qinq_encap_write6(struct ipv6_hdr *ip, const struct subscriber *s,
                                         bool pcp_from_dscp)
{
    uint8_t *f = (uint8_t *)ip - QINQ_LEN;

    ip->hop_limit--;
    qinq_write(f, s->l2, pcp_from_dscp ? ipv6_traffic_class(ip) >> 5 : 0);
    store16(f + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    return QINQ_LEN + ipv6_len(ip);
}

/** The header of a frame in a PPPoE session, before a packet of len bytes. */
static inline uint8_t *qinq_encap_write_session(uint8_t *packet, const struct subscriber *s,
                                                uint8_t pcp, uint16_t protocol, uint32_t len)
{
    uint8_t *f = packet - PPPOE_QINQ_LEN;

    qinq_write(f, s->l2, pcp);
    store16(f + QINQ_LEN - 2, RTE_BE16(PPPOE_TYPE));
    pppoe_write(f + QINQ_LEN, s->session, protocol, len);
    return f;
}

/** qinq_encap_write() of a packet that goes in its subscriber's PPPoE session. */
static inline uint32_t qinq_encap_write_pppoe(struct rte_ipv4_hdr *ip, const struct subscriber *s,
                                              bool pcp_from_dscp)
{
    static const uint8_t zeros[16];
    uint32_t total = net16(ip->total_length), len = PPPOE_QINQ_LEN + total;
    uint8_t *f;

    ipv4_ttl_decrement(ip);
    mss_clamp(ip, s->mtu);
    f = qinq_encap_write_session((uint8_t *)ip, s, pcp_from_dscp ? ip->type_of_service >> 5 : 0,
                                 PPP_IPV4, total);
    if (likely(len >= ETH_MIN_LEN))
        return len;
    copy16(f + len, zeros);
    return ETH_MIN_LEN;
}

static_assert(PPPOE_QINQ_LEN + sizeof(struct rte_ipv4_hdr) + 16 >= ETH_MIN_LEN &&
                  QINQ_ENCAP_PAD >= 16,
              "16 bytes are enough, and there is room for them");

/** The same of a packet of IPv6. */
static inline uint32_t qinq_encap_write_pppoe6(struct ipv6_hdr *ip, const struct subscriber *s,
                                               bool pcp_from_dscp)
{
    ip->hop_limit--;
    mss_clamp6(ip, s->mtu);
    qinq_encap_write_session((uint8_t *)ip, s, pcp_from_dscp ? ipv6_traffic_class(ip) >> 5 : 0,
                             PPP_IPV6, ipv6_len(ip));
    return PPPOE_QINQ_LEN + ipv6_len(ip);
}

static_assert(QINQ_LEN + IPV6_LEN >= ETH_MIN_LEN, "a bare header of IPv6 fills the shortest frame");

#endif
