/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/dhcp6/answer.h"

bool answer6_on_link(const struct session *s, struct ipv6 address)
{
    return s->v6 != NULL && s->v6->has_wan && s->v6->wan.upper == address.upper;
}

bool answer6_is_off_link(const struct session *s, const struct dhcp6 *m, unsigned ia)
{
    for (unsigned i = 0; i < m->n_lease; i++)
        if (m->lease[i].ia == ia && m->ia[ia].kind != DHCP6_IA_PD &&
            !answer6_on_link(s, m->lease[i].address))
            return true;
    return false;
}

bool answer6_is_bound(const struct session *s, const struct dhcp6 *m, const struct dhcp6_ia *ia)
{
    const struct ia6 *own;

    if (!session6_held(s) || ia->kind == DHCP6_IA_TA)
        return false;
    own = ia->kind == DHCP6_IA_NA ? &s->v6->na : &s->v6->pd;
    return own->held && own->iaid == ia->iaid && session6_is_client(s->v6, &m->client);
}

const struct dhcp6_ia *answer6_choose(const struct session *s, const struct dhcp6 *m, uint8_t kind)
{
    const struct dhcp6_ia *first = NULL;

    for (unsigned i = 0; i < m->n_ia; i++) {
        if (m->ia[i].kind != kind)
            continue;
        if (answer6_is_bound(s, m, &m->ia[i]))
            return &m->ia[i];
        if (first == NULL)
            first = &m->ia[i];
    }
    return first;
}

/* --- one identity association --- */

static void refuse(struct dhcp6_ia *ia, uint16_t status, const char *why)
{
    ia->status = status;
    ia->text = why;
}

static void add_lease(struct dhcp6 *a, unsigned ia, struct ipv6 address, uint8_t len,
                      uint32_t seconds)
{
    a->lease[a->n_lease++] = (struct dhcp6_lease){(uint8_t)ia, len, seconds, seconds, address};
}

/* What the line has of the kind of an identity association. */
static struct dhcp6_lease own_lease(const struct session *s, uint8_t kind)
{
    if (kind == DHCP6_IA_NA)
        return (struct dhcp6_lease){.len = 128, .address = s->v6->wan};
    return (struct dhcp6_lease){.len = s->v6->delegated_len, .address = {s->v6->delegated, 0}};
}

static void give(const struct session *s, struct dhcp6 *a, unsigned ia, uint32_t seconds)
{
    struct dhcp6_lease l = own_lease(s, a->ia[ia].kind);

    a->ia[ia].t1 = seconds / 2;
    a->ia[ia].t2 = (uint32_t)((uint64_t)seconds * 4 / 5); /* RFC 8415 section 21.4 */
    add_lease(a, ia, l.address, l.len, seconds);
}

/* Leases that a client names and has not, or has no more: it is to forget them. */
static void take_away(const struct session *s, const struct dhcp6 *q, struct dhcp6 *a, unsigned ia,
                      bool bound)
{
    struct dhcp6_lease own = {.len = 0};

    if (bound)
        own = own_lease(s, q->ia[ia].kind);
    for (unsigned i = 0; i < q->n_lease; i++) {
        const struct dhcp6_lease *l = &q->lease[i];

        if (l->ia == ia && (!same6(l->address, own.address) || l->len != own.len))
            add_lease(a, ia, l->address, l->len, 0);
    }
}

/* Of SOLICIT and REQUEST: the chosen one gets what is kept for the line. */
static void assign(const struct session *s, const struct dhcp6 *q, struct dhcp6 *a, unsigned ia,
                   uint32_t seconds)
{
    const struct session6 *v = s->v6;
    struct dhcp6_ia *to = &a->ia[ia];
    bool chosen = answer6_choose(s, q, to->kind) == &q->ia[ia];

    if (to->kind == DHCP6_IA_NA && q->type == DHCP6_REQUEST && answer6_is_off_link(s, q, ia))
        refuse(to, DHCP6_NOT_ON_LINK, "the address is not on this link");
    else if (to->kind == DHCP6_IA_PD && (!chosen || v == NULL || !v->has_delegated))
        refuse(to, DHCP6_NO_PREFIX_AVAIL, "there is no prefix");
    else if (to->kind != DHCP6_IA_PD &&
             (to->kind == DHCP6_IA_TA || !chosen || v == NULL || !v->has_wan))
        refuse(to, DHCP6_NO_ADDRS_AVAIL, "there is no address");
    else
        give(s, a, ia, seconds);
}

/* Of RENEW and REBIND. A client that rebinds asks all servers, of which another might know it: it
 * is told what it has not only by lifetimes of 0. */
static void extend(const struct session *s, const struct dhcp6 *q, struct dhcp6 *a, unsigned ia,
                   uint32_t seconds)
{
    bool bound = answer6_is_bound(s, q, &q->ia[ia]) &&
                 answer6_choose(s, q, q->ia[ia].kind) == &q->ia[ia]; /* the first of twins */

    if (bound)
        give(s, a, ia, seconds);
    else if (q->type == DHCP6_RENEW)
        refuse(&a->ia[ia], DHCP6_NO_BINDING, "there is no such lease");
    if (bound || q->type == DHCP6_REBIND)
        take_away(s, q, a, ia, bound);
}

/* --- the message --- */

static void take_ias(const struct session *s, const struct dhcp6 *q, uint32_t seconds,
                     struct dhcp6 *a)
{
    for (unsigned i = 0; i < q->n_ia; i++) {
        a->ia[i] = (struct dhcp6_ia){.kind = q->ia[i].kind, .iaid = q->ia[i].iaid};
        a->n_ia++;
        if (q->type == DHCP6_RENEW || q->type == DHCP6_REBIND)
            extend(s, q, a, i, seconds);
        else
            assign(s, q, a, i, seconds);
    }
}

/* Of RELEASE and DECLINE: a success, and those alone that have no lease (RFC 8415 section 18.3.7).
 */
static void take_foreign_ias(const struct session *s, const struct dhcp6 *q, struct dhcp6 *a)
{
    for (unsigned i = 0; i < q->n_ia; i++) {
        struct dhcp6_ia *ia = &a->ia[a->n_ia];

        if (answer6_is_bound(s, q, &q->ia[i]))
            continue;
        *ia = (struct dhcp6_ia){.kind = q->ia[i].kind, .iaid = q->ia[i].iaid};
        refuse(ia, DHCP6_NO_BINDING, "there is no such lease");
        a->n_ia++;
    }
    a->has_status = true;
}

static void confirm(const struct session *s, const struct dhcp6 *q, struct dhcp6 *a)
{
    a->has_status = true;
    for (unsigned i = 0; i < q->n_ia; i++)
        if (answer6_is_off_link(s, q, i)) {
            a->status = DHCP6_NOT_ON_LINK;
            a->text = "an address is not on this link";
        }
}

void answer6_make(const struct session *s, const struct dhcp6 *q, uint8_t type,
                  const struct dhcp6_duid *server, uint32_t seconds, struct dhcp6 *a)
{
    *a = (struct dhcp6){.type = type,
                        .xid = q->xid,
                        .client = q->client,
                        .server = *server,
                        .wants_dns = q->wants_dns,
                        .wants_domain = q->wants_domain,
                        .wants_refresh = q->wants_refresh && q->type == DHCP6_INFORMATION_REQUEST};
    a->rapid = q->type == DHCP6_SOLICIT && type == DHCP6_REPLY;
    if (q->type == DHCP6_RELEASE || q->type == DHCP6_DECLINE)
        take_foreign_ias(s, q, a);
    else if (q->type == DHCP6_CONFIRM)
        confirm(s, q, a);
    else
        take_ias(s, q, seconds, a);
}
