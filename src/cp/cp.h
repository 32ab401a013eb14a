/* SPDX-License-Identifier: BSD-3-Clause */
/* The control plane: what its parts have in common. One thread, one loop (loop.h), nothing global.
 */
#ifndef CP_CP_H
#define CP_CP_H

#include "cp/config.h"
#include "cp/loop.h"
#include "cp/pool.h"
#include "cp/session.h"

struct cp {
    const struct cp_config *config;
    struct loop loop; /* its ctx is this */
    struct sessions sessions;
    struct pool *pools;     /* parallel to config->pools */
    struct pools6 *pools6;  /* parallel to config->pools6 */
    struct dhcp6_duid duid; /* of this server */
    struct store *store;
    struct userplane *userplane;
    struct punt *punt;
    struct relay *relays;           /* parallel to config->relays; NULL: there is none */
    struct aaa *aaa;                /* NULL: RADIUS is not configured */
    struct pppoe_server *pppoe;     /* NULL: PPPoE is not configured */
    struct acct *acct;              /* NULL: nothing is accounted for */
    struct control_socket *control; /* or NULL */
    struct session **turn;          /* sessions that the end of this turn has to do with */
    uint32_t n_turn, room_turn;
    struct radius_coa **made; /* changes that are answered at the end of this turn */
    uint32_t n_made, room_made;
};

/** The pool of IPv4 of a line, which has one, and its configuration. */
static inline struct pool *pool_of(const struct cp *cp, const struct session *s)
{
    return &cp->pools[s->access->pool];
}
static inline const struct cp_pool *pool_config(const struct cp *cp, const struct session *s)
{
    return &cp->config->pools[s->access->pool];
}

#endif
