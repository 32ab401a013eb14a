/* SPDX-License-Identifier: BSD-3-Clause */
/* What happened to a line: its last events, one behind the other in a piece of memory, so that each
 * takes the room of its text. */
#ifndef CP_EVENTS_H
#define CP_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define EVENTS_KEPT 8
#define EVENT_TEXT  120 /* with its NUL, at most */

struct events {
    uint16_t bytes; /* behind this head */
    uint8_t n;
    uint8_t at[];
};

/** One of them. */
struct event {
    int64_t time_ms; /* of CLOCK_REALTIME */
    const char *text;
};

/** Add one, in the place of the oldest where there are so many already. It is not kept without
 * memory. *e NULL: there is none. */
void events_add(struct events **e, int64_t time_ms, const char *text);

/** All of them, the oldest first, as long as they stay as they are. Returns how many. */
unsigned events_list(const struct events *e, struct event list[EVENTS_KEPT]);

#endif
