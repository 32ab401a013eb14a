/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/ppp/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "cp/packet/bytes.h"
#include "cp/ppp/ppp.h"

#define MOST_REFUSALS 20 /* Configure-Naks and -Rejects in a row, before the peer is given up */

void ppp_protocol_init(struct ppp_protocol *c, const struct ppp_meaning *meaning, bool holds)
{
    *c = (struct ppp_protocol){.meaning = meaning, .deadline = UINT64_MAX, .holds = holds};
}

static void forget_held(struct ppp_protocol *c)
{
    free(c->held);
    c->held = NULL;
}

void ppp_protocol_free(struct ppp_protocol *c)
{
    forget_held(c);
}

/* --- actions --- */

void ppp_protocol_send(struct ppp *p, const struct ppp_protocol *c, uint8_t code, uint8_t id,
                       struct ppp_bytes data)
{
    struct ppp_packet packet = {.code = code, .id = id, .data = data};
    uint8_t bytes[PPP_MOST];
    size_t n = ppp_write(&packet, bytes);

    if (p->phase != PPP_OVER)
        p->calls->send(p->ctx, c->meaning->number, bytes, n);
}

static void send_request(struct ppp *p, struct ppp_protocol *c)
{
    struct ppp_options o = {.n = 0};

    c->meaning->request(p, &o);
    c->request = ++c->id;
    ppp_protocol_send(p, c, PPP_CONFIGURE_REQUEST, c->id, (struct ppp_bytes){o.at, o.n});
}

/* What a packet of the peer is answered with. */
struct answer {
    uint8_t code, id;
    struct ppp_bytes data;
};

/* Do the actions of a transition, in the order of their bits. */
static void act(struct ppp *p, struct ppp_protocol *c, unsigned actions, const struct answer *a)
{
    const struct ppp_settings *s = p->settings;

    if ((actions & PPP_LAYER_DOWN) != 0)
        c->meaning->down(p);
    if ((actions & PPP_INIT_COUNT) != 0)
        c->count = (actions & PPP_SEND_TERMINATE) != 0 ? s->max_terminate : s->max_configure;
    if ((actions & PPP_ZERO_COUNT) != 0)
        c->count = 0;
    if ((actions & PPP_SEND_REQUEST) != 0)
        send_request(p, c);
    if ((actions & PPP_SEND_TERMINATE) != 0)
        ppp_protocol_send(p, c, PPP_TERMINATE_REQUEST, ++c->id, (struct ppp_bytes){NULL, 0});
    if ((actions & (PPP_SEND_REQUEST | PPP_SEND_TERMINATE)) != 0 && c->count > 0)
        c->count--;
    if ((actions & (PPP_SEND_REQUEST | PPP_SEND_TERMINATE | PPP_ZERO_COUNT)) != 0)
        c->deadline = p->now + s->restart_ns;
    if ((actions & PPP_SEND_TERM_ACK) != 0)
        ppp_protocol_send(p, c, PPP_TERMINATE_ACK, a != NULL ? a->id : ++c->id,
                          (struct ppp_bytes){NULL, 0});
    if ((actions & (PPP_SEND_ACK | PPP_SEND_NAK | PPP_SEND_CODE_REJ | PPP_SEND_ECHO)) != 0)
        ppp_protocol_send(p, c, a->code, a->id, a->data);
    if ((actions & PPP_LAYER_UP) != 0)
        c->meaning->up(p);
    if ((actions & PPP_LAYER_END) != 0)
        c->meaning->end(p);
}

/* The states in which the restart timer runs: RFC 1661 section 4.1. */
static bool is_timed(uint8_t state)
{
    return state >= PPP_CLOSING && state <= PPP_ACK_SENT;
}

static void event(struct ppp *p, struct ppp_protocol *c, enum ppp_event e, const struct answer *a)
{
    unsigned actions = ppp_automaton(&c->state, e);

    if (!is_timed(c->state))
        c->deadline = UINT64_MAX;
    if (c->state < PPP_REQUEST_SENT)
        forget_held(c);
    act(p, c, actions, a);
}

void ppp_protocol_event(struct ppp *p, struct ppp_protocol *c, enum ppp_event e)
{
    event(p, c, e, NULL);
}

void ppp_protocol_run(struct ppp *p, struct ppp_protocol *c)
{
    if (c->deadline > p->now)
        return;
    c->deadline = UINT64_MAX;
    event(p, c, c->count > 0 ? PPP_TIMEOUT : PPP_LAST_TIMEOUT, NULL);
}

/* --- the peer's Configure-Request --- */

static bool hold(struct ppp_protocol *c, const struct ppp_packet *packet)
{
    forget_held(c);
    c->held = malloc(packet->data.n > 0 ? packet->data.n : 1);
    if (c->held == NULL)
        return false;
    if (packet->data.n > 0)
        memcpy(c->held, packet->data.at, packet->data.n);
    c->n_held = (uint16_t)packet->data.n;
    c->held_id = packet->id;
    return true;
}

static void take_request(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    struct ppp_bytes left = packet->data;
    struct answer a = {.code = PPP_CONFIGURE_ACK, .id = packet->id, .data = packet->data};
    struct ppp_option o;

    c->naks = 0;
    while (c->meaning->take != NULL && ppp_option_next(&left, &o))
        c->meaning->take(p, &o);
    event(p, c, PPP_GOOD_REQUEST, &a);
}

/* Judge all options. What is suggested more than max_failure times is refused: RFC 1661
 * section 4.6. */
static void judge(struct ppp *p, struct ppp_protocol *c, struct ppp_bytes options,
                  struct ppp_options *nak, struct ppp_options *reject)
{
    bool insists = c->naks < p->settings->max_failure;
    uint32_t types = 0;
    struct ppp_option o;

    while (ppp_option_next(&options, &o)) {
        struct ppp_options own = {.n = 0};
        enum ppp_verdict v = c->meaning->judge(p, &o, insists ? nak : &own);

        types |= o.type < 32 ? UINT32_C(1) << o.type : 0;
        if (v == PPP_REFUSE || (v == PPP_SUGGEST && !insists))
            ppp_put_whole(reject, &o);
    }
    if (insists && c->meaning->demand != NULL)
        c->meaning->demand(p, types, nak);
}

static void requested(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    struct ppp_options nak = {.n = 0}, reject = {.n = 0};
    struct answer a = {.id = packet->id};

    judge(p, c, packet->data, &nak, &reject);
    if (nak.n == 0 && reject.n == 0) {
        if (!c->holds || c->state < PPP_STOPPED || c->state == PPP_CLOSING ||
            c->state == PPP_STOPPING)
            take_request(p, c, packet);
        else if (hold(c, packet))
            p->calls->ready(p->ctx);
        return;
    }
    forget_held(c);
    if (reject.n > 0) {
        a.code = PPP_CONFIGURE_REJECT;
        a.data = (struct ppp_bytes){reject.at, reject.n};
    } else {
        a.code = PPP_CONFIGURE_NAK;
        a.data = (struct ppp_bytes){nak.at, nak.n};
        c->naks++;
    }
    event(p, c, PPP_BAD_REQUEST, &a);
}

void ppp_protocol_release(struct ppp *p, struct ppp_protocol *c)
{
    uint8_t *held = c->held;
    struct ppp_packet packet = {
        .code = PPP_CONFIGURE_REQUEST, .id = c->held_id, .data = {held, c->n_held}};

    if (held == NULL)
        return;
    c->held = NULL;
    take_request(p, c, &packet);
    free(held);
}

/* --- what the peer says of this side's request --- */

static bool is_own_request(const struct ppp *p, const struct ppp_protocol *c,
                           const struct ppp_packet *packet)
{
    struct ppp_options o = {.n = 0};

    c->meaning->request(p, &o);
    return packet->id == c->request && packet->data.n == o.n &&
           (o.n == 0 || memcmp(packet->data.at, o.at, o.n) == 0);
}

static void acknowledged(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    if (!is_own_request(p, c, packet))
        return; /* RFC 1661 section 5.2: silently discarded */
    c->refusals = 0;
    ppp_protocol_event(p, c, PPP_ACK);
}

static void refused(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    bool (*take)(struct ppp *, const struct ppp_option *) =
        packet->code == PPP_CONFIGURE_NAK ? c->meaning->suggested : c->meaning->refused;
    struct ppp_bytes left = packet->data;
    bool bearable = true;
    struct ppp_option o;

    if (packet->id != c->request)
        return;
    while (ppp_option_next(&left, &o))
        bearable = take(p, &o) && bearable;
    if (bearable && ++c->refusals < MOST_REFUSALS)
        ppp_protocol_event(p, c, PPP_NAK);
    else
        ppp_protocol_event(p, c, PPP_REJECTED_HARD);
}

/* --- packets --- */

/* A code without which no protocol can be. */
static void code_rejected(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    bool hard = packet->data.n > 0 && packet->data.at[0] >= PPP_CONFIGURE_REQUEST &&
                packet->data.at[0] <= PPP_CODE_REJECT;

    ppp_protocol_event(p, c, hard ? PPP_REJECTED_HARD : PPP_REJECTED);
}

/* The packet that is not understood goes back, as far as the peer takes it. */
static void unknown(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    struct answer a = {.code = PPP_CODE_REJECT, .id = (uint8_t)(c->id + 1)};
    uint8_t bytes[PPP_MOST];
    size_t most = p->peer_mru - (size_t)PPP_HEADER;

    a.data = (struct ppp_bytes){bytes, ppp_write(packet, bytes)};
    if (a.data.n > most)
        a.data.n = most;
    c->id++;
    event(p, c, PPP_UNKNOWN, &a);
}

void ppp_protocol_take(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet)
{
    struct answer a = {.id = packet->id};

    if (packet->code >= PPP_CONFIGURE_REQUEST && packet->code <= PPP_CONFIGURE_REJECT &&
        !ppp_options_right(packet->data))
        return; /* RFC 1661 section 6: the length of an option is wrong */
    if (c->state <= PPP_STARTING)
        return; /* nothing can be said before the layer below is up */
    switch (packet->code) {
    case PPP_CONFIGURE_REQUEST:
        requested(p, c, packet);
        break;
    case PPP_CONFIGURE_ACK:
        acknowledged(p, c, packet);
        break;
    case PPP_CONFIGURE_NAK:
    case PPP_CONFIGURE_REJECT:
        refused(p, c, packet);
        break;
    case PPP_TERMINATE_REQUEST:
        event(p, c, PPP_TERMINATE, &a);
        break;
    case PPP_TERMINATE_ACK:
        ppp_protocol_event(p, c, PPP_TERMINATED);
        break;
    case PPP_CODE_REJECT:
        code_rejected(p, c, packet);
        break;
    default:
        unknown(p, c, packet);
    }
}
