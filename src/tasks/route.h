/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages by which route finds a next hop, and its checks, shared by the task and its fused
 * chains (fused/). */
#ifndef TASKS_ROUTE_H
#define TASKS_ROUTE_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/flow.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "tables/tables.h"

/** The state of an instance. */
struct route {
    const uint32_t *first; /* the levels of tables/fib/fib.h, in the copy of its socket */
    const struct fib_line *line;
    const struct fib6_copy *fib6;
    const struct nexthop *nexthop;
    const struct nexthop_set *set;
    bool cold; /* packets come from a port or another core */
};

/** The first entry of an address (host order). */
static inline const uint32_t *route_first(const struct route *r, uint32_t dst)
{
    return &r->first[dst >> (32 - FIB_FIRST_BITS)];
}

/** The second entry, to be prefetched, or the first one where that is the last. */
static inline const uint32_t *route_entry(const struct route *r, uint32_t dst)
{
    const uint32_t *first = route_first(r, dst);
    uint32_t found = fib_read(first);

    return (found & FIB_MORE) != 0 ? fib_second(r->line, found, dst) : first;
}

/** What the route of an address leads to: the id of a next hop, ROUTE_SET and the index of a set,
 * or 0; from what route_entry() gave. A third entry, of prefixes longer than /28, is waited for: a
 * pass of its own would cost all others more. */
static inline uint32_t route_number(const struct route *r, const uint32_t *entry, uint32_t dst)
{
    uint32_t found = fib_read(entry);

    if (unlikely((found & FIB_MORE) != 0))
        found = fib_read(fib_third(r->line, found, dst));
    return likely(ipv4_is_unicast(dst)) ? found & FIB_NUMBER : 0;
}

/** The id of the next hop of a packet, of which len bytes are there, from what route_number() gave.
 * A set is waited for, as a third entry is; most routes have none. */
static inline uint32_t route_nexthop(const struct route *r, uint32_t number,
                                     const struct rte_ipv4_hdr *ip, uint32_t len)
{
    if (likely((number & ROUTE_SET) == 0))
        return number;
    return nexthop_set_pick(&r->set[number & ~ROUTE_SET], flow_of_ipv4((const uint8_t *)ip, len));
}

/** What route_nexthop() gives of a set, for a packet of IPv6: a next hop whose MAC is known, if
 * there is one. */
uint32_t route_pick6(const struct route *r, uint32_t number, const struct ipv6_hdr *ip,
                     uint32_t len);

/** The id of the next hop of a packet of IPv6, of which len bytes are there, from the number that
 * its destination leads to; 0 where no router may forward to that. */
static inline uint32_t route_nexthop6(const struct route *r, uint32_t number, struct ipv6 dst,
                                      const struct ipv6_hdr *ip, uint32_t len)
{
    if (unlikely(!ipv6_is_forwarded(dst.upper)))
        return 0;
    return likely((number & ROUTE_SET) == 0) ? number : route_pick6(r, number, ip, len);
}

/** May a packet of that size, with that many hops to go, leave by a next hop at once? Next hop 0
 * (no route) and the gateway's own have no MAC. */
static inline bool route_may_leave(uint32_t hops, uint32_t size, const struct nexthop *nh)
{
    return hops > 1 && size <= nh->max_ip && nh->mac_known;
}

/** The same of an IPv4 packet. */
static inline bool route_is_plain(const struct rte_ipv4_hdr *ip, const struct nexthop *nh)
{
    return route_may_leave(ip->time_to_live, net16(ip->total_length), nh);
}

/** The same of an IPv6 packet. */
static inline bool route_is_plain6(const struct ipv6_hdr *ip, const struct nexthop *nh)
{
    return route_may_leave(ip->hop_limit, ipv6_len(ip), nh);
}

/** Is a frame of len bytes, with an Ethernet header and nothing else before the packet, as long as
 * its next hop wants, or is there room for padding? It will begin so many bytes further on than it
 * does. */
static inline bool route_fits(const struct nexthop *nh, const struct rte_mbuf *m, uint32_t further,
                              uint32_t len)
{
    return likely(len >= nh->min_len) ||
           nh->min_len <= (uint32_t)m->buf_len - m->data_off - further;
}

/** Write the Ethernet header of the next hop. */
static inline void route_write_eth(uint8_t *f, const struct nexthop *nh)
{
    store64(f, load64(nh->eth));
    store64(f + 6, load64(nh->eth + 6));
}

#endif
