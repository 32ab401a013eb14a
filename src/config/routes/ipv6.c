/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefixes of routes of IPv6: what they may be, and which are there twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/routes.h"

/* The i-th prefix behind one of a length above 0. */
static struct ipv6 nth(struct ipv6 first, uint8_t len, uint64_t i)
{
    struct ipv6 at = first;

    if (len <= 64) {
        at.upper += i << (64 - len);
        return at;
    }
    at.lower += i << (128 - len);
    at.upper += (len < 128 ? i >> (len - 64) : 0) + (at.lower < first.lower);
    return at;
}

/* Do so many prefixes one after the other end with the last address at the latest? */
static bool fits(struct ipv6 first, uint8_t len, uint64_t count)
{
    struct ipv6 last;

    if (count == 1)
        return true;
    if (len == 0 || (len < 64 && (count - 1) >> len != 0))
        return false;
    last = nth(first, len, count - 1);
    return last.upper > first.upper || (last.upper == first.upper && last.lower >= first.lower);
}

/* Is a prefix within what no router forwards: RFC 4291 sections 2.5.2, 2.5.3, 2.5.6 and 2.7? */
static bool is_never_forwarded(struct ipv6 prefix, uint8_t len)
{
    return (len >= 64 && prefix.upper == 0) || (len >= 10 && prefix.upper >> 54 == 0xfe80 >> 6) ||
           (len >= 8 && prefix.upper >> 56 == 0xff);
}

static bool take_prefix6(struct loader *l, const struct value *v, struct ipv6 *prefix, uint8_t *len)
{
    char text[IPV6_TEXT];
    struct ipv6 first;

    if (parse_prefix6(v->v.s, prefix, len) != 0)
        return false; /* the reader of the key has said so */
    first = first6(*prefix, *len);
    if (!same6(first, *prefix)) {
        value_error(l, v, "prefix", "has bits set after the prefix: expected '%s'",
                    format_prefix6(first, *len, text));
        return false;
    }
    return true;
}

bool take_route_prefix(struct loader *l, const struct value *v, struct route_block *out)
{
    out->is_ipv6 = strchr(v->v.s, ':') != NULL;
    return out->is_ipv6 ? take_prefix6(l, v, &out->prefix6, &out->len)
                        : take_prefix(l, v, "prefix", &out->prefix, &out->len);
}

/* The gateway's own addresses are never routed: as check_own() of IPv4. */
static bool check_own6(struct loader *l, const struct value *v, const struct route_block *r)
{
    char text[IPV6_TEXT], which[80] = "is";

    for (unsigned i = 0; i < l->m->n_ports && r->len == 128; i++)
        for (unsigned a = 0; a < l->m->ports[i].n_addresses6; a++) {
            const struct cfg_port *own = &l->m->ports[i];
            struct ipv6 addr = own->addresses6[a];

            /* the address behind the first by no more than the block is long */
            if (addr.upper - r->prefix6.upper != (addr.lower < r->prefix6.lower) ||
                addr.lower - r->prefix6.lower >= r->count)
                continue;
            if (r->count > 1)
                snprintf(which, sizeof(which), "its block holds %s,", format_ipv6(addr, text));
            value_error(l, v, "prefix", "%s the gateway's own, on port '%s' at %s:%u", which,
                        own->name, own->loc.file, own->loc.line);
            return false;
        }
    return true;
}

bool check_prefix6(struct loader *l, const struct value *v, struct route_block *r)
{
    const struct value *prefix = &v[ROUTE_PREFIX], *count = &v[ROUTE_COUNT];
    struct ipv6 first = r->prefix6;

    r->count = count->set ? count->v.u : 1;
    if (!fits(first, r->len, r->count)) {
        value_error(l, count, "count", "runs beyond ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        return false;
    }
    if (is_never_forwarded(first, r->len) ||
        (r->count > 1 && is_never_forwarded(nth(first, r->len, r->count - 1), r->len))) {
        value_error(l, prefix, "prefix",
                    "%s never forwarded: expected none of ::/64, fe80::/10 and ff00::/8 (RFC 4291 "
                    "section 2.4)",
                    r->count > 1 ? "its block is in part" : "is");
        return false;
    }
    return check_own6(l, prefix, r);
}

void add_routes6(struct loader *l, const struct route_block *r, uint32_t way)
{
    struct cfg_model *m = l->m;
    struct cfg_route6 route = {.way = {.loc = r->loc, .nexthop = way, .is_ipv6 = true},
                               .len = r->len};

    for (uint64_t i = 0; i < r->count; i++) {
        route.prefix = i == 0 ? r->prefix6 : nth(r->prefix6, r->len, i);
        GROW_ONE(m->routes6, m->n_routes6);
        m->routes6[m->n_routes6++] = route;
    }
}

static int by_prefix(const void *a, const void *b)
{
    const struct cfg_route6 *x = *(const struct cfg_route6 *const *)a,
                            *y = *(const struct cfg_route6 *const *)b;

    if (x->prefix.upper != y->prefix.upper)
        return x->prefix.upper < y->prefix.upper ? -1 : 1;
    if (x->prefix.lower != y->prefix.lower)
        return x->prefix.lower < y->prefix.lower ? -1 : 1;
    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return (x > y) - (x < y); /* in the order of the file */
}

static void report(struct loader *l, const struct cfg_route6 *route, struct loc first)
{
    char text[IPV6_TEXT], at[PLACE_TEXT];

    diag_error(l->d, route->way.loc, "key 'prefix': value '%s': already a route %s",
               format_prefix6(route->prefix, route->len, text), place_text(first, at));
}

void check_routes6(struct loader *l, const struct cfg_route6 *routes, uint32_t n,
                   const struct cfg_route *(*there)(const void *ctx, struct ipv6 prefix,
                                                    uint8_t len),
                   const void *ctx)
{
    const struct cfg_route6 **list = grow(NULL, n, sizeof(*list));
    unsigned errors = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct cfg_route *other =
            there != NULL ? there(ctx, routes[i].prefix, routes[i].len) : NULL;

        list[i] = &routes[i];
        if (other != NULL && errors++ < CFG_MAX_SAME_ERRORS)
            report(l, &routes[i], other->loc);
    }
    if (n > 0)
        qsort(list, n, sizeof(*list), by_prefix);
    for (uint32_t i = 1; i < n && errors < CFG_MAX_SAME_ERRORS; i++) {
        const struct cfg_route6 *a = list[i - 1], *b = list[i];

        if (a->len != b->len || !same6(a->prefix, b->prefix))
            continue;
        errors++;
        report(l, b, a->way.loc);
    }
    free(list);
}

/* --- prefixes of either family --- */

bool is_prefix_of(const struct value *prefix, const struct route_block *r)
{
    struct ipv6 addr;
    uint8_t len;

    if (prefix->v.u2 != r->len || (strchr(prefix->v.s, ':') != NULL) != r->is_ipv6)
        return false;
    if (!r->is_ipv6)
        return prefix->v.u == r->prefix;
    return parse_prefix6(prefix->v.s, &addr, &len) == 0 && same6(addr, r->prefix6);
}

const char *block_prefix_text(const struct route_block *r, char text[IPV6_TEXT])
{
    char addr[32];

    if (r->is_ipv6)
        return format_prefix6(r->prefix6, r->len, text);
    snprintf(text, IPV6_TEXT, "%s/%u", format_ipv4(r->prefix, addr, sizeof(addr)), r->len);
    return text;
}
