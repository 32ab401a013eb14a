/* SPDX-License-Identifier: BSD-3-Clause */
/* No two subscribers share a VLAN pair, a GRE key or an address, and none has the gateway's. */
#include <stdlib.h>
#include <string.h>

#include "config/load_value.h"

struct place {
    uint32_t line;
    uint16_t file;
};

/* One mistake, one message: two ranges that overlap in thousands of subscribers, or a row that is
 * there twice and so clashes in everything. */
struct report {
    struct loader *l;
    uint8_t *told; /* by subscriber: it has been in a message, or it would be one too many */
    unsigned n_pairs;
    struct place pairs[CFG_MAX_SAME_ERRORS][2];
    unsigned n_more;
    const struct cfg_subscriber *last;
    enum { BY_VLANS, BY_GRE_KEY, BY_ADDRESS } by;
};

static struct place place_of(const struct cfg_subscriber *s)
{
    return (struct place){s->line, s->file};
}

static struct loc subscriber_loc(const struct loader *l, const struct cfg_subscriber *s)
{
    return (struct loc){l->m->files[s->file], s->line};
}

static bool same_place(struct place a, struct place b)
{
    return a.line == b.line && a.file == b.file;
}

static void tell(const struct report *r, const struct cfg_subscriber *earlier,
                 const struct cfg_subscriber *later)
{
    struct loc loc = subscriber_loc(r->l, later), first = subscriber_loc(r->l, earlier);
    char text[32];

    switch (r->by) {
    case BY_VLANS:
        diag_error(r->l->d, loc,
                   "key 'svlan': value '%u' with C-VLAN %u on port '%s': already a subscriber's, "
                   "at %s:%u",
                   later->svlan, later->cvlan, r->l->m->ports[later->port].name, first.file,
                   first.line);
        break;
    case BY_GRE_KEY:
        diag_error(r->l->d, loc, "key 'gre_key': value '%u': already a subscriber's, at %s:%u",
                   later->gre_key, first.file, first.line);
        break;
    case BY_ADDRESS:
        diag_error(
            r->l->d, loc, "key 'ipv4': value '%s/%u': overlaps with a subscriber's, at %s:%u",
            format_ipv4(later->ipv4, text, sizeof(text)), later->ipv4_len, first.file, first.line);
        break;
    }
}

static void on_clash(void *ctx, const struct claim *a, const struct claim *b)
{
    struct report *r = ctx;
    const struct cfg_subscriber *earlier = &r->l->m->subscribers[a->who];
    const struct cfg_subscriber *later = &r->l->m->subscribers[b->who];

    if (r->told[b->who])
        return;
    r->told[b->who] = 1;
    for (unsigned i = 0; i < r->n_pairs; i++)
        if (same_place(r->pairs[i][0], place_of(earlier)) &&
            same_place(r->pairs[i][1], place_of(later)))
            return;
    if (r->n_pairs == CFG_MAX_SAME_ERRORS) {
        r->n_more++;
        r->last = later;
        return;
    }
    r->pairs[r->n_pairs][0] = place_of(earlier);
    r->pairs[r->n_pairs++][1] = place_of(later);
    tell(r, earlier, later);
}

static struct claim vlan_claim(const struct cfg_subscriber *s)
{
    uint64_t key = (uint64_t)s->port << 32 | (uint64_t)s->svlan << 16 | s->cvlan;

    return (struct claim){.first = key, .last = key};
}

static struct claim address_claim(const struct cfg_subscriber *s)
{
    uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - s->ipv4_len)) - 1);

    return (struct claim){.first = s->ipv4 & ~hosts, .last = s->ipv4 | hosts};
}

static void check_kind(struct report *r, struct claim *c)
{
    const struct cfg_model *m = r->l->m;
    size_t n = 0;

    for (uint32_t i = 0; i < m->n_subscribers; i++) {
        const struct cfg_subscriber *s = &m->subscribers[i];

        if (r->by == BY_GRE_KEY && !s->has_gre_key)
            continue;
        c[n] = r->by == BY_VLANS     ? vlan_claim(s)
               : r->by == BY_ADDRESS ? address_claim(s)
                                     : (struct claim){.first = s->gre_key, .last = s->gre_key};
        c[n++].who = i;
    }
    find_clashes(c, n, on_clash, r);
}

/* The claim on an address, among claims sorted by their first, or NULL. */
static const struct claim *holder(const struct claim *c, size_t n, uint32_t addr)
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

static void check_gateway(struct loader *l, const struct claim *by_address)
{
    char text[32];

    for (unsigned i = 0; i < l->m->n_ports; i++) {
        const struct cfg_port *p = &l->m->ports[i];

        for (unsigned a = 0; a < p->n_addresses; a++) {
            const struct claim *c = holder(by_address, l->m->n_subscribers, p->addresses[a]);

            if (c != NULL)
                diag_error(l->d, subscriber_loc(l, &l->m->subscribers[c->who]),
                           "key 'ipv4': the subscriber's addresses hold %s, the gateway's own on "
                           "port '%s' at %s:%u",
                           format_ipv4(p->addresses[a], text, sizeof(text)), p->name, p->loc.file,
                           p->loc.line);
        }
    }
}

void check_overlaps(struct loader *l)
{
    uint32_t n = l->m->n_subscribers;
    struct claim *claims = grow(NULL, n, sizeof(*claims));
    struct report r = {.l = l, .told = grow(NULL, n, 1)};

    memset(r.told, 0, n);
    r.by = BY_VLANS;
    check_kind(&r, claims);
    r.by = BY_GRE_KEY;
    check_kind(&r, claims);
    r.by = BY_ADDRESS;
    check_kind(&r, claims);
    check_gateway(l, claims);
    if (r.n_more > 0)
        diag_error(l->d, subscriber_loc(l, r.last), "%u more subscribers overlap with others",
                   r.n_more);
    free(r.told);
    free(claims);
}
