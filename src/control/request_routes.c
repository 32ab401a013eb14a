/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests about routes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/change_routes.h"
#include "control/change_subscribers.h"
#include "control/live_changes.h"
#include "control/request.h"
#include "control/request_impl.h"

static const char *const keys[] = {"prefix", "port", "via", "mac", "gre", "mpls", NULL};

/* The neighbour: either one to ask for, or a MAC. */
static int read_neighbour(const json_t *o, struct cfg_nexthop *nh, struct refusal *why)
{
    bool via = json_object_get(o, "via") != NULL;

    nh->mac_set = json_object_get(o, "mac") != NULL;
    if (via == nh->mac_set)
        return refuse(why, "expected either 'via' (ask by ARP) or 'mac' (static)");
    return via ? want_host(o, "via", &nh->via, why) : want_mac(o, "mac", nh->mac, why);
}

static int read_route(const struct control *c, const json_t *o, void *out, struct refusal *why)
{
    struct route_change *r = out;
    struct cfg_nexthop *nh = &r->nexthop;
    uint64_t label;
    unsigned port;

    memset(r, 0, sizeof(*r));
    if (want_prefix(o, "prefix", &r->prefix, &r->len, why) != 0 ||
        want_port(c, o, &port, why) != 0 || read_neighbour(o, nh, why) != 0)
        return -EINVAL;
    nh->port = port;
    nh->has_gre = json_object_get(o, "gre") != NULL;
    nh->has_mpls = json_object_get(o, "mpls") != NULL;
    if (nh->has_gre && want_host(o, "gre", &nh->gre, why) != 0)
        return -EINVAL;
    /* RFC 3032 section 2.1: labels 0 to 15 are reserved; a label has 20 bits */
    if (nh->has_mpls) {
        if (want_integer(o, "mpls", 16, 1048575, &label, why) != 0)
            return -EINVAL;
        nh->mpls = (uint32_t)label;
    }
    return 0;
}

static json_t *changed(uint64_t n)
{
    return json_pack("{s:b, s:I}", "ok", 1, "changed", (json_int_t)n);
}

static json_t *add_one(struct control *c, const json_t *request, struct refusal *why)
{
    struct route_change r;
    uint32_t which;

    if (read_route(c, request, &r, why) != 0 || add_routes(c, &r, 1, &which, why) != 0)
        return NULL;
    return changed(1);
}

static json_t *add_many(struct control *c, const json_t *request, struct refusal *why)
{
    void *list = NULL;
    int64_t n = want_list(c, request, "routes", REQUEST_MAX_CHANGES, keys,
                          sizeof(struct route_change), &list, read_route, why);
    uint32_t which = CHANGE_NONE;
    struct refusal what;
    int rc = n > 0 ? add_routes(c, list, (uint32_t)n, &which, &what) : -EINVAL;

    free(list);
    if (rc == 0)
        return changed((uint64_t)n);
    if (n > 0 && which != CHANGE_NONE)
        refuse(why, "routes[%" PRIu32 "]: %.200s", which, what.text);
    else if (n > 0)
        *why = what;
    return NULL;
}

static json_t *change_one(struct control *c, const json_t *request, struct refusal *why)
{
    struct route_change r;

    if (read_route(c, request, &r, why) != 0 || change_route(c, &r, why) != 0)
        return NULL;
    return changed(1);
}

static json_t *remove_one(struct control *c, const json_t *request, struct refusal *why)
{
    uint32_t prefix, index;
    uint8_t len;

    if (want_prefix(request, "prefix", &prefix, &len, why) != 0)
        return NULL;
    index = route_find(c, prefix, len);
    if (index == CFG_NONE) {
        refuse(why, "there is no route to that prefix");
        return NULL;
    }
    remove_route(c, index);
    return changed(1);
}

json_t *show_routes(struct control *c, const json_t *request, struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    const struct nexthop *nexthop = c->tables->routes->nexthop;
    uint64_t first, count;
    json_t *routes;

    if (want_integer(request, "first", 1, UINT32_MAX, &first, why) != 0 ||
        want_integer(request, "count", 1, REQUEST_MAX_SUBSCRIBERS, &count, why) != 0)
        return NULL;
    routes = json_array();
    for (uint64_t i = first - 1; i < m->n_routes && i < first - 1 + count; i++) {
        const struct nexthop *nh = &nexthop[m->routes[i].nexthop + 1];
        json_t *o = route_json(m, &m->routes[i]);

        json_object_set_new(o, "resolved",
                            json_boolean(__atomic_load_n(&nh->mac_known, __ATOMIC_RELAXED)));
        json_array_append_new(routes, o);
    }
    return json_pack("{s:b, s:I, s:I, s:o}", "ok", 1, "total", (json_int_t)m->n_routes, "room",
                     (json_int_t)m->max_routes, "routes", routes);
}

const struct command route_commands[] = {
    {"add-route", {"prefix", "port", "via", "mac", "gre", "mpls"}, add_one},
    {"add-routes", {"routes"}, add_many},
    {"change-route", {"prefix", "port", "via", "mac", "gre", "mpls"}, change_one},
    {"remove-route", {"prefix"}, remove_one},
    {NULL, {NULL}, NULL},
};
