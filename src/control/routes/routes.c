/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/routes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/routes.h"
#include "control/request.h"
#include "control/routes/ways.h"
#include "telemetry/metrics.h"

static_assert(PREFIXES_NONE == CFG_NONE && PREFIXES6_NONE == CFG_NONE &&
                  PREFIXES_MOST >= CFG_MAX_ROUTES,
              "an index in model->routes[] is a number of a prefix");

int routes_open(struct control *c)
{
    const struct cfg_model *m = c->model;
    uint32_t places = prefixes_places(m->max_routes), room6 = m->max_routes6,
             heads = prefixes6_heads(room6);

    c->routes =
        (struct prefixes){.place = calloc(places, sizeof(*c->routes.place)), .n_places = places};
    c->routes6 = (struct prefixes6){.entry = calloc(room6 + 1, sizeof(*c->routes6.entry)),
                                    .head = calloc(heads, sizeof(*c->routes6.head)),
                                    .room = room6,
                                    .n_heads = heads};
    if (c->routes.place == NULL || c->routes6.entry == NULL || c->routes6.head == NULL ||
        ways_open(c) != 0)
        return -1;
    for (uint32_t i = 0; i < m->n_routes; i++)
        prefixes_put(&c->routes, m->routes[i].prefix, m->routes[i].len, i);
    for (uint32_t i = 0; i < m->n_routes6; i++)
        prefixes6_put(&c->routes6, m->routes6[i].prefix, m->routes6[i].len, i);
    return 0;
}

void routes_close(struct control *c)
{
    free(c->routes.place);
    free(c->routes6.entry);
    free(c->routes6.head);
    ways_close(c);
}

/* --- routes of either family --- */

/* A route of the running config. */
struct place {
    bool is_ipv6;
    uint32_t index; /* in model->routes[], or in model->routes6[] */
};

static struct cfg_route *route_at(const struct control *c, struct place at)
{
    return at.is_ipv6 ? &c->model->routes6[at.index].way : &c->model->routes[at.index];
}

/* Find the route to the prefix of a block. Returns false where there is none. */
static bool find_route(const struct control *c, const struct route_block *r, struct place *at)
{
    at->is_ipv6 = r->is_ipv6;
    at->index = r->is_ipv6 ? prefixes6_get(&c->routes6, r->prefix6, r->len)
                           : prefixes_get(&c->routes, r->prefix, r->len);
    return at->index != CFG_NONE;
}

/* Let a prefix lead somewhere in the table. Returns 0 or -errno with the reason. */
static int lead(struct control *c, const struct route_block *r, uint32_t way, struct refusal *why)
{
    struct route_table *t = c->tables->routes;
    int rc = r->is_ipv6 ? route_add6(t, r->prefix6, r->len, way_number(way))
                        : route_add(t, r->prefix, r->len, way_number(way));

    if (rc != 0)
        refuse(why, "the table has no room for another /%u", r->len);
    return rc;
}

/* Put a route behind the others of the running config. */
static void append(struct control *c, const struct route_block *r, uint32_t way)
{
    struct cfg_model *m = c->model;

    metrics_hold();
    if (r->is_ipv6) {
        prefixes6_put(&c->routes6, r->prefix6, r->len, m->n_routes6);
        m->routes6[m->n_routes6++] = (struct cfg_route6){
            .way = {.nexthop = way, .is_ipv6 = true}, .prefix = r->prefix6, .len = r->len};
    } else {
        prefixes_put(&c->routes, r->prefix, r->len, m->n_routes);
        m->routes[m->n_routes++] =
            (struct cfg_route){.prefix = r->prefix, .len = r->len, .nexthop = way};
    }
    metrics_release();
}

/* Take a route out of the table and the running config, where the last one gets its index. */
static void take_out(struct control *c, uint32_t index)
{
    struct cfg_model *m = c->model;
    struct cfg_route *route = &m->routes[index];

    route_remove(c->tables->routes, route->prefix, route->len);
    prefixes_remove(&c->routes, route->prefix, route->len);
    metrics_hold();
    *route = m->routes[--m->n_routes];
    metrics_release();
    if (index < m->n_routes)
        prefixes_put(&c->routes, route->prefix, route->len, index);
}

static void take_out6(struct control *c, uint32_t index)
{
    struct cfg_model *m = c->model;
    struct cfg_route6 *route = &m->routes6[index];

    route_remove6(c->tables->routes, route->prefix, route->len);
    prefixes6_remove(&c->routes6, route->prefix, route->len);
    metrics_hold();
    *route = m->routes6[--m->n_routes6];
    metrics_release();
    if (index < m->n_routes6)
        prefixes6_put(&c->routes6, route->prefix, route->len, index);
}

static void remove_route(struct control *c, struct place at)
{
    uint32_t way = route_at(c, at)->nexthop;

    if (at.is_ipv6)
        take_out6(c, at.index);
    else
        take_out(c, at.index);
    drop_way(c, way);
}

/* --- many --- */

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

/* Find the route to a prefix of the running config, for check_routes() and check_routes6(). */
static const struct cfg_route *there(const void *ctx, uint32_t prefix, uint8_t len)
{
    const struct control *c = ctx;
    uint32_t index = prefixes_get(&c->routes, prefix, len);

    return index != CFG_NONE ? &c->model->routes[index] : NULL;
}

static const struct cfg_route *there6(const void *ctx, struct ipv6 prefix, uint8_t len)
{
    const struct control *c = ctx;
    uint32_t index = prefixes6_get(&c->routes6, prefix, len);

    return index != CFG_NONE ? &c->model->routes6[index].way : NULL;
}

/* Have n prefixes no route yet, each, and are they different? */
static bool are_new(const struct control *c, struct request *r, const struct route_block *list,
                    size_t n)
{
    struct cfg_route *routes = calloc(n, sizeof(*routes));
    struct cfg_route6 *routes6 = calloc(n, sizeof(*routes6));
    bool ok = routes != NULL && routes6 != NULL;
    uint32_t n4 = 0, n6 = 0;

    for (size_t i = 0; ok && i < n; i++)
        if (list[i].is_ipv6)
            routes6[n6++] = (struct cfg_route6){
                .way.loc = entry_loc(r, i), .prefix = list[i].prefix6, .len = list[i].len};
        else
            routes[n4++] = (struct cfg_route){
                .loc = entry_loc(r, i), .prefix = list[i].prefix, .len = list[i].len};
    if (ok) {
        check_routes(&r->l, routes, n4, there, c);
        check_routes6(&r->l, routes6, n6, there6, c);
    }
    free(routes);
    free(routes6);
    return ok && r->l.d->n_errors == 0;
}

/* Is there room for the routes of a list? */
static bool have_room(const struct control *c, const struct route_block *list, size_t n,
                      struct refusal *why)
{
    const struct cfg_model *m = c->model;
    uint64_t n4 = m->n_routes, n6 = m->n_routes6;

    for (size_t i = 0; i < n; i++)
        *(list[i].is_ipv6 ? &n6 : &n4) += 1;
    if (n4 > m->max_routes)
        refuse(why,
               "there is room for %" PRIu32 " routes, and %" PRIu32
               " are there: max_routes says how many may be",
               m->max_routes, m->n_routes);
    else if (n6 > m->max_routes6)
        refuse(why,
               "there is room for %" PRIu32 " routes of IPv6, and %" PRIu32
               " are there: max_routes6 says how many may be",
               m->max_routes6, m->n_routes6);
    return n4 <= m->max_routes && n6 <= m->max_routes6;
}

/* Take one more route to the next hops of each of n blocks: all, or none. Returns false after an
 * error. */
static bool take_ways(struct control *c, struct request *r, const struct route_block *list,
                      size_t n, uint32_t *way, struct refusal *why)
{
    struct refusal one = {""};
    size_t taken = 0;
    bool ok;

    while (taken < n && (way[taken] = take_way(c, &list[taken], &one)) != CFG_NONE)
        taken++;
    if (taken < n)
        diag_error(r->l.d, entry_loc(r, taken), "%s", one.text);
    ok = ways_announce(c, why) == 0 && taken == n;
    while (!ok && taken > 0)
        drop_way(c, way[--taken]);
    return ok;
}

static bool lead_somewhere(const struct control *c, struct request *r,
                           const struct route_block *list, size_t n)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++)
        ok = leads_somewhere(c, &r->l, entry_loc(r, i), &list[i]);
    return ok;
}

/* Publish n routes that have their ways: all, or none. */
static bool publish(struct control *c, struct request *r, const struct route_block *list, size_t n,
                    const uint32_t *way)
{
    for (size_t i = 0; i < n; i++) {
        struct refusal one = {""};
        struct place at;

        if (lead(c, &list[i], way[i], &one) == 0) {
            append(c, &list[i], way[i]);
            continue;
        }
        diag_error(r->l.d, entry_loc(r, i), "%s", one.text);
        for (size_t k = i; k < n; k++)
            drop_way(c, way[k]);
        while (i-- > 0)
            if (find_route(c, &list[i], &at))
                remove_route(c, at);
        return false;
    }
    return true;
}

/* Add all of n routes, or none. Returns the answer, or NULL after an error. */
static json_t *add_routes(struct control *c, struct request *r, const struct route_block *list,
                          size_t n, struct refusal *why)
{
    uint32_t *way = calloc(n, sizeof(*way));
    bool ok = way != NULL && lead_somewhere(c, r, list, n) && are_new(c, r, list, n) &&
              have_room(c, list, n, why) && take_ways(c, r, list, n, way, why) &&
              publish(c, r, list, n, way);

    free(way);
    return ok ? answer_changed(n) : NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Are there routes to the prefixes of n blocks, each of which is another? */
static bool are_there(const struct control *c, struct request *r, const struct route_block *list,
                      size_t n)
{
    uint64_t *key = calloc(n, sizeof(*key)); /* family, index, and number in the list */
    bool ok = key != NULL;
    struct place at;

    for (size_t i = 0; ok && i < n; i++) {
        ok = find_route(c, &list[i], &at);
        key[i] = (uint64_t)at.is_ipv6 << 63 | (uint64_t)at.index << 16 | i;
        if (!ok)
            diag_error(r->l.d, entry_loc(r, i), "there is no route to that prefix");
    }
    if (ok)
        qsort(key, n, sizeof(*key), by_number);
    for (size_t i = 1; ok && i < n; i++) {
        ok = key[i] >> 16 != key[i - 1] >> 16;
        if (!ok)
            diag_error(r->l.d, entry_loc(r, key[i] & UINT16_MAX), "this prefix is there twice");
    }
    free(key);
    return ok;
}

static_assert(REQUEST_MAX_CHANGES <= UINT16_MAX, "a number in a list has 16 bits");

/* Let all of n routes lead elsewhere, or none; each packet goes the old or the new way. */
static json_t *change_routes(struct control *c, struct request *r, const struct route_block *list,
                             size_t n, struct refusal *why)
{
    uint32_t *way = calloc(n, sizeof(*way));
    bool ok = way != NULL && are_there(c, r, list, n) && lead_somewhere(c, r, list, n) &&
              take_ways(c, r, list, n, way, why);

    for (size_t i = 0; ok && i < n; i++) {
        struct cfg_route *route;
        struct place at;
        uint32_t old;

        find_route(c, &list[i], &at);
        lead(c, &list[i], way[i], why); /* a prefix that is there needs no room */
        route = route_at(c, at);
        old = route->nexthop;
        route->nexthop = way[i];
        drop_way(c, old);
    }
    free(way);
    return ok ? answer_changed(n) : NULL;
}

/* Remove all of n routes, or none. */
static json_t *remove_routes(struct control *c, struct request *r, const struct route_block *list,
                             size_t n)
{
    struct place at;

    if (!are_there(c, r, list, n))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        find_route(c, &list[i], &at); /* others have changed places */
        remove_route(c, at);
    }
    return answer_changed(n);
}

/* --- requests --- */

static const struct key list_keys[] = {
    {"routes", KEY_LIST, .help = "objects with the keys of add-route"}};
static const struct key prefixes_keys[] = {{"routes", KEY_LIST, .help = "whose prefixes"}};
static const struct key remove_keys[] = {
    {"prefix", KEY_ROUTE, .required = true, .help = "whose route"}};

/* The next hops outlive the request, and so do not keep their places in it. */
static bool want_route(struct request *r, const struct value *v, struct route_block *out)
{
    if (!take_route(&r->l, v, r->l.at, true, out))
        return false;
    for (uint32_t i = 0; i < out->n_nexthops; i++)
        out->nexthop[i].loc = (struct loc){NULL, 0};
    return true;
}

/* What is done to a list of routes. */
typedef json_t *change(struct control *c, struct request *r, const struct route_block *list,
                       size_t n, struct refusal *why);

static json_t *one(struct control *c, struct request *r, change *fn, struct refusal *why)
{
    struct route_block route;

    return want_route(r, r->v, &route) ? fn(c, r, &route, 1, why) : NULL;
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

static json_t *many(struct control *c, struct request *r, change *fn, struct refusal *why)
{
    size_t n = want_list(r, &r->v[0], "routes", REQUEST_MAX_CHANGES, "objects");
    struct route_block *list = calloc(n + 1, sizeof(*list));
    json_t *answer = NULL;

    if (n > 0 && list != NULL && read_all(r, list, n))
        answer = fn(c, r, list, n, why);
    free(list);
    return answer;
}

static json_t *add_one(struct control *c, struct request *r, struct refusal *why)
{
    return one(c, r, add_routes, why);
}

static json_t *add_many(struct control *c, struct request *r, struct refusal *why)
{
    return many(c, r, add_routes, why);
}

static json_t *change_one(struct control *c, struct request *r, struct refusal *why)
{
    return one(c, r, change_routes, why);
}

static json_t *change_many(struct control *c, struct request *r, struct refusal *why)
{
    return many(c, r, change_routes, why);
}

static json_t *remove_one(struct control *c, struct request *r, struct refusal *why)
{
    struct route_block route;

    (void)why;
    return take_route_prefix(&r->l, &r->v[0], &route) ? remove_routes(c, r, &route, 1) : NULL;
}

static json_t *remove_many(struct control *c, struct request *r, struct refusal *why)
{
    size_t n = want_list(r, &r->v[0], "routes", REQUEST_MAX_CHANGES, "prefixes");
    struct route_block *list = calloc(n + 1, sizeof(*list));
    bool ok = n > 0 && list != NULL;
    json_t *answer;

    (void)why;
    for (size_t i = 0; ok && i < n; i++) {
        struct value v = {.json = json_array_get(r->v[0].json, i)};

        r->l.at = entry_loc(r, i);
        ok = read_value(&r->l, remove_keys, &v) && take_route_prefix(&r->l, &v, &list[i]);
    }
    answer = ok ? remove_routes(c, r, list, n) : NULL;
    free(list);
    return answer;
}

const struct command route_commands[] = {
    {"add-route", route_keys, N_ROUTE_KEYS, add_one, "adds a route to a prefix that has none",
     true},
    {"add-routes", KEYS(list_keys), add_many, "adds all of them, or none", true},
    {"change-route", route_keys, N_ROUTE_KEYS, change_one, "lets a route lead elsewhere", true},
    {"change-routes", KEYS(list_keys), change_many, "lets all of them lead elsewhere, or none",
     true},
    {"remove-route", KEYS(remove_keys), remove_one, "removes a route", true},
    {"remove-routes", KEYS(prefixes_keys), remove_many, "removes all of them, or none", true},
    {NULL},
};
