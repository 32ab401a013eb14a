/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes come and go while traffic flows. Everything is checked before anything is changed. */
#ifndef CONTROL_CHANGE_ROUTES_H
#define CONTROL_CHANGE_ROUTES_H

#include "control/change.h"

struct route_change {
    uint32_t prefix; /* host order, no bits set after the length */
    uint8_t len;
    struct cfg_nexthop nexthop;
};

/** Index what the configuration says. Returns 0 or -1. */
int routes_open(struct control *c);

/** Index in model->routes[], or CFG_NONE. */
uint32_t route_find(const struct control *c, uint32_t prefix, uint8_t len);

/** Add n routes to prefixes that have none. Returns 0; or -errno: none was added, and *which of
 * them is wrong (CHANGE_NONE: not one alone). */
int add_routes(struct control *c, const struct route_change *list, uint32_t n, uint32_t *which,
               struct refusal *why);

/** Have a route lead elsewhere, from one packet to the next. Returns 0 or -errno. */
int change_route(struct control *c, const struct route_change *r, struct refusal *why);

/** Remove a route, by index in model->routes[]: that of the last one changes. */
void remove_route(struct control *c, uint32_t index);

#endif
