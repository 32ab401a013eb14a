/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/routes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* routes = ( { prefix; count; port; via or mac; gre; mpls; }, { prefix; count; nexthops = ( { port;
 * via or mac; gre; mpls; }, ... ); }, { csv; }, ... ): how to leave towards the core. */

/* The keys of a route, in which those of a next hop stand together. */
/* RFC 3032 section 2.1: labels 0 to 15 are reserved; a label has 20 bits */
#define NEXTHOP_KEYS(at, port_is_required)                                                         \
    [ROUTE_PORT -                                                                                  \
        (at)] = {"port", KEY_PORT, .required = (port_is_required),                                 \
                 .help = "the core port that they leave by"},                                      \
        [ROUTE_VIA - (at)] = {"via", KEY_NEIGHBOUR,                                                \
                              .help = "the neighbour of either family, which is asked for its "    \
                                      "MAC address"},                                              \
        [ROUTE_MAC - (at)] = {"mac", KEY_MAC,                                                      \
                              .help = "the neighbour's MAC address, in the place of via"},         \
        [ROUTE_GRE - (at)] = {"gre", KEY_ADDRESS,                                                  \
                              .help = "the far end of a GRE tunnel, of either family"},            \
        [ROUTE_MPLS - (at)] = {"mpls", KEY_COUNT, .min = 16, .max = 1048575,                       \
                               .help = "an MPLS label"}

#define PREFIX_KEYS                                                                                \
    [ROUTE_PREFIX] = {"prefix", KEY_ROUTE, .required = true, .help = "where packets go"},          \
    [ROUTE_COUNT] = {"count",                                                                      \
                     KEY_COUNT,                                                                    \
                     .def = "1",                                                                   \
                     .min = 1,                                                                     \
                     .max = CFG_MAX_ROUTES,                                                        \
                     .of_many = true,                                                              \
                     .help = "how many prefixes of that length, one after the other"}

const struct key route_keys[N_ROUTE_KEYS] = {
    PREFIX_KEYS,
    NEXTHOP_KEYS(0, false),
    [ROUTE_NEXTHOPS] = {"nexthops", KEY_LIST,
                        .help =
                            "several next hops with the keys port to mpls, which share the flows"},
};

static const struct key row_keys[N_ROUTE_KEYS] = {
    PREFIX_KEYS,
    NEXTHOP_KEYS(0, true),
    [ROUTE_ALSO] = {"also", KEY_BOOL, .def = "false",
                    .help = "the row is one more next hop of the route in the row above"},
};

#define N_NEXTHOP_KEYS (ROUTE_MPLS - ROUTE_PORT + 1)
static const struct key nexthop_keys[N_NEXTHOP_KEYS] = {NEXTHOP_KEYS(ROUTE_PORT, true)};

/* The gateway's own addresses are never routed, so that none may be in a block of single ones. */
static bool check_own(struct loader *l, const struct value *v, const struct route_block *r)
{
    const struct cfg_port *own;
    char text[32], which[64] = "is";
    uint32_t addr;

    own = r->len == 32 ? port_of_address(l, r->prefix, r->prefix + r->count - 1, &addr) : NULL;
    if (own == NULL)
        return true;
    if (r->count > 1)
        snprintf(which, sizeof(which), "its block holds %s,",
                 format_ipv4(addr, text, sizeof(text)));
    value_error(l, v, "prefix", "%s the gateway's own, on port '%s' at %s:%u", which, own->name,
                own->loc.file, own->loc.line);
    return false;
}

/* Link-local addresses are not forwarded, so that no route may lead to some of them. */
static bool check_link_local(struct loader *l, const struct value *v, const struct route_block *r)
{
    const uint32_t first = 0xa9fe0000, last = 0xa9feffff; /* 169.254.0.0/16 */
    uint64_t end = r->prefix + (r->count << (32 - r->len)) - 1;

    if (r->len < 16 || r->prefix > last || end < first)
        return true;
    value_error(l, v, "prefix",
                "%s link-local, which is not forwarded (RFC 3927 section 7): expected none of "
                "169.254.0.0/16",
                r->count > 1 ? "its block is in part" : "is");
    return false;
}

static bool check_prefix(struct loader *l, const struct value *v, struct route_block *r)
{
    const struct value *prefix = &v[ROUTE_PREFIX], *count = &v[ROUTE_COUNT];
    uint64_t size;

    if (!take_route_prefix(l, prefix, r))
        return false;
    if (r->is_ipv6)
        return check_prefix6(l, v, r);
    size = UINT64_C(1) << (32 - r->len);
    r->count = count->set ? count->v.u : 1;
    if (r->prefix + size * r->count > UINT64_C(1) << 32) {
        value_error(l, count, "count", "runs beyond 255.255.255.255: expected at most %" PRIu64,
                    ((UINT64_C(1) << 32) - r->prefix) / size);
        return false;
    }
    return check_link_local(l, prefix, r) && check_own(l, prefix, r);
}

/* --- several next hops --- */

static void read_nexthop(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct value v[N_ROUTE_KEYS];
    struct route_block *out = ctx;
    bool ok = read_group(l, group, "next hop", nexthop_keys, N_NEXTHOP_KEYS, &v[ROUTE_PORT]);

    if (i < CFG_MAX_WAYS)
        take_hop(l, v, setting_loc(l, group), "next hop", ok, out);
}

static bool read_objects(struct loader *l, const json_t *list, struct route_block *out)
{
    const json_t *object;
    bool ok = true;
    size_t i;

    json_array_foreach(list, i, object)
    {
        struct value v[N_ROUTE_KEYS];

        if (!json_is_object(object)) {
            diag_error(l->d, l->at, "key 'nexthops': expected a list of objects");
            return false;
        }
        ok &= read_object(l, object, "next hop", nexthop_keys, N_NEXTHOP_KEYS, &v[ROUTE_PORT]);
        ok = ok && take_hop(l, v, l->at, "next hop", ok, out);
    }
    return ok;
}

static size_t n_elements(const struct value *v)
{
    if (v->json != NULL)
        return json_is_array(v->json) ? json_array_size(v->json) : 0;
    return (size_t)config_setting_length(v->setting);
}

static bool take_nexthops(struct loader *l, const struct value *v, struct route_block *out)
{
    const struct value *list = &v[ROUTE_NEXTHOPS];
    size_t n = n_elements(list);

    for (unsigned k = ROUTE_PORT; k <= ROUTE_MPLS; k++)
        if (value_given(&v[k])) {
            value_error(l, &v[k], route_keys[k].name,
                        "expected it within nexthops, or no nexthops");
            return false;
        }
    if (n < 1 || n > CFG_MAX_WAYS) {
        diag_error(l->d, value_loc(l, list),
                   "key 'nexthops': %zu elements: expected a list of 1 to %d", n, CFG_MAX_WAYS);
        return false;
    }
    if (list->json != NULL)
        return read_objects(l, list->json, out);
    each_group(l, list->setting, "nexthops", read_nexthop, out);
    return out->n_nexthops == n;
}

/* --- a route --- */

/* Only a route of one next hop has a port. */
static bool check_port_given(struct loader *l, const struct value *v, struct loc loc)
{
    char expected[VALUE_TEXT];

    if (value_given(&v[ROUTE_PORT]))
        return true;
    key_expected(&route_keys[ROUTE_PORT], expected, sizeof(expected));
    diag_error(l->d, loc, "key 'port': missing in this route: expected %s", expected);
    return false;
}

bool take_route(struct loader *l, const struct value *v, struct loc loc, bool ok,
                struct route_block *out)
{
    out->loc = loc;
    out->n_nexthops = 0;
    if (l->table == NULL && value_given(&v[ROUTE_NEXTHOPS])) {
        ok &= take_nexthops(l, v, out);
    } else {
        ok &= check_port_given(l, v, loc);
        ok = take_hop(l, v, loc, "route", ok, out);
    }
    return v[ROUTE_PREFIX].set && check_prefix(l, v, out) && ok;
}

/* --- the routes of a file --- */

/* The routes of a file while they are read. */
struct reader {
    struct shared_ways known;
    struct route_block row; /* of a table: the last one, to which the next row may belong */
    bool has_row;
};

static void add_routes(struct loader *l, struct reader *to, const struct route_block *r)
{
    struct cfg_model *m = l->m;
    struct cfg_route route = {.loc = r->loc, .len = r->len};

    route.nexthop = share_ways(l, &to->known, r);
    if (route.nexthop == CFG_NONE)
        return;
    if (r->is_ipv6) {
        add_routes6(l, r, route.nexthop);
        return;
    }
    for (uint64_t i = 0; i < r->count; i++) {
        route.prefix = (uint32_t)(r->prefix + (i << (32 - r->len)));
        GROW_ONE(m->routes, m->n_routes);
        m->routes[m->n_routes++] = route;
    }
}

static bool check_room(struct loader *l, const struct value *v, uint64_t count)
{
    unsigned key = value_given(&v[ROUTE_COUNT]) ? ROUTE_COUNT : ROUTE_PREFIX;

    if (count <= CFG_MAX_ROUTES - l->m->n_routes - l->m->n_routes6)
        return true;
    value_error(l, &v[key], route_keys[key].name, "expected at most %d routes in all",
                CFG_MAX_ROUTES);
    return false;
}

/* Add the route of the last row: no further row belongs to it. */
static void end_row(struct loader *l, struct reader *to)
{
    if (to->has_row)
        add_routes(l, to, &to->row);
    to->has_row = false;
}

/* Take one more next hop of the route in the row above. */
static void take_also(struct loader *l, const struct value *v, struct reader *to)
{
    const struct value *prefix = &v[ROUTE_PREFIX];
    char text[IPV6_TEXT];

    if (!to->has_row) {
        value_error(l, &v[ROUTE_ALSO], "also", "no row above it has a route");
    } else if (value_given(&v[ROUTE_COUNT])) {
        value_error(l, &v[ROUTE_COUNT], "count", "expected it in the first row of the route only");
    } else if (!is_prefix_of(prefix, &to->row)) {
        value_error(l, prefix, "prefix", "expected that of the row above, %s",
                    block_prefix_text(&to->row, text));
    } else if (to->row.n_nexthops == CFG_MAX_WAYS) {
        value_error(l, &v[ROUTE_ALSO], "also", "expected at most %d next hops of a route",
                    CFG_MAX_WAYS);
    } else {
        take_hop(l, v, l->at, "route", true, &to->row);
    }
}

/* Take the route of a row. */
static bool take_row(struct loader *l, const struct value *v, unsigned file, void *ctx)
{
    struct reader *to = ctx;

    (void)file;
    if (v[ROUTE_ALSO].v.u != 0) {
        take_also(l, v, to);
        return true;
    }
    end_row(l, to);
    if (!take_route(l, v, l->at, true, &to->row))
        return true;
    to->has_row = check_room(l, v, to->row.count);
    return to->has_row;
}

static const struct csv_kind table = {
    .keys = row_keys, .n_keys = N_ROUTE_KEYS, .header = "prefix,port,via", .take = take_row};

static const struct key csv_keys[] = {
    {"csv", KEY_STRING, .required = true, .help = "a file with a route in each row"}};

static void load_table(struct loader *l, const config_setting_t *group, struct reader *to)
{
    struct value v[1];

    read_group(l, group, "table of routes", csv_keys, 1, v);
    if (v[0].set)
        load_csv(l, &v[0], &table, to);
    end_row(l, to);
}

static void load_route(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct value v[N_ROUTE_KEYS];
    struct route_block r;
    bool ok;

    (void)i;
    if (config_setting_get_member(group, "csv") != NULL) {
        load_table(l, group, ctx);
        return;
    }
    ok = read_group(l, group, "route", route_keys, N_ROUTE_KEYS, v);
    if (take_route(l, v, setting_loc(l, group), ok, &r) && check_room(l, v, r.count))
        add_routes(l, ctx, &r);
}

void load_routes(struct loader *l, const config_setting_t *routes)
{
    struct reader to = {.has_row = false};

    if (shared_ways_open(&to.known, CFG_MAX_NEXTHOPS, CFG_MAX_SETS) != 0)
        abort();
    each_group(l, routes, "routes", load_route, &to);
    shared_ways_close(&to.known);
    check_routes(l, l->m->routes, l->m->n_routes, NULL, NULL);
    check_routes6(l, l->m->routes6, l->m->n_routes6, NULL, NULL);
}

/* --- prefixes that have a route already --- */

struct route_report {
    struct loader *l;
    const struct cfg_route *routes;
    unsigned n;
    struct loc last[2];
};

static bool same_place(struct loc a, struct loc b)
{
    return a.line == b.line && a.file != NULL && b.file != NULL && strcmp(a.file, b.file) == 0;
}

/* Two entries that overlap in many blocks are one mistake. */
static void report(struct route_report *r, const struct cfg_route *route, struct loc first)
{
    char text[32], at[PLACE_TEXT];

    if (r->n > 0 && same_place(r->last[0], first) && same_place(r->last[1], route->loc))
        return;
    r->last[0] = first;
    r->last[1] = route->loc;
    if (r->n++ < CFG_MAX_SAME_ERRORS)
        diag_error(r->l->d, route->loc, "key 'prefix': value '%s/%u': already a route %s",
                   format_ipv4(route->prefix, text, sizeof(text)), route->len,
                   place_text(first, at));
    else if (r->n == CFG_MAX_SAME_ERRORS + 1)
        diag_error(r->l->d, route->loc, "more routes have the same prefix");
}

static void on_same_prefix(void *ctx, const struct claim *a, const struct claim *b)
{
    struct route_report *r = ctx;

    report(r, &r->routes[b->who], r->routes[a->who].loc);
}

void check_routes(struct loader *l, const struct cfg_route *routes, uint32_t n,
                  const struct cfg_route *(*there)(const void *ctx, uint32_t prefix, uint8_t len),
                  const void *ctx)
{
    struct route_report r = {.l = l, .routes = routes};
    struct claim *claims = grow(NULL, n, sizeof(*claims));

    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)routes[i].prefix << 8 | routes[i].len;
        const struct cfg_route *other =
            there != NULL ? there(ctx, routes[i].prefix, routes[i].len) : NULL;

        claims[i] = (struct claim){.first = key, .last = key, .who = i};
        if (other != NULL)
            report(&r, &routes[i], other->loc);
    }
    find_clashes(claims, n, on_same_prefix, &r);
    free(claims);
}
