/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/subscribers/room.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "config/qos_profiles.h"
#include "config/subscribers.h"
#include "control/rates.h"

/* --- room --- */

/* Room that n new subscribers need: ids, and pipes of their subports. */
struct need {
    const struct cfg_subscriber *list;
    uint32_t n;
};

/* Returns the first subport that has too few free pipes, or NULL. */
static const struct cfg_subport *short_of_pipes(const struct control *c, const struct need *need)
{
    for (unsigned i = 0; i < c->model->qos.n_schedulers; i++) {
        const struct cfg_scheduler *shape = &c->model->qos.schedulers[i];
        uint32_t wanted[QOS_MAX_SUBPORTS] = {0};

        for (uint32_t k = 0; k < need->n; k++)
            if (c->by_port[need->list[k].port] == shape)
                wanted[subport_of(shape, &need->list[k])]++;
        for (unsigned k = 0; k < shape->n_subports; k++)
            if (wanted[k] > ids_free_pipes(c, i, k))
                return &shape->subports[k];
    }
    return NULL;
}

static bool has_room(const struct control *c, const void *ctx)
{
    const struct need *need = ctx;

    return ids_free_subscribers(c) >= need->n && short_of_pipes(c, need) == NULL;
}

/* Prefixes have room at once where somebody was removed; id: whose are given up, or NULL. */
static int check_prefixes(const struct control *c, const struct need *need, const uint32_t *id,
                          struct refusal *why)
{
    const struct subscriber6_table *v6 = c->tables->subscribers->v6;
    uint32_t room = v6 != NULL ? v6->capacity : 0, there = v6 != NULL ? v6->n : 0;
    uint64_t wanted = 0, given_up = 0;

    for (uint32_t i = 0; i < need->n; i++) {
        wanted += count_prefixes(&need->list[i].ipv6);
        given_up += id != NULL ? count_prefixes(&c->model->subscribers[id[i] - 1].ipv6) : 0;
    }
    if (there + wanted <= room + given_up)
        return 0;
    return refuse(why,
                  "there is room for %" PRIu32 " IPv6 prefixes, and %" PRIu32
                  " are there: max_prefixes says how many may be",
                  room, there);
}

static int check_room(struct control *c, const struct need *need, struct refusal *why)
{
    const struct cfg_subport *subport;
    int rc = check_prefixes(c, need, NULL, why);

    if (rc != 0)
        return rc;

    if (c->ids.n_subscribers + need->n > c->model->max_subscribers)
        return refuse(why,
                      "there is room for %" PRIu32 " subscribers, and %" PRIu32
                      " are there: max_subscribers says how many may be",
                      c->model->max_subscribers, c->ids.n_subscribers);
    if (has_room(c, need) || ids_wait(c, has_room, need))
        return 0;
    subport = short_of_pipes(c, need);
    if (subport == NULL)
        return refuse(why, "who was removed has packets under way: try again");
    return refuse(
        why, "subport '%s' has no room: max_subscribers gives all subports more, in proportion",
        subport->name);
}

/* --- can they be added? --- */

/* Who may hold what subscribers of a list want. */
struct holders {
    const struct control *c;
    const uint8_t *changing; /* by id: he is one of the list, and holds nothing but by that; NULL:
                                nobody is */
};

static const struct cfg_subscriber *holding(const struct holders *h, uint32_t id)
{
    return id != 0 && (h->changing == NULL || !h->changing[id])
               ? &control_model(h->c)->subscribers[id - 1]
               : NULL;
}

/* Find who holds a circuit, key or address in the running config, for check_subscribers(). */
static const struct cfg_subscriber *holder(const void *ctx, enum subscriber_claim what,
                                           uint64_t first, uint64_t last)
{
    const struct holders *h = ctx;
    const struct subscriber_table *t = h->c->tables->subscribers;
    uint32_t id = 0;

    if (what == CLAIM_CIRCUIT)
        id = idmap_get(t->by_vlan, subscriber_vlan_key((uint8_t)(first >> 32),
                                                       (uint16_t)(first >> 16), (uint16_t)first));
    else if (what == CLAIM_GRE_KEY)
        id = idmap_get(t->by_gre_key, (uint32_t)first);
    for (uint64_t a = first; what == CLAIM_ADDRESS && id == 0 && a <= last; a++)
        id = idmap_get(t->by_ipv4, (uint32_t)a);
    return holding(h, id);
}

static bool is_within(uint64_t upper, uint8_t own, uint64_t prefix, uint8_t len)
{
    return own > len && ((upper ^ prefix) & mask64(len)) == 0;
}

/* Has he a part of a prefix, so that somebody else may have another? */
static bool has_part(const struct cpe_prefixes *p, struct ipv6 prefix, uint8_t len)
{
    bool part = len <= 64 && is_within(p->wan.upper, p->wan_len, prefix.upper, len);

    for (unsigned i = 0; i < p->n_delegated; i++)
        part |= len <= 64 && is_within(p->delegated[i], p->delegated_len[i], prefix.upper, len);
    return part;
}

static const struct cfg_subscriber *holder6(const void *ctx, struct ipv6 prefix, uint8_t len)
{
    const struct holders *h = ctx;
    const struct subscriber6_table *t = h->c->tables->subscribers->v6;
    uint32_t id = t != NULL ? subscriber6_holder(t, prefix, len) : 0;
    const struct cfg_subscriber *s = id != 0 ? &control_model(h->c)->subscribers[id - 1] : NULL;

    return s != NULL && has_part(&s->ipv6, prefix, len) ? s : holding(h, id);
}

struct new_subscribers {
    struct subscriber_check check; /* the first member: place_of() casts */
    const struct request *r;
};

static struct loc place_of(const struct subscriber_check *k, const struct cfg_subscriber *s)
{
    return entry_loc(((const struct new_subscribers *)k)->r, (size_t)(s - k->list));
}

/* Can the graph and the scheduler of the port serve a subscriber? */
static void check_port(struct control *c, struct loader *l, struct loc at,
                       const struct cfg_subscriber *s)
{
    const struct cfg_scheduler *shape = c->by_port[s->port];

    if ((c->e->plan->subscriber_ports >> s->port & 1) == 0)
        diag_error(l->d, at,
                   "port '%s': nothing leads there: a subscriber needs another graph, and a "
                   "restart",
                   c->model->ports[s->port].name);
    else if (shape != NULL && check_shaping(l, at, s, shape, subport_of(shape, s), 0) == 0)
        check_fit(c, l, at, shape, s->profile);
}

/* Check that each subscriber fits the port's configuration and that circuit, addresses and key are
 * free. */
static bool check_list(struct control *c, struct request *r, const struct cfg_subscriber *list,
                       uint32_t n, const uint8_t *changing)
{
    struct holders h = {c, changing};
    struct new_subscribers new = {.check = {.l = &r->l,
                                            .list = list,
                                            .n = n,
                                            .place = place_of,
                                            .holder = holder,
                                            .holder6 = holder6,
                                            .ctx = &h},
                                  .r = r};

    for (uint32_t i = 0; i < n && r->l.d->n_errors == 0; i++)
        check_port(c, &r->l, entry_loc(r, i), &list[i]);
    if (r->l.d->n_errors == 0)
        check_subscribers(&new.check);
    return r->l.d->n_errors == 0;
}

int check_new_subscribers(struct control *c, struct request *r, const struct cfg_subscriber *list,
                          uint32_t n, struct refusal *why)
{
    struct need need = {list, n};

    return check_list(c, r, list, n, NULL) ? check_room(c, &need, why) : -EINVAL;
}

int check_changed_subscribers(struct control *c, struct request *r,
                              const struct cfg_subscriber *list, const uint32_t *id, uint32_t n,
                              struct refusal *why)
{
    struct need need = {list, n};
    uint8_t *changing = calloc(c->tables->subscribers->capacity + UINT64_C(1), 1);
    bool ok;

    if (changing == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        changing[id[i]] = 1;
    ok = check_list(c, r, list, n, changing);
    free(changing);
    return ok ? check_prefixes(c, &need, id, why) : -EINVAL;
}
