/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Session frames of PPPoE (RFC 2516 section 4), and the protocol that PPP puts first in them
 * (RFC 1661 section 2): behind the EtherType 0x8864
 *
 *   0 version 1, type 1 | 1 code 0 | 2 session | 4 length, of what follows | 6 PPP protocol | 8 ...
 *
 * The protocol always has two bytes: RFC 2516 section 7 advises against their compression, and the
 * control plane never agrees to it.
 */
#ifndef PACKET_PPPOE_H
#define PACKET_PPPOE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "packet/bytes.h"
#include "packet/frame.h"
#include "packet/qinq.h"

#define PPPOE_TYPE     0x8864
#define PPPOE_LEN      6
#define PPPOE_PPP_LEN  8                          /* with the PPP protocol */
#define PPPOE_QINQ_LEN (QINQ_LEN + PPPOE_PPP_LEN) /* of all headers before an IP packet */
#define PPPOE_MTU      1492                       /* of a session on plain Ethernet: section 7 */

#define PPP_IPV4 0x0021
#define PPP_IPV6 0x0057
#define PPP_LCP  0xc021

/** Version, type and code of a session frame. */
#define PPPOE_FIRST 0x1100

/** What a PPPoE header says. */
struct pppoe {
    uint16_t session;
    uint16_t protocol; /* of PPP */
    uint32_t len;      /* of what follows the protocol */
};

/** Write both headers before a packet of len bytes. */
static inline void pppoe_write(uint8_t *to, rte_be16_t session, uint16_t protocol, uint32_t len)
{
    store64(to, rte_cpu_to_be_64((uint64_t)PPPOE_FIRST << 48 | (uint64_t)net16(session) << 32 |
                                 (uint64_t)(len + PPPOE_PPP_LEN - PPPOE_LEN) << 16 | protocol));
}

/** Read both headers of avail bytes, Ethernet padding included. Returns false where it is no
 * session frame, or its length is beyond its end or too short for a protocol. */
static inline bool pppoe_read(const uint8_t *from, uint32_t avail, struct pppoe *out)
{
    uint64_t v;
    uint16_t len;

    if (avail < PPPOE_PPP_LEN)
        return false;
    v = rte_be_to_cpu_64(load64(from));
    len = (uint16_t)(v >> 16);
    out->session = (uint16_t)(v >> 32);
    out->protocol = (uint16_t)v;
    out->len = len - (PPPOE_PPP_LEN - PPPOE_LEN);
    return v >> 48 == PPPOE_FIRST && len >= PPPOE_PPP_LEN - PPPOE_LEN && len <= avail - PPPOE_LEN;
}

static inline bool ppp_is_ip(uint16_t protocol)
{
    return protocol == PPP_IPV4 || protocol == PPP_IPV6;
}

/** The EtherType of what a protocol of IP carries, in network order, 0 for any other protocol; and
 * the other way. */
static inline rte_be16_t pppoe_type_of(uint16_t protocol)
{
    return protocol == PPP_IPV4   ? RTE_BE16(RTE_ETHER_TYPE_IPV4)
           : protocol == PPP_IPV6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6)
                                  : 0;
}
static inline uint16_t pppoe_protocol_of(rte_be16_t type)
{
    return type == RTE_BE16(RTE_ETHER_TYPE_IPV4) ? PPP_IPV4 : PPP_IPV6;
}

/** Take the PPPoE header off a tagged frame with a packet of len bytes: the Ethernet header and the
 * tags move up to the packet, and what pads the frame is cut. */
static inline void pppoe_strip(struct rte_mbuf *m, rte_be16_t type, uint32_t len)
{
    uint8_t *f = frame_bytes(m);
    uint32_t inner_tag = load32(f + 16);

    copy16(f + PPPOE_PPP_LEN, f);
    store32(f + PPPOE_PPP_LEN + 16, inner_tag);
    store16(f + PPPOE_QINQ_LEN - 2, type);
    frame_set(m, PPPOE_PPP_LEN, QINQ_LEN + len);
}

/** Move the Ethernet header and the tags of a session frame up to the packet, of len bytes, and its
 * PPPoE header before them; the EtherType stays, and what pads the frame is cut. */
static inline void pppoe_move_up(struct rte_mbuf *m, uint32_t len)
{
    uint8_t *f = frame_bytes(m);
    uint64_t header = load64(f + QINQ_LEN), end = load64(f + QINQ_LEN - 8);

    copy16(f + PPPOE_PPP_LEN, f);
    store64(f + PPPOE_QINQ_LEN - 8, end);
    store64(f, header);
    frame_set(m, PPPOE_PPP_LEN, QINQ_LEN + len);
}

/** Undo pppoe_move_up(), but for the padding. */
static inline void pppoe_move_back(struct rte_mbuf *m)
{
    uint8_t *f = frame_bytes(m) - PPPOE_PPP_LEN;
    uint64_t header = load64(f), end = load64(f + PPPOE_QINQ_LEN - 8);

    copy16(f, f + PPPOE_PPP_LEN);
    store64(f + QINQ_LEN - 8, end);
    store64(f + QINQ_LEN, header);
    frame_set(m, -PPPOE_PPP_LEN, m->data_len + PPPOE_PPP_LEN);
}

#endif
