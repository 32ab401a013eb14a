/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of IPCP: RFC 1332 section 3.3, and the DNS servers of RFC 1877. */
#include "cp/ppp/ppp.h"

enum { OPTION_ADDRESS = 3, OPTION_DNS = 129, OPTION_DNS_2 = 131 };

static void request(const struct ppp *p, struct ppp_options *to)
{
    if (!p->without_address)
        ppp_put32(to, OPTION_ADDRESS, p->grant.own);
}

/* The one value that an option of the peer's may have; 0: it may not be there. */
static uint32_t value_of(const struct ppp *p, uint8_t type)
{
    switch (type) {
    case OPTION_ADDRESS:
        return p->grant.address;
    case OPTION_DNS:
        return p->grant.dns[0];
    case OPTION_DNS_2:
        return p->grant.dns[1];
    default:
        return 0;
    }
}

static enum ppp_verdict judge(struct ppp *p, const struct ppp_option *o, struct ppp_options *nak)
{
    uint32_t value = value_of(p, o->type);

    if (value == 0)
        return PPP_REFUSE;
    if (ppp_value32(o) == value)
        return PPP_TAKE;
    ppp_put32(nak, o->type, value);
    return PPP_SUGGEST;
}

static void demand(struct ppp *p, uint32_t types, struct ppp_options *nak)
{
    if ((types & 1u << OPTION_ADDRESS) == 0)
        ppp_put32(nak, OPTION_ADDRESS, p->grant.address);
}

/* The address of this side is what it is. */
static bool suggested(struct ppp *p, const struct ppp_option *o)
{
    return true;
}

static bool refused(struct ppp *p, const struct ppp_option *o)
{
    p->without_address |= o->type == OPTION_ADDRESS;
    return true;
}

static void nothing(struct ppp *p) {}

static void end(struct ppp *p)
{
    if (p->ipv6cp.state < PPP_REQUEST_SENT)
        ppp_over(p, "IPCP: no agreement");
}

const struct ppp_meaning ppp_ipcp = {
    .number = PPP_IPCP,
    .name = "IPCP",
    .request = request,
    .judge = judge,
    .demand = demand,
    .suggested = suggested,
    .refused = refused,
    .up = nothing,
    .down = nothing,
    .end = end,
};
