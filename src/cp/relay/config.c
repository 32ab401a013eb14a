/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/config.h"

#include <arpa/inet.h>
#include <string.h>

#include "config/keys.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

enum {
    RELAY_NAME,
    RELAY_SERVERS,
    RELAY_GIADDR,
    RELAY_SOURCE,
    RELAY_PORT,
    RELAY_SOURCE_PORT,
    RELAY_SEND_TO,
    RELAY_TIMEOUT,
    RELAY_DEAD_TIME,
    RELAY_NODE,
    RELAY_OPTION82,
    RELAY_CLIENT_LEASE,
    N_RELAY
};

enum { TO_ALL, TO_FIRST };
static const char *const send_to[] = {[TO_ALL] = "all", [TO_FIRST] = "first", NULL};

enum { REPLACE, REFUSE };
static const char *const policies[] = {[REPLACE] = "replace", [REFUSE] = "refuse", NULL};

static const struct key relay_keys[N_RELAY] = {
    [RELAY_NAME] = {"name", KEY_NAME, .required = true},
    [RELAY_SERVERS] = {"servers", KEY_OTHER, .required = true},
    [RELAY_GIADDR] = {"giaddr", KEY_STRING},
    [RELAY_SOURCE] = {"source", KEY_STRING},
    [RELAY_PORT] = {"port", KEY_COUNT, .min = 1, .max = 65535},
    [RELAY_SOURCE_PORT] = {"source_port", KEY_COUNT, .min = 1, .max = 65535},
    [RELAY_SEND_TO] = {"send_to", KEY_ENUM, .def = "all", .choices = send_to},
    [RELAY_TIMEOUT] = {"timeout", KEY_DURATION, .def = "3s", .min = 10 * MS, .max = 60 * S},
    [RELAY_DEAD_TIME] = {"dead_time", KEY_DURATION, .def = "30s", .min = 10 * MS, .max = 3600 * S},
    [RELAY_NODE] = {"node", KEY_STRING, .def = "vbng"},
    [RELAY_OPTION82] = {"option82", KEY_ENUM, .def = "replace", .choices = policies},
    [RELAY_CLIENT_LEASE] = {"client_lease", KEY_DURATION, .min = S, .max = 366 * 24 * 3600 * S},
};

static bool parse4(const char *text, union relay_address *a)
{
    return inet_pton(AF_INET, text, &a->ipv4.sin_addr) == 1 && a->ipv4.sin_addr.s_addr != 0 &&
           !IN_MULTICAST(ntohl(a->ipv4.sin_addr.s_addr));
}

static bool parse6(const char *text, union relay_address *a)
{
    return inet_pton(AF_INET6, text, &a->ipv6.sin6_addr) == 1 &&
           !IN6_IS_ADDR_UNSPECIFIED(&a->ipv6.sin6_addr) &&
           !IN6_IS_ADDR_MULTICAST(&a->ipv6.sin6_addr) && !IN6_IS_ADDR_LINKLOCAL(&a->ipv6.sin6_addr);
}

/* An address of a host, which may be this one; both families have the port at the same place. */
static void read_address(struct loader *l, const struct value *v, const char *key, int family,
                         const struct value *port, union relay_address *out)
{
    uint16_t standard = family == AF_INET ? RELAY4_PORT : RELAY6_PORT;

    if (!v->set)
        return;
    *out = (union relay_address){.ipv6 = {.sin6_family = (sa_family_t)family}};
    out->ipv4.sin_port = htons(port->set ? (uint16_t)port->v.u : standard);
    if (!(family == AF_INET ? parse4 : parse6)(v->v.s, out))
        value_error(l, v, key, "expected the IPv%c address of a host",
                    family == AF_INET ? '4' : '6');
}

static void read_servers(struct loader *l, const struct value *v, const struct value *port,
                         struct relay_config *r)
{
    static const struct key server = {"servers", .type = KEY_STRING};
    const config_setting_t *texts[RELAY_MAX_SERVERS];
    unsigned n;

    if (!value_given(v))
        return;
    n = read_strings(l, v->setting, "servers", texts, RELAY_MAX_SERVERS);
    for (unsigned i = 0; i < n; i++) {
        union relay_address *address = &r->server[r->n_servers];
        struct value text = {.setting = texts[i]};

        if (!read_value(l, &server, &text))
            continue;
        r->server_name[r->n_servers++] = text.v.s;
        read_address(l, &text, "servers", r->own.any.sa_family, port, address);
        for (unsigned k = 0; k < i; k++)
            if (memcmp(&r->server[k], address, sizeof(*address)) == 0)
                value_error(l, &text, "servers", "it is there twice");
    }
}

/* Its own address says of which family a relay is. */
static void read_own(struct loader *l, const struct value *v, struct relay_config *r)
{
    bool is6 = value_given(&v[RELAY_SOURCE]);
    unsigned key = is6 ? RELAY_SOURCE : RELAY_GIADDR;

    r->own.any.sa_family = is6 ? AF_INET6 : AF_INET;
    if (is6 == value_given(&v[RELAY_GIADDR]))
        diag_error(l->d, r->loc, "relay '%s': expected giaddr (DHCPv4) or source (DHCPv6)",
                   r->name);
    read_address(l, &v[key], relay_keys[key].name, r->own.any.sa_family, &v[RELAY_SOURCE_PORT],
                 &r->own);
}

/* The name is in option 82 between what is there to find the line by: see option82.h. */
static void read_node(struct loader *l, const struct value *v, struct relay_config *r)
{
    r->node = v->set ? v->v.s : "";
    if (v->set &&
        (strlen(r->node) == 0 || strlen(r->node) > RELAY_NODE_MOST || strchr(r->node, ' ') != NULL))
        value_error(l, v, "node", "expected 1 to %u characters without blanks", RELAY_NODE_MOST);
}

static void check_others(struct loader *l, const struct relays_config *c,
                         const struct relay_config *r)
{
    char place[PLACE_TEXT];

    for (unsigned i = 0; i < c->n; i++) {
        const struct relay_config *other = &c->relay[i];

        if (strcmp(other->name, r->name) == 0)
            diag_error(l->d, r->loc, "relay '%s': is there already, %s", r->name,
                       place_text(other->loc, place));
        else if (memcmp(&other->own, &r->own, sizeof(r->own)) == 0)
            diag_error(l->d, r->loc, "relay '%s': has address and source_port of '%s' %s", r->name,
                       other->name, place_text(other->loc, place));
    }
}

static void read_relay(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct relays_config *c = ctx;
    struct relay_config r = {.name = ""};
    struct value v[N_RELAY];

    if (i == CP_MAX_RELAYS)
        key_error(l, group, "relays", "expected at most %u", CP_MAX_RELAYS);
    if (i >= CP_MAX_RELAYS)
        return;
    read_group(l, group, "relay", relay_keys, N_RELAY, v);
    r.loc = setting_loc(l, group);
    r.name = v[RELAY_NAME].set ? v[RELAY_NAME].v.s : "";
    read_own(l, v, &r);
    read_servers(l, &v[RELAY_SERVERS], &v[RELAY_PORT], &r);
    read_node(l, &v[RELAY_NODE], &r);
    r.asks_all = v[RELAY_SEND_TO].v.u == TO_ALL;
    r.refuses = v[RELAY_OPTION82].v.u == REFUSE;
    r.timeout_ns = v[RELAY_TIMEOUT].v.u;
    r.dead_ns = v[RELAY_DEAD_TIME].v.u;
    r.client_s = v[RELAY_CLIENT_LEASE].set ? (uint32_t)(v[RELAY_CLIENT_LEASE].v.u / S) : 0;
    check_others(l, c, &r);
    c->relay[c->n++] = r;
}

void relays_read(struct loader *l, const struct config_setting_t *list, struct relays_config *c)
{
    each_group(l, list, "relays", read_relay, c);
}

uint32_t relay_named(struct loader *l, const struct relays_config *c, const struct value *v,
                     int family)
{
    const char *names[CP_MAX_RELAYS];

    for (unsigned i = 0; i < c->n; i++) {
        names[i] = c->relay[i].name;
        if (!v->set || strcmp(names[i], v->v.s) != 0)
            continue;
        if (c->relay[i].own.any.sa_family != family)
            value_error(l, v, "relay", "it is one of the other family: expected one with %s",
                        family == AF_INET ? "giaddr" : "source");
        return i;
    }
    if (v->set)
        no_such_name(l, v, "relay", "relay", nearest_name(v->v.s, names, c->n));
    return CP_NO_RELAY;
}
