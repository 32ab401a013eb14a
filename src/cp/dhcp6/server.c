/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/dhcp6/server.h"

#include <string.h>

#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/dhcp6/answer.h"
#include "cp/dhcp6/lease6.h"
#include "cp/lease.h"
#include "cp/packet/udp6.h"
#include "cp/pppoe/pppoe.h"
#include "cp/punt.h"
#include "cp/relay/proxy6.h"
#include "cp/relay/relay6.h"

#define FRAME         1514 /* bytes of the largest frame */
#define LEAST_REFRESH 600  /* seconds: IRT_MINIMUM of RFC 8415 section 7.6 */

/* --- replies --- */

static void send_message(struct cp *cp, struct session *s, const struct request6 *r,
                         const struct dhcp6 *m)
{
    const struct punt_port *port = punt_port(cp->punt, s->access->port);
    const struct cp_pool6 *p = pool6_config(cp, s);
    struct dhcp6_network network = {.dns = p->dns, .n_dns = p->n_dns, .domain = p->domain};
    uint8_t frame[FRAME];
    struct udp6 u = {.to = r->from,
                     .to_port = DHCP6_CLIENT_PORT,
                     .from_port = DHCP6_SERVER_PORT,
                     .data = frame + UDP6_HEADERS};
    size_t room = FRAME;

    if (port == NULL)
        return;
    if (port->mtu < room - 14)
        room = port->mtu + 14u;
    memcpy(u.to_mac, r->mac, sizeof(u.to_mac));
    memcpy(u.from_mac, port->mac, sizeof(u.from_mac));
    u.from = link_local_of(port->mac);
    network.refresh_s = p->lease_s > LEAST_REFRESH ? p->lease_s : LEAST_REFRESH;
    u.n = dhcp6_write(m, &network, frame + UDP6_HEADERS, room - UDP6_HEADERS);
    if (u.n > 0)
        punt_send(cp->punt, PUNT_DHCP6, s, frame, udp6_write(&u, frame, sizeof(frame)));
}

bool dhcp6_pass(struct cp *cp, struct session *s, const uint8_t mac[6], struct ipv6 to,
                const uint8_t *message, size_t n)
{
    const struct punt_port *port = punt_port(cp->punt, s->access->port);
    struct udp6 u = {.to = to,
                     .to_port = DHCP6_CLIENT_PORT,
                     .from_port = DHCP6_SERVER_PORT,
                     .data = message,
                     .n = n};
    uint8_t frame[FRAME];

    if (port == NULL)
        return true; /* as a frame that is lost */
    if (n + UDP6_HEADERS > sizeof(frame) || n + UDP6_HEADERS > port->mtu + 14u)
        return false;
    memcpy(u.to_mac, mac, sizeof(u.to_mac));
    memcpy(u.from_mac, port->mac, sizeof(u.from_mac));
    u.from = link_local_of(port->mac);
    punt_send(cp->punt, PUNT_DHCP6, s, frame, udp6_write(&u, frame, sizeof(frame)));
    return true;
}

static void answer(struct cp *cp, struct session *s, const struct request6 *r, uint8_t type)
{
    uint32_t seconds = aaa_lease(s, pool6_config(cp, s)->lease_s);
    struct dhcp6 a;

    answer6_make(s, &r->m, type, relay6_serves(cp, s) ? &r->m.server : &cp->duid, seconds, &a);
    send_message(cp, s, r, &a);
}

void dhcp6_answer(struct cp *cp, struct session *s, const struct request6 *r)
{
    answer(cp, s, r, DHCP6_REPLY);
}

/* --- SOLICIT and REQUEST --- */

static bool is_client(const struct session *s, const struct request6 *r)
{
    return memcmp(s->mac, r->mac, sizeof(s->mac)) == 0;
}

/* The identity association of a kind that gets what is kept; NULL: none does. */
static const struct dhcp6_ia *chosen(const struct session *s, const struct dhcp6 *m, uint8_t kind)
{
    const struct dhcp6_ia *ia = answer6_choose(s, m, kind);
    bool kept = kind == DHCP6_IA_NA ? s->v6->has_wan : s->v6->has_delegated;

    if (ia == NULL || !kept ||
        (m->type == DHCP6_REQUEST && answer6_is_off_link(s, m, (unsigned)(ia - m->ia))))
        return NULL;
    return ia;
}

/* Say among the events of a line what there is nothing of. */
static void note_lack(struct cp *cp, struct session *s, const struct dhcp6 *m)
{
    bool lacks_wan = answer6_choose(s, m, DHCP6_IA_NA) != NULL && !s->v6->has_wan,
         lacks_delegated = answer6_choose(s, m, DHCP6_IA_PD) != NULL && !s->v6->has_delegated;

    if (lacks_wan || lacks_delegated)
        sessions_fail(&cp->sessions, FAIL_POOL);
    if (lacks_wan)
        session_log(s, "IPv6: no address: pool %s has no free link, or RADIUS says another's",
                    pool6_config(cp, s)->name);
    if (lacks_delegated)
        session_log(s, "IPv6: no prefix: pool %s has no free one, or RADIUS says another's",
                    pool6_config(cp, s)->name);
}

void dhcp6_authorized(struct cp *cp, struct session *s, const struct request6 *r)
{
    const struct dhcp6_ia *na, *pd;
    char text[SESSION6_TEXT];

    if (relay6_serves(cp, s)) {
        if (!proxy6_answer(cp, s, r))
            relay6_forward(cp, s);
        return;
    }
    if (!lease6_offer(cp, s, r))
        return;
    note_lack(cp, s, &r->m);
    if (r->m.type == DHCP6_SOLICIT && !r->m.rapid) {
        session_event(s, "offered %s", session6_blocks(s->v6, text));
        answer(cp, s, r, DHCP6_ADVERTISE);
        return;
    }
    na = chosen(s, &r->m, DHCP6_IA_NA);
    pd = chosen(s, &r->m, DHCP6_IA_PD);
    if (na != NULL || pd != NULL)
        lease6_grant(cp, s, r, na, pd);
    else
        answer(cp, s, r, DHCP6_REPLY);
}

/* Who has a session or an offer was let in. */
static void want(struct cp *cp, struct session *s, const struct request6 *r)
{
    bool is_new = s->state == SESSION_NONE || s->state == SESSION_ASKING || !is_client(s, r);

    if (cp->aaa == NULL || !is_new) {
        dhcp6_authorized(cp, s, r);
        return;
    }
    lease_withdraw_all(cp, s);
    aaa_ask6(cp, s, r);
}

static void request(struct cp *cp, struct session *s, const struct request6 *r)
{
    if (relay6_serves(cp, s) || dhcp6_same_duid(&r->m.server, &cp->duid)) {
        want(cp, s, r);
        return;
    }
    session_event(s, "took another server's offer of IPv6");
    lease6_withdraw(cp, s);
}

/* --- the others --- */

static void renew(struct cp *cp, struct session *s, const struct request6 *r)
{
    const struct dhcp6_ia *na = answer6_choose(s, &r->m, DHCP6_IA_NA),
                          *pd = answer6_choose(s, &r->m, DHCP6_IA_PD);

    if (relay6_serves(cp, s)) {
        want(cp, s, r); /* the server may know what this gateway does not */
        return;
    }
    if (na != NULL && !answer6_is_bound(s, &r->m, na))
        na = NULL;
    if (pd != NULL && !answer6_is_bound(s, &r->m, pd))
        pd = NULL;
    if (na != NULL || pd != NULL) {
        lease6_grant(cp, s, r, na, pd);
        return;
    }
    session_event(s, "%s refused: there is no such lease", dhcp6_type_name(r->m.type));
    answer(cp, s, r, DHCP6_REPLY);
}

/* RFC 8415 section 18.3.3: without an address in it there is nothing to say. */
static void confirm(struct cp *cp, struct session *s, const struct request6 *r)
{
    if (relay6_serves(cp, s)) {
        relay6_forward(cp, s);
        return;
    }
    for (unsigned i = 0; i < r->m.n_lease; i++)
        if (r->m.ia[r->m.lease[i].ia].kind != DHCP6_IA_PD) {
            answer(cp, s, r, DHCP6_REPLY);
            return;
        }
}

/* Is one of a message's identity associations of a kind the one that the line has? */
static bool names(const struct session *s, const struct dhcp6 *m, uint8_t kind)
{
    const struct dhcp6_ia *ia = answer6_choose(s, m, kind);

    return ia != NULL && answer6_is_bound(s, m, ia);
}

static void release(struct cp *cp, struct session *s, const struct request6 *r)
{
    bool na = names(s, &r->m, DHCP6_IA_NA), pd = names(s, &r->m, DHCP6_IA_PD);

    answer(cp, s, r, DHCP6_REPLY);
    if (na || pd)
        lease6_give_back(cp, s, na, pd, RADIUS_CAUSE_USER_REQUEST, "released");
}

static void decline(struct cp *cp, struct session *s, const struct request6 *r)
{
    bool na = names(s, &r->m, DHCP6_IA_NA);

    answer(cp, s, r, DHCP6_REPLY);
    if (!na)
        return;
    if (relay6_serves(cp, s))
        relay6_decline(s);
    else
        lease6_decline(s);
    lease6_give_back(cp, s, true, false, RADIUS_CAUSE_NAS_REQUEST,
                     "declined, the address is in use elsewhere");
}

static void inform(struct cp *cp, struct session *s, const struct request6 *r)
{
    if (relay6_serves(cp, s))
        relay6_inform(cp, s);
    else
        answer(cp, s, r, DHCP6_REPLY);
}

/* --- messages --- */

enum { NEVER, MAYBE, ALWAYS };

/* What a server takes, and which names are in it: RFC 8415 section 16. */
static const struct {
    void (*handle)(struct cp *cp, struct session *s, const struct request6 *r);
    uint8_t client, server; /* NEVER, MAYBE, ALWAYS */
    bool of_session;        /* it is about a session: only the line's client may say it */
} messages[] = {
    [DHCP6_SOLICIT] = {want, ALWAYS, NEVER, true},
    [DHCP6_REQUEST] = {request, ALWAYS, ALWAYS, true},
    [DHCP6_CONFIRM] = {confirm, ALWAYS, NEVER, true},
    [DHCP6_RENEW] = {renew, ALWAYS, ALWAYS, true},
    [DHCP6_REBIND] = {renew, ALWAYS, NEVER, true},
    [DHCP6_RELEASE] = {release, ALWAYS, ALWAYS, true},
    [DHCP6_DECLINE] = {decline, ALWAYS, ALWAYS, true},
    [DHCP6_INFORMATION_REQUEST] = {inform, MAYBE, MAYBE, false},
};

static bool fits(const struct dhcp6_duid *d, uint8_t when)
{
    return when == MAYBE || (d->n > 0) == (when == ALWAYS);
}

/* A line has one lease of each kind: what a server would give besides nobody would forward for. */
static bool asks_for_several(const struct dhcp6 *m)
{
    unsigned na = 0, pd = 0;

    for (unsigned i = 0; i < m->n_ia; i++) {
        na += m->ia[i].kind != DHCP6_IA_PD;
        pd += m->ia[i].kind == DHCP6_IA_PD;
        if (m->ia[i].kind == DHCP6_IA_TA || na > 1 || pd > 1)
            return true;
    }
    return false;
}

/* Is a message a RELEASE or a DECLINE? The gateway answers both itself. A relayed server hears of
 * the line's release only after the user plane has removed the subscriber. */
static bool gives_back(const struct dhcp6 *m)
{
    return m->type == DHCP6_RELEASE || m->type == DHCP6_DECLINE;
}

/* Is a message for the server that gives the line its leases? One behind this gateway that has
 * given none yet is not known. */
static bool is_for_giver(const struct cp *cp, const struct session *s, const struct dhcp6 *m)
{
    if (!relay6_serves(cp, s))
        return m->server.n == 0 || m->type == DHCP6_REQUEST ||
               dhcp6_same_duid(&m->server, &cp->duid);
    return !gives_back(m) || !session6_held(s) || s->relay6 == NULL ||
           dhcp6_same_duid(&m->server, &s->relay6->giver.duid);
}

/* Why a message is not answered whoever has the line; NULL: it is. */
static const char *malformed(const struct cp *cp, const struct session *s, const struct request6 *r)
{
    const struct dhcp6 *m = &r->m;

    if (m->type >= sizeof(messages) / sizeof(messages[0]) || messages[m->type].handle == NULL)
        return "it is no client's";
    if (!fits(&m->client, messages[m->type].client) || !fits(&m->server, messages[m->type].server))
        return "it has not the identifiers of such a message";
    if (relay6_serves(cp, s) && asks_for_several(m))
        return "it asks for several leases of a kind, or a temporary address";
    if (!is_for_giver(cp, s, m))
        return "it is for another server";
    if (m->type == DHCP6_INFORMATION_REQUEST && m->n_ia > 0)
        return "it asks for a lease, too";
    if ((m->type == DHCP6_SOLICIT || m->type == DHCP6_REQUEST) && m->n_ia == 0)
        return "it asks for no lease";
    if ((r->mac[0] & 1) != 0)
        return "its MAC is not a host's";
    if (r->from.upper != UINT64_C(0xfe80) << 48)
        return "its source is not a link-local address";
    return NULL;
}

/* The same by the state of the line. */
static const char *unfit(const struct session *s, const struct request6 *r)
{
    bool asks = r->m.type == DHCP6_SOLICIT || r->m.type == DHCP6_REQUEST;

    if (!messages[r->m.type].of_session)
        return NULL;
    if (s->state == SESSION_ENDING || (s->v6 != NULL && s->v6->state == LEASE_ENDING))
        return "the session before it is still ending";
    if (s->state != SESSION_NONE && !is_client(s, r) &&
        !(s->state == SESSION_OFFERED && r->m.type == DHCP6_SOLICIT))
        return "another MAC has the line's session";
    if (s->state == SESSION_ASKING && !asks)
        return "RADIUS has not answered yet";
    return NULL;
}

static const char *read_message(const struct punt_header *h, const uint8_t *frame, struct udp6 *u,
                                struct request6 *r)
{
    const char *wrong = udp6_read(frame, h->frame_bytes, u);

    if (wrong == NULL && u->to_port != DHCP6_SERVER_PORT)
        wrong = "its port is not that of DHCPv6";
    if (wrong != NULL)
        return wrong;
    memcpy(r->mac, u->from_mac, sizeof(r->mac));
    r->from = u->from;
    return dhcp6_read(u->data, u->n, &r->m);
}

void dhcp6_take(struct cp *cp, const struct punt_header *h, const uint8_t *frame)
{
    const struct cp_access *a = cp_config_access(cp->config, h->port, h->svlan, h->cvlan);
    struct session *s;
    const char *wrong;
    struct request6 r;
    struct udp6 u;
    char mac[20];

    if (a == NULL || a->pool6 == CP_NO_POOL)
        return;
    s = session_get(&cp->sessions, a, h->svlan, h->cvlan);
    if (s == NULL)
        return;
    wrong = read_message(h, frame, &u, &r);
    if (wrong != NULL) {
        session_event(s, "DHCPv6 not understood: %s", wrong);
        sessions_fail(&cp->sessions, FAIL_MALFORMED);
        return;
    }
    wrong = malformed(cp, s, &r);
    if (wrong == NULL && !pppoe_is_its_own(s, h->session))
        wrong = "it is not of the line's session";
    if (wrong == NULL)
        wrong = unfit(s, &r);
    if (wrong == NULL && relay6_serves(cp, s) && !gives_back(&r.m))
        wrong = relay6_take(s, &r, u.data, u.n);
    if (wrong == NULL) {
        messages[r.m.type].handle(cp, s, &r);
        return;
    }
    session_event(s, "%s of %s ignored: %s", dhcp6_type_name(r.m.type),
                  format_mac(r.mac, mac, sizeof(mac)), wrong);
    sessions_fail(&cp->sessions, FAIL_IGNORED);
}
