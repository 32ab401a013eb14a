/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/relay4.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/ipoe4.h"
#include "cp/lease.h"
#include "cp/packet/dhcp4_copy.h"
#include "cp/relay/option82.h"
#include "cp/relay/proxy4.h"
#include "cp/relay/servers.h"
#include "cp/relay/state4.h"

#define MOST_HOPS 16 /* RFC 1542 section 4.1.1 */
#define SERVER_OP 2

/* --- from the client --- */

static struct relay4 *make(struct session *s)
{
    if (s->relay == NULL)
        s->relay = calloc(1, sizeof(*s->relay));
    return s->relay;
}

const char *relay4_take(struct cp *cp, struct session *s, const struct dhcp4 *q,
                        const uint8_t *message, size_t n, bool unicast)
{
    struct relay4 *r = make(s);

    if (r == NULL)
        return "there is no memory";
    if (q->hops >= MOST_HOPS)
        return "it comes by too many hops";
    if (q->relay.n > 0 && relay_config(relay4_of(cp, s))->refuses)
        return "it bears option 82";
    if (r->reply != NULL && r->xid == q->xid)
        return "its answer is under way";
    relay4_forget(s);
    if (!octets_set(&r->message, message, q->type != DHCP4_RELEASE ? n : 0) ||
        !octets_set(&r->access, q->relay.at, q->relay.n))
        return "there is no memory";
    if (!lease_is_held(s->lease4))
        octets_set(&r->client, q->client.at, q->client.n);
    r->type = q->type;
    r->unicast = unicast;
    r->hops = q->hops;
    memcpy(r->mac, q->mac, sizeof(r->mac));
    r->flags = q->flags;
    r->xid = q->xid;
    r->ciaddr = q->ciaddr;
    r->requested = q->requested;
    return NULL;
}

/* The server that a message is for, by the identifier that it has given itself; 0: none is named. A
 * REQUEST for an offer that is not known any more names none, too: as that of a client that was
 * started again it is judged by what the server knows. */
static uint32_t server_named(const struct session *s)
{
    const struct relay4 *r = s->relay;

    if (r->type == DHCP4_DECLINE || (r->type == DHCP4_REQUEST && r->ciaddr == 0 &&
                                     s->lease4 == LEASE_OFFERED && s->address == r->requested))
        return r->server;
    return 0;
}

static void send_on(struct cp *cp, struct session *s)
{
    struct relay *relay = relay4_of(cp, s);
    struct relay4 *r = s->relay;
    uint32_t named = server_named(s);
    uint32_t giver = relay_server4(relay, r->from);
    bool answers = r->type == DHCP4_DISCOVER || r->type == DHCP4_REQUEST, /* here, at least */
        to_one = !answers || (r->type == DHCP4_REQUEST && r->unicast);
    struct dhcp4_bytes option;
    struct dhcp4_change c = {.hops = (uint8_t)(r->hops + 1),
                             .giaddr = relay_giaddr(relay),
                             .server = named,
                             .relay = &option};
    uint8_t message[RELAY_MESSAGE];
    size_t n;

    option82_write(relay_config(relay), s, pool_config(cp, s)->gateway, r->unicast, &option);
    n = dhcp4_copy(r->message->at, r->message->n, &c, message, sizeof(message));
    octets_set(&r->message, NULL, 0);
    if (n == 0)
        session_event(s, "%s ignored: it is too long to be relayed", dhcp4_type_name(r->type));
    else if (to_one)
        relay_send_to(relay, giver, answers, message, n);
    else
        relay_send(relay, named != 0 ? giver : RELAY_ANYBODY, message, n);
}

void relay4_forward(struct cp *cp, struct session *s)
{
    struct relay4 *r = s->relay;

    if (r->message == NULL || proxy4_answer(cp, s))
        return;
    if (r->type == DHCP4_DISCOVER)
        lease_ask(cp, s, r->mac);
    session_event(s, "%s relayed", dhcp4_type_name(r->type));
    send_on(cp, s);
}

void relay4_decline(struct cp *cp, struct session *s)
{
    send_on(cp, s);
    s->relay->expires = 0;
}

/* --- to the client --- */

size_t relay4_write(const struct cp *cp, const struct session *s, const uint8_t *message, size_t n,
                    uint32_t lease, uint8_t to[RELAY_MESSAGE])
{
    const struct relay *relay = relay4_of(cp, s);
    struct dhcp4_bytes option;
    struct dhcp4_change c = {.giaddr = relay_config(relay)->client_s == 0 ? relay_giaddr(relay) : 0,
                             .server = pool_config(cp, s)->gateway,
                             .lease = lease,
                             .relay = &option};

    octets_copy(&option, s->relay->access);
    return dhcp4_copy(message, n, &c, to, RELAY_MESSAGE);
}

/* Send it: where to is what the request says. */
static void tell(struct cp *cp, struct session *s, uint8_t type, uint32_t address,
                 const uint8_t *message, size_t n)
{
    const struct relay4 *r = s->relay;
    struct dhcp4 q = {.flags = r->flags, .ciaddr = r->ciaddr};
    struct dhcp4_reply reply = {
        .type = type, .address = address, .server = pool_config(cp, s)->gateway};

    memcpy(q.mac, r->mac, sizeof(q.mac));
    if (!ipoe4_pass(cp, s, &q, &reply, message, n))
        session_event(s, "%s of the server is too long for the line", dhcp4_type_name(type));
}

/* Is a lease told as the server says it? */
static uint32_t changed_lease(const struct cp *cp, const struct session *s, const struct dhcp4 *a)
{
    uint32_t lease = a->lease != 0 ? proxy4_lease(cp, s, a->lease) : 0;

    return lease != a->lease ? lease : 0;
}

static void pass(struct cp *cp, struct session *s, const struct dhcp4 *a, const uint8_t *message,
                 size_t n)
{
    uint8_t out[RELAY_MESSAGE];
    size_t len = relay4_write(cp, s, message, n, changed_lease(cp, s, a), out);

    s->relay->type = 0;
    tell(cp, s, a->type, a->yiaddr, out, len);
}

void relay4_acknowledge(struct cp *cp, struct session *s)
{
    if (s->relay == NULL || s->relay->reply == NULL)
        return;
    tell(cp, s, DHCP4_ACK, s->address, s->relay->reply->at, s->relay->reply->n);
    relay4_forget(s);
}

void relay4_forget(struct session *s)
{
    if (s->relay != NULL)
        octets_set(&s->relay->reply, NULL, 0);
}

/* --- from the server --- */

/* Take the address that a server says for the line's client. Returns whether it can have it. */
static bool take_address(struct cp *cp, struct session *s, const struct dhcp4 *a, uint32_t from)
{
    char address[20], server[20];
    bool other = s->service != NULL && s->service->ipv4 != 0 && s->service->ipv4 != a->yiaddr;

    if (!other && lease_take_said(cp, s, s->relay->mac, a->yiaddr)) {
        s->relay->server = a->server != 0 ? a->server : from;
        s->relay->from = from;
        return true;
    }
    session_log(s, "refused: %s of server %s %s", format_ipv4(a->yiaddr, address, sizeof(address)),
                format_ipv4(from, server, sizeof(server)),
                other ? "is not what RADIUS says" : "is another's, or not of the pool");
    return false;
}

/* The client has an address, and the server gives it another: it begins anew, without. */
static bool has_other(struct cp *cp, struct session *s, const struct dhcp4 *a)
{
    if (!lease_is_held(s->lease4) || s->address == a->yiaddr)
        return false;
    s->relay->type = 0;
    lease_give_back(cp, s, RADIUS_CAUSE_NAS_REQUEST, "the server gives another address");
    return true;
}

static void offer(struct cp *cp, struct session *s, const struct dhcp4 *a, uint32_t from,
                  const uint8_t *message, size_t n)
{
    char address[20], server[20];

    if (s->relay->type != DHCP4_DISCOVER || a->yiaddr == 0 || has_other(cp, s, a) ||
        (!lease_is_held(s->lease4) && !take_address(cp, s, a, from)))
        return;
    session_event(s, "offered %s by %s", format_ipv4(a->yiaddr, address, sizeof(address)),
                  format_ipv4(from, server, sizeof(server)));
    pass(cp, s, a, message, n);
}

static void ack(struct cp *cp, struct session *s, const struct dhcp4 *a, uint32_t from,
                const uint8_t *message, size_t n)
{
    struct relay4 *r = s->relay;
    uint8_t out[RELAY_MESSAGE];
    size_t len;

    if (r->type == DHCP4_INFORM) {
        pass(cp, s, a, message, n);
        return;
    }
    if (r->type != DHCP4_REQUEST || a->yiaddr == 0 || a->lease == 0 || has_other(cp, s, a) ||
        (!lease_is_held(s->lease4) && !take_address(cp, s, a, from)))
        return;
    r->type = 0;
    r->server = a->server != 0 ? a->server : from;
    r->from = from;
    proxy4_keep(cp, s, a->lease, message, n);
    len = relay4_write(cp, s, message, n, changed_lease(cp, s, a), out);
    if (octets_set(&r->reply, out, len))
        lease_extend(cp, s, proxy4_lease(cp, s, a->lease));
}

/* Only the server that has given the lease can end it: another one knows nothing of it. */
static void nak(struct cp *cp, struct session *s, const struct dhcp4 *a, uint32_t from,
                const uint8_t *message, size_t n)
{
    bool held = lease_is_held(s->lease4);

    if (s->relay->type != DHCP4_REQUEST || (held && s->relay->from != from))
        return;
    session_event(s, "refused by the server");
    pass(cp, s, a, message, n);
    if (!held) {
        lease_withdraw(cp, s);
        return;
    }
    s->relay->expires = 0;
    lease_give_back(cp, s, RADIUS_CAUSE_NAS_REQUEST, "refused by the server");
}

/* The line that a reply is for: that of option 82, which this gateway has written, and no other,
 * whatever client or server say. */
static struct session *line_of(const struct cp *cp, const struct relay *relay,
                               const struct dhcp4 *a)
{
    struct session *s = option82_line(cp, relay_config(relay), &a->relay);

    if (a->op != SERVER_OP || a->giaddr != relay_giaddr(relay) || s == NULL || s->relay == NULL ||
        !relay4_serves(cp, s) || relay4_of(cp, s) != relay)
        return NULL;
    return s->state != SESSION_ENDING && s->lease4 != LEASE_ENDING && s->ppp == NULL ? s : NULL;
}

/* Does its client wait for this reply? */
static bool waits_for(const struct session *s, const struct dhcp4 *a)
{
    const struct relay4 *r = s->relay;

    return r->type != 0 && r->message == NULL && r->xid == a->xid &&
           memcmp(r->mac, a->mac, sizeof(a->mac)) == 0;
}

void relay4_reply(struct cp *cp, struct relay *relay, uint32_t from, const uint8_t *message,
                  size_t n)
{
    struct session *s;
    struct dhcp4 a;

    if (dhcp4_read(message, n, &a) != NULL)
        return;
    s = line_of(cp, relay, &a);
    if (s == NULL || proxy4_reply(cp, s, &a, from, message, n) || !waits_for(s, &a))
        return;
    if (a.type == DHCP4_OFFER)
        offer(cp, s, &a, from, message, n);
    else if (a.type == DHCP4_ACK)
        ack(cp, s, &a, from, message, n);
    else if (a.type == DHCP4_NAK)
        nak(cp, s, &a, from, message, n);
}

/* --- the end --- */

void relay4_cancel(struct session *s)
{
    if (s->relay != NULL && s->relay->message == NULL)
        s->relay->type = 0;
}

void relay4_gone(struct cp *cp, struct session *s)
{
    struct relay *relay = relay4_of(cp, s);
    struct relay4 *r = s->relay;
    struct dhcp4_bytes client, option;
    struct dhcp4_own own = {.type = DHCP4_RELEASE, .client = &client, .relay = &option};
    uint8_t message[RELAY_MESSAGE];

    if (r == NULL)
        return;
    octets_set(&r->ack, NULL, 0);
    r->own_xid = 0;
    if (r->expires <= wall_seconds())
        return;
    r->expires = 0;
    own.ciaddr = s->address;
    own.giaddr = relay_giaddr(relay);
    own.server = r->server;
    memcpy(own.mac, s->mac, sizeof(own.mac));
    (void)!getrandom(&own.xid, sizeof(own.xid), 0);
    octets_copy(&client, r->client);
    option82_write(relay_config(relay), s, pool_config(cp, s)->gateway, true, &option);
    relay_send_to(relay, relay_server4(relay, r->from), false, message,
                  dhcp4_write_own(&own, message, sizeof(message)));
}

char *relay4_text(const struct session *s)
{
    return s->relay != NULL && s->relay->expires != 0 ? state4_text(s->relay) : NULL;
}

void relay4_resume(struct session *s, const char *text)
{
    if (make(s) != NULL && !state4_parse(text, s->relay))
        relay4_free(s);
}

void relay4_free(struct session *s)
{
    state4_free(s->relay);
    s->relay = NULL;
}
