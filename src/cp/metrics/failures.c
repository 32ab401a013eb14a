/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/metrics/failures.h"

const struct cp_failure_words cp_failures[N_FAILURES] = {
    [FAIL_POOL] = {"pool_empty", "No address or prefix of the line's pool was free",
                   "A larger pool, or a shorter lease time."},
    [FAIL_TAKEN] = {"address_taken",
                    "The address that RADIUS says was another's, or not of the pool",
                    "Compare the addresses of RADIUS with the pool, and with each other."},
    [FAIL_REJECTED] = {"rejected", "RADIUS, or the list of users, does not let the client in",
                       "Normal for who is not known; the line's events have the reply message."},
    [FAIL_UNUSABLE] = {"radius_unusable",
                       "RADIUS let the client in with what this gateway cannot do",
                       "The log names the attribute: change it in RADIUS."},
    [FAIL_NO_ANSWER] = {"radius_no_answer", "No RADIUS server has answered",
                        "Look at the servers, and at vbng_cp_radius_timeouts_total."},
    [FAIL_NAK] = {"nak", "A client wanted to keep an address that it cannot have",
                  "Normal after a disconnect, and for who comes from elsewhere."},
    [FAIL_IGNORED] = {"ignored", "A message did not fit what its line has, as that of another MAC",
                      "Ask vbngctl sessions for the events of the line."},
    [FAIL_MALFORMED] = {"malformed", "A message could not be understood",
                        "Ask vbngctl sessions for the events of the line; else look at the CPE."},
    [FAIL_OFFER] =
        {"offer_not_taken", "The client did not take what was offered in time",
         "Normal where another server answers, or a CPE is switched off; else frames are lost."},
    [FAIL_NEGOTIATION] =
        {"not_negotiated", "A PPPoE session was begun, and ended before it was up",
         "The line's events say how far it came: frames are lost, or CPE and gateway disagree."},
    [FAIL_NO_SERVER] = {"no_server", "No DHCP server behind the relay has made an offer",
                        "Look at the servers, and at the way to them."},
    [FAIL_STORE] = {"store", "The store has not taken the session",
                    "Room on its disk; the log says why."},
    [FAIL_USERPLANE] =
        {"userplane_refused", "vbng has not taken the session",
         "The log says why: as a rule max_subscribers, or a profile that it does not know."},
};
