/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of subscribers who are there, while their packets pass: what one is to have no more is
 * taken away first, from all of a list; then, when no core uses it any more, each gets what is new.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/subscribers.h"
#include "control/rates.h"
#include "control/subscribers/add.h"
#include "control/subscribers/room.h"
#include "provision.h"
#include "telemetry/metrics.h"

static bool same_ipv4(const struct cfg_subscriber *a, const struct cfg_subscriber *b)
{
    return a->ipv4_len == b->ipv4_len && (a->ipv4_len == 0 || a->ipv4 == b->ipv4);
}

static bool is_single(const struct cfg_subscriber *s)
{
    return s->ipv4_len == 0 || s->ipv4_len == 32;
}

bool can_change(const struct cfg_subscriber *from, const struct cfg_subscriber *to)
{
    return from->has_gre_key == to->has_gre_key &&
           (!from->has_gre_key || from->gre_key == to->gre_key) && from->routed == to->routed &&
           same_pppoe(from, to) && (same_ipv4(from, to) || (is_single(from) && is_single(to)));
}

struct changing {
    struct control *c;
    struct cfg_subscriber *list; /* with their pipes */
    const uint32_t *id;
    uint32_t n;
};

static struct subscriber_spec spec_of(const struct changing *w, uint32_t i)
{
    const struct cfg_subscriber *s = &w->list[i];

    return subscriber_spec_of(w->c->model, s, w->c->tables->port_mac[s->port]);
}

static int prepare(const struct changing *w)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < w->n; i++) {
        struct subscriber_spec to = spec_of(w, i);

        rc = subscriber_prepare(w->c->tables->subscribers, w->id[i], &to);
    }
    return rc;
}

/* Have the names of a list be copies of its own, or free those. Returns 0 or -ENOMEM. */
static int copy_names(struct changing *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->list[i].name == NULL)
            continue;
        w->list[i].name = strdup(w->list[i].name);
        if (w->list[i].name != NULL)
            continue;
        while (i-- > 0)
            free((char *)(uintptr_t)w->list[i].name);
        return -ENOMEM;
    }
    return 0;
}

static int set_profiles(const struct changing *w, struct refusal *why)
{
    struct profile_change *p = calloc(w->n, sizeof(*p));
    uint32_t n = 0;
    int rc;

    if (p == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->list[i].profile != w->c->model->subscribers[w->id[i] - 1].profile)
            p[n++] = (struct profile_change){w->id[i], w->list[i].profile};
    rc = n > 0 ? change_profiles(w->c, p, n, why) : 0;
    free(p);
    return rc;
}

static int set_macs(const struct changing *w, struct refusal *why)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < w->n; i++) {
        const struct cfg_subscriber *from = &w->c->model->subscribers[w->id[i] - 1],
                                    *to = &w->list[i];

        if (from->has_mac != to->has_mac || (to->has_mac && memcmp(from->mac, to->mac, 6) != 0))
            rc = change_mac(w->c, w->id[i], to->has_mac ? to->mac : NULL, why);
    }
    return rc;
}

static void set_addresses(const struct changing *w)
{
    struct subscriber_table *t = w->c->tables->subscribers;
    bool taken = false;

    for (uint32_t i = 0; i < w->n; i++) {
        struct subscriber_spec to = spec_of(w, i);

        taken |= subscriber_withdraw(t, w->id[i], &to);
    }
    if (taken)
        ids_wait_grace(w->c);
    for (uint32_t i = 0; i < w->n; i++) {
        struct subscriber_spec to = spec_of(w, i);

        subscriber_extend(t, w->id[i], &to);
    }
}

/* The running config takes over the names. */
static void enter(const struct changing *w)
{
    metrics_hold();
    for (uint32_t i = 0; i < w->n; i++) {
        struct cfg_subscriber *s = &w->c->model->subscribers[w->id[i] - 1];

        free((char *)(uintptr_t)s->name);
        *s = w->list[i];
    }
    metrics_release();
}

int change_subscribers(struct control *c, struct request *r, struct cfg_subscriber *list,
                       uint32_t n, const uint32_t *id, struct refusal *why)
{
    struct changing w = {c, list, id, n};
    int rc = check_changed_subscribers(c, r, list, id, n, why);

    for (uint32_t i = 0; i < n; i++)
        list[i].pipe = c->model->subscribers[id[i] - 1].pipe;
    if (rc == 0)
        rc = prepare(&w);
    if (rc == 0)
        rc = set_profiles(&w, why);
    if (rc == 0)
        rc = set_macs(&w, why);
    if (rc == 0)
        rc = copy_names(&w);
    if (rc != 0)
        return rc;
    set_addresses(&w);
    enter(&w);
    return 0;
}
