/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/dhcp4.h"

#include <string.h>

#include "cp/packet/bytes.h"
#include "cp/packet/dhcp4_format.h"

#define UDP_IP     28  /* bytes of the two headers that option 57 counts, too */
#define LEAST_SIZE 576 /* of a datagram, which every client takes: RFC 2131 section 2 */

static const char *const type_names[] = {"?",   "DISCOVER", "OFFER",   "REQUEST", "DECLINE",
                                         "ACK", "NAK",      "RELEASE", "INFORM"};

const char *dhcp4_type_name(uint8_t type)
{
    return type_names[type < sizeof(type_names) / sizeof(type_names[0]) ? type : 0];
}

/* --- reading --- */

/* The options that are read, and how many bytes each must have; 0: one or more. */
enum { READ_REQUESTED, READ_LEASE, READ_OVERLOAD, READ_TYPE, READ_SERVER, READ_MAX_SIZE, N_READ };
static const struct {
    uint8_t code, len;
} fixed[N_READ] = {
    [READ_REQUESTED] = {OPT_REQUESTED, 4}, [READ_LEASE] = {OPT_LEASE, 4},
    [READ_OVERLOAD] = {OPT_OVERLOAD, 1},   [READ_TYPE] = {OPT_TYPE, 1},
    [READ_SERVER] = {OPT_SERVER, 4},       [READ_MAX_SIZE] = {OPT_MAX_SIZE, 2},
};

struct reading {
    struct dhcp4 *m;
    uint8_t value[N_READ][4];
    bool there[N_READ];
};

static const char *join(struct dhcp4_bytes *b, const uint8_t *at, uint8_t n)
{
    if (n > sizeof(b->at) - b->n)
        return "an option is longer than 255 bytes";
    memcpy(b->at + b->n, at, n);
    b->n = (uint8_t)(b->n + n);
    return NULL;
}

static const char *read_option(struct reading *r, uint8_t code, const uint8_t *at, uint8_t n)
{
    struct dhcp4_bytes *b = code == OPT_PARAMS   ? &r->m->params
                            : code == OPT_CLIENT ? &r->m->client
                            : code == OPT_RELAY  ? &r->m->relay
                                                 : NULL;

    if (b != NULL)
        return join(b, at, n);
    for (unsigned i = 0; i < N_READ; i++) {
        if (fixed[i].code != code)
            continue;
        if (n != fixed[i].len)
            return "an option has another length than RFC 2132 says";
        memcpy(r->value[i], at, n);
        r->there[i] = true;
    }
    return NULL;
}

/* Read the options of one field. A field may end without the option 255. */
static const char *read_field(struct reading *r, const uint8_t *at, size_t n)
{
    const char *wrong = NULL;
    size_t i = 0;

    while (wrong == NULL && i < n && at[i] != OPT_END) {
        if (at[i] == OPT_PAD) {
            i++;
            continue;
        }
        if (n - i < 2 || at[i + 1] > n - i - 2)
            return "an option goes beyond the end of its field";
        wrong = read_option(r, at[i], at + i + 2, at[i + 1]);
        i += 2u + at[i + 1];
    }
    return wrong;
}

static uint32_t value32(const struct reading *r, unsigned i)
{
    return r->there[i] ? get32(r->value[i]) : 0;
}

static const char *read_options(struct reading *r, const uint8_t *at, size_t n)
{
    const char *wrong = read_field(r, at + AT_OPTIONS, n - AT_OPTIONS);
    uint8_t more = r->there[READ_OVERLOAD] ? r->value[READ_OVERLOAD][0] : 0;

    if (wrong == NULL && (more & OVERLOAD_FILE) != 0)
        wrong = read_field(r, at + AT_FILE, FILE_LEN);
    if (wrong == NULL && (more & OVERLOAD_SNAME) != 0)
        wrong = read_field(r, at + AT_SNAME, SNAME_LEN);
    if (wrong == NULL && !r->there[READ_TYPE])
        wrong = "it has no message type, as a message of BOOTP has none";
    return wrong;
}

const char *dhcp4_read(const uint8_t *at, size_t n, struct dhcp4 *m)
{
    struct reading r = {.m = m};
    const char *wrong;

    *m = (struct dhcp4){0};
    if (n < AT_OPTIONS)
        return "it is shorter than its fixed fields";
    if (get32(at + AT_COOKIE) != DHCP4_COOKIE)
        return "it has no magic cookie";
    if (at[AT_HTYPE] != DHCP4_ETHERNET || at[AT_HLEN] != MAC_LEN)
        return "its hardware address is not of Ethernet";
    wrong = read_options(&r, at, n);
    if (wrong != NULL)
        return wrong;
    m->op = at[AT_OP];
    m->hops = at[AT_HOPS];
    m->xid = get32(at + AT_XID);
    m->secs = get16(at + AT_SECS);
    m->flags = get16(at + AT_FLAGS);
    m->ciaddr = get32(at + AT_CIADDR);
    m->yiaddr = get32(at + AT_YIADDR);
    m->siaddr = get32(at + AT_SIADDR);
    m->giaddr = get32(at + AT_GIADDR);
    memcpy(m->mac, at + AT_CHADDR, MAC_LEN);
    m->type = r.value[READ_TYPE][0];
    m->requested = value32(&r, READ_REQUESTED);
    m->server = value32(&r, READ_SERVER);
    m->lease = value32(&r, READ_LEASE);
    m->max_size = r.there[READ_MAX_SIZE] ? get16(r.value[READ_MAX_SIZE]) : 0;
    return NULL;
}

/* --- writing --- */

#define MAX_OPTIONS 20

/* An option that shall be written. */
struct option {
    uint8_t code, n;
    const uint8_t *at;
};

struct options {
    struct option list[MAX_OPTIONS];
    unsigned n;
    uint8_t numbers[16 * 4 + 4]; /* values of those that are no copies */
    size_t used;
};

static void add_bytes(struct options *o, uint8_t code, const void *at, size_t n)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->list[i].code == code)
            return;
    if (n > 0)
        o->list[o->n++] = (struct option){code, (uint8_t)n, at};
}

static void add_numbers(struct options *o, uint8_t code, const uint32_t *v, unsigned n)
{
    uint8_t *at = o->numbers + o->used;

    for (unsigned i = 0; i < n; i++)
        put32(at + 4 * i, v[i]);
    o->used += 4 * n;
    add_bytes(o, code, at, 4 * n);
}

static void add_number(struct options *o, uint8_t code, uint32_t v)
{
    if (v != 0)
        add_numbers(o, code, &v, 1);
}

/* Add what a client may ask for by option 55, if there is any. Each is asked for once: add_bytes()
 * looks, and numbers are not written a second time. */
static void add_asked(struct options *o, uint8_t code, const struct dhcp4_reply *r)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->list[i].code == code)
            return;
    switch (code) {
    case OPT_MASK:
        add_number(o, code, r->mask);
        break;
    case OPT_ROUTER:
        add_asked(o, OPT_MASK, r); /* comes before it: RFC 2132 section 3.3 */
        add_number(o, code, r->router);
        break;
    case OPT_DNS:
        add_numbers(o, code, r->dns, r->n_dns);
        break;
    case OPT_DOMAIN:
        if (r->domain != NULL)
            add_bytes(o, code, r->domain, strlen(r->domain));
        break;
    case OPT_BROADCAST:
        add_number(o, code, r->broadcast);
        break;
    case OPT_T1:
        add_number(o, code, r->lease / 2);
        break;
    case OPT_T2:
        add_number(o, code, (uint32_t)((uint64_t)r->lease * 7 / 8));
        break;
    default:
        break;
    }
}

static void gather(struct options *o, const struct dhcp4 *q, const struct dhcp4_reply *r)
{
    static const uint8_t all[] = {OPT_MASK,      OPT_ROUTER, OPT_DNS, OPT_DOMAIN,
                                  OPT_BROADCAST, OPT_T1,     OPT_T2};

    add_bytes(o, OPT_TYPE, &r->type, 1);
    add_number(o, OPT_SERVER, r->server);
    add_number(o, OPT_LEASE, r->lease);
    if (r->text != NULL)
        add_bytes(o, OPT_MESSAGE, r->text, strlen(r->text));
    for (unsigned i = 0; i < q->params.n; i++)
        add_asked(o, q->params.at[i], r);
    /* Without a list, all; with one, still T1 and T2, which RFC 2131 table 3 lets a server say. */
    for (unsigned i = q->params.n == 0 ? 0 : sizeof(all) - 2; i < sizeof(all); i++)
        add_asked(o, all[i], r);
    add_bytes(o, OPT_CLIENT, q->client.at, q->client.n);
    add_bytes(o, OPT_RELAY, q->relay.at, q->relay.n); /* the last: RFC 3046 section 2.2 */
}

/* A field that takes options; one byte of room is kept for its end. */
struct field {
    uint8_t *at;
    size_t room, n;
    uint8_t overload; /* its bit in option 52 */
};

static bool put_option(struct field *f, const struct option *o)
{
    if (f->room < f->n + 2u + o->n + 1u)
        return false;
    f->at[f->n] = o->code;
    f->at[f->n + 1] = o->n;
    memcpy(f->at + f->n + 2, o->at, o->n);
    f->n += 2u + o->n;
    return true;
}

/* Write options into fields, each into the first that has room; without any it is left out. Returns
 * the value of option 52. */
static uint8_t put_options(struct field *f, unsigned n_fields, const struct options *o)
{
    uint8_t overload = 0;

    for (unsigned i = 0; i < o->n; i++) {
        unsigned k = 0;

        while (k < n_fields && !put_option(&f[k], &o->list[i]))
            k++;
        if (k < n_fields)
            overload |= f[k].overload;
    }
    for (unsigned k = 0; k < n_fields; k++)
        if (k == 0 || f[k].n > 0)
            f[k].at[f[k].n++] = OPT_END;
    return overload;
}

static size_t total(const struct options *o)
{
    size_t n = 1;

    for (unsigned i = 0; i < o->n; i++)
        n += 2u + o->list[i].n;
    return n;
}

size_t dhcp4_write(const struct dhcp4 *q, const struct dhcp4_reply *r, uint8_t *to, size_t room)
{
    size_t takes = (q->max_size > LEAST_SIZE ? q->max_size : LEAST_SIZE) - UDP_IP, n;
    struct options o = {.n = 0};
    struct field f[3] = {{to + AT_OPTIONS, 0, 0, 0},
                         {to + AT_FILE, FILE_LEN, 0, OVERLOAD_FILE},
                         {to + AT_SNAME, SNAME_LEN, 0, OVERLOAD_SNAME}};

    if (takes > room)
        takes = room;
    memset(to, 0, takes);
    to[AT_OP] = 2;
    to[AT_HTYPE] = DHCP4_ETHERNET;
    to[AT_HLEN] = MAC_LEN;
    put32(to + AT_XID, q->xid);
    put16(to + AT_FLAGS, q->flags);
    put32(to + AT_CIADDR, r->type == DHCP4_ACK ? q->ciaddr : 0); /* RFC 2131 table 3 */
    put32(to + AT_YIADDR, r->address);
    put32(to + AT_GIADDR, q->giaddr);
    memcpy(to + AT_CHADDR, q->mac, MAC_LEN);
    put32(to + AT_COOKIE, DHCP4_COOKIE);
    gather(&o, q, r);
    f[0].room = takes - AT_OPTIONS;
    if (total(&o) <= f[0].room) {
        put_options(f, 1, &o);
    } else {
        uint8_t *first = f[0].at, overload;

        f[0].at += 3;
        f[0].room -= 3;
        overload = put_options(f, 3, &o);
        if (overload != 0) /* else the three bytes are padding: all that did not fit was too long */
            memcpy(first, (const uint8_t[]){OPT_OVERLOAD, 1, overload}, 3);
        f[0].n += 3;
    }
    n = AT_OPTIONS + f[0].n;
    return n < DHCP4_LEAST ? DHCP4_LEAST : n;
}
