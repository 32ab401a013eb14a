/* SPDX-License-Identifier: BSD-3-Clause */
/* Who came, who went, and who is another than he was. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "control/check_subscribers.h"
#include "control/delta.h"

/* "PORT SVLAN.CVLAN" */
static json_t *name_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return json_sprintf("%s %u.%u", m->ports[s->port].name, s->svlan, s->cvlan);
}

static json_t *mac_of(const struct cfg_subscriber *s)
{
    char text[32];

    return s->has_mac ? json_pack("s", format_mac(s->mac, text, sizeof(text))) : json_pack("n");
}

static const char *profile_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return s->profile != CFG_NONE ? m->qos.profiles[s->profile].name : NULL;
}

static json_t *entry_of(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    char text[32];
    json_t *o = json_pack("{s:s, s:i, s:i}", "port", m->ports[s->port].name, "svlan", (int)s->svlan,
                          "cvlan", (int)s->cvlan);

    json_object_set_new(
        o, "ipv4", json_sprintf("%s/%u", format_ipv4(s->ipv4, text, sizeof(text)), s->ipv4_len));
    if (s->has_gre_key)
        json_object_set_new(o, "gre_key", json_integer(s->gre_key));
    if (s->has_mac)
        json_object_set_new(o, "mac", mac_of(s));
    if (s->profile != CFG_NONE)
        json_object_set_new(o, "profile", json_pack("s", profile_of(m, s)));
    return o;
}

/* The same but for what can be changed in place: profile and MAC. */
static bool same_identity(const struct cfg_subscriber *a, const struct cfg_subscriber *b)
{
    return a->ipv4 == b->ipv4 && a->ipv4_len == b->ipv4_len && a->has_gre_key == b->has_gre_key &&
           (!a->has_gre_key || a->gre_key == b->gre_key);
}

/* The id of him who is on the circuit of one of the other's now and is the same, or 0. */
static uint32_t same_now(const struct delta *d, const struct cfg_subscriber *s)
{
    uint32_t port = d->port_of[s->port], id;

    if (port == CFG_NONE)
        return 0;
    id = idmap_get(d->c->tables->subscribers->by_vlan,
                   subscriber_vlan_key((uint8_t)port, s->svlan, s->cvlan));
    return id != 0 && same_identity(&d->c->model->subscribers[id - 1], s) ? id : 0;
}

/* Can one of the other's be had without a restart? */
static bool can_be_had(const struct delta *d, const struct cfg_subscriber *s)
{
    uint32_t port = d->port_of[s->port];
    struct cfg_subscriber there = *s;

    if (port == CFG_NONE || (d->c->e->plan->subscriber_ports >> port & 1) == 0)
        return false;
    there.port = port;
    return d->c->by_port[port] == NULL ||
           (s->profile != CFG_NONE && subport_of(d->c->by_port[port], &there) != CFG_NONE);
}

static void came(struct delta *d, const struct cfg_model *m, const struct cfg_subscriber *s,
                 uint32_t *left_out)
{
    if (d->reload && !can_be_had(d, s)) {
        ++*left_out;
        return;
    }
    d->n[DELTA_SUBSCRIBERS].added++;
    delta_list(d->requests, "add-subscribers", "subscribers", entry_of(m, s));
}

static void went(struct delta *d, const struct cfg_model *m, const struct cfg_subscriber *s)
{
    d->n[DELTA_SUBSCRIBERS].removed++;
    delta_list(d->requests, "remove-subscribers", "subscribers", name_of(m, s));
}

/* Those of the other that are not now, or those of now that the other has not. */
static void others_alone(struct delta *d, const uint32_t *id, uint32_t *left_out)
{
    for (uint32_t i = 0; i < d->other->n_subscribers; i++) {
        const struct cfg_subscriber *s = &d->other->subscribers[i];

        if (id[i] == 0 && d->reload)
            came(d, d->other, s, left_out);
        else if (id[i] == 0)
            went(d, d->other, s);
    }
}

static void now_alone(struct delta *d, const uint8_t *known, uint32_t *left_out)
{
    const struct cfg_model *now = control_model(d->c);

    for (uint32_t i = 1; i <= now->n_subscribers; i++) {
        if (!live_has(now, i) || known[i])
            continue;
        if (d->reload)
            went(d, now, &now->subscribers[i - 1]);
        else
            came(d, now, &now->subscribers[i - 1], left_out);
    }
}

/* Profile and MAC of who is in both; from one to the other. */
static void in_both(struct delta *d, const uint32_t *id)
{
    const struct cfg_model *now = control_model(d->c), *to = d->reload ? d->other : now;

    for (uint32_t i = 0; i < d->other->n_subscribers; i++) {
        const struct cfg_subscriber *s = &d->other->subscribers[i], *t;
        const char *profile, *profile_now;
        json_t *mac;

        if (id[i] == 0)
            continue;
        t = &now->subscribers[id[i] - 1];
        profile = profile_of(d->other, s);
        profile_now = profile_of(now, t);
        if (profile != NULL && profile_now != NULL && strcmp(profile, profile_now) != 0) {
            d->n[DELTA_SUBSCRIBERS].changed++;
            delta_list(d->requests, "set-profiles", "changes",
                       json_pack("[o, s]", name_of(now, t), to == now ? profile_now : profile));
        }
        if (s->has_mac == t->has_mac && (!s->has_mac || memcmp(s->mac, t->mac, 6) == 0))
            continue;
        mac = mac_of(to == now ? t : s);
        d->n[DELTA_SUBSCRIBERS].changed++;
        json_array_append_new(d->requests, json_pack("{s:s, s:o, s:o}", "cmd", "set-mac",
                                                     "subscriber", name_of(now, t), "mac", mac));
    }
}

/* First who went, then who came: addresses may change hands. */
void delta_subscribers(struct delta *d)
{
    uint32_t *id = calloc(d->other->n_subscribers + UINT64_C(1), sizeof(*id)), left_out = 0;
    uint8_t *known = calloc(control_model(d->c)->n_subscribers + UINT64_C(1), 1);

    for (uint32_t i = 0; id != NULL && known != NULL && i < d->other->n_subscribers; i++) {
        id[i] = same_now(d, &d->other->subscribers[i]);
        known[id[i]] = 1;
    }
    if (id != NULL && known != NULL) {
        if (d->reload)
            now_alone(d, known, &left_out);
        others_alone(d, id, &left_out);
        if (!d->reload)
            now_alone(d, known, &left_out);
        in_both(d, id);
    }
    if (left_out > 0)
        delta_restart(d, "%" PRIu32 " subscribers on ports or S-VLANs that are not served now",
                      left_out);
    free(id);
    free(known);
}
