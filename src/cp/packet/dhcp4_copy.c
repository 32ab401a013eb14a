/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/dhcp4_copy.h"

#include <string.h>

#include "cp/packet/bytes.h"
#include "cp/packet/dhcp4_format.h"

/* Options that are being written. */
struct out {
    uint8_t *at;
    size_t n, room;
    bool full;
};

static void put(struct out *o, uint8_t code, const uint8_t *at, uint8_t n)
{
    if (n > 0 && o->room - o->n < 2u + n)
        o->full = true;
    if (n == 0 || o->full)
        return;
    o->at[o->n] = code;
    o->at[o->n + 1] = n;
    memcpy(o->at + o->n + 2, at, n);
    o->n += 2u + n;
}

static void put_number(struct out *o, uint8_t code, uint32_t v)
{
    uint8_t bytes[4];

    put32(bytes, v);
    put(o, code, bytes, v != 0 ? sizeof(bytes) : 0);
}

static void put_end(struct out *o)
{
    if (o->n == o->room)
        o->full = true;
    else
        o->at[o->n++] = OPT_END;
}

/* Is an option another one's now, or left out? Option 52 stays: so do the fields that it is of. */
static bool is_replaced(const struct dhcp4_change *c, uint8_t code)
{
    return code == OPT_SERVER || code == OPT_RELAY ||
           (c->lease != 0 && (code == OPT_LEASE || code == OPT_T1 || code == OPT_T2));
}

/* The place behind the option, or padding, at place i of a field that was read. */
static size_t behind(const uint8_t *at, size_t i)
{
    return at[i] == OPT_PAD ? i + 1 : i + 2 + at[i + 1];
}

/* Copy the options that stay. Returns the value of option 52. */
static uint8_t copy_options(struct out *o, const struct dhcp4_change *c, const uint8_t *at,
                            size_t n)
{
    uint8_t overload = 0;

    for (size_t i = 0; i < n && at[i] != OPT_END; i = behind(at, i)) {
        if (at[i] == OPT_PAD || is_replaced(c, at[i]))
            continue;
        if (at[i] == OPT_OVERLOAD)
            overload = at[i + 2];
        /* An option without a value, as of RFC 4039, is copied like any other. */
        if (o->room - o->n < 2u + at[i + 1]) {
            o->full = true;
            break;
        }
        memcpy(o->at + o->n, at + i, 2u + at[i + 1]);
        o->n += 2u + at[i + 1];
    }
    return overload;
}

/* Make padding of what is replaced in a field that has options (RFC 2132 section 9.3). */
static void clear_options(const struct dhcp4_change *c, uint8_t *at, size_t n)
{
    for (size_t i = 0, next; i < n && at[i] != OPT_END; i = next) {
        next = behind(at, i);
        if (at[i] != OPT_PAD && is_replaced(c, at[i]))
            memset(at + i, OPT_PAD, next - i);
    }
}

/* The length of a message whose options are written, which are padded to the least one. */
static size_t finish(struct out *o, uint8_t *to)
{
    size_t n = AT_OPTIONS + o->n;

    if (o->full)
        return 0;
    if (n >= DHCP4_LEAST)
        return n;
    memset(to + n, OPT_PAD, DHCP4_LEAST - n);
    return DHCP4_LEAST;
}

size_t dhcp4_copy(const uint8_t *at, size_t n, const struct dhcp4_change *c, uint8_t *to,
                  size_t room)
{
    struct out o = {.at = to + AT_OPTIONS, .room = room - AT_OPTIONS};
    uint8_t overload;

    if (room < DHCP4_LEAST)
        return 0;
    memcpy(to, at, AT_OPTIONS);
    to[AT_HOPS] = c->hops;
    put32(to + AT_GIADDR, c->giaddr);
    overload = copy_options(&o, c, at + AT_OPTIONS, n - AT_OPTIONS);
    if ((overload & OVERLOAD_FILE) != 0)
        clear_options(c, to + AT_FILE, FILE_LEN);
    if ((overload & OVERLOAD_SNAME) != 0)
        clear_options(c, to + AT_SNAME, SNAME_LEN);
    put_number(&o, OPT_SERVER, c->server);
    put_number(&o, OPT_LEASE, c->lease);
    put_number(&o, OPT_T1, c->lease / 2);
    put_number(&o, OPT_T2, (uint32_t)((uint64_t)c->lease * 7 / 8));
    if (c->relay != NULL)
        put(&o, OPT_RELAY, c->relay->at, c->relay->n); /* the last: RFC 3046 section 2.1 */
    put_end(&o);
    return finish(&o, to);
}

void dhcp4_answer_to(uint8_t *message, const struct dhcp4 *request)
{
    put32(message + AT_XID, request->xid);
    put16(message + AT_FLAGS, request->flags);
    put32(message + AT_CIADDR, request->ciaddr);
}

size_t dhcp4_write_own(const struct dhcp4_own *own, uint8_t *to, size_t room)
{
    struct out o = {.at = to + AT_OPTIONS, .room = room - AT_OPTIONS};

    if (room < DHCP4_LEAST)
        return 0;
    memset(to, 0, AT_OPTIONS);
    to[AT_OP] = 1;
    to[AT_HTYPE] = DHCP4_ETHERNET;
    to[AT_HLEN] = MAC_LEN;
    to[AT_HOPS] = 1;
    put32(to + AT_XID, own->xid);
    put32(to + AT_CIADDR, own->ciaddr);
    put32(to + AT_GIADDR, own->giaddr);
    memcpy(to + AT_CHADDR, own->mac, MAC_LEN);
    put32(to + AT_COOKIE, DHCP4_COOKIE);
    put(&o, OPT_TYPE, &own->type, 1);
    put_number(&o, OPT_SERVER, own->server);
    put(&o, OPT_CLIENT, own->client->at, own->client->n);
    put(&o, OPT_RELAY, own->relay->at, own->relay->n);
    put_end(&o);
    return finish(&o, to);
}
