/* SPDX-License-Identifier: BSD-3-Clause */
/* One next hop of a route: what its keys may say. */
#include "config/routes.h"

const struct cfg_port *port_of_address(const struct loader *l, uint64_t first, uint64_t last,
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

/* The address of a value of either family; ::, where none was given. */
static struct ipv6 address_of(const struct value *v)
{
    struct ipv6 addr = {0, 0};

    if (v->set && (v->v.s == NULL || parse_ipv6(v->v.s, &addr) != 0))
        addr = mapped6((uint32_t)v->v.u);
    return addr;
}

/* The port with that address of IPv6, or NULL. A link-local one is that of the port with the MAC
 * (on), as far as the configuration says which. */
static const struct cfg_port *port_of_address6(const struct loader *l, const struct cfg_port *on,
                                               struct ipv6 addr)
{
    for (unsigned i = 0; i < l->m->n_ports; i++)
        for (unsigned a = 0; a < l->m->ports[i].n_addresses6; a++)
            if (same6(l->m->ports[i].addresses6[a], addr))
                return &l->m->ports[i];
    return on != NULL && on->mac_set && same6(link_local6(on->mac), addr) ? on : NULL;
}

static bool check_far_end(struct loader *l, const struct value *v, unsigned k)
{
    struct ipv6 addr = address_of(&v[k]);
    const struct cfg_port *own, *on = v[ROUTE_PORT].set ? &l->m->ports[v[ROUTE_PORT].v.u] : NULL;
    uint32_t ipv4;

    if (!v[k].set)
        return true;
    own = is_mapped6(addr) ? port_of_address(l, v[k].v.u, v[k].v.u, &ipv4)
                           : port_of_address6(l, on, addr);
    if (own != NULL)
        value_error(l, &v[k], route_keys[k].name, "is the gateway's own, on port '%s' at %s:%u",
                    own->name, own->loc.file, own->loc.line);
    return own == NULL;
}

static bool check_neighbour(struct loader *l, struct loc loc, const char *what,
                            const struct value *v)
{
    bool via = value_given(&v[ROUTE_VIA]), mac = value_given(&v[ROUTE_MAC]);

    if (via && mac)
        value_error(l, &v[ROUTE_MAC], "mac",
                    "expected either via (asked for its MAC) or mac (static), not both");
    if (!via && !mac && (l->table == NULL || csv_lists(l->table, route_keys[ROUTE_VIA].name)))
        diag_error(
            l->d, loc,
            "key 'via': missing in this %s: expected via (asked for its MAC) or mac (static)",
            what);
    return via != mac && (v[ROUTE_VIA].set || v[ROUTE_MAC].set);
}

/* A port that asks by ARP, or begins a tunnel, needs an address of its own, of the same family; for
 * neighbour discovery each has the link-local one of its MAC. */
static bool check_port(struct loader *l, const struct value *v)
{
    static const unsigned need_address[] = {ROUTE_GRE, ROUTE_VIA};
    const struct cfg_port *p;

    if (!v[ROUTE_PORT].set)
        return false;
    p = &l->m->ports[v[ROUTE_PORT].v.u];
    for (unsigned i = 0; i < 2; i++) {
        const struct value *need = &v[need_address[i]];
        bool is_ipv6 = need->set && !is_mapped6(address_of(need));

        if (!need->set || (is_ipv6 && need_address[i] == ROUTE_VIA) ||
            (is_ipv6 ? p->n_addresses6 : p->n_addresses) > 0)
            continue;
        value_error(l, need, route_keys[need_address[i]].name,
                    "port '%s' has no address%s to send from: expected %saddresses there, at %s:%u",
                    p->name, is_ipv6 ? " of IPv6" : "", is_ipv6 ? "one of IPv6 among " : "",
                    p->loc.file, p->loc.line);
        return false;
    }
    return true;
}

static struct cfg_nexthop nexthop_of(const struct value *v, struct loc loc)
{
    struct cfg_nexthop nh = {
        .loc = loc,
        .port = (uint32_t)v[ROUTE_PORT].v.u,
        .via = address_of(&v[ROUTE_VIA]),
        .mac_set = v[ROUTE_MAC].set,
        .has_gre = v[ROUTE_GRE].set,
        .gre = address_of(&v[ROUTE_GRE]),
        .has_mpls = v[ROUTE_MPLS].set,
        .mpls = (uint32_t)v[ROUTE_MPLS].v.u,
    };

    mac_from_u64(v[ROUTE_MAC].v.u, nh.mac);
    return nh;
}

bool take_hop(struct loader *l, const struct value *v, struct loc loc, const char *what, bool ok,
              struct route_block *out)
{
    struct cfg_nexthop nh;

    ok &= check_neighbour(l, loc, what, v);
    ok &= check_port(l, v);
    ok &= check_far_end(l, v, ROUTE_VIA);
    ok &= check_far_end(l, v, ROUTE_GRE);
    if (!ok)
        return false;
    nh = nexthop_of(v, loc);
    for (uint32_t i = 0; i < out->n_nexthops; i++)
        if (same_nexthop(&out->nexthop[i], &nh)) {
            diag_error(l->d, loc, "this next hop is there twice in one route");
            return false;
        }
    out->nexthop[out->n_nexthops++] = nh;
    return true;
}
