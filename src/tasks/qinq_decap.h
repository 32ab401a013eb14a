/* SPDX-License-Identifier: BSD-3-Clause */
/* The changes that qinq_decap makes to a packet, shared by the task and its fused chains
 * (fused/). */
#ifndef TASKS_QINQ_DECAP_H
#define TASKS_QINQ_DECAP_H

#include "engine/task.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/qinq.h"

/** The state of an instance. */
struct qinq_decap {
    bool dscp_from_pcp;
    bool cold;         /* packets come from a port or another core, or have waited */
    bool encapsulates; /* some next hop puts headers before a packet */
};

/** Write the class selector (RFC 2474 section 4.2.2) of the S-tag's priority, which the access
 * network sets, into the packet of a tagged frame, where the task has to. */
static inline void qinq_decap_dscp(const struct qinq_decap *d, uint8_t *f)
{
    if (d->dscp_from_pcp)
        ipv4_set_dscp((struct rte_ipv4_hdr *)(f + QINQ_LEN),
                      (uint8_t)(qinq_pcp(qinq_tags(f)) << 3));
}

/** The same of a packet of IPv6, into its traffic class. */
static inline void qinq_decap_dscp6(const struct qinq_decap *d, uint8_t *f)
{
    if (d->dscp_from_pcp)
        ipv6_set_dscp((struct ipv6_hdr *)(f + QINQ_LEN), (uint8_t)(qinq_pcp(qinq_tags(f)) << 3));
}

#endif
