/* SPDX-License-Identifier: BSD-3-Clause */
/* What routes lead to, while it runs: next hops and sets of them, which routes of both families
 * share. One to which no route leads any more is retired (ids.h). */
#ifndef CONTROL_ROUTES_WAYS_H
#define CONTROL_ROUTES_WAYS_H

#include "config/routes.h"
#include "control/request.h"

/** Index the next hops and sets of the configuration. Returns 0 or -1. */
int ways_open(struct control *c);
void ways_close(struct control *c);

/** Take one more route to the next hops of a block. Returns what the model calls that to which it
 * leads (cfg_route.nexthop), or CFG_NONE with the reason. No route may lead there before
 * ways_announce(), which must follow in either case. */
uint32_t take_way(struct control *c, const struct route_block *r, struct refusal *why);

/** Let the task arp ask for the next hops that are new since the last call, of however many routes.
 * Returns 0, or -errno with the reason: the core does not answer. */
int ways_announce(struct control *c, struct refusal *why);

/** One route less leads to a next hop or a set, as the model calls it. */
void drop_way(struct control *c, uint32_t nexthop);

/** What the table calls that to which a route of the model leads. */
uint32_t way_number(uint32_t nexthop);

#endif
