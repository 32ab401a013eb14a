/* SPDX-License-Identifier: BSD-3-Clause */
/* A session of PPPoE, from its PADS on: what the files of this folder share. */
#ifndef CP_PPPOE_SESSION_H
#define CP_PPPOE_SESSION_H

#include "cp/packet/pppoe.h"
#include "cp/ppp/ppp.h"
#include "cp/pppoe/cookie.h"
#include "cp/pppoe/ids.h"
#include "cp/pppoe/pppoe.h"

#define PPPOE_USER 129 /* bytes of a user's name with its end */
#define PPPOE_LINE 64  /* the same of an Agent Circuit ID or Remote ID: TR-101 section 3.9.3 */

/** A frame that waits. */
struct pppoe_waiting {
    struct punt_header header;
    uint8_t frame[];
};

struct pppoe_session {
    struct cp *cp;
    struct session *line;
    struct ppp link;
    struct timer timer; /* the link's */
    struct timer limit; /* of the negotiation; then of the session, by Session-Timeout */
    struct radius_request *question;
    struct pppoe_waiting *next; /* the PADR of the session behind this one, or NULL */
    uint16_t id;
    bool turned_away;       /* its user may not come in, or there is no address: it was counted */
    bool silent;            /* the CPE needs not be told of the end: he knows it */
    char *user;             /* NULL: he has not said who he is */
    char *circuit, *remote; /* what a node before the gateway calls the line, or NULL */
};

/** The session ids of a port. */
struct pppoe_port {
    const char *name;
    struct pppoe_ids ids;
    struct pppoe_port *next;
};

struct pppoe_server {
    struct cp *cp;
    uint8_t key[COOKIE_KEY];
    struct pppoe_port *ports; /* of the configuration, that were used */
};

/** The ids of a line's port; NULL without memory. */
struct pppoe_ids *pppoe_ids_of(struct pppoe_server *server, const struct session *line);

/** Begin a session of a MAC on an idle line, whose frames carry so many bytes of a packet. Returns
 * NULL where there is no id or memory for it. */
struct pppoe_session *pppoe_begin_session(struct cp *cp, struct session *s, const uint8_t mac[6],
                                          uint16_t most);

/** Let its link begin: the PADS has been sent. */
void pppoe_start_link(struct pppoe_session *p);

/** End a session, whatever its state. silent: the CPE knows it. */
void pppoe_end_session(struct pppoe_session *p, enum radius_cause cause, const char *why,
                       bool silent);

/** A session of an id, which is taken, with nothing said yet. Returns NULL without memory. */
struct pppoe_session *pppoe_make(struct cp *cp, struct session *s, uint16_t id, uint16_t most);

/** Keep a copy of a text instead of what there is; "": NULL. Aborts without memory. */
void pppoe_set_text(char **to, const char *text);

/** A text that was kept so. */
static inline const char *pppoe_text_of(const char *kept)
{
    return kept != NULL ? kept : "";
}

/** Do what follows from a call of the link: it is over, or is to be called again. */
void pppoe_settle(struct pppoe_session *p);

/** Let the session last as long as RADIUS says. */
void pppoe_set_limit(struct pppoe_session *p);

/** Find out whether the peer of a link, ctx, is who he says. */
void pppoe_judge_user(void *ctx, const struct ppp_proof *proof);

/** What the peer, who has an address, gets of IPv4. */
struct ppp_grant pppoe_grant(const struct pppoe_session *p);

/** Give the address back of a session that has not started, if it has one. */
void pppoe_give_address(struct pppoe_session *p);

/** Have the store and the user plane take the session. */
void pppoe_start_lease(struct pppoe_session *p);

/** Send a frame of discovery to a line. */
void pppoe_send(struct cp *cp, const struct session *s, struct pppoe_frame *f);

/** End the session of an id at a CPE, as RFC 2516 section 5.5 has it. */
void pppoe_send_padt(struct cp *cp, const struct session *s, const uint8_t mac[6], uint16_t id);

#endif
