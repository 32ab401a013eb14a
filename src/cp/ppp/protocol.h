/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A control protocol of a link: packets and timeouts become events of its automaton, whose actions
 * are done. What LCP, IPCP and IPV6CP mean by their options, each says in a struct ppp_meaning.
 */
#ifndef CP_PPP_PROTOCOL_H
#define CP_PPP_PROTOCOL_H

#include "cp/packet/ppp.h"
#include "cp/ppp/automaton.h"

struct ppp;

/** What is said of an option of the peer's Configure-Request. */
enum ppp_verdict {
    PPP_TAKE,    /* Configure-Ack, if all others are taken, too */
    PPP_SUGGEST, /* Configure-Nak, with what was written for it */
    PPP_REFUSE,  /* Configure-Reject */
};

struct ppp_meaning {
    enum ppp_number number;
    const char *name;

    /** Write the options of this side's Configure-Request. */
    void (*request)(const struct ppp *p, struct ppp_options *to);

    /** Judge an option of the peer's; a suggestion goes to nak. */
    enum ppp_verdict (*judge)(struct ppp *p, const struct ppp_option *o, struct ppp_options *nak);

    /** Suggest options without which a request cannot be taken and that it did not have; NULL:
     * there are none. types: a bit for each type below 32 that it had. */
    void (*demand)(struct ppp *p, uint32_t types, struct ppp_options *nak);

    /** Take an option of a request that is acknowledged as a whole. NULL: nothing is to be done. */
    void (*take)(struct ppp *p, const struct ppp_option *o);

    /** Take what the peer suggests for an option of this side's. Returns false where the link is
     * not to be without this side's own. */
    bool (*suggested)(struct ppp *p, const struct ppp_option *o);

    /** Do without an option of this side's. The same. */
    bool (*refused)(struct ppp *p, const struct ppp_option *o);

    /** What follows from the automaton's tlu, tld and tlf. */
    void (*up)(struct ppp *p);
    void (*down)(struct ppp *p);
    void (*end)(struct ppp *p);
};

struct ppp_protocol {
    const struct ppp_meaning *meaning;
    uint64_t deadline; /* ns; UINT64_MAX: no timer runs */
    uint8_t *held;     /* options of the request that is held, or NULL */
    uint16_t n_held;
    uint8_t held_id;
    uint8_t state;    /* enum ppp_state */
    uint8_t count;    /* restart counter */
    uint8_t id;       /* of the last packet that begins an exchange */
    uint8_t request;  /* id of the last Configure-Request */
    uint8_t naks;     /* Configure-Naks in a row that were sent */
    uint8_t refusals; /* Configure-Naks and -Rejects in a row that were taken */
    bool holds;       /* good requests are held until ppp_protocol_release() */
};

void ppp_protocol_init(struct ppp_protocol *c, const struct ppp_meaning *meaning, bool holds);
void ppp_protocol_free(struct ppp_protocol *c);

/** An event that is not of a packet. */
void ppp_protocol_event(struct ppp *p, struct ppp_protocol *c, enum ppp_event event);

/** A packet of this protocol. */
void ppp_protocol_take(struct ppp *p, struct ppp_protocol *c, const struct ppp_packet *packet);

/** The timer, if its time has come. */
void ppp_protocol_run(struct ppp *p, struct ppp_protocol *c);

/** Acknowledge the request that is held, and hold none from now on. */
void ppp_protocol_release(struct ppp *p, struct ppp_protocol *c);

/** Send a packet with its code, id and data. */
void ppp_protocol_send(struct ppp *p, const struct ppp_protocol *c, uint8_t code, uint8_t id,
                       struct ppp_bytes data);

#endif
