/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounting (RFC 2866): RADIUS is told when a session begins, what it has used meanwhile, and how
 * it ended. cp->acct NULL: none of this is there, and all of this may be called.
 */
#ifndef CP_ACCT_ACCT_H
#define CP_ACCT_ACCT_H

#include <jansson.h>

#include "cp/cp.h"
#include "cp/radius/radius.h"

/** After the sessions and RADIUS: take what the store has. Returns NULL without memory. */
struct acct *acct_open(struct cp *cp, struct radius *radius);
void acct_close(struct acct *a);

/** A session is up; it may be so already. */
void acct_start(struct cp *cp, struct session *s);

/** A session ends; the user plane may have it still. */
void acct_stop(struct cp *cp, struct session *s, enum radius_cause cause);

/** The user plane has a session no more. */
void acct_gone(struct cp *cp, struct session *s);

/** The user plane's counters of a session. */
void acct_count(struct cp *cp, struct session *s, const json_t *row);

/** The same, when the user plane has removed the subscriber; the store has the octets at the end of
 * this turn of the loop. again: the answer to a repeated removal, whose octets may be of an earlier
 * removal or of an earlier subscriber. */
void acct_count_last(struct cp *cp, struct session *s, const json_t *row, bool again);

/** The same of a subscriber who was removed because there is no session on his line, or was so
 * before; row NULL or null: what was read last counts. That account is over. */
void acct_count_line(struct cp *cp, const char *line, const json_t *row);

/** Ask for acct_count_line() on every line whose account is open, although there is no session. */
void acct_settle(struct cp *cp, void (*ask)(void *ctx, const char *line), void *ctx);

/** The end of a turn: what has changed goes into the transaction; and, when that is committed or
 * not, to RADIUS. The latter returns whether RADIUS has something to send. */
void acct_write(struct cp *cp);
bool acct_send(struct cp *cp, bool committed);

#endif
