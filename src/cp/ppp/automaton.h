/* SPDX-License-Identifier: BSD-3-Clause */
/* The automaton of a control protocol of PPP, as the table of RFC 1661 section 4.1 has it. */
#ifndef CP_PPP_AUTOMATON_H
#define CP_PPP_AUTOMATON_H

#include <stdint.h>

/** With the RFC's numbers. */
enum ppp_state {
    PPP_INITIAL,
    PPP_STARTING,
    PPP_CLOSED,
    PPP_STOPPED,
    PPP_CLOSING,
    PPP_STOPPING,
    PPP_REQUEST_SENT,
    PPP_ACK_RECEIVED,
    PPP_ACK_SENT,
    PPP_OPENED,
    PPP_STATES
};

/** In the RFC's order (section 4.3). */
enum ppp_event {
    PPP_UP,
    PPP_DOWN,
    PPP_OPEN,
    PPP_CLOSE,
    PPP_TIMEOUT,       /* TO+: the restart counter is above 0 */
    PPP_LAST_TIMEOUT,  /* TO- */
    PPP_GOOD_REQUEST,  /* RCR+ */
    PPP_BAD_REQUEST,   /* RCR- */
    PPP_ACK,           /* RCA */
    PPP_NAK,           /* RCN: a Configure-Nak or -Reject */
    PPP_TERMINATE,     /* RTR */
    PPP_TERMINATED,    /* RTA */
    PPP_UNKNOWN,       /* RUC */
    PPP_REJECTED,      /* RXJ+: a rejection that can be borne */
    PPP_REJECTED_HARD, /* RXJ-: one that cannot */
    PPP_ECHO,          /* RXR: Echo-Request, -Reply or Discard-Request */
    PPP_EVENTS
};

/** What is to be done (section 4.4), a bit each: those that are set in this order. */
enum ppp_action {
    PPP_LAYER_DOWN = 1 << 0,     /* tld */
    PPP_INIT_COUNT = 1 << 1,     /* irc */
    PPP_ZERO_COUNT = 1 << 2,     /* zrc */
    PPP_SEND_REQUEST = 1 << 3,   /* scr */
    PPP_SEND_ACK = 1 << 4,       /* sca */
    PPP_SEND_NAK = 1 << 5,       /* scn */
    PPP_SEND_TERMINATE = 1 << 6, /* str */
    PPP_SEND_TERM_ACK = 1 << 7,  /* sta */
    PPP_SEND_CODE_REJ = 1 << 8,  /* scj */
    PPP_SEND_ECHO = 1 << 9,      /* ser */
    PPP_LAYER_UP = 1 << 10,      /* tlu */
    PPP_LAYER_START = 1 << 11,   /* tls */
    PPP_LAYER_END = 1 << 12,     /* tlf */
};

/** Go on to the next state. Returns the actions; an event that cannot be in a state changes
 * nothing. */
unsigned ppp_automaton(uint8_t *state, enum ppp_event event);

/** The name of a state, as the RFC has it. */
const char *ppp_state_name(enum ppp_state state);

#endif
