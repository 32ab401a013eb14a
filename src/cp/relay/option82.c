/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/option82.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cp/packet/bytes.h"

/* Sub-options. */
enum {
    CIRCUIT = 1,
    REMOTE = 2,
    LINK = 5,   /* RFC 3527 */
    FLAGS = 10, /* RFC 5010 */
    PORT = 19,  /* RFC 8357: the reply goes to the port from which the request came */
};

#define FLAG_UNICAST 0x80

char *relay_circuit(const struct relay_config *r, const struct session *s, char buf[RELAY_CIRCUIT])
{
    snprintf(buf, RELAY_CIRCUIT, "%s eth %s:%u.%u", r->node, s->access->port, s->svlan, s->cvlan);
    return buf;
}

struct session *relay_line(const struct cp *cp, const struct relay_config *r, const void *circuit,
                           size_t n)
{
    char text[RELAY_CIRCUIT], *port, *vlans;
    const struct cp_access *a;
    uint16_t svlan, cvlan;
    size_t node = strlen(r->node);

    if (n >= sizeof(text))
        return NULL;
    memcpy(text, circuit, n);
    text[n] = '\0';
    if (strncmp(text, r->node, node) != 0 || strncmp(text + node, " eth ", 5) != 0)
        return NULL;
    port = text + node + 5;
    vlans = strrchr(port, ':');
    if (vlans == NULL)
        return NULL;
    *vlans++ = '\0';
    if (parse_vlan_pair(vlans, &svlan, &cvlan) != 0)
        return NULL;
    a = cp_config_access(cp->config, port, svlan, cvlan);
    return a != NULL ? session_find(&cp->sessions, a, svlan, cvlan) : NULL;
}

static void put(struct dhcp4_bytes *o, uint8_t code, const void *at, size_t n)
{
    o->at[o->n] = code;
    o->at[o->n + 1] = (uint8_t)n;
    memcpy(o->at + o->n + 2, at, n);
    o->n = (uint8_t)(o->n + 2 + n);
}

_Static_assert(RELAY_CIRCUIT + SESSION_LINE_TEXT + 5 * 2 + 4 + 1 <= 255,
               "all of it is in one option");

void option82_write(const struct relay_config *r, const struct session *s, uint32_t gateway,
                    bool unicast, struct dhcp4_bytes *option)
{
    char circuit[RELAY_CIRCUIT], line[SESSION_LINE_TEXT];
    uint8_t link[4], flags = unicast ? FLAG_UNICAST : 0;

    put32(link, gateway);
    option->n = 0;
    relay_circuit(r, s, circuit);
    put(option, CIRCUIT, circuit, strlen(circuit));
    session_line(s, line);
    put(option, REMOTE, line, strlen(line));
    put(option, LINK, link, sizeof(link));
    put(option, FLAGS, &flags, sizeof(flags));
    if (ntohs(r->own.ipv4.sin_port) != RELAY4_PORT)
        put(option, PORT, "", 0);
}

struct session *option82_line(const struct cp *cp, const struct relay_config *r,
                              const struct dhcp4_bytes *option)
{
    for (unsigned i = 0; i + 2u <= option->n; i += 2u + option->at[i + 1]) {
        if (i + 2u + option->at[i + 1] > option->n)
            return NULL;
        if (option->at[i] == CIRCUIT)
            return relay_line(cp, r, option->at + i + 2, option->at[i + 1]);
    }
    return NULL;
}
