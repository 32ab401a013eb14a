/* SPDX-License-Identifier: BSD-3-Clause */
/* routes = ( { prefix; port; via or mac; gre; mpls; count; }, ... ): how to leave towards the core.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/load_value.h"

enum {
    ROUTE_PREFIX,
    ROUTE_PORT,
    ROUTE_VIA,
    ROUTE_MAC,
    ROUTE_GRE,
    ROUTE_MPLS,
    ROUTE_COUNT,
    N_ROUTE_KEYS
};

static const struct key route_keys[N_ROUTE_KEYS] = {
    [ROUTE_PREFIX] = {"prefix", KEY_PREFIX, .required = true},
    [ROUTE_PORT] = {"port", KEY_STRING, .required = true},
    [ROUTE_VIA] = {"via", KEY_HOST},
    [ROUTE_MAC] = {"mac", KEY_MAC},
    [ROUTE_GRE] = {"gre", KEY_HOST},
    /* RFC 3032 section 2.1: labels 0 to 15 are reserved; a label has 20 bits */
    [ROUTE_MPLS] = {"mpls", KEY_COUNT, .min = 16, .max = 1048575},
    [ROUTE_COUNT] = {"count", KEY_COUNT, .def = "1", .min = 1, .max = CFG_MAX_ROUTES},
};

static bool check_prefix(struct loader *l, const struct value *v)
{
    const struct value *prefix = &v[ROUTE_PREFIX];
    uint64_t size = UINT64_C(1) << (32 - prefix->v.u2);
    char text[32];

    if ((prefix->v.u & (size - 1)) != 0) {
        key_error(l, prefix->setting, "prefix", "has bits set after the prefix: expected '%s/%u'",
                  format_ipv4((uint32_t)(prefix->v.u & ~(size - 1)), text, sizeof(text)),
                  (unsigned)prefix->v.u2);
        return false;
    }
    if (v[ROUTE_COUNT].set && prefix->v.u + size * v[ROUTE_COUNT].v.u > UINT64_C(1) << 32) {
        key_error(l, v[ROUTE_COUNT].setting, "count",
                  "runs beyond 255.255.255.255: expected at most %" PRIu64,
                  ((UINT64_C(1) << 32) - prefix->v.u) / size);
        return false;
    }
    if (v[ROUTE_COUNT].v.u > CFG_MAX_ROUTES - l->m->n_routes) {
        key_error(l, v[ROUTE_COUNT].setting != NULL ? v[ROUTE_COUNT].setting : prefix->setting,
                  v[ROUTE_COUNT].setting != NULL ? "count" : "prefix",
                  "expected at most %d routes in all", CFG_MAX_ROUTES);
        return false;
    }
    return true;
}

/* The port whose own address this is, or NULL. */
static const struct cfg_port *port_of_address(const struct loader *l, uint32_t addr)
{
    for (unsigned i = 0; i < l->m->n_ports; i++)
        for (unsigned a = 0; a < l->m->ports[i].n_addresses; a++)
            if (l->m->ports[i].addresses[a] == addr)
                return &l->m->ports[i];
    return NULL;
}

static bool check_far_end(struct loader *l, const struct value *v, unsigned k)
{
    const struct cfg_port *own = v[k].set ? port_of_address(l, (uint32_t)v[k].v.u) : NULL;

    if (own != NULL)
        key_error(l, v[k].setting, route_keys[k].name,
                  "is the gateway's own, on port '%s' at %s:%u", own->name, own->loc.file,
                  own->loc.line);
    return own == NULL;
}

static bool check_neighbour(struct loader *l, const config_setting_t *group, const struct value *v)
{
    if (v[ROUTE_VIA].setting != NULL && v[ROUTE_MAC].setting != NULL) {
        key_error(l, v[ROUTE_MAC].setting, "mac",
                  "expected either via (ask by ARP) or mac (static), not both");
        return false;
    }
    if (v[ROUTE_VIA].setting == NULL && v[ROUTE_MAC].setting == NULL) {
        diag_error(l->d, setting_loc(l, group),
                   "key 'via': missing in this route: expected via (ask by ARP) or mac (static)");
        return false;
    }
    return v[ROUTE_VIA].set || v[ROUTE_MAC].set;
}

static uint32_t route_port(struct loader *l, const struct value *v)
{
    static const unsigned need_address[] = {ROUTE_GRE, ROUTE_VIA};
    const struct cfg_port *p;
    uint32_t port;

    if (!v[ROUTE_PORT].set)
        return CFG_NONE;
    port = find_port(l, v[ROUTE_PORT].v.s);
    if (port == CFG_NONE) {
        if (!l->port_nameless)
            unknown_name(l, v[ROUTE_PORT].setting, "port", "port",
                         nearest_port(l, v[ROUTE_PORT].v.s));
        return CFG_NONE;
    }
    p = &l->m->ports[port];
    for (unsigned i = 0; i < 2 && p->n_addresses == 0; i++) {
        const struct value *need = &v[need_address[i]];

        if (!need->set)
            continue;
        key_error(l, need->setting, route_keys[need_address[i]].name,
                  "port '%s' has no address to send from: expected addresses there, at %s:%u",
                  p->name, p->loc.file, p->loc.line);
        return CFG_NONE;
    }
    return port;
}

/* Routes that leave in the same way share it: routes of one entry always, so there are few. */
static uint32_t share_nexthop(struct loader *l, const struct cfg_nexthop *nh)
{
    struct cfg_model *m = l->m;

    for (uint32_t i = m->n_nexthops; i-- > 0;)
        if (same_nexthop(&m->nexthops[i], nh))
            return i;
    if (m->n_nexthops == CFG_MAX_NEXTHOPS) {
        diag_error(l->d, nh->loc, "expected at most %d different next hops", CFG_MAX_NEXTHOPS);
        return CFG_NONE;
    }
    GROW_ONE(m->nexthops, m->n_nexthops);
    m->nexthops[m->n_nexthops] = *nh;
    return m->n_nexthops++;
}

static void add_routes(struct loader *l, struct loc loc, const struct value *v, uint32_t port)
{
    struct cfg_model *m = l->m;
    uint64_t size = UINT64_C(1) << (32 - v[ROUTE_PREFIX].v.u2);
    struct cfg_nexthop nh = {
        .loc = loc,
        .port = port,
        .via = v[ROUTE_VIA].set ? (uint32_t)v[ROUTE_VIA].v.u : 0,
        .mac_set = v[ROUTE_MAC].set,
        .has_gre = v[ROUTE_GRE].set,
        .gre = (uint32_t)v[ROUTE_GRE].v.u,
        .has_mpls = v[ROUTE_MPLS].set,
        .mpls = (uint32_t)v[ROUTE_MPLS].v.u,
    };
    struct cfg_route route = {.loc = loc, .len = (uint8_t)v[ROUTE_PREFIX].v.u2};

    mac_from_u64(v[ROUTE_MAC].v.u, nh.mac);
    route.nexthop = share_nexthop(l, &nh);
    if (route.nexthop == CFG_NONE)
        return;
    for (uint64_t i = 0; i < v[ROUTE_COUNT].v.u; i++) {
        route.prefix = (uint32_t)(v[ROUTE_PREFIX].v.u + i * size);
        GROW_ONE(m->routes, m->n_routes);
        m->routes[m->n_routes++] = route;
    }
}

static void load_route(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct value v[N_ROUTE_KEYS];
    bool ok = read_group(l, group, "route", route_keys, N_ROUTE_KEYS, v);
    uint32_t port = route_port(l, v);

    (void)i;
    (void)ctx;
    ok &= check_neighbour(l, group, v);
    ok &= check_far_end(l, v, ROUTE_VIA);
    ok &= check_far_end(l, v, ROUTE_GRE);
    ok &= v[ROUTE_PREFIX].set && check_prefix(l, v);
    if (ok && port != CFG_NONE)
        add_routes(l, setting_loc(l, group), v, port);
}

struct route_report {
    struct loader *l;
    unsigned n;
    struct loc last[2];
};

static void on_same_prefix(void *ctx, const struct claim *a, const struct claim *b)
{
    struct route_report *r = ctx;
    const struct cfg_route *earlier = &r->l->m->routes[a->who], *later = &r->l->m->routes[b->who];
    char text[32];

    /* Two entries that overlap in many blocks are one mistake. */
    if (r->n > 0 && r->last[0].line == earlier->loc.line && r->last[1].line == later->loc.line &&
        r->last[0].file == earlier->loc.file && r->last[1].file == later->loc.file)
        return;
    r->last[0] = earlier->loc;
    r->last[1] = later->loc;
    if (r->n++ < CFG_MAX_SAME_ERRORS)
        diag_error(r->l->d, later->loc, "key 'prefix': value '%s/%u': already a route at %s:%u",
                   format_ipv4(later->prefix, text, sizeof(text)), later->len, earlier->loc.file,
                   earlier->loc.line);
    else if (r->n == CFG_MAX_SAME_ERRORS + 1)
        diag_error(r->l->d, later->loc, "more routes have the same prefix");
}

void load_routes(struct loader *l, const config_setting_t *routes)
{
    struct route_report report = {.l = l};
    struct claim *claims;

    each_group(l, routes, "routes", load_route, NULL);
    claims = grow(NULL, l->m->n_routes, sizeof(*claims));
    for (uint32_t i = 0; i < l->m->n_routes; i++) {
        uint64_t key = (uint64_t)l->m->routes[i].prefix << 8 | l->m->routes[i].len;

        claims[i] = (struct claim){.first = key, .last = key, .who = i};
    }
    find_clashes(claims, l->m->n_routes, on_same_prefix, &report);
    free(claims);
}
