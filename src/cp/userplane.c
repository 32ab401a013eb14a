/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/userplane.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/lease.h"
#include "cp/lines.h"

#define RECONNECT_NS (NS_PER_S / 10)
#define MOST         2000 /* subscribers in a request: a line of 1 MiB holds them */
#define PAGE         1000 /* subscribers in an answer */

/* A subscriber that is to be removed: of a session, or one that no session is for. */
struct removal {
    struct session *s; /* or NULL */
    char line[SESSION_LINE_TEXT];
};

/* A subscriber who is to have another profile. */
struct change {
    struct session *s;
    char profile[SERVICE_PROFILE];
    void (*done)(void *ctx, struct session *s, const char *error);
    void *ctx;
};

enum request { REQUEST_NONE, REQUEST_LIST, REQUEST_REMOVE, REQUEST_ADD, REQUEST_CHANGE };

struct userplane {
    struct cp *cp;
    struct lines *lines;
    struct timer retry;
    bool up;
    enum request asked; /* the request that is under way */
    uint32_t n_asked;   /* entries of its queue, from the first on */
    uint32_t most;      /* of a request: fewer after one that was refused, to find out why */
    struct session **add;
    uint32_t n_add, room_add;
    struct removal *remove;
    uint32_t n_remove, room_remove;
    struct change *change;
    uint32_t n_change, room_change;
};

static void *grow_one(void *array, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room)
        return array;
    *room = *room > 0 ? *room * 2 : 256;
    array = reallocarray(array, *room, size);
    if (array == NULL)
        abort();
    return array;
}

/* --- what is to be done --- */

void userplane_add(struct userplane *u, struct session *s)
{
    if (!u->up)
        return; /* the comparison after the connect finds it */
    s->asked = true;
    u->add = grow_one(u->add, u->n_add, &u->room_add, sizeof(*u->add));
    u->add[u->n_add++] = s;
}

static void remove_line(struct userplane *u, struct session *s, const char *line)
{
    struct removal r = {.s = s};

    snprintf(r.line, sizeof(r.line), "%s", line);
    u->remove = grow_one(u->remove, u->n_remove, &u->room_remove, sizeof(*u->remove));
    u->remove[u->n_remove++] = r;
}

void userplane_remove(struct userplane *u, struct session *s)
{
    char line[SESSION_LINE_TEXT];

    if (u->up)
        remove_line(u, s, session_line(s, line));
}

void userplane_set_profile(struct userplane *u, struct session *s, const char *profile,
                           void (*done)(void *ctx, struct session *s, const char *error), void *ctx)
{
    struct change c = {.s = s, .done = done, .ctx = ctx};

    if (!u->up) {
        done(ctx, s, "there is no vbng");
        return;
    }
    snprintf(c.profile, sizeof(c.profile), "%s", profile);
    u->change = grow_one(u->change, u->n_change, &u->room_change, sizeof(*u->change));
    u->change[u->n_change++] = c;
}

/* --- requests --- */

static json_t *subscriber_of(const struct session *s)
{
    char address[20], mac[20], name[sizeof(USERPLANE_NAME) + sizeof(mac)];
    json_t *o;

    format_mac(s->mac, mac, sizeof(mac));
    snprintf(name, sizeof(name), "%s%s", USERPLANE_NAME, mac);
    o = json_pack("{s:s, s:i, s:i, s:s, s:s, s:s}", "port", s->access->port, "svlan", s->svlan,
                  "cvlan", s->cvlan, "ipv4", format_ipv4(s->address, address, sizeof(address)),
                  "mac", mac, "name", name);
    if (session_profile(s) != NULL)
        json_object_set_new(o, "profile", json_string(session_profile(s)));
    return o;
}

static void ask(struct userplane *u, enum request kind, uint32_t n, json_t *request)
{
    u->asked = kind;
    u->n_asked = n;
    lines_send(u->lines, request);
    json_decref(request);
}

static void ask_page(struct userplane *u, json_int_t first)
{
    /* a blank is in every circuit */
    ask(u, REQUEST_LIST, 0,
        json_pack("{s:s, s:s, s:I, s:i}", "cmd", "find-subscribers", "text", " ", "first", first,
                  "count", PAGE));
}

static void ask_remove(struct userplane *u)
{
    uint32_t n = u->n_remove < u->most ? u->n_remove : u->most;
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(u->remove[i].line));
    ask(u, REQUEST_REMOVE, n,
        json_pack("{s:s, s:o}", "cmd", "remove-subscribers", "subscribers", list));
}

static void ask_add(struct userplane *u)
{
    uint32_t n = u->n_add < u->most ? u->n_add : u->most;
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, subscriber_of(u->add[i]));
    ask(u, REQUEST_ADD, n, json_pack("{s:s, s:o}", "cmd", "add-subscribers", "subscribers", list));
}

/* One at a time: of a list that is refused, who is to blame would have to be found out. */
static void ask_change(struct userplane *u)
{
    char line[SESSION_LINE_TEXT];

    ask(u, REQUEST_CHANGE, 1,
        json_pack("{s:s, s:s, s:s}", "cmd", "set-profile", "subscriber",
                  session_line(u->change[0].s, line), "profile", u->change[0].profile));
}

/* Sessions that have ended while they waited to be added need not be. */
static void drop_ended(struct userplane *u)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < u->n_add; i++) {
        struct session *s = u->add[i];

        if (s->state != SESSION_ENDING) {
            u->add[kept++] = s;
            continue;
        }
        s->asked = false;
        lease_gone(u->cp, s);
    }
    u->n_add = kept;
}

void userplane_flush(struct userplane *u)
{
    if (!u->up || u->asked != REQUEST_NONE)
        return;
    drop_ended(u);
    if (u->n_remove > 0) /* first: what they had may be in what is added */
        ask_remove(u);
    else if (u->n_add > 0)
        ask_add(u);
    else if (u->n_change > 0)
        ask_change(u);
}

/* --- answers --- */

static void added(struct userplane *u, struct session *s)
{
    s->asked = false;
    lease_in_userplane(u->cp, s);
    if (s->state == SESSION_ENDING) /* meanwhile, and the store knows it */
        userplane_remove(u, s);
}

static void end_of_add(struct userplane *u, const char *error)
{
    uint32_t n = u->n_asked;

    for (uint32_t i = 0; i < n; i++) {
        if (error == NULL) {
            added(u, u->add[i]);
            continue;
        }
        u->add[i]->asked = false;
        lease_refused(u->cp, u->add[i], error);
    }
    u->n_add -= n;
    memmove(u->add, u->add + n, u->n_add * sizeof(*u->add));
}

static void end_of_remove(struct userplane *u, const char *error)
{
    uint32_t n = u->n_asked;

    if (error != NULL)
        log_warning("vbng does not remove %s: %s", u->remove[0].line, error);
    for (uint32_t i = 0; i < n; i++)
        if (u->remove[i].s != NULL)
            lease_gone(u->cp, u->remove[i].s);
    u->n_remove -= n;
    memmove(u->remove, u->remove + n, u->n_remove * sizeof(*u->remove));
}

static void end_of_change(struct userplane *u, const char *error)
{
    struct change c = u->change[0];

    u->n_change--;
    memmove(u->change, u->change + 1, u->n_change * sizeof(*u->change));
    c.done(c.ctx, c.s, c.s->state == SESSION_UP ? error : "the session has ended");
}

/* A list of which an entry is wrong is refused as a whole; halves of it tell which entry that is.
 */
static void answered(struct userplane *u, enum request kind, const char *error)
{
    if (error != NULL && u->n_asked > 1) {
        u->most = u->n_asked / 2;
        return;
    }
    u->most = u->most < MOST / 2 ? u->most * 2 : MOST;
    if (kind == REQUEST_ADD)
        end_of_add(u, error);
    else if (kind == REQUEST_CHANGE)
        end_of_change(u, error);
    else
        end_of_remove(u, error);
}

/* --- the comparison after a connect --- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text != NULL ? text : "";
}

/* Is this what the user plane has to have of a session? */
static bool is_as_it_should(const struct session *s, const json_t *o)
{
    const char *own = session_profile(s), *profile = own != NULL ? own : text_of(o, "profile");
    char address[20], mac[20];

    return (s->state == SESSION_UP || s->state == SESSION_STARTING) &&
           strcmp(text_of(o, "ipv4"), format_ipv4(s->address, address, sizeof(address))) == 0 &&
           strcmp(text_of(o, "mac"), format_mac(s->mac, mac, sizeof(mac))) == 0 &&
           strcmp(text_of(o, "profile"), profile) == 0;
}

static void compare(struct userplane *u, const json_t *o)
{
    const char *port = text_of(o, "port");
    uint16_t svlan = (uint16_t)json_integer_value(json_object_get(o, "svlan")),
             cvlan = (uint16_t)json_integer_value(json_object_get(o, "cvlan"));
    const struct cp_access *a;
    struct session *s;
    char line[SESSION_LINE_TEXT];

    if (strncmp(text_of(o, "name"), USERPLANE_NAME, strlen(USERPLANE_NAME)) != 0)
        return;
    a = cp_config_access(u->cp->config, port, svlan, cvlan);
    s = a != NULL ? session_find(&u->cp->sessions, a, svlan, cvlan) : NULL;
    if (s != NULL && is_as_it_should(s, o)) {
        s->in_userplane = true;
        return;
    }
    if (s != NULL && s->state == SESSION_ENDING) {
        s->in_userplane = true;
        return;
    }
    snprintf(line, sizeof(line), "%s %u.%u", port, svlan, cvlan);
    remove_line(u, NULL, line);
}

static void forget_what_it_has(struct session *s, void *ctx)
{
    (void)ctx;
    s->in_userplane = false;
    s->asked = false;
}

/* What follows for a session from what the comparison has found. */
static void settle(struct session *s, void *ctx)
{
    struct userplane *u = ctx;

    if (s->in_turn) /* the end of the turn does it */
        return;
    if (s->state == SESSION_ENDING)
        (s->in_userplane ? userplane_remove(u, s) : lease_gone(u->cp, s));
    else if (s->in_userplane)
        lease_in_userplane(u->cp, s);
    else if (s->state == SESSION_UP || s->state == SESSION_STARTING)
        userplane_add(u, s);
}

static void listed(struct userplane *u, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "subscribers"),
                 *next = json_object_get(answer, "next");

    for (size_t i = 0; i < json_array_size(list); i++)
        compare(u, json_array_get(list, i));
    if (json_is_integer(next)) {
        ask_page(u, json_integer_value(next));
        return;
    }
    u->up = true;
    sessions_each(&u->cp->sessions, settle, u);
    log_info("compared with vbng: %u subscribers to remove, %u to add", u->n_remove, u->n_add);
}

/* --- the connection --- */

static void take_answer(void *ctx, const char *text, size_t n)
{
    struct userplane *u = ctx;
    json_t *answer = json_loadb(text, n, 0, NULL);
    const char *error = json_string_value(json_object_get(answer, "error"));
    enum request kind = u->asked;

    u->asked = REQUEST_NONE;
    if (answer == NULL || (kind == REQUEST_LIST && error != NULL)) {
        log_error("vbng's control socket: %s", error != NULL ? error : "its answer is no JSON");
        lines_close(u->lines);
    } else if (kind == REQUEST_LIST) {
        listed(u, answer);
    } else {
        answered(u, kind, error);
    }
    json_decref(answer);
}

static void try_later(struct userplane *u)
{
    timer_set(&u->cp->loop.timers, &u->retry, now_ns() + RECONNECT_NS);
}

static void lost(void *ctx)
{
    struct userplane *u = ctx;

    log_warning("vbng's control socket: the connection has ended");
    u->up = false;
    u->asked = REQUEST_NONE;
    u->n_add = 0;
    u->n_remove = 0;
    u->most = MOST;
    while (u->n_change > 0)
        end_of_change(u, "the connection to vbng has ended");
    try_later(u);
}

static void try_connect(struct timer *t, void *ctx)
{
    struct cp *cp = ctx;
    struct userplane *u = cp->userplane;

    (void)t;
    if (!lines_connect(u->lines, cp->config->control_socket)) {
        try_later(u);
        return;
    }
    sessions_each(&cp->sessions, forget_what_it_has, NULL);
    ask_page(u, 1);
}

struct userplane *userplane_open(struct cp *cp)
{
    struct userplane *u = calloc(1, sizeof(*u));

    if (u == NULL)
        return NULL;
    u->cp = cp;
    u->most = MOST;
    u->retry.fire = try_connect;
    u->lines = lines_open(&cp->loop, take_answer, lost, u);
    if (u->lines == NULL) {
        free(u);
        return NULL;
    }
    timer_set(&cp->loop.timers, &u->retry, 0);
    return u;
}

void userplane_close(struct userplane *u)
{
    while (u->n_change > 0)
        end_of_change(u, "vbng-cp ends");
    lines_free(u->lines);
    timer_stop(&u->cp->loop.timers, &u->retry);
    free(u->add);
    free(u->remove);
    free(u->change);
    free(u);
}
