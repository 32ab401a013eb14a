/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/routes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/routes.h"
#include "control/request.h"
#include "provision.h"
#include "tasks/arp/arp.h"
#include "telemetry/metrics.h"

int routes_open(struct control *c)
{
    const struct cfg_model *m = c->model;
    uint32_t places = prefixes_places(m->max_routes);

    c->routes =
        (struct prefixes){.place = calloc(places, sizeof(*c->routes.place)), .n_places = places};
    if (c->routes.place == NULL || shared_ways_open(&c->ways, c->tables->routes->capacity,
                                                    c->tables->routes->set_capacity) != 0)
        return -1;
    for (uint32_t i = 0; i < m->n_routes; i++)
        prefixes_put(&c->routes, m->routes[i].prefix, m->routes[i].len, i);
    for (uint32_t i = 0; i < m->n_nexthops; i++)
        nexthop_index_add(&c->ways.nexthops, m->nexthops, i);
    for (uint32_t i = 0; i < m->n_sets; i++)
        set_index_add(&c->ways.sets, m->sets, i);
    return 0;
}

void routes_close(struct control *c)
{
    free(c->routes.place);
    shared_ways_close(&c->ways);
}

static_assert(PREFIXES_NONE == CFG_NONE && PREFIXES_MOST >= CFG_MAX_ROUTES,
              "an index in model->routes[] is a number of a prefix");

/* --- next hops --- */

/* The arp task gets a new list of all next hops that it must ask for, where nh is one of them. */
static int update_arp(struct control *c, const struct cfg_nexthop *nh)
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
    if (rc == 0) /* else the arp task may still read the list */
        arp_nexthops_free(all);
    return rc;
}

static void drop_nexthop(struct control *c, uint32_t id)
{
    if (--c->ids.routes_to[id] > 0)
        return;
    nexthop_index_remove(&c->ways.nexthops, c->model->nexthops, id - 1);
    /* an arp task that does not answer may still use the id, which is then lost */
    if (update_arp(c, &c->model->nexthops[id - 1]) == 0)
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
    int rc;

    if (known != CFG_NONE) {
        c->ids.routes_to[known + 1]++;
        return (int)known + 1;
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
    nexthop_index_add(&c->ways.nexthops, c->model->nexthops, id - 1);
    c->ids.routes_to[id] = 1;
    rc = update_arp(c, nh);
    if (rc == 0)
        return (int)id;
    drop_nexthop(c, id);
    refuse(why, "the arp task does not take the next hop: %s", strerror(-rc));
    return rc;
}

/* --- where routes lead --- */

static_assert(CFG_SET == ROUTE_SET && CFG_MAX_WAYS == NEXTHOP_SET_MOST,
              "the model and the table name sets alike");

/* What the table calls that to which a route of the model leads. */
static uint32_t number_of(uint32_t nexthop)
{
    return (nexthop & CFG_SET) != 0 ? nexthop : nexthop + 1;
}

/* One route less leads to a next hop or a set, as the model calls it. */
static void drop_way(struct control *c, uint32_t nexthop)
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

/* Take one more route to the next hops of a block. Returns what the model calls that to which it
 * leads, or CFG_NONE. */
static uint32_t take_way(struct control *c, const struct route_block *r, struct refusal *why)
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

/* --- routes --- */

static bool leads_somewhere(const struct control *c, struct loader *l, struct loc at,
                            const struct route_block *r)
{
    for (uint32_t i = 0; i < r->n_nexthops; i++) {
        uint32_t port = r->nexthop[i].port;

        if ((c->e->plan->nexthop_ports >> port & 1) != 0)
            continue;
        diag_error(l->d, at,
                   "port '%s': nothing leads there: it needs another graph, and a restart",
                   c->model->ports[port].name);
        return false;
    }
    return true;
}

/* Find the route to a prefix of the running config, for check_routes(). */
static const struct cfg_route *there(const void *ctx, uint32_t prefix, uint8_t len)
{
    const struct control *c = ctx;
    uint32_t index = prefixes_get(&c->routes, prefix, len);

    return index != CFG_NONE ? &c->model->routes[index] : NULL;
}

/* Can n routes be added? */
static bool check_new(const struct control *c, struct request *r, const struct route_block *list,
                      size_t n)
{
    struct cfg_route *routes = calloc(n, sizeof(*routes));
    bool ok = routes != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        routes[i] = (struct cfg_route){
            .loc = entry_loc(r, i), .prefix = list[i].prefix, .len = list[i].len};
        ok = leads_somewhere(c, &r->l, routes[i].loc, &list[i]);
    }
    if (ok)
        check_routes(&r->l, routes, (uint32_t)n, there, c);
    free(routes);
    return ok && r->l.d->n_errors == 0;
}

static int add_route(struct control *c, const struct route_block *r, struct refusal *why)
{
    struct cfg_model *m = c->model;
    uint32_t way = take_way(c, r, why);
    int rc;

    if (way == CFG_NONE)
        return -ENOSPC;
    rc = route_add(c->tables->routes, r->prefix, r->len, number_of(way));
    if (rc != 0) {
        drop_way(c, way);
        refuse(why, "the table has no room for another /%u", r->len);
        return rc;
    }
    metrics_hold();
    prefixes_put(&c->routes, r->prefix, r->len, m->n_routes);
    m->routes[m->n_routes++] =
        (struct cfg_route){.prefix = r->prefix, .len = r->len, .nexthop = way};
    metrics_release();
    return 0;
}

/* Remove a route by its index in model->routes[], which the last route gets. */
static void remove_route(struct control *c, uint32_t index)
{
    struct cfg_model *m = c->model;
    struct cfg_route removed = m->routes[index];

    route_remove(c->tables->routes, removed.prefix, removed.len);
    prefixes_remove(&c->routes, removed.prefix, removed.len);
    metrics_hold();
    m->routes[index] = m->routes[--m->n_routes];
    metrics_release();
    if (index < m->n_routes)
        prefixes_put(&c->routes, m->routes[index].prefix, m->routes[index].len, index);
    drop_way(c, removed.nexthop);
}

/* Add all of n routes, or none. Returns the answer, or NULL after an error. */
static json_t *add_routes(struct control *c, struct request *r, const struct route_block *list,
                          size_t n, struct refusal *why)
{
    if (!check_new(c, r, list, n))
        return NULL;
    if (c->model->n_routes + n > c->model->max_routes) {
        refuse(why,
               "there is room for %" PRIu32 " routes, and %" PRIu32
               " are there: max_routes says how many may be",
               c->model->max_routes, c->model->n_routes);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        struct refusal one;

        if (add_route(c, &list[i], &one) == 0)
            continue;
        diag_error(r->l.d, entry_loc(r, i), "%s", one.text);
        while (i-- > 0)
            remove_route(c, c->model->n_routes - 1);
        return NULL;
    }
    return answer_changed(n);
}

/* Let a route lead elsewhere; each packet goes the old or the new way. */
static int change_route(struct control *c, uint32_t index, const struct route_block *r,
                        struct refusal *why)
{
    uint32_t way = take_way(c, r, why), old;
    int rc;

    if (way == CFG_NONE)
        return -ENOSPC;
    rc = route_add(c->tables->routes, r->prefix, r->len, number_of(way));
    if (rc != 0) {
        drop_way(c, way);
        refuse(why, "%s", strerror(-rc));
        return rc;
    }
    old = c->model->routes[index].nexthop;
    c->model->routes[index].nexthop = way;
    drop_way(c, old);
    return 0;
}

/* --- requests --- */

static const struct key add_keys[] = {
    {"routes", KEY_LIST, .help = "objects with the keys of add-route"}};
static const struct key remove_keys[] = {
    {"prefix", KEY_PREFIX, .required = true, .help = "whose route"}};

/* The next hops outlive the request, and so do not keep their places in it. */
static bool want_route(struct request *r, const struct value *v, struct route_block *out)
{
    if (!take_route(&r->l, v, r->l.at, true, out))
        return false;
    if (out->is_ipv6) {
        value_error(&r->l, &v[ROUTE_PREFIX], "prefix",
                    "routes of IPv6 are those of the configuration: others need a restart");
        return false;
    }
    for (uint32_t i = 0; i < out->n_nexthops; i++)
        out->nexthop[i].loc = (struct loc){NULL, 0};
    return true;
}

static json_t *add_one(struct control *c, struct request *r, struct refusal *why)
{
    struct route_block route;

    return want_route(r, r->v, &route) ? add_routes(c, r, &route, 1, why) : NULL;
}

static bool read_all(struct request *r, struct route_block *list, size_t n)
{
    struct value v[N_ROUTE_KEYS];

    for (size_t i = 0; i < n; i++)
        if (!want_object(r, &r->v[0], i, "route", route_keys, N_ROUTE_KEYS, v) ||
            !want_route(r, v, &list[i]))
            return false;
    return true;
}

static json_t *add_many(struct control *c, struct request *r, struct refusal *why)
{
    size_t n = want_list(r, &r->v[0], "routes", REQUEST_MAX_CHANGES, "objects");
    struct route_block *list = calloc(n + 1, sizeof(*list));
    json_t *answer = NULL;

    if (n > 0 && list != NULL && read_all(r, list, n))
        answer = add_routes(c, r, list, n, why);
    free(list);
    return answer;
}

/* Returns the index of the route to a prefix, or CFG_NONE after an error. */
static uint32_t want_index(const struct control *c, uint32_t prefix, uint8_t len,
                           struct refusal *why)
{
    uint32_t index = prefixes_get(&c->routes, prefix, len);

    if (index == CFG_NONE)
        refuse(why, "there is no route to that prefix");
    return index;
}

static json_t *change_one(struct control *c, struct request *r, struct refusal *why)
{
    struct route_block route;
    uint32_t index;

    if (!want_route(r, r->v, &route))
        return NULL;
    index = want_index(c, route.prefix, route.len, why);
    if (index == CFG_NONE || !leads_somewhere(c, &r->l, r->l.at, &route) ||
        change_route(c, index, &route, why) != 0)
        return NULL;
    return answer_changed(1);
}

static json_t *remove_one(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t prefix, index;
    uint8_t len;

    if (!take_prefix(&r->l, &r->v[0], "prefix", &prefix, &len))
        return NULL;
    index = want_index(c, prefix, len, why);
    if (index == CFG_NONE)
        return NULL;
    remove_route(c, index);
    return answer_changed(1);
}

const struct command route_commands[] = {
    {"add-route", route_keys, N_ROUTE_KEYS, add_one, "adds a route to a prefix that has none",
     true},
    {"add-routes", KEYS(add_keys), add_many, "adds all of them, or none", true},
    {"change-route", route_keys, N_ROUTE_KEYS, change_one, "lets a route lead elsewhere", true},
    {"remove-route", KEYS(remove_keys), remove_one, "removes a route", true},
    {NULL},
};
