/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/ipoe4.h"

#include <string.h>

#include "base/units.h"
#include "cp/aaa/aaa.h"
#include "cp/lease.h"
#include "cp/punt.h"
#include "cp/relay/relay4.h"
#include "cp/packet/udp4.h"

#define BROADCAST 0xffffffffu
#define CLIENT_OP 1
#define FRAME     1514 /* bytes of the largest frame */

static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* --- replies --- */

/* What all replies tell of the network: nothing of a lease. */
static struct dhcp4_reply reply_of(const struct cp *cp, const struct session *s, uint8_t type)
{
    const struct cp_pool *p = pool_config(cp, s);
    struct dhcp4_reply r = {.type = type,
                            .server = p->gateway,
                            .mask = (uint32_t)(UINT64_C(0xffffffff) << (32 - p->len)),
                            .router = p->gateway,
                            .n_dns = p->n_dns,
                            .domain = p->domain};

    r.broadcast = p->prefix | ~r.mask;
    memcpy(r.dns, p->dns, sizeof(r.dns));
    return r;
}

/* Where a reply goes: RFC 2131 section 4.1, without a relay. */
static void address_reply(const struct dhcp4 *q, const struct dhcp4_reply *r, struct udp4 *u)
{
    bool all = r->type == DHCP4_NAK || (q->ciaddr == 0 && (q->flags & DHCP4_BROADCAST) != 0);

    memcpy(u->to_mac, all ? everybody : q->mac, sizeof(u->to_mac));
    u->to = all ? BROADCAST : q->ciaddr != 0 ? q->ciaddr : r->address;
    u->to_port = DHCP4_CLIENT_PORT;
    u->from_port = DHCP4_SERVER_PORT;
    u->from = r->server;
}

static void send_reply(struct cp *cp, struct session *s, const struct dhcp4 *q,
                       const struct dhcp4_reply *r)
{
    const struct punt_port *port = punt_port(cp->punt, s->access->port);
    uint8_t frame[FRAME];
    struct udp4 u = {.data = frame + UDP4_HEADERS};
    size_t room = FRAME;

    if (port == NULL)
        return;
    if (port->mtu < room - 14)
        room = port->mtu + 14u;
    memcpy(u.from_mac, port->mac, sizeof(u.from_mac));
    address_reply(q, r, &u);
    u.n = dhcp4_write(q, r, frame + UDP4_HEADERS, room - UDP4_HEADERS);
    punt_send(cp->punt, PUNT_DHCP4, s, frame, udp4_write(&u, frame, sizeof(frame)));
}

bool ipoe4_pass(struct cp *cp, struct session *s, const struct dhcp4 *q,
                const struct dhcp4_reply *r, const uint8_t *message, size_t n)
{
    const struct punt_port *port = punt_port(cp->punt, s->access->port);
    struct udp4 u = {.data = message, .n = n};
    uint8_t frame[FRAME];

    if (port == NULL)
        return true; /* as a frame that is lost */
    if (n + UDP4_HEADERS > sizeof(frame) || n + UDP4_HEADERS > port->mtu + 14u)
        return false;
    memcpy(u.from_mac, port->mac, sizeof(u.from_mac));
    address_reply(q, r, &u);
    punt_send(cp->punt, PUNT_DHCP4, s, frame, udp4_write(&u, frame, sizeof(frame)));
    return true;
}

static void send_lease(struct cp *cp, struct session *s, const struct dhcp4 *q, uint8_t type)
{
    struct dhcp4_reply r = reply_of(cp, s, type);

    r.address = s->address;
    r.lease = aaa_lease(s, pool_config(cp, s)->lease_s);
    send_reply(cp, s, q, &r);
}

void ipoe4_acknowledge(struct cp *cp, struct session *s, const struct dhcp4 *request)
{
    send_lease(cp, s, request, DHCP4_ACK);
}

static void refuse(struct cp *cp, struct session *s, const struct dhcp4 *q, const char *why)
{
    struct dhcp4_reply r = {.type = DHCP4_NAK, .server = pool_config(cp, s)->gateway, .text = why};

    session_event(s, "refused: %s", why);
    sessions_fail(&cp->sessions, FAIL_NAK);
    send_reply(cp, s, q, &r);
}

/* --- requests --- */

static bool has_lease(const struct session *s)
{
    return lease_is_held(s->lease4);
}

static bool is_client(const struct session *s, const struct dhcp4 *q)
{
    return memcmp(s->mac, q->mac, sizeof(s->mac)) == 0;
}

/* Does the request name this server, or none? */
static bool is_for_us(const struct cp *cp, const struct session *s, const struct dhcp4 *q)
{
    return q->server == 0 || q->server == pool_config(cp, s)->gateway;
}

void ipoe4_authorized(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    char address[20];

    if (relay4_serves(cp, s)) {
        relay4_forward(cp, s);
        return;
    }
    if (!has_lease(s) && !lease_offer(cp, s, q->mac, q->requested)) {
        bool is_said = s->service != NULL && s->service->ipv4 != 0;

        sessions_fail(&cp->sessions, is_said ? FAIL_TAKEN : FAIL_POOL);
        if (is_said)
            session_log(s, "refused: %s, which RADIUS says, is another's",
                        format_ipv4(s->service->ipv4, address, sizeof(address)));
        else
            session_log(s, "refused: pool %s has no free address", pool_config(cp, s)->name);
        return;
    }
    session_event(s, "offered %s", format_ipv4(s->address, address, sizeof(address)));
    send_lease(cp, s, q, DHCP4_OFFER);
}

/* Who has a session or an offer, of either family, was let in. */
static void discover(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    bool is_new = s->state == SESSION_NONE || s->state == SESSION_ASKING || !is_client(s, q);

    if (cp->aaa == NULL || !is_new) {
        ipoe4_authorized(cp, s, q);
        return;
    }
    lease_withdraw_all(cp, s);
    aaa_ask4(cp, s, q);
}

/* Nobody need be asked, or has been asked for the other family. */
static bool may_take_unoffered(const struct cp *cp, const struct session *s)
{
    return cp->aaa == NULL ||
           (s->state != SESSION_NONE && s->service != NULL && s->service->ipv4 == 0);
}

/* A message about a lease that servers behind this gateway give, which relay4_take() has taken. */
static void relay_request(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (q->server != 0 && !is_for_us(cp, s, q)) {
        session_event(s, "took another server's offer");
        lease_withdraw(cp, s);
    } else if (cp->aaa != NULL && s->state == SESSION_NONE && q->ciaddr != 0) {
        refuse(cp, s, q, "there is no session");
    } else if (cp->aaa != NULL && s->state == SESSION_NONE) {
        session_event(s, "asked for an address of before: no session");
    } else {
        relay4_forward(cp, s);
    }
}

/* The client takes an offer, of this server or another: RFC 2131 section 4.3.2, SELECTING. */
static void select_offer(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (!is_for_us(cp, s, q)) {
        session_event(s, "took another server's offer");
        lease_withdraw(cp, s);
        return;
    }
    /* An offer that this server no longer knows, because it was started since, is as good. */
    if (may_take_unoffered(cp, s) && lease_take(cp, s, q->mac, q->requested))
        session_event(s, "took an offer of before");
    if (s->lease4 != LEASE_NONE && s->address == q->requested)
        lease_grant(cp, s, q);
    else
        refuse(cp, s, q, "the address is not offered any more");
}

/* The client has an address, and asks whether it still may: INIT-REBOOT. */
static void reboot(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    const struct cp_pool *p = pool_config(cp, s);
    uint32_t mask = (uint32_t)(UINT64_C(0xffffffff) << (32 - p->len));

    if (has_lease(s) && s->address == q->requested)
        lease_grant(cp, s, q);
    else if (has_lease(s) || (q->requested & mask) != p->prefix)
        refuse(cp, s, q, "the address is not this client's");
    else
        session_event(s, "asked for an address of before: no session"); /* must be silent */
}

/* RENEWING, and REBINDING. */
static void renew(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (has_lease(s) && s->address == q->ciaddr)
        lease_grant(cp, s, q);
    else
        refuse(cp, s, q, "there is no lease of this address");
}

static void request(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (relay4_serves(cp, s))
        relay_request(cp, s, q);
    else if (q->server != 0 && q->requested != 0)
        select_offer(cp, s, q);
    else if (q->ciaddr != 0)
        renew(cp, s, q);
    else if (q->requested != 0)
        reboot(cp, s, q);
    else
        session_event(s, "ignored: a REQUEST for no address");
}

static void decline(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (!has_lease(s) || s->address != q->requested || !is_for_us(cp, s, q))
        return;
    if (relay4_serves(cp, s))
        relay4_decline(cp, s);
    s->declined = !relay4_serves(cp, s); /* else the server leaves it alone */
    lease_give_back(cp, s, RADIUS_CAUSE_NAS_REQUEST, "declined, the address is in use elsewhere");
}

static void release(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    if (has_lease(s) && s->address == q->ciaddr && is_for_us(cp, s, q))
        lease_give_back(cp, s, RADIUS_CAUSE_USER_REQUEST, "released");
}

static void inform(struct cp *cp, struct session *s, const struct dhcp4 *q)
{
    struct dhcp4_reply r = reply_of(cp, s, DHCP4_ACK);

    if (!has_lease(s) || s->address != q->ciaddr)
        return;
    if (relay4_serves(cp, s))
        relay4_forward(cp, s);
    else
        send_reply(cp, s, q, &r);
}

static void (*const handlers[])(struct cp *cp, struct session *s, const struct dhcp4 *q) = {
    [DHCP4_DISCOVER] = discover, [DHCP4_REQUEST] = request, [DHCP4_DECLINE] = decline,
    [DHCP4_RELEASE] = release,   [DHCP4_INFORM] = inform,
};

/* --- messages --- */

/* Why a message is not answered, whatever it asks for; NULL: it is. */
static const char *unfit(const struct session *s, const struct dhcp4 *q)
{
    if (q->op != CLIENT_OP || q->type >= sizeof(handlers) / sizeof(handlers[0]) ||
        handlers[q->type] == NULL)
        return "it is no client's";
    if (q->giaddr != 0)
        return "it comes from a relay";
    if ((q->mac[0] & 1) != 0)
        return "its MAC is not a host's";
    if (s->state == SESSION_ENDING || s->lease4 == LEASE_ENDING)
        return "the session before it is still ending";
    if (s->ppp != NULL)
        return "the line has a PPPoE session";
    if (s->state == SESSION_ASKING && q->type != DHCP4_DISCOVER)
        return "RADIUS has not answered yet";
    if (s->state != SESSION_NONE && !is_client(s, q) &&
        !(s->state == SESSION_OFFERED && q->type == DHCP4_DISCOVER))
        return "another MAC has the line's session";
    return NULL;
}

static const char *read_message(const struct punt_header *h, const uint8_t *frame, struct udp4 *u,
                                struct dhcp4 *q)
{
    const char *wrong = udp4_read(frame, h->frame_bytes, u);

    if (wrong == NULL && (u->to_port != DHCP4_SERVER_PORT || u->from_port != DHCP4_CLIENT_PORT))
        wrong = "its ports are not those of DHCP";
    return wrong != NULL ? wrong : dhcp4_read(u->data, u->n, q);
}

void ipoe4_take(struct cp *cp, const struct punt_header *h, const uint8_t *frame)
{
    const struct cp_access *a = cp_config_access(cp->config, h->port, h->svlan, h->cvlan);
    struct session *s = NULL;
    const char *wrong;
    struct udp4 u;
    struct dhcp4 q;
    char mac[20];

    if (a != NULL && a->pool != CP_NO_POOL)
        s = session_get(&cp->sessions, a, h->svlan, h->cvlan);
    if (s == NULL)
        return;
    wrong = read_message(h, frame, &u, &q);
    if (wrong != NULL) {
        session_event(s, "not understood: %s", wrong);
        sessions_fail(&cp->sessions, FAIL_MALFORMED);
        return;
    }
    wrong = unfit(s, &q);
    if (wrong == NULL && relay4_serves(cp, s))
        wrong = relay4_take(cp, s, &q, u.data, u.n, u.to == pool_config(cp, s)->gateway);
    if (wrong == NULL) {
        handlers[q.type](cp, s, &q);
        return;
    }
    session_event(s, "%s of %s ignored: %s", dhcp4_type_name(q.type),
                  format_mac(q.mac, mac, sizeof(mac)), wrong);
    sessions_fail(&cp->sessions, FAIL_IGNORED);
}
