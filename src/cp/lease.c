/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/lease.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/ipoe4.h"
#include "cp/store.h"
#include "cp/userplane/userplane.h"

#define SESSION_OF(t) ((struct session *)((char *)(t)-offsetof(struct session, timer)))

/* --- addresses that somebody else uses --- */

struct declined {
    struct timer timer; /* the first member */
    struct pool *pool;
    uint32_t address;
};

static void declined_over(struct timer *t, void *ctx)
{
    struct declined *d = (struct declined *)t;

    (void)ctx;
    pool_give(d->pool, d->address, NULL);
    free(d);
}

/* Leave an address alone for a time. */
static void rest(struct cp *cp, struct session *s)
{
    struct declined *d = calloc(1, sizeof(*d));

    pool_give(pool_of(cp, s), s->address, POOL_KEPT);
    if (d == NULL)
        return; /* for good */
    *d = (struct declined){
        .timer.fire = declined_over, .pool = pool_of(cp, s), .address = s->address};
    timer_set(&cp->loop.timers, &d->timer, now_ns() + pool_config(cp, s)->declined_ns);
}

/* --- addresses that are kept for a client --- */

static void timed_out(struct timer *t, void *ctx)
{
    struct session *s = SESSION_OF(t);
    struct cp *cp = ctx;

    if (s->state == SESSION_OFFERED) {
        session_event(s, "offer not taken");
        lease_withdraw(cp, s);
    } else {
        lease_end(cp, s, "lease expired");
    }
}

static void set_timer(struct cp *cp, struct session *s, uint64_t ns)
{
    s->timer.fire = timed_out;
    timer_set(&cp->loop.timers, &s->timer, now_ns() + ns);
}

static void keep(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t address)
{
    memcpy(s->mac, mac, sizeof(s->mac));
    s->address = address;
    session_set_state(&cp->sessions, s, SESSION_OFFERED);
    set_timer(cp, s, cp->config->offer_ns);
}

bool lease_take(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t address)
{
    if (s->state != SESSION_NONE || !pool_take(pool_of(cp, s), address, s))
        return false;
    keep(cp, s, mac, address);
    return true;
}

bool lease_offer(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t wanted)
{
    uint32_t any;

    if (s->state == SESSION_OFFERED) { /* a line keeps one address, whoever asks on it */
        keep(cp, s, mac, s->address);
        return true;
    }
    if (s->service != NULL && s->service->ipv4 != 0)
        return lease_take(cp, s, mac, s->service->ipv4);
    if (lease_take(cp, s, mac, s->address) || lease_take(cp, s, mac, wanted))
        return true;
    any = pool_take_any(pool_of(cp, s), s);
    if (any != 0)
        keep(cp, s, mac, any);
    return any != 0;
}

void lease_withdraw(struct cp *cp, struct session *s)
{
    timer_stop(&cp->loop.timers, &s->timer);
    pool_give(pool_of(cp, s), s->address, NULL);
    session_set_state(&cp->sessions, s, SESSION_NONE);
}

/* --- leases --- */

static void add_to_turn(struct cp *cp, struct session *s)
{
    if (s->in_turn)
        return;
    if (cp->n_turn == cp->room_turn) {
        cp->room_turn = cp->room_turn > 0 ? cp->room_turn * 2 : 256;
        cp->turn = reallocarray(cp->turn, cp->room_turn, sizeof(struct session *));
        if (cp->turn == NULL)
            abort();
    }
    s->in_turn = true;
    cp->turn[cp->n_turn++] = s;
}

void lease_grant(struct cp *cp, struct session *s, const struct dhcp4 *request)
{
    uint32_t lease = aaa_lease(s, pool_config(cp, s)->lease_s);

    if (s->waiting == NULL)
        s->waiting = malloc(sizeof(*s->waiting));
    if (s->waiting == NULL)
        return; /* the client asks again */
    *s->waiting = *request;
    s->expires = wall_seconds() + lease;
    set_timer(cp, s, lease * NS_PER_S);
    if (s->state == SESSION_OFFERED)
        session_set_state(&cp->sessions, s, SESSION_STARTING);
    add_to_turn(cp, s);
}

void lease_changed(struct cp *cp, struct session *s)
{
    add_to_turn(cp, s);
}

void lease_subscriber_changed(struct cp *cp, struct session *s)
{
    s->stale = true;
    add_to_turn(cp, s);
}

static void forget_request(struct session *s)
{
    free(s->waiting);
    s->waiting = NULL;
}

void lease_end(struct cp *cp, struct session *s, const char *why)
{
    char address[20];

    session_log(s, "ends, %s: %s", format_ipv4(s->address, address, sizeof(address)), why);
    timer_stop(&cp->loop.timers, &s->timer);
    forget_request(s);
    session_set_state(&cp->sessions, s, SESSION_ENDING);
    add_to_turn(cp, s);
}

void lease_gone(struct cp *cp, struct session *s)
{
    s->in_userplane = false;
    s->stale = false;
    if (s->state != SESSION_ENDING)
        return;
    if (s->declined)
        rest(cp, s);
    else
        pool_give(pool_of(cp, s), s->address, NULL);
    s->declined = false;
    session_set_state(&cp->sessions, s, SESSION_NONE);
}

/* --- the user plane --- */

static void acknowledge(struct cp *cp, struct session *s)
{
    if (s->waiting == NULL)
        return;
    ipoe4_acknowledge(cp, s, s->waiting);
    forget_request(s);
}

void lease_in_userplane(struct cp *cp, struct session *s)
{
    char address[20];

    if (s->state == SESSION_STARTING) {
        session_set_state(&cp->sessions, s, SESSION_UP);
        session_log(s, "up, %s", format_ipv4(s->address, address, sizeof(address)));
    }
    if (s->state == SESSION_UP)
        acknowledge(cp, s);
}

void lease_refused(struct cp *cp, struct session *s, const char *why)
{
    if (s->state == SESSION_STARTING || s->state == SESSION_UP)
        lease_end(cp, s, why);
    else
        lease_go_on(cp, s);
}

void lease_go_on(struct cp *cp, struct session *s)
{
    bool is_to_be = s->state == SESSION_STARTING || s->state == SESSION_UP;

    if (s->in_turn || s->asked)
        return;
    if (is_to_be && (s->stale || !s->in_userplane))
        userplane_put(cp->userplane, s);
    else if (is_to_be)
        lease_in_userplane(cp, s);
    else if (s->state == SESSION_ENDING && s->in_userplane)
        userplane_remove(cp->userplane, s);
    else if (s->state == SESSION_ENDING)
        lease_gone(cp, s);
}

/* --- the end of a turn --- */

static void put_or_remove(struct cp *cp, struct session *s)
{
    struct store_session o = {.port = s->access->port,
                              .svlan = s->svlan,
                              .cvlan = s->cvlan,
                              .address = s->address,
                              .expires = s->expires};
    char *service = s->service != NULL ? service_text(s->service) : NULL;

    o.service = service;
    memcpy(o.mac, s->mac, sizeof(o.mac));
    if (s->state == SESSION_ENDING)
        store_remove(cp->store, o.port, o.svlan, o.cvlan);
    else
        store_put(cp->store, &o);
    free(service);
}

/* Nobody is told what the store has not taken. An end is an end all the same: the line's row in the
 * store is replaced by its next session's, or is that of a lease which is over. */
static void not_committed(struct cp *cp, struct session *s)
{
    forget_request(s);
    if (s->state == SESSION_ENDING)
        lease_go_on(cp, s);
    else
        session_event(s, "the store has not taken it");
}

void leases_end_turn(struct cp *cp)
{
    bool ok;

    for (uint32_t i = 0; i < cp->n_turn; i++)
        put_or_remove(cp, cp->turn[i]);
    ok = store_commit(cp->store);
    for (uint32_t i = 0; i < cp->n_turn; i++) {
        cp->turn[i]->in_turn = false;
        (ok ? lease_go_on : not_committed)(cp, cp->turn[i]);
    }
    cp->n_turn = 0;
    userplane_flush(cp->userplane);
}

/* --- the start --- */

struct row {
    char port[64];
    uint16_t svlan, cvlan;
};

struct loading {
    struct cp *cp;
    uint32_t taken;
    struct row *left; /* rows that no line or pool of the configuration is for */
    uint32_t n_left;
};

static bool take_row(struct cp *cp, const struct store_session *row)
{
    const struct cp_access *a = cp_config_access(cp->config, row->port, row->svlan, row->cvlan);
    struct session *s = a != NULL ? session_get(&cp->sessions, a, row->svlan, row->cvlan) : NULL;
    int64_t left = row->expires - wall_seconds();

    if (s == NULL || !lease_take(cp, s, row->mac, row->address))
        return false;
    s->expires = row->expires;
    if (row->service != NULL)
        s->service = service_parse(row->service);
    session_set_state(&cp->sessions, s, SESSION_UP);
    set_timer(cp, s, left > 0 ? (uint64_t)left * NS_PER_S : 0);
    session_event(s, "taken from the store");
    return true;
}

static void load_row(const struct store_session *row, void *ctx)
{
    struct loading *l = ctx;
    struct row left = {.svlan = row->svlan, .cvlan = row->cvlan};

    if (take_row(l->cp, row)) {
        l->taken++;
        return;
    }
    strncpy(left.port, row->port, sizeof(left.port) - 1);
    l->left = reallocarray(l->left, l->n_left + 1, sizeof(*l->left));
    if (l->left == NULL)
        abort();
    l->left[l->n_left++] = left;
}

static int open_pools(struct cp *cp)
{
    const struct cp_config *c = cp->config;

    cp->pools = calloc(c->n_pools > 0 ? c->n_pools : 1, sizeof(*cp->pools));
    for (unsigned i = 0; cp->pools != NULL && i < c->n_pools; i++) {
        const struct cp_pool *p = &c->pools[i];

        if (pool_open(&cp->pools[i], p->first, p->last) != 0)
            return -ENOMEM;
        pool_take(&cp->pools[i], p->gateway, POOL_KEPT);
    }
    return cp->pools != NULL ? 0 : -ENOMEM;
}

int leases_open(struct cp *cp)
{
    struct loading l = {.cp = cp};
    bool ok;

    if (open_pools(cp) != 0 || sessions_open(&cp->sessions, cp->config->max_lines) != 0) {
        log_error("no memory for the pools and lines");
        return -ENOMEM;
    }
    ok = store_each(cp->store, load_row, &l);
    for (uint32_t i = 0; i < l.n_left; i++)
        store_remove(cp->store, l.left[i].port, l.left[i].svlan, l.left[i].cvlan);
    ok = store_commit(cp->store) && ok;
    free(l.left);
    if (l.n_left > 0)
        log_warning("%u sessions of the store end: their lines or addresses are not configured",
                    l.n_left);
    log_info("%u sessions taken from the store", l.taken);
    return ok ? 0 : -EIO;
}

void leases_close(struct cp *cp)
{
    struct timers *ts = &cp->loop.timers;

    for (uint32_t i = 0; i < ts->n; i++)
        if (ts->heap[i]->fire == declined_over)
            free(ts->heap[i]);
    ts->n = 0;
    for (unsigned i = 0; cp->pools != NULL && i < cp->config->n_pools; i++)
        pool_close(&cp->pools[i]);
    free(cp->pools);
    sessions_close(&cp->sessions);
    free(cp->turn);
}
