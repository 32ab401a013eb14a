/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What travels with a packet from task to task. It lives in the first cache line of the mbuf, in
 * fields that only a receiving device or a transmit offload would use, so that crossing a core
 * moves one line and no more:
 *
 *   packet_type     subscriber id (0: none)       written by classify, gre_decap
 *   vlan_tci        next hop id (0: none)         written by route
 *                   PPPoE session (0: none)       written by classify, of what goes to arp
 *   vlan_tci_outer  egress port | punt reason<<8  written by route, qinq_encap / by whoever punts
 *   hash.sched      scheduler path                written by classify, gre_decap
 *   port            ingress port                  written by lb and by the first task of the path
 *
 * Port numbers here are the configuration's (index in model.ports[]), never DPDK's.
 * A task that did not write a field must not trust it unless the graph puts its writer before.
 */
#ifndef ENGINE_META_H
#define ENGINE_META_H

#include <rte_mbuf.h>

/** Why a packet goes to the slow path. */
enum punt_reason {
    PUNT_FOR_US,      /* addressed to the gateway: ARP, ICMP echo */
    PUNT_NO_MAC,      /* the next hop's or the subscriber's MAC is not known: ask for it. Who it is
                         follows from the egress port, which the punter has set: the subscriber or
                         the next hop that the mbuf names and that is on that port */
    PUNT_TTL_EXPIRED, /* answer ICMP time exceeded */
    PUNT_TOO_BIG,     /* answer ICMP fragmentation needed */
    PUNT_NO_ROUTE,    /* answer ICMP network unreachable */
    PUNT_LINE,        /* DHCP and such from a line, which the control plane answers */
    N_PUNTS
};

static inline uint32_t meta_subscriber(const struct rte_mbuf *m)
{
    return m->packet_type;
}
static inline void meta_set_subscriber(struct rte_mbuf *m, uint32_t id)
{
    m->packet_type = id;
}

static inline uint16_t meta_nexthop(const struct rte_mbuf *m)
{
    return m->vlan_tci;
}
static inline void meta_set_nexthop(struct rte_mbuf *m, uint16_t id)
{
    m->vlan_tci = id;
}

/** The PPPoE session that a frame from a line was in when it came. */
static inline uint16_t meta_session(const struct rte_mbuf *m)
{
    return m->vlan_tci;
}
static inline void meta_set_session(struct rte_mbuf *m, uint16_t session)
{
    m->vlan_tci = session;
}

static inline uint8_t meta_out_port(const struct rte_mbuf *m)
{
    return (uint8_t)m->vlan_tci_outer;
}
static inline void meta_set_out_port(struct rte_mbuf *m, uint8_t port)
{
    m->vlan_tci_outer = port;
}

static inline uint16_t meta_in_port(const struct rte_mbuf *m)
{
    return m->port;
}
static inline void meta_set_in_port(struct rte_mbuf *m, uint16_t port)
{
    m->port = port;
}

static inline enum punt_reason meta_punt_reason(const struct rte_mbuf *m)
{
    return (enum punt_reason)(m->vlan_tci_outer >> 8);
}
static inline void meta_set_punt(struct rte_mbuf *m, enum punt_reason why)
{
    m->vlan_tci_outer = (uint16_t)(why << 8 | (m->vlan_tci_outer & 0xff));
}

/** The scheduler path: pipe * 16 + queue. */
static inline uint32_t meta_path(const struct rte_mbuf *m)
{
    return m->hash.sched.queue_id;
}
static inline void meta_set_path(struct rte_mbuf *m, uint32_t path)
{
    m->hash.sched.queue_id = path;
}

#endif
