/* SPDX-License-Identifier: BSD-3-Clause */
/* The routes, which may have a copy on each socket: whose cores look them up, and in which one. */
#include "plan/make.h"

static bool looks_up(const struct plan *p, unsigned core)
{
    const struct plan_core *c = &p->cores[core];

    for (uint16_t i = 0; i < c->n_instances; i++)
        if (p->cfg->tasks[p->instances[c->instances[i]].task].schema->egress == EGRESS_NEXTHOPS)
            return true;
    return false;
}

/* The copy on a socket, made where there is none. */
static uint16_t copy_on(struct plan *p, uint16_t socket)
{
    for (uint16_t i = 0; i < p->n_routes_on; i++)
        if (p->routes_on[i] == socket)
            return i;
    p->routes_on[p->n_routes_on] = socket;
    return p->n_routes_on++;
}

void plan_place_routes(struct plan_build *b)
{
    struct plan *p = b->p;
    bool each = b->m->routes_per == ROUTES_PER_SOCKET;

    for (unsigned i = 0; i < p->n_cores; i++)
        p->cores[i].routes = looks_up(p, i) ? copy_on(p, p->cores[each ? i : 0].socket) : PLAN_NONE;
    if (p->n_routes_on == 0) /* nobody looks routes up, and control has them all the same */
        copy_on(p, p->cores[0].socket);
}
