/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routing table: longest-prefix match from an IPv4 destination (fib.h) to a next hop, or to a
 * set of them (nexthop_set.h), and the set of the gateway's own addresses. These are also /32
 * routes to a next hop marked local, so that the route task needs one lookup only.
 *
 * One writer (control), many readers (data path). Prefixes and addresses are in host byte order.
 */
#ifndef TABLES_ROUTE_H
#define TABLES_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "tables/far_ends.h"
#include "tables/fib/fib.h"
#include "tables/fib/fib6.h"
#include "tables/nexthop.h"
#include "tables/nexthop_set.h"

#define LOCAL_SET_SLOTS 1024u     /* power of two, at most half full */
#define ROUTE_SET       0x400000u /* of a number in fib: the rest is the index of a set */
#define ROUTE_OWN       513u /* prefixes of the table's own: the gateway's addresses, and 169.254/16 */

/**
 * A first look at the source of a packet from the core (tables/martians.h), in one cache line: bits
 * of those first octets and of those hashes of which some address is a martian.
 */
struct source_filter {
    uint64_t net[4]; /* by the first octet: 0/8, 127/8, 169.254/16, 224/4 and 240/4 */
    uint64_t own[4]; /* by source_hash(): the gateway's own addresses */
} __rte_cache_aligned;

struct route_table {
    struct source_filter sources;
    struct far_ends far_ends; /* of the next hops' tunnels, by outer header */
    struct far_ends6 far_ends6;
    struct fib fib;
    struct fib6 fib6; /* first is NULL where there is no room for IPv6 */
    uint64_t own6[4]; /* bits of route_hash6() of the gateway's own addresses: who is looked up */
    struct nexthop *nexthop; /* [0] is empty; ids 1..n_nexthops, some of which may be released */
    struct ipv6 *via; /* parallel: the neighbour's address, of either family; :: where the MAC
                         is static. Packets never need it */
    uint32_t n_nexthops, capacity;
    uint32_t free; /* the id released last, or 0; ip_sum of its record is the id before */
    struct nexthop_set *set;
    uint32_t n_sets, set_capacity; /* n_sets: indices that were ever in use */
    uint32_t free_set; /* the index released last, or ROUTE_SET; first 4 bytes: the one before */
    uint32_t n_routes, room;
    uint32_t local_id; /* the next hop marked local; not among 1..n_nexthops */
    uint32_t n_locals;
    uint32_t local[LOCAL_SET_SLOTS]; /* the gateway's own addresses: open addressing, 0 is free */
};

struct rte_rcu_qsbr;

/** Make a table for up to n_nexthops next hops, n_sets sets of them and n_routes routes. Returns
 * NULL without memory. */
struct route_table *route_table_create(uint32_t n_nexthops, uint32_t n_sets, uint32_t n_routes,
                                       int socket);

/** Let routes be removed while these readers look them up: memory of a removed route is used again
 * only after a grace period. */
void route_table_share(struct route_table *t, struct rte_rcu_qsbr *readers);

/** Release a table (NULL: nothing to do). */
void route_table_free(struct route_table *t);

/** Add a next hop under the id that was released last, or else the first that was never used.
 * Returns the id (from 1), -ENOSPC, or -EINVAL where its tunnel is of IPv6, and there is no room
 * for that (route_open6()). */
int route_add_nexthop(struct route_table *t, const struct nexthop_spec *spec);

/** Release the id of a next hop to which no route leads and which no packet names any more. */
void route_release_nexthop(struct route_table *t, uint32_t id);

/** Add a set of n (2..NEXTHOP_SET_MOST) different next hops. Returns the number to which routes
 * lead, ROUTE_SET and the index that was released last or else the first that was never used, or
 * -ENOSPC. */
int route_add_set(struct route_table *t, const uint32_t *id, uint32_t n);

/** Release the number of a set to which no route leads, when no reader can be in it. */
void route_release_set(struct route_table *t, uint32_t number);

/** Is there room for another set? */
static inline bool route_has_set_room(const struct route_table *t)
{
    return t->free_set != ROUTE_SET || t->n_sets < t->set_capacity;
}

/**
 * Add a route, or lead an existing prefix to another next hop, or to a set (its number). Bits of
 * prefix behind len are ignored; len 0 is the default route. An address of the gateway itself (/32)
 * leads to the gateway whatever next hop is given here. Returns 0, -EINVAL (also within 169.254/16,
 * where no route leads) or -ENOSPC.
 */
int route_add(struct route_table *t, uint32_t prefix, uint8_t len, uint32_t nexthop_id);

/** Remove a route: its addresses follow the next shorter prefix. Returns 0 or -ENOENT. */
int route_remove(struct route_table *t, uint32_t prefix, uint8_t len);

/** Add an address (not 0) of the gateway itself; adding it twice is no error. Returns 0, -EINVAL or
 * -ENOSPC (more than half of LOCAL_SET_SLOTS). */
int route_add_local(struct route_table *t, uint32_t addr);

/** Give a table room for n (1 or more) routes of IPv6, and for tunnels over it. Called once, before
 * the table is shared. Returns 0 or -ENOMEM. */
int route_open6(struct route_table *t, uint32_t n, int socket);

/**
 * Add a route of IPv6, or lead an existing prefix elsewhere; to the same next hops as those of
 * IPv4. Bits of prefix behind len (0..128) are ignored. Returns 0, -EINVAL, or -ENOSPC, also where
 * there is no room for IPv6 at all. An address of the gateway itself leads to the gateway, as of
 * IPv4.
 */
int route_add6(struct route_table *t, struct ipv6 prefix, uint8_t len, uint32_t nexthop_id);

/** Remove a route of IPv6, but not to an address of the gateway itself: its addresses follow the
 * next shorter prefix. Returns 0 or -ENOENT. */
int route_remove6(struct route_table *t, struct ipv6 prefix, uint8_t len);

/** Add an address of IPv6 of the gateway itself, for which there is room in the table; where IPv6
 * has no table, it is of no use. Adding it twice is no error. Returns 0 or -ENOSPC. */
int route_add_local6(struct route_table *t, struct ipv6 addr);

/**
 * Make another copy of what routes are looked up in, on a socket, for the readers there: routes
 * that are added or removed from then on change in all copies at once. Next hops, sets of them and
 * the gateway's addresses have one copy. Called after route_open6(). Returns 0, or -ENOMEM, after
 * which the table is of no use.
 */
int route_add_copy(struct route_table *t, int socket);

/** How many copies there are, with the first. */
static inline unsigned route_copies(const struct route_table *t)
{
    return 1 + t->fib.n_more;
}

/** The socket on which all parts of a copy (0: the first) begin; SOCKET_ID_ANY where they are on
 * several, or DPDK does not know. */
int route_copy_socket(const struct route_table *t, unsigned copy);

/** Bytes that a table takes. */
uint64_t route_table_bytes(const struct route_table *t);

/** Is this one of the gateway's own addresses? */
static inline bool route_is_local(const struct route_table *t, uint32_t addr)
{
    for (uint32_t i = (addr * 2654435761u) >> 22;; i = (i + 1) & (LOCAL_SET_SLOTS - 1)) {
        if (t->local[i] == 0) /* comes first, so that 0 is not found as an address */
            return false;
        if (t->local[i] == addr)
            return true;
    }
}

/** Is there room for routes of IPv6, and for tunnels over it? */
static inline bool route_has6(const struct route_table *t)
{
    return t->fib6.own.first != NULL;
}

/** Where an address is in own6[]: 0..255. */
static inline uint8_t route_hash6(struct ipv6 addr)
{
    return (uint8_t)(((addr.upper ^ addr.lower * UINT64_C(0x9e3779b97f4a7c15)) *
                      UINT64_C(0xff51afd7ed558ccd)) >>
                     56);
}

/** The same of IPv6, but for the link-local addresses of the ports. Of other addresses, even of the
 * same net, few are looked up: the way through fib6 would cost more than all else. */
static inline bool route_is_local6(const struct route_table *t, struct ipv6 addr)
{
    uint8_t own = route_hash6(addr);

    return unlikely((t->own6[own / 64] >> own % 64 & 1) != 0) && route_has6(t) &&
           fib6_lookup(&t->fib6.own, addr) == t->local_id;
}

/** Does any next hop encapsulate packets? */
static inline bool route_has_encap(const struct route_table *t)
{
    for (uint32_t id = 1; id <= t->n_nexthops; id++)
        if (t->nexthop[id].has_gre || t->nexthop[id].has_mpls)
            return true;
    return false;
}

#endif
