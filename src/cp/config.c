/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/keys.h"
#include "cp/pppoe/config.h"

#define DAY_NS    UINT64_C(86400000000000)
#define SECOND_NS UINT64_C(1000000000)

enum {
    POOL_NAME,
    POOL_PREFIX,
    POOL_FIRST,
    POOL_LAST,
    POOL_GATEWAY,
    POOL_DNS,
    POOL_DOMAIN,
    POOL_LEASE,
    POOL_DECLINED,
    POOL_RELAY,
    N_POOL
};

static const struct key pool_keys[N_POOL] = {
    [POOL_NAME] = {"name", KEY_NAME, .required = true},
    [POOL_PREFIX] = {"prefix", KEY_PREFIX, .required = true},
    [POOL_FIRST] = {"first", KEY_HOST},
    [POOL_LAST] = {"last", KEY_HOST},
    [POOL_GATEWAY] = {"gateway", KEY_HOST, .required = true},
    [POOL_DNS] = {"dns", KEY_OTHER},
    [POOL_DOMAIN] = {"domain", KEY_STRING},
    [POOL_LEASE] = {"lease_time", KEY_DURATION, .def = "1h", .min = SECOND_NS, .max = 366 * DAY_NS},
    [POOL_DECLINED] = {"declined_time", KEY_DURATION, .def = "10min", .max = 366 * DAY_NS},
    [POOL_RELAY] = {"relay", KEY_NAME},
};

enum {
    ACCESS_PORT,
    ACCESS_SVLAN,
    ACCESS_CVLAN,
    ACCESS_POOL,
    ACCESS_POOL6,
    ACCESS_PROFILE,
    N_ACCESS
};

static const struct key access_keys[N_ACCESS] = {
    [ACCESS_PORT] = {"port", KEY_NAME, .required = true},
    [ACCESS_SVLAN] = {"svlan", KEY_RANGE, .def = "0-4095", .max = 4095},
    [ACCESS_CVLAN] = {"cvlan", KEY_RANGE, .def = "0-4095", .max = 4095},
    [ACCESS_POOL] = {"pool", KEY_NAME},
    [ACCESS_POOL6] = {"pool6", KEY_NAME},
    [ACCESS_PROFILE] = {"profile", KEY_NAME},
};

enum {
    TOP_CONTROL,
    TOP_PUNT,
    TOP_STORE,
    TOP_OFFER,
    TOP_LINES,
    TOP_RELAYS,
    TOP_POOLS,
    TOP_POOLS6,
    TOP_ACCESS,
    TOP_RADIUS,
    TOP_PPPOE,
    N_TOP
};

static const struct key top_keys[N_TOP] = {
    [TOP_CONTROL] = {"control_socket", KEY_STRING, .required = true},
    [TOP_PUNT] = {"punt_socket", KEY_STRING, .required = true},
    [TOP_STORE] = {"store", KEY_STRING, .required = true},
    [TOP_OFFER] = {"offer_time", KEY_DURATION, .def = "60s", .min = SECOND_NS, .max = DAY_NS},
    [TOP_LINES] = {"max_lines", KEY_COUNT, .def = "64K", .min = 1, .max = 16777216},
    [TOP_RELAYS] = {"relays", KEY_LIST},
    [TOP_POOLS] = {"pools", KEY_LIST},
    [TOP_POOLS6] = {"pools6", KEY_LIST},
    [TOP_ACCESS] = {"access", KEY_LIST, .required = true},
    [TOP_RADIUS] = {"radius", KEY_OTHER},
    [TOP_PPPOE] = {"pppoe", KEY_OTHER},
};

/* --- pools --- */

#define LONGEST_PREFIX  30 /* leaves room for the gateway and one client */
#define SHORTEST_PREFIX 12

static uint32_t last_of(const struct cp_pool *p)
{
    return p->prefix | (uint32_t)((UINT64_C(1) << (32 - p->len)) - 1);
}

/* An address of the pool's prefix, neither its first nor its last. Where none is given, other. */
static uint32_t host_of(struct loader *l, const struct cp_pool *p, const struct value *v,
                        const char *key, uint32_t other)
{
    if (!v->set)
        return other;
    if (v->v.u <= p->prefix || v->v.u >= last_of(p))
        value_error(l, v, key, "expected an address of a host in the pool's prefix");
    return (uint32_t)v->v.u;
}

static void read_dns(struct loader *l, struct cp_pool *p, const struct value *v)
{
    const config_setting_t *texts[DHCP4_MAX_SERVERS];
    unsigned n;

    if (!value_given(v))
        return;
    n = read_strings(l, v->setting, "dns", texts, DHCP4_MAX_SERVERS);
    for (unsigned i = 0; i < n; i++) {
        static const struct key server = {"dns", .type = KEY_HOST};
        struct value address = {.setting = texts[i]};

        if (read_value(l, &server, &address))
            p->dns[p->n_dns++] = (uint32_t)address.v.u;
    }
}

static void read_addresses(struct loader *l, struct cp_pool *p, const struct value *v)
{
    if (!v[POOL_PREFIX].set || !take_prefix(l, &v[POOL_PREFIX], "prefix", &p->prefix, &p->len))
        return;
    if (p->len < SHORTEST_PREFIX || p->len > LONGEST_PREFIX) {
        value_error(l, &v[POOL_PREFIX], "prefix", "expected a length of %u to %u", SHORTEST_PREFIX,
                    LONGEST_PREFIX);
        return;
    }
    p->first = host_of(l, p, &v[POOL_FIRST], "first", p->prefix + 1);
    p->last = host_of(l, p, &v[POOL_LAST], "last", last_of(p) - 1);
    p->gateway = host_of(l, p, &v[POOL_GATEWAY], "gateway", 0);
    if (p->first > p->last)
        value_error(l, value_given(&v[POOL_LAST]) ? &v[POOL_LAST] : &v[POOL_FIRST],
                    value_given(&v[POOL_LAST]) ? "last" : "first",
                    "there is no address from the first to the last");
}

/* What servers behind this gateway say is not said here, too. */
static void read_relay_of(struct loader *l, const struct cp_config *c, struct cp_pool *p,
                          const struct value *v)
{
    static const unsigned theirs[] = {POOL_DNS, POOL_DOMAIN, POOL_LEASE, POOL_DECLINED};

    p->relay = relay_named(l, &c->relays, &v[POOL_RELAY], AF_INET);
    for (unsigned i = 0; value_given(&v[POOL_RELAY]) && i < sizeof(theirs) / sizeof(theirs[0]); i++)
        if (value_given(&v[theirs[i]]))
            key_error(l, v[theirs[i]].setting, pool_keys[theirs[i]].name,
                      "the servers of the pool's relay say it");
}

/* Two pools that share an address would both give it. */
static void check_overlap(struct loader *l, const struct cp_config *c, const struct cp_pool *p)
{
    char place[PLACE_TEXT];

    for (unsigned i = 0; i < c->n_pools; i++) {
        const struct cp_pool *other = &c->pools[i];

        if (strcmp(other->name, p->name) == 0)
            diag_error(l->d, p->loc, "pool '%s': is there already, %s", p->name,
                       place_text(other->loc, place));
        else if (p->len != 0 && other->len != 0 && p->prefix <= last_of(other) &&
                 other->prefix <= last_of(p))
            diag_error(l->d, p->loc, "pool '%s': its prefix overlaps that of '%s' %s", p->name,
                       other->name, place_text(other->loc, place));
    }
}

static void read_pool(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct cp_config *c = ctx;
    struct cp_pool p = {.name = ""};
    struct value v[N_POOL];

    if (i == CP_MAX_POOLS)
        key_error(l, group, "pools", "expected at most %u", CP_MAX_POOLS);
    if (i >= CP_MAX_POOLS)
        return;
    read_group(l, group, "pool", pool_keys, N_POOL, v);
    p.loc = setting_loc(l, group);
    p.name = v[POOL_NAME].set ? v[POOL_NAME].v.s : "";
    p.domain = v[POOL_DOMAIN].set ? v[POOL_DOMAIN].v.s : NULL;
    p.lease_s = (uint32_t)(v[POOL_LEASE].v.u / SECOND_NS);
    p.declined_ns = v[POOL_DECLINED].v.u;
    read_addresses(l, &p, v);
    read_dns(l, &p, &v[POOL_DNS]);
    read_relay_of(l, c, &p, v);
    if (p.domain != NULL && (strlen(p.domain) == 0 || strlen(p.domain) > 253))
        value_error(l, &v[POOL_DOMAIN], "domain", "expected a name of 1 to 253 characters");
    check_overlap(l, c, &p);
    c->pools[c->n_pools++] = p;
}

/* --- lines --- */

static unsigned find_pool(struct loader *l, const struct cp_config *c, const struct value *v)
{
    const char *names[CP_MAX_POOLS];

    for (unsigned i = 0; i < c->n_pools; i++) {
        names[i] = c->pools[i].name;
        if (v->set && strcmp(names[i], v->v.s) == 0)
            return i;
    }
    if (v->set)
        no_such_name(l, v, "pool", "pool", nearest_name(v->v.s, names, c->n_pools));
    return CP_NO_POOL;
}

static unsigned find_pool6(struct loader *l, const struct cp_config *c, const struct value *v)
{
    const char *names[CP_MAX_POOLS6];

    for (unsigned i = 0; i < c->pools6.n; i++) {
        names[i] = c->pools6.pool[i].name;
        if (v->set && strcmp(names[i], v->v.s) == 0)
            return i;
    }
    if (v->set)
        no_such_name(l, v, "pool6", "pool of IPv6", nearest_name(v->v.s, names, c->pools6.n));
    return CP_NO_POOL;
}

static bool share_lines(const struct cp_access *a, const struct cp_access *b)
{
    return strcmp(a->port, b->port) == 0 && a->svlan_first <= b->svlan_last &&
           b->svlan_first <= a->svlan_last && a->cvlan_first <= b->cvlan_last &&
           b->cvlan_first <= a->cvlan_last;
}

static void read_access(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct cp_config *c = ctx;
    struct cp_access a = {.port = ""};
    struct value v[N_ACCESS];
    char place[PLACE_TEXT];

    if (i == CP_MAX_ACCESS)
        key_error(l, group, "access", "expected at most %u", CP_MAX_ACCESS);
    if (i >= CP_MAX_ACCESS)
        return;
    read_group(l, group, "group of lines", access_keys, N_ACCESS, v);
    a.loc = setting_loc(l, group);
    a.port = v[ACCESS_PORT].set ? v[ACCESS_PORT].v.s : "";
    a.svlan_first = (uint16_t)v[ACCESS_SVLAN].v.u;
    a.svlan_last = (uint16_t)v[ACCESS_SVLAN].v.u2;
    a.cvlan_first = (uint16_t)v[ACCESS_CVLAN].v.u;
    a.cvlan_last = (uint16_t)v[ACCESS_CVLAN].v.u2;
    a.pool = find_pool(l, c, &v[ACCESS_POOL]);
    a.pool6 = find_pool6(l, c, &v[ACCESS_POOL6]);
    if (!value_given(&v[ACCESS_POOL]) && !value_given(&v[ACCESS_POOL6]))
        diag_error(l->d, a.loc, "these lines have no pool: expected pool, pool6, or both");
    a.profile = v[ACCESS_PROFILE].set ? v[ACCESS_PROFILE].v.s : NULL;
    for (unsigned k = 0; k < c->n_access; k++)
        if (share_lines(&c->access[k], &a))
            diag_error(l->d, a.loc, "some of these lines are those %s, too",
                       place_text(c->access[k].loc, place));
    c->access[c->n_access++] = a;
}

const struct cp_access *cp_config_access(const struct cp_config *c, const char *port,
                                         uint16_t svlan, uint16_t cvlan)
{
    struct cp_access line = {.port = port,
                             .svlan_first = svlan,
                             .svlan_last = svlan,
                             .cvlan_first = cvlan,
                             .cvlan_last = cvlan};

    for (unsigned i = 0; i < c->n_access; i++)
        if (share_lines(&c->access[i], &line))
            return &c->access[i];
    return NULL;
}

/* --- the file --- */

static void read_radius(struct loader *l, const config_setting_t *group, struct cp_config *c)
{
    if (group == NULL)
        return;
    if (!config_setting_is_group(group)) {
        key_error(l, group, "radius", "expected a group { ... }");
        return;
    }
    c->radius = grow(NULL, 1, sizeof(*c->radius));
    radius_config_read(l, group, c->radius);
}

static void read_pppoe(struct loader *l, const config_setting_t *group, struct cp_config *c)
{
    if (group == NULL)
        return;
    if (!config_setting_is_group(group)) {
        key_error(l, group, "pppoe", "expected a group { ... }");
        return;
    }
    c->pppoe = grow(NULL, 1, sizeof(*c->pppoe));
    pppoe_config_read(l, group, c->radius != NULL, c->pppoe);
}

static void load_root(struct loader *l, const config_setting_t *root, struct cp_config *c)
{
    struct value v[N_TOP];

    read_group(l, root, "configuration", top_keys, N_TOP, v);
    c->control_socket = v[TOP_CONTROL].set ? v[TOP_CONTROL].v.s : "";
    c->punt_socket = v[TOP_PUNT].set ? v[TOP_PUNT].v.s : "";
    c->store = v[TOP_STORE].set ? v[TOP_STORE].v.s : "";
    c->offer_ns = v[TOP_OFFER].v.u;
    c->max_lines = (uint32_t)v[TOP_LINES].v.u;
    relays_read(l, v[TOP_RELAYS].setting, &c->relays);
    each_group(l, v[TOP_POOLS].setting, "pools", read_pool, c);
    pools6_read(l, v[TOP_POOLS6].setting, &c->relays, &c->pools6);
    each_group(l, v[TOP_ACCESS].setting, "access", read_access, c);
    read_radius(l, v[TOP_RADIUS].setting, c);
    read_pppoe(l, v[TOP_PPPOE].setting, c);
}

struct cp_config *cp_config_load(const char *path, struct diags *d)
{
    struct cp_config *c = grow(NULL, 1, sizeof(*c));
    struct loader l = {.m = model_open(path), .d = d};
    config_t config;

    memset(c, 0, sizeof(*c));
    c->text = l.m;
    config_init(&config);
    if (parse_file(&l, l.m->path, &config) == 0) {
        load_wide_numbers(&l, config_root_setting(&config));
        load_root(&l, config_root_setting(&config), c);
    }
    config_destroy(&config);
    free(l.wide);
    if (d->n_errors == 0)
        return c;
    cp_config_free(c);
    return NULL;
}

void cp_config_free(struct cp_config *c)
{
    model_close(c->text);
    free(c->radius);
    free(c->pppoe);
    free(c);
}
