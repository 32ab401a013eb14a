/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes that came, went, or lead elsewhere; and as add-route says them. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/delta.h"
#include "control/live_changes.h"

static json_t *prefix_of(const struct cfg_route *r)
{
    char text[32];

    return json_sprintf("%s/%u", format_ipv4(r->prefix, text, sizeof(text)), r->len);
}

json_t *route_json(const struct cfg_model *m, const struct cfg_route *r)
{
    const struct cfg_nexthop *nh = &m->nexthops[r->nexthop];
    char text[32];
    json_t *o = json_pack("{s:o, s:s}", "prefix", prefix_of(r), "port", m->ports[nh->port].name);

    if (nh->mac_set)
        json_object_set_new(o, "mac", json_pack("s", format_mac(nh->mac, text, sizeof(text))));
    else
        json_object_set_new(o, "via", json_pack("s", format_ipv4(nh->via, text, sizeof(text))));
    if (nh->has_gre)
        json_object_set_new(o, "gre", json_pack("s", format_ipv4(nh->gre, text, sizeof(text))));
    if (nh->has_mpls)
        json_object_set_new(o, "mpls", json_integer(nh->mpls));
    return o;
}

static int by_prefix(const void *a, const void *b)
{
    const struct cfg_route *x = *(const struct cfg_route *const *)a,
                           *y = *(const struct cfg_route *const *)b;

    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

static const struct cfg_route **sorted(const struct cfg_model *m)
{
    const struct cfg_route **list = calloc(m->n_routes + UINT64_C(1), sizeof(*list));

    for (uint32_t i = 0; list != NULL && i < m->n_routes; i++)
        list[i] = &m->routes[i];
    if (list != NULL)
        qsort(list, m->n_routes, sizeof(*list), by_prefix);
    return list;
}

/* Do both leave alike? */
static bool same_way(const struct delta *d, const struct cfg_route *other,
                     const struct cfg_route *now)
{
    struct cfg_nexthop way = d->other->nexthops[other->nexthop];

    way.port = d->port_of[way.port];
    return same_nexthop(&way, &d->c->model->nexthops[now->nexthop]);
}

/* Does the port of a route that is to be had lead anywhere now? */
static bool can_be_had(const struct delta *d, const struct cfg_route *r)
{
    uint32_t port = d->port_of[d->other->nexthops[r->nexthop].port];

    return port != CFG_NONE && (d->c->e->plan->nexthop_ports >> port & 1) != 0;
}

struct sides {
    struct delta *d;
    json_t *added;
    uint32_t left_out;
};

static void went(struct sides *s, const struct cfg_route *r)
{
    s->d->n[DELTA_ROUTES].removed++;
    json_array_append_new(s->d->requests,
                          json_pack("{s:s, s:o}", "cmd", "remove-route", "prefix", prefix_of(r)));
}

static void came(struct sides *s, const struct cfg_model *m, const struct cfg_route *r)
{
    if (s->d->reload && !can_be_had(s->d, r)) {
        s->left_out++;
        return;
    }
    s->d->n[DELTA_ROUTES].added++;
    delta_list(s->added, "add-routes", "routes", route_json(m, r));
}

static void leads_elsewhere(struct sides *s, const struct cfg_model *m, const struct cfg_route *r)
{
    json_t *request;

    if (s->d->reload && !can_be_had(s->d, r)) {
        s->left_out++;
        return;
    }
    request = route_json(m, r);
    json_object_set_new(request, "cmd", json_pack("s", "change-route"));
    s->d->n[DELTA_ROUTES].changed++;
    json_array_append_new(s->d->requests, request);
}

/* One pair of two sorted lists; one of them may be NULL. */
static void compare(struct sides *s, const struct cfg_route *other, const struct cfg_route *now)
{
    const struct delta *d = s->d;
    const struct cfg_model *live = control_model(d->c), *to = d->reload ? d->other : live;
    const struct cfg_route *from_r = d->reload ? now : other, *to_r = d->reload ? other : now;

    assert(other != NULL || now != NULL);
    if (to_r == NULL)
        went(s, from_r);
    else if (from_r == NULL)
        came(s, to, to_r);
    else if (!same_way(d, other, now))
        leads_elsewhere(s, to, to_r);
}

/* Those that came are last: there must be room for them. */
void delta_routes(struct delta *d)
{
    const struct cfg_model *live = control_model(d->c);
    const struct cfg_route **other = sorted(d->other), **now = sorted(live);
    struct sides s = {.d = d, .added = json_array()};
    uint32_t i = 0, k = 0;

    while (other != NULL && now != NULL && (i < d->other->n_routes || k < live->n_routes)) {
        int order = i == d->other->n_routes ? 1
                    : k == live->n_routes   ? -1
                                            : by_prefix(&other[i], &now[k]);

        compare(&s, order <= 0 ? other[i] : NULL, order >= 0 ? now[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
    json_array_extend(d->requests, s.added);
    json_decref(s.added);
    if (s.left_out > 0)
        delta_restart(d, "%" PRIu32 " routes by ports to which nothing leads now", s.left_out);
    free(other);
    free(now);
}
