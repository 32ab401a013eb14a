/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PPPoE: discovery (RFC 2516), and the sessions of lines whose CPEs speak PPP. A session that is
 * starting, up or ending is a lease like any other (lease.h), which calls what stands here under
 * "leases".
 */
#ifndef CP_PPPOE_PPPOE_H
#define CP_PPPOE_PPPOE_H

#include <jansson.h>

#include "cp/cp.h"
#include "packet/punt.h"

/** Make ready. Returns NULL without memory or random numbers; the reason is in the log. */
struct pppoe_server *pppoe_open(struct cp *cp);
void pppoe_close(struct pppoe_server *server);

/** Take a frame of discovery, or of a session, of a line. */
void pppoe_take_discovery(struct cp *cp, const struct punt_header *h, const uint8_t *frame);
void pppoe_take_session(struct cp *cp, const struct punt_header *h, const uint8_t *frame);

/** What has become of the question whether a user may come in: NULL, or why not. message: what the
 * server says to him. */
void pppoe_judged(struct session *s, const char *why, struct radius_octets message);

/** The control plane that a session is of. */
struct cp *pppoe_cp(const struct session *s);

/** The id of a session; the name of its user, or "" before authentication. */
uint16_t pppoe_id(const struct session *s);
const char *pppoe_user(const struct session *s);

/** Is a packet of IPv6 that was punted the line's own: of a PPPoE session (its id, 0: of none) that
 * is up with IPv6, or of a line without one? */
bool pppoe_is_its_own(const struct session *s, uint32_t id);

/** What the user plane has to know: { session, mac, mtu, magic } of an entry. */
json_t *pppoe_entry(const struct session *s);

/* --- leases --- */

/** The user plane has the subscriber as he is to be. */
void pppoe_in_userplane(struct cp *cp, struct session *s);

/** The session ends: the CPE is told. */
void pppoe_ending(struct cp *cp, struct session *s, const char *why);

/** It has ended: nothing is left of it. */
void pppoe_gone(struct cp *cp, struct session *s);

/** A session as a text for the store, to be freed. */
char *pppoe_text(const struct session *s);

/** Take a session of such a text, whose address is taken. Returns whether it can be. */
bool pppoe_resume(struct cp *cp, struct session *s, const char *text);

/** Forget a session without a word: vbng-cp ends. */
void pppoe_forget(struct session *s);

#endif
