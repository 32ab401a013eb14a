/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/relay/given6.h"

#include "cp/dhcp6/answer.h"
#include "cp/relay/relay6.h"

static bool read_kind(const struct session *s, const struct dhcp6 *a, uint8_t kind,
                      const struct ia6 *asked, struct given6_kind *g)
{
    *g = (struct given6_kind){.ia = NULL};
    for (unsigned i = 0; i < a->n_lease; i++) {
        const struct dhcp6_ia *ia = &a->ia[a->lease[i].ia];

        if (ia->kind != kind || !asked->held || ia->iaid != asked->iaid || a->lease[i].valid == 0)
            continue;
        if (g->lease != NULL)
            return false;
        g->lease = &a->lease[i];
        g->ia = ia;
    }
    for (unsigned i = 0; i < a->n_ia && g->lease == NULL; i++)
        g->lost |= answer6_is_bound(s, a, &a->ia[i]) && a->ia[i].kind == kind;
    return true;
}

bool given6_read(const struct session *s, const struct dhcp6 *a, const struct ia6 *na,
                 const struct ia6 *pd, struct given6 *g)
{
    return read_kind(s, a, DHCP6_IA_NA, na, &g->na) && read_kind(s, a, DHCP6_IA_PD, pd, &g->pd);
}

bool given6_is_other(const struct session *s, const struct given6 *g)
{
    const struct session6 *v = s->v6;

    if (!session6_held(s))
        return false;
    return (g->na.lease != NULL && v->na.held && !same6(v->wan, g->na.lease->address)) ||
           (g->pd.lease != NULL && v->pd.held && v->delegated != g->pd.lease->address.upper);
}

static bool wan_fits(const struct cp *cp, const struct session *s, struct ipv6 address)
{
    const struct cp_blocks *wan = &pool6_config(cp, s)->wan;

    return wan->len != 0 && ((address.upper ^ wan->prefix) & mask64(wan->len)) == 0;
}

static bool delegated_fits(const struct cp *cp, const struct session *s,
                           const struct dhcp6_lease *l)
{
    const struct pool6 *p = &pools6_of(cp, s)->delegated;

    return l->len == p->len && pool6_has(p, l->address.upper);
}

/* RADIUS says a link, or an address of one. */
static bool is_said(const struct line_prefixes *said, const struct given6 *g)
{
    return (g->na.lease == NULL || said->wan_len == 0 ||
            same6(first6(g->na.lease->address, said->wan_len), first6(said->wan, said->wan_len))) &&
           (g->pd.lease == NULL || said->delegated_len == 0 ||
            said->delegated == g->pd.lease->address.upper);
}

bool given6_fits(const struct cp *cp, const struct session *s, const struct given6 *g)
{
    return (g->na.lease == NULL || wan_fits(cp, s, g->na.lease->address)) &&
           (g->pd.lease == NULL || delegated_fits(cp, s, g->pd.lease)) &&
           (s->service == NULL || is_said(&s->service->ipv6, g));
}

bool given6_is_foreign_loss(const struct session *s, const struct dhcp6 *a, const struct given6 *g)
{
    return (g->na.lost || g->pd.lost) && session6_held(s) &&
           !dhcp6_same_duid(&a->server, &s->relay6->giver.duid);
}

void given6_lose(struct cp *cp, struct session *s, const struct given6 *g)
{
    s->relay6->owes_na &= !g->na.lost;
    s->relay6->owes_pd &= !g->pd.lost;
    if (g->na.lost || g->pd.lost)
        lease6_give_back(cp, s, g->na.lost, g->pd.lost, RADIUS_CAUSE_NAS_REQUEST,
                         "refused by the server");
}

uint32_t given6_longest(const struct given6 *g)
{
    uint32_t na = g->na.lease != NULL ? g->na.lease->valid : 0,
             pd = g->pd.lease != NULL ? g->pd.lease->valid : 0;

    return na > pd ? na : pd;
}
