/* SPDX-License-Identifier: BSD-3-Clause */
/* The peer's authentication: PAP (RFC 1334 section 2), CHAP with MD5 (RFC 1994). */
#include <string.h>
#include <sys/random.h>

#include "cp/ppp/ppp.h"

#define MOST_MESSAGE 200

static enum ppp_number method_of(const struct ppp *p)
{
    return p->settings->methods[p->method];
}

static void send(const struct ppp *p, uint8_t code, uint8_t id, const uint8_t *data, size_t n)
{
    struct ppp_packet packet = {.code = code, .id = id, .data = {data, n}};
    uint8_t bytes[PPP_MOST];

    n = ppp_write(&packet, bytes);
    p->calls->send(p->ctx, (uint16_t)method_of(p), bytes, n);
}

static void challenge(struct ppp *p)
{
    size_t n = strnlen(p->settings->name, 255);
    uint8_t data[1 + PPP_CHALLENGE + 255];

    data[0] = PPP_CHALLENGE;
    memcpy(data + 1, p->challenge, PPP_CHALLENGE);
    memcpy(data + 1 + PPP_CHALLENGE, p->settings->name, n);
    send(p, CHAP_CHALLENGE, p->id, data, 1 + PPP_CHALLENGE + n);
    p->count--;
    p->deadline = p->now + p->settings->restart_ns;
}

void ppp_authenticate(struct ppp *p)
{
    p->phase = PPP_AUTHENTICATE;
    p->count = p->settings->max_configure;
    if (method_of(p) == PPP_PAP)
        return;
    if (getrandom(p->challenge, sizeof(p->challenge), 0) != (ssize_t)sizeof(p->challenge)) {
        ppp_over(p, "there is no random number for a challenge");
        return;
    }
    p->id++;
    challenge(p);
}

void ppp_run_proof(struct ppp *p)
{
    if (p->deadline > p->now)
        return;
    p->deadline = UINT64_MAX;
    if (p->phase != PPP_AUTHENTICATE)
        return;
    if (p->count > 0)
        challenge(p);
    else
        ppp_over(p, "CHAP: no response");
}

/* A success, or its repetition; or a failure. */
static void send_verdict(struct ppp *p, bool is_right, const char *message)
{
    uint8_t data[1 + MOST_MESSAGE];
    size_t n = strnlen(message, MOST_MESSAGE);

    data[0] = (uint8_t)n;
    memcpy(data + 1, message, n);
    if (method_of(p) == PPP_PAP)
        send(p, is_right ? PAP_ACK : PAP_NAK, p->id, data, 1 + n);
    else
        send(p, is_right ? CHAP_SUCCESS : CHAP_FAILURE, p->id, data + 1, n);
}

/* The answer was lost, and the peer asks again: RFC 1334 section 2.2.1, RFC 1994 section 4.1. */
static void repeat(struct ppp *p, uint8_t id)
{
    if (method_of(p) == PPP_PAP)
        p->id = id;
    if (id == p->id)
        send_verdict(p, true, "");
}

static void take_pap(struct ppp *p, const struct ppp_packet *packet)
{
    struct ppp_proof proof = {.method = PPP_PAP};

    if (packet->code != PAP_REQUEST || !ppp_read_pap(packet, &proof.name, &proof.password))
        return;
    if (p->phase == PPP_NETWORK)
        repeat(p, packet->id);
    if (p->phase != PPP_AUTHENTICATE)
        return;
    p->id = packet->id;
    p->phase = PPP_JUDGE;
    p->calls->judge(p->ctx, &proof);
}

static void take_chap(struct ppp *p, const struct ppp_packet *packet)
{
    struct ppp_proof proof = {
        .method = PPP_CHAP, .id = packet->id, .challenge = {p->challenge, PPP_CHALLENGE}};

    if (packet->code != CHAP_RESPONSE || packet->id != p->id ||
        !ppp_read_chap(packet, &proof.response, &proof.name))
        return;
    if (p->phase == PPP_NETWORK)
        repeat(p, packet->id);
    if (p->phase != PPP_AUTHENTICATE)
        return;
    p->deadline = UINT64_MAX;
    p->phase = PPP_JUDGE;
    p->calls->judge(p->ctx, &proof);
}

void ppp_take_proof(struct ppp *p, enum ppp_number method, const struct ppp_packet *packet)
{
    if (method != method_of(p) || p->phase < PPP_AUTHENTICATE)
        return;
    if (method == PPP_PAP)
        take_pap(p, packet);
    else
        take_chap(p, packet);
}

/* Open a network protocol for which something is granted. */
static void open_protocol(struct ppp *p, struct ppp_protocol *c, bool granted)
{
    if (!granted)
        return;
    c->holds = true;
    ppp_protocol_event(p, c, PPP_OPEN);
    ppp_protocol_event(p, c, PPP_UP);
}

void ppp_judged(struct ppp *p, const struct ppp_grant *grant, const char *message, uint64_t now)
{
    if (p->phase != PPP_JUDGE)
        return; /* the peer has begun anew meanwhile */
    p->now = now;
    if (grant == NULL) {
        send_verdict(p, false, message);
        ppp_end(p, "authentication failed", now);
        return;
    }
    p->grant = *grant;
    p->phase = PPP_NETWORK;
    send_verdict(p, true, message);
    open_protocol(p, &p->ipcp, grant->address != 0);
    open_protocol(p, &p->ipv6cp, grant->ipv6);
}
