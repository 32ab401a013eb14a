/* SPDX-License-Identifier: BSD-3-Clause */
/* The automaton of PPP against the table of RFC 1661 section 4.1, as it is printed there. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

#include "cp/ppp/automaton.h"

/* The columns 0 to 9; a letter behind a state refers to a note of the RFC. */
static const char *const rfc[PPP_EVENTS] = {
    [PPP_UP] = "2  irc,scr/6  -  -  -  -  -  -  -  -",
    [PPP_DOWN] = "-  -  0  tls/1  0  1  1  1  1  tld/1",
    [PPP_OPEN] = "tls/1  1  irc,scr/6  3r  5r  5r  6  7  8  9r",
    [PPP_CLOSE] = "0  tlf/0  2  2  4  4  irc,str/4  irc,str/4  irc,str/4  tld,irc,str/4",
    [PPP_TIMEOUT] = "-  -  -  -  str/4  str/5  scr/6  scr/6  scr/8  -",
    [PPP_LAST_TIMEOUT] = "-  -  -  -  tlf/2  tlf/3  tlf/3p  tlf/3p  tlf/3p  -",
    [PPP_GOOD_REQUEST] = "-  -  sta/2  irc,scr,sca/8  4  5  sca/8  sca,tlu/9  sca/8  tld,scr,sca/8",
    [PPP_BAD_REQUEST] = "-  -  sta/2  irc,scr,scn/6  4  5  scn/6  scn/7  scn/6  tld,scr,scn/6",
    [PPP_ACK] = "-  -  sta/2  sta/3  4  5  irc/7  scr/6x  irc,tlu/9  tld,scr/6x",
    [PPP_NAK] = "-  -  sta/2  sta/3  4  5  irc,scr/6  scr/6x  irc,scr/8  tld,scr/6x",
    [PPP_TERMINATE] = "-  -  sta/2  sta/3  sta/4  sta/5  sta/6  sta/6  sta/6  tld,zrc,sta/5",
    [PPP_TERMINATED] = "-  -  2  3  tlf/2  tlf/3  6  6  8  tld,scr/6",
    [PPP_UNKNOWN] = "-  -  scj/2  scj/3  scj/4  scj/5  scj/6  scj/7  scj/8  scj/9",
    [PPP_REJECTED] = "-  -  2  3  4  5  6  6  8  9",
    [PPP_REJECTED_HARD] = "-  -  tlf/2  tlf/3  tlf/2  tlf/3  tlf/3  tlf/3  tlf/3  tld,irc,str/5",
    [PPP_ECHO] = "-  -  2  3  4  5  6  7  8  ser/9",
};

static unsigned action_of(const char *name)
{
    static const struct {
        const char *name;
        unsigned bit;
    } actions[] = {
        {"tld", PPP_LAYER_DOWN},     {"irc", PPP_INIT_COUNT},    {"zrc", PPP_ZERO_COUNT},
        {"scr", PPP_SEND_REQUEST},   {"sca", PPP_SEND_ACK},      {"scn", PPP_SEND_NAK},
        {"str", PPP_SEND_TERMINATE}, {"sta", PPP_SEND_TERM_ACK}, {"scj", PPP_SEND_CODE_REJ},
        {"ser", PPP_SEND_ECHO},      {"tlu", PPP_LAYER_UP},      {"tls", PPP_LAYER_START},
        {"tlf", PPP_LAYER_END}};

    for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strncmp(name, actions[i].name, 3) == 0)
            return actions[i].bit;
    abort();
}

/* A cell as "irc,scr/6": its actions and its state. */
static void one_transition(enum ppp_event event, uint8_t state, const char *cell)
{
    const char *slash = strchr(cell, '/');
    uint8_t to = state;
    unsigned actions = 0, want = 0;

    for (const char *name = cell; slash != NULL && name < slash; name += 4)
        want |= action_of(name);
    actions = ppp_automaton(&to, event);
    EXPECT(actions == want, "event %u in %s: %#x", event, ppp_state_name(state), actions);
    EXPECT(to == (cell[0] == '-' ? state : atoi(slash != NULL ? slash + 1 : cell)),
           "event %u in %s: goes to %s", event, ppp_state_name(state), ppp_state_name(to));
}

static void every_transition(void)
{
    unsigned cells = 0;

    for (unsigned event = 0; event < PPP_EVENTS; event++) {
        char row[200], *rest = row, *cell;

        strcpy(row, rfc[event]);
        for (uint8_t state = 0; (cell = strtok_r(rest, " ", &rest)) != NULL; state++, cells++)
            one_transition(event, state, cell);
    }
    CU_ASSERT_EQUAL(cells, PPP_EVENTS * PPP_STATES);
}

/* Two automata without losses open, whoever begins; the timer's restarts are bounded. */
static void opens(void)
{
    uint8_t state = PPP_INITIAL;

    CU_ASSERT_EQUAL(ppp_automaton(&state, PPP_UP), 0);
    CU_ASSERT_EQUAL(ppp_automaton(&state, PPP_OPEN), PPP_INIT_COUNT | PPP_SEND_REQUEST);
    CU_ASSERT_EQUAL(ppp_automaton(&state, PPP_GOOD_REQUEST), PPP_SEND_ACK);
    CU_ASSERT_EQUAL(ppp_automaton(&state, PPP_ACK), PPP_INIT_COUNT | PPP_LAYER_UP);
    CU_ASSERT_EQUAL(state, PPP_OPENED);
}

static const struct test tests[] = {
    {"every transition", every_transition},
    {"opens", opens},
    {NULL, NULL},
};

const struct test_program test_program = {"automaton", tests, NULL, NULL};
