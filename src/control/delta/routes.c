/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes of two models, compared, and as requests say them. */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "control/delta.h"

#define NEXTHOPS_MAX 4000 /* of the routes of a request: below 1 MiB with the longest names */

/* The route of IPv6 to which a way belongs. */
static const struct cfg_route6 *six(const struct cfg_route *way)
{
    return (const struct cfg_route6 *)way;
}

static_assert(offsetof(struct cfg_route6, way) == 0, "a route of IPv6 begins with its way");

static json_t *prefix_json(const struct cfg_route *r)
{
    char text[IPV6_TEXT];

    if (r->is_ipv6)
        return json_string(format_prefix6(six(r)->prefix, six(r)->len, text));
    return json_sprintf("%s/%u", format_ipv4(r->prefix, text, sizeof(text)), r->len);
}

static void put_nexthop(json_t *o, const struct cfg_model *m, const struct cfg_nexthop *nh)
{
    char text[IPV6_TEXT];

    json_object_set_new(o, "port", json_pack("s", m->ports[nh->port].name));
    if (nh->mac_set)
        json_object_set_new(o, "mac", json_pack("s", format_mac(nh->mac, text, sizeof(text))));
    else
        json_object_set_new(o, "via", json_pack("s", format_address(nh->via, text)));
    if (nh->has_gre)
        json_object_set_new(o, "gre", json_pack("s", format_address(nh->gre, text)));
    if (nh->has_mpls)
        json_object_set_new(o, "mpls", json_integer(nh->mpls));
}

json_t *route_json(const struct cfg_model *m, const struct cfg_route *r)
{
    json_t *o = json_pack("{s:o}", "prefix", prefix_json(r)), *list;
    const uint32_t *nexthop;
    uint32_t n = route_nexthops(m, r, &nexthop);

    if (n == 1) {
        put_nexthop(o, m, &m->nexthops[nexthop[0]]);
        return o;
    }
    list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *one = json_object();

        put_nexthop(one, m, &m->nexthops[nexthop[i]]);
        json_array_append_new(list, one);
    }
    json_object_set_new(o, "nexthops", list);
    return o;
}

static int by_prefix6(const struct cfg_route6 *x, const struct cfg_route6 *y)
{
    if (x->prefix.upper != y->prefix.upper)
        return x->prefix.upper < y->prefix.upper ? -1 : 1;
    if (x->prefix.lower != y->prefix.lower)
        return x->prefix.lower < y->prefix.lower ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

/* Those of IPv4 come first. */
static int by_prefix(const void *a, const void *b)
{
    const struct cfg_route *x = *(const struct cfg_route *const *)a,
                           *y = *(const struct cfg_route *const *)b;

    if (x->is_ipv6 || y->is_ipv6)
        return x->is_ipv6 && y->is_ipv6 ? by_prefix6(six(x), six(y)) : x->is_ipv6 ? 1 : -1;
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

static uint32_t n_routes(const struct cfg_model *m)
{
    return m->n_routes + m->n_routes6;
}

static const struct cfg_route **sorted(const struct cfg_model *m)
{
    const struct cfg_route **list = calloc(n_routes(m) + UINT64_C(1), sizeof(*list));

    for (uint32_t i = 0; list != NULL && i < n_routes(m); i++)
        list[i] = i < m->n_routes ? &m->routes[i] : &m->routes6[i - m->n_routes].way;
    if (list != NULL)
        qsort(list, n_routes(m), sizeof(*list), by_prefix);
    return list;
}

static struct cfg_nexthop nexthop_of(const struct delta *d, const struct cfg_model *m,
                                     uint32_t index)
{
    struct cfg_nexthop nh = m->nexthops[index];

    nh.port = delta_running_port(d, m, nh.port);
    return nh;
}

/* Do both routes lead to the same next hops, in whatever order? */
static bool same_way(const struct delta *d, const struct cfg_route *from,
                     const struct cfg_route *to)
{
    const uint32_t *a, *b;
    uint32_t n = route_nexthops(d->from, from, &a), found = 0;

    if (n != route_nexthops(d->to, to, &b))
        return false;
    for (uint32_t i = 0; i < n && found == i; i++) {
        struct cfg_nexthop x = nexthop_of(d, d->from, a[i]);

        for (uint32_t k = 0; k < n && found == i; k++) {
            struct cfg_nexthop y = nexthop_of(d, d->to, b[k]);

            found += same_nexthop(&x, &y);
        }
    }
    return found == n;
}

/* Routes while they are compared. */
struct routes {
    json_t *changed, *added;       /* requests behind those that remove: then there is room */
    uint32_t in_changed, in_added; /* next hops in the last of each */
    uint32_t left_out;             /* of a reload: their ports need another graph */
};

static bool ports_serve_routes(const struct delta *d, const struct cfg_route *r)
{
    const uint32_t *list;
    uint32_t n = route_nexthops(d->to, r, &list);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t port = nexthop_of(d, d->to, list[i]).port;

        if (port == CFG_NONE || (d->c->e->plan->nexthop_ports >> port & 1) == 0)
            return false;
    }
    return true;
}

static void route_removed(struct delta *d, const struct cfg_route *r)
{
    d->n[DELTA_ROUTES].removed++;
    *(r->is_ipv6 ? &d->more_routes6 : &d->more_routes) -= 1;
    delta_add_entry(d->requests, "remove-routes", "routes", prefix_json(r));
}

/* Put a route into a list of requests, the last of which has so many next hops. */
static void put_route(const struct delta *d, json_t *requests, const char *cmd, uint32_t *nexthops,
                      const struct cfg_route *r)
{
    const uint32_t *list;
    uint32_t n = route_nexthops(d->to, r, &list);

    *nexthops += n;
    if (*nexthops > NEXTHOPS_MAX) {
        json_array_append_new(requests, json_pack("{s:s, s:[]}", "cmd", cmd, "routes"));
        *nexthops = n;
    }
    delta_add_entry(requests, cmd, "routes", route_json(d->to, r));
}

static void route_added(struct delta *d, struct routes *k, const struct cfg_route *r)
{
    if (d->reload && !ports_serve_routes(d, r)) {
        k->left_out++;
        return;
    }
    d->n[DELTA_ROUTES].added++;
    *(r->is_ipv6 ? &d->more_routes6 : &d->more_routes) += 1;
    put_route(d, k->added, "add-routes", &k->in_added, r);
}

static void route_changed(struct delta *d, struct routes *k, const struct cfg_route *r)
{
    if (d->reload && !ports_serve_routes(d, r)) {
        k->left_out++;
        return;
    }
    d->n[DELTA_ROUTES].changed++;
    put_route(d, k->changed, "change-routes", &k->in_changed, r);
}

/* Two sorted lists side by side. */
static void compare_routes(struct delta *d, struct routes *k, const struct cfg_route **from,
                           const struct cfg_route **to)
{
    uint32_t i = 0, j = 0;

    while (i < n_routes(d->from) || j < n_routes(d->to)) {
        int order = i == n_routes(d->from) ? 1
                    : j == n_routes(d->to) ? -1
                                           : by_prefix(&from[i], &to[j]);

        if (order < 0)
            route_removed(d, from[i]);
        else if (order > 0)
            route_added(d, k, to[j]);
        else if (!same_way(d, from[i], to[j]))
            route_changed(d, k, to[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

void delta_routes(struct delta *d)
{
    const struct cfg_route **from = sorted(d->from), **to = sorted(d->to);
    struct routes k = {.changed = json_array(), .added = json_array()};

    if (from != NULL && to != NULL)
        compare_routes(d, &k, from, to);
    json_array_extend(d->requests, k.changed);
    json_array_extend(d->requests, k.added);
    json_decref(k.changed);
    json_decref(k.added);
    if (k.left_out > 0)
        delta_restart(d, "%" PRIu32 " routes by ports to which nothing leads now", k.left_out);
    free(from);
    free(to);
}
