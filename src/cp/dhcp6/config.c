/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/dhcp6/config.h"

#include <string.h>

#include "config/keys.h"
#include "cp/relay/config.h"

#define DAY_NS    UINT64_C(86400000000000)
#define SECOND_NS UINT64_C(1000000000)
#define WAN_LEN   64 /* of a link on which hosts make addresses: RFC 4862 section 5.5.3 */

enum {
    POOL_NAME,
    POOL_WAN,
    POOL_DELEGATED,
    POOL_DELEGATED_LEN,
    POOL_DNS,
    POOL_DOMAIN,
    POOL_LEASE,
    POOL_RELAY,
    N_POOL
};

static const struct key pool_keys[N_POOL] = {
    [POOL_NAME] = {"name", KEY_NAME, .required = true},
    [POOL_WAN] = {"wan", KEY_PREFIX6},
    [POOL_DELEGATED] = {"delegated", KEY_PREFIX6},
    [POOL_DELEGATED_LEN] = {"delegated_len", KEY_COUNT, .def = "56", .min = 48, .max = 64},
    [POOL_DNS] = {"dns", KEY_OTHER},
    [POOL_DOMAIN] = {"domain", KEY_STRING},
    [POOL_LEASE] = {"lease_time", KEY_DURATION, .def = "1h", .min = SECOND_NS, .max = 366 * DAY_NS},
    [POOL_RELAY] = {"relay", KEY_NAME},
};

/* A prefix, and the length of the blocks that lines get of it. */
static void read_blocks(struct loader *l, const struct value *v, const char *key, uint8_t each_len,
                        struct cp_blocks *b)
{
    char text[IPV6_TEXT];
    struct ipv6 address, first;
    uint8_t len;

    if (!v->set || parse_prefix6(v->v.s, &address, &len) != 0)
        return;
    first = first6(address, len);
    if (!same6(address, first))
        value_error(l, v, key, "has bits set after the prefix: expected '%s'",
                    format_prefix6(first, len, text));
    else if (len > each_len || each_len - len > CP_BLOCK_BITS)
        value_error(l, v, key, "expected a length of %u to %u, for each line gets a /%u",
                    each_len - CP_BLOCK_BITS, each_len, each_len);
    else
        *b = (struct cp_blocks){first.upper, len, each_len};
}

static void read_dns(struct loader *l, struct cp_pool6 *p, const struct value *v)
{
    const config_setting_t *texts[DHCP6_MAX_SERVERS];
    unsigned n;

    if (!value_given(v))
        return;
    n = read_strings(l, v->setting, "dns", texts, DHCP6_MAX_SERVERS);
    for (unsigned i = 0; i < n; i++) {
        static const struct key server = {"dns", .type = KEY_ADDRESS};
        struct value address = {.setting = texts[i]};

        if (!read_value(l, &server, &address))
            continue;
        if (parse_ipv6(config_setting_get_string(texts[i]), &p->dns[p->n_dns]) == 0)
            p->n_dns++;
        else
            value_error(l, &address, "dns", "expected an address of IPv6");
    }
}

static bool overlap(const struct cp_blocks *a, const struct cp_blocks *b)
{
    uint8_t len = a->len < b->len ? a->len : b->len;

    return len != 0 && ((a->prefix ^ b->prefix) & mask64(len)) == 0;
}

/* A block that is in two pools would be given twice. */
static void check_overlap(struct loader *l, const struct pools6_config *c, const struct cp_pool6 *p)
{
    char place[PLACE_TEXT];

    if (overlap(&p->wan, &p->delegated))
        diag_error(l->d, p->loc, "pool '%s': its wan and delegated overlap", p->name);
    for (unsigned i = 0; i < c->n; i++) {
        const struct cp_pool6 *other = &c->pool[i];

        if (strcmp(other->name, p->name) == 0)
            diag_error(l->d, p->loc, "pool '%s': is there already, %s", p->name,
                       place_text(other->loc, place));
        else if (overlap(&p->wan, &other->wan) || overlap(&p->wan, &other->delegated) ||
                 overlap(&p->delegated, &other->wan) || overlap(&p->delegated, &other->delegated))
            diag_error(l->d, p->loc, "pool '%s': a prefix of it overlaps one of '%s' %s", p->name,
                       other->name, place_text(other->loc, place));
    }
}

/* What servers behind this gateway say is not said here, too. */
static void read_relay_of(struct loader *l, const struct relays_config *relays, struct cp_pool6 *p,
                          const struct value *v)
{
    static const unsigned theirs[] = {POOL_DNS, POOL_DOMAIN, POOL_LEASE};

    p->relay = relay_named(l, relays, &v[POOL_RELAY], AF_INET6);
    for (unsigned i = 0; value_given(&v[POOL_RELAY]) && i < sizeof(theirs) / sizeof(theirs[0]); i++)
        if (value_given(&v[theirs[i]]))
            key_error(l, v[theirs[i]].setting, pool_keys[theirs[i]].name,
                      "the servers of the pool's relay say it");
}

struct reading {
    const struct relays_config *relays;
    struct pools6_config *c;
};

static void read_pool(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    const struct reading *r = ctx;
    struct pools6_config *c = r->c;
    struct cp_pool6 p = {.name = ""};
    struct value v[N_POOL];

    if (i == CP_MAX_POOLS6)
        key_error(l, group, "pools6", "expected at most %u", CP_MAX_POOLS6);
    if (i >= CP_MAX_POOLS6)
        return;
    read_group(l, group, "pool of IPv6", pool_keys, N_POOL, v);
    p.loc = setting_loc(l, group);
    p.name = v[POOL_NAME].set ? v[POOL_NAME].v.s : "";
    p.domain = v[POOL_DOMAIN].set ? v[POOL_DOMAIN].v.s : NULL;
    p.lease_s = (uint32_t)(v[POOL_LEASE].v.u / SECOND_NS);
    read_blocks(l, &v[POOL_WAN], "wan", WAN_LEN, &p.wan);
    read_blocks(l, &v[POOL_DELEGATED], "delegated", (uint8_t)v[POOL_DELEGATED_LEN].v.u,
                &p.delegated);
    read_dns(l, &p, &v[POOL_DNS]);
    read_relay_of(l, r->relays, &p, v);
    if (!value_given(&v[POOL_WAN]) && !value_given(&v[POOL_DELEGATED]))
        diag_error(l->d, p.loc, "pool '%s': expected wan, delegated, or both", p.name);
    if (p.domain != NULL && !dhcp6_is_domain(p.domain))
        value_error(l, &v[POOL_DOMAIN], "domain",
                    "expected a name of at most 253 characters, with labels of 1 to 63");
    check_overlap(l, c, &p);
    c->pool[c->n++] = p;
}

void pools6_read(struct loader *l, const struct config_setting_t *list,
                 const struct relays_config *relays, struct pools6_config *c)
{
    struct reading r = {relays, c};

    each_group(l, list, "pools6", read_pool, &r);
}
