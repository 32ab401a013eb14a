/* SPDX-License-Identifier: BSD-3-Clause */
/* The label that mpls_push puts before a packet, for the task itself and for the chains that it is
 * in (fused/). */
#ifndef TASKS_MPLS_PUSH_H
#define TASKS_MPLS_PUSH_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/mpls.h"
#include "tables/tables.h"

#include <rte_ip.h>

/** The state of an instance. */
struct mpls_push {
    const struct nexthop *nexthop;
    bool exp_from_dscp;
    bool cold; /* packets come from a port or another core */
};

/** Write Ethernet header and label before an IPv4 header. Returns the beginning of the frame. */
static inline uint8_t *mpls_push_write(uint8_t *header, const struct nexthop *nh,
                                       bool exp_from_dscp)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)header;
    uint8_t *f = header - MPLS_ENTRY_LEN - ETH_LEN;
    /* the class selector bits of the DSCP: RFC 3270 section 3.3 */
    uint8_t tc = exp_from_dscp ? ip->type_of_service >> 5 : 0;
    rte_be32_t entry = mpls_entry(nh->mpls, tc, ip->time_to_live);

    copy16(f, nh->eth); /* the last 4 bytes are overwritten below */
    store16(f + ETH_MACS, RTE_BE16(MPLS_TYPE));
    store32(f + ETH_LEN, entry);
    return f;
}

#endif
