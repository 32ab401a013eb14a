/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/shed.h"

#include <rte_mbuf.h>

#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/gre.h"
#include "packet/mpls.h"
#include "packet/qinq.h"

#define IPV4_LEN  20u
#define MPLS_LEN  4u
#define LAST      (DSCP_QUEUES - 1)
#define AHEAD     12u /* packets whose lines are fetched before they are read */
#define IPV4_TYPE RTE_BE16(RTE_ETHER_TYPE_IPV4)

/* The TOS octet of the packet at ip, or of that inside its tunnel; end: of the frame. */
static inline int tos_of(const uint8_t *ip, const uint8_t *end)
{
    const uint8_t *inner = ip + IPV4_LEN + 4; /* RFC 2784 section 2.1; RFC 2890: the key */

    if (unlikely(ip + IPV4_LEN > end))
        return -1;
    if (ip[9] != IPPROTO_GRE || ip[0] != RTE_IPV4_VHL_DEF)
        return ip[1];
    if (likely(inner <= end) && (inner[-4] & 0x20) != 0)
        inner += 4;
    return inner + IPV4_LEN <= end ? inner[1] : -1;
}

/* The queue of a frame that nobody has checked yet, by what it says itself. */
static inline unsigned apparent_queue(const struct dscp_table *dscp, const struct rte_mbuf *m)
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
    if (unlikely(type != IPV4_TYPE))
        return type == RTE_BE16(RTE_ETHER_TYPE_ARP) ? 0 : dscp->non_ip;
    tos = tos_of(f + l2, end);
    return tos >= 0 ? dscp_queue(dscp, (uint8_t)tos) : LAST;
}

/* All packets of the classes before the limit are kept, and of itself as many as there is room. */
static unsigned class_limit(const uint16_t count[DSCP_CLASSES], uint16_t *room)
{
    unsigned class = 0;

    while (class < DSCP_BE && count[class] <= *room)
        *room -= count[class ++];
    return class;
}

/* Both lines at once: where the frame of an untouched mbuf is, is known without reading it. */
static inline void prefetch_fresh(const struct rte_mbuf *m)
{
    __builtin_prefetch(m, 1, 3);
    __builtin_prefetch((const uint8_t *)(m + 1) + RTE_PKTMBUF_HEADROOM, 1, 3);
}

uint16_t shed_lowest(const struct dscp_table *dscp, struct rte_mbuf **m, uint16_t n, uint16_t room,
                     struct rte_mbuf **drop)
{
    uint16_t count[DSCP_CLASSES] = {0}, kept = 0, dropped = 0;
    uint8_t class[SHED_MAX];
    unsigned limit;

    if (n <= room)
        return n;
    for (uint16_t i = 0; i < AHEAD; i++)
        prefetch_fresh(m[i < n ? i : 0]);
    for (uint16_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch_fresh(m[i + AHEAD]);
        class[i] = (uint8_t)RTE_MIN(apparent_queue(dscp, m[i]), (unsigned)DSCP_BE);
        count[class[i]]++;
    }
    limit = class_limit(count, &room);
    for (uint16_t i = 0; i < n; i++) {
        bool in = class[i] < limit || (class[i] == limit && room > 0);

        room -= in && class[i] == limit;
        m[kept] = m[i]; /* no branch on what is at random */
        drop[dropped] = m[i];
        kept += in;
        dropped += !in;
    }
    return kept;
}
