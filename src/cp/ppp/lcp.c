/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of LCP: RFC 1661 section 6, within what RFC 2516 section 7 allows on Ethernet. */
#include <string.h>

#include "cp/ppp/ppp.h"

enum { OPTION_MRU = 1, OPTION_AUTHENTICATION = 3, OPTION_MAGIC = 5 };

#define CHAP_MD5 5 /* RFC 1994 section 3 */

static void put_method(struct ppp_options *to, enum ppp_number method)
{
    const uint8_t value[3] = {(uint8_t)(method >> 8), (uint8_t)method, CHAP_MD5};

    ppp_put(to, OPTION_AUTHENTICATION, value, method == PPP_CHAP ? 3 : 2);
}

static void request(const struct ppp *p, struct ppp_options *to)
{
    if (!p->without_mru)
        ppp_put16(to, OPTION_MRU, p->mru);
    put_method(to, p->settings->methods[p->method]);
    if (!p->without_magic)
        ppp_put32(to, OPTION_MAGIC, p->magic);
}

/* 0 is no magic number, and this side's own is that of a loop: RFC 1661 section 6.4. */
static enum ppp_verdict judge_magic(struct ppp *p, const struct ppp_option *o,
                                    struct ppp_options *nak)
{
    uint64_t magic = ppp_value32(o);

    if (magic != 0 && magic != UINT64_MAX && magic != p->magic)
        return PPP_TAKE;
    ppp_put32(nak, OPTION_MAGIC, p->magic * UINT32_C(2654435761) + 1);
    return PPP_SUGGEST;
}

static enum ppp_verdict judge_mru(const struct ppp *p, const struct ppp_option *o,
                                  struct ppp_options *nak)
{
    uint32_t mru = ppp_value16(o);

    if (mru >= PPP_LEAST_MRU && mru <= p->most)
        return PPP_TAKE;
    ppp_put16(nak, OPTION_MRU, mru < PPP_LEAST_MRU ? PPP_LEAST_MRU : p->most);
    return PPP_SUGGEST;
}

static enum ppp_verdict judge(struct ppp *p, const struct ppp_option *o, struct ppp_options *nak)
{
    switch (o->type) {
    case OPTION_MRU:
        return judge_mru(p, o, nak);
    case OPTION_MAGIC:
        return judge_magic(p, o, nak);
    default: /* this side does not prove who it is, either */
        return PPP_REFUSE;
    }
}

static void take(struct ppp *p, const struct ppp_option *o)
{
    if (o->type == OPTION_MRU)
        p->peer_mru = (uint16_t)ppp_value16(o);
    else if (o->type == OPTION_MAGIC)
        p->peer_magic = (uint32_t)ppp_value32(o);
}

/* The method that the peer suggests, with its algorithm, if the configuration allows it; else the
 * next one that does, as he may bear that, too; the last one is asked for again. */
static void other_method(struct ppp *p, const struct ppp_option *o)
{
    unsigned n = p->settings->n_methods;

    for (unsigned i = 0; i < n; i++) {
        struct ppp_options own = {.n = 0};

        put_method(&own, p->settings->methods[i]);
        if (own.n == 2 + o->value.n && memcmp(own.at + 2, o->value.at, o->value.n) == 0) {
            p->method = (uint8_t)i;
            return;
        }
    }
    if (p->method + 1u < n)
        p->method++;
}

static bool suggested(struct ppp *p, const struct ppp_option *o)
{
    if (o->type == OPTION_MRU && ppp_value16(o) >= PPP_LEAST_MRU && ppp_value16(o) <= p->most)
        p->mru = (uint16_t)ppp_value16(o);
    else if (o->type == OPTION_MAGIC)
        p->magic =
            p->magic * UINT32_C(2654435761) + 1 != 0 ? p->magic * UINT32_C(2654435761) + 1 : 1;
    else if (o->type == OPTION_AUTHENTICATION)
        other_method(p, o);
    return true;
}

static bool refused(struct ppp *p, const struct ppp_option *o)
{
    p->without_mru |= o->type == OPTION_MRU;
    p->without_magic |= o->type == OPTION_MAGIC;
    return o->type != OPTION_AUTHENTICATION;
}

static void up(struct ppp *p)
{
    ppp_authenticate(p);
}

/* The peer terminates or renegotiates. An open session ends then, because the user plane forwards
 * by the old agreement: the peer begins again with discovery. */
static void down(struct ppp *p)
{
    p->deadline = UINT64_MAX;
    p->phase = PPP_ESTABLISH;
    p->peer_mru = ppp_default_mru(p);
    p->peer_magic = 0;
    ppp_protocol_event(p, &p->ipcp, PPP_DOWN);
    ppp_protocol_event(p, &p->ipv6cp, PPP_DOWN);
    if (p->forwards && p->lcp.state >= PPP_REQUEST_SENT)
        ppp_over(p, "LCP was negotiated again");
}

static void end(struct ppp *p)
{
    ppp_over(p,
             p->lcp.refusals > 0 ? "LCP: the peer refuses what it must have" : "LCP: no agreement");
}

const struct ppp_meaning ppp_lcp = {
    .number = PPP_LCP,
    .name = "LCP",
    .request = request,
    .judge = judge,
    .take = take,
    .suggested = suggested,
    .refused = refused,
    .up = up,
    .down = down,
    .end = end,
};
