/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/check_subscribers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "config/load_value.h"
#include "control/change_subscribers.h"
#include "control/specs.h"

uint32_t subport_of(const struct cfg_scheduler *shape, const struct cfg_subscriber *s)
{
    for (uint32_t i = 0; i < shape->n_subports; i++) {
        const struct cfg_subport *p = &shape->subports[i];

        if (p->port == s->port && s->svlan >= p->svlan_first && s->svlan <= p->svlan_last)
            return i;
    }
    return CFG_NONE;
}

static int check_addresses(const struct control *c, const struct cfg_subscriber *s,
                           struct refusal *why)
{
    uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - s->ipv4_len)) - 1);
    char text[32];

    if (s->ipv4_len < 24 || !ipv4_is_host(s->ipv4))
        return refuse(why, "key 'ipv4': expected the IPv4 address of a host, or a prefix of length "
                           "24..32");
    for (uint32_t a = s->ipv4 & ~hosts;; a++) {
        if (route_is_local(c->tables->routes, a))
            return refuse(why, "key 'ipv4': %s is the gateway's own",
                          format_ipv4(a, text, sizeof(text)));
        if (a == (s->ipv4 | hosts))
            return 0;
    }
}

/* The scheduler of his port, if there is one. */
static int check_shaping(const struct control *c, const struct cfg_subscriber *s,
                         struct refusal *why)
{
    const struct cfg_scheduler *shape = c->by_port[s->port];
    const struct cfg_qos *qos = &c->model->qos;

    if (shape == NULL)
        return 0;
    if (s->profile == CFG_NONE)
        return refuse(why, "key 'profile': missing: port '%s' is shaped by scheduler '%s'",
                      c->model->ports[s->port].name, shape->name);
    if (subport_of(shape, s) == CFG_NONE)
        return refuse(why, "S-VLAN %u on port '%s' is in no subport of scheduler '%s'", s->svlan,
                      c->model->ports[s->port].name, shape->name);
    for (unsigned i = 0; i < c->n_shapers; i++)
        if (c->shaper[i].q->shape == shape && c->shaper[i].q->sched_profile[s->profile] < 0)
            return refuse(why, "profile '%s' is beyond what scheduler '%s' can do",
                          qos->profiles[s->profile].name, shape->name);
    return 0;
}

static int check_one(const struct control *c, const struct cfg_subscriber *s, struct refusal *why)
{
    struct subscriber_spec spec = subscriber_spec_of(c->model, s, c->tables->port_mac[s->port]);
    int rc;

    if ((c->e->plan->subscriber_ports >> s->port & 1) == 0)
        return refuse(why,
                      "port '%s': nothing leads there: a subscriber needs another graph, and "
                      "a restart",
                      c->model->ports[s->port].name);
    rc = check_addresses(c, s, why);
    if (rc == 0)
        rc = check_shaping(c, s, why);
    if (rc != 0)
        return rc;
    rc = subscriber_check(c->tables->subscribers, &spec);
    if (rc == -EEXIST)
        refuse(why, "its VLAN pair, GRE key or address is another's");
    else if (rc != 0)
        refuse(why, "expected an S-VLAN and a C-VLAN of 1 to 4094");
    return rc;
}

/* --- two of the list --- */

struct clash {
    uint32_t later;
};

static void on_clash(void *ctx, const struct claim *earlier, const struct claim *later)
{
    struct clash *k = ctx;

    (void)earlier;
    if (later->who < k->later)
        k->later = later->who;
}

enum what { VLANS, KEY, ADDRESSES, N_WHATS };

static struct claim claim_of(const struct cfg_subscriber *s, enum what what, uint32_t who)
{
    uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - s->ipv4_len)) - 1);
    uint64_t vlans = (uint64_t)s->port << 32 | (uint64_t)s->svlan << 16 | s->cvlan;

    switch (what) {
    case VLANS:
        return (struct claim){vlans, vlans, who};
    case KEY:
        return (struct claim){s->gre_key, s->gre_key, who};
    default:
        return (struct claim){s->ipv4 & ~hosts, s->ipv4 | hosts, who};
    }
}

static int check_each_other(const struct cfg_subscriber *list, uint32_t n, uint32_t *which,
                            struct refusal *why)
{
    struct claim *claim = malloc(n * sizeof(*claim));
    struct clash clash = {.later = CHANGE_NONE};

    if (claim == NULL)
        return -ENOMEM;
    for (enum what what = VLANS; what < N_WHATS; what++) {
        uint32_t k = 0;

        for (uint32_t i = 0; i < n; i++)
            if (what != KEY || list[i].has_gre_key)
                claim[k++] = claim_of(&list[i], what, i);
        find_clashes(claim, k, on_clash, &clash);
    }
    free(claim);
    *which = clash.later;
    return clash.later == CHANGE_NONE
               ? 0
               : refuse(why, "its VLAN pair, GRE key or address is in the list before");
}

/* --- room --- */

/* What a list needs of a scheduler's subports; of ids it needs n. */
struct need {
    const struct cfg_subscriber *list;
    uint32_t n;
};

static uint32_t free_ids(const struct control *c)
{
    return c->tables->subscribers->capacity - c->ids.n_subscribers - c->ids.resting_subscribers;
}

/* The first subport that has too few free pipes. */
static const struct cfg_subport *short_of_pipes(const struct control *c, const struct need *need)
{
    for (unsigned i = 0; i < c->model->qos.n_schedulers; i++) {
        const struct cfg_scheduler *shape = &c->model->qos.schedulers[i];
        uint32_t wanted[QOS_MAX_SUBPORTS] = {0};

        for (uint32_t k = 0; k < need->n; k++)
            if (c->by_port[need->list[k].port] == shape)
                wanted[subport_of(shape, &need->list[k])]++;
        for (unsigned k = 0; k < shape->n_subports; k++)
            if (wanted[k] > c->ids.pipes[i].n[k])
                return &shape->subports[k];
    }
    return NULL;
}

static bool has_room(const struct control *c, const void *ctx)
{
    const struct need *need = ctx;

    return free_ids(c) >= need->n && short_of_pipes(c, need) == NULL;
}

static int check_room(struct control *c, const struct need *need, struct refusal *why)
{
    const struct cfg_subport *subport;

    if (c->ids.n_subscribers + need->n > c->tables->subscribers->capacity)
        return refuse(why,
                      "there is room for %" PRIu32 " subscribers, and %" PRIu32
                      " are there: max_subscribers says how many may be",
                      c->tables->subscribers->capacity, c->ids.n_subscribers);
    if (has_room(c, need) || ids_wait(c, has_room, need))
        return 0;
    subport = short_of_pipes(c, need);
    if (subport == NULL)
        return refuse(why, "who was removed has packets under way: try again");
    return refuse(
        why, "subport '%s' has no room: max_subscribers gives all subports more, in proportion",
        subport->name);
}

int check_subscribers(struct control *c, const struct cfg_subscriber *list, uint32_t n,
                      uint32_t *which, struct refusal *why)
{
    struct need need = {list, n};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        *which = i;
        rc = check_one(c, &list[i], why);
    }
    if (rc == 0 && n > 1)
        rc = check_each_other(list, n, which, why);
    if (rc != 0)
        return rc;
    *which = CHANGE_NONE;
    return check_room(c, &need, why);
}
