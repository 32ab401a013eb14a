/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/routes/ways.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/rates.h"
#include "provision.h"
#include "tasks/arp/arp.h"
#include "telemetry/metrics.h"

int ways_open(struct control *c)
{
    const struct cfg_model *m = c->model;

    c->new_nexthops.id = calloc(c->tables->routes->capacity + UINT64_C(1), sizeof(uint32_t));
    if (c->new_nexthops.id == NULL || shared_ways_open(&c->ways, c->tables->routes->capacity,
                                                       c->tables->routes->set_capacity) != 0)
        return -1;
    for (uint32_t i = 0; i < m->n_nexthops; i++)
        nexthop_index_add(&c->ways.nexthops, m->nexthops, i);
    for (uint32_t i = 0; i < m->n_sets; i++)
        set_index_add(&c->ways.sets, m->sets, i);
    return 0;
}

void ways_close(struct control *c)
{
    free(c->new_nexthops.id);
    shared_ways_close(&c->ways);
}

/* --- next hops --- */

static bool tell(const struct task *t, uint32_t i, void *ctx)
{
    return arp_tell_nexthop(t, ((const uint32_t *)ctx)[i]);
}

static int announce(struct task *t, uint32_t i, void *ctx)
{
    arp_add_nexthop(t, ((const uint32_t *)ctx)[i]);
    return 0;
}

/* For a next hop, a round trip to another core was most of what a change took. */
int ways_announce(struct control *c, struct refusal *why)
{
    static const struct news news = {tell, announce};
    uint32_t arp = arp_instance(c), n = c->new_nexthops.n;
    int rc;

    c->new_nexthops.n = 0;
    if (arp == CFG_NONE)
        return 0;
    rc = core_tell_each(c->e, arp, n, &news, c->new_nexthops.id);
    if (rc != 0)
        refuse(why, "the arp task does not take the next hops: %s", strerror(-rc));
    return rc;
}

static void drop_nexthop(struct control *c, uint32_t id)
{
    if (--c->ids.routes_to[id] > 0)
        return;
    nexthop_index_remove(&c->ways.nexthops, c->model->nexthops, id - 1);
    ids_retire_nexthop(c, id);
}

static bool has_nexthop(const struct control *c, const void *ctx)
{
    (void)ctx;
    return c->tables->routes->free != 0 ||
           c->tables->routes->n_nexthops < c->tables->routes->capacity;
}

/* Take one more route, or set, to a next hop, which is added if it is new. Returns its id or
 * -errno. */
static int take_nexthop(struct control *c, const struct cfg_nexthop *nh, struct refusal *why)
{
    struct nexthop_spec spec = nexthop_spec_of(c->model, nh, c->tables->port_mac[nh->port]);
    uint32_t known = nexthop_index_find(&c->ways.nexthops, c->model->nexthops, nh), id;

    if (known != CFG_NONE) {
        c->ids.routes_to[known + 1]++;
        return (int)known + 1;
    }
    if (!has_nexthop(c, NULL) && !ids_wait(c, has_nexthop, NULL)) {
        refuse(why, "there is room for %" PRIu32 " next hops: max_routes gives more",
               c->tables->routes->capacity);
        return -ENOSPC;
    }
    id = (uint32_t)route_add_nexthop(c->tables->routes, &spec);
    metrics_hold();
    c->model->nexthops[id - 1] = *nh;
    if (id > c->model->n_nexthops)
        c->model->n_nexthops = id;
    metrics_release();
    nexthop_index_add(&c->ways.nexthops, c->model->nexthops, id - 1);
    c->ids.routes_to[id] = 1;
    if (!is_none6(nh->via))
        c->new_nexthops.id[c->new_nexthops.n++] = id;
    return (int)id;
}

/* --- where routes lead --- */

static_assert(CFG_SET == ROUTE_SET && CFG_MAX_WAYS == NEXTHOP_SET_MOST,
              "the model and the table name sets alike");

uint32_t way_number(uint32_t nexthop)
{
    return (nexthop & CFG_SET) != 0 ? nexthop : nexthop + 1;
}

void drop_way(struct control *c, uint32_t nexthop)
{
    uint32_t index = nexthop & ~CFG_SET;
    struct cfg_nexthop_set set;

    if ((nexthop & CFG_SET) == 0) {
        drop_nexthop(c, nexthop + 1);
        return;
    }
    if (--c->ids.routes_to_set[index] > 0)
        return;
    set = c->model->sets[index];
    set_index_remove(&c->ways.sets, c->model->sets, index);
    ids_retire_set(c, nexthop);
    for (uint32_t i = 0; i < set.n; i++)
        drop_nexthop(c, set.nexthop[i] + 1);
}

static bool has_set(const struct control *c, const void *ctx)
{
    (void)ctx;
    return route_has_set_room(c->tables->routes);
}

/* Take one more route to a set of next hops, which have been taken for it; it is added if it is
 * new. Returns what the model calls it, or CFG_NONE. */
static uint32_t take_set(struct control *c, const struct cfg_nexthop_set *set, struct refusal *why)
{
    uint32_t known = set_index_find(&c->ways.sets, c->model->sets, set), id[CFG_MAX_WAYS], index;

    if (known != CFG_NONE) {
        c->ids.routes_to_set[known]++;
        for (uint32_t i = 0; i < set->n; i++)
            drop_nexthop(c, set->nexthop[i] + 1);
        return CFG_SET | known;
    }
    if (!has_set(c, NULL) && !ids_wait(c, has_set, NULL)) {
        refuse(why, "there is room for %" PRIu32 " sets of next hops: max_routes gives more",
               c->tables->routes->set_capacity);
        return CFG_NONE;
    }
    for (uint32_t i = 0; i < set->n; i++)
        id[i] = set->nexthop[i] + 1;
    index = (uint32_t)route_add_set(c->tables->routes, id, set->n) & ~ROUTE_SET;
    metrics_hold();
    c->model->sets[index] = *set;
    c->model->n_sets = RTE_MAX(c->model->n_sets, index + 1);
    metrics_release();
    set_index_add(&c->ways.sets, c->model->sets, index);
    c->ids.routes_to_set[index] = 1;
    return CFG_SET | index;
}

uint32_t take_way(struct control *c, const struct route_block *r, struct refusal *why)
{
    struct cfg_nexthop_set set = {.n = 0};
    uint32_t way = CFG_NONE;

    while (set.n < r->n_nexthops) {
        int id = take_nexthop(c, &r->nexthop[set.n], why);

        if (id < 0)
            break;
        set.nexthop[set.n++] = (uint32_t)id - 1;
    }
    if (set.n == r->n_nexthops) {
        set_sort(&set);
        way = set.n == 1 ? set.nexthop[0] : take_set(c, &set, why);
    }
    for (uint32_t i = 0; i < set.n && way == CFG_NONE; i++)
        drop_nexthop(c, set.nexthop[i] + 1);
    return way;
}
