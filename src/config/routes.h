/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes, wherever they were written: a block of them in a group of a file, or one in an object of
 * a request. They have one table of keys and one set of checks. */
#ifndef CONFIG_ROUTES_H
#define CONFIG_ROUTES_H

#include "config/keys.h"

enum {
    ROUTE_PREFIX,
    ROUTE_PORT,
    ROUTE_VIA,
    ROUTE_MAC,
    ROUTE_GRE,
    ROUTE_MPLS,
    ROUTE_COUNT,
    ROUTE_NEXTHOPS,              /* of a group, or an object of a request */
    ROUTE_ALSO = ROUTE_NEXTHOPS, /* of a row of a table */
    N_ROUTE_KEYS
};

extern const struct key route_keys[N_ROUTE_KEYS];

/** count prefixes of one length, one after the other, that leave in the same ways. */
struct route_block {
    uint32_t prefix;     /* of the first, host order, no bits set after the length */
    struct ipv6 prefix6; /* the same of IPv6 */
    bool is_ipv6;
    uint8_t len;
    uint64_t count;
    struct loc loc;
    uint32_t n_nexthops;
    struct cfg_nexthop nexthop[CFG_MAX_WAYS]; /* the first n_nexthops, each another */
};

/** Check the values of a group or object at loc against each other, and make a block of routes. ok:
 * each value by itself was valid. Returns false after an error. */
bool take_route(struct loader *l, const struct value *v, struct loc loc, bool ok,
                struct route_block *out);

/* A next hop (nexthop.c). */

/** The port whose own address of IPv4 is among first..last, or NULL; the address is in *addr. */
const struct cfg_port *port_of_address(const struct loader *l, uint64_t first, uint64_t last,
                                       uint32_t *addr);

/** Check the values of a next hop, which are at their places in v, the others of which are not
 * looked at; ok: they were right one by one. what names its group in messages. Adds it to *out;
 * returns false after an error. */
bool take_hop(struct loader *l, const struct value *v, struct loc loc, const char *what, bool ok,
              struct route_block *out);

/**
 * Report which of n routes lead to a prefix to which an earlier one or one that is there already
 * leads. there (NULL: none is) returns the route to a prefix, or NULL.
 */
void check_routes(struct loader *l, const struct cfg_route *routes, uint32_t n,
                  const struct cfg_route *(*there)(const void *ctx, uint32_t prefix, uint8_t len),
                  const void *ctx);

/* What is another thing of IPv6 (ipv6.c). */

/** Take the prefix of a value of KEY_ROUTE, and of which family it is. Returns false after an
 * error: bits are set behind it. */
bool take_route_prefix(struct loader *l, const struct value *v, struct route_block *out);

/** Check the prefixes of a block, the first of which was taken. Returns false after an error. */
bool check_prefix6(struct loader *l, const struct value *v, struct route_block *r);

/** Add the routes of a block that lead to way (cfg_route.nexthop) to l->m. */
void add_routes6(struct loader *l, const struct route_block *r, uint32_t way);

/** Is a value of KEY_ROUTE the first prefix of a block, of whichever family? */
bool is_prefix_of(const struct value *prefix, const struct route_block *r);

/** The first prefix of a block, for a message; text is returned. */
const char *block_prefix_text(const struct route_block *r, char text[IPV6_TEXT]);

/** The same as check_routes(). */
void check_routes6(struct loader *l, const struct cfg_route6 *routes, uint32_t n,
                   const struct cfg_route *(*there)(const void *ctx, struct ipv6 prefix,
                                                    uint8_t len),
                   const void *ctx);

/* An index of next hops by what they say, so that routes that leave in the same way find the next
 * hop that they share, however many there are. */

struct nexthop_index {
    uint32_t *head, *next; /* chains of next hops by hash, and the one behind each; index + 1 */
    uint32_t n_heads;      /* a power of two */
};

/** Make an index of up to n next hops, of which none is in it. Returns 0, or -1 without memory;
 * call nexthop_index_close() in either case. */
int nexthop_index_open(struct nexthop_index *x, uint32_t n);
void nexthop_index_close(struct nexthop_index *x);

/** Find the next hop in the index that leaves as nh does. Returns its number in list[], or
 * CFG_NONE. */
uint32_t nexthop_index_find(const struct nexthop_index *x, const struct cfg_nexthop *list,
                            const struct cfg_nexthop *nh);

/** Put list[i] into the index, in which it is not; and take it out again. */
void nexthop_index_add(struct nexthop_index *x, const struct cfg_nexthop *list, uint32_t i);
void nexthop_index_remove(struct nexthop_index *x, const struct cfg_nexthop *list, uint32_t i);

/** The same of sets. Their next hops ascend (set_sort()), so that each set is there once. */
uint32_t set_index_find(const struct nexthop_index *x, const struct cfg_nexthop_set *list,
                        const struct cfg_nexthop_set *set);
void set_index_add(struct nexthop_index *x, const struct cfg_nexthop_set *list, uint32_t i);
void set_index_remove(struct nexthop_index *x, const struct cfg_nexthop_set *list, uint32_t i);

void set_sort(struct cfg_nexthop_set *set);

/** Indices of all next hops and sets of a model. */
struct shared_ways {
    struct nexthop_index nexthops, sets;
};

/** Make indices for so many; as nexthop_index_open() and nexthop_index_close(). */
int shared_ways_open(struct shared_ways *w, uint32_t nexthops, uint32_t sets);
void shared_ways_close(struct shared_ways *w);

/** Find or add the next hops of a block, and their set, in l->m. Returns what cfg_route.nexthop
 * says, or CFG_NONE after an error. */
uint32_t share_ways(struct loader *l, struct shared_ways *known, const struct route_block *r);

#endif
