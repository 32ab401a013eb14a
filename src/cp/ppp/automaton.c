/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/ppp/automaton.h"

/* Shorter names, as the RFC's table has them. */
enum {
    tld = PPP_LAYER_DOWN,
    irc = PPP_INIT_COUNT,
    zrc = PPP_ZERO_COUNT,
    scr = PPP_SEND_REQUEST,
    sca = PPP_SEND_ACK,
    scn = PPP_SEND_NAK,
    str = PPP_SEND_TERMINATE,
    sta = PPP_SEND_TERM_ACK,
    scj = PPP_SEND_CODE_REJ,
    ser = PPP_SEND_ECHO,
    tlu = PPP_LAYER_UP,
    tls = PPP_LAYER_START,
    tlf = PPP_LAYER_END,
};

/* A transition: the actions, and the next state in the upper bits. */
#define TO(state, actions) (uint32_t)((actions) | (state) << 16 | 1u << 31)
#define STAYS              0 /* the event cannot be */

/* clang-format off */
static const uint32_t table[PPP_EVENTS][PPP_STATES] = {
/*                      Initial      Starting          Closed            Stopped                Closing       Stopping */
[PPP_UP]            = { TO(2, 0),    TO(6, irc | scr), STAYS,            STAYS,                 STAYS,        STAYS,
/*                      Req-Sent           Ack-Rcvd           Ack-Sent           Opened */
                        STAYS,             STAYS,             STAYS,             STAYS },
[PPP_DOWN]          = { STAYS,       STAYS,            TO(0, 0),         TO(1, tls),            TO(0, 0),     TO(1, 0),
                        TO(1, 0),          TO(1, 0),          TO(1, 0),          TO(1, tld) },
[PPP_OPEN]          = { TO(1, tls),  TO(1, 0),         TO(6, irc | scr), TO(3, 0),              TO(5, 0),     TO(5, 0),
                        TO(6, 0),          TO(7, 0),          TO(8, 0),          TO(9, 0) },
[PPP_CLOSE]         = { TO(0, 0),    TO(0, tlf),       TO(2, 0),         TO(2, 0),              TO(4, 0),     TO(4, 0),
                        TO(4, irc | str),  TO(4, irc | str),  TO(4, irc | str),  TO(4, tld | irc | str) },
[PPP_TIMEOUT]       = { STAYS,       STAYS,            STAYS,            STAYS,                 TO(4, str),   TO(5, str),
                        TO(6, scr),        TO(6, scr),        TO(8, scr),        STAYS },
[PPP_LAST_TIMEOUT]  = { STAYS,       STAYS,            STAYS,            STAYS,                 TO(2, tlf),   TO(3, tlf),
                        TO(3, tlf),        TO(3, tlf),        TO(3, tlf),        STAYS },
[PPP_GOOD_REQUEST]  = { STAYS,       STAYS,            TO(2, sta),       TO(8, irc | scr | sca), TO(4, 0),    TO(5, 0),
                        TO(8, sca),        TO(9, sca | tlu),  TO(8, sca),        TO(8, tld | scr | sca) },
[PPP_BAD_REQUEST]   = { STAYS,       STAYS,            TO(2, sta),       TO(6, irc | scr | scn), TO(4, 0),    TO(5, 0),
                        TO(6, scn),        TO(7, scn),        TO(6, scn),        TO(6, tld | scr | scn) },
[PPP_ACK]           = { STAYS,       STAYS,            TO(2, sta),       TO(3, sta),            TO(4, 0),     TO(5, 0),
                        TO(7, irc),        TO(6, scr),        TO(9, irc | tlu),  TO(6, tld | scr) },
[PPP_NAK]           = { STAYS,       STAYS,            TO(2, sta),       TO(3, sta),            TO(4, 0),     TO(5, 0),
                        TO(6, irc | scr),  TO(6, scr),        TO(8, irc | scr),  TO(6, tld | scr) },
[PPP_TERMINATE]     = { STAYS,       STAYS,            TO(2, sta),       TO(3, sta),            TO(4, sta),   TO(5, sta),
                        TO(6, sta),        TO(6, sta),        TO(6, sta),        TO(5, tld | zrc | sta) },
[PPP_TERMINATED]    = { STAYS,       STAYS,            TO(2, 0),         TO(3, 0),              TO(2, tlf),   TO(3, tlf),
                        TO(6, 0),          TO(6, 0),          TO(8, 0),          TO(6, tld | scr) },
[PPP_UNKNOWN]       = { STAYS,       STAYS,            TO(2, scj),       TO(3, scj),            TO(4, scj),   TO(5, scj),
                        TO(6, scj),        TO(7, scj),        TO(8, scj),        TO(9, scj) },
[PPP_REJECTED]      = { STAYS,       STAYS,            TO(2, 0),         TO(3, 0),              TO(4, 0),     TO(5, 0),
                        TO(6, 0),          TO(6, 0),          TO(8, 0),          TO(9, 0) },
[PPP_REJECTED_HARD] = { STAYS,       STAYS,            TO(2, tlf),       TO(3, tlf),            TO(2, tlf),   TO(3, tlf),
                        TO(3, tlf),        TO(3, tlf),        TO(3, tlf),        TO(5, tld | irc | str) },
[PPP_ECHO]          = { STAYS,       STAYS,            TO(2, 0),         TO(3, 0),              TO(4, 0),     TO(5, 0),
                        TO(6, 0),          TO(7, 0),          TO(8, 0),          TO(9, ser) },
};
/* clang-format on */

unsigned ppp_automaton(uint8_t *state, enum ppp_event event)
{
    uint32_t to = table[event][*state];

    if (to == STAYS)
        return 0;
    *state = (uint8_t)(to >> 16 & 0xf);
    return to & 0xffff;
}

const char *ppp_state_name(enum ppp_state state)
{
    static const char *const names[PPP_STATES] = {"Initial",  "Starting", "Closed",   "Stopped",
                                                  "Closing",  "Stopping", "Req-Sent", "Ack-Rcvd",
                                                  "Ack-Sent", "Opened"};

    return names[state];
}
