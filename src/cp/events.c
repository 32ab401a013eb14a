/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/events.h"

#include <stdlib.h>
#include <string.h>

/* An event is its time and its text with the NUL. */
#define TIME sizeof(int64_t)

static size_t size_of(const uint8_t *event)
{
    return TIME + strlen((const char *)event + TIME) + 1;
}

static void drop_oldest(struct events *e)
{
    size_t oldest = size_of(e->at);

    e->n--;
    e->bytes = (uint16_t)(e->bytes - oldest);
    memmove(e->at, e->at + oldest, e->bytes);
}

void events_add(struct events **e, int64_t time_ms, const char *text)
{
    size_t n = strlen(text) + 1, before = 0;
    unsigned n_before = 0;
    struct events *to;

    if (*e != NULL && (*e)->n == EVENTS_KEPT)
        drop_oldest(*e);
    if (*e != NULL) {
        before = (*e)->bytes;
        n_before = (*e)->n;
    }
    to = realloc(*e, sizeof(*to) + before + TIME + n);
    if (to == NULL)
        return;
    memcpy(to->at + before, &time_ms, TIME);
    memcpy(to->at + before + TIME, text, n);
    to->n = (uint8_t)(n_before + 1);
    to->bytes = (uint16_t)(before + TIME + n);
    *e = to;
}

unsigned events_list(const struct events *e, struct event list[EVENTS_KEPT])
{
    const uint8_t *at = e != NULL ? e->at : NULL;
    unsigned n = e != NULL ? e->n : 0;

    for (unsigned i = 0; i < n; i++) {
        memcpy(&list[i].time_ms, at, TIME);
        list[i].text = (const char *)at + TIME;
        at += size_of(at);
    }
    return n;
}
