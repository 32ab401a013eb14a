/* SPDX-License-Identifier: BSD-3-Clause */
/* The request that reads a configuration again, and the one that says what differs from it. */
#include "control/live_changes.h"
#include "control/reload.h"
#include "control/request_impl.h"

static int want_bool(const json_t *request, const char *key, bool *out, struct refusal *why)
{
    const json_t *v = json_object_get(request, key);

    *out = json_is_true(v);
    return v == NULL || json_is_boolean(v) ? 0
                                           : refuse(why, "key '%s': expected true or false", key);
}

static json_t *run_reload(struct control *c, const json_t *request, struct refusal *why)
{
    struct reload_options o = {0};

    if (want_bool(request, "dry_run", &o.dry_run, why) != 0 ||
        want_bool(request, "details", &o.details, why) != 0 ||
        (json_object_get(request, "file") != NULL && want_name(request, "file", &o.path, why) != 0))
        return NULL;
    if (o.path != NULL && o.path[0] != '/') {
        refuse(why,
               "key 'file': expected a path from the root, as only vbng's own folder is known");
        return NULL;
    }
    return reload(c, &o, why);
}

json_t *show_changes(struct control *c, const json_t *request, struct refusal *why)
{
    json_t *changes = live_changes(c);

    (void)request;
    (void)why;
    return changes != NULL ? json_pack("{s:b, s:o}", "ok", 1, "requests", changes) : NULL;
}

const struct command reload_commands[] = {
    {"reload", {"file", "dry_run", "details"}, run_reload},
    {NULL, {NULL}, NULL},
};
