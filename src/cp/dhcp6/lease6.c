/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/dhcp6/lease6.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "cp/aaa/aaa.h"
#include "cp/dhcp6/pool6.h"
#include "cp/dhcp6/server.h"
#include "cp/lease.h"
#include "cp/packet/bytes.h"
#include "cp/packet/hex.h"
#include "cp/relay/relay6.h"
#include "cp/store.h"

#define DUID_KEY      "DUID"
#define DUID_UUID     4  /* RFC 6355 section 4 */
#define DUID_UUID_LEN 18 /* bytes of one */
#define INTERFACE_ID  1  /* of the first address of a /64 that is given by IA_NA */

/* --- blocks --- */

/* Keep the block that RADIUS says (len 0: none), else the one of before, else that which the client
 * asks for (0: none), else any. Returns whether there is one. */
static bool take_block(struct pool6 *p, struct session *s, bool said, uint64_t this_one,
                       uint64_t before, uint64_t wanted, uint64_t *block)
{
    if (said) {
        *block = this_one & mask64(p->len);
        return pool6_take(p, *block, s);
    }
    *block = before;
    if (pool6_take(p, before, s))
        return true;
    *block = wanted & mask64(p->len);
    return pool6_take(p, *block, s) || pool6_take_any(p, s, block);
}

/* What a client asks for in an identity association of a kind: the first one that it names; 0:
 * none. */
static struct ipv6 wish_of(const struct dhcp6 *m, uint8_t kind)
{
    for (unsigned i = 0; i < m->n_lease; i++)
        if (m->ia[m->lease[i].ia].kind == kind)
            return m->lease[i].address;
    return (struct ipv6){0, 0};
}

static void take_wan(struct cp *cp, struct session *s, const struct dhcp6 *m)
{
    struct session6 *v = s->v6;
    const struct line_prefixes *said = s->service != NULL ? &s->service->ipv6 : NULL;
    struct ipv6 wish = wish_of(m, DHCP6_IA_NA);
    uint64_t block;

    if (v->has_wan)
        return;
    v->has_wan = take_block(&pools6_of(cp, s)->wan, s, said != NULL && said->wan_len != 0,
                            said != NULL ? said->wan.upper : 0, v->wan.upper, wish.upper, &block);
    if (!v->has_wan)
        return;
    v->wan_len = SESSION6_WAN_LEN;
    if (said != NULL && said->wan_len == 128)
        v->wan = said->wan;
    else if (wish.upper == block && wish.lower != 0)
        v->wan = wish;
    else if (v->wan.upper != block)
        v->wan = (struct ipv6){block, INTERFACE_ID};
}

static void take_delegated(struct cp *cp, struct session *s, const struct dhcp6 *m)
{
    struct session6 *v = s->v6;
    const struct line_prefixes *said = s->service != NULL ? &s->service->ipv6 : NULL;

    if (v->has_delegated)
        return;
    v->has_delegated =
        take_block(&pools6_of(cp, s)->delegated, s, said != NULL && said->delegated_len != 0,
                   said != NULL ? said->delegated : 0, v->delegated, wish_of(m, DHCP6_IA_PD).upper,
                   &v->delegated);
    v->delegated_len = pool6_config(cp, s)->delegated.each_len;
}

static void give_wan(struct cp *cp, struct session *s)
{
    struct session6 *v = s->v6;

    if (v->has_wan && v->wan_len == SESSION6_WAN_LEN)
        pool6_give(&pools6_of(cp, s)->wan, v->wan.upper);
    else if (v->has_wan)
        names_remove(&cp->sessions.names, &v->host);
    v->has_wan = v->wan_ends = false;
}

static void give_delegated(struct cp *cp, struct session *s)
{
    struct session6 *v = s->v6;

    if (v->has_delegated)
        pool6_give(&pools6_of(cp, s)->delegated, v->delegated);
    v->has_delegated = v->delegated_ends = false;
}

/* Free what the user plane has no more; the server of a lease is told it by one message. */
static void give(struct cp *cp, struct session *s, bool wan, bool delegated)
{
    if (wan)
        give_wan(cp, s);
    if (delegated)
        give_delegated(cp, s);
    relay6_gone(cp, s, wan, delegated);
}

static void give_all(struct cp *cp, struct session *s)
{
    struct session6 *v = s->v6;

    give(cp, s, true, true);
    v->na.held = v->pd.held = false;
    v->state = LEASE_NONE;
}

/* --- leases --- */

void lease6_forget_request(struct session *s)
{
    relay6_forget(s);
    if (s->v6 == NULL)
        return;
    free(s->v6->waiting);
    s->v6->waiting = NULL;
}

static void timed_out(struct timer *t, void *ctx)
{
    struct session6 *v = (struct session6 *)t;
    struct session *s = v->host.session;
    struct cp *cp = ctx;

    if (v->state == LEASE_OFFERED || v->state == LEASE_ASKED) {
        session_event(s, v->state == LEASE_ASKED ? "no server has given IPv6"
                                                 : "offer of IPv6 not taken");
        sessions_fail(&cp->sessions, v->state == LEASE_ASKED ? FAIL_NO_SERVER : FAIL_OFFER);
        lease6_withdraw(cp, s);
    } else {
        lease6_give_back(cp, s, true, true, aaa_expiry(s), "lease expired");
    }
}

static void set_timer(struct cp *cp, struct session6 *v, uint64_t ns)
{
    v->timer.fire = timed_out;
    timer_set(&cp->loop.timers, &v->timer, now_ns() + ns);
}

static struct session6 *make(struct session *s)
{
    if (s->v6 == NULL)
        s->v6 = calloc(1, sizeof(*s->v6));
    if (s->v6 != NULL)
        s->v6->host.session = s;
    return s->v6;
}

static bool has_kind(const struct dhcp6 *m, uint8_t kind)
{
    for (unsigned i = 0; i < m->n_ia; i++)
        if (m->ia[i].kind == kind)
            return true;
    return false;
}

bool lease6_offer(struct cp *cp, struct session *s, const struct request6 *r)
{
    bool na = has_kind(&r->m, DHCP6_IA_NA), pd = has_kind(&r->m, DHCP6_IA_PD);
    struct session6 *v = make(s);

    if (v == NULL)
        return false;
    if (na || pd)
        take_wan(cp, s,
                 &r->m); /* of a client that asks for a prefix alone, too: his link needs it */
    if (pd)
        take_delegated(cp, s, &r->m);
    memcpy(s->mac, r->mac, sizeof(s->mac));
    if (!lease_is_held(v->state) && (v->has_wan || v->has_delegated)) {
        v->state = LEASE_OFFERED;
        set_timer(cp, v, cp->config->offer_ns);
    }
    lease_settle(cp, s);
    return true;
}

void lease6_withdraw(struct cp *cp, struct session *s)
{
    relay6_cancel(s);
    if (s->v6 == NULL || (s->v6->state != LEASE_OFFERED && s->v6->state != LEASE_ASKED))
        return;
    timer_stop(&cp->loop.timers, &s->v6->timer);
    give_all(cp, s);
    lease_settle(cp, s);
}

void lease6_grant(struct cp *cp, struct session *s, const struct request6 *r,
                  const struct dhcp6_ia *na, const struct dhcp6_ia *pd)
{
    struct session6 *v = s->v6;

    if (v->waiting == NULL)
        v->waiting = malloc(sizeof(*v->waiting));
    if (v->waiting == NULL)
        return; /* the client asks again */
    *v->waiting = *r;
    lease6_hold(cp, s, &r->m.client, na, pd, aaa_lease(s, pool6_config(cp, s)->lease_s));
}

void lease6_hold(struct cp *cp, struct session *s, const struct dhcp6_duid *client,
                 const struct dhcp6_ia *na, const struct dhcp6_ia *pd, uint32_t lease)
{
    struct session6 *v = s->v6;
    bool more = !lease_is_held(v->state) || (pd != NULL && !v->pd.held) ||
                (na != NULL && !v->na.held && v->wan_len == 128);

    session6_set_client(v, client);
    if (na != NULL) {
        v->na = (struct ia6){true, na->iaid};
        v->wan_ends = false;
    }
    if (pd != NULL) {
        v->pd = (struct ia6){true, pd->iaid};
        v->delegated_ends = false;
    }
    v->expires = wall_seconds() + lease;
    set_timer(cp, v, lease * NS_PER_S);
    if (!lease_is_held(v->state))
        v->state = LEASE_STARTING;
    lease_settle(cp, s);
    if (more)
        lease_subscriber_changed(cp, s);
    else
        lease_changed(cp, s);
}

void lease6_ask(struct cp *cp, struct session *s, const uint8_t mac[6])
{
    struct session6 *v = make(s);

    if (v == NULL || (v->state != LEASE_NONE && v->state != LEASE_ASKED))
        return;
    memcpy(s->mac, mac, sizeof(s->mac));
    v->state = LEASE_ASKED;
    set_timer(cp, v, cp->config->offer_ns);
    lease_settle(cp, s);
}

struct session *lease6_host(const struct cp *cp, struct ipv6 address)
{
    const struct name *n = names_find(&cp->sessions.names, NAME_HOST, &address, sizeof(address));

    while (n != NULL && !same6(n->session->v6->wan, address))
        n = names_next(n);
    return n != NULL ? n->session : NULL;
}

static bool host_is_free(const struct cp *cp, const struct session6 *v, struct ipv6 address)
{
    return v->has_wan ? same6(v->wan, address) : lease6_host(cp, address) == NULL;
}

static bool delegated_is_free(const struct pool6 *p, const struct session6 *v, uint64_t block)
{
    return v->has_delegated ? v->delegated == block
                            : pool6_has(p, block) && pool6_owner(p, block) == NULL;
}

/* Keep an address that a server behind this gateway gives, and which is free. */
static void take_host(struct cp *cp, struct session *s, struct ipv6 address)
{
    struct session6 *v = s->v6;

    if (v->has_wan)
        return;
    v->has_wan = true;
    v->wan = address;
    v->wan_len = 128;
    names_add(&cp->sessions.names, &v->host, s, NAME_HOST, &v->wan, sizeof(v->wan));
}

bool lease6_take_said(struct cp *cp, struct session *s, const uint8_t mac[6],
                      const struct ipv6 *address, const uint64_t *delegated)
{
    struct session6 *v = make(s);

    if (v == NULL || v->state == LEASE_ENDING ||
        (address != NULL && !host_is_free(cp, v, *address)) ||
        (delegated != NULL && !delegated_is_free(&pools6_of(cp, s)->delegated, v, *delegated)))
        return false;
    if (address != NULL)
        take_host(cp, s, *address);
    if (delegated != NULL && !v->has_delegated) {
        v->has_delegated = pool6_take(&pools6_of(cp, s)->delegated, *delegated, s);
        v->delegated = *delegated;
        v->delegated_len = pool6_config(cp, s)->delegated.each_len;
    }
    memcpy(s->mac, mac, sizeof(s->mac));
    if (!lease_is_held(v->state))
        v->state = LEASE_OFFERED;
    return true;
}

char *lease6_text(const struct session *s)
{
    static const struct session6_giver none;

    return session6_held(s) ? session6_text(s->v6, s->relay6 != NULL ? &s->relay6->giver : &none)
                            : NULL;
}

void lease6_give_back(struct cp *cp, struct session *s, bool na, bool pd, enum radius_cause cause,
                      const char *why)
{
    struct session6 *v = s->v6;
    char text[SESSION6_TEXT];

    na &= v->na.held;
    pd &= v->pd.held;
    if (na == v->na.held && pd == v->pd.held) {
        if (!lease_is_held(s->lease4)) {
            lease_end_for(cp, s, cause, why);
            return;
        }
        session_log(s, "%s ends: %s", session6_blocks(v, text), why);
        timer_stop(&cp->loop.timers, &v->timer);
        lease6_forget_request(s);
        v->state = LEASE_ENDING;
        lease_subscriber_changed(cp, s);
    } else if (na) {
        session_event(s, "the address of IA_NA ends: %s", why);
        v->na.held = false;
        v->wan_ends = v->wan_len != SESSION6_WAN_LEN; /* else it is one of the link, which stays */
        lease_subscriber_changed(cp, s);
    } else if (pd) {
        session_event(s, "the delegated prefix ends: %s", why);
        v->pd.held = false;
        v->delegated_ends = true;
        lease_subscriber_changed(cp, s);
    }
}

void lease6_decline(struct session *s)
{
    if (s->service == NULL || s->service->ipv6.wan_len != 128)
        s->v6->wan.lower++;
}

/* --- with the session --- */

void lease6_end(struct cp *cp, struct session *s)
{
    struct session6 *v = s->v6;

    if (v == NULL)
        return;
    timer_stop(&cp->loop.timers, &v->timer);
    lease6_forget_request(s);
    relay6_cancel(s);
    if (lease_is_held(v->state))
        v->state = LEASE_ENDING;
    else if (v->state == LEASE_OFFERED || v->state == LEASE_ASKED)
        give_all(cp, s);
}

void lease6_in_userplane(struct cp *cp, struct session *s)
{
    struct session6 *v = s->v6;
    char text[SESSION6_TEXT];

    if (v == NULL)
        return;
    if (v->state == LEASE_ENDING)
        give_all(cp, s);
    else
        give(cp, s, v->wan_ends, v->delegated_ends);
    if (v->state == LEASE_STARTING) {
        v->state = LEASE_UP;
        session_log(s, "up, %s", session6_blocks(v, text));
    }
    relay6_acknowledge(cp, s);
    if (v->waiting == NULL)
        return;
    dhcp6_answer(cp, s, v->waiting);
    lease6_forget_request(s);
}

void lease6_gone(struct cp *cp, struct session *s)
{
    if (s->v6 != NULL && s->v6->state == LEASE_ENDING)
        give_all(cp, s);
}

/* --- the start --- */

/* The block or address of a link is the pool's, or that of a server behind, as the line's is now.
 */
static bool take_link(struct cp *cp, struct session *s)
{
    const struct cp_blocks *wan = &pool6_config(cp, s)->wan;
    struct session6 *v = s->v6;

    if (!v->has_wan || relay6_serves(cp, s) != (v->wan_len == 128))
        return false;
    if (v->wan_len != 128)
        return pool6_take(&pools6_of(cp, s)->wan, v->wan.upper, s);
    v->has_wan = false;
    if (wan->len == 0 || ((v->wan.upper ^ wan->prefix) & mask64(wan->len)) != 0 ||
        !host_is_free(cp, v, v->wan))
        return false;
    take_host(cp, s, v->wan);
    return true;
}

bool lease6_load(struct cp *cp, struct session *s, const uint8_t mac[6], const char *text)
{
    struct session6 *v = make(s), read = {.host.session = s};
    struct session6_giver giver = {.expires = 0};
    int64_t left;

    if (v == NULL || s->access->pool6 == CP_NO_POOL || !session6_parse(text, &read, &giver))
        return false;
    free(v->duid);
    *v = read;
    v->has_wan = take_link(cp, s);
    v->has_delegated = v->has_delegated && v->delegated_len == pools6_of(cp, s)->delegated.len &&
                       pool6_take(&pools6_of(cp, s)->delegated, v->delegated, s);
    v->na.held &= v->has_wan;
    v->pd.held &= v->has_delegated;
    if (!v->na.held && !v->pd.held) {
        give_all(cp, s);
        return false;
    }
    if (giver.duid.n > 0 && relay6_serves(cp, s))
        relay6_resume(s, &giver);
    memcpy(s->mac, mac, sizeof(s->mac));
    v->state = LEASE_UP;
    left = v->expires - wall_seconds();
    set_timer(cp, v, left > 0 ? (uint64_t)left * NS_PER_S : 0);
    lease_settle(cp, s);
    return true;
}

/* The name of this server: RFC 6355, so that neither a new port nor a copy of the file changes who
 * it is. */
static bool open_duid(struct cp *cp)
{
    char text[2 * DHCP6_MAX_DUID + 1] = "";
    struct dhcp6_duid *d = &cp->duid;

    d->n = DUID_UUID_LEN;
    if (!store_value(cp->store, DUID_KEY, text, sizeof(text)))
        return false;
    if (strlen(text) == 2 * DUID_UUID_LEN && read_hex(text, d->at, d->n))
        return true;
    put16(d->at, DUID_UUID);
    if (getrandom(d->at + 2, DUID_UUID_LEN - 2, 0) != DUID_UUID_LEN - 2)
        return false;
    return store_set_value(cp->store, DUID_KEY, write_hex(text, d->at, d->n)) &&
           store_commit(cp->store);
}

int leases6_open(struct cp *cp)
{
    const struct pools6_config *c = &cp->config->pools6;

    cp->pools6 = calloc(c->n > 0 ? c->n : 1, sizeof(*cp->pools6));
    if (cp->pools6 == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < c->n; i++)
        if (pool6_open(&cp->pools6[i].wan, &c->pool[i].wan) != 0 ||
            pool6_open(&cp->pools6[i].delegated, &c->pool[i].delegated) != 0)
            return -ENOMEM;
    if (c->n == 0 || open_duid(cp))
        return 0;
    log_error("the store keeps no DUID of this server");
    return -EIO;
}

void leases6_close(struct cp *cp)
{
    for (unsigned i = 0; cp->pools6 != NULL && i < cp->config->pools6.n; i++) {
        pool6_close(&cp->pools6[i].wan);
        pool6_close(&cp->pools6[i].delegated);
    }
    free(cp->pools6);
}
