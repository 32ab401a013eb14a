/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests that only show something. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/request.h"
#include "control/request_impl.h"
#include "control/show.h"
#include "control/subscribers.h"
#include "engine/ledger.h"

static json_t *show_subscriber(struct control *c, const json_t *request, struct refusal *why)
{
    uint32_t id;
    int rc;

    if (subscriber_value(c, json_object_get(request, "subscriber"), &id, why) != 0)
        return NULL;
    rc = subscribers_read(c, id, 1);
    if (rc != 0) {
        refuse(why, "the queues cannot be read: %s", strerror(-rc));
        return NULL;
    }
    return json_pack("{s:b, s:o}", "ok", 1, "subscriber", subscriber_json(c, id));
}

/* What a function prints about subscriber id, as a string without its line end. */
static json_t *line_of(const struct control *c, uint32_t id,
                       void (*print)(const struct control *c, uint32_t id, FILE *to))
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    json_t *line;

    if (f == NULL)
        return NULL;
    print(c, id, f);
    fclose(f);
    line = len > 0 ? json_stringn(text, len - 1) : NULL;
    free(text);
    return line;
}

static void print_header(const struct control *c, uint32_t id, FILE *to)
{
    (void)id;
    subscribers_header(c, to);
}

static json_t *show_subscribers(struct control *c, const json_t *request, struct refusal *why)
{
    uint32_t all = control_model(c)->n_subscribers, n;
    uint64_t first, count;
    json_t *rows;
    int rc;

    if (want_integer(request, "first", 1, UINT32_MAX, &first, why) != 0 ||
        want_integer(request, "count", 1, REQUEST_MAX_SUBSCRIBERS, &count, why) != 0)
        return NULL;
    n = first > all ? 0 : (uint32_t)RTE_MIN(count, all - first + 1);
    rc = subscribers_read(c, (uint32_t)first, n);
    if (rc != 0) {
        refuse(why, "the queues cannot be read: %s", strerror(-rc));
        return NULL;
    }
    rows = json_array();
    for (uint32_t i = 0; i < n; i++)
        if (live_has(control_model(c), (uint32_t)first + i))
            json_array_append_new(rows, line_of(c, (uint32_t)first + i, subscribers_row));
    return json_pack("{s:b, s:I, s:o, s:o}", "ok", 1, "total", (json_int_t)all, "header",
                     line_of(c, 0, print_header), "rows", rows);
}

static json_t *show_qos(struct control *c, const json_t *request, struct refusal *why)
{
    (void)request;
    (void)why;
    return json_pack("{s:b, s:o}", "ok", 1, "qos", show_qos_json(c));
}

static json_t *show_ledger(struct control *c, const json_t *request, struct refusal *why)
{
    struct ledger l = ledger_read(c->e, NULL);

    (void)request;
    (void)why;
    return json_pack("{s:b, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}}", "ok", 1, "ledger", "received",
                     (json_int_t)l.received, "created", (json_int_t)l.created, "sent",
                     (json_int_t)l.sent, "consumed", (json_int_t)l.consumed, "dropped",
                     (json_int_t)l.dropped, "held", (json_int_t)l.held, "under_way",
                     (json_int_t)l.unexplained);
}

const struct command show_commands[] = {
    {"show-subscriber", {"subscriber"}, show_subscriber},
    {"show-subscribers", {"first", "count"}, show_subscribers},
    {"show-qos", {NULL}, show_qos},
    {"show-routes", {"first", "count"}, show_routes},
    {"show-changes", {NULL}, show_changes},
    {"show-ledger", {NULL}, show_ledger},
    {NULL, {NULL}, NULL},
};
