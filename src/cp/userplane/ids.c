/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/userplane/ids.h"

#include <stdlib.h>
#include <string.h>

#define MOST_IDS (1u << 26)

uint32_t id_in(const json_t *answer)
{
    json_int_t id = json_integer_value(json_object_get(answer, "id"));

    return id > 0 && id < MOST_IDS ? (uint32_t)id : 0;
}

struct session *ids_find(const struct session_ids *t, json_int_t id)
{
    return id > 0 && id < t->n ? t->session[id] : NULL;
}

void ids_set(struct session_ids *t, struct session *s, uint32_t id)
{
    if (ids_find(t, s->subscriber) == s)
        t->session[s->subscriber] = NULL;
    s->subscriber = id;
    if (id == 0)
        return;
    if (id >= t->n) {
        uint32_t n = id < 1024 ? 2048 : id * 2;

        t->session = reallocarray(t->session, n, sizeof(struct session *));
        if (t->session == NULL)
            abort();
        memset(t->session + t->n, 0, (n - t->n) * sizeof(struct session *));
        t->n = n;
    }
    t->session[id] = s;
}

void ids_clear(struct session_ids *t)
{
    if (t->n > 0)
        memset(t->session, 0, t->n * sizeof(struct session *));
}

void ids_close(struct session_ids *t)
{
    free(t->session);
}
