/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/ppp/ppp.h"

#include <string.h>

#include "cp/packet/bytes.h"

void ppp_init(struct ppp *p, const struct ppp_settings *settings, const struct ppp_calls *calls,
              void *ctx, uint16_t most, uint32_t magic)
{
    *p = (struct ppp){.settings = settings,
                      .calls = calls,
                      .ctx = ctx,
                      .most = most,
                      .mru = most,
                      .magic = magic,
                      .deadline = UINT64_MAX};
    p->peer_mru = ppp_default_mru(p);
    ppp_protocol_init(&p->lcp, &ppp_lcp, false);
    ppp_protocol_init(&p->ipcp, &ppp_ipcp, true);
    ppp_protocol_init(&p->ipv6cp, &ppp_ipv6cp, true);
}

void ppp_free(struct ppp *p)
{
    ppp_protocol_free(&p->lcp);
    ppp_protocol_free(&p->ipcp);
    ppp_protocol_free(&p->ipv6cp);
}

void ppp_start(struct ppp *p, uint64_t now)
{
    p->now = now;
    ppp_protocol_event(p, &p->lcp, PPP_UP);
    ppp_protocol_event(p, &p->lcp, PPP_OPEN);
}

void ppp_over(struct ppp *p, const char *why)
{
    if (p->over == NULL)
        p->over = why;
    p->phase = PPP_OVER;
}

void ppp_end(struct ppp *p, const char *why, uint64_t now)
{
    p->now = now;
    if (p->lcp.state >= PPP_REQUEST_SENT)
        ppp_protocol_send(p, &p->lcp, PPP_TERMINATE_REQUEST, ++p->lcp.id,
                          (struct ppp_bytes){NULL, 0});
    ppp_over(p, why);
}

/* --- LCP's own codes --- */

/* The answer bears this side's magic number: RFC 1661 section 5.8. */
static void echo(struct ppp *p, const struct ppp_packet *packet)
{
    uint8_t data[PPP_MOST];
    size_t n = packet->data.n < p->peer_mru - (size_t)PPP_HEADER ? packet->data.n
                                                                 : p->peer_mru - (size_t)PPP_HEADER;

    if (p->lcp.state != PPP_OPENED || n < 4)
        return;
    memcpy(data, packet->data.at, n);
    put32(data, p->without_magic ? 0 : p->magic);
    ppp_protocol_send(p, &p->lcp, PPP_ECHO_REPLY, packet->id, (struct ppp_bytes){data, n});
}

static void protocol_rejected(struct ppp *p, const struct ppp_packet *packet)
{
    uint16_t number = packet->data.n >= 2 ? get16(packet->data.at) : 0;

    if (p->lcp.state != PPP_OPENED)
        return; /* RFC 1661 section 5.7 */
    if (number == PPP_IPCP)
        ppp_protocol_event(p, &p->ipcp, PPP_REJECTED_HARD);
    else if (number == PPP_IPV6CP)
        ppp_protocol_event(p, &p->ipv6cp, PPP_REJECTED_HARD);
    else if (number == p->settings->methods[p->method] || number == PPP_LCP)
        ppp_over(p, "the peer rejects a protocol that must be");
}

static void take_lcp(struct ppp *p, const struct ppp_packet *packet)
{
    switch (packet->code) {
    case PPP_PROTOCOL_REJECT:
        protocol_rejected(p, packet);
        return;
    case PPP_ECHO_REQUEST:
        echo(p, packet);
        return;
    case PPP_ECHO_REPLY:
    case PPP_DISCARD_REQUEST:
        return;
    default:
        ppp_protocol_take(p, &p->lcp, packet);
    }
    if (packet->code == PPP_TERMINATE_REQUEST)
        ppp_over(p, "the peer terminates");
}

/* --- packets --- */

/* A Protocol-Reject has the packet's protocol and the packet, as far as the peer takes it. */
static void reject(struct ppp *p, uint16_t protocol, struct ppp_bytes bytes)
{
    size_t most = p->peer_mru - (size_t)PPP_HEADER - 2, n = bytes.n < most ? bytes.n : most;
    uint8_t data[PPP_MOST];

    if (p->lcp.state != PPP_OPENED)
        return; /* RFC 1661 section 5.7 */
    put16(data, protocol);
    memcpy(data + 2, bytes.at, n);
    ppp_protocol_send(p, &p->lcp, PPP_PROTOCOL_REJECT, ++p->lcp.id,
                      (struct ppp_bytes){data, 2 + n});
}

static void take_network(struct ppp *p, struct ppp_protocol *c, bool granted,
                         const struct ppp_packet *packet, struct ppp_bytes bytes)
{
    if (p->phase != PPP_NETWORK)
        return; /* RFC 1661 section 3.4: silently discarded */
    if (granted)
        ppp_protocol_take(p, c, packet);
    else
        reject(p, (uint16_t)c->meaning->number, bytes);
}

void ppp_take(struct ppp *p, uint16_t protocol, struct ppp_bytes bytes, uint64_t now)
{
    struct ppp_packet packet;

    if (p->phase == PPP_OVER || ppp_read(bytes, &packet) != NULL)
        return;
    p->now = now;
    p->heard = true;
    switch (protocol) {
    case PPP_LCP:
        take_lcp(p, &packet);
        break;
    case PPP_PAP:
    case PPP_CHAP:
        ppp_take_proof(p, protocol, &packet);
        break;
    case PPP_IPCP:
        take_network(p, &p->ipcp, p->grant.address != 0, &packet, bytes);
        break;
    case PPP_IPV6CP:
        take_network(p, &p->ipv6cp, p->grant.ipv6, &packet, bytes);
        break;
    default:
        reject(p, protocol, bytes);
    }
}

/* --- time --- */

uint64_t ppp_next(const struct ppp *p)
{
    uint64_t next = p->deadline;

    if (p->phase == PPP_OVER)
        return UINT64_MAX;
    next = p->lcp.deadline < next ? p->lcp.deadline : next;
    next = p->ipcp.deadline < next ? p->ipcp.deadline : next;
    return p->ipv6cp.deadline < next ? p->ipv6cp.deadline : next;
}

void ppp_run(struct ppp *p, uint64_t now)
{
    p->now = now;
    ppp_run_proof(p);
    ppp_protocol_run(p, &p->lcp);
    ppp_protocol_run(p, &p->ipcp);
    ppp_protocol_run(p, &p->ipv6cp);
}

/* --- what is forwarded --- */

bool ppp_ready4(const struct ppp *p)
{
    return p->ipcp.held != NULL || !p->ipcp.holds;
}

bool ppp_ready6(const struct ppp *p)
{
    return p->ipv6cp.held != NULL || !p->ipv6cp.holds;
}

static void release(struct ppp *p, struct ppp_protocol *c)
{
    c->holds = false;
    ppp_protocol_release(p, c);
}

void ppp_forwards(struct ppp *p, bool ipv4, bool ipv6, uint64_t now)
{
    p->now = now;
    p->forwards = true;
    if (ipv4)
        release(p, &p->ipcp);
    if (ipv6)
        release(p, &p->ipv6cp);
}

static void resume(struct ppp_protocol *c, bool granted)
{
    if (!granted)
        return;
    c->holds = false;
    c->state = PPP_OPENED;
}

void ppp_resume(struct ppp *p, const struct ppp_grant *grant, uint64_t now)
{
    p->now = now;
    p->grant = *grant;
    p->phase = PPP_NETWORK;
    p->heard = true;
    p->forwards = true;
    p->lcp.state = PPP_OPENED;
    resume(&p->ipcp, grant->address != 0);
    resume(&p->ipv6cp, grant->ipv6);
}
