/* SPDX-License-Identifier: BSD-3-Clause */
/* The option of IPV6CP, the interface identifier: RFC 5072 section 4.1. */
#include "cp/ppp/ppp.h"

#include "cp/packet/bytes.h"

enum { OPTION_IDENTIFIER = 1 };

static void put(struct ppp_options *to, uint64_t identifier)
{
    uint8_t bytes[8];

    put32(bytes, (uint32_t)(identifier >> 32));
    put32(bytes + 4, (uint32_t)identifier);
    ppp_put(to, OPTION_IDENTIFIER, bytes, sizeof(bytes));
}

static uint64_t value(const struct ppp_option *o)
{
    return o->value.n == 8 ? (uint64_t)get32(o->value.at) << 32 | get32(o->value.at + 4) : 0;
}

static void request(const struct ppp *p, struct ppp_options *to)
{
    if (!p->without_iid)
        put(to, p->grant.iid);
}

/* That which was granted, or one that differs from this side's by a bit. */
static uint64_t suggestion(const struct ppp *p)
{
    return p->grant.peer_iid != 0 ? p->grant.peer_iid : p->grant.iid ^ 2;
}

static enum ppp_verdict judge(struct ppp *p, const struct ppp_option *o, struct ppp_options *nak)
{
    uint64_t iid = value(o);

    if (o->type != OPTION_IDENTIFIER)
        return PPP_REFUSE;
    if (iid != 0 && iid != p->grant.iid && (p->grant.peer_iid == 0 || iid == p->grant.peer_iid))
        return PPP_TAKE;
    put(nak, suggestion(p));
    return PPP_SUGGEST;
}

static void demand(struct ppp *p, uint32_t types, struct ppp_options *nak)
{
    if ((types & 1u << OPTION_IDENTIFIER) == 0)
        put(nak, suggestion(p));
}

static void take(struct ppp *p, const struct ppp_option *o)
{
    p->peer_iid = value(o);
}

static bool suggested(struct ppp *p, const struct ppp_option *o)
{
    return true;
}

static bool refused(struct ppp *p, const struct ppp_option *o)
{
    p->without_iid |= o->type == OPTION_IDENTIFIER;
    return true;
}

static void nothing(struct ppp *p) {}

static void end(struct ppp *p)
{
    if (p->ipcp.state < PPP_REQUEST_SENT)
        ppp_over(p, "IPV6CP: no agreement");
}

const struct ppp_meaning ppp_ipv6cp = {
    .number = PPP_IPV6CP,
    .name = "IPV6CP",
    .request = request,
    .judge = judge,
    .demand = demand,
    .take = take,
    .suggested = suggested,
    .refused = refused,
    .up = nothing,
    .down = nothing,
    .end = end,
};
