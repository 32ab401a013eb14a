/* SPDX-License-Identifier: BSD-3-Clause */
/* A next hop towards the core: one cache line with the headers to be written, ready made. route.h
 * has the table of them, by id 1..n (0: none). */
#ifndef TABLES_NEXTHOP_H
#define TABLES_NEXTHOP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "base/ipv6.h"

/** Control writes it before use; afterwards only the neighbour's MAC and max_ip change, by the arp
 * task, and in_sets, by control. */
struct nexthop {
    uint8_t eth[14]; /* neighbour's MAC, ours, 0x0800 */
    uint16_t max_ip; /* largest IP packet that fits the port's MTU behind the headers, or what the
                        core takes where it is narrower (arp task) */
    union {
        struct {
            uint8_t ip_gre[28]; /* outer IPv4 (total length, checksum and DSCP 0, DF set), and GRE
                                   with key (0) */
            uint32_t ip_sum;    /* one's-complement sum of the outer IPv4 header, not folded */
        };
        uint8_t ends6[32]; /* has_gre is TUNNEL_IPV6: source and destination of the outer header,
                              all else in which is the same of every tunnel */
    };
    rte_be32_t mpls; /* label stack entry: label, TC 0, S 1, TTL 0 */
    uint8_t port;    /* egress port, the configuration's number */
    uint8_t mac_known;
    uint8_t has_gre; /* enum nexthop_tunnel */
    uint8_t has_mpls;
    uint8_t local;   /* 1: the gateway itself, packets are punted */
    uint8_t min_len; /* shortest frame, with Ethernet header and before this encapsulation, that
                        needs no padding */
    uint8_t before;  /* bytes of tunnel and labels that max_ip leaves room for */
    uint8_t in_sets; /* 1: a set has it, so that the arp task asks for its MAC unasked */
} __rte_cache_aligned;

static_assert(sizeof(struct nexthop) == 64, "one cache line per next hop");

/** The family of a tunnel's outer header. */
enum nexthop_tunnel { TUNNEL_NONE, TUNNEL_IPV4, TUNNEL_IPV6 };

/** Has the GRE header that gre_encap writes a key (RFC 2890)? Several of them may differ. */
enum gre_keys { GRE_KEYS_ALWAYS, GRE_KEYS_SOMETIMES, GRE_KEYS_NEVER };

/** The description of a new next hop, in host byte order. */
struct nexthop_spec {
    uint8_t port;
    uint16_t mtu;               /* of the port */
    const uint8_t *gateway_mac; /* of the port */
    const uint8_t *mac;         /* static neighbour, or NULL */
    struct ipv6 via;            /* neighbour to be asked for its MAC, of either family, or :: */
    bool has_gre, has_mpls;
    enum gre_keys gre_keys;
    struct ipv6 gre_source, gre_destination; /* of one family */
    uint32_t label;
};

/** Fill a next hop from its description, but for the neighbour's address. */
void nexthop_init(struct nexthop *nh, const struct nexthop_spec *spec);

/** The two ends of a tunnel, of either family. */
struct tunnel_ends {
    struct ipv6 ours, far;
};

static inline bool same_ends(const struct tunnel_ends *a, const struct tunnel_ends *b)
{
    return same6(a->ours, b->ours) && same6(a->far, b->far);
}

/** The ends of the tunnel of a next hop; :: where it has none. */
struct tunnel_ends nexthop_ends(const struct nexthop *nh);

/** Learn the neighbour's MAC, or forget it (NULL): by one aligned 8-byte store. */
void nexthop_set_mac(struct nexthop *nh, const uint8_t *mac);

#endif
