/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/dhcp6.h"

#include <string.h>

#include "cp/packet/bytes.h"

/* Options: RFC 8415 section 21, RFC 3646. The identity associations are enum dhcp6_kind. */
enum {
    OPT_CLIENT = 1,
    OPT_SERVER = 2,
    OPT_ADDRESS = 5,
    OPT_ASKED = 6,
    OPT_ELAPSED = 8,
    OPT_STATUS = 13,
    OPT_RAPID = 14,
    OPT_DNS = 23,
    OPT_DOMAINS = 24,
    OPT_PREFIX = 26,
    OPT_REFRESH = 32,
};

/* Bytes of headers, and of the fixed fields of options. */
enum {
    MESSAGE_LEN = 4,
    OPTION_LEN = 4,
    ADDRESS_LEN = 24,
    PREFIX_LEN = 25,
    STATUS_LEN = 2,
    ELAPSED_LEN = 2,
    IA_LEN = 12,
    IA_TA_LEN = 4,
    LEAST_DUID = 3, /* RFC 8415 section 11.1: a type, and what it is about */
};

#define LONGEST_DOMAIN 253
#define LONGEST_LABEL  63

static const char *const type_names[] = {
    "?",          "SOLICIT",   "ADVERTISE", "REQUEST", "CONFIRM",     "RENEW",
    "REBIND",     "REPLY",     "RELEASE",   "DECLINE", "RECONFIGURE", "INFORMATION-REQUEST",
    "RELAY-FORW", "RELAY-REPL"};

const char *dhcp6_type_name(uint8_t type)
{
    return type_names[type < sizeof(type_names) / sizeof(type_names[0]) ? type : 0];
}

bool dhcp6_same_duid(const struct dhcp6_duid *a, const struct dhcp6_duid *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

/* --- reading --- */

/* Options that are still to be read, one of which is at hand. */
struct options {
    const uint8_t *at;
    size_t left;
    uint16_t code, n; /* of the one at hand */
    const uint8_t *value;
};

static const char beyond[] = "an option goes beyond the end of what it is in",
                  short_option[] = "an option is shorter than its fixed fields",
                  twice[] = "an option that may be there once is there twice",
                  too_many[] = "it has more identity associations or leases than are read";

/* Take the next option in hand. Returns false at the end, or where *wrong is set. */
static bool next_option(struct options *o, const char **wrong)
{
    if (o->left == 0 || *wrong != NULL)
        return false;
    if (o->left < OPTION_LEN || get16(o->at + 2) > o->left - OPTION_LEN) {
        *wrong = beyond;
        return false;
    }
    o->code = get16(o->at);
    o->n = get16(o->at + 2);
    o->value = o->at + OPTION_LEN;
    o->at += OPTION_LEN + o->n;
    o->left -= OPTION_LEN + (size_t)o->n;
    return true;
}

static const char *read_duid(const struct options *o, struct dhcp6_duid *d)
{
    if (d->n != 0)
        return twice;
    if (o->n < LEAST_DUID || o->n > DHCP6_MAX_DUID)
        return "a DUID has not 3 to 130 bytes";
    d->n = (uint8_t)o->n;
    memcpy(d->at, o->value, o->n);
    return NULL;
}

static const char *read_asked(const struct options *o, struct dhcp6 *m)
{
    if (o->n % 2 != 0)
        return "the list of options that are asked for has an odd length";
    for (uint16_t i = 0; i < o->n; i += 2) {
        uint16_t code = get16(o->value + i);

        m->wants_dns |= code == OPT_DNS;
        m->wants_domain |= code == OPT_DOMAINS;
        m->wants_refresh |= code == OPT_REFRESH;
    }
    return NULL;
}

static const char *read_status(const struct options *o, uint16_t *status)
{
    if (o->n < STATUS_LEN)
        return short_option;
    *status = get16(o->value);
    return NULL;
}

static bool is_servers(const struct dhcp6 *m)
{
    return m->type == DHCP6_ADVERTISE || m->type == DHCP6_REPLY;
}

/* An address or a prefix of the identity association that was begun last. */
static const char *read_lease(const struct options *o, struct dhcp6 *m)
{
    bool prefix = o->code == OPT_PREFIX;
    const uint8_t *p = o->value, *times = prefix ? p : p + 16;
    struct dhcp6_lease *l;

    if (o->n < (prefix ? PREFIX_LEN : ADDRESS_LEN))
        return short_option;
    if (m->n_lease == (is_servers(m) ? DHCP6_ROOM_LEASES : DHCP6_MAX_LEASES))
        return too_many;
    l = &m->lease[m->n_lease++];
    l->ia = (uint8_t)(m->n_ia - 1);
    l->len = prefix ? p[8] : 128;
    l->preferred = get32(times);
    l->valid = get32(times + 4);
    if (l->len > 128)
        return "a prefix is longer than 128 bits";
    l->address = first6(get_ipv6(prefix ? p + 9 : p), l->len);
    return NULL;
}

/* What is not for this kind of identity association is left out of account. */
static const char *read_in_ia(const struct options *o, struct dhcp6 *m, struct dhcp6_ia *ia)
{
    if (o->code == (ia->kind == DHCP6_IA_PD ? OPT_PREFIX : OPT_ADDRESS))
        return read_lease(o, m);
    if (o->code == OPT_STATUS)
        return read_status(o, &ia->status);
    return NULL;
}

static const char *read_ia(const struct options *o, struct dhcp6 *m)
{
    size_t fixed = o->code == DHCP6_IA_TA ? IA_TA_LEN : IA_LEN;
    struct options in = {.left = 0};
    const char *wrong = NULL;
    struct dhcp6_ia *ia;

    if (o->n < fixed)
        return short_option;
    if (m->n_ia == DHCP6_MAX_IAS)
        return too_many;
    ia = &m->ia[m->n_ia++];
    *ia = (struct dhcp6_ia){.kind = (uint8_t)o->code, .iaid = get32(o->value)};
    if (fixed == IA_LEN) {
        ia->t1 = get32(o->value + 4);
        ia->t2 = get32(o->value + 8);
    }
    in.at = o->value + fixed;
    in.left = o->n - fixed;
    while (next_option(&in, &wrong))
        wrong = read_in_ia(&in, m, ia);
    return wrong;
}

static const char *read_option(const struct options *o, struct dhcp6 *m)
{
    switch (o->code) {
    case OPT_CLIENT:
        return read_duid(o, &m->client);
    case OPT_SERVER:
        return read_duid(o, &m->server);
    case OPT_ASKED:
        return read_asked(o, m);
    case OPT_RAPID:
        m->rapid = true;
        return NULL;
    case OPT_STATUS:
        m->has_status = true;
        return read_status(o, &m->status);
    case DHCP6_IA_NA:
    case DHCP6_IA_TA:
    case DHCP6_IA_PD:
        return read_ia(o, m);
    default:
        return NULL;
    }
}

const char *dhcp6_read(const uint8_t *at, size_t n, struct dhcp6 *m)
{
    struct options o = {.left = 0};
    const char *wrong = NULL;

    *m = (struct dhcp6){0};
    if (n < MESSAGE_LEN)
        return "it is shorter than its header";
    m->type = at[0];
    m->xid = get32(at) & 0xffffff;
    if (m->type == DHCP6_RELAY_FORW || m->type == DHCP6_RELAY_REPL)
        return "it comes from a relay";
    o.at = at + MESSAGE_LEN;
    o.left = n - MESSAGE_LEN;
    while (next_option(&o, &wrong))
        wrong = read_option(&o, m);
    return wrong;
}

/* --- writing --- */

struct out {
    uint8_t *to;
    size_t room, n;
    bool full;
};

/* Room for n bytes that are to be filled; NULL: there is none. */
static uint8_t *more(struct out *o, size_t n)
{
    uint8_t *p = o->to + o->n;

    o->full |= n > o->room - o->n;
    if (o->full)
        return NULL;
    o->n += n;
    return memset(p, 0, n);
}

/* An option whose value has n bytes at first. Returns where they are. */
static uint8_t *begin_option(struct out *o, uint16_t code, size_t n)
{
    uint8_t *p = more(o, OPTION_LEN + n);

    if (p == NULL)
        return NULL;
    put16(p, code);
    put16(p + 2, (uint16_t)n);
    return p + OPTION_LEN;
}

/* The option that begins there has all that was written since. */
static void end_option(struct out *o, uint8_t *value)
{
    if (!o->full)
        put16(value - 2, (uint16_t)(o->to + o->n - value));
}

static void put_bytes(struct out *o, uint16_t code, const void *bytes, size_t n)
{
    uint8_t *p = n > 0 ? begin_option(o, code, n) : NULL;

    if (p != NULL)
        memcpy(p, bytes, n);
}

static void put_status(struct out *o, uint16_t status, const char *text)
{
    size_t n = text != NULL ? strlen(text) : 0;
    uint8_t *p = begin_option(o, OPT_STATUS, STATUS_LEN + n);

    if (p == NULL)
        return;
    put16(p, status);
    if (n > 0)
        memcpy(p + STATUS_LEN, text, n);
}

static void put_lease(struct out *o, const struct dhcp6_lease *l, bool prefix)
{
    uint8_t *p =
        begin_option(o, prefix ? OPT_PREFIX : OPT_ADDRESS, prefix ? PREFIX_LEN : ADDRESS_LEN);

    if (p == NULL)
        return;
    put32(prefix ? p : p + 16, l->preferred);
    put32(prefix ? p + 4 : p + 20, l->valid);
    if (prefix)
        p[8] = l->len;
    put_ipv6(prefix ? p + 9 : p, l->address);
}

static void put_ia(struct out *o, const struct dhcp6 *m, unsigned i)
{
    const struct dhcp6_ia *ia = &m->ia[i];
    uint8_t *p = begin_option(o, ia->kind, ia->kind == DHCP6_IA_TA ? IA_TA_LEN : IA_LEN);

    if (p == NULL)
        return;
    put32(p, ia->iaid);
    if (ia->kind != DHCP6_IA_TA) {
        put32(p + 4, ia->t1);
        put32(p + 8, ia->t2);
    }
    for (unsigned k = 0; k < m->n_lease; k++)
        if (m->lease[k].ia == i)
            put_lease(o, &m->lease[k], ia->kind == DHCP6_IA_PD);
    if (ia->status != DHCP6_SUCCESS)
        put_status(o, ia->status, ia->text);
    end_option(o, p);
}

bool dhcp6_is_domain(const char *text)
{
    size_t n = strlen(text), label = 0;

    if (n == 0 || n > LONGEST_DOMAIN)
        return false;
    for (size_t i = 0; i <= n; i++) {
        if (text[i] != '.' && text[i] != '\0') {
            label++;
            continue;
        }
        if (label == 0 || label > LONGEST_LABEL)
            return false;
        label = 0;
    }
    return true;
}

/* A name in the form of RFC 1035 section 3.1: each label behind its length. */
static void put_domain(struct out *o, const char *name)
{
    size_t n = strlen(name);
    uint8_t *p = begin_option(o, OPT_DOMAINS, n + 2), *length;

    if (p == NULL)
        return;
    length = p;
    memcpy(p + 1, name, n);
    for (size_t i = 1; i <= n; i++) {
        if (p[i] == '.')
            length = p + i;
        else
            *length = (uint8_t)(p + i - length);
    }
}

static void put_network(struct out *o, const struct dhcp6 *m, const struct dhcp6_network *w)
{
    uint8_t *p;

    if (m->wants_dns && w->n_dns > 0) {
        p = begin_option(o, OPT_DNS, 16u * w->n_dns);
        for (unsigned i = 0; p != NULL && i < w->n_dns; i++)
            put_ipv6(p + (size_t)16 * i, w->dns[i]);
    }
    if (m->wants_domain && w->domain != NULL)
        put_domain(o, w->domain);
    if (m->wants_refresh && w->refresh_s != 0) {
        p = begin_option(o, OPT_REFRESH, 4);
        if (p != NULL)
            put32(p, w->refresh_s);
    }
}

size_t dhcp6_write(const struct dhcp6 *m, const struct dhcp6_network *network, uint8_t *to,
                   size_t room)
{
    struct out o = {.to = to, .room = room};
    uint8_t *p = more(&o, MESSAGE_LEN);

    if (p == NULL)
        return 0;
    put32(p, (uint32_t)m->type << 24 | (m->xid & 0xffffff));
    put_bytes(&o, OPT_CLIENT, m->client.at, m->client.n);
    put_bytes(&o, OPT_SERVER, m->server.at, m->server.n);
    if (m->begins)
        begin_option(&o, OPT_ELAPSED, ELAPSED_LEN);
    if (m->rapid)
        begin_option(&o, OPT_RAPID, 0);
    if (m->has_status)
        put_status(&o, m->status, m->text);
    for (unsigned i = 0; i < m->n_ia; i++)
        put_ia(&o, m, i);
    if (network != NULL)
        put_network(&o, m, network);
    return o.full ? 0 : o.n;
}
