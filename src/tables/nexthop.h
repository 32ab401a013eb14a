/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops towards the core, by id 1..n (0: none): one cache line each, with the headers to be
 * written ready made. */
#ifndef TABLES_NEXTHOP_H
#define TABLES_NEXTHOP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_common.h>

/** Written by control before use; afterwards only the neighbour's MAC changes, by the arp task of
 * its port. */
struct nexthop {
    uint8_t eth[14]; /* neighbour's MAC, ours, 0x0800 */
    uint16_t
        max_ip; /* largest IP packet that fits the port's MTU with this next hop's encapsulation */
    uint8_t ip_gre[28]; /* outer IPv4 (total length and checksum 0, DSCP 0, DF) and GRE with key
                           (key 0) */
    rte_be32_t mpls;    /* label stack entry: label, TC 0, S 1, TTL 0 */
    rte_be32_t via;     /* neighbour's IPv4, 0 where the MAC is static */
    uint32_t ip_sum;    /* one's-complement sum of the outer IPv4 header as it stands in ip_gre, not
                           folded */
    uint8_t port;       /* egress port, the configuration's number */
    uint8_t mac_known;
    uint8_t has_gre, has_mpls;
    uint8_t local;   /* 1: the gateway itself: punt */
    uint8_t min_len; /* shortest frame with its Ethernet header that will need no padding; behind it
                        come labels at most */
} __rte_cache_aligned;

static_assert(sizeof(struct nexthop) == 64, "one cache line per next hop");

/** What a new next hop is. Host byte order. */
struct nexthop_spec {
    uint8_t port;
    uint16_t mtu;               /* of the port */
    const uint8_t *gateway_mac; /* of the port */
    const uint8_t *mac;         /* static neighbour, or NULL */
    uint32_t via;               /* neighbour to resolve, or 0 */
    bool has_gre, has_mpls;
    uint32_t gre_source, gre_destination;
    uint32_t label;
};

/** Fill a next hop from its description. */
void nexthop_init(struct nexthop *nh, const struct nexthop_spec *spec);

/** Learn or forget (mac NULL) the neighbour's MAC. One aligned 8-byte store. */
void nexthop_set_mac(struct nexthop *nh, const uint8_t *mac);

#endif
