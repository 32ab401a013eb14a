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
    RELAY_PORT,
    RELAY_SOURCE_PORT,
    RELAY_SEND_TO,
    RELAY_TIMEOUT,
    RELAY_DEAD_TIME,
    RELAY_NODE,
    RELAY_OPTION82,
    N_RELAY
};

enum { TO_ALL, TO_FIRST };
static const char *const send_to[] = {[TO_ALL] = "all", [TO_FIRST] = "first", NULL};

enum { REPLACE, REFUSE };
static const char *const policies[] = {[REPLACE] = "replace", [REFUSE] = "refuse", NULL};

static const struct key relay_keys[N_RELAY] = {
    [RELAY_NAME] = {"name", KEY_NAME, .required = true},
    [RELAY_SERVERS] = {"servers", KEY_OTHER, .required = true},
    [RELAY_GIADDR] = {"giaddr", KEY_STRING, .required = true},
    [RELAY_PORT] = {"port", KEY_COUNT, .def = "67", .min = 1, .max = 65535},
    [RELAY_SOURCE_PORT] = {"source_port", KEY_COUNT, .def = "67", .min = 1, .max = 65535},
    [RELAY_SEND_TO] = {"send_to", KEY_ENUM, .def = "all", .choices = send_to},
    [RELAY_TIMEOUT] = {"timeout", KEY_DURATION, .def = "3s", .min = 10 * MS, .max = 60 * S},
    [RELAY_DEAD_TIME] = {"dead_time", KEY_DURATION, .def = "30s", .min = 10 * MS, .max = 3600 * S},
    [RELAY_NODE] = {"node", KEY_STRING, .def = "vbng"},
    [RELAY_OPTION82] = {"option82", KEY_ENUM, .def = "replace", .choices = policies},
};

/* An address of a host, which may be this one. */
static void read_address(struct loader *l, const struct value *v, const char *key, uint64_t port,
                         struct relay_address *out)
{
    struct sockaddr_in *a = &out->ipv4;

    if (!v->set)
        return;
    *a = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, v->v.s, &a->sin_addr) != 1 || a->sin_addr.s_addr == 0 ||
        IN_MULTICAST(ntohl(a->sin_addr.s_addr)))
        value_error(l, v, key, "expected the IPv4 address of a host");
}

static void read_servers(struct loader *l, const struct value *v, uint64_t port,
                         struct relay_config *r)
{
    static const struct key server = {"servers", .type = KEY_STRING};
    const config_setting_t *texts[RELAY_MAX_SERVERS];
    unsigned n;

    if (!value_given(v))
        return;
    n = read_strings(l, v->setting, "servers", texts, RELAY_MAX_SERVERS);
    for (unsigned i = 0; i < n; i++) {
        struct relay_address *address = &r->server[r->n_servers++];
        struct value text = {.setting = texts[i]};

        read_value(l, &server, &text);
        read_address(l, &text, "servers", port, address);
        for (unsigned k = 0; k < i; k++)
            if (memcmp(&r->server[k], address, sizeof(*address)) == 0)
                value_error(l, &text, "servers", "it is there twice");
    }
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
            diag_error(l->d, r->loc, "relay '%s': has giaddr and source_port of '%s' %s", r->name,
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
    read_address(l, &v[RELAY_GIADDR], "giaddr", v[RELAY_SOURCE_PORT].v.u, &r.own);
    read_servers(l, &v[RELAY_SERVERS], v[RELAY_PORT].v.u, &r);
    read_node(l, &v[RELAY_NODE], &r);
    r.asks_all = v[RELAY_SEND_TO].v.u == TO_ALL;
    r.refuses = v[RELAY_OPTION82].v.u == REFUSE;
    r.timeout_ns = v[RELAY_TIMEOUT].v.u;
    r.dead_ns = v[RELAY_DEAD_TIME].v.u;
    check_others(l, c, &r);
    c->relay[c->n++] = r;
}

void relays_read(struct loader *l, const struct config_setting_t *list, struct relays_config *c)
{
    each_group(l, list, "relays", read_relay, c);
}

uint32_t relay_named(struct loader *l, const struct relays_config *c, const struct value *v)
{
    const char *names[CP_MAX_RELAYS];

    for (unsigned i = 0; i < c->n; i++) {
        names[i] = c->relay[i].name;
        if (v->set && strcmp(names[i], v->v.s) == 0)
            return i;
    }
    if (v->set)
        no_such_name(l, v, "relay", "relay", nearest_name(v->v.s, names, c->n));
    return CP_NO_RELAY;
}
