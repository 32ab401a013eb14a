/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/change_routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/change_subscribers.h"
#include "control/specs.h"
#include "telemetry/metrics.h"
#include "tasks/arp_live.h"

static uint64_t key_of(uint32_t prefix, uint8_t len)
{
    return (uint64_t)prefix << 8 | len;
}

int routes_open(struct control *c)
{
    c->route_key = calloc(c->model->max_routes + UINT64_C(1), sizeof(*c->route_key));
    if (c->route_key == NULL)
        return -1;
    for (uint32_t i = 0; i < c->model->n_routes; i++)
        c->route_key[i] = key_of(c->model->routes[i].prefix, c->model->routes[i].len);
    return 0;
}

uint32_t route_find(const struct control *c, uint32_t prefix, uint8_t len)
{
    uint64_t key = key_of(prefix, len);

    for (uint32_t i = 0; i < c->model->n_routes; i++)
        if (c->route_key[i] == key)
            return i;
    return CFG_NONE;
}

/* --- next hops --- */

/* The arp task learns what has come or gone of those that it must ask for. */
static int tell_arp(struct control *c, const struct cfg_nexthop *nh)
{
    uint32_t arp = arp_instance(c);
    struct arp_nexthops *all;
    int rc;

    if (arp == CFG_NONE || nh->via == 0)
        return 0;
    all = arp_nexthops_make(c->tables->routes, c->ids.routes_to, SOCKET_ID_ANY);
    if (all == NULL)
        return -ENOMEM;
    rc = engine_call(c->e, arp, arp_take_nexthops, all);
    if (rc == 0) /* else it may still look at them */
        arp_nexthops_free(all);
    return rc;
}

static uint32_t find_nexthop(const struct control *c, const struct cfg_nexthop *nh)
{
    for (uint32_t i = 0; i < c->model->n_nexthops; i++)
        if (c->ids.routes_to[i + 1] > 0 && same_nexthop(&c->model->nexthops[i], nh))
            return i + 1;
    return 0;
}

static void drop_nexthop(struct control *c, uint32_t id)
{
    if (--c->ids.routes_to[id] > 0)
        return;
    /* where the arp task does not answer it may look at it still: nobody gets this id */
    if (tell_arp(c, &c->model->nexthops[id - 1]) == 0)
        ids_rest_nexthop(c, id);
}

static bool has_nexthop(const struct control *c, const void *ctx)
{
    (void)ctx;
    return c->tables->routes->free != 0 ||
           c->tables->routes->n_nexthops < c->tables->routes->capacity;
}

/* One that is there, or a new one. Returns its id or -errno. */
static int take_nexthop(struct control *c, const struct cfg_nexthop *nh, struct refusal *why)
{
    struct nexthop_spec spec = nexthop_spec_of(c->model, nh, c->tables->port_mac[nh->port]);
    uint32_t id = find_nexthop(c, nh);
    int rc;

    if (id != 0) {
        c->ids.routes_to[id]++;
        return (int)id;
    }
    if (!has_nexthop(c, NULL) && !ids_wait(c, has_nexthop, NULL)) {
        refuse(why, "there is room for %" PRIu32 " next hops: max_routes gives more",
               c->tables->routes->capacity);
        return -ENOSPC;
    }
    rc = route_add_nexthop(c->tables->routes, &spec);
    id = (uint32_t)rc;
    metrics_hold();
    c->model->nexthops[id - 1] = *nh;
    if (id > c->model->n_nexthops)
        c->model->n_nexthops = id;
    metrics_release();
    c->ids.routes_to[id] = 1;
    rc = tell_arp(c, nh);
    if (rc == 0)
        return (int)id;
    drop_nexthop(c, id);
    refuse(why, "the arp task does not take the next hop: %s", strerror(-rc));
    return rc;
}

/* --- routes --- */

static int check_far_end(const struct control *c, const struct cfg_port *port, bool set,
                         uint32_t addr, const char *key, struct refusal *why)
{
    if (!set)
        return 0;
    if (route_is_local(c->tables->routes, addr))
        return refuse(why, "key '%s': is the gateway's own", key);
    if (port->n_addresses == 0)
        return refuse(why, "key '%s': port '%s' has no address to send from", key, port->name);
    return 0;
}

static int check_route(const struct control *c, const struct route_change *r, struct refusal *why)
{
    const struct cfg_nexthop *nh = &r->nexthop;
    const struct cfg_port *port = &c->model->ports[nh->port];

    if ((c->e->plan->nexthop_ports >> nh->port & 1) == 0)
        return refuse(why, "port '%s': nothing leads there: it needs another graph, and a restart",
                      port->name);
    if (r->len == 32 && route_is_local(c->tables->routes, r->prefix))
        return refuse(why, "key 'prefix': is the gateway's own address");
    if (check_far_end(c, port, !nh->mac_set, nh->via, "via", why) != 0)
        return -EINVAL;
    return check_far_end(c, port, nh->has_gre, nh->gre, "gre", why);
}

static int check_new_route(const struct control *c, const struct route_change *list, uint32_t i,
                           struct refusal *why)
{
    const struct route_change *r = &list[i];

    if (check_route(c, r, why) != 0)
        return -EINVAL;
    if (route_find(c, r->prefix, r->len) != CFG_NONE)
        return refuse(why, "there is a route to that prefix already");
    for (uint32_t k = 0; k < i; k++)
        if (list[k].prefix == r->prefix && list[k].len == r->len)
            return refuse(why, "its prefix is in the list before");
    return 0;
}

static int add_route(struct control *c, const struct route_change *r, struct refusal *why)
{
    struct cfg_model *m = c->model;
    int id = take_nexthop(c, &r->nexthop, why), rc;

    if (id < 0)
        return id;
    rc = route_add(c->tables->routes, r->prefix, r->len, (uint32_t)id);
    if (rc != 0) {
        drop_nexthop(c, (uint32_t)id);
        refuse(why, "the table has no room for another /%u", r->len);
        return rc;
    }
    metrics_hold();
    c->route_key[m->n_routes] = key_of(r->prefix, r->len);
    m->routes[m->n_routes++] =
        (struct cfg_route){.prefix = r->prefix, .len = r->len, .nexthop = (uint32_t)id - 1};
    metrics_release();
    return 0;
}

int add_routes(struct control *c, const struct route_change *list, uint32_t n, uint32_t *which,
               struct refusal *why)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        *which = i;
        rc = check_new_route(c, list, i, why);
    }
    if (rc != 0)
        return rc;
    if (c->model->n_routes + (uint64_t)n > c->model->max_routes) {
        *which = CHANGE_NONE;
        return refuse(why,
                      "there is room for %" PRIu32 " routes, and %" PRIu32
                      " are there: max_routes says how many may be",
                      c->model->max_routes, c->model->n_routes);
    }
    for (uint32_t i = 0; i < n; i++) {
        *which = i;
        rc = add_route(c, &list[i], why);
        if (rc == 0)
            continue;
        while (i-- > 0)
            remove_route(c, c->model->n_routes - 1);
        return rc;
    }
    return 0;
}

int change_route(struct control *c, const struct route_change *r, struct refusal *why)
{
    uint32_t index = route_find(c, r->prefix, r->len), old;
    int id, rc;

    if (index == CFG_NONE)
        return refuse(why, "there is no route to that prefix");
    if (check_route(c, r, why) != 0)
        return -EINVAL;
    id = take_nexthop(c, &r->nexthop, why);
    if (id < 0)
        return id;
    rc = route_add(c->tables->routes, r->prefix, r->len, (uint32_t)id);
    if (rc != 0) {
        drop_nexthop(c, (uint32_t)id);
        refuse(why, "%s", strerror(-rc));
        return rc;
    }
    old = c->model->routes[index].nexthop + 1;
    c->model->routes[index].nexthop = (uint32_t)id - 1;
    drop_nexthop(c, old);
    return 0;
}

void remove_route(struct control *c, uint32_t index)
{
    struct cfg_model *m = c->model;
    struct cfg_route gone = m->routes[index];

    route_remove(c->tables->routes, gone.prefix, gone.len);
    metrics_hold();
    m->routes[index] = m->routes[--m->n_routes];
    c->route_key[index] = c->route_key[m->n_routes];
    metrics_release();
    drop_nexthop(c, gone.nexthop + 1);
}
