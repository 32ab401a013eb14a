/* SPDX-License-Identifier: BSD-3-Clause */
/* The label that mpls_push puts before a packet, for the task itself and for the chains that it is
 * in (fused/). */
#ifndef TASKS_MPLS_PUSH_H
#define TASKS_MPLS_PUSH_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/ipv6.h"
#include "packet/mpls.h"
#include "tables/tables.h"

#include <rte_ip.h>

/** The state of an instance. */
struct mpls_push {
    const struct nexthop *nexthop;
    bool exp_from_dscp;
    bool cold; /* packets come from a port or another core */
};

/** Write Ethernet header and label before a packet with a TOS byte or traffic class, and a TTL or
 * hop limit. Returns the beginning of the frame. */
static inline uint8_t *mpls_push_label(uint8_t *header, const struct nexthop *nh, uint8_t class,
                                       uint8_t ttl)
{
    uint8_t *f = header - MPLS_ENTRY_LEN - ETH_LEN;
    /* the class selector bits of the DSCP: RFC 3270 section 3.3 */
    rte_be32_t entry = mpls_entry(nh->mpls, class >> 5, ttl);

    copy16(f, nh->eth); /* the last 4 bytes are overwritten below */
    store16(f + ETH_MACS, RTE_BE16(MPLS_TYPE));
    store32(f + ETH_LEN, entry);
    return f;
}

/** The same before an IPv4 header. */
static inline uint8_t *mpls_push_write(uint8_t *header, const struct nexthop *nh,
                                       bool exp_from_dscp)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)header;

    return mpls_push_label(header, nh, exp_from_dscp ? ip->type_of_service : 0, ip->time_to_live);
}

/** The same before an IPv6 header, as 6PE has it: RFC 4798. */
static inline uint8_t *mpls_push_write6(uint8_t *header, const struct nexthop *nh,
                                        bool exp_from_dscp)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)header;

    return mpls_push_label(header, nh, exp_from_dscp ? ipv6_traffic_class(ip) : 0, ip->hop_limit);
}

#endif
