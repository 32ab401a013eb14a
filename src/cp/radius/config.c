/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/config.h"

#include <arpa/inet.h>
#include <string.h>

#include "config/keys.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

enum { SERVER_ADDRESS, SERVER_SECRET, SERVER_AUTHENTICATION, SERVER_ACCOUNTING, N_SERVER };

static const struct key server_keys[N_SERVER] = {
    [SERVER_ADDRESS] = {"address", KEY_STRING, .required = true},
    [SERVER_SECRET] = {"secret", KEY_STRING, .required = true},
    [SERVER_AUTHENTICATION] = {"authentication_port", KEY_COUNT, .def = "1812", .min = 1,
                               .max = 65535},
    [SERVER_ACCOUNTING] = {"accounting_port", KEY_COUNT, .def = "1813", .min = 1, .max = 65535},
};

enum { CLIENT_ADDRESS, CLIENT_SECRET, N_CLIENT };

static const struct key client_keys[N_CLIENT] = {
    [CLIENT_ADDRESS] = {"address", KEY_STRING, .required = true},
    [CLIENT_SECRET] = {"secret", KEY_STRING, .required = true},
};

enum { COA_ADDRESS, COA_PORT, COA_WINDOW, COA_CLIENTS, N_COA };

static const struct key coa_keys[N_COA] = {
    [COA_ADDRESS] = {"address", KEY_STRING, .required = true},
    [COA_PORT] = {"port", KEY_COUNT, .def = "3799", .min = 1, .max = 65535},
    [COA_WINDOW] = {"window", KEY_DURATION, .def = "300s", .min = S, .max = 3600 * S},
    [COA_CLIENTS] = {"clients", KEY_LIST, .required = true},
};

enum {
    TOP_IDENTIFIER,
    TOP_NAS_ADDRESS,
    TOP_SOURCE,
    TOP_TIMEOUT,
    TOP_RETRIES,
    TOP_DEAD_TIME,
    TOP_SOCKETS,
    TOP_USER_NAME,
    TOP_PASSWORD,
    TOP_ACCOUNTING,
    TOP_INTERIM,
    TOP_COUNT,
    TOP_SERVERS,
    TOP_COA,
    N_TOP
};

enum { NAME_MAC, NAME_LINE };
static const char *const user_names[] = {[NAME_MAC] = "mac", [NAME_LINE] = "line", NULL};

static const struct key top_keys[N_TOP] = {
    [TOP_IDENTIFIER] = {"nas_identifier", KEY_STRING, .required = true},
    [TOP_NAS_ADDRESS] = {"nas_address", KEY_HOST},
    [TOP_SOURCE] = {"source", KEY_STRING},
    [TOP_TIMEOUT] = {"timeout", KEY_DURATION, .def = "1s", .min = 10 * MS, .max = 60 * S},
    [TOP_RETRIES] = {"retries", KEY_COUNT, .def = "2", .max = RADIUS_RETRIES_MAX},
    [TOP_DEAD_TIME] = {"dead_time", KEY_DURATION, .def = "30s", .min = 10 * MS, .max = 3600 * S},
    [TOP_SOCKETS] = {"sockets", KEY_COUNT, .def = "4", .min = 1, .max = RADIUS_SOCKETS_MAX},
    [TOP_USER_NAME] = {"user_name", KEY_ENUM, .def = "mac", .choices = user_names},
    [TOP_PASSWORD] = {"password", KEY_STRING},
    [TOP_ACCOUNTING] = {"accounting", KEY_BOOL, .def = "false"},
    [TOP_INTERIM] = {"interim_interval", KEY_DURATION, .def = "0s", .max = 24 * 3600 * S},
    [TOP_COUNT] = {"count_interval", KEY_DURATION, .def = "10s", .min = 100 * MS, .max = 3600 * S},
    [TOP_SERVERS] = {"servers", KEY_LIST, .required = true},
    [TOP_COA] = {"coa", KEY_OTHER},
};

/* --- values --- */

/* An address of either family; the port is 0. */
static void read_address(struct loader *l, const struct value *v, const char *key,
                         union radius_address *out)
{
    if (!v->set)
        return;
    if (inet_pton(AF_INET, v->v.s, &out->ipv4.sin_addr) == 1)
        out->any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, v->v.s, &out->ipv6.sin6_addr) == 1)
        out->any.sa_family = AF_INET6;
    else
        value_error(l, v, key, "expected an IPv4 or IPv6 address");
}

/* Both families have it at the same place. */
static void set_port(union radius_address *a, const struct value *v)
{
    a->ipv4.sin_port = htons((uint16_t)v->v.u);
}

static void read_text(struct loader *l, const struct value *v, const char *key, char *out,
                      size_t max)
{
    size_t n = v->set ? strlen(v->v.s) : 0;

    if (!v->set)
        return;
    if (n == 0 || n > max)
        value_error(l, v, key, "expected 1 to %zu characters", max);
    else
        memcpy(out, v->v.s, n + 1);
}

/* --- servers --- */

static void read_server(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct radius_config *config = ctx;
    struct radius_server *s = &config->servers[i];
    struct value v[N_SERVER];

    if (i == RADIUS_SERVERS_MAX)
        key_error(l, group, "servers", "expected at most %u", RADIUS_SERVERS_MAX);
    if (i >= RADIUS_SERVERS_MAX)
        return;
    config->n_servers = i + 1;
    read_group(l, group, "RADIUS server", server_keys, N_SERVER, v);
    s->name = v[SERVER_ADDRESS].v.s;
    read_address(l, &v[SERVER_ADDRESS], "address", &s->authentication);
    s->accounting = s->authentication;
    set_port(&s->authentication, &v[SERVER_AUTHENTICATION]);
    set_port(&s->accounting, &v[SERVER_ACCOUNTING]);
    read_text(l, &v[SERVER_SECRET], "secret", s->secret, RADIUS_SECRET_MAX);
}

/* --- changes --- */

static void read_client(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct radius_config *config = ctx;
    struct radius_coa_client *c = &config->clients[i];
    struct value v[N_CLIENT];

    if (i == RADIUS_CLIENTS_MAX)
        key_error(l, group, "clients", "expected at most %u", RADIUS_CLIENTS_MAX);
    if (i >= RADIUS_CLIENTS_MAX)
        return;
    config->n_clients = i + 1;
    read_group(l, group, "RADIUS client", client_keys, N_CLIENT, v);
    read_address(l, &v[CLIENT_ADDRESS], "address", &c->address);
    read_text(l, &v[CLIENT_SECRET], "secret", c->secret, RADIUS_SECRET_MAX);
}

static void read_coa(struct loader *l, const config_setting_t *group, struct radius_config *config)
{
    struct value v[N_COA];

    if (group == NULL)
        return;
    if (!config_setting_is_group(group)) {
        key_error(l, group, "coa", "expected a group { ... }");
        return;
    }
    read_group(l, group, "server of changes", coa_keys, N_COA, v);
    read_address(l, &v[COA_ADDRESS], "address", &config->coa);
    set_port(&config->coa, &v[COA_PORT]);
    config->window_s = v[COA_WINDOW].v.u / S;
    each_group(l, v[COA_CLIENTS].setting, "clients", read_client, config);
}

/* --- the section --- */

void radius_config_read(struct loader *l, const config_setting_t *group,
                        struct radius_config *config)
{
    struct value v[N_TOP];

    memset(config, 0, sizeof(*config));
    read_group(l, group, "section radius", top_keys, N_TOP, v);
    read_text(l, &v[TOP_IDENTIFIER], "nas_identifier", config->nas_identifier,
              sizeof(config->nas_identifier) - 1);
    config->nas_ipv4 = v[TOP_NAS_ADDRESS].set ? (uint32_t)v[TOP_NAS_ADDRESS].v.u : 0;
    read_address(l, &v[TOP_SOURCE], "source", &config->source);
    config->timeout_ns = v[TOP_TIMEOUT].v.u;
    config->retries = (unsigned)v[TOP_RETRIES].v.u;
    config->dead_ns = v[TOP_DEAD_TIME].v.u;
    config->sockets = (unsigned)v[TOP_SOCKETS].v.u;
    config->accounting = v[TOP_ACCOUNTING].v.u != 0;
    config->interim_ns = v[TOP_INTERIM].v.u;
    config->count_ns = v[TOP_COUNT].v.u;
    config->names_lines = v[TOP_USER_NAME].v.u == NAME_LINE;
    read_text(l, &v[TOP_PASSWORD], "password", config->password, sizeof(config->password) - 1);
    each_group(l, v[TOP_SERVERS].setting, "servers", read_server, config);
    if (v[TOP_SERVERS].setting != NULL && config_setting_is_list(v[TOP_SERVERS].setting) &&
        config->n_servers == 0)
        key_error(l, v[TOP_SERVERS].setting, "servers", "expected at least one server");
    read_coa(l, v[TOP_COA].setting, config);
}
