/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/pppoe.h"

#include <string.h>

#include "cp/packet/bytes.h"

#define VERSION_TYPE    0x11 /* RFC 2516 section 4 */
#define TAG_HEADER      4
#define BROADBAND_FORUM 3561 /* vendor of TR-101's tag */
#define AGENT_CIRCUIT   1
#define AGENT_REMOTE    2

const char *pppoe_read(struct ppp_bytes frame, uint16_t ethertype, struct pppoe *p)
{
    const uint8_t *h = frame.at + PPPOE_ETHERNET;
    size_t n;

    if (frame.n < PPPOE_ETHERNET + PPPOE_HEADER)
        return "it is shorter than its headers";
    if (get16(frame.at + 12) != ethertype)
        return "its EtherType is another";
    if (h[0] != VERSION_TYPE)
        return "its version or type is not 1";
    n = get16(h + 4);
    if (n > frame.n - PPPOE_ETHERNET - PPPOE_HEADER)
        return "its payload goes beyond its end";
    *p = (struct pppoe){.to_mac = frame.at,
                        .from_mac = frame.at + 6,
                        .code = h[1],
                        .session = get16(h + 2),
                        .payload = {h + PPPOE_HEADER, n}};
    return NULL;
}

/* --- tags --- */

static void take_first(struct ppp_bytes *to, struct ppp_bytes value)
{
    if (to->at == NULL)
        *to = value;
}

/* Suboptions with a byte each for number and length, behind the vendor's number. */
static void read_vendor(struct ppp_bytes v, struct pppoe_tags *t)
{
    if (v.n < 4 || get32(v.at) != BROADBAND_FORUM)
        return;
    v.at += 4;
    v.n -= 4;
    while (v.n >= 2 && v.at[1] <= v.n - 2) {
        struct ppp_bytes value = {v.at + 2, v.at[1]};

        if (v.at[0] == AGENT_CIRCUIT)
            take_first(&t->circuit, value);
        else if (v.at[0] == AGENT_REMOTE)
            take_first(&t->remote, value);
        v.at += 2 + value.n;
        v.n -= 2 + value.n;
    }
}

static void read_tag(uint16_t tag, struct ppp_bytes value, struct pppoe_tags *t)
{
    switch (tag) {
    case PPPOE_SERVICE_NAME:
        take_first(&t->service, value);
        t->n_services++;
        break;
    case PPPOE_HOST_UNIQ:
        take_first(&t->host_uniq, value);
        break;
    case PPPOE_AC_COOKIE:
        take_first(&t->cookie, value);
        break;
    case PPPOE_RELAY_SESSION_ID:
        take_first(&t->relay, value);
        break;
    case PPPOE_VENDOR:
        read_vendor(value, t);
        break;
    case PPPOE_MAX_PAYLOAD:
        if (value.n == 2)
            t->max_payload = get16(value.at);
        break;
    default:
        break; /* RFC 2516 section 4: unknown tags are ignored */
    }
}

const char *pppoe_read_tags(struct ppp_bytes payload, struct pppoe_tags *t)
{
    *t = (struct pppoe_tags){.n_services = 0};
    while (payload.n > 0) {
        uint16_t tag;
        size_t n;

        if (payload.n < TAG_HEADER || get16(payload.at + 2) > payload.n - TAG_HEADER)
            return "a tag goes beyond its end";
        tag = get16(payload.at);
        n = get16(payload.at + 2);
        if (tag == PPPOE_END_OF_LIST)
            break;
        read_tag(tag, (struct ppp_bytes){payload.at + TAG_HEADER, n}, t);
        payload.at += TAG_HEADER + n;
        payload.n -= TAG_HEADER + n;
    }
    return NULL;
}

/* --- writing --- */

static void write_headers(uint8_t *to, const uint8_t to_mac[6], const uint8_t from_mac[6],
                          uint16_t ethertype, uint8_t code, uint16_t session)
{
    memcpy(to, to_mac, 6);
    memcpy(to + 6, from_mac, 6);
    put16(to + 12, ethertype);
    to[14] = VERSION_TYPE;
    to[15] = code;
    put16(to + 16, session);
}

void pppoe_begin(struct pppoe_frame *f, const uint8_t to[6], const uint8_t from[6],
                 enum pppoe_code code, uint16_t session)
{
    write_headers(f->at, to, from, PPPOE_DISCOVERY, (uint8_t)code, session);
    f->n = PPPOE_ETHERNET + PPPOE_HEADER;
    f->overfull = false;
}

void pppoe_put(struct pppoe_frame *f, enum pppoe_tag tag, const void *value, size_t n)
{
    if (n > sizeof(f->at) - f->n || TAG_HEADER > sizeof(f->at) - f->n - n) {
        f->overfull = true;
        return;
    }
    put16(f->at + f->n, (uint16_t)tag);
    put16(f->at + f->n + 2, (uint16_t)n);
    if (n > 0)
        memcpy(f->at + f->n + TAG_HEADER, value, n);
    f->n += TAG_HEADER + n;
}

void pppoe_repeat(struct pppoe_frame *f, enum pppoe_tag tag, struct ppp_bytes value)
{
    if (value.at != NULL)
        pppoe_put(f, tag, value.at, value.n);
}

bool pppoe_end(struct pppoe_frame *f)
{
    put16(f->at + PPPOE_ETHERNET + 4, (uint16_t)(f->n - PPPOE_ETHERNET - PPPOE_HEADER));
    return !f->overfull;
}

void pppoe_write_session(uint8_t to[PPPOE_BEFORE], const uint8_t to_mac[6],
                         const uint8_t from_mac[6], uint16_t session, uint16_t protocol, size_t n)
{
    write_headers(to, to_mac, from_mac, PPPOE_SESSION, PPPOE_DATA, session);
    put16(to + PPPOE_ETHERNET + 4, (uint16_t)(n + 2));
    put16(to + PPPOE_ETHERNET + PPPOE_HEADER, protocol);
}
