/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/packet.h"

#include <string.h>

#define ATTRIBUTE_HEADER 2 /* type and length */
#define VENDOR_HEADER    6 /* vendor, and type and length of its attribute */
#define PREFIX_HEADER    2 /* a reserved octet and the length */

static void store32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

/* --- building --- */

struct radius_writer radius_begin(uint8_t *packet, enum radius_code code, uint8_t id,
                                  const uint8_t authenticator[RADIUS_AUTHENTICATOR])
{
    packet[0] = (uint8_t)code;
    packet[1] = id;
    packet[2] = packet[3] = 0; /* the length: signing writes it */
    memcpy(packet + 4, authenticator, RADIUS_AUTHENTICATOR);
    return (struct radius_writer){packet, RADIUS_PACKET_MAX, RADIUS_HEADER, false};
}

void radius_put_raw(struct radius_writer *w, struct radius_octets attributes)
{
    if (attributes.n > w->room - w->len) {
        w->overfull = true;
        return;
    }
    if (attributes.n > 0)
        memcpy(w->at + w->len, attributes.p, attributes.n);
    w->len += attributes.n;
}

/* The place of the value of a new attribute with n octets, or NULL. */
static uint8_t *put_header(struct radius_writer *w, enum radius_type type, size_t n)
{
    uint8_t *p = w->at + w->len;

    if (n > RADIUS_VALUE_MAX || n + ATTRIBUTE_HEADER > w->room - w->len) {
        w->overfull = true;
        return NULL;
    }
    p[0] = (uint8_t)type;
    p[1] = (uint8_t)(n + ATTRIBUTE_HEADER);
    w->len += n + ATTRIBUTE_HEADER;
    return p + ATTRIBUTE_HEADER;
}

void radius_put(struct radius_writer *w, enum radius_type type, struct radius_octets value)
{
    uint8_t *p = value.n > 0 ? put_header(w, type, value.n) : NULL;

    if (p != NULL)
        memcpy(p, value.p, value.n);
}

void radius_put_u32(struct radius_writer *w, enum radius_type type, uint32_t value)
{
    uint8_t octets[4];

    store32(octets, value);
    radius_put(w, type, radius_octets(octets, sizeof(octets)));
}

static void store_ipv6(uint8_t p[16], struct ipv6 addr)
{
    store32(p, (uint32_t)(addr.upper >> 32));
    store32(p + 4, (uint32_t)addr.upper);
    store32(p + 8, (uint32_t)(addr.lower >> 32));
    store32(p + 12, (uint32_t)addr.lower);
}

void radius_put_ipv6(struct radius_writer *w, enum radius_type type, struct ipv6 addr)
{
    uint8_t octets[16];

    store_ipv6(octets, addr);
    radius_put(w, type, radius_octets(octets, sizeof(octets)));
}

void radius_put_prefix(struct radius_writer *w, enum radius_type type, struct ipv6 prefix,
                       uint8_t len)
{
    uint8_t octets[PREFIX_HEADER + 16] = {0, len};

    store_ipv6(octets + PREFIX_HEADER, prefix);
    radius_put(w, type, radius_octets(octets, PREFIX_HEADER + (len + 7u) / 8));
}

void radius_put_vendor(struct radius_writer *w, uint32_t vendor, uint8_t type,
                       struct radius_octets value)
{
    uint8_t *p =
        value.n > 0 ? put_header(w, RADIUS_VENDOR_SPECIFIC, VENDOR_HEADER + value.n) : NULL;

    if (p == NULL)
        return;
    store32(p, vendor);
    p[4] = type;
    p[5] = (uint8_t)(ATTRIBUTE_HEADER + value.n);
    memcpy(p + VENDOR_HEADER, value.p, value.n);
}

void radius_put_vendor_u32(struct radius_writer *w, uint32_t vendor, uint8_t type, uint32_t value)
{
    uint8_t octets[4];

    store32(octets, value);
    radius_put_vendor(w, vendor, type, radius_octets(octets, sizeof(octets)));
}

void radius_put_message_authenticator(struct radius_writer *w)
{
    static const uint8_t none[RADIUS_AUTHENTICATOR];

    radius_put(w, RADIUS_MESSAGE_AUTHENTICATOR, radius_octets(none, sizeof(none)));
}

/* --- reading --- */

size_t radius_packet_len(const uint8_t *packet, size_t n)
{
    size_t len, at;

    if (n < RADIUS_HEADER)
        return 0;
    len = (size_t)packet[2] << 8 | packet[3];
    if (len < RADIUS_HEADER || len > RADIUS_PACKET_MAX || len > n)
        return 0;
    for (at = RADIUS_HEADER; at < len; at += packet[at + 1])
        if (len - at < ATTRIBUTE_HEADER || packet[at + 1] < ATTRIBUTE_HEADER)
            return 0;
    return at == len ? len : 0;
}

bool radius_next_attribute(struct radius_reader *r, struct radius_attribute *a)
{
    if (r->at == r->end)
        return false;
    a->type = r->at[0];
    a->value = radius_octets(r->at + ATTRIBUTE_HEADER, r->at[1] - ATTRIBUTE_HEADER);
    r->at += r->at[1];
    return true;
}

bool radius_take_u32(struct radius_octets value, uint32_t *out)
{
    if (value.n != 4)
        return false;
    *out = (uint32_t)value.p[0] << 24 | (uint32_t)value.p[1] << 16 | (uint32_t)value.p[2] << 8 |
           value.p[3];
    return true;
}

static struct ipv6 load_ipv6(const uint8_t p[16])
{
    struct ipv6 addr = {0, 0};

    for (unsigned i = 0; i < 8; i++) {
        addr.upper = addr.upper << 8 | p[i];
        addr.lower = addr.lower << 8 | p[i + 8];
    }
    return addr;
}

bool radius_take_ipv6(struct radius_octets value, struct ipv6 *out)
{
    if (value.n != 16)
        return false;
    *out = load_ipv6(value.p);
    return true;
}

bool radius_take_prefix(struct radius_octets value, struct ipv6 *prefix, uint8_t *len)
{
    uint8_t octets[16] = {0};

    if (value.n < PREFIX_HEADER || value.n > PREFIX_HEADER + sizeof(octets) || value.p[1] > 128 ||
        value.p[1] > 8 * (value.n - PREFIX_HEADER))
        return false;
    memcpy(octets, value.p + PREFIX_HEADER, value.n - PREFIX_HEADER);
    *len = value.p[1];
    *prefix = load_ipv6(octets);
    return same6(*prefix, first6(*prefix, *len));
}
