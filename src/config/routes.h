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
    N_ROUTE_KEYS
};

extern const struct key route_keys[N_ROUTE_KEYS];

/** count prefixes of one length, one after the other, that leave in the same way. */
struct route_block {
    uint32_t prefix; /* of the first, host order, no bits set after the length */
    uint8_t len;
    uint64_t count;
    struct cfg_nexthop nexthop; /* its loc is that of the block */
};

/** Check the values of a group or object at loc, ok saying whether they were right one by one, and
 * make a block of them. Returns false after an error. */
bool take_route(struct loader *l, const struct value *v, struct loc loc, bool ok,
                struct route_block *out);

/**
 * Report which of n routes lead to a prefix to which an earlier one or one that is there already
 * leads. there (NULL: none is) returns the route to a prefix, or NULL.
 */
void check_routes(struct loader *l, const struct cfg_route *routes, uint32_t n,
                  const struct cfg_route *(*there)(const void *ctx, uint32_t prefix, uint8_t len),
                  const void *ctx);

#endif
