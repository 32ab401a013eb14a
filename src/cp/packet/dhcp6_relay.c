/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/dhcp6_relay.h"

#include <string.h>

#include "cp/packet/bytes.h"

enum {
    OPT_CLIENT = 1,
    OPT_SERVER = 2,
    OPT_ADDRESS = 5,
    OPT_MESSAGE = 9,
    OPT_AUTH = 11,
    OPT_UNICAST = 12,
    OPT_STATUS = 13,
    OPT_RAPID = 14,
    OPT_INTERFACE = 18,
    OPT_PREFIX = 26,
    OPT_REMOTE = 37,
    OPT_PORT = 135,
};

enum {
    AT_HOPS = 1,
    AT_LINK = 2,
    AT_PEER = 18,
    RELAY_LEN = 34,
    MESSAGE_LEN = 4,
    OPTION_LEN = 4,
    ENTERPRISE_LEN = 4,
    PORT_LEN = 2,
    IA_LEN = 12,
    ADDRESS_LEN = 16,
};

#define BROADBAND_FORUM 3561 /* whose TR-101 has the syntax of the identifiers */

static void put(uint8_t **p, uint16_t code, const void *at, size_t n)
{
    put16(*p, code);
    put16(*p + 2, (uint16_t)n);
    memcpy(*p + OPTION_LEN, at, n);
    *p += OPTION_LEN + n;
}

size_t dhcp6_relay_write(const struct dhcp6_relayed *r, uint8_t *to, size_t room)
{
    size_t n = RELAY_LEN + OPTION_LEN + r->n_interface + OPTION_LEN + ENTERPRISE_LEN + r->n_remote +
               (r->has_port ? OPTION_LEN + PORT_LEN : 0) + OPTION_LEN + r->n;
    uint8_t *p = to + RELAY_LEN;

    if (n > room)
        return 0;
    to[0] = DHCP6_RELAY_FORW;
    to[AT_HOPS] = 0;
    put_ipv6(to + AT_LINK, r->link);
    put_ipv6(to + AT_PEER, r->peer);
    put(&p, OPT_INTERFACE, r->interface, r->n_interface);
    put16(p, OPT_REMOTE);
    put16(p + 2, (uint16_t)(ENTERPRISE_LEN + r->n_remote));
    put32(p + OPTION_LEN, BROADBAND_FORUM);
    memcpy(p + OPTION_LEN + ENTERPRISE_LEN, r->remote, r->n_remote);
    p += OPTION_LEN + ENTERPRISE_LEN + r->n_remote;
    if (r->has_port)
        put(&p, OPT_PORT, "\0", PORT_LEN); /* 0: the message is of no relay */
    put(&p, OPT_MESSAGE, r->message, r->n);
    return n;
}

const char *dhcp6_relay_read(const uint8_t *at, size_t n, struct dhcp6_relayed *r)
{
    *r = (struct dhcp6_relayed){.n = 0};
    if (n < RELAY_LEN)
        return "it is shorter than its header";
    if (at[0] != DHCP6_RELAY_REPL || at[AT_HOPS] != 0)
        return "it is no server's to the first relay";
    r->link = get_ipv6(at + AT_LINK);
    r->peer = get_ipv6(at + AT_PEER);
    for (size_t i = RELAY_LEN, len; i < n; i += OPTION_LEN + len) {
        if (n - i < OPTION_LEN || get16(at + i + 2) > n - i - OPTION_LEN)
            return "an option goes beyond its end";
        len = get16(at + i + 2);
        if (get16(at + i) == OPT_MESSAGE) {
            r->message = at + i + OPTION_LEN;
            r->n = len;
        } else if (get16(at + i) == OPT_INTERFACE) {
            r->interface = at + i + OPTION_LEN;
            r->n_interface = len;
        }
    }
    return r->message == NULL ? "there is no message in it" : NULL;
}

/* --- copies --- */

static size_t option_len(const uint8_t *at)
{
    return OPTION_LEN + (size_t)get16(at + 2);
}

static void cap(uint8_t *at, uint32_t most)
{
    if (get32(at) > most)
        put32(at, most);
}

/* Shorten the lifetimes in an identity association; T1 or T2 0 is the client's choice. */
static void cap_ia(uint8_t *ia, uint32_t most)
{
    uint8_t *end = ia + option_len(ia), *p = ia + OPTION_LEN;
    bool prefixes = get16(ia) == DHCP6_IA_PD;

    cap(p + 4, most / 2);
    cap(p + 8, (uint32_t)((uint64_t)most * 4 / 5));
    for (p += IA_LEN; p < end; p += option_len(p)) {
        uint8_t *times = p + OPTION_LEN + (prefixes ? 0 : ADDRESS_LEN);

        if (get16(p) != (prefixes ? OPT_PREFIX : OPT_ADDRESS))
            continue;
        cap(times, most);
        cap(times + 4, most);
    }
}

static bool is_ia(uint16_t code)
{
    return code == DHCP6_IA_NA || code == DHCP6_IA_PD;
}

size_t dhcp6_copy(const uint8_t *at, size_t n, uint32_t most, uint8_t *to)
{
    size_t out = MESSAGE_LEN;

    memcpy(to, at, MESSAGE_LEN);
    for (size_t i = MESSAGE_LEN, len; i < n; i += len) {
        len = option_len(at + i);
        if (get16(at + i) == OPT_UNICAST)
            continue;
        memcpy(to + out, at + i, len);
        if (most != UINT32_MAX && is_ia(get16(at + i)))
            cap_ia(to + out, most);
        out += len;
    }
    return out;
}

/* Is an option of one exchange, or of the leases that it is about? */
static bool is_of_exchange(uint16_t code)
{
    static const uint16_t codes[] = {OPT_CLIENT, OPT_SERVER,  DHCP6_IA_NA, DHCP6_IA_TA, DHCP6_IA_PD,
                                     OPT_AUTH,   OPT_UNICAST, OPT_STATUS,  OPT_RAPID};

    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] == code)
            return true;
    return false;
}

size_t dhcp6_copy_beside(const uint8_t *at, size_t n, uint8_t *to)
{
    size_t out = 0;

    for (size_t i = MESSAGE_LEN, len; i < n; i += len) {
        len = option_len(at + i);
        if (is_of_exchange(get16(at + i)))
            continue;
        memcpy(to + out, at + i, len);
        out += len;
    }
    return out;
}
