/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/proxy6.h"

#include <stdlib.h>
#include <sys/random.h>

#include "cp/aaa/aaa.h"
#include "cp/dhcp6/answer.h"
#include "cp/lease.h"
#include "cp/packet/dhcp6_relay.h"
#include "cp/packet/udp6.h"
#include "cp/relay/relay6.h"
#include "cp/relay/servers.h"

/* What the server has said of a kind of identity association: seconds of CLOCK_REALTIME. */
struct times {
    int64_t preferred, valid; /* until then */
    int64_t t1, t2;
};

struct proxy6 {
    struct times na, pd;
    uint32_t own_xid;      /* of the RENEW or REBIND that the server has not answered yet, or 0 */
    struct octets *beside; /* options that the client is told beside its leases, or NULL */
};

uint32_t proxy6_most(const struct cp *cp, const struct session *s)
{
    uint32_t client_s = relay_config(relay6_of(cp, s))->client_s;

    return aaa_lease(s, client_s != 0 ? client_s : UINT32_MAX);
}

void proxy6_free(struct proxy6 *p)
{
    if (p != NULL)
        free(p->beside);
    free(p);
}

/* --- the server's lease --- */

/* T1 and T2 are the gateway's choice where a server says 0 (RFC 8415 section 21.4). */
static void keep_kind(struct times *t, const struct given6_kind *g)
{
    int64_t now = wall_seconds();
    uint32_t preferred;

    if (g->lease == NULL)
        return;
    preferred = g->lease->preferred;
    t->preferred = now + preferred;
    t->valid = now + g->lease->valid;
    t->t1 = now + (g->ia->t1 != 0 ? g->ia->t1 : preferred / 2);
    t->t2 = now + (g->ia->t2 != 0 ? g->ia->t2 : (int64_t)preferred * 4 / 5);
}

void proxy6_keep(struct cp *cp, struct session *s, const struct given6 *g, const uint8_t *message,
                 size_t n)
{
    struct relay6 *r = s->relay6;
    uint8_t beside[RELAY_MESSAGE];

    if (relay_config(relay6_of(cp, s))->client_s == 0)
        return;
    if (r->proxy == NULL)
        r->proxy = calloc(1, sizeof(*r->proxy));
    if (r->proxy == NULL || n > sizeof(beside))
        return; /* the client's renewals are relayed */
    keep_kind(&r->proxy->na, &g->na);
    keep_kind(&r->proxy->pd, &g->pd);
    octets_set(&r->proxy->beside, beside, dhcp6_copy_beside(message, n, beside));
}

static int64_t least(const struct session6 *v, int64_t na, int64_t pd)
{
    return !v->na.held || (v->pd.held && pd < na) ? pd : na;
}

/* Renew it, once half of it is over: with the server that has given it, and from T2 on with whoever
 * knows of it. */
static void renew(struct cp *cp, struct session *s)
{
    struct proxy6 *p = s->relay6->proxy;
    const struct session6 *v = s->v6;
    int64_t now = wall_seconds();
    bool rebinds = now >= least(v, p->na.t2, p->pd.t2);

    if (now < least(v, p->na.t1, p->pd.t1))
        return;
    p->own_xid = relay6_say(cp, s, rebinds ? DHCP6_REBIND : DHCP6_RENEW, v->na.held, v->pd.held);
}

static bool is_own(const struct session *s, const struct dhcp6 *a, struct ipv6 peer)
{
    const struct proxy6 *p = s->relay6 != NULL ? s->relay6->proxy : NULL;

    return p != NULL && p->own_xid != 0 && p->own_xid == a->xid && a->type == DHCP6_REPLY &&
           session6_held(s) && session6_is_client(s->v6, &a->client) &&
           same6(peer, link_local_of(s->mac));
}

bool proxy6_reply(struct cp *cp, struct session *s, const struct dhcp6 *a, struct ipv6 peer,
                  const uint8_t *message, size_t n)
{
    struct given6 g;

    if (!is_own(s, a, peer))
        return false;
    if (a->server.n == 0 || !given6_read(s, a, &s->v6->na, &s->v6->pd, &g) ||
        given6_is_foreign_loss(s, a, &g))
        return true;
    s->relay6->proxy->own_xid = 0;
    if (given6_is_other(s, &g) || !given6_fits(cp, s, &g)) {
        lease6_give_back(cp, s, true, true, RADIUS_CAUSE_NAS_REQUEST,
                         "the server gives another address or prefix");
        return true;
    }
    if (given6_longest(&g) != 0) {
        relay6_hold(s, a, &g);
        proxy6_keep(cp, s, &g, message, n);
        session_event(s, "the server's lease is renewed");
        lease_changed(cp, s);
    }
    given6_lose(cp, s, &g);
    return true;
}

/* --- the client's --- */

static const struct times *times_of(const struct proxy6 *p, uint8_t kind)
{
    return kind == DHCP6_IA_PD ? &p->pd : &p->na;
}

/* Is it a renewal of what the line has, and the server's lease not over? */
static bool knows(const struct session *s, const struct request6 *q)
{
    const struct relay6 *r = s->relay6;

    if (r->proxy == NULL || (q->m.type != DHCP6_RENEW && q->m.type != DHCP6_REBIND) ||
        (q->m.type == DHCP6_RENEW && !dhcp6_same_duid(&q->m.server, &r->giver.duid)))
        return false;
    for (unsigned i = 0; i < q->m.n_ia; i++)
        if (!answer6_is_bound(s, &q->m, &q->m.ia[i]) ||
            times_of(r->proxy, q->m.ia[i].kind)->valid <= wall_seconds())
            return false;
    return q->m.n_ia > 0;
}

static uint32_t left(int64_t until, uint32_t most)
{
    int64_t seconds = until - wall_seconds();

    return seconds <= 0 ? 0 : seconds < most ? (uint32_t)seconds : most;
}

/* Say how long the client has what it has. Returns the longest valid lifetime. */
static uint32_t say_times(const struct proxy6 *p, uint32_t most, struct dhcp6 *a)
{
    uint32_t longest = 0;

    for (unsigned i = 0; i < a->n_lease; i++) {
        struct dhcp6_lease *l = &a->lease[i];
        struct dhcp6_ia *ia = &a->ia[l->ia];
        const struct times *t = times_of(p, ia->kind);

        if (l->valid == 0) /* something that it has not */
            continue;
        l->valid = left(t->valid, most);
        l->preferred = left(t->preferred, l->valid);
        ia->t1 = l->preferred / 2;
        ia->t2 = (uint32_t)((uint64_t)l->preferred * 4 / 5);
        longest = l->valid > longest ? l->valid : longest;
    }
    return longest;
}

bool proxy6_answer(struct cp *cp, struct session *s, const struct request6 *q)
{
    struct relay6 *r = s->relay6;
    uint8_t out[RELAY_MESSAGE];
    struct dhcp6 a;
    uint32_t lease;
    size_t n;

    if (!knows(s, q))
        return false;
    answer6_make(s, &q->m, DHCP6_REPLY, &r->giver.duid, UINT32_MAX, &a);
    lease = say_times(r->proxy, proxy6_most(cp, s), &a);
    n = dhcp6_write(&a, NULL, out, sizeof(out));
    n = octets_append(r->proxy->beside, out, n, sizeof(out));
    if (n == 0 || !octets_set(&r->reply, out, n))
        return false;
    octets_set(&r->asked.message, NULL, 0);
    r->asked.type = 0;
    lease6_hold(cp, s, &q->m.client, answer6_choose(s, &q->m, DHCP6_IA_NA),
                answer6_choose(s, &q->m, DHCP6_IA_PD), lease);
    renew(cp, s);
    return true;
}
