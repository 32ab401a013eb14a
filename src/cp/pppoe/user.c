/* SPDX-License-Identifier: BSD-3-Clause */
/* Authentication of a PPPoE user, and the service that follows from it. */
#include <stdio.h>
#include <string.h>

#include "cp/aaa/aaa.h"
#include "cp/lease.h"
#include "cp/packet/udp6.h"
#include "cp/pppoe/config.h"
#include "cp/pppoe/session.h"
#include "cp/punt.h"

#define LEAST_MTU6 1280 /* bytes: RFC 8200 section 5 */

/* --- addresses --- */

/* That which RADIUS says; else that which the line had last, if it is free; else any. */
static bool take_address(struct pppoe_session *p)
{
    struct session *s = p->line;
    struct pool *pool = pool_of(p->cp, s);
    uint32_t only = s->service != NULL ? s->service->ipv4 : 0, any = 0;

    if (pool_take(pool, only != 0 ? only : s->address, s))
        any = only != 0 ? only : s->address;
    else if (only == 0)
        any = pool_take_any(pool, s);
    if (any != 0) {
        s->address = any;
        s->lease4 = LEASE_OFFERED;
    }
    return any != 0;
}

void pppoe_give_address(struct pppoe_session *p)
{
    if (p->line->lease4 == LEASE_OFFERED) {
        pool_give(pool_of(p->cp, p->line), p->line->address, NULL);
        p->line->lease4 = LEASE_NONE;
    }
}

void pppoe_start_lease(struct pppoe_session *p)
{
    p->line->lease4 = LEASE_STARTING;
    lease_settle(p->cp, p->line);
    lease_subscriber_changed(p->cp, p->line);
}

static bool is_text(struct ppp_bytes name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.at[i] < ' ' || name.at[i] > '~')
            return false;
    return name.n > 0 && name.n < PPPOE_USER;
}

static const char *method_name(const struct pppoe_session *p)
{
    return p->link.settings->methods[p->link.method] == PPP_CHAP ? "CHAP" : "PAP";
}

struct ppp_grant pppoe_grant(const struct pppoe_session *p)
{
    const struct cp_pool *pool = pool_config(p->cp, p->line);
    struct ppp_grant g = {.address = p->line->address, .own = pool->gateway};

    for (unsigned i = 0; i < PPP_MAX_DNS && i < pool->n_dns; i++)
        g.dns[i] = pool->dns[i];
    return g;
}

/* IPV6CP opens for whom DHCPv6 has something; this side is there by the port's link-local address,
 * also of a user plane that is away now, when RADIUS answers. */
static void grant_ipv6(const struct pppoe_session *p, struct ppp_grant *g)
{
    const uint8_t *mac = punt_mac(p->cp->punt, p->line->access->port);

    if (mac == NULL || p->line->access->pool6 == CP_NO_POOL || ppp_mtu(&p->link) < LEAST_MTU6)
        return;
    g->ipv6 = true;
    g->iid = link_local_of(mac).lower;
}

static void refuse(struct pppoe_session *p, const char *message)
{
    p->turned_away = true;
    ppp_judged(&p->link, NULL, message, now_ns());
}

static void let_in(struct pppoe_session *p, const char *message)
{
    struct ppp_grant g;

    if (!take_address(p)) {
        sessions_fail(&p->cp->sessions, FAIL_POOL);
        session_log(p->line, "refused: pool %s has no free address, or not that which RADIUS says",
                    pool_config(p->cp, p->line)->name);
        refuse(p, "no address");
        return;
    }
    g = pppoe_grant(p);
    grant_ipv6(p, &g);
    session_event(p->line, "%s: %s is let in", method_name(p), pppoe_text_of(p->user));
    ppp_judged(&p->link, &g, message, now_ns());
}

static void turn_away(struct pppoe_session *p, const char *why, const char *message)
{
    session_log(p->line, "%s: %s: %s%s%s", method_name(p), pppoe_text_of(p->user), why,
                message[0] != '\0' ? ": " : "", message);
    refuse(p, message);
}

void pppoe_judged(struct session *s, const char *why, struct radius_octets message)
{
    struct pppoe_session *p = s->ppp;
    char said[128], refusal[96];

    p->question = NULL;
    snprintf(said, sizeof(said), "%.*s", (int)message.n, (const char *)message.p);
    snprintf(refusal, sizeof(refusal), "RADIUS: %s", why != NULL ? why : "");
    if (why == NULL)
        let_in(p, said);
    else
        turn_away(p, refusal, said);
    pppoe_settle(p);
}

/* What follows is done by pppoe_settle() behind the call of the link that has led here. */
void pppoe_judge_user(void *ctx, const struct ppp_proof *proof)
{
    struct pppoe_session *p = ctx;
    char name[PPPOE_USER];

    if (!is_text(proof->name)) {
        pppoe_set_text(&p->user, "?");
        sessions_fail(&p->cp->sessions, FAIL_REJECTED);
        turn_away(p, "the user's name is not printable, empty or too long", "");
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)proof->name.n, (const char *)proof->name.at);
    pppoe_set_text(&p->user, name);
    if (p->cp->aaa != NULL) {
        p->question = aaa_ask_user(p->cp, p->line, proof, name, pppoe_text_of(p->circuit),
                                   pppoe_text_of(p->remote));
        if (p->question == NULL)
            turn_away(p, "RADIUS cannot be asked", "");
    } else if (pppoe_user_proves(p->cp->config->pppoe, proof)) {
        let_in(p, "");
    } else {
        sessions_fail(&p->cp->sessions, FAIL_REJECTED);
        turn_away(p, "wrong name or password", "");
    }
}

struct cp *pppoe_cp(const struct session *s)
{
    return s->ppp->cp;
}
