/* SPDX-License-Identifier: BSD-3-Clause */
/* Martians: sources from which no packet can come out of the core to a subscriber. */
#ifndef TABLES_MARTIANS_H
#define TABLES_MARTIANS_H

#include <rte_branch_prediction.h>

#include "packet/ipv4.h"
#include "tables/route.h"
#include "tables/subscriber.h"

/** Where an address is in source_filter.own[]: 0..255. */
static inline uint8_t source_hash(rte_be32_t addr)
{
    return (uint8_t)((addr * 2654435761u) >> 24);
}

/** May a source be a martian? Where not, route_is_martian() need not be asked. */
static inline bool route_suspects(const struct route_table *t, rte_be32_t source)
{
    uint8_t own = source_hash(source);
    uint8_t net = *(const uint8_t *)&source;

    return ((t->sources.net[net / 64] >> net % 64 | t->sources.own[own / 64] >> own % 64) & 1) != 0;
}

/**
 * Is an address one from which no packet can come out of the core: no unicast address (RFC 1812
 * section 5.3.7, RFC 6890), of a link (RFC 3927 section 7), or the gateway's own?
 */
static inline bool route_is_martian(const struct route_table *t, rte_be32_t source)
{
    uint32_t addr = rte_be_to_cpu_32(source);

    return !ipv4_is_unicast(addr) || ipv4_is_link_local(addr) || route_is_local(t, addr);
}

/** Is a source one from which no packet can come out of the core to a subscriber: a martian, or an
 * address of his own? */
static inline bool source_is_martian(const struct route_table *routes, const struct subscriber *s,
                                     rte_be32_t source)
{
    bool his_own = subscriber_has_ipv4(s, source);

    return unlikely(his_own | route_suspects(routes, source)) &&
           (his_own || route_is_martian(routes, source));
}

/** The same of an IPv6 source of the kind that is forwarded: his own, or the gateway's? Of most
 * sources the first 32 bits tell that neither need be asked. */
static inline bool source_is_martian6(const struct route_table *routes,
                                      const struct subscriber6_table *v6,
                                      const struct subscriber *s, const struct subscriber6 *second,
                                      struct ipv6 source)
{
    return subscriber6_suspects(v6, source.upper) &&
           (subscriber_has_ipv6(s, v6, second, source) || route_is_local6(routes, source));
}

#endif
