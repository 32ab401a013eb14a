/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/relay6.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cp/aaa/aaa.h"
#include "cp/dhcp6/server.h"
#include "cp/lease.h"
#include "cp/packet/dhcp6_relay.h"
#include "cp/packet/udp6.h"
#include "cp/relay/given6.h"
#include "cp/relay/option82.h"
#include "cp/relay/proxy6.h"
#include "cp/relay/servers.h"

#define MESSAGE 1452 /* bytes of the longest one */

static struct relay6 *make(struct session *s)
{
    if (s->relay6 == NULL)
        s->relay6 = calloc(1, sizeof(*s->relay6));
    return s->relay6;
}

/* --- from the client --- */

/* The one of a kind: dhcp6_take() has refused several. */
static struct ia6 asked_for(const struct dhcp6 *m, uint8_t kind)
{
    for (unsigned i = 0; i < m->n_ia; i++)
        if (m->ia[i].kind == kind)
            return (struct ia6){true, m->ia[i].iaid};
    return (struct ia6){false, 0};
}

static bool keep(struct relay6_asked *k, const struct request6 *q, const uint8_t *message, size_t n)
{
    if (!octets_set(&k->message, message, n) ||
        !octets_set(&k->named, q->m.server.at, q->m.server.n))
        return false;
    k->type = q->m.type;
    memcpy(k->mac, q->mac, sizeof(k->mac));
    k->xid = q->m.xid;
    k->from = q->from;
    k->client = q->m.client;
    return true;
}

static void free_inform(struct relay6 *r)
{
    if (r->inform == NULL)
        return;
    free(r->inform->named);
    free(r->inform->message);
    free(r->inform);
    r->inform = NULL;
}

/* Any host of the line may send one at any time, so that it has a place of its own. */
static bool take_inform(struct relay6 *r, const struct request6 *q, const uint8_t *message,
                        size_t n)
{
    if (r->inform == NULL)
        r->inform = calloc(1, sizeof(*r->inform));
    if (r->inform != NULL && keep(r->inform, q, message, n))
        return true;
    free_inform(r);
    return false;
}

const char *relay6_take(struct session *s, const struct request6 *q, const uint8_t *message,
                        size_t n)
{
    struct relay6 *r = make(s);

    if (r == NULL)
        return "there is no memory";
    if (q->m.type == DHCP6_INFORMATION_REQUEST)
        return take_inform(r, q, message, n) ? NULL : "there is no memory";
    if (r->reply != NULL && r->asked.xid == q->m.xid)
        return "its answer is under way";
    if (!keep(&r->asked, q, message, n))
        return "there is no memory";
    relay6_forget(s);
    r->rapid = q->m.rapid;
    r->na = asked_for(&q->m, DHCP6_IA_NA);
    r->pd = asked_for(&q->m, DHCP6_IA_PD);
    return NULL;
}

/* By which address the server finds the subnet of the line. */
static struct ipv6 link_of(const struct cp_pool6 *p)
{
    return (struct ipv6){p->wan.len != 0 ? p->wan.prefix : p->delegated.prefix, 0};
}

static void send_on(struct cp *cp, struct session *s, struct ipv6 peer, uint32_t who,
                    const uint8_t *message, size_t n)
{
    const struct relay_config *config = relay_config(relay6_of(cp, s));
    char circuit[RELAY_CIRCUIT], line[SESSION_LINE_TEXT];
    struct dhcp6_relayed out = {
        .link = link_of(pool6_config(cp, s)), .peer = peer, .message = message, .n = n};
    uint8_t whole[MESSAGE];

    out.interface = relay_circuit(config, s, circuit);
    out.n_interface = strlen(circuit);
    out.remote = session_line(s, line);
    out.n_remote = strlen(line);
    out.has_port = ntohs(config->own.ipv6.sin6_port) != RELAY6_PORT;
    n = dhcp6_relay_write(&out, whole, sizeof(whole));
    if (n == 0)
        session_event(s, "a message of DHCPv6 is too long to be relayed");
    else
        relay_send(relay6_of(cp, s), who, whole, n);
}

static void forward(struct cp *cp, struct session *s, struct relay6_asked *k)
{
    uint32_t who = k->named != NULL ? relay_server6(relay6_of(cp, s), k->named->at, k->named->n)
                                    : RELAY_ANYBODY;

    session_event(s, "%s relayed", dhcp6_type_name(k->type));
    send_on(cp, s, k->from, who, k->message->at, k->message->n);
    octets_set(&k->message, NULL, 0);
}

void relay6_forward(struct cp *cp, struct session *s)
{
    struct relay6_asked *k = &s->relay6->asked;

    if (k->message == NULL)
        return;
    if (k->type != DHCP6_CONFIRM)
        lease6_ask(cp, s, k->mac);
    forward(cp, s, k);
}

void relay6_inform(struct cp *cp, struct session *s)
{
    forward(cp, s, s->relay6->inform);
}

/* --- to the client --- */

static void tell(struct cp *cp, struct session *s, const struct relay6_asked *k,
                 const uint8_t *message, size_t n)
{
    if (!dhcp6_pass(cp, s, k->mac, k->from, message, n))
        session_event(s, "the server's message is too long for the line");
}

void relay6_acknowledge(struct cp *cp, struct session *s)
{
    const struct relay6 *r = s->relay6;

    if (r == NULL || r->reply == NULL)
        return;
    tell(cp, s, &r->asked, r->reply->at, r->reply->n);
    relay6_forget(s);
}

void relay6_forget(struct session *s)
{
    if (s->relay6 != NULL)
        octets_set(&s->relay6->reply, NULL, 0);
}

/* --- what a server gives --- */

static void refused(struct session *s, const struct given6_kind *g)
{
    char text[IPV6_TEXT];

    if (g->lease != NULL)
        session_log(s, "refused: %s of the server is another's, or not of the pool or of RADIUS",
                    format_prefix6(g->lease->address, g->lease->len, text));
}

/* Put what the server gives into the line's session, if it fits. */
static bool take_given(struct cp *cp, struct session *s, const struct given6 *g)
{
    if (given6_fits(cp, s, g) &&
        lease6_take_said(cp, s, s->relay6->asked.mac,
                         g->na.lease != NULL ? &g->na.lease->address : NULL,
                         g->pd.lease != NULL ? &g->pd.lease->address.upper : NULL))
        return true;
    refused(s, &g->na);
    refused(s, &g->pd);
    return false;
}

void relay6_hold(struct session *s, const struct dhcp6 *a, const struct given6 *g)
{
    int64_t until = wall_seconds() + given6_longest(g);
    struct relay6 *r = s->relay6;
    bool all = (g->na.lease != NULL || !r->owes_na) && (g->pd.lease != NULL || !r->owes_pd);

    r->owes_na |= g->na.lease != NULL;
    r->owes_pd |= g->pd.lease != NULL;
    r->giver.duid = a->server;
    if (all || until > r->giver.expires)
        r->giver.expires = until;
}

/* For how long the line has its lease, in seconds. */
static uint32_t lease_of(const struct cp *cp, const struct session *s)
{
    int64_t seconds = s->relay6->giver.expires - wall_seconds();
    uint32_t most = proxy6_most(cp, s);

    return seconds < most ? (uint32_t)seconds : most;
}

static void bind_to(struct cp *cp, struct session *s, const struct dhcp6 *a, const uint8_t *message,
                    size_t n)
{
    struct relay6 *r = s->relay6;
    struct given6 g;

    if (!given6_read(s, a, &r->na, &r->pd, &g)) {
        session_log(s, "refused: the server gives more than one address or prefix");
        return;
    }
    if (given6_is_foreign_loss(s, a, &g)) {
        session_event(s, "a server that has not given the lease knows nothing of it");
        return;
    }
    if (given6_is_other(s, &g)) {
        r->asked.type = 0;
        lease6_give_back(cp, s, true, true, RADIUS_CAUSE_NAS_REQUEST,
                         "the server gives another address or prefix");
        return;
    }
    if (g.na.lease == NULL && g.pd.lease == NULL) {
        r->asked.type = 0;
        tell(cp, s, &r->asked, message, n);
        given6_lose(cp, s, &g);
        return;
    }
    if (!take_given(cp, s, &g))
        return;
    r->asked.type = 0;
    given6_lose(cp, s, &g);
    if (s->v6->state == LEASE_ENDING)
        return; /* that was all it had: what is new comes when the client asks again */
    relay6_hold(s, a, &g);
    proxy6_keep(cp, s, &g, message, n);
    if (octets_set(&r->reply, message, n))
        lease6_hold(cp, s, &a->client, g.na.ia, g.pd.ia, lease_of(cp, s));
}

/* --- from the server --- */

/* The line that a message is for, by the identifier that this gateway has written, or NULL. */
static struct session *line_of(const struct cp *cp, const struct relay *relay,
                               const struct dhcp6_relayed *in)
{
    struct session *s = relay_line(cp, relay_config(relay), in->interface, in->n_interface);

    return s != NULL && s->relay6 != NULL && relay6_serves(cp, s) && relay6_of(cp, s) == relay
               ? s
               : NULL;
}

/* Does a host wait for this message? */
static bool is_answer(const struct relay6_asked *k, struct ipv6 peer, const struct dhcp6 *a)
{
    return k->type != 0 && k->message == NULL && same6(peer, k->from) && a->xid == k->xid &&
           dhcp6_same_duid(&a->client, &k->client);
}

/* Is it of the server that was asked, or of any where all were? Each has to say who it is (RFC 8415
 * sections 16.3 and 16.10). */
static bool is_of_asked(const struct relay6_asked *k, const struct dhcp6 *a)
{
    return a->server.n > 0 &&
           (k->named == NULL ||
            (k->named->n == a->server.n && memcmp(k->named->at, a->server.at, a->server.n) == 0));
}

/* The message that this one answers, or NULL. */
static const struct relay6_asked *answered_by(const struct relay6 *r, struct ipv6 peer,
                                              const struct dhcp6 *a)
{
    if (is_answer(&r->asked, peer, a) && is_of_asked(&r->asked, a))
        return &r->asked;
    return r->inform != NULL && is_answer(r->inform, peer, a) && is_of_asked(r->inform, a)
               ? r->inform
               : NULL;
}

static void reply(struct cp *cp, struct session *s, const struct dhcp6 *a, const uint8_t *message,
                  size_t n)
{
    struct relay6 *r = s->relay6;
    uint8_t type = r->asked.type;

    if (type == DHCP6_CONFIRM) {
        r->asked.type = 0;
        tell(cp, s, &r->asked, message, n);
    } else if (type != DHCP6_SOLICIT || (a->rapid && r->rapid)) {
        if (s->state != SESSION_ENDING && (s->v6 == NULL || s->v6->state != LEASE_ENDING))
            bind_to(cp, s, a, message, n);
    }
}

void relay6_reply(struct cp *cp, struct relay *relay, unsigned index, const uint8_t *message,
                  size_t n)
{
    const struct relay6_asked *k;
    struct dhcp6_relayed in;
    uint8_t out[MESSAGE];
    struct session *s;
    struct dhcp6 a;

    if (dhcp6_relay_read(message, n, &in) != NULL || in.n > sizeof(out) ||
        dhcp6_read(in.message, in.n, &a) != NULL)
        return;
    s = line_of(cp, relay, &in);
    if (s == NULL || proxy6_reply(cp, s, &a, in.peer, in.message, in.n))
        return;
    k = answered_by(s->relay6, in.peer, &a);
    if (k == NULL)
        return;
    relay_learn(relay, index, &a.server);
    n = dhcp6_copy(in.message, in.n, proxy6_most(cp, s), out);
    if (a.type == DHCP6_ADVERTISE && k->type == DHCP6_SOLICIT) {
        tell(cp, s, k, out, n); /* each server's: the client chooses by DUID */
    } else if (a.type == DHCP6_REPLY && k == s->relay6->inform) {
        tell(cp, s, k, out, n);
        free_inform(s->relay6);
    } else if (a.type == DHCP6_REPLY) {
        reply(cp, s, &a, out, n);
    }
}

/* --- the end --- */

static void add(struct dhcp6 *m, uint8_t kind, uint32_t iaid, struct ipv6 address, uint8_t len)
{
    m->ia[m->n_ia] = (struct dhcp6_ia){.kind = kind, .iaid = iaid};
    m->lease[m->n_lease++] = (struct dhcp6_lease){.ia = m->n_ia, .len = len, .address = address};
    m->n_ia++;
}

uint32_t relay6_say(struct cp *cp, struct session *s, uint8_t type, bool na, bool pd)
{
    const struct session6 *v = s->v6;
    struct dhcp6 m = {.type = type, .begins = true, .client = session6_client(v)};
    uint8_t message[MESSAGE];

    if (type != DHCP6_REBIND)
        m.server = s->relay6->giver.duid;
    if (getrandom(&m.xid, sizeof(m.xid), 0) != sizeof(m.xid))
        return 0;
    m.xid &= DHCP6_XID;
    if (na)
        add(&m, DHCP6_IA_NA, v->na.iaid, v->wan, 128);
    if (pd)
        add(&m, DHCP6_IA_PD, v->pd.iaid, (struct ipv6){v->delegated, 0}, v->delegated_len);
    send_on(cp, s, link_local_of(s->mac), relay_server6(relay6_of(cp, s), m.server.at, m.server.n),
            message, dhcp6_write(&m, NULL, message, sizeof(message)));
    return m.xid;
}

void relay6_decline(struct session *s)
{
    if (s->relay6 != NULL)
        s->relay6->declines = true;
}

void relay6_cancel(struct session *s)
{
    if (s->relay6 != NULL && s->relay6->asked.message == NULL)
        s->relay6->asked.type = 0;
}

void relay6_gone(struct cp *cp, struct session *s, bool na, bool pd)
{
    struct relay6 *r = s->relay6;

    if (r == NULL || !relay6_serves(cp, s))
        return;
    if (na && pd) {
        proxy6_free(r->proxy);
        r->proxy = NULL;
    }
    na &= r->owes_na;
    pd &= r->owes_pd;
    r->owes_na &= !na;
    r->owes_pd &= !pd;
    if (r->giver.expires <= wall_seconds())
        na = pd = false;
    if (na && r->declines) {
        relay6_say(cp, s, DHCP6_DECLINE, true, false);
        na = false;
    }
    r->declines &= r->owes_na;
    if (na || pd)
        relay6_say(cp, s, DHCP6_RELEASE, na, pd);
}

void relay6_resume(struct session *s, const struct session6_giver *giver)
{
    if (make(s) == NULL)
        return;
    s->relay6->giver = *giver;
    s->relay6->owes_na = s->v6->na.held;
    s->relay6->owes_pd = s->v6->pd.held;
}

void relay6_free(struct session *s)
{
    if (s->relay6 == NULL)
        return;
    proxy6_free(s->relay6->proxy);
    free_inform(s->relay6);
    free(s->relay6->asked.named);
    free(s->relay6->asked.message);
    free(s->relay6->reply);
    free(s->relay6);
    s->relay6 = NULL;
}
