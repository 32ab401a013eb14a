/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/subscribers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* subscribers = ( { port; svlan; cvlan; ipv4; ... }, { csv; }, ... ): ranges and tables. */

const struct key subscriber_keys[N_SUBSCRIBER_KEYS] = {
    [SUBSCRIBER_PORT] = {"port", KEY_PORT, .required = true, .help = "his access port"},
    [SUBSCRIBER_SVLAN] = {"svlan", KEY_COUNT, .many = KEY_RANGE, .min = 1, .max = 4094,
                          .required = true, .help = "his outer VLAN"},
    [SUBSCRIBER_CVLAN] = {"cvlan", KEY_COUNT, .many = KEY_RANGE, .min = 1, .max = 4094,
                          .required = true, .help = "his inner VLAN"},
    [SUBSCRIBER_IPV4] = {"ipv4", KEY_HOSTS, .many = KEY_PREFIX,
                         .help = "the addresses that he may send from"},
    [SUBSCRIBER_GRE_KEY] = {"gre_key", KEY_COUNT, .many = KEY_RANGE, .max = UINT32_MAX,
                            .help = "the GRE key of his packets on the core side"},
    [SUBSCRIBER_MAC] = {"mac", KEY_MAC,
                        .help = "his MAC address; without it, it is learned by ARP"},
    [SUBSCRIBER_PROFILE] = {"profile", KEY_PROFILE,
                            .help = "the profile that shapes him, where his port is shaped"},
    [SUBSCRIBER_ROUTED] = {"routed", KEY_BOOL, .def = "false",
                           .help = "his prefix is routed behind one CPE, whose MAC is that of all "
                                   "its addresses; else each host has its own, 8 at most"},
    [SUBSCRIBER_NAME] = {"name", KEY_LABEL,
                         .help = "what people call him: free text, which others may have, too"},
    [SUBSCRIBER_IPV6] = {"ipv6", KEY_HOST6, .many = KEY_PREFIX6,
                         .help = "his link's IPv6 prefix, or his address there"},
    [SUBSCRIBER_DELEGATED] = {"delegated", KEY_DELEGATED, .many = KEY_POOLS6,
                              .help = "IPv6 prefixes that are delegated to him"},
    [SUBSCRIBER_PPPOE] = {"pppoe", KEY_OTHER,
                          .help = "the PPPoE session that he is in: { session; mac; mtu; magic }"},
    [SUBSCRIBER_IPV6_LEN] = {"ipv6_len", KEY_COUNT, .def = "64", .min = 64, .max = 128,
                             .of_many = true,
                             .help = "the length of each subscriber's ipv6: 64, or 128 for an "
                                     "address"},
    [SUBSCRIBER_DELEGATED_LEN] = {"delegated_len", KEY_COUNT, .def = "56", .min = 48, .max = 64,
                                  .of_many = true,
                                  .help = "the length of what each subscriber is delegated of each "
                                          "prefix"},
};

/* Where a table in CSV takes the place of all other keys. */
static const struct key csv_keys[] = {
    {"csv", KEY_STRING, .required = true, .help = "a file with a subscriber in each row"}};

/* The prefixes that right values of a row or an object say. */
static struct cpe_prefixes prefixes_of(const struct value *v)
{
    struct cpe_prefixes p = {0};
    struct ipv6 addr[CPE_DELEGATED] = {{0}};

    if (v[SUBSCRIBER_IPV6].set)
        parse_prefix6(v[SUBSCRIBER_IPV6].v.s, &p.wan, &p.wan_len);
    if (v[SUBSCRIBER_DELEGATED].set)
        p.n_delegated = (uint8_t)parse_prefixes6(v[SUBSCRIBER_DELEGATED].v.s, addr, p.delegated_len,
                                                 CPE_DELEGATED);
    for (unsigned i = 0; i < p.n_delegated; i++)
        p.delegated[i] = addr[i].upper;
    return p;
}

struct cfg_subscriber subscriber_of(const struct value *v)
{
    struct cfg_subscriber s = {
        .port = (uint32_t)v[SUBSCRIBER_PORT].v.u,
        .svlan = (uint16_t)v[SUBSCRIBER_SVLAN].v.u,
        .cvlan = (uint16_t)v[SUBSCRIBER_CVLAN].v.u,
        .ipv4 = (uint32_t)v[SUBSCRIBER_IPV4].v.u,
        .ipv4_len = v[SUBSCRIBER_IPV4].set ? (uint8_t)v[SUBSCRIBER_IPV4].v.u2 : 0,
        .has_gre_key = v[SUBSCRIBER_GRE_KEY].set,
        .gre_key = (uint32_t)v[SUBSCRIBER_GRE_KEY].v.u,
        .has_mac = v[SUBSCRIBER_MAC].set,
        .profile = v[SUBSCRIBER_PROFILE].set ? (uint32_t)v[SUBSCRIBER_PROFILE].v.u : CFG_NONE,
        .pipe = CFG_NONE,
        .routed = v[SUBSCRIBER_ROUTED].v.u != 0,
        .name = v[SUBSCRIBER_NAME].set ? v[SUBSCRIBER_NAME].v.s : NULL,
        .ipv6 = prefixes_of(v),
    };

    if (s.has_mac)
        mac_from_u64(v[SUBSCRIBER_MAC].v.u, s.mac);
    return s;
}

bool add_subscriber(struct loader *l, const struct cfg_subscriber *s)
{
    struct cfg_model *m = l->m;

    if (m->n_subscribers == CFG_MAX_SUBSCRIBERS)
        return false;
    GROW_ONE(m->subscribers, m->n_subscribers);
    m->subscribers[m->n_subscribers++] = *s;
    m->n_prefixes += count_prefixes(&s->ipv6);
    if (count_prefixes(&s->ipv6) > m->most_prefixes)
        m->most_prefixes = count_prefixes(&s->ipv6);
    return true;
}

/* --- both families --- */

/* An error of a subscriber as a whole; of a table, only the first ones are listed. */
static bool whole_error(struct loader *l, struct loc loc, const char *key, const char *text)
{
    if (l->table == NULL || csv_lists(l->table, key))
        diag_error(l->d, loc, "key '%s': %s", key, text);
    return false;
}

/* No bits may be set behind a prefix. */
static bool check_bits(struct loader *l, const struct value *v, const char *key, struct ipv6 addr,
                       uint8_t len)
{
    struct ipv6 first = first6(addr, len);
    char text[IPV6_TEXT];

    if (same6(first, addr))
        return true;
    value_error(l, v, key, "has bits set after the prefix: expected '%s'",
                format_prefix6(first, len, text));
    return false;
}

static bool check_wan(struct loader *l, const struct value *v, struct ipv6 addr, uint8_t len)
{
    char text[IPV6_TEXT];

    if (!check_bits(l, v, "ipv6", addr, len))
        return false;
    if (len == 128 && addr.lower == 0) {
        value_error(l, v, "ipv6",
                    "is the address of all routers of its link (RFC 4291 section 2.6.1): expected "
                    "that of a host, or '%s'",
                    format_prefix6(addr, 64, text));
        return false;
    }
    return true;
}

static bool check_delegated(struct loader *l, const struct value *v)
{
    struct ipv6 addr[CPE_DELEGATED];
    uint8_t len[CPE_DELEGATED];
    int n = parse_prefixes6(v->v.s, addr, len, CPE_DELEGATED);

    for (int i = 0; i < n; i++)
        if (!check_bits(l, v, "delegated", addr[i], len[i]))
            return false;
    return true;
}

/* What is given must be enough. */
static bool check_given(struct loader *l, struct loc loc, const struct value *v)
{
    const struct value *ipv4 = &v[SUBSCRIBER_IPV4];
    bool v6 = value_given(&v[SUBSCRIBER_IPV6]) || value_given(&v[SUBSCRIBER_DELEGATED]);

    if (!value_given(ipv4) && !v6)
        return whole_error(l, loc, "ipv4",
                           "missing: expected it, ipv6 or delegated, or several of them");
    return true;
}

bool check_families(struct loader *l, struct loc loc, const struct value *v)
{
    const struct value *ipv4 = &v[SUBSCRIBER_IPV4], *wan = &v[SUBSCRIBER_IPV6],
                       *delegated = &v[SUBSCRIBER_DELEGATED];
    struct cpe_prefixes p = prefixes_of(v);

    if (!check_given(l, loc, v) || (wan->set && !check_wan(l, wan, p.wan, p.wan_len)) ||
        (delegated->set && !check_delegated(l, delegated)))
        return false;
    if ((wan->set || delegated->set) && ipv4->set && ipv4->v.u2 < 32 &&
        v[SUBSCRIBER_ROUTED].v.u == 0 && !value_given(&v[SUBSCRIBER_MAC]))
        return whole_error(l, loc, "mac",
                           "missing: expected it, or routed = true: each host of ipv4 has a MAC of "
                           "its own, and ARP tells none for IPv6");
    return true;
}

/* --- ranges --- */

static uint64_t range_size(const struct value *v)
{
    return v->v.u2 - v->v.u + 1;
}

/* Is a pool of IPv6 a prefix, and large enough for so many prefixes of a length? */
static bool check_pool6(struct loader *l, const struct value *v, const char *key, struct ipv6 pool,
                        uint8_t len, uint8_t each, uint64_t count)
{
    char text[IPV6_TEXT];

    if (!check_bits(l, v, key, pool, len))
        return false;
    if (len > each || (each - len < 64 && count > UINT64_C(1) << (each - len))) {
        value_error(l, v, key,
                    "%s holds %" PRIu64 " prefixes of length %u: expected at least %" PRIu64
                    ", one per VLAN pair",
                    format_prefix6(pool, len, text), len > each ? 0 : UINT64_C(1) << (each - len),
                    each, count);
        return false;
    }
    return true;
}

/* The pool must be a prefix, of hosts' addresses, and large enough. */
static bool check_pool(struct loader *l, const struct value *ipv4, uint64_t count)
{
    uint64_t size = UINT64_C(1) << (32 - ipv4->v.u2);
    uint32_t prefix;
    uint8_t len;

    if (!take_prefix(l, ipv4, "ipv4", &prefix, &len))
        return false;
    if (size < count) {
        value_error(l, ipv4, "ipv4",
                    "holds %" PRIu64 " addresses: expected at least %" PRIu64 ", one per VLAN pair",
                    size, count);
        return false;
    }
    if (!ipv4_is_host(prefix) || !ipv4_is_host((uint32_t)(prefix + count - 1))) {
        value_error(l, ipv4, "ipv4", "expected addresses of hosts");
        return false;
    }
    return true;
}

static bool check_pools6(struct loader *l, const struct value *v, uint64_t count)
{
    const struct value *wan = &v[SUBSCRIBER_IPV6], *delegated = &v[SUBSCRIBER_DELEGATED];
    uint8_t each = (uint8_t)v[SUBSCRIBER_IPV6_LEN].v.u;
    struct cpe_prefixes p = prefixes_of(v);
    struct ipv6 pool[CPE_DELEGATED];
    uint8_t len[CPE_DELEGATED];
    bool ok = true;

    if (each != 64 && each != 128) {
        value_error(l, &v[SUBSCRIBER_IPV6_LEN], "ipv6_len", "expected 64 or 128");
        return false;
    }
    if (wan->set)
        ok = check_pool6(l, wan, "ipv6", p.wan, p.wan_len, each, count);
    if (wan->set && ok && each == 128 && p.wan.lower == 0) {
        value_error(l, wan, "ipv6",
                    "its first address is that of all routers of a link (RFC 4291 section 2.6.1): "
                    "expected a prefix without it");
        ok = false;
    }
    if (delegated->set)
        parse_prefixes6(delegated->v.s, pool, len, CPE_DELEGATED);
    for (unsigned i = 0; i < p.n_delegated; i++)
        ok &= check_pool6(l, delegated, "delegated", pool[i], len[i],
                          (uint8_t)v[SUBSCRIBER_DELEGATED_LEN].v.u, count);
    return ok;
}

bool check_macs(struct loader *l, const struct value *mac, uint64_t count)
{
    if (mac->v.u >> 40 == (mac->v.u + count - 1) >> 40)
        return true;
    value_error(l, mac, "mac",
                "counting up %" PRIu64 " subscribers runs out of its last five bytes", count);
    return false;
}

static bool check_numbers(struct loader *l, const struct value *v, uint64_t count)
{
    const struct value *key = &v[SUBSCRIBER_GRE_KEY], *mac = &v[SUBSCRIBER_MAC];
    bool ok = check_pools6(l, v, count);

    if (v[SUBSCRIBER_IPV4].set)
        ok &= check_pool(l, &v[SUBSCRIBER_IPV4], count);

    if (key->set && range_size(key) != count) {
        value_error(l, key, "gre_key", "%" PRIu64 " keys: expected %" PRIu64 ", one per VLAN pair",
                    range_size(key), count);
        ok = false;
    }
    if (v[SUBSCRIBER_ROUTED].v.u != 0) {
        value_error(l, &v[SUBSCRIBER_ROUTED], "routed",
                    "each subscriber of a range has one address: expected it where ipv4 is a "
                    "prefix, in a table (csv)");
        ok = false;
    }
    ok &= !mac->set || check_macs(l, mac, count);
    if (count > CFG_MAX_SUBSCRIBERS - l->m->n_subscribers) {
        value_error(l, &v[SUBSCRIBER_CVLAN], "cvlan", "expected at most %d subscribers in all",
                    CFG_MAX_SUBSCRIBERS);
        ok = false;
    }
    return ok;
}

/* The prefixes of the subscriber number i of a range, whose pools are in p. */
static struct cpe_prefixes prefixes_at(const struct cpe_prefixes *p, const struct value *v,
                                       uint64_t i)
{
    uint8_t each = (uint8_t)v[SUBSCRIBER_DELEGATED_LEN].v.u;
    struct cpe_prefixes his = *p;

    if (his.wan_len != 0)
        his.wan_len = (uint8_t)v[SUBSCRIBER_IPV6_LEN].v.u;
    his.wan.upper += his.wan_len == 64 ? i : 0;
    his.wan.lower += his.wan_len == 128 ? i : 0;
    for (unsigned k = 0; k < his.n_delegated; k++) {
        his.delegated[k] += i << (64 - each);
        his.delegated_len[k] = each;
    }
    return his;
}

static void add_range(struct loader *l, const struct value *v, struct loc loc)
{
    uint64_t cvlans = range_size(&v[SUBSCRIBER_CVLAN]),
             count = range_size(&v[SUBSCRIBER_SVLAN]) * cvlans;
    struct cfg_subscriber s = subscriber_of(v);
    struct cpe_prefixes pools = s.ipv6;
    struct cfg_pppoe first;
    uint64_t mac;

    if (!read_pppoe(l, v, count, &s))
        return;
    first = s.pppoe;
    mac = mac_to_u64(s.mac);
    s.line = loc.line;
    s.file = (uint16_t)keep_file(l, loc.file);
    s.ipv4_len = v[SUBSCRIBER_IPV4].set ? 32 : 0;
    for (uint64_t i = 0; i < count; i++) {
        s.svlan = (uint16_t)(v[SUBSCRIBER_SVLAN].v.u + i / cvlans);
        s.cvlan = (uint16_t)(v[SUBSCRIBER_CVLAN].v.u + i % cvlans);
        s.ipv4 = s.ipv4_len != 0 ? (uint32_t)(v[SUBSCRIBER_IPV4].v.u + i) : 0;
        s.ipv6 = prefixes_at(&pools, v, i);
        s.gre_key = s.has_gre_key ? (uint32_t)(v[SUBSCRIBER_GRE_KEY].v.u + i) : 0;
        if (s.has_mac)
            mac_from_u64(mac + i, s.mac);
        if (first.session != 0)
            s.pppoe.session = (uint16_t)(first.session + i);
        add_subscriber(l, &s);
    }
}

static void load_range(struct loader *l, const config_setting_t *group)
{
    struct value v[N_SUBSCRIBER_KEYS];
    bool ok = read_group(l, group, "range of subscribers", subscriber_keys, N_SUBSCRIBER_KEYS, v);

    ok &= check_given(l, setting_loc(l, group), v);
    if (v[SUBSCRIBER_SVLAN].set && v[SUBSCRIBER_CVLAN].set)
        ok &= check_numbers(l, v,
                            range_size(&v[SUBSCRIBER_SVLAN]) * range_size(&v[SUBSCRIBER_CVLAN]));
    if (ok)
        add_range(l, v, setting_loc(l, group));
}

static bool take_row(struct loader *l, const struct value *v, unsigned file, void *ctx)
{
    struct cfg_subscriber s = subscriber_of(v);

    (void)ctx;
    if (!check_families(l, l->at, v) || !read_pppoe_cells(l, v, &s))
        return true;
    s.line = l->at.line;
    s.file = (uint16_t)file;
    s.name = s.name != NULL ? keep_string(l, s.name) : NULL;
    if (add_subscriber(l, &s))
        return true;
    diag_error(l->d, l->at, "expected at most %d subscribers in all", CFG_MAX_SUBSCRIBERS);
    return false;
}

/* Most rows may have no session. */
static void load_table(struct loader *l, const struct value *file)
{
    struct key columns[N_TABLE_COLUMNS];
    const struct csv_kind table = {.keys = columns,
                                   .n_keys = N_TABLE_COLUMNS,
                                   .header = "port,svlan,cvlan,ipv4",
                                   .take = take_row};

    static_assert(N_TABLE_COLUMNS <= CSV_MAX_COLUMNS, "a table has room for all columns");
    memcpy(columns, subscriber_keys, N_SUBSCRIBER_COLUMNS * sizeof(*columns));
    memcpy(columns + N_SUBSCRIBER_COLUMNS, pppoe_keys + PPPOE_SESSION,
           (N_TABLE_COLUMNS - N_SUBSCRIBER_COLUMNS) * sizeof(*columns));
    for (unsigned k = N_SUBSCRIBER_COLUMNS; k < N_TABLE_COLUMNS; k++)
        columns[k].required = false;
    load_csv(l, file, &table, NULL);
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
        load_table(l, &v[0]);
}

static struct loc place_in_files(const struct subscriber_check *k, const struct cfg_subscriber *s)
{
    return (struct loc){k->l->m->files[s->file], s->line};
}

void load_subscribers(struct loader *l, const config_setting_t *subscribers)
{
    struct subscriber_check k = {.l = l, .place = place_in_files};

    each_group(l, subscribers, "subscribers", load_entry, NULL);
    k.list = l->m->subscribers;
    k.n = l->m->n_subscribers;
    check_subscribers(&k);
}

/* --- what shaping needs --- */

uint32_t subport_of(const struct cfg_scheduler *shape, const struct cfg_subscriber *s)
{
    for (uint32_t i = 0; i < shape->n_subports; i++) {
        const struct cfg_subport *p = &shape->subports[i];

        if (p->port == s->port && s->svlan >= p->svlan_first && s->svlan <= p->svlan_last)
            return i;
    }
    return CFG_NONE;
}

unsigned check_shaping(struct loader *l, struct loc loc, const struct cfg_subscriber *s,
                       const struct cfg_scheduler *shape, uint32_t subport, unsigned told)
{
    const char *port = l->m->ports[s->port].name;
    unsigned lack = subport == CFG_NONE      ? LACKS_SUBPORT
                    : s->profile == CFG_NONE ? LACKS_PROFILE
                                             : 0;

    if ((lack & LACKS_SUBPORT & ~told) != 0)
        diag_error(l->d, loc, "S-VLAN %u on port '%s' is in no subport of scheduler '%s'", s->svlan,
                   port, shape->name);
    if ((lack & LACKS_PROFILE & ~told) != 0)
        diag_error(l->d, loc, "key 'profile': missing: port '%s' is shaped by scheduler '%s'", port,
                   shape->name);
    return lack;
}
