/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/live_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/change_routes.h"

#define LIST_MAX 5000 /* entries of a request: it stays far below 1 MiB */

/* "PORT SVLAN.CVLAN" */
static json_t *name_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return json_sprintf("%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
}

/* Put an entry into the list of the last request, or of a new one. */
static void list_add(json_t *all, const char *cmd, const char *key, json_t *entry)
{
    json_t *last = json_array_get(all, json_array_size(all) - 1);
    const char *last_cmd = json_string_value(json_object_get(last, "cmd"));

    if (last_cmd == NULL || strcmp(last_cmd, cmd) != 0 ||
        json_array_size(json_object_get(last, key)) == LIST_MAX) {
        last = json_pack("{s:s, s:[]}", "cmd", cmd, key);
        json_array_append_new(all, last);
    }
    json_array_append_new(json_object_get(last, key), entry);
}

static uint32_t id_now(const struct control *c, const struct cfg_subscriber *s)
{
    return idmap_get(c->tables->subscribers->by_vlan,
                     subscriber_vlan_key((uint8_t)s->port, s->svlan, s->cvlan));
}

/* --- subscribers --- */

/* The same but for what can be changed in place: profile and MAC. */
static bool same_subscriber(const struct cfg_subscriber *a, const struct cfg_subscriber *b)
{
    return a->port == b->port && a->svlan == b->svlan && a->cvlan == b->cvlan &&
           a->ipv4 == b->ipv4 && a->ipv4_len == b->ipv4_len && a->has_gre_key == b->has_gre_key &&
           (!a->has_gre_key || a->gre_key == b->gre_key);
}

/* The id of whoever is now what a configured subscriber was, or 0. */
static uint32_t same_now(const struct control *c, const struct cfg_subscriber *s)
{
    uint32_t id = id_now(c, s);

    return id != 0 && same_subscriber(&c->model->subscribers[id - 1], s) ? id : 0;
}

static json_t *subscriber_entry(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    char text[32];
    json_t *o = json_pack("{s:s, s:i, s:i}", "port", m->ports[s->port].name, "svlan", (int)s->svlan,
                          "cvlan", (int)s->cvlan);

    json_object_set_new(
        o, "ipv4", json_sprintf("%s/%u", format_ipv4(s->ipv4, text, sizeof(text)), s->ipv4_len));
    if (s->has_gre_key)
        json_object_set_new(o, "gre_key", json_integer(s->gre_key));
    if (s->has_mac)
        json_object_set_new(o, "mac", json_pack("s", format_mac(s->mac, text, sizeof(text))));
    if (s->profile != CFG_NONE)
        json_object_set_new(o, "profile", json_pack("s", m->qos.profiles[s->profile].name));
    return o;
}

/* Who has gone, then who has come: addresses may have changed hands. */
static int changed_subscribers(const struct control *c, json_t *all)
{
    const struct cfg_model *was = c->configured, *now = control_model(c);
    uint8_t *known = calloc(now->n_subscribers + UINT64_C(1), 1);

    if (known == NULL)
        return -1;
    for (uint32_t i = 0; i < was->n_subscribers; i++) {
        uint32_t id = same_now(c, &was->subscribers[i]);

        known[id] = 1;
        if (id == 0)
            list_add(all, "remove-subscribers", "subscribers", name_of(now, &was->subscribers[i]));
    }
    for (uint32_t id = 1; id <= now->n_subscribers; id++)
        if (live_has(now, id) && !known[id])
            list_add(all, "add-subscribers", "subscribers",
                     subscriber_entry(now, &now->subscribers[id - 1]));
    free(known);
    return 0;
}

static void changed_macs(const struct control *c, json_t *all)
{
    const struct cfg_model *was = c->configured, *now = control_model(c);
    char text[32];

    for (uint32_t i = 0; i < was->n_subscribers; i++) {
        const struct cfg_subscriber *s = &was->subscribers[i], *t;
        uint32_t id = same_now(c, s);

        if (id == 0)
            continue;
        t = &now->subscribers[id - 1];
        if (t->has_mac != s->has_mac || (t->has_mac && memcmp(t->mac, s->mac, 6) != 0))
            json_array_append_new(
                all,
                json_pack("{s:s, s:o, s:o}", "cmd", "set-mac", "subscriber", name_of(now, t), "mac",
                          t->has_mac ? json_pack("s", format_mac(t->mac, text, sizeof(text)))
                                     : json_pack("n")));
    }
}

static void changed_profiles(const struct control *c, json_t *all)
{
    const struct cfg_model *was = c->configured, *now = control_model(c);

    for (uint32_t i = 0; i < was->n_subscribers; i++) {
        const struct cfg_subscriber *s = &was->subscribers[i], *t;
        uint32_t id = same_now(c, s);

        if (id == 0)
            continue;
        t = &now->subscribers[id - 1];
        if (t->profile != s->profile && t->profile != CFG_NONE)
            list_add(all, "set-profiles", "changes",
                     json_pack("[o, s]", name_of(now, t), now->qos.profiles[t->profile].name));
    }
}

/* --- routes --- */

json_t *route_json(const struct cfg_model *m, const struct cfg_route *r)
{
    const struct cfg_nexthop *nh = &m->nexthops[r->nexthop];
    char text[32];
    json_t *o = json_pack("{s:o, s:s}", "prefix",
                          json_sprintf("%s/%u", format_ipv4(r->prefix, text, sizeof(text)), r->len),
                          "port", m->ports[nh->port].name);

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

static int by_key(const void *a, const void *b)
{
    const struct cfg_route *x = *(const struct cfg_route *const *)a,
                           *y = *(const struct cfg_route *const *)b;

    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

static const struct cfg_route **sorted_routes(const struct cfg_model *m)
{
    const struct cfg_route **list = calloc(m->n_routes + UINT64_C(1), sizeof(*list));

    for (uint32_t i = 0; list != NULL && i < m->n_routes; i++)
        list[i] = &m->routes[i];
    if (list != NULL)
        qsort(list, m->n_routes, sizeof(*list), by_key);
    return list;
}

static json_t *route_request(const struct cfg_model *m, const char *cmd, const struct cfg_route *r)
{
    json_t *o = route_json(m, r);

    json_object_set_new(o, "cmd", json_pack("s", cmd));
    return o;
}

static void removed_route(const struct cfg_route *r, json_t *all)
{
    char text[32];

    json_array_append_new(
        all, json_pack("{s:s, s:o}", "cmd", "remove-route", "prefix",
                       json_sprintf("%s/%u", format_ipv4(r->prefix, text, sizeof(text)), r->len)));
}

/* Two sorted lists side by side. Those that came are last: there must be room for them. */
static int changed_routes(const struct control *c, json_t *all)
{
    const struct cfg_model *was = c->configured, *now = control_model(c);
    const struct cfg_route **old = sorted_routes(was), **new = sorted_routes(now);
    json_t *added = json_array();
    uint32_t i = 0, k = 0;
    bool ok;

    while (old != NULL && new != NULL && (i < was->n_routes || k < now->n_routes)) {
        int order = i == was->n_routes ? 1 : k == now->n_routes ? -1 : by_key(&old[i], &new[k]);

        if (order < 0)
            removed_route(old[i], all);
        else if (order > 0)
            list_add(added, "add-routes", "routes", route_json(now, new[k]));
        else if (!same_nexthop(&was->nexthops[old[i]->nexthop], &now->nexthops[new[k]->nexthop]))
            json_array_append_new(all, route_request(now, "change-route", new[k]));
        i += order <= 0;
        k += order >= 0;
    }
    json_array_extend(all, added);
    json_decref(added);
    ok = old != NULL && new != NULL;
    free(old);
    free(new);
    return ok ? 0 : -1;
}

/* --- schedulers --- */

static void changed_rates(const struct control *c, json_t *all)
{
    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];
        const struct cfg_scheduler *shape = s->q->shape;

        for (unsigned k = 0; k < shape->n_subports; k++)
            if (s->subport_rate[k] != shape->subports[k].rate[s->q->direction])
                json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:I}", "cmd",
                                                     "set-subport-rate", "scheduler", shape->name,
                                                     "subport", shape->subports[k].name,
                                                     "direction", direction_name(s->q->direction),
                                                     "rate", (json_int_t)s->subport_rate[k]));
    }
}

static void changed_map(const struct control *c, unsigned scheduler, enum qos_direction d,
                        json_t *all)
{
    const struct cfg_qos *qos = &c->configured->qos;
    const struct cfg_scheduler *s = &qos->schedulers[scheduler];
    const uint8_t *was = qos->dscp_maps[s->dscp_map[d]].queue,
                  *now = c->tables->dscp[scheduler * QOS_DIRECTIONS + d].queue;

    for (unsigned i = 0; i < 64; i++)
        if (now[i] != was[i])
            json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i}", "cmd",
                                                 "set-dscp", "scheduler", s->name, "direction",
                                                 direction_name(d), "dscp", (int)i, "class",
                                                 class_name(now[i] < QOS_BE ? now[i] : QOS_BE),
                                                 "queue", now[i] < QOS_BE ? 0 : now[i] - QOS_BE));
}

json_t *live_changes(const struct control *c)
{
    json_t *all = json_array();

    if (all == NULL)
        return NULL;
    if (changed_subscribers(c, all) != 0 || changed_routes(c, all) != 0) {
        json_decref(all);
        return NULL;
    }
    changed_profiles(c, all);
    changed_macs(c, all);
    changed_rates(c, all);
    for (unsigned i = 0; i < c->configured->qos.n_schedulers; i++)
        for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
            changed_map(c, i, (enum qos_direction)d, all);
    return all;
}
