/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/proxy4.h"

#include <string.h>
#include <sys/random.h>

#include "cp/aaa/aaa.h"
#include "cp/lease.h"
#include "cp/packet/dhcp4_copy.h"
#include "cp/relay/option82.h"
#include "cp/relay/relay4.h"
#include "cp/relay/servers.h"
#include "cp/relay/state4.h"

static uint32_t client_lease(const struct cp *cp, const struct session *s)
{
    return relay_config(relay4_of(cp, s))->client_s;
}

uint32_t proxy4_lease(const struct cp *cp, const struct session *s, uint32_t seconds)
{
    uint32_t most = client_lease(cp, s);

    return aaa_lease(s, most != 0 && most < seconds ? most : seconds);
}

void proxy4_keep(struct cp *cp, struct session *s, uint32_t seconds, const uint8_t *message,
                 size_t n)
{
    struct relay4 *r = s->relay;

    r->expires = wall_seconds() + seconds;
    r->lease = seconds;
    octets_set(&r->ack, message, client_lease(cp, s) != 0 ? n : 0);
}

/* --- the server's lease --- */

/* Renew it: with the server that has given it, and from seven eighths on (RFC 2131 section 4.4.5)
 * with whoever knows of it. */
static void renew(struct cp *cp, struct session *s, int64_t left)
{
    struct relay *relay = relay4_of(cp, s);
    struct relay4 *r = s->relay;
    struct dhcp4_bytes client, option;
    struct dhcp4_own own = {.type = DHCP4_REQUEST,
                            .ciaddr = s->address,
                            .giaddr = relay_giaddr(relay),
                            .client = &client,
                            .relay = &option};
    uint8_t message[RELAY_MESSAGE];
    size_t n;

    if (getrandom(&r->own_xid, sizeof(r->own_xid), 0) != sizeof(r->own_xid))
        return;
    own.xid = r->own_xid;
    memcpy(own.mac, s->mac, sizeof(own.mac));
    octets_copy(&client, r->client);
    option82_write(relay_config(relay), s, pool_config(cp, s)->gateway, true, &option);
    n = dhcp4_write_own(&own, message, sizeof(message));
    if (left * 8 > r->lease)
        relay_send_to(relay, relay_server4(relay, r->from), true, message, n);
    else
        relay_send(relay, RELAY_ANYBODY, message, n);
}

bool proxy4_reply(struct cp *cp, struct session *s, const struct dhcp4 *a, uint32_t from,
                  const uint8_t *message, size_t n)
{
    struct relay4 *r = s->relay;

    if (r->own_xid == 0 || r->own_xid != a->xid || !lease_is_held(s->lease4) ||
        memcmp(s->mac, a->mac, sizeof(a->mac)) != 0)
        return false;
    if (a->type == DHCP4_ACK && a->yiaddr == s->address && a->lease != 0) {
        r->own_xid = 0;
        r->server = a->server != 0 ? a->server : from;
        r->from = from;
        proxy4_keep(cp, s, a->lease, message, n);
        session_event(s, "the server's lease is renewed");
        lease_changed(cp, s);
    } else if (a->type == DHCP4_NAK && from == r->from) {
        r->own_xid = 0;
        r->expires = 0;
        lease_give_back(cp, s, RADIUS_CAUSE_NAS_REQUEST, "refused by the server");
    }
    return true;
}

/* --- the client's --- */

bool proxy4_answer(struct cp *cp, struct session *s)
{
    struct relay4 *r = s->relay;
    int64_t left = r->expires - wall_seconds();
    struct dhcp4 q = {.xid = r->xid, .flags = r->flags, .ciaddr = r->ciaddr};
    uint8_t out[RELAY_MESSAGE];
    uint32_t lease;
    size_t n;

    if (r->ack == NULL || r->type != DHCP4_REQUEST || !lease_is_held(s->lease4) ||
        r->ciaddr != s->address || left <= 0)
        return false;
    lease = proxy4_lease(cp, s, (uint32_t)left);
    n = relay4_write(cp, s, r->ack->at, r->ack->n, lease, out);
    if (n == 0 || !octets_set(&r->reply, out, n))
        return false;
    dhcp4_answer_to(r->reply->at, &q);
    octets_set(&r->message, NULL, 0);
    r->type = 0;
    lease_extend(cp, s, lease);
    if (left * 2 <= r->lease)
        renew(cp, s, left);
    return true;
}
