/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/delta.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LIST_MAX 5000 /* entries of a request: it stays far below 1 MiB */

void delta_list(json_t *requests, const char *cmd, const char *key, json_t *entry)
{
    json_t *last = json_array_get(requests, json_array_size(requests) - 1);
    const char *last_cmd = json_string_value(json_object_get(last, "cmd"));

    if (last_cmd == NULL || strcmp(last_cmd, cmd) != 0 ||
        json_array_size(json_object_get(last, key)) == LIST_MAX) {
        last = json_pack("{s:s, s:[]}", "cmd", cmd, key);
        json_array_append_new(requests, last);
    }
    json_array_append_new(json_object_get(last, key), entry);
}

void delta_restart(struct delta *d, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    json_array_append_new(d->restart, json_pack("s", text));
}

static void map_ports(struct delta *d)
{
    const struct cfg_model *now = control_model(d->c);

    for (unsigned i = 0; i < d->other->n_ports; i++) {
        d->port_of[i] = CFG_NONE;
        for (unsigned k = 0; k < now->n_ports; k++)
            if (strcmp(d->other->ports[i].name, now->ports[k].name) == 0)
                d->port_of[i] = k;
    }
}

void delta_make(struct delta *d, const struct control *c, const struct cfg_model *other,
                bool reload)
{
    *d = (struct delta){.c = c, .other = other, .reload = reload};
    d->requests = json_array();
    d->restart = json_array();
    map_ports(d);
    delta_subscribers(d);
    delta_routes(d);
    delta_schedulers(d);
}

void delta_free(struct delta *d)
{
    json_decref(d->requests);
    json_decref(d->restart);
}
