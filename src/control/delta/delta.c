/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/delta.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/subscribers.h"
#include "control/subscribers/entry.h"

#define LIST_MAX 2000 /* entries of a request: below 1 MiB with the longest names */

/* --- requests --- */

void delta_add_entry(json_t *requests, const char *cmd, const char *key, json_t *entry)
{
    json_t *last = json_array_get(requests, json_array_size(requests) - 1);
    const char *last_cmd = json_string_value(json_object_get(last, "cmd"));

    if (last_cmd == NULL || strcmp(last_cmd, cmd) != 0 ||
        json_array_size(json_object_get(last, key)) == LIST_MAX) {
        last = json_pack("{s:s, s:[]}", "cmd", cmd, key);
        json_array_append_new(requests, last);
    }
    json_array_append_new(json_object_get(last, key), entry);
}

void delta_restart(struct delta *d, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    json_array_append_new(d->restart, json_pack("s", text));
}

/* --- ports --- */

static void map_ports(struct delta *d)
{
    const struct cfg_model *running = control_model(d->c);

    for (unsigned i = 0; i < d->other->n_ports; i++)
        d->port_of[i] =
            port_named(running, d->other->ports[i].name, strlen(d->other->ports[i].name));
}

uint32_t delta_running_port(const struct delta *d, const struct cfg_model *m, uint32_t port)
{
    return m == d->other ? d->port_of[port] : port;
}

/* --- rates of subports, and DSCP maps --- */

static const struct cfg_scheduler *scheduler_named(const struct cfg_qos *q, const char *name)
{
    for (unsigned i = 0; i < q->n_schedulers; i++)
        if (strcmp(q->schedulers[i].name, name) == 0)
            return &q->schedulers[i];
    return NULL;
}

static const struct cfg_subport *subport_named(const struct cfg_scheduler *s, const char *name)
{
    for (unsigned i = 0; i < s->n_subports; i++)
        if (strcmp(s->subports[i].name, name) == 0)
            return &s->subports[i];
    return NULL;
}

/* Rates of the running config are in the shapers, not in the model. */
static void delta_rates(struct delta *d, const struct shaper *s)
{
    const struct cfg_scheduler *now = s->q->shape,
                               *other = scheduler_named(&d->other->qos, now->name);

    for (unsigned k = 0; other != NULL && k < now->n_subports; k++) {
        const struct cfg_subport *sp = subport_named(other, now->subports[k].name);
        uint64_t rate = sp != NULL ? sp->rate[s->q->direction] : s->subport_rate[k];

        if (rate == s->subport_rate[k])
            continue;
        d->n_rates++;
        json_array_append_new(d->requests,
                              json_pack("{s:s, s:s, s:s, s:s, s:I}", "cmd", "set-subport-rate",
                                        "scheduler", now->name, "subport", now->subports[k].name,
                                        "direction", direction_name(s->q->direction), "rate",
                                        (json_int_t)(d->reload ? rate : s->subport_rate[k])));
    }
}

/* DSCP maps of the running config are in the tables, not in the model. */
static void delta_map(struct delta *d, unsigned scheduler, enum qos_direction dir)
{
    const struct cfg_scheduler *now = &control_model(d->c)->qos.schedulers[scheduler],
                               *other = scheduler_named(&d->other->qos, now->name);
    const uint8_t *queue_now = d->c->tables->dscp[scheduler * QOS_DIRECTIONS + dir].queue, *queue;

    if (other == NULL)
        return;
    queue = d->other->qos.dscp_maps[other->dscp_map[dir]].queue;
    for (unsigned i = 0; i < 64; i++) {
        unsigned to = d->reload ? queue[i] : queue_now[i];

        if (queue[i] == queue_now[i])
            continue;
        d->n_dscp++;
        json_array_append_new(
            d->requests, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i}", "cmd", "set-dscp", "scheduler",
                                   now->name, "direction", direction_name(dir), "dscp", (int)i,
                                   "class", class_name(to < QOS_BE ? to : QOS_BE), "queue",
                                   to < QOS_BE ? 0 : (int)to - QOS_BE));
    }
}

static void delta_schedulers(struct delta *d)
{
    for (const struct shaper *s = next_shaper(d->c, NULL); s != NULL; s = next_shaper(d->c, s))
        delta_rates(d, s);
    for (unsigned i = 0; i < control_model(d->c)->qos.n_schedulers; i++) {
        delta_map(d, i, QOS_UP);
        delta_map(d, i, QOS_DOWN);
    }
}

/* --- subscribers --- */

bool same_identity(const struct cfg_subscriber *a, const struct cfg_subscriber *b)
{
    return a->ipv4 == b->ipv4 && a->ipv4_len == b->ipv4_len && a->has_gre_key == b->has_gre_key &&
           (!a->has_gre_key || a->gre_key == b->gre_key) && a->routed == b->routed &&
           same_cpe_prefixes(&a->ipv6, &b->ipv6) && same_pppoe(a, b);
}

/* The id in the running config of who has the line of a subscriber of the other model, or 0. */
static uint32_t id_on_line(const struct delta *d, const struct cfg_subscriber *s)
{
    uint32_t port = d->port_of[s->port];

    return port == CFG_NONE ? 0
                            : idmap_get(d->c->tables->subscribers->by_vlan,
                                        subscriber_vlan_key((uint8_t)port, s->svlan, s->cvlan));
}

/* The id in the running config of a subscriber of the other model, or 0. */
static uint32_t running_id(const struct delta *d, const struct cfg_subscriber *s)
{
    uint32_t id = id_on_line(d, s);

    return id != 0 && same_identity(&d->c->model->subscribers[id - 1], s) ? id : 0;
}

/* Who is in which model. */
struct matches {
    uint32_t *id;      /* running_id() of each subscriber of the other model */
    bool *known;       /* by running id: he is in the other model, too */
    bool *in_the_way;  /* by running id: another one has his line in the other model */
    uint32_t left_out; /* of a reload: their ports or S-VLANs are not served now */
};

static bool is_served(const struct delta *d, const struct cfg_subscriber *s)
{
    struct cfg_subscriber there = *s;

    there.port = delta_running_port(d, d->to, s->port);
    if (there.port == CFG_NONE || (d->c->e->plan->subscriber_ports >> there.port & 1) == 0)
        return false;
    return d->c->by_port[there.port] == NULL ||
           (s->profile != CFG_NONE && subport_of(d->c->by_port[there.port], &there) != CFG_NONE);
}

static void subscriber_removed(struct delta *d, struct matches *k, const struct cfg_subscriber *s)
{
    (void)k;
    d->n[DELTA_SUBSCRIBERS].removed++;
    delta_add_entry(d->requests, "remove-subscribers", "subscribers", circuit_json(d->from, s));
}

static void subscriber_added(struct delta *d, struct matches *k, const struct cfg_subscriber *s)
{
    if (d->reload && !is_served(d, s)) {
        k->left_out++;
        return;
    }
    d->n[DELTA_SUBSCRIBERS].added++;
    /* each by himself: one that has no place in a changed configuration is to cost no other his */
    delta_add_entry(d->requests, s->dynamic ? "put-subscribers" : "add-subscribers", "subscribers",
                    subscriber_entry_json(d->to, s));
}

typedef void one_side(struct delta *d, struct matches *k, const struct cfg_subscriber *s);

static void only_in_other(struct delta *d, struct matches *k, one_side *report)
{
    for (uint32_t i = 0; i < d->other->n_subscribers; i++)
        if (k->id[i] == 0)
            report(d, k, &d->other->subscribers[i]);
}

/* Is a subscriber whom a control plane has put none of a reload's business? He is, if the file
 * has his line. */
static bool is_left_alone(const struct delta *d, const struct matches *k, uint32_t id)
{
    return d->reload && control_model(d->c)->subscribers[id - 1].dynamic && !k->in_the_way[id];
}

static void only_running(struct delta *d, struct matches *k, one_side *report)
{
    const struct cfg_model *running = control_model(d->c);

    for (uint32_t i = 1; i <= running->n_subscribers; i++)
        if (running_has(running, i) && !k->known[i] && !is_left_alone(d, k, i))
            report(d, k, &running->subscribers[i - 1]);
}

/* Profile and MAC of a subscriber who is in both models. */
static void compare_one(struct delta *d, const struct cfg_subscriber *from,
                        const struct cfg_subscriber *to)
{
    const char *was = profile_name_of(d->from, from), *profile = profile_name_of(d->to, to);

    if (was != NULL && profile != NULL && strcmp(was, profile) != 0) {
        d->n[DELTA_SUBSCRIBERS].changed++;
        delta_add_entry(d->requests, "set-profiles", "changes",
                        json_pack("[o, s]", circuit_json(d->to, to), profile));
    }
    if (from->has_mac == to->has_mac && (!to->has_mac || memcmp(from->mac, to->mac, 6) == 0))
        return;
    d->n[DELTA_SUBSCRIBERS].changed++;
    json_array_append_new(d->requests, json_pack("{s:s, s:o, s:o}", "cmd", "set-mac", "subscriber",
                                                 circuit_json(d->to, to), "mac", mac_json(to)));
}

static void compare_name(struct delta *d, const struct cfg_subscriber *from,
                         const struct cfg_subscriber *to)
{
    if (from->name == to->name ||
        (from->name != NULL && to->name != NULL && strcmp(from->name, to->name) == 0))
        return;
    d->n[DELTA_SUBSCRIBERS].changed++;
    delta_add_entry(d->requests, "set-names", "changes",
                    json_pack("[o, s?]", circuit_json(d->to, to), to->name));
}

typedef void compare_fn(struct delta *d, const struct cfg_subscriber *from,
                        const struct cfg_subscriber *to);

static void in_both(struct delta *d, const struct matches *k, compare_fn *compare)
{
    for (uint32_t i = 0; i < d->other->n_subscribers; i++) {
        const struct cfg_subscriber *other = &d->other->subscribers[i], *running;

        if (k->id[i] == 0)
            continue;
        running = &control_model(d->c)->subscribers[k->id[i] - 1];
        compare(d, d->reload ? running : other, d->reload ? other : running);
    }
}

/* Whoever is removed goes first, so that addresses may change hands. */
static void compare_subscribers(struct delta *d, struct matches *k)
{
    for (uint32_t i = 0; i < d->other->n_subscribers; i++) {
        k->id[i] = running_id(d, &d->other->subscribers[i]);
        k->known[k->id[i]] = true;
        k->in_the_way[id_on_line(d, &d->other->subscribers[i])] = true;
    }
    if (d->reload) {
        only_running(d, k, subscriber_removed);
        only_in_other(d, k, subscriber_added);
    } else {
        only_in_other(d, k, subscriber_removed);
        only_running(d, k, subscriber_added);
    }
    in_both(d, k, compare_one);
    in_both(d, k, compare_name); /* after the others: entries of a kind share requests */
}

static void delta_subscribers(struct delta *d)
{
    struct matches k = {
        .id = calloc(d->other->n_subscribers + UINT64_C(1), sizeof(*k.id)),
        .known = calloc(control_model(d->c)->n_subscribers + UINT64_C(1), sizeof(*k.known)),
        .in_the_way =
            calloc(control_model(d->c)->n_subscribers + UINT64_C(1), sizeof(*k.in_the_way))};

    if (k.id != NULL && k.known != NULL && k.in_the_way != NULL)
        compare_subscribers(d, &k);
    if (k.left_out > 0)
        delta_restart(d, "%" PRIu32 " subscribers on ports or S-VLANs that are not served now",
                      k.left_out);
    free(k.id);
    free(k.known);
    free(k.in_the_way);
}

/* --- all --- */

void delta_make(struct delta *d, const struct control *c, const struct cfg_model *other,
                bool reload)
{
    const struct cfg_model *running = control_model(c);

    *d = (struct delta){.c = c,
                        .from = reload ? running : other,
                        .to = reload ? other : running,
                        .other = other,
                        .reload = reload};
    d->requests = json_array();
    d->restart = json_array();
    map_ports(d);
    delta_subscribers(d);
    delta_routes(d);
    delta_schedulers(d);
}

void delta_free(struct delta *d)
{
    json_decref(d->requests);
    json_decref(d->restart);
}

json_t *running_changes(const struct control *c)
{
    struct delta d;
    json_t *requests;

    delta_make(&d, c, c->configured, false);
    requests = json_incref(d.requests);
    delta_free(&d);
    return requests;
}
