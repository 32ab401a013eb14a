/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/userplane/removals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void removals_add(struct removals *t, struct session *s, const char *line, bool again)
{
    struct removal *r;

    if (t->n == t->room) {
        t->room = t->room > 0 ? t->room * 2 : 256;
        t->removal = reallocarray(t->removal, t->room, sizeof(*t->removal));
        if (t->removal == NULL)
            abort();
    }
    r = &t->removal[t->n++];
    r->s = s;
    r->again = again;
    snprintf(r->line, sizeof(r->line), "%s", line);
}

void removals_drop(struct removals *t, uint32_t n)
{
    t->n -= n;
    memmove(t->removal, t->removal + n, t->n * sizeof(*t->removal));
}

bool removals_have(const struct removals *t, const char *line)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (strcmp(t->removal[i].line, line) == 0)
            return true;
    return false;
}

json_t *removals_json(const struct removals *t, uint32_t n)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(t->removal[i].line));
    return list;
}

uint32_t removals_there(const struct removals *t)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++)
        n += !t->removal[i].again;
    return n;
}

uint32_t removals_go_on(const struct removals *t)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++)
        n += t->removal[i].s != NULL && t->removal[i].s->state != SESSION_ENDING;
    return n;
}

void removals_close(struct removals *t)
{
    free(t->removal);
    *t = (struct removals){0};
}
