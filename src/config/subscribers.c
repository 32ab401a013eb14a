/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/subscribers.h"

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
    [SUBSCRIBER_IPV4] = {"ipv4", KEY_HOSTS, .many = KEY_PREFIX, .required = true,
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
};

/* Where a table in CSV takes the place of all other keys. */
static const struct key csv_keys[] = {
    {"csv", KEY_STRING, .required = true, .help = "a file with a subscriber in each row"}};

struct cfg_subscriber subscriber_of(const struct value *v)
{
    struct cfg_subscriber s = {
        .port = (uint32_t)v[SUBSCRIBER_PORT].v.u,
        .svlan = (uint16_t)v[SUBSCRIBER_SVLAN].v.u,
        .cvlan = (uint16_t)v[SUBSCRIBER_CVLAN].v.u,
        .ipv4 = (uint32_t)v[SUBSCRIBER_IPV4].v.u,
        .ipv4_len = (uint8_t)v[SUBSCRIBER_IPV4].v.u2,
        .has_gre_key = v[SUBSCRIBER_GRE_KEY].set,
        .gre_key = (uint32_t)v[SUBSCRIBER_GRE_KEY].v.u,
        .has_mac = v[SUBSCRIBER_MAC].set,
        .profile = v[SUBSCRIBER_PROFILE].set ? (uint32_t)v[SUBSCRIBER_PROFILE].v.u : CFG_NONE,
        .pipe = CFG_NONE,
        .routed = v[SUBSCRIBER_ROUTED].v.u != 0,
        .name = v[SUBSCRIBER_NAME].set ? v[SUBSCRIBER_NAME].v.s : NULL,
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
    return true;
}

/* --- ranges --- */

static uint64_t range_size(const struct value *v)
{
    return v->v.u2 - v->v.u + 1;
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

static bool check_numbers(struct loader *l, const struct value *v, uint64_t count)
{
    const struct value *key = &v[SUBSCRIBER_GRE_KEY], *mac = &v[SUBSCRIBER_MAC];
    bool ok = check_pool(l, &v[SUBSCRIBER_IPV4], count);

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
    if (mac->set && (mac->v.u >> 40) != ((mac->v.u + count - 1) >> 40)) {
        value_error(l, mac, "mac",
                    "counting up %" PRIu64 " subscribers runs out of its last five bytes", count);
        ok = false;
    }
    if (count > CFG_MAX_SUBSCRIBERS - l->m->n_subscribers) {
        value_error(l, &v[SUBSCRIBER_CVLAN], "cvlan", "expected at most %d subscribers in all",
                    CFG_MAX_SUBSCRIBERS);
        ok = false;
    }
    return ok;
}

static void add_range(struct loader *l, const struct value *v, struct loc loc)
{
    uint64_t cvlans = range_size(&v[SUBSCRIBER_CVLAN]),
             count = range_size(&v[SUBSCRIBER_SVLAN]) * cvlans;
    struct cfg_subscriber s = subscriber_of(v);

    s.line = loc.line;
    s.file = (uint16_t)keep_file(l, loc.file);
    s.ipv4_len = 32;
    for (uint64_t i = 0; i < count; i++) {
        s.svlan = (uint16_t)(v[SUBSCRIBER_SVLAN].v.u + i / cvlans);
        s.cvlan = (uint16_t)(v[SUBSCRIBER_CVLAN].v.u + i % cvlans);
        s.ipv4 = (uint32_t)(v[SUBSCRIBER_IPV4].v.u + i);
        s.gre_key = s.has_gre_key ? (uint32_t)(v[SUBSCRIBER_GRE_KEY].v.u + i) : 0;
        if (s.has_mac)
            mac_from_u64(v[SUBSCRIBER_MAC].v.u + i, s.mac);
        add_subscriber(l, &s);
    }
}

static void load_range(struct loader *l, const config_setting_t *group)
{
    struct value v[N_SUBSCRIBER_KEYS];
    bool ok = read_group(l, group, "range of subscribers", subscriber_keys, N_SUBSCRIBER_KEYS, v);

    if (v[SUBSCRIBER_SVLAN].set && v[SUBSCRIBER_CVLAN].set && v[SUBSCRIBER_IPV4].set)
        ok &= check_numbers(l, v,
                            range_size(&v[SUBSCRIBER_SVLAN]) * range_size(&v[SUBSCRIBER_CVLAN]));
    if (ok)
        add_range(l, v, setting_loc(l, group));
}

static bool take_row(struct loader *l, const struct value *v, unsigned file, void *ctx)
{
    struct cfg_subscriber s = subscriber_of(v);

    (void)ctx;
    s.line = l->at.line;
    s.file = (uint16_t)file;
    s.name = s.name != NULL ? keep_string(l, s.name) : NULL;
    if (add_subscriber(l, &s))
        return true;
    diag_error(l->d, l->at, "expected at most %d subscribers in all", CFG_MAX_SUBSCRIBERS);
    return false;
}

static const struct csv_kind table = {.keys = subscriber_keys,
                                      .n_keys = N_SUBSCRIBER_KEYS,
                                      .header = "port,svlan,cvlan,ipv4",
                                      .take = take_row};

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
        load_csv(l, &v[0], &table, NULL);
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

/* --- what only one may hold --- */

/* One mistake, one message: two ranges may overlap in thousands of subscribers, and a row that is
 * there twice clashes in everything. */
struct report {
    const struct subscriber_check *k;
    uint8_t *told; /* by subscriber: it has been in a message, or it would be one too many */
    unsigned n_pairs;
    struct loc pairs[CFG_MAX_SAME_ERRORS][2];
    unsigned n_more;
    const struct cfg_subscriber *last;
    enum subscriber_claim what;
};

static bool same_place(struct loc a, struct loc b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

static void tell(const struct report *r, const struct cfg_subscriber *s, struct loc loc,
                 struct loc first, const struct cfg_subscriber *holder)
{
    struct diags *d = r->k->l->d;
    char text[32], at[PLACE_TEXT + 96];
    size_t len = strlen(place_text(first, at));

    snprintf(at + len, sizeof(at) - len, " (%s %u.%u, %s/%u)", r->k->l->m->ports[holder->port].name,
             holder->svlan, holder->cvlan, format_ipv4(holder->ipv4, text, sizeof(text)),
             holder->ipv4_len);
    switch (r->what) {
    case CLAIM_CIRCUIT:
        diag_error(
            d, loc,
            "key 'svlan': value '%u' with C-VLAN %u on port '%s': already a subscriber's, %s",
            s->svlan, s->cvlan, r->k->l->m->ports[s->port].name, at);
        break;
    case CLAIM_GRE_KEY:
        diag_error(d, loc, "key 'gre_key': value '%u': already a subscriber's, %s", s->gre_key, at);
        break;
    default:
        diag_error(d, loc, "key 'ipv4': value '%s/%u': overlaps with a subscriber's, %s",
                   format_ipv4(s->ipv4, text, sizeof(text)), s->ipv4_len, at);
        break;
    }
}

static void report(struct report *r, uint32_t who, struct loc first,
                   const struct cfg_subscriber *holder)
{
    const struct cfg_subscriber *s = &r->k->list[who];
    struct loc loc = r->k->place(r->k, s);

    if (r->told[who])
        return;
    r->told[who] = 1;
    for (unsigned i = 0; i < r->n_pairs; i++)
        if (same_place(r->pairs[i][0], first) && same_place(r->pairs[i][1], loc))
            return;
    if (r->n_pairs == CFG_MAX_SAME_ERRORS) {
        r->n_more++;
        r->last = s;
        return;
    }
    r->pairs[r->n_pairs][0] = first;
    r->pairs[r->n_pairs++][1] = loc;
    tell(r, s, loc, first, holder);
}

static void on_clash(void *ctx, const struct claim *earlier, const struct claim *later)
{
    struct report *r = ctx;

    const struct cfg_subscriber *holder = &r->k->list[earlier->who];

    report(r, later->who, r->k->place(r->k, holder), holder);
}

static struct claim claim_of(const struct cfg_subscriber *s, enum subscriber_claim what)
{
    uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - s->ipv4_len)) - 1);
    uint64_t circuit = claim_circuit(s->port, s->svlan, s->cvlan);

    return what == CLAIM_CIRCUIT ? (struct claim){.first = circuit, .last = circuit}
           : what == CLAIM_GRE_KEY
               ? (struct claim){.first = s->gre_key, .last = s->gre_key}
               : (struct claim){.first = s->ipv4 & ~hosts, .last = s->ipv4 | hosts};
}

/* Where one was written who is there already: in a file, or (line 0) in a request. */
static struct loc place_of_holder(const struct cfg_model *m, const struct cfg_subscriber *s)
{
    return (struct loc){s->line != 0 ? m->files[s->file] : NULL, s->line};
}

static void check_claims(struct report *r, struct claim *c)
{
    const struct subscriber_check *k = r->k;
    size_t n = 0;

    for (uint32_t i = 0; i < k->n; i++) {
        if (r->what == CLAIM_GRE_KEY && !k->list[i].has_gre_key)
            continue;
        c[n] = claim_of(&k->list[i], r->what);
        c[n++].who = i;
    }
    find_clashes(c, n, on_clash, r);
    for (size_t i = 0; k->holder != NULL && i < n; i++) {
        const struct cfg_subscriber *s = k->holder(k->ctx, r->what, c[i].first, c[i].last);

        if (s != NULL)
            report(r, c[i].who, place_of_holder(k->l->m, s), s);
    }
}

/* The claim on an address, among claims sorted by their first, or NULL. */
static const struct claim *claim_on(const struct claim *c, size_t n, uint32_t addr)
{
    size_t lo = 0;

    for (size_t hi = n; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;

        if (c[mid].first <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 && c[lo - 1].last >= addr ? &c[lo - 1] : NULL;
}

static void check_gateway(const struct subscriber_check *k, const struct claim *by_address)
{
    char text[32];

    for (unsigned i = 0; i < k->l->m->n_ports; i++) {
        const struct cfg_port *p = &k->l->m->ports[i];

        for (unsigned a = 0; a < p->n_addresses; a++) {
            const struct claim *c = claim_on(by_address, k->n, p->addresses[a]);

            if (c != NULL)
                diag_error(k->l->d, k->place(k, &k->list[c->who]),
                           "key 'ipv4': the subscriber's addresses hold %s, the gateway's own on "
                           "port '%s' at %s:%u",
                           format_ipv4(p->addresses[a], text, sizeof(text)), p->name, p->loc.file,
                           p->loc.line);
        }
    }
}

void check_subscribers(const struct subscriber_check *k)
{
    struct claim *claims = grow(NULL, k->n, sizeof(*claims));
    struct report r = {.k = k, .told = grow(NULL, k->n, 1)};

    memset(r.told, 0, k->n);
    for (r.what = CLAIM_CIRCUIT; r.what < N_CLAIMS; r.what++)
        check_claims(&r, claims);
    check_gateway(k, claims);
    if (r.n_more > 0)
        diag_error(k->l->d, k->place(k, r.last), "%u more subscribers overlap with others",
                   r.n_more);
    free(r.told);
    free(claims);
}

/* Who holds what only one may hold: sort the claims, then look at neighbours. */

static int by_first(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->who < b->who ? -1 : a->who > b->who;
}

static bool is_sorted(const struct claim *c, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_first(&c[i - 1], &c[i]) > 0)
            return false;
    return true;
}

void find_clashes(struct claim *c, size_t n,
                  void (*clash)(void *ctx, const struct claim *earlier, const struct claim *later),
                  void *ctx)
{
    const struct claim *widest = c; /* the one that reaches furthest so far */

    if (n == 0)
        return;
    if (!is_sorted(c, n)) /* ranges and generated tables are */
        qsort(c, n, sizeof(*c), by_first);
    for (size_t i = 1; i < n; i++) {
        if (c[i].first <= widest->last) {
            bool in_order = widest->who < c[i].who;

            clash(ctx, in_order ? widest : &c[i], in_order ? &c[i] : widest);
        }
        if (c[i].last > widest->last)
            widest = &c[i];
    }
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
