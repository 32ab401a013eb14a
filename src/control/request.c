/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/delta.h"
#include "control/socket/answer.h"
#include "control/view.h"
#include "engine/ledger.h"

#define MAX_COMMANDS 64

static const struct command *const tables[] = {
    show_commands,    object_commands,     find_commands,    rate_commands, stream_commands,
    capture_commands, subscriber_commands, session_commands, name_commands, route_commands,
    reload_commands,  explain_commands,    octets_commands};

/* --- reading --- */

size_t want_list(struct request *r, const struct value *v, const char *key, size_t max,
                 const char *what)
{
    size_t n = json_array_size(v->json);

    if (n < 1 || n > max) {
        diag_error(r->l.d, r->l.at, "key '%s': expected a list of 1 to %zu %s", key, max, what);
        return 0;
    }
    r->entry = calloc(n, sizeof(*r->entry));
    for (size_t i = 0; r->entry != NULL && i < n; i++)
        snprintf(r->entry[i], sizeof(r->entry[i]), "%s[%zu]", key, i);
    return r->entry != NULL ? n : 0;
}

struct loc entry_loc(const struct request *r, size_t i)
{
    return (struct loc){r->entry != NULL ? r->entry[i] : "", 0};
}

bool want_object(struct request *r, const struct value *list, size_t i, const char *what,
                 const struct key *keys, unsigned n, struct value *values)
{
    const json_t *object = json_array_get(list->json, i);

    r->l.at = entry_loc(r, i);
    if (json_is_object(object))
        return read_object(&r->l, object, what, keys, n, values);
    diag_error(r->l.d, r->l.at, "expected an object");
    return false;
}

json_t *answer_changed(uint64_t n)
{
    return json_pack("{s:b, s:I}", "ok", 1, "changed", (json_int_t)n);
}

/* --- commands --- */

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < RTE_DIM(tables); i++)
        for (const struct command *k = tables[i]; k->name != NULL; k++)
            if (strcmp(k->name, name) == 0)
                return k;
    return NULL;
}

static void unknown_command(const char *name, struct refusal *why)
{
    const char *all[MAX_COMMANDS];
    size_t n = 0;

    for (size_t i = 0; i < RTE_DIM(tables); i++)
        for (const struct command *k = tables[i]; k->name != NULL && n < MAX_COMMANDS; k++)
            all[n++] = k->name;
    const char *near = nearest_name(name, all, n);

    if (near != NULL) {
        refuse(why, "unknown command '%.40s': did you mean '%s'?", name, near);
        return;
    }
    refuse(why, "unknown command '%.40s': expected ", name);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(why->text);

        snprintf(why->text + len, sizeof(why->text) - len, "%s%s", i > 0 ? ", " : "", all[i]);
    }
}

/* --- one request --- */

/* Refuse with the first error that was found, at its place. */
static void refuse_first(const struct diags *d, struct refusal *why)
{
    size_t i = 0;

    if (d->n_errors == 0)
        return;
    while (d->list[i].level != DIAG_ERROR)
        i++;
    refuse(why, "%s%s%s", d->list[i].loc.file, d->list[i].loc.file[0] != '\0' ? ": " : "",
           d->list[i].text);
}

/* Read the keys of a request by the table of its command, and run it. */
static json_t *run(struct control *c, const struct command *command, struct request *r,
                   const json_t *keys, struct refusal *why)
{
    char what[64];

    snprintf(what, sizeof(what), "request '%s'", command->name);
    return read_object(&r->l, keys, what, command->keys, command->n_keys, r->v)
               ? command->run(c, r, why)
               : NULL;
}

json_t *request_run(struct control *c, const json_t *request, struct refusal *why)
{
    const char *name = json_string_value(json_object_get(request, "cmd"));
    struct diags d = {0};
    struct request r = {.json = request, .l = {.m = c->model, .d = &d, .at = {"", 0}}};
    const struct command *command;
    json_t *keys, *answer;

    if (!json_is_object(request)) {
        refuse(why, "expected an object, {\"cmd\": ...}");
        return NULL;
    }
    if (name == NULL) {
        refuse(why, "key 'cmd': expected a string");
        return NULL;
    }
    command = find_command(name);
    if (command == NULL) {
        unknown_command(name, why);
        return NULL;
    }
    c->changes += command->changes;
    keys = json_copy((json_t *)request);
    json_object_del(keys, "cmd");
    answer = keys != NULL ? run(c, command, &r, keys, why) : NULL;
    if (answer == NULL)
        refuse_first(&d, why);
    free(r.entry);
    diag_free(&d);
    json_decref(keys);
    return answer;
}

char *request_answer(struct control *c, const char *request, size_t len)
{
    struct refusal why = {"no memory"};
    json_error_t error;
    json_t *parsed = json_loadb(request, len, JSON_REJECT_DUPLICATES, &error), *answer = NULL;

    if (parsed == NULL)
        refuse(&why, "not JSON: %.150s, column %d; expected one object on one line", error.text,
               error.column);
    else
        answer = request_run(c, parsed, &why);
    json_decref(parsed);
    return answer != NULL ? answer_line(answer) : answer_refused(why.text);
}

char *request_serve(void *control, struct server_request *request)
{
    struct control *c = control;
    char *text;

    c->from = request;
    text = request_answer(c, request->text, request->len);
    c->from = NULL;
    return text;
}

/* --- the requests that only show something --- */

static const struct key subscriber_key[] = {
    {"subscriber", KEY_SUBSCRIBER, .required = true, .help = "whose"}};

static json_t *show_subscriber(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t id;
    int rc;

    if (!want_subscriber(c, &r->l, &r->v[0], &id))
        return NULL;
    rc = subscribers_read(c, id, 1);
    if (rc != 0) {
        refuse(why, "the queues cannot be read: %s", strerror(-rc));
        return NULL;
    }
    return json_pack("{s:b, s:o}", "ok", 1, "subscriber", subscriber_json(c, id));
}

/* The line that a function prints about subscriber id, without its end. */
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

static const struct key page_keys[] = {
    {"first", KEY_COUNT, .required = true, .min = 1, .max = UINT32_MAX, .help = "where to begin"},
    {"count", KEY_COUNT, .required = true, .min = 1, .max = REQUEST_MAX_SUBSCRIBERS,
     .help = "how many at most"},
};

static json_t *show_subscribers(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t all = control_model(c)->n_subscribers, n;
    uint64_t first = r->v[0].v.u, count = r->v[1].v.u;
    json_t *rows;
    int rc;

    n = first > all ? 0 : (uint32_t)RTE_MIN(count, all - first + 1);
    rc = subscribers_read(c, (uint32_t)first, n);
    if (rc != 0) {
        refuse(why, "the queues cannot be read: %s", strerror(-rc));
        return NULL;
    }
    rows = json_array();
    for (uint32_t i = 0; i < n; i++)
        if (running_has(control_model(c), (uint32_t)first + i))
            json_array_append_new(rows, line_of(c, (uint32_t)first + i, subscribers_row));
    return json_pack("{s:b, s:I, s:o, s:o}", "ok", 1, "total", (json_int_t)all, "header",
                     line_of(c, 0, print_header), "rows", rows);
}

static json_t *show_qos(struct control *c, struct request *r, struct refusal *why)
{
    (void)r;
    (void)why;
    return json_pack("{s:b, s:o}", "ok", 1, "qos", show_qos_json(c));
}

static json_t *show_ledger(struct control *c, struct request *r, struct refusal *why)
{
    struct ledger l = ledger_read(c->e, NULL);

    (void)r;
    (void)why;
    return json_pack("{s:b, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}}", "ok", 1, "ledger", "received",
                     (json_int_t)l.received, "created", (json_int_t)l.created, "sent",
                     (json_int_t)l.sent, "consumed", (json_int_t)l.consumed, "dropped",
                     (json_int_t)l.dropped, "held", (json_int_t)l.held, "under_way",
                     (json_int_t)l.unexplained);
}

static json_t *show_changes(struct control *c, struct request *r, struct refusal *why)
{
    json_t *changes = running_changes(c);

    (void)r;
    (void)why;
    return changes != NULL ? json_pack("{s:b, s:o}", "ok", 1, "requests", changes) : NULL;
}

/* Say of each next hop whether its MAC is known; of a route with several, whether one's is. */
static void show_resolved(const struct control *c, const struct cfg_route *r, json_t *route)
{
    json_t *list = json_object_get(route, "nexthops");
    const uint32_t *hops;
    uint32_t n = route_nexthops(control_model(c), r, &hops);
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        const struct nexthop *nh = &c->tables->routes->nexthop[hops[i] + 1];
        bool known = __atomic_load_n(&nh->mac_known, __ATOMIC_RELAXED) != 0;

        any |= known;
        if (list != NULL)
            json_object_set_new(json_array_get(list, i), "resolved", json_boolean(known));
    }
    json_object_set_new(route, "resolved", json_boolean(any));
}

static json_t *show_routes(struct control *c, struct request *r, struct refusal *why)
{
    const struct cfg_model *m = control_model(c);
    uint64_t first = r->v[0].v.u, count = r->v[1].v.u, total = m->n_routes + m->n_routes6;
    json_t *routes = json_array();

    (void)why;
    for (uint64_t i = first - 1; i < total && i < first - 1 + count; i++) {
        const struct cfg_route *route =
            i < m->n_routes ? &m->routes[i] : &m->routes6[i - m->n_routes].way;
        json_t *o = route_json(m, route);

        show_resolved(c, route, o);
        json_array_append_new(routes, o);
    }
    return json_pack("{s:b, s:I, s:I, s:I, s:o}", "ok", 1, "total", (json_int_t)total, "room",
                     (json_int_t)m->max_routes, "room6", (json_int_t)m->max_routes6, "routes",
                     routes);
}

const struct command show_commands[] = {
    {"show-subscriber", KEYS(subscriber_key), show_subscriber, .help = "a subscriber's figures"},
    {"show-subscribers", KEYS(page_keys), show_subscribers, .help = "figures of many, as CSV"},
    {"show-qos", NULL, 0, show_qos, .help = "lag, sojourn times and shaping error of qos tasks"},
    {"show-routes", KEYS(page_keys), show_routes, .help = "routes, and whether they are resolved"},
    {"show-changes", NULL, 0, show_changes, .help = "what is not as the configuration says"},
    {"show-ledger", NULL, 0, show_ledger, .help = "what became of all packets"},
    {NULL},
};
