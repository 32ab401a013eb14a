/* SPDX-License-Identifier: BSD-3-Clause */
/* Which session has which id in the user plane: by that its counters are found. */
#ifndef CP_USERPLANE_IDS_H
#define CP_USERPLANE_IDS_H

#include <jansson.h>

#include "cp/session.h"

/** Begins as zeros. */
struct session_ids {
    struct session **session; /* by id, below n */
    uint32_t n;
};

/** The id that an answer names as id, or 0. */
uint32_t id_in(const json_t *answer);

/** Give a session an id; 0: it has none any more. Aborts without memory. */
void ids_set(struct session_ids *t, struct session *s, uint32_t id);

/** Who has an id, which may be any number; or NULL. */
struct session *ids_find(const struct session_ids *t, json_int_t id);

/** Forget all of them; the sessions may still say that they have one. */
void ids_clear(struct session_ids *t);
void ids_close(struct session_ids *t);

#endif
