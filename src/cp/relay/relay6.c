/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/relay6.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cp/aaa/aaa.h"
#include "cp/dhcp6/answer.h"
#include "cp/dhcp6/server.h"
#include "cp/lease.h"
#include "cp/packet/dhcp6_relay.h"
#include "cp/packet/udp6.h"
#include "cp/relay/option82.h"
#include "cp/relay/servers.h"

#define MESSAGE 1452 /* bytes of the longest one */

static struct relay *relay_of(const struct cp *cp, const struct session *s)
{
    return relay_at(cp->relays, pool6_config(cp, s)->relay);
}

static struct relay6 *make(struct session *s)
{
    if (s->relay6 == NULL)
        s->relay6 = calloc(1, sizeof(*s->relay6));
    return s->relay6;
}

/* --- from the client --- */

const char *relay6_take(struct session *s, const struct request6 *q, const uint8_t *message,
                        size_t n)
{
    struct relay6 *r = make(s);

    if (r != NULL && r->reply != NULL && r->xid == q->m.xid)
        return "its answer is under way";
    if (r == NULL || !octets_set(&r->message, message, n))
        return "there is no memory";
    relay6_forget(s);
    r->type = q->m.type;
    memcpy(r->mac, q->mac, sizeof(r->mac));
    r->xid = q->m.xid;
    r->from = q->from;
    r->client = q->m.client;
    return NULL;
}

/* By which address the server finds the subnet of the line. */
static struct ipv6 link_of(const struct cp_pool6 *p)
{
    return (struct ipv6){p->wan.len != 0 ? p->wan.prefix : p->delegated.prefix, 0};
}

static void send_on(struct cp *cp, struct session *s, struct ipv6 peer, const uint8_t *message,
                    size_t n)
{
    const struct relay_config *config = relay_config(relay_of(cp, s));
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
        relay_send(relay_of(cp, s), whole, n);
}

void relay6_forward(struct cp *cp, struct session *s)
{
    struct relay6 *r = s->relay6;

    if (r->message == NULL)
        return;
    if (r->type == DHCP6_SOLICIT || r->type == DHCP6_REQUEST || r->type == DHCP6_RENEW ||
        r->type == DHCP6_REBIND)
        lease6_ask(cp, s, r->mac);
    session_event(s, "%s relayed", dhcp6_type_name(r->type));
    send_on(cp, s, r->from, r->message->at, r->message->n);
    octets_set(&r->message, NULL, 0);
}

void relay6_give_back(struct cp *cp, struct session *s, bool na, bool pd)
{
    relay6_forward(cp, s);
    if (s->v6 != NULL && na == s->v6->na.held && pd == s->v6->pd.held)
        s->relay6->server.n = 0; /* it knows of all */
}

/* --- to the client --- */

static void tell(struct cp *cp, struct session *s, const uint8_t *message, size_t n)
{
    struct relay6 *r = s->relay6;

    if (!dhcp6_pass(cp, s, r->mac, r->from, message, n))
        session_event(s, "the server's message is too long for the line");
}

void relay6_acknowledge(struct cp *cp, struct session *s)
{
    if (s->relay6 == NULL || s->relay6->reply == NULL)
        return;
    tell(cp, s, s->relay6->reply->at, s->relay6->reply->n);
    relay6_forget(s);
}

void relay6_forget(struct session *s)
{
    if (s->relay6 != NULL)
        octets_set(&s->relay6->reply, NULL, 0);
}

/* --- what a server gives --- */

/* What a REPLY says of a kind of identity association. */
struct given {
    const struct dhcp6_ia *ia;
    const struct dhcp6_lease *lease; /* NULL: there is none */
    bool lost;                       /* the client has it no more */
};

/* Returns false where the server gives more than one. */
static bool find(const struct session *s, const struct dhcp6 *a, uint8_t kind, struct given *g)
{
    *g = (struct given){.ia = NULL};
    for (unsigned i = 0; i < a->n_lease; i++) {
        if (a->ia[a->lease[i].ia].kind != kind || a->lease[i].valid == 0)
            continue;
        if (g->lease != NULL)
            return false;
        g->lease = &a->lease[i];
        g->ia = &a->ia[a->lease[i].ia];
    }
    for (unsigned i = 0; i < a->n_ia && g->lease == NULL; i++)
        g->lost |= answer6_is_bound(s, a, &a->ia[i]) && a->ia[i].kind == kind;
    return true;
}

/* Has the line something else than what the server gives it? */
static bool has_other(const struct session *s, const struct given *na, const struct given *pd)
{
    const struct session6 *v = s->v6;

    if (!session6_held(s))
        return false;
    return (na->lease != NULL && v->na.held && !same6(v->wan, na->lease->address)) ||
           (pd->lease != NULL && v->pd.held && v->delegated != pd->lease->address.upper);
}

/* May the line have it, by the pool and by RADIUS? */
static bool fits(const struct cp *cp, const struct session *s, const struct given *na,
                 const struct given *pd)
{
    const struct cp_pool6 *p = pool6_config(cp, s);
    const struct cpe_prefixes *said = s->service != NULL ? &s->service->ipv6 : NULL;

    if (na->lease != NULL &&
        (p->wan.len == 0 || ((na->lease->address.upper ^ p->wan.prefix) & mask64(p->wan.len)) != 0))
        return false;
    if (pd->lease != NULL && pd->lease->len != p->delegated.each_len)
        return false;
    if (said == NULL)
        return true;
    return (na->lease == NULL || said->wan_len == 0 ||
            ((na->lease->address.upper ^ said->wan.upper) & mask64(64)) == 0) &&
           (pd->lease == NULL || said->n_delegated == 0 ||
            said->delegated[0] == pd->lease->address.upper);
}

static void refused(struct session *s, const struct given *g)
{
    char text[IPV6_TEXT];

    if (g->lease != NULL)
        session_log(s, "refused: %s of the server is another's, or not of the pool or of RADIUS",
                    format_prefix6(g->lease->address, g->lease->len, text));
}

static uint32_t longest(const struct given *na, const struct given *pd)
{
    uint32_t a = na->lease != NULL ? na->lease->valid : 0,
             b = pd->lease != NULL ? pd->lease->valid : 0;

    return a > b ? a : b;
}

/* The client is told what it has lost, whatever it still has. */
static void lose(struct cp *cp, struct session *s, const struct given *na, const struct given *pd)
{
    if (na->lost || pd->lost)
        lease6_give_back(cp, s, na->lost, pd->lost, RADIUS_CAUSE_NAS_REQUEST,
                         "refused by the server");
}

static void bind_to(struct cp *cp, struct session *s, const struct dhcp6 *a, const uint8_t *message,
                    size_t n)
{
    struct relay6 *r = s->relay6;
    struct given na, pd;

    if (!find(s, a, DHCP6_IA_NA, &na) || !find(s, a, DHCP6_IA_PD, &pd)) {
        session_log(s, "refused: the server gives more than one address or prefix");
        return;
    }
    if (has_other(s, &na, &pd)) {
        r->type = 0;
        lease6_give_back(cp, s, true, true, RADIUS_CAUSE_NAS_REQUEST,
                         "the server gives another address or prefix");
        return;
    }
    if (na.lease == NULL && pd.lease == NULL) {
        r->type = 0;
        tell(cp, s, message, n);
        lose(cp, s, &na, &pd);
        return;
    }
    if (!fits(cp, s, &na, &pd) ||
        !lease6_take_said(cp, s, r->mac, na.lease != NULL ? &na.lease->address : NULL,
                          pd.lease != NULL ? &pd.lease->address.upper : NULL)) {
        refused(s, &na);
        refused(s, &pd);
        return;
    }
    r->type = 0;
    r->server = a->server;
    lose(cp, s, &na, &pd);
    if (s->v6->state == LEASE_ENDING)
        return; /* that was all it had: what is new comes when the client asks again */
    if (octets_set(&r->reply, message, n))
        lease6_hold(cp, s, &a->client, na.ia, pd.ia, aaa_lease(s, longest(&na, &pd)));
}

/* --- from the server --- */

/* The line that a message is for, which waits for it; NULL: none does. */
static struct session *waiting_line(const struct cp *cp, const struct relay *relay,
                                    const struct dhcp6_relayed *in, const struct dhcp6 *a)
{
    struct session *s = relay_line(cp, relay_config(relay), in->interface, in->n_interface);
    const struct relay6 *r = s != NULL ? s->relay6 : NULL;

    if (r == NULL || !relay6_serves(cp, s) || relay_of(cp, s) != relay || r->type == 0 ||
        r->message != NULL)
        return NULL;
    return same6(in->peer, r->from) && a->xid == r->xid && dhcp6_same_duid(&a->client, &r->client)
               ? s
               : NULL;
}

static void reply(struct cp *cp, struct session *s, const struct dhcp6 *a, const uint8_t *message,
                  size_t n)
{
    uint8_t type = s->relay6->type;

    if (type == DHCP6_REQUEST || type == DHCP6_RENEW || type == DHCP6_REBIND ||
        (type == DHCP6_SOLICIT && a->rapid)) {
        if (s->state != SESSION_ENDING && (s->v6 == NULL || s->v6->state != LEASE_ENDING))
            bind_to(cp, s, a, message, n);
    } else if (type != DHCP6_SOLICIT) {
        s->relay6->type = 0;
        tell(cp, s, message, n);
    }
}

void relay6_reply(struct cp *cp, struct relay *relay, const uint8_t *message, size_t n)
{
    struct dhcp6_relayed in;
    uint8_t out[MESSAGE];
    struct session *s;
    struct dhcp6 a;

    if (dhcp6_relay_read(message, n, &in) != NULL || in.n > sizeof(out) ||
        dhcp6_read(in.message, in.n, &a) != NULL)
        return;
    s = waiting_line(cp, relay, &in, &a);
    if (s == NULL)
        return;
    n = dhcp6_copy(in.message, in.n, out);
    if (a.type == DHCP6_ADVERTISE && s->relay6->type == DHCP6_SOLICIT)
        tell(cp, s, out, n); /* each server's: the client chooses by DUID */
    else if (a.type == DHCP6_REPLY)
        reply(cp, s, &a, out, n);
}

/* --- the end --- */

static void add(struct dhcp6 *m, uint8_t kind, uint32_t iaid, struct ipv6 address, uint8_t len)
{
    m->ia[m->n_ia] = (struct dhcp6_ia){.kind = kind, .iaid = iaid};
    m->lease[m->n_lease++] = (struct dhcp6_lease){.ia = m->n_ia, .len = len, .address = address};
    m->n_ia++;
}

void relay6_gone(struct cp *cp, struct session *s)
{
    const struct session6 *v = s->v6;
    struct relay6 *r = s->relay6;
    struct dhcp6 m = {.type = DHCP6_RELEASE};
    uint8_t message[MESSAGE];

    if (r == NULL || r->server.n == 0 || v->expires <= wall_seconds())
        return;
    m.client = v->duid;
    m.server = r->server;
    r->server.n = 0;
    (void)!getrandom(&m.xid, sizeof(m.xid), 0);
    if (v->na.held)
        add(&m, DHCP6_IA_NA, v->na.iaid, v->wan, 128);
    if (v->pd.held)
        add(&m, DHCP6_IA_PD, v->pd.iaid, (struct ipv6){v->delegated, 0}, v->delegated_len);
    if (m.n_ia > 0)
        send_on(cp, s, link_local_of(s->mac), message,
                dhcp6_write(&m, NULL, message, sizeof(message)));
}

void relay6_resume(struct session *s, const struct dhcp6_duid *server)
{
    if (make(s) != NULL)
        s->relay6->server = *server;
}

void relay6_free(struct session *s)
{
    if (s->relay6 == NULL)
        return;
    free(s->relay6->message);
    free(s->relay6->reply);
    free(s->relay6);
    s->relay6 = NULL;
}
