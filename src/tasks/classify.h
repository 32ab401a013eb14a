/* SPDX-License-Identifier: BSD-3-Clause */
/* What classify does with a subscriber's packet that is as it should be, for the task itself and
 * for the chains that it is in (fused/). */
#ifndef TASKS_CLASSIFY_H
#define TASKS_CLASSIFY_H

#include "engine/task.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/qinq.h"
#include "tables/dscp.h"
#include "tables/tables.h"

/** The state of an instance. */
struct classify {
    const struct idmap *map;
    const struct subscriber *record;
    const struct subscriber6_table *v6; /* NULL: nobody has IPv6 */
    const struct route_table *routes;
    const uint8_t (*port_mac)[MAC_ROOM];
    const struct dscp_table *dscp; /* NULL: no scheduler follows */
    bool anti_spoof;
    bool by_address;
    bool not_only_ip; /* match = "any" */
    bool encap; /* the next task runs on this core at once, and some next hop puts headers before */
};

/** The slot of the subscriber that a frame's port and tags name; that of nobody where they cannot.
 */
static inline const uint32_t *classify_slot(const struct classify *c, const struct rte_mbuf *m,
                                            uint16_t port)
{
    uint64_t tags;

    if (unlikely(m->nb_segs != 1 || m->data_len < QINQ_LEN))
        return idmap_no_slot();
    tags = qinq_tags(frame_bytes(m));
    if (unlikely(!qinq_is_double(tags) || port > UINT8_MAX))
        return idmap_no_slot();
    return idmap_slot(c->map,
                      subscriber_vlan_key((uint8_t)port, qinq_svlan(tags), qinq_cvlan(tags)));
}

/** Does a frame of len bytes from a subscriber's line hold an IPv4 packet of his to the gateway's
 * MAC, which is the source in his header template? Ingress filtering: RFC 2827. */
static inline bool classify_is_good(const struct classify *c, const uint8_t *f, uint32_t len,
                                    const struct subscriber *s)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f + QINQ_LEN);

    return qinq_type(f) == RTE_BE16(RTE_ETHER_TYPE_IPV4) && eth_is_to(f, s->l2 + 6) &&
           ipv4_check(ip, len - QINQ_LEN) == IPV4_OK &&
           (!c->anti_spoof || subscriber_has_ipv4(s, ip->src_addr));
}

#endif
