/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/routes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* routes = ( { prefix; port; via or mac; gre; mpls; count; }, { csv; }, ... ): how to leave towards
 * the core. */

const struct key route_keys[N_ROUTE_KEYS] = {
    [ROUTE_PREFIX] = {"prefix", KEY_PREFIX, .required = true, .help = "where packets go"},
    [ROUTE_PORT] = {"port", KEY_PORT, .required = true, .help = "the core port that they leave by"},
    [ROUTE_VIA] = {"via", KEY_HOST, .help = "the neighbour, whose MAC address is asked by ARP"},
    [ROUTE_MAC] = {"mac", KEY_MAC, .help = "the neighbour's MAC address, in the place of via"},
    [ROUTE_GRE] = {"gre", KEY_HOST, .help = "the far end of a GRE tunnel"},
    /* RFC 3032 section 2.1: labels 0 to 15 are reserved; a label has 20 bits */
    [ROUTE_MPLS] = {"mpls", KEY_COUNT, .min = 16, .max = 1048575, .help = "an MPLS label"},
    [ROUTE_COUNT] = {"count", KEY_COUNT, .def = "1", .min = 1, .max = CFG_MAX_ROUTES,
                     .of_many = true,
                     .help = "how many prefixes of that length, one after the other"},
};

/* The port whose own address is among first..last, or NULL; the address is in *addr. */
static const struct cfg_port *port_of_address(const struct loader *l, uint64_t first, uint64_t last,
                                              uint32_t *addr)
{
    for (unsigned i = 0; i < l->m->n_ports; i++)
        for (unsigned a = 0; a < l->m->ports[i].n_addresses; a++) {
            *addr = l->m->ports[i].addresses[a];
            if (*addr >= first && *addr <= last)
                return &l->m->ports[i];
        }
    return NULL;
}

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

    if (!take_prefix(l, prefix, "prefix", &r->prefix, &r->len))
        return false;
    size = UINT64_C(1) << (32 - r->len);
    r->count = count->set ? count->v.u : 1;
    if (r->prefix + size * r->count > UINT64_C(1) << 32) {
        value_error(l, count, "count", "runs beyond 255.255.255.255: expected at most %" PRIu64,
                    ((UINT64_C(1) << 32) - r->prefix) / size);
        return false;
    }
    return check_link_local(l, prefix, r) && check_own(l, prefix, r);
}

static bool check_far_end(struct loader *l, const struct value *v, unsigned k)
{
    const struct cfg_port *own;
    uint32_t addr;

    if (!v[k].set)
        return true;
    own = port_of_address(l, v[k].v.u, v[k].v.u, &addr);
    if (own != NULL)
        value_error(l, &v[k], route_keys[k].name, "is the gateway's own, on port '%s' at %s:%u",
                    own->name, own->loc.file, own->loc.line);
    return own == NULL;
}

static bool check_neighbour(struct loader *l, struct loc loc, const struct value *v)
{
    bool via = value_given(&v[ROUTE_VIA]), mac = value_given(&v[ROUTE_MAC]);

    if (via && mac)
        value_error(l, &v[ROUTE_MAC], "mac",
                    "expected either via (ask by ARP) or mac (static), not both");
    if (!via && !mac && (l->table == NULL || csv_lists(l->table, route_keys[ROUTE_VIA].name)))
        diag_error(l->d, loc,
                   "key 'via': missing in this route: expected via (ask by ARP) or mac (static)");
    return via != mac && (v[ROUTE_VIA].set || v[ROUTE_MAC].set);
}

/* A port that asks, or begins a tunnel, needs an address of its own. */
static bool check_port(struct loader *l, const struct value *v)
{
    static const unsigned need_address[] = {ROUTE_GRE, ROUTE_VIA};
    const struct cfg_port *p;

    if (!v[ROUTE_PORT].set)
        return false;
    p = &l->m->ports[v[ROUTE_PORT].v.u];
    for (unsigned i = 0; i < 2 && p->n_addresses == 0; i++) {
        const struct value *need = &v[need_address[i]];

        if (!need->set)
            continue;
        value_error(l, need, route_keys[need_address[i]].name,
                    "port '%s' has no address to send from: expected addresses there, at %s:%u",
                    p->name, p->loc.file, p->loc.line);
        return false;
    }
    return true;
}

static struct cfg_nexthop nexthop_of(const struct value *v, struct loc loc)
{
    struct cfg_nexthop nh = {
        .loc = loc,
        .port = (uint32_t)v[ROUTE_PORT].v.u,
        .via = v[ROUTE_VIA].set ? (uint32_t)v[ROUTE_VIA].v.u : 0,
        .mac_set = v[ROUTE_MAC].set,
        .has_gre = v[ROUTE_GRE].set,
        .gre = (uint32_t)v[ROUTE_GRE].v.u,
        .has_mpls = v[ROUTE_MPLS].set,
        .mpls = (uint32_t)v[ROUTE_MPLS].v.u,
    };

    mac_from_u64(v[ROUTE_MAC].v.u, nh.mac);
    return nh;
}

bool take_route(struct loader *l, const struct value *v, struct loc loc, bool ok,
                struct route_block *out)
{
    ok &= check_neighbour(l, loc, v);
    ok &= check_port(l, v);
    ok &= check_far_end(l, v, ROUTE_VIA);
    ok &= check_far_end(l, v, ROUTE_GRE);
    ok &= v[ROUTE_PREFIX].set && check_prefix(l, v, out);
    if (ok)
        out->nexthop = nexthop_of(v, loc);
    return ok;
}

/* --- an index of next hops --- */

int nexthop_index_open(struct nexthop_index *x, uint32_t n)
{
    for (x->n_heads = 1; x->n_heads < n; x->n_heads *= 2)
        ;
    x->head = calloc(x->n_heads, sizeof(*x->head));
    x->next = calloc(n + UINT64_C(1), sizeof(*x->next));
    return x->head != NULL && x->next != NULL ? 0 : -1;
}

void nexthop_index_close(struct nexthop_index *x)
{
    free(x->head);
    free(x->next);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

/* The chain of a next hop: a hash of all that same_nexthop() compares. */
static uint32_t *chain_of(const struct nexthop_index *x, const struct cfg_nexthop *nh)
{
    uint64_t mac = 0, h;

    memcpy(&mac, nh->mac, sizeof(nh->mac));
    h = mix(mac, (uint64_t)nh->via << 32 | nh->gre);
    h = mix(h, (uint64_t)nh->port << 32 | nh->mpls);
    h = mix(h, (uint64_t)nh->mac_set << 2 | (uint64_t)nh->has_gre << 1 | nh->has_mpls);
    return &x->head[h & (x->n_heads - 1)];
}

uint32_t nexthop_index_find(const struct nexthop_index *x, const struct cfg_nexthop *list,
                            const struct cfg_nexthop *nh)
{
    uint32_t i = *chain_of(x, nh);

    while (i != 0 && !same_nexthop(&list[i - 1], nh))
        i = x->next[i - 1];
    return i != 0 ? i - 1 : CFG_NONE;
}

void nexthop_index_add(struct nexthop_index *x, const struct cfg_nexthop *list, uint32_t i)
{
    uint32_t *head = chain_of(x, &list[i]);

    x->next[i] = *head;
    *head = i + 1;
}

void nexthop_index_remove(struct nexthop_index *x, const struct cfg_nexthop *list, uint32_t i)
{
    uint32_t *at = chain_of(x, &list[i]);

    while (*at != i + 1)
        at = &x->next[*at - 1];
    *at = x->next[i];
}

/* --- the routes of a file --- */

/* Routes that leave in the same way share it. */
static uint32_t share_nexthop(struct loader *l, struct nexthop_index *known,
                              const struct cfg_nexthop *nh)
{
    struct cfg_model *m = l->m;
    uint32_t i = nexthop_index_find(known, m->nexthops, nh);

    if (i != CFG_NONE)
        return i;
    if (m->n_nexthops == CFG_MAX_NEXTHOPS) {
        diag_error(l->d, nh->loc, "expected at most %d different next hops", CFG_MAX_NEXTHOPS);
        return CFG_NONE;
    }
    GROW_ONE(m->nexthops, m->n_nexthops);
    m->nexthops[m->n_nexthops] = *nh;
    nexthop_index_add(known, m->nexthops, m->n_nexthops);
    return m->n_nexthops++;
}

static void add_routes(struct loader *l, struct nexthop_index *known, const struct route_block *r)
{
    struct cfg_model *m = l->m;
    struct cfg_route route = {.loc = r->nexthop.loc, .len = r->len};

    route.nexthop = share_nexthop(l, known, &r->nexthop);
    if (route.nexthop == CFG_NONE)
        return;
    for (uint64_t i = 0; i < r->count; i++) {
        route.prefix = (uint32_t)(r->prefix + (i << (32 - r->len)));
        GROW_ONE(m->routes, m->n_routes);
        m->routes[m->n_routes++] = route;
    }
}

static bool check_room(struct loader *l, const struct value *v, uint64_t count)
{
    unsigned key = value_given(&v[ROUTE_COUNT]) ? ROUTE_COUNT : ROUTE_PREFIX;

    if (count <= CFG_MAX_ROUTES - l->m->n_routes)
        return true;
    value_error(l, &v[key], route_keys[key].name, "expected at most %d routes in all",
                CFG_MAX_ROUTES);
    return false;
}

/* Take the route of a row. */
static bool take_row(struct loader *l, const struct value *v, unsigned file, void *ctx)
{
    struct route_block r;

    (void)file;
    if (!take_route(l, v, l->at, true, &r))
        return true;
    if (!check_room(l, v, r.count))
        return false;
    add_routes(l, ctx, &r);
    return true;
}

static const struct csv_kind table = {
    .keys = route_keys, .n_keys = N_ROUTE_KEYS, .header = "prefix,port,via", .take = take_row};

static const struct key csv_keys[] = {
    {"csv", KEY_STRING, .required = true, .help = "a file with a route in each row"}};

static void load_table(struct loader *l, const config_setting_t *group, void *known)
{
    struct value v[1];

    read_group(l, group, "table of routes", csv_keys, 1, v);
    if (v[0].set)
        load_csv(l, &v[0], &table, known);
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
    struct nexthop_index known;

    if (nexthop_index_open(&known, CFG_MAX_NEXTHOPS) != 0)
        abort();
    each_group(l, routes, "routes", load_route, &known);
    nexthop_index_close(&known);
    check_routes(l, l->m->routes, l->m->n_routes, NULL, NULL);
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
