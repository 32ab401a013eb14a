/* SPDX-License-Identifier: BSD-3-Clause */
/* PPPoE session frames of a subscriber: from the frame to the packet that is in it. */
#ifndef TASKS_CLASSIFY_PPPOE_H
#define TASKS_CLASSIFY_PPPOE_H

#include "engine/task.h"
#include "packet/mss.h"
#include "packet/pppoe.h"
#include "tables/subscriber.h"
#include "tasks/classify/schema.h"

/**
 * Take a packet of IP out of the session of its subscriber, who has one: the frame is one of IPoE
 * from then on. Returns VERDICT_GOOD, or the reason to drop the frame, which is as it was then. The
 * sender is known by MAC and session together (RFC 2516 section 4).
 */
static inline int classify_leave_session(struct rte_mbuf *m, const struct subscriber *s)
{
    const uint8_t *f = frame_bytes(m);
    struct pppoe p;

    if (unlikely(qinq_type(f) != RTE_BE16(PPPOE_TYPE)))
        return DROP_NOT_PPPOE;
    if (unlikely(!pppoe_read(f + QINQ_LEN, m->data_len - QINQ_LEN, &p)))
        return DROP_BAD_PPPOE;
    if (unlikely(p.session != net16(s->session)))
        return DROP_UNKNOWN_SESSION;
    if (unlikely(!eth_is_to(f + 6, s->l2)))
        return DROP_SESSION_MAC;
    if (unlikely(!ppp_is_ip(p.protocol)))
        return DROP_PPP_CONTROL;
    pppoe_strip(m, pppoe_type_of(p.protocol), p.len);
    return VERDICT_GOOD;
}

/** Lower the segment size that a good packet out of a session tells: what comes back has to go into
 * the session. packet: behind the tags. */
static inline void classify_clamp_mss(uint8_t *packet, const struct subscriber *s, bool is_six)
{
    if (is_six)
        mss_clamp6((struct ipv6_hdr *)packet, s->mtu);
    else
        mss_clamp((struct rte_ipv4_hdr *)packet, s->mtu);
}

/**
 * For chains, which look at packets before they know the subscriber: move the headers of a session
 * frame up to the packet, behind its PPPoE header, which is kept before them. Returns the EtherType
 * of the packet; 0: it is none of IP, and nothing has moved. meta_session() says whether it has.
 * later: a packet that will be looked at some time after this one, likely to be alike.
 */
static inline rte_be16_t classify_move_up(struct rte_mbuf *m, const struct rte_mbuf *later)
{
    uint8_t *f = frame_bytes(m);
    struct pppoe p;

    meta_set_session(m, 0);
    if (m->nb_segs != 1 || m->data_len < QINQ_LEN ||
        !pppoe_read(f + QINQ_LEN, m->data_len - QINQ_LEN, &p) || p.session == 0 ||
        !ppp_is_ip(p.protocol))
        return 0;
    meta_set_session(m, p.session);
    pppoe_move_up(m, p.len);
    if (p.protocol == PPP_IPV6) { /* the header's end is in the next line of both frames */
        rte_prefetch0(f + PPPOE_QINQ_LEN + IPV6_LEN - 1);
        rte_prefetch0((const uint8_t *)(later + 1) + RTE_PKTMBUF_HEADROOM + PPPOE_QINQ_LEN +
                      IPV6_LEN - 1);
    }
    return pppoe_type_of(p.protocol);
}

/** Undo it, where it was done. */
static inline void classify_move_back(struct rte_mbuf *m)
{
    if (meta_session(m) != 0)
        pppoe_move_back(m);
}

/** Is a frame, whose headers have moved up, of a subscriber's session and of this family? */
static inline bool classify_is_in_session(const uint8_t *f, const struct subscriber *s, bool is_six)
{
    const uint8_t *header = f - PPPOE_PPP_LEN;

    return qinq_type(f) == RTE_BE16(PPPOE_TYPE) && load16(header + 2) == s->session &&
           load16(header + 6) == (is_six ? RTE_BE16(PPP_IPV6) : RTE_BE16(PPP_IPV4)) &&
           eth_is_to(f + 6, s->l2);
}

#endif
