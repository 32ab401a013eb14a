/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may have a session, and as what: a client's first message waits until RADIUS has been asked
 * for it, and RADIUS may change or end his session at any time. Without a section radius in the
 * configuration none of this is there (cp->aaa NULL), and everybody may.
 */
#ifndef CP_AAA_AAA_H
#define CP_AAA_AAA_H

#include "cp/cp.h"
#include "cp/dhcp6/session6.h"
#include "cp/packet/dhcp4.h"
#include "cp/ppp/ppp.h"

/** Open the sockets. Returns NULL; the reason is in the log. */
struct aaa *aaa_open(struct cp *cp);
void aaa_close(struct aaa *a);

/** Ask for the client of a message on a line without a session: SESSION_ASKING. A message of the
 * other family waits for the same answer. ipoe4_authorized() and dhcp6_authorized() follow, or the
 * line is idle again. */
void aaa_ask4(struct cp *cp, struct session *s, const struct dhcp4 *q);
void aaa_ask6(struct cp *cp, struct session *s, const struct request6 *r);

/** Ask whether the user of a PPPoE session may come in, with what his CPE has said. circuit,
 * remote: what a node before the gateway calls the line, or "". pppoe_judged() follows. Returns
 * NULL where a value is too long for RADIUS. */
struct radius_request *aaa_ask_user(struct cp *cp, struct session *s, const struct ppp_proof *proof,
                                    const char *user, const char *circuit, const char *remote);

/** Forget that question, or none (NULL). */
void aaa_forget_user(struct radius_request *question);

/** Take what an answer grants to a session. Returns NULL, or why it grants nothing. */
const char *aaa_grant(struct cp *cp, struct session *s, const struct radius_answer *answer);

/** Take what a session was granted before this program was started. */
void aaa_resume(struct cp *cp, struct session *s, const char *text);

/** The client of the servers. */
struct radius *aaa_radius(const struct aaa *a);

/** The end of a turn, before that of the sessions: send and take what there is. */
void aaa_end_turn(struct aaa *a);

/** Why a session ends when its lease does: its time is over, or nobody has been heard of. */
enum radius_cause aaa_expiry(const struct session *s);

/** For so many seconds at most a session may have a lease from now on. */
uint32_t aaa_lease(const struct session *s, uint32_t lease);

#endif
