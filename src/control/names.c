/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that people give to subscribers. The data path knows none of them: they belong to the
 * running config, each in memory of its own. */
#include <stdlib.h>
#include <string.h>

#include "control/request.h"
#include "telemetry/metrics.h"

struct renaming {
    uint32_t id;
    char *name; /* NULL: no name any more */
};

/* Give a subscriber a name, which is the running config's from now on. */
static void rename_subscriber(struct control *c, const struct renaming *to)
{
    struct cfg_subscriber *s = &c->model->subscribers[to->id - 1];

    metrics_hold();
    free((char *)(uintptr_t)s->name);
    s->name = to->name;
    metrics_release();
}

enum { NAME_SUBSCRIBER, NAME_NAME, N_NAME_KEYS };

static const struct key name_keys[N_NAME_KEYS] = {
    [NAME_SUBSCRIBER] = {"subscriber", KEY_SUBSCRIBER, .required = true, .help = "whose"},
    [NAME_NAME] = {"name", KEY_LABEL, .required = true, .or_null = true,
                   .help = "his name; null: he has none any more"},
};
static const struct key names_keys[] = {
    {"changes", KEY_LIST, .help = "pairs [SUBSCRIBER, NAME]"},
};

/* Take a right pair of values into to, with a copy of the name. Returns false without memory or
 * where there is no such subscriber. */
static bool take(struct control *c, struct request *r, const struct value *v, struct renaming *to)
{
    if (!want_subscriber(c, &r->l, &v[NAME_SUBSCRIBER], &to->id))
        return false;
    to->name = v[NAME_NAME].set ? strdup(v[NAME_NAME].v.s) : NULL;
    return !v[NAME_NAME].set || to->name != NULL;
}

static json_t *set_name(struct control *c, struct request *r, struct refusal *why)
{
    struct renaming to;

    (void)why;
    if (!take(c, r, r->v, &to))
        return NULL;
    rename_subscriber(c, &to);
    return answer_changed(1);
}

static bool take_pair(struct control *c, struct request *r, size_t i, struct renaming *to)
{
    const json_t *pair = json_array_get(r->v[0].json, i);
    struct value v[N_NAME_KEYS] = {{.json = json_array_get(pair, NAME_SUBSCRIBER)},
                                   {.json = json_array_get(pair, NAME_NAME)}};

    r->l.at = entry_loc(r, i);
    if (!json_is_array(pair) || json_array_size(pair) != N_NAME_KEYS) {
        diag_error(r->l.d, r->l.at, "expected [SUBSCRIBER, NAME]");
        return false;
    }
    return read_value(&r->l, &name_keys[NAME_SUBSCRIBER], &v[NAME_SUBSCRIBER]) &&
           (json_is_null(v[NAME_NAME].json) ||
            read_value(&r->l, &name_keys[NAME_NAME], &v[NAME_NAME])) &&
           take(c, r, v, to);
}

/* All of them, or none. */
static json_t *set_names(struct control *c, struct request *r, struct refusal *why)
{
    size_t n = want_list(r, &r->v[0], "changes", REQUEST_MAX_CHANGES, "pairs [SUBSCRIBER, NAME]");
    struct renaming *list = calloc(n + 1, sizeof(*list));
    bool ok = n > 0 && list != NULL;

    (void)why;
    for (size_t i = 0; ok && i < n; i++)
        ok = take_pair(c, r, i, &list[i]);
    for (size_t i = 0; list != NULL && i < n; i++) {
        if (ok)
            rename_subscriber(c, &list[i]);
        else
            free(list[i].name);
    }
    free(list);
    return ok ? answer_changed(n) : NULL;
}

const struct command name_commands[] = {
    {"set-name", KEYS(name_keys), set_name, "gives a subscriber a name for people", true},
    {"set-names", KEYS(names_keys), set_names, "the same for many", true},
    {NULL},
};
