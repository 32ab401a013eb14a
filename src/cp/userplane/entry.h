/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subscriber that the user plane is to have of a session: an entry of put-subscribers
 * (doc/control.md).
 */
#ifndef CP_USERPLANE_ENTRY_H
#define CP_USERPLANE_ENTRY_H

#include <jansson.h>

#include "cp/cp.h"

/** The whole subscriber as he is to be now, each value written as list-subscribers writes it: what
 * is equal then need not be put again. */
json_t *session_entry(const struct session *s);

/** Is a subscriber of list-subscribers as an entry says? A profile that the entry does not name may
 * be any. */
bool entry_is_there(const json_t *entry, const json_t *subscriber);

/** Has a subscriber of list-subscribers an address that an entry has not, and that so may be
 * another's? */
bool entry_lacks_address(const json_t *entry, const json_t *subscriber);

/** A text of an answer, "" where there is none. */
const char *entry_text(const json_t *o, const char *key);

/** The session on the line of a subscriber of list-subscribers; NULL: there is none. */
struct session *entry_session(const struct cp *cp, const json_t *subscriber);

/** "PORT SVLAN.CVLAN" of such a subscriber; buf is returned. */
char *entry_line(const json_t *subscriber, char buf[SESSION_LINE_TEXT]);

/** Is a subscriber one of vbng-cp's, by his name? All others are left alone. */
bool userplane_own(const char *name);

#endif
