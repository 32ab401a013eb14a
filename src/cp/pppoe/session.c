/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/pppoe/session.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/lease.h"
#include "cp/packet/bytes.h"
#include "cp/pppoe/config.h"
#include "cp/punt.h"

#define OF_TIMER(t, member)                                                                        \
    ((struct pppoe_session *)((char *)(t)-offsetof(struct pppoe_session, member)))

/* --- frames --- */

static const uint8_t of_port[6]; /* a source of frames: it is written when they are sent */

void pppoe_send(struct cp *cp, const struct session *s, struct pppoe_frame *f)
{
    if (pppoe_end(f))
        punt_send(cp->punt, PUNT_PPPOE_DISCOVERY, s, f->at, f->n);
}

void pppoe_send_padt(struct cp *cp, const struct session *s, const uint8_t mac[6], uint16_t id)
{
    struct pppoe_frame f;

    pppoe_begin(&f, mac, of_port, PPPOE_PADT, id);
    if (pppoe_end(&f))
        punt_send_last(cp->punt, PUNT_PPPOE_DISCOVERY, s, f.at, f.n);
}

static void send_packet(void *ctx, uint16_t protocol, const uint8_t *packet, size_t n)
{
    const struct pppoe_session *p = ctx;
    uint8_t frame[PPPOE_BEFORE + PPP_MOST];

    pppoe_write_session(frame, p->line->mac, of_port, p->id, protocol, n);
    memcpy(frame + PPPOE_BEFORE, packet, n);
    (p->line->state == SESSION_ENDING ? punt_send_last : punt_send)(p->cp->punt, PUNT_PPP, p->line,
                                                                    frame, PPPOE_BEFORE + n);
}

/* --- the life of a session --- */

static void release(struct pppoe_session *p)
{
    struct timers *timers = &p->cp->loop.timers;

    timer_stop(timers, &p->timer);
    timer_stop(timers, &p->limit);
    aaa_forget_user(p->question);
    p->question = NULL;
}

/* Nothing of the session is left but the PADR of the next one, which is taken now. */
static void dissolve(struct pppoe_session *p)
{
    struct cp *cp = p->cp;
    struct session *s = p->line;
    struct pppoe_waiting *next = p->next;
    uint16_t id = p->id;

    release(p);
    p->next = NULL;
    pppoe_forget(s);
    pppoe_id_give(pppoe_ids_of(cp->pppoe, s), id);
    if (next != NULL)
        pppoe_take_discovery(cp, &next->header, next->frame);
    free(next);
}

/* End a session that nobody but the CPE knows of. */
static void abandon(struct pppoe_session *p, const char *why)
{
    if (!p->turned_away)
        sessions_fail(&p->cp->sessions, FAIL_NEGOTIATION);
    session_log(p->line, "PPPoE session %u ends: %s", p->id, why);
    pppoe_ending(p->cp, p->line, why);
    pppoe_give_address(p);
    session_set_state(&p->cp->sessions, p->line, SESSION_NONE);
    dissolve(p);
}

static bool is_lease(const struct session *s)
{
    return s->state == SESSION_STARTING || s->state == SESSION_UP;
}

void pppoe_end_session(struct pppoe_session *p, enum radius_cause cause, const char *why,
                       bool silent)
{
    p->silent = silent;
    if (is_lease(p->line))
        lease_end_for(p->cp, p->line, cause, why);
    else if (p->line->state != SESSION_ENDING)
        abandon(p, why);
}

void pppoe_settle(struct pppoe_session *p)
{
    if (p->link.over != NULL)
        pppoe_end_session(p, RADIUS_CAUSE_USER_REQUEST, p->link.over, false);
    else
        timer_set(&p->cp->loop.timers, &p->timer, ppp_next(&p->link));
}

static void run_link(struct timer *t, void *ctx)
{
    struct pppoe_session *p = OF_TIMER(t, timer);

    (void)ctx;
    ppp_run(&p->link, now_ns());
    pppoe_settle(p);
}

static void reached_limit(struct timer *t, void *ctx)
{
    struct pppoe_session *p = OF_TIMER(t, limit);

    (void)ctx;
    pppoe_end_session(p, RADIUS_CAUSE_SESSION_TIMEOUT,
                      is_lease(p->line) ? "Session-Timeout" : "it was not up in time", false);
}

void pppoe_gone(struct cp *cp, struct session *s)
{
    (void)cp;
    dissolve(s->ppp);
}

void pppoe_ending(struct cp *cp, struct session *s, const char *why)
{
    struct pppoe_session *p = s->ppp;

    if (p->link.over == NULL && !p->silent)
        ppp_end(&p->link, why, now_ns());
    ppp_over(&p->link, why);
    if (!p->silent)
        pppoe_send_padt(cp, s, s->mac, p->id);
    release(p);
}

void pppoe_forget(struct session *s)
{
    struct pppoe_session *p = s->ppp;

    ppp_free(&p->link);
    free(p->next);
    free(p->user);
    free(p->circuit);
    free(p->remote);
    free(p);
    s->ppp = NULL;
}

void pppoe_set_text(char **to, const char *text)
{
    free(*to);
    *to = text[0] != '\0' ? strdup(text) : NULL;
    if (*to == NULL && text[0] != '\0')
        abort();
}

/* --- the user plane --- */

void pppoe_set_limit(struct pppoe_session *p)
{
    uint32_t left = aaa_lease(p->line, UINT32_MAX);

    if (left != UINT32_MAX)
        timer_set(&p->cp->loop.timers, &p->limit, now_ns() + left * NS_PER_S);
    else
        timer_stop(&p->cp->loop.timers, &p->limit);
}

/* The CPE has asked for what he was told: he hears that it is so when it is. */
static void ready(void *ctx)
{
    struct pppoe_session *p = ctx;

    if (p->line->state == SESSION_NEGOTIATING) {
        pppoe_set_limit(p);
        pppoe_start_lease(p);
    } else {
        lease_subscriber_changed(p->cp, p->line);
    }
}

void pppoe_in_userplane(struct cp *cp, struct session *s)
{
    (void)cp;
    if (s->state != SESSION_UP)
        return;
    ppp_forwards(&s->ppp->link, true, true, now_ns());
    pppoe_settle(s->ppp);
}

json_t *pppoe_entry(const struct session *s)
{
    const struct ppp *link = &s->ppp->link;
    char mac[20];
    json_t *o = json_pack("{s:i, s:s, s:i}", "session", (int)s->ppp->id, "mac",
                          format_mac(s->mac, mac, sizeof(mac)), "mtu", (int)ppp_mtu(link));

    if (!link->without_magic)
        json_object_set_new(o, "magic", json_integer(link->magic));
    return o;
}

bool pppoe_is_its_own(const struct session *s, uint32_t id)
{
    if (s->ppp == NULL)
        return id == 0;
    return s->state == SESSION_UP && id == s->ppp->id && s->ppp->link.grant.ipv6;
}

uint16_t pppoe_id(const struct session *s)
{
    return s->ppp->id;
}

const char *pppoe_user(const struct session *s)
{
    return pppoe_text_of(s->ppp->user);
}

/* --- the begin --- */

static const struct ppp_calls calls = {
    .send = send_packet, .judge = pppoe_judge_user, .ready = ready};

static uint32_t random_magic(void)
{
    uint32_t magic = 0;

    while (magic == 0)
        if (getrandom(&magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
            abort();
    return magic;
}

struct pppoe_session *pppoe_make(struct cp *cp, struct session *s, uint16_t id, uint16_t most)
{
    struct pppoe_session *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->cp = cp;
    p->line = s;
    p->id = id;
    p->timer.fire = run_link;
    p->limit.fire = reached_limit;
    ppp_init(&p->link, &cp->config->pppoe->ppp, &calls, p, most, random_magic());
    s->ppp = p;
    return p;
}

struct pppoe_session *pppoe_begin_session(struct cp *cp, struct session *s, const uint8_t mac[6],
                                          uint16_t most)
{
    struct pppoe_ids *ids = pppoe_ids_of(cp->pppoe, s);
    uint16_t id = ids != NULL ? pppoe_id_take_any(ids) : 0;
    struct pppoe_session *p = id != 0 ? pppoe_make(cp, s, id, most) : NULL;

    if (p == NULL) {
        if (id != 0)
            pppoe_id_give(ids, id);
        return NULL;
    }
    memcpy(s->mac, mac, sizeof(s->mac));
    session_set_state(&cp->sessions, s, SESSION_NEGOTIATING);
    timer_set(&cp->loop.timers, &p->limit, now_ns() + cp->config->pppoe->negotiation_ns);
    return p;
}

void pppoe_start_link(struct pppoe_session *p)
{
    ppp_start(&p->link, now_ns());
    pppoe_settle(p);
}

/* --- packets --- */

/* An Echo-Request of the gateway itself comes back: the CPE has answered none (doc/sessions.md). */
static bool is_failed_echo(const struct cp *cp, const struct session *s, const struct pppoe *frame)
{
    const struct punt_port *port = punt_port(cp->punt, s->access->port);

    return port != NULL && memcmp(frame->from_mac, port->mac, 6) == 0 &&
           memcmp(frame->to_mac, s->mac, 6) == 0 && frame->payload.n >= 3 &&
           get16(frame->payload.at) == PPP_LCP && frame->payload.at[2] == PPP_ECHO_REQUEST;
}

/* Who sends in a session that there is not learns it, and begins anew at once. */
static void take_stray(struct cp *cp, struct session *s, const struct pppoe *frame)
{
    char mac[20];

    if ((frame->from_mac[0] & 1) != 0 || frame->session == 0)
        return;
    session_event(s, "PPP of %s in session %u, which is none: PADT",
                  format_mac(frame->from_mac, mac, sizeof(mac)), frame->session);
    pppoe_send_padt(cp, s, frame->from_mac, frame->session);
}

void pppoe_take_session(struct cp *cp, const struct punt_header *h, const uint8_t *frame)
{
    const struct cp_access *a = cp_config_access(cp->config, h->port, h->svlan, h->cvlan);
    struct session *s = a != NULL ? session_get(&cp->sessions, a, h->svlan, h->cvlan) : NULL;
    struct pppoe_session *p = s != NULL ? s->ppp : NULL;
    struct pppoe f;

    if (s == NULL || cp->pppoe == NULL ||
        pppoe_read((struct ppp_bytes){frame, h->frame_bytes}, PPPOE_SESSION, &f) != NULL ||
        f.code != PPPOE_DATA || f.payload.n < 2)
        return;
    if (p != NULL && f.session == p->id && s->state != SESSION_ENDING &&
        is_failed_echo(cp, s, &f)) {
        pppoe_end_session(p, RADIUS_CAUSE_LOST_CARRIER, "the CPE does not answer LCP's echo",
                          false);
        return;
    }
    if (p == NULL || f.session != p->id || memcmp(f.from_mac, s->mac, sizeof(s->mac)) != 0) {
        take_stray(cp, s, &f);
        return;
    }
    if (s->state == SESSION_ENDING)
        return;
    ppp_take(&p->link, get16(f.payload.at), (struct ppp_bytes){f.payload.at + 2, f.payload.n - 2},
             now_ns());
    pppoe_settle(p);
}
