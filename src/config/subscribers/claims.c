/* SPDX-License-Identifier: BSD-3-Clause */
/* What only one subscriber may hold: circuits, GRE keys, addresses and prefixes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/subscribers.h"

/* A claim on a circuit, a key or addresses of IPv4 is its subscriber's number; one on a prefix of
 * IPv6 is number * PLACES + place: 0 his link's, 1.. those delegated to him. */
#define PLACES (1 + CPE_DELEGATED)

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

/* Who was added at run time stands in no file. */
static bool same_place(struct loc a, struct loc b)
{
    return a.line == b.line &&
           (a.file == b.file || (a.file != NULL && b.file != NULL && strcmp(a.file, b.file) == 0));
}

static bool of_ipv6(enum subscriber_claim what)
{
    return what == CLAIM_PREFIX || what == CLAIM_ADDRESS6;
}

/* The number of the subscriber whose claim it is. */
static uint32_t number_of(enum subscriber_claim what, uint32_t who)
{
    return of_ipv6(what) ? who / PLACES : who;
}

/* The prefix in a place, and its length, 0 where there is none. */
static struct ipv6 prefix_in(const struct cfg_subscriber *s, unsigned place, uint8_t *len)
{
    bool there = place <= s->ipv6.n_delegated;

    if (place == 0) {
        *len = s->ipv6.wan_len;
        return s->ipv6.wan;
    }
    *len = there ? s->ipv6.delegated_len[place - 1] : 0;
    return (struct ipv6){there ? s->ipv6.delegated[place - 1] : 0, 0};
}

/* A subscriber's addresses, or of one without IPv4 the first of his prefixes. */
static const char *addresses_text(const struct cfg_subscriber *s, char text[IPV6_TEXT])
{
    unsigned place = s->ipv6.wan_len == 0;
    struct ipv6 prefix;
    uint8_t len;

    if (s->ipv4_len == 0) {
        prefix = prefix_in(s, place, &len);
        return format_prefix6(prefix, len, text);
    }
    format_ipv4(s->ipv4, text, IPV6_TEXT);
    snprintf(text + strlen(text), IPV6_TEXT - strlen(text), "/%u", s->ipv4_len);
    return text;
}

static void tell(const struct report *r, uint32_t who, struct loc loc, struct loc first,
                 const struct cfg_subscriber *holder)
{
    const struct cfg_subscriber *s = &r->k->list[number_of(r->what, who)];
    struct diags *d = r->k->l->d;
    char text[IPV6_TEXT], at[PLACE_TEXT + 96];
    size_t size = strlen(place_text(first, at));
    struct ipv6 prefix;
    uint8_t len;

    snprintf(at + size, sizeof(at) - size, " (%s %u.%u, %s)", r->k->l->m->ports[holder->port].name,
             holder->svlan, holder->cvlan, addresses_text(holder, text));
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
    case CLAIM_ADDRESS:
        diag_error(d, loc, "key 'ipv4': value '%s': overlaps with a subscriber's, %s",
                   addresses_text(s, text), at);
        break;
    default:
        prefix = prefix_in(s, who % PLACES, &len);
        diag_error(d, loc, "key '%s': value '%s': overlaps with %s, %s",
                   who % PLACES == 0 ? "ipv6" : "delegated", format_prefix6(prefix, len, text),
                   s == holder ? "the same subscriber's" : "a subscriber's", at);
        break;
    }
}

static void report(struct report *r, uint32_t who, struct loc first,
                   const struct cfg_subscriber *holder)
{
    uint32_t number = number_of(r->what, who);
    const struct cfg_subscriber *s = &r->k->list[number];
    struct loc loc = r->k->place(r->k, s);

    if (r->told[number])
        return;
    r->told[number] = 1;
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
    tell(r, who, loc, first, holder);
}

static void on_clash(void *ctx, const struct claim *earlier, const struct claim *later)
{
    struct report *r = ctx;
    const struct cfg_subscriber *holder = &r->k->list[number_of(r->what, earlier->who)];
    const struct cfg_subscriber *s = &r->k->list[number_of(r->what, later->who)];

    /* different addresses of a link have one upper half, and may have one hash */
    if (of_ipv6(r->what) && earlier->who % PLACES == 0 && later->who % PLACES == 0 &&
        s->ipv6.wan_len == 128 && holder->ipv6.wan_len == 128 &&
        !same6(s->ipv6.wan, holder->ipv6.wan))
        return;
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

/* The claims of a kind on what subscriber i has of IPv6. Returns how many there are. */
static unsigned claims6_of(const struct cfg_subscriber *s, uint32_t i, enum subscriber_claim what,
                           struct claim *c)
{
    unsigned n = 0;

    for (unsigned place = 0; place <= s->ipv6.n_delegated; place++) {
        uint8_t len;
        struct ipv6 p = prefix_in(s, place, &len);
        uint64_t behind = len <= 64 ? ~mask64(len) : 0;

        if (len == 0 || (what == CLAIM_ADDRESS6 && len != 128))
            continue;
        if (what == CLAIM_ADDRESS6)
            p.upper ^= p.lower * UINT64_C(0x9e3779b97f4a7c15);
        c[n].first = p.upper;
        c[n].last = p.upper | behind;
        c[n++].who = i * PLACES + place;
    }
    return n;
}

static unsigned claims_of(const struct cfg_subscriber *s, uint32_t i, enum subscriber_claim what,
                          struct claim *c)
{
    if (of_ipv6(what))
        return claims6_of(s, i, what, c);
    if ((what == CLAIM_GRE_KEY && !s->has_gre_key) || (what == CLAIM_ADDRESS && s->ipv4_len == 0))
        return 0;
    *c = claim_of(s, what);
    c->who = i;
    return 1;
}

/* Who is there already and holds what a claim is on. */
static const struct cfg_subscriber *holder_of(const struct report *r, const struct claim *c)
{
    const struct subscriber_check *k = r->k;
    struct ipv6 prefix;
    uint8_t len;

    if (!of_ipv6(r->what))
        return k->holder != NULL ? k->holder(k->ctx, r->what, c->first, c->last) : NULL;
    if (k->holder6 == NULL || r->what == CLAIM_ADDRESS6)
        return NULL;
    prefix = prefix_in(&k->list[c->who / PLACES], c->who % PLACES, &len);
    return k->holder6(k->ctx, prefix, len);
}

/* Returns how many claims there are, which are sorted then. */
static size_t check_claims(struct report *r, struct claim *c)
{
    const struct subscriber_check *k = r->k;
    size_t n = 0;

    for (uint32_t i = 0; i < k->n; i++)
        n += claims_of(&k->list[i], i, r->what, &c[n]);
    find_clashes(c, n, on_clash, r);
    for (size_t i = 0; i < n; i++) {
        const struct cfg_subscriber *s = holder_of(r, &c[i]);

        if (s != NULL)
            report(r, c[i].who, place_of_holder(k->l->m, s), s);
    }
    return n;
}

/* The claim on a number, among claims sorted by their first, or NULL; of several the last. */
static const struct claim *claim_on(const struct claim *c, size_t n, uint64_t addr)
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

static void check_gateway(const struct subscriber_check *k, const struct claim *by_address,
                          size_t n)
{
    char text[32];

    for (unsigned i = 0; i < k->l->m->n_ports; i++) {
        const struct cfg_port *p = &k->l->m->ports[i];

        for (unsigned a = 0; a < p->n_addresses; a++) {
            const struct claim *c = claim_on(by_address, n, p->addresses[a]);

            if (c != NULL)
                diag_error(k->l->d, k->place(k, &k->list[c->who]),
                           "key 'ipv4': the subscriber's addresses hold %s, the gateway's own on "
                           "port '%s' at %s:%u",
                           format_ipv4(p->addresses[a], text, sizeof(text)), p->name, p->loc.file,
                           p->loc.line);
        }
    }
}

/* Find the claim on an address of IPv6. Several of single addresses may have its upper half. */
static const struct claim *claim_on_address6(const struct subscriber_check *k,
                                             const struct claim *by_prefix, size_t n,
                                             struct ipv6 addr)
{
    const struct claim *c = claim_on(by_prefix, n, addr.upper), *last = c;
    uint8_t len;

    for (; c != NULL && c >= by_prefix && c->first == last->first; c--) {
        struct ipv6 prefix = prefix_in(&k->list[c->who / PLACES], c->who % PLACES, &len);

        if (same6(prefix, first6(addr, len)))
            return c;
    }
    return NULL;
}

static void check_gateway6(const struct subscriber_check *k, const struct claim *by_prefix,
                           size_t n)
{
    char text[IPV6_TEXT];

    for (unsigned i = 0; i < k->l->m->n_ports; i++) {
        const struct cfg_port *p = &k->l->m->ports[i];

        for (unsigned a = 0; a < p->n_addresses6; a++) {
            const struct claim *c = claim_on_address6(k, by_prefix, n, p->addresses6[a]);

            if (c != NULL)
                diag_error(k->l->d, k->place(k, &k->list[c->who / PLACES]),
                           "key '%s': the subscriber's addresses hold %s, the gateway's own on "
                           "port '%s' at %s:%u",
                           c->who % PLACES == 0 ? "ipv6" : "delegated",
                           format_ipv6(p->addresses6[a], text), p->name, p->loc.file, p->loc.line);
        }
    }
}

void check_subscribers(const struct subscriber_check *k)
{
    struct report r = {.k = k, .told = grow(NULL, k->n, 1)};
    size_t most = k->n, prefixes = 0;
    struct claim *claims;

    for (uint32_t i = 0; i < k->n; i++)
        prefixes += (k->list[i].ipv6.wan_len != 0) + k->list[i].ipv6.n_delegated;
    claims = grow(NULL, prefixes > most ? prefixes : most, sizeof(*claims));
    memset(r.told, 0, k->n);
    for (r.what = CLAIM_CIRCUIT; r.what < N_CLAIMS; r.what++) {
        size_t n = check_claims(&r, claims);

        if (r.what == CLAIM_ADDRESS)
            check_gateway(k, claims, n);
        else if (r.what == CLAIM_PREFIX)
            check_gateway6(k, claims, n);
    }
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
