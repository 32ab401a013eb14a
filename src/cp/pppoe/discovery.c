/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery: RFC 2516 section 5. A frame has one answer at most, to the line and MAC that it came
 * from, longer by no more than this side's names and the cookie; nothing is kept of who has not
 * shown that he hears the answers.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/lease.h"
#include "cp/pppoe/config.h"
#include "cp/pppoe/session.h"
#include "cp/punt.h"

/* A frame of discovery that was read, with where it came from. */
struct request {
    const struct punt_header *header;
    const uint8_t *frame;
    const struct punt_port *port;
    struct pppoe pppoe;
    struct pppoe_tags tags;
};

/* --- what may be asked for --- */

static bool is_service(const struct pppoe_config *c, struct ppp_bytes name)
{
    if (c->n_services == 0 || name.n == 0)
        return true;
    for (unsigned i = 0; i < c->n_services; i++)
        if (strlen(c->services[i]) == name.n && memcmp(c->services[i], name.at, name.n) == 0)
            return true;
    return false;
}

/* Bytes of a packet that a session's frames can carry: more than 1492 only where both sides say so
 * (RFC 4638). */
static uint16_t most_of(const struct request *r)
{
    uint16_t room = (uint16_t)(r->port->mtu - PPPOE_HEADER - 2),
             most = r->tags.max_payload > PPPOE_MRU ? r->tags.max_payload : PPPOE_MRU;

    if (most > PPP_MOST)
        most = PPP_MOST;
    return most < room ? most : room;
}

/* Why a line takes no session of a MAC; NULL: it does. */
static const char *unfit(const struct session *s, const uint8_t mac[6])
{
    if (s->access->pool == CP_NO_POOL)
        return "the line has no IPv4";
    if (s->state != SESSION_NONE && s->ppp == NULL)
        return s->state == SESSION_ENDING ? "the session before it is still ending"
                                          : "the line has an IPoE session";
    if (s->ppp != NULL && memcmp(s->mac, mac, sizeof(s->mac)) != 0)
        return "another MAC has the line's session";
    return NULL;
}

static bool is_full(const struct cp *cp)
{
    return cp->sessions.in_state[SESSION_NEGOTIATING] >= cp->config->pppoe->max_negotiating;
}

static void misunderstand(struct cp *cp, struct session *s, const char *why)
{
    session_event(s, "not understood: %s", why);
    sessions_fail(&cp->sessions, FAIL_MALFORMED);
}

static void ignore(struct cp *cp, struct session *s, const struct request *r, const char *what,
                   const char *why)
{
    char mac[20];

    session_event(s, "%s of %s ignored: %s", what, format_mac(r->pppoe.from_mac, mac, sizeof(mac)),
                  why);
    sessions_fail(&cp->sessions, FAIL_IGNORED);
}

/* --- answers --- */

static void begin_answer(struct pppoe_frame *f, const struct request *r, enum pppoe_code code,
                         uint16_t session)
{
    pppoe_begin(f, r->pppoe.from_mac, r->port->mac, code, session);
    pppoe_repeat(f, PPPOE_HOST_UNIQ, r->tags.host_uniq);
    pppoe_repeat(f, PPPOE_RELAY_SESSION_ID, r->tags.relay);
}

static void put_most(struct pppoe_frame *f, const struct request *r)
{
    uint16_t most = most_of(r);
    const uint8_t value[2] = {(uint8_t)(most >> 8), (uint8_t)most};

    if (r->tags.max_payload > PPPOE_MRU && most > PPPOE_MRU)
        pppoe_put(f, PPPOE_MAX_PAYLOAD, value, sizeof(value));
}

static void put_services(struct pppoe_frame *f, const struct pppoe_config *c,
                         struct ppp_bytes asked)
{
    pppoe_repeat(f, PPPOE_SERVICE_NAME, asked);
    for (unsigned i = 0; i < c->n_services; i++)
        if (strlen(c->services[i]) != asked.n || memcmp(c->services[i], asked.at, asked.n) != 0)
            pppoe_put(f, PPPOE_SERVICE_NAME, c->services[i], strlen(c->services[i]));
}

static void offer(struct cp *cp, struct session *s, const struct request *r)
{
    const struct pppoe_config *c = cp->config->pppoe;
    uint8_t cookie[COOKIE];
    struct pppoe_frame f;

    begin_answer(&f, r, PPPOE_PADO, 0);
    put_services(&f, c, r->tags.service);
    pppoe_put(&f, PPPOE_AC_NAME, c->ppp.name, strlen(c->ppp.name));
    cookie_make(cp->pppoe->key, s, r->pppoe.from_mac, (uint32_t)(now_ns() / NS_PER_S), cookie);
    pppoe_put(&f, PPPOE_AC_COOKIE, cookie, sizeof(cookie));
    put_most(&f, r);
    pppoe_send(cp, s, &f);
}

/* A PADS without a session says why there is none: RFC 2516 section 5.4. */
static void refuse(struct cp *cp, struct session *s, const struct request *r, enum pppoe_tag tag,
                   const char *why)
{
    struct pppoe_frame f;

    session_event(s, "PADR refused: %s", why);
    begin_answer(&f, r, PPPOE_PADS, 0);
    pppoe_repeat(&f, PPPOE_SERVICE_NAME, r->tags.service);
    pppoe_put(&f, tag, why, strlen(why));
    pppoe_send(cp, s, &f);
}

static void confirm(struct cp *cp, struct session *s, const struct request *r)
{
    struct pppoe_frame f;

    begin_answer(&f, r, PPPOE_PADS, s->ppp->id);
    pppoe_repeat(&f, PPPOE_SERVICE_NAME, r->tags.service);
    put_most(&f, r);
    pppoe_send(cp, s, &f);
}

/* --- PADI --- */

static void take_padi(struct cp *cp, struct session *s, const struct request *r)
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const char *wrong = unfit(s, r->pppoe.from_mac);

    if (memcmp(r->pppoe.to_mac, everybody, 6) != 0 && memcmp(r->pppoe.to_mac, r->port->mac, 6) != 0)
        wrong = "it is for somebody else";
    else if (r->pppoe.session != 0 || r->tags.n_services != 1)
        wrong = "it has a session, or not one Service-Name";
    else if (wrong == NULL && !is_service(cp->config->pppoe, r->tags.service))
        wrong = "there is no such service"; /* must be silent: section 5.2 */
    else if (wrong == NULL && is_full(cp))
        wrong = "max_negotiating others are being negotiated";
    if (wrong != NULL)
        ignore(cp, s, r, "PADI", wrong);
    else
        offer(cp, s, r);
}

/* --- PADR --- */

/* What a node between CPE and gateway says of the line, as far as it can be a text. */
static void take_line(char **to, struct ppp_bytes said)
{
    char text[PPPOE_LINE];
    size_t n = 0;

    for (; n < said.n && n < PPPOE_LINE - 1; n++)
        text[n] = (char)(said.at[n] >= ' ' && said.at[n] <= '~' ? said.at[n] : '?');
    text[n] = '\0';
    pppoe_set_text(to, text);
}

static void begin(struct cp *cp, struct session *s, const struct request *r)
{
    struct pppoe_session *p = pppoe_begin_session(cp, s, r->pppoe.from_mac, most_of(r));

    if (p == NULL) {
        refuse(cp, s, r, PPPOE_AC_SYSTEM_ERROR, "no session id is free");
        return;
    }
    take_line(&p->circuit, r->tags.circuit);
    take_line(&p->remote, r->tags.remote);
    session_event(s, "PPPoE session %u begins", p->id);
    confirm(cp, s, r);
    pppoe_start_link(p);
}

/* Keep a PADR until the session before it has ended. */
static void keep(struct pppoe_session *p, const struct request *r)
{
    free(p->next);
    p->next = malloc(sizeof(*p->next) + r->header->frame_bytes);
    if (p->next == NULL)
        return; /* the CPE asks again */
    p->next->header = *r->header;
    memcpy(p->next->frame, r->frame, r->header->frame_bytes);
}

/* The CPE has a session already: its PADS was lost, or he begins anew. */
static void begin_again(struct cp *cp, struct session *s, const struct request *r)
{
    struct pppoe_session *p = s->ppp;

    if (s->state == SESSION_NEGOTIATING && !p->link.heard) {
        confirm(cp, s, r);
        return;
    }
    keep(p, r);
    pppoe_end_session(p, RADIUS_CAUSE_USER_REQUEST, "the CPE begins anew", true);
}

static void take_padr(struct cp *cp, struct session *s, const struct request *r)
{
    const char *wrong = unfit(s, r->pppoe.from_mac);

    if (memcmp(r->pppoe.to_mac, r->port->mac, 6) != 0)
        wrong = "it is for somebody else";
    else if (r->pppoe.session != 0 || r->tags.n_services != 1)
        wrong = "it has a session, or not one Service-Name";
    else if (!cookie_right(cp->pppoe->key, s, r->pppoe.from_mac, (uint32_t)(now_ns() / NS_PER_S),
                           r->tags.cookie))
        wrong = "its AC-Cookie is not right, or too old";
    else if (wrong == NULL && s->ppp == NULL && is_full(cp))
        wrong = "max_negotiating others are being negotiated";
    if (wrong != NULL)
        ignore(cp, s, r, "PADR", wrong);
    else if (!is_service(cp->config->pppoe, r->tags.service))
        refuse(cp, s, r, PPPOE_SERVICE_NAME_ERROR, "there is no such service");
    else if (s->ppp != NULL)
        begin_again(cp, s, r);
    else
        begin(cp, s, r);
}

/* --- frames --- */

static void take_padt(struct session *s, const struct request *r)
{
    struct pppoe_session *p = s->ppp;

    if (p != NULL && r->pppoe.session == p->id && memcmp(r->pppoe.from_mac, s->mac, 6) == 0)
        pppoe_end_session(p, RADIUS_CAUSE_USER_REQUEST, "PADT of the CPE", true);
}

static const char *read_request(const struct cp *cp, struct request *r)
{
    const char *wrong = pppoe_read((struct ppp_bytes){r->frame, r->header->frame_bytes},
                                   PPPOE_DISCOVERY, &r->pppoe);

    if (wrong == NULL)
        wrong = pppoe_read_tags(r->pppoe.payload, &r->tags);
    if (wrong == NULL && (r->pppoe.from_mac[0] & 1) != 0)
        wrong = "its MAC is not a host's";
    if (wrong == NULL && r->port == NULL)
        wrong = "the user plane has not said what its port is";
    return wrong;
}

void pppoe_take_discovery(struct cp *cp, const struct punt_header *h, const uint8_t *frame)
{
    const struct cp_access *a = cp_config_access(cp->config, h->port, h->svlan, h->cvlan);
    struct session *s = a != NULL ? session_get(&cp->sessions, a, h->svlan, h->cvlan) : NULL;
    struct request r = {.header = h, .frame = frame, .port = punt_port(cp->punt, h->port)};
    const char *wrong;

    if (s == NULL || cp->pppoe == NULL)
        return;
    wrong = read_request(cp, &r);
    if (wrong != NULL)
        misunderstand(cp, s, wrong);
    else if (r.pppoe.code == PPPOE_PADI)
        take_padi(cp, s, &r);
    else if (r.pppoe.code == PPPOE_PADR)
        take_padr(cp, s, &r);
    else if (r.pppoe.code == PPPOE_PADT)
        take_padt(s, &r);
}

/* --- opening --- */

struct pppoe_ids *pppoe_ids_of(struct pppoe_server *server, const struct session *line)
{
    struct pppoe_port *port = server->ports;

    while (port != NULL && strcmp(port->name, line->access->port) != 0)
        port = port->next;
    if (port != NULL)
        return &port->ids;
    port = calloc(1, sizeof(*port));
    if (port == NULL)
        return NULL;
    port->name = line->access->port;
    port->next = server->ports;
    server->ports = port;
    /* so that a CPE's frames of an earlier run's session are hardly in a new one */
    if (getrandom(&port->ids.last, sizeof(port->ids.last), 0) != (ssize_t)sizeof(port->ids.last) ||
        port->ids.last > PPPOE_LAST_ID)
        port->ids.last = PPPOE_LAST_ID;
    return &port->ids;
}

struct pppoe_server *pppoe_open(struct cp *cp)
{
    struct pppoe_server *server = calloc(1, sizeof(*server));

    if (server != NULL && getrandom(server->key, sizeof(server->key), 0) == COOKIE_KEY) {
        server->cp = cp;
        return server;
    }
    log_error("PPPoE: there is no memory, or no random number");
    free(server);
    return NULL;
}

void pppoe_close(struct pppoe_server *server)
{
    for (struct pppoe_port *port = server->ports, *next; port != NULL; port = next) {
        next = port->next;
        free(port);
    }
    free(server);
}
