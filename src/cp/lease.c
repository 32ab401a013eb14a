/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/lease.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/aaa/changes.h"
#include "cp/acct/acct.h"
#include "cp/dhcp6/lease6.h"
#include "cp/ipoe4.h"
#include "cp/pppoe/pppoe.h"
#include "cp/relay/relay4.h"
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

void lease_close_timers(struct cp *cp)
{
    struct timers *ts = &cp->loop.timers;

    for (uint32_t i = 0; i < ts->n; i++)
        if (ts->heap[i]->fire == declined_over)
            free(ts->heap[i]);
    ts->n = 0;
}

/* --- addresses that are kept for a client --- */

static void timed_out(struct timer *t, void *ctx)
{
    struct session *s = SESSION_OF(t);
    struct cp *cp = ctx;

    if (s->lease4 == LEASE_OFFERED || s->lease4 == LEASE_ASKED) {
        sessions_fail(&cp->sessions, s->lease4 == LEASE_ASKED ? FAIL_NO_SERVER : FAIL_OFFER);
        session_event(s,
                      s->lease4 == LEASE_ASKED ? "no server has made an offer" : "offer not taken");
        lease_withdraw(cp, s);
    } else {
        lease_give_back(cp, s, aaa_expiry(s), "lease expired");
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
    s->lease4 = LEASE_OFFERED;
    lease_settle(cp, s);
    set_timer(cp, s, cp->config->offer_ns);
}

bool lease_take(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t address)
{
    if (s->lease4 != LEASE_NONE || relay4_serves(cp, s) || !pool_take(pool_of(cp, s), address, s))
        return false;
    keep(cp, s, mac, address);
    return true;
}

void lease_ask(struct cp *cp, struct session *s, const uint8_t mac[6])
{
    if (s->lease4 != LEASE_NONE && s->lease4 != LEASE_ASKED)
        return;
    memcpy(s->mac, mac, sizeof(s->mac));
    s->lease4 = LEASE_ASKED;
    lease_settle(cp, s);
    set_timer(cp, s, cp->config->offer_ns);
}

/* A server keeps nothing for whom it has made an offer, and may make it to another line as well. */
static void withdraw_from_other(struct cp *cp, const struct session *s, uint32_t address)
{
    struct session *other = pool_owner(pool_of(cp, s), address);

    if (other == NULL || other == s || other->lease4 != LEASE_OFFERED)
        return;
    session_event(other, "the server offers its address to another line");
    lease_withdraw(cp, other);
}

bool lease_take_said(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t address)
{
    bool kept = s->lease4 == LEASE_OFFERED;

    if (lease_is_held(s->lease4) || s->lease4 == LEASE_ENDING)
        return false;
    withdraw_from_other(cp, s, address);
    if (!(kept && s->address == address) && !pool_take(pool_of(cp, s), address, s))
        return false;
    if (kept && s->address != address)
        pool_give(pool_of(cp, s), s->address, NULL);
    keep(cp, s, mac, address);
    return true;
}

bool lease_offer(struct cp *cp, struct session *s, const uint8_t mac[6], uint32_t wanted)
{
    uint32_t any;

    if (relay4_serves(cp, s)) /* only servers behind this gateway know what is free there */
        return false;
    if (s->lease4 == LEASE_OFFERED) { /* a line keeps one address, whoever asks on it */
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

/* Neither client nor user plane has the address any more. */
static void free_address(struct cp *cp, struct session *s)
{
    relay4_cancel(s);
    if (relay4_serves(cp, s))
        relay4_gone(cp, s);
    if (s->declined)
        rest(cp, s);
    else
        pool_give(pool_of(cp, s), s->address, NULL);
    s->declined = false;
    s->lease4 = LEASE_NONE;
}

void lease_withdraw(struct cp *cp, struct session *s)
{
    relay4_cancel(s);
    if (s->lease4 != LEASE_OFFERED && s->lease4 != LEASE_ASKED)
        return;
    timer_stop(&cp->loop.timers, &s->timer);
    if (s->lease4 == LEASE_OFFERED)
        free_address(cp, s);
    s->lease4 = LEASE_NONE;
    lease_settle(cp, s);
}

void lease_withdraw_all(struct cp *cp, struct session *s)
{
    lease_withdraw(cp, s);
    lease6_withdraw(cp, s);
}

static bool is_kept(uint8_t state)
{
    return state == LEASE_OFFERED || state == LEASE_ASKED;
}

void lease_settle(struct cp *cp, struct session *s)
{
    uint8_t v4 = s->lease4, v6 = s->v6 != NULL ? s->v6->state : LEASE_NONE;
    enum session_state state = v4 == LEASE_UP || v6 == LEASE_UP         ? SESSION_UP
                               : lease_is_held(v4) || lease_is_held(v6) ? SESSION_STARTING
                               : is_kept(v4) || is_kept(v6)             ? SESSION_OFFERED
                                                                        : SESSION_NONE;

    if (s->state != SESSION_ENDING && s->state != state)
        session_set_state(&cp->sessions, s, state);
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
    if (s->waiting == NULL)
        s->waiting = malloc(sizeof(*s->waiting));
    if (s->waiting == NULL)
        return; /* the client asks again */
    *s->waiting = *request;
    lease_extend(cp, s, aaa_lease(s, pool_config(cp, s)->lease_s));
}

void lease_extend(struct cp *cp, struct session *s, uint32_t lease)
{
    s->expires = wall_seconds() + lease;
    set_timer(cp, s, lease * NS_PER_S);
    if (s->lease4 != LEASE_OFFERED) {
        add_to_turn(cp, s);
        return;
    }
    s->lease4 = LEASE_STARTING;
    lease_settle(cp, s);
    lease_subscriber_changed(cp, s);
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
    relay4_forget(s);
}

/* What there is no longer of IPv4, before the user plane knows. */
static void begin_end(struct cp *cp, struct session *s)
{
    timer_stop(&cp->loop.timers, &s->timer);
    forget_request(s);
    if (lease_is_held(s->lease4))
        s->lease4 = LEASE_ENDING;
    else
        lease_withdraw(cp, s);
}

void lease_give_back(struct cp *cp, struct session *s, enum radius_cause cause, const char *why)
{
    char address[20];

    if (!session6_held(s)) {
        lease_end_for(cp, s, cause, why);
        return;
    }
    session_log(s, "%s ends: %s", format_ipv4(s->address, address, sizeof(address)), why);
    begin_end(cp, s);
    lease_subscriber_changed(cp, s);
}

void lease_end_for(struct cp *cp, struct session *s, enum radius_cause cause, const char *why)
{
    char addresses[SESSION_ADDRESSES];

    session_log(s, "ends, %s: %s", session_addresses(s, addresses), why);
    acct_stop(cp, s, cause);
    session_set_state(&cp->sessions, s, SESSION_ENDING);
    if (s->ppp != NULL)
        pppoe_ending(cp, s, why);
    begin_end(cp, s);
    lease6_end(cp, s);
    add_to_turn(cp, s);
}

void lease_gone(struct cp *cp, struct session *s)
{
    s->in_userplane = false;
    s->stale = false;
    if (s->state != SESSION_ENDING)
        return;
    acct_gone(cp, s);
    if (s->lease4 == LEASE_ENDING)
        free_address(cp, s);
    lease6_gone(cp, s);
    session_set_state(&cp->sessions, s, SESSION_NONE);
    if (s->ppp != NULL)
        pppoe_gone(cp, s);
}

bool lease_resume(struct cp *cp, struct session *s, const struct store_session *row)
{
    int64_t left = row->expires - wall_seconds();

    if (row->address == 0 || s->access->pool == CP_NO_POOL || s->lease4 != LEASE_NONE ||
        !pool_take(pool_of(cp, s), row->address, s))
        return false;
    keep(cp, s, row->mac, row->address);
    s->expires = row->expires;
    s->lease4 = LEASE_UP;
    lease_settle(cp, s);
    set_timer(cp, s, left > 0 ? (uint64_t)left * NS_PER_S : 0);
    return true;
}

/* --- the user plane --- */

static void acknowledge(struct cp *cp, struct session *s)
{
    if (s->waiting != NULL)
        ipoe4_acknowledge(cp, s, s->waiting);
    relay4_acknowledge(cp, s);
    forget_request(s);
}

void lease_in_userplane(struct cp *cp, struct session *s)
{
    char address[20];

    if (s->lease4 == LEASE_ENDING)
        free_address(cp, s);
    if (s->lease4 == LEASE_STARTING) {
        s->lease4 = LEASE_UP;
        session_log(s, "up, %s", format_ipv4(s->address, address, sizeof(address)));
    }
    acknowledge(cp, s);
    lease6_in_userplane(cp, s);
    lease_settle(cp, s);
    if (s->ppp != NULL)
        pppoe_in_userplane(cp, s);
    if (s->state == SESSION_UP)
        acct_start(cp, s);
}

void lease_refused(struct cp *cp, struct session *s, const char *why)
{
    bool is_new4 = s->lease4 == LEASE_STARTING,
         is_new6 = s->v6 != NULL && s->v6->state == LEASE_STARTING;

    sessions_fail(&cp->sessions, FAIL_USERPLANE);
    if (s->state == SESSION_UP && is_new4) /* what it has of the other family stays */
        lease_give_back(cp, s, RADIUS_CAUSE_NAS_ERROR, why);
    else if (s->state == SESSION_UP && is_new6)
        lease6_give_back(cp, s, true, true, RADIUS_CAUSE_NAS_ERROR, why);
    else if (s->state == SESSION_STARTING || s->state == SESSION_UP)
        lease_end_for(cp, s, RADIUS_CAUSE_NAS_ERROR, why);
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
                              .address = lease_is_held(s->lease4) ? s->address : 0,
                              .expires = s->expires};
    char *service = s->service != NULL ? service_text(s->service) : NULL, *v6 = lease6_text(s),
         *ppp = s->ppp != NULL ? pppoe_text(s) : NULL,
         *relay = relay4_serves(cp, s) ? relay4_text(s) : NULL;

    o.service = service;
    o.v6 = v6;
    o.ppp = ppp;
    o.relay = relay;
    memcpy(o.mac, s->mac, sizeof(o.mac));
    if (s->state == SESSION_ENDING)
        store_remove(cp->store, o.port, o.svlan, o.cvlan);
    else
        store_put(cp->store, &o);
    free(service);
    free(v6);
    free(ppp);
    free(relay);
}

/* Nobody is told what the store has not taken. An end is an end all the same: the line's row in the
 * store is replaced by its next session's, or is that of a lease which is over. */
static void not_committed(struct cp *cp, struct session *s)
{
    forget_request(s);
    lease6_forget_request(s);
    if (s->state == SESSION_ENDING) {
        lease_go_on(cp, s);
        return;
    }
    session_event(s, "the store has not taken it");
    sessions_fail(&cp->sessions, FAIL_STORE);
}

bool leases_end_turn(struct cp *cp)
{
    bool ok, to_send;

    for (uint32_t i = 0; i < cp->n_turn; i++)
        put_or_remove(cp, cp->turn[i]);
    acct_write(cp);
    ok = store_commit(cp->store);
    to_send = acct_send(cp, ok);
    changes_end_turn(cp, ok);
    for (uint32_t i = 0; i < cp->n_turn; i++) {
        cp->turn[i]->in_turn = false;
        (ok ? lease_go_on : not_committed)(cp, cp->turn[i]);
    }
    cp->n_turn = 0;
    userplane_flush(cp->userplane);
    return to_send;
}
