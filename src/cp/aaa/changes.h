/* SPDX-License-Identifier: BSD-3-Clause */
/* What RADIUS wants of a session that is up (RFC 5176). */
#ifndef CP_AAA_CHANGES_H
#define CP_AAA_CHANGES_H

#include "cp/cp.h"

/** A radius_changed; ctx: the struct cp. */
void change_session(void *ctx, struct radius_coa *coa, const struct radius_change *change);

/** The end of a turn: answer the changes that were made in it, once it is known whether the store
 * has committed them. What a server was told of outlives this program. */
void changes_end_turn(struct cp *cp, bool committed);

#endif
