/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/dhcp6_relay.h"

#include <string.h>

#include "cp/packet/bytes.h"

enum {
    OPT_MESSAGE = 9,
    OPT_UNICAST = 12,
    OPT_INTERFACE = 18,
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

size_t dhcp6_copy(const uint8_t *at, size_t n, uint8_t *to)
{
    size_t out = MESSAGE_LEN;

    memcpy(to, at, MESSAGE_LEN);
    for (size_t i = MESSAGE_LEN, len; i < n; i += len) {
        len = OPTION_LEN + (size_t)get16(at + i + 2);
        if (get16(at + i) == OPT_UNICAST)
            continue;
        memcpy(to + out, at + i, len);
        out += len;
    }
    return out;
}
