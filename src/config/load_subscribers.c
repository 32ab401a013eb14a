/* SPDX-License-Identifier: BSD-3-Clause */
/* subscribers = ( { port; svlan; cvlan; ipv4; gre_key; mac; }, { csv; }, ... ): ranges and tables.
 */
#include <inttypes.h>
#include <string.h>

#include "config/load_value.h"

enum {
    SUB_PORT,
    SUB_SVLAN,
    SUB_CVLAN,
    SUB_IPV4,
    SUB_GRE_KEY,
    SUB_MAC,
    SUB_PROFILE,
    SUB_CSV,
    N_SUB_KEYS
};

static const struct key sub_keys[N_SUB_KEYS] = {
    [SUB_PORT] = {"port", KEY_STRING, .required = true},
    [SUB_SVLAN] = {"svlan", KEY_RANGE, .min = 1, .max = 4094, .required = true},
    [SUB_CVLAN] = {"cvlan", KEY_RANGE, .min = 1, .max = 4094, .required = true},
    [SUB_IPV4] = {"ipv4", KEY_PREFIX, .required = true},
    [SUB_GRE_KEY] = {"gre_key", KEY_RANGE, .max = UINT32_MAX},
    [SUB_MAC] = {"mac", KEY_MAC},
    [SUB_PROFILE] = {"profile", KEY_STRING},
    [SUB_CSV] = {"csv", KEY_STRING},
};

/* The same keys where a CSV file takes the place of all others. */
static const struct key csv_keys[] = {{"csv", KEY_STRING, .required = true}};

bool add_subscriber(struct loader *l, const struct cfg_subscriber *s)
{
    struct cfg_model *m = l->m;

    if (m->n_subscribers == CFG_MAX_SUBSCRIBERS)
        return false;
    GROW_ONE(m->subscribers, m->n_subscribers);
    m->subscribers[m->n_subscribers++] = *s;
    return true;
}

static uint64_t range_size(const struct value *v)
{
    return v->v.u2 - v->v.u + 1;
}

/* The pool must be a prefix, of hosts' addresses, and large enough. */
static bool check_pool(struct loader *l, const struct value *v, uint64_t count)
{
    const struct value *ipv4 = &v[SUB_IPV4];
    uint64_t size = UINT64_C(1) << (32 - ipv4->v.u2);
    char first[32];

    if ((ipv4->v.u & (size - 1)) != 0) {
        key_error(l, ipv4->setting, "ipv4", "has bits set after the prefix: expected '%s/%u'",
                  format_ipv4((uint32_t)(ipv4->v.u & ~(size - 1)), first, sizeof(first)),
                  (unsigned)ipv4->v.u2);
        return false;
    }
    if (size < count) {
        key_error(l, ipv4->setting, "ipv4",
                  "holds %" PRIu64 " addresses: expected at least %" PRIu64 ", one per VLAN pair",
                  size, count);
        return false;
    }
    if (!ipv4_is_host((uint32_t)ipv4->v.u) || !ipv4_is_host((uint32_t)(ipv4->v.u + count - 1))) {
        key_error(l, ipv4->setting, "ipv4", "expected addresses of hosts");
        return false;
    }
    return true;
}

static bool check_numbers(struct loader *l, const struct value *v, uint64_t count)
{
    bool ok = check_pool(l, v, count);

    if (v[SUB_GRE_KEY].set && range_size(&v[SUB_GRE_KEY]) != count) {
        key_error(l, v[SUB_GRE_KEY].setting, "gre_key",
                  "%" PRIu64 " keys: expected %" PRIu64 ", one per VLAN pair",
                  range_size(&v[SUB_GRE_KEY]), count);
        ok = false;
    }
    if (v[SUB_MAC].set && (v[SUB_MAC].v.u >> 40) != ((v[SUB_MAC].v.u + count - 1) >> 40)) {
        key_error(l, v[SUB_MAC].setting, "mac",
                  "counting up %" PRIu64 " subscribers runs out of its last five bytes", count);
        ok = false;
    }
    if (count > CFG_MAX_SUBSCRIBERS - l->m->n_subscribers) {
        key_error(l, v[SUB_CVLAN].setting, "cvlan", "expected at most %d subscribers in all",
                  CFG_MAX_SUBSCRIBERS);
        ok = false;
    }
    return ok;
}

static uint32_t resolve_profile(struct loader *l, const struct value *v)
{
    uint32_t profile;

    if (v->setting == NULL || !v->set)
        return CFG_NONE;
    profile = find_profile(l, v->v.s);
    if (profile != CFG_NONE)
        return profile;
    unknown_name(l, v->setting, "profile", "profile", nearest_profile(l, v->v.s));
    return 0; /* one mistake, one message */
}

static void add_range(struct loader *l, const struct value *v, struct loc loc, uint32_t port)
{
    uint64_t cvlans = range_size(&v[SUB_CVLAN]), count = range_size(&v[SUB_SVLAN]) * cvlans;
    struct cfg_subscriber s = {
        .port = port,
        .line = loc.line,
        .file = (uint16_t)keep_file(l, loc.file),
        .profile = resolve_profile(l, &v[SUB_PROFILE]),
        .pipe = CFG_NONE,
        .ipv4_len = 32,
        .has_gre_key = v[SUB_GRE_KEY].set,
        .has_mac = v[SUB_MAC].set,
    };

    for (uint64_t i = 0; i < count; i++) {
        s.svlan = (uint16_t)(v[SUB_SVLAN].v.u + i / cvlans);
        s.cvlan = (uint16_t)(v[SUB_CVLAN].v.u + i % cvlans);
        s.ipv4 = (uint32_t)(v[SUB_IPV4].v.u + i);
        s.gre_key = s.has_gre_key ? (uint32_t)(v[SUB_GRE_KEY].v.u + i) : 0;
        if (s.has_mac)
            mac_from_u64(v[SUB_MAC].v.u + i, s.mac);
        add_subscriber(l, &s);
    }
}

static void load_range(struct loader *l, const config_setting_t *group)
{
    struct value v[N_SUB_KEYS];
    bool ok = read_group(l, group, "range of subscribers", sub_keys, N_SUB_KEYS, v);
    uint32_t port = CFG_NONE;

    if (v[SUB_PORT].set) {
        port = find_port(l, v[SUB_PORT].v.s);
        if (port == CFG_NONE && !l->port_nameless)
            unknown_name(l, v[SUB_PORT].setting, "port", "port", nearest_port(l, v[SUB_PORT].v.s));
    }
    if (!v[SUB_SVLAN].set || !v[SUB_CVLAN].set || !v[SUB_IPV4].set)
        return;
    if (check_numbers(l, v, range_size(&v[SUB_SVLAN]) * range_size(&v[SUB_CVLAN])) && ok &&
        port != CFG_NONE)
        add_range(l, v, setting_loc(l, group), port);
}

static void load_entry(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct value v[1];

    (void)i;
    (void)ctx;
    if (config_setting_get_member(group, "csv") == NULL) {
        load_range(l, group);
        return;
    }
    read_group(l, group, "table of subscribers", csv_keys, 1, v);
    if (v[0].set)
        load_csv(l, beside(l, v[0].v.loc.file, v[0].v.s), v[0].v.loc, v[0].v.s);
}

void load_subscribers(struct loader *l, const config_setting_t *subscribers)
{
    each_group(l, subscribers, "subscribers", load_entry, NULL);
    check_overlaps(l);
}
