/* SPDX-License-Identifier: BSD-3-Clause */
/* The subscribers whom the user plane is to remove, in the order in which it is asked to. */
#ifndef CP_USERPLANE_REMOVALS_H
#define CP_USERPLANE_REMOVALS_H

#include <jansson.h>

#include "cp/session.h"

struct removal {
    struct session *s; /* that may go on with another; NULL: no session is for him */
    bool again; /* he was removed already, as far as is known: his last counters are asked for */
    char line[SESSION_LINE_TEXT];
};

/** Begins as zeros. */
struct removals {
    struct removal *removal;
    uint32_t n, room;
};

/** Aborts without memory. */
void removals_add(struct removals *t, struct session *s, const char *line, bool again);

/** Drop the first n. */
void removals_drop(struct removals *t, uint32_t n);

/** Is there one of a line? */
bool removals_have(const struct removals *t, const char *line);

/** The lines of the first n. */
json_t *removals_json(const struct removals *t, uint32_t n);

/** How many are there, as far as is known; and whose sessions go on, with another. */
uint32_t removals_there(const struct removals *t);
uint32_t removals_go_on(const struct removals *t);

void removals_close(struct removals *t);

#endif
