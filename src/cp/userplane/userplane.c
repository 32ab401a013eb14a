/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/userplane/userplane.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/acct/acct.h"
#include "cp/lease.h"
#include "cp/lines.h"
#include "cp/userplane/entry.h"
#include "cp/userplane/ids.h"
#include "cp/userplane/removals.h"

#define RECONNECT_NS (NS_PER_S / 10)
#define MOST         2000 /* subscribers in a request: a line of 1 MiB holds them */
#define PAGE         1000 /* subscribers in an answer */

/* A subscriber who is to have another profile. */
struct change {
    struct session *s;
    char profile[SERVICE_PROFILE];
    void (*done)(void *ctx, struct session *s, const char *error);
    void *ctx;
};

enum request {
    REQUEST_NONE,
    REQUEST_LIST,
    REQUEST_REMOVE,
    REQUEST_PUT,
    REQUEST_CHANGE,
    REQUEST_COUNT
};

struct userplane {
    struct cp *cp;
    struct lines *lines;
    struct timer retry;
    bool up;
    enum request asked; /* the request that is under way */
    uint32_t n_asked;   /* entries of its queue, from the first on */
    struct session **put;
    uint32_t n_put, room_put;
    struct removals remove;
    struct change *change;
    uint32_t n_change, room_change;
    json_int_t count_from; /* id from which on counters are to be read; 0: none are */
    bool counts;           /* the user plane counts, as far as is known */
    struct session_ids ids;
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

void userplane_put(struct userplane *u, struct session *s)
{
    s->stale = true;
    if (!u->up || s->asked)
        return; /* the comparison after the connect finds it; or its turn in the queue does */
    s->asked = true;
    u->put = grow_one(u->put, u->n_put, &u->room_put, sizeof(*u->put));
    u->put[u->n_put++] = s;
}

static void remove_session(struct userplane *u, struct session *s, bool again)
{
    char line[SESSION_LINE_TEXT];

    removals_add(&u->remove, s, session_line(s, line), again);
    s->asked = true;
}

void userplane_remove(struct userplane *u, struct session *s)
{
    if (u->up && !s->asked)
        remove_session(u, s, false);
}

void userplane_count(struct userplane *u)
{
    if (u->up && u->count_from == 0)
        u->count_from = 1;
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

static void ask(struct userplane *u, enum request kind, uint32_t n, json_t *request)
{
    u->asked = kind;
    u->n_asked = n;
    lines_send(u->lines, request);
    json_decref(request);
}

static void ask_page(struct userplane *u, json_int_t first)
{
    ask(u, REQUEST_LIST, 0,
        json_pack("{s:s, s:I, s:i}", "cmd", "list-subscribers", "first", first, "count", PAGE));
}

static uint32_t at_most(uint32_t n)
{
    return n < MOST ? n : MOST;
}

static void ask_remove(struct userplane *u)
{
    uint32_t n = at_most(u->remove.n);

    ask(u, REQUEST_REMOVE, n,
        json_pack("{s:s, s:b, s:b, s:o}", "cmd", "remove-subscribers", "if_there", 1, "octets",
                  u->cp->acct != NULL, "subscribers", removals_json(&u->remove, n)));
}

static void ask_put(struct userplane *u)
{
    uint32_t n = at_most(u->n_put);
    json_t *list = json_array();

    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(list, session_entry(u->put[i]));
        u->put[i]->stale = false;
    }
    ask(u, REQUEST_PUT, n, json_pack("{s:s, s:o}", "cmd", "put-subscribers", "subscribers", list));
}

/* One at a time: RADIUS is told of each whether it was done. */
static void ask_change(struct userplane *u)
{
    char line[SESSION_LINE_TEXT];

    ask(u, REQUEST_CHANGE, 1,
        json_pack("{s:s, s:s, s:s}", "cmd", "set-profile", "subscriber",
                  session_line(u->change[0].s, line), "profile", u->change[0].profile));
}

static void ask_count(struct userplane *u)
{
    ask(u, REQUEST_COUNT, 0,
        json_pack("{s:s, s:I, s:i}", "cmd", "subscriber-octets", "first", u->count_from, "count",
                  PAGE));
}

/* Sessions that have ended while they waited to be put need not be. */
static void drop_ended(struct userplane *u)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < u->n_put; i++) {
        struct session *s = u->put[i];

        if (s->state != SESSION_ENDING) {
            u->put[kept++] = s;
            continue;
        }
        s->asked = false;
        lease_go_on(u->cp, s);
    }
    u->n_put = kept;
}

void userplane_flush(struct userplane *u)
{
    if (!u->up || u->asked != REQUEST_NONE)
        return;
    drop_ended(u);
    if (u->remove.n > 0) /* first: what they had may be in what is added */
        ask_remove(u);
    else if (u->n_put > 0)
        ask_put(u);
    else if (u->n_change > 0)
        ask_change(u);
    else if (u->count_from != 0)
        ask_count(u);
}

/* --- answers --- */

static void end_of_entry(struct userplane *u, struct session *s, const json_t *result,
                         const char *error)
{
    const char *was = entry_text(result, "was");
    bool different = strcmp(was, "different") == 0;

    s->asked = false;
    if (error == NULL && strcmp(was, "refused") == 0)
        error = entry_text(result, "error");
    if (error != NULL) {
        lease_refused(u->cp, s, error);
    } else if (different && s->state != SESSION_ENDING) {
        remove_session(u, s, false); /* whom the user plane cannot change is put anew */
    } else {
        s->in_userplane = true;
        ids_set(&u->ids, s, id_in(result));
        lease_go_on(u->cp, s);
    }
}

/* What is put meanwhile stands behind those that were asked for. */
static void end_of_put(struct userplane *u, const json_t *answer, const char *error)
{
    const json_t *results = json_object_get(answer, "results");
    uint32_t n = u->n_asked;

    for (uint32_t i = 0; i < n; i++)
        end_of_entry(u, u->put[i], json_array_get(results, i), error);
    u->n_put -= n;
    memmove(u->put, u->put + n, u->n_put * sizeof(*u->put));
}

/* Finish a removal. Where the session goes on, the subscriber is added again once the store has the
 * last counters. */
static void end_of_removal(struct userplane *u, const struct removal *r, const json_t *octets)
{
    struct session *s = r->s;

    if (s == NULL) {
        acct_count_line(u->cp, r->line, octets);
        return;
    }
    acct_count_last(u->cp, s, octets, r->again);
    ids_set(&u->ids, s, 0);
    s->asked = false;
    lease_gone(u->cp, s);
    lease_go_on(u->cp, s);
}

static void end_of_remove(struct userplane *u, const json_t *answer, const char *error)
{
    const json_t *octets = json_object_get(answer, "octets");

    if (error != NULL)
        log_warning("vbng does not remove %s: %s", u->remove.removal[0].line, error);
    for (uint32_t i = 0; i < u->n_asked; i++)
        end_of_removal(u, &u->remove.removal[i], json_array_get(octets, i));
    removals_drop(&u->remove, u->n_asked);
}

static void end_of_change(struct userplane *u, const char *error)
{
    struct change c = u->change[0];

    u->n_change--;
    memmove(u->change, u->change + 1, u->n_change * sizeof(*u->change));
    c.done(c.ctx, c.s, c.s->state == SESSION_UP ? error : "the session has ended");
}

static void counted(struct userplane *u, const json_t *answer, const char *error)
{
    const json_t *list = json_object_get(answer, "octets"), *next = json_object_get(answer, "next");

    if (error != NULL && u->counts)
        log_warning("vbng's counters: %s: records say 0", error);
    u->counts = error == NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        struct session *s = ids_find(&u->ids, json_integer_value(json_array_get(row, 0)));

        if (s != NULL)
            acct_count(u->cp, s, row);
    }
    u->count_from = json_integer_value(next);
}

static void answered(struct userplane *u, enum request kind, const json_t *answer,
                     const char *error)
{
    if (kind == REQUEST_PUT)
        end_of_put(u, answer, error);
    else if (kind == REQUEST_COUNT)
        counted(u, answer, error);
    else if (kind == REQUEST_CHANGE)
        end_of_change(u, error);
    else
        end_of_remove(u, answer, error);
}

/* --- the comparison after a connect --- */

/* Who has an address that he is not to have is removed, before another is to have it; who has
 * nothing but that is put over. What was counted is the session's, if that has an account already:
 * else it is of one before. */
static void compare(struct userplane *u, const json_t *o)
{
    struct session *s = entry_session(u->cp, o);
    char line[SESSION_LINE_TEXT];
    json_t *entry;

    if (!userplane_own(entry_text(o, "name"))) {
        if (s != NULL)
            s->others = true;
        return;
    }
    entry = s != NULL ? session_entry(s) : NULL;
    if (s != NULL && (s->state == SESSION_ENDING || !entry_lacks_address(entry, o))) {
        s->in_userplane = true;
        ids_set(&u->ids, s, id_in(o));
        s->stale = !entry_is_there(entry, o);
    } else if (s != NULL && s->account != NULL) {
        remove_session(u, s, false);
    } else {
        removals_add(&u->remove, NULL, entry_line(o, line), false);
    }
    json_decref(entry);
}

static void forget_what_it_has(struct session *s, void *ctx)
{
    (void)ctx;
    s->in_userplane = false;
    s->subscriber = 0;
    s->stale = false;
    s->asked = false;
    s->others = false;
}

/* What follows for a session from what the comparison has found. One that was counted, and is not
 * there, may have been removed without this program hearing of his last counters. */
static void settle(struct session *s, void *ctx)
{
    struct userplane *u = ctx;

    if (s->account != NULL && !s->in_userplane && !s->asked && !s->others)
        remove_session(u, s, true);
    else
        lease_go_on(u->cp, s);
}

/* Have a subscriber removed whom an earlier run of this program has had removed, or is about to
 * have: the answer has his last counters. Who has the line now is put then. */
static void remove_again(void *ctx, const char *line)
{
    struct userplane *u = ctx;
    struct session *s = session_of_line(&u->cp->sessions, u->cp->config, line);

    if (removals_have(&u->remove, line))
        return;
    if (s != NULL)
        s->in_userplane = false;
    removals_add(&u->remove, NULL, line, true);
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
    acct_settle(u->cp, remove_again, u);
    sessions_each(&u->cp->sessions, settle, u);
    log_info("compared with vbng: %u subscribers to remove, %u to put", removals_there(&u->remove),
             u->n_put + removals_go_on(&u->remove));
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
        answered(u, kind, answer, error);
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
    u->n_put = 0;
    u->remove.n = 0;
    u->count_from = 0;
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
    ids_clear(&u->ids);
    ask_page(u, 1);
}

struct userplane *userplane_open(struct cp *cp)
{
    struct userplane *u = calloc(1, sizeof(*u));

    if (u == NULL)
        return NULL;
    u->cp = cp;
    u->counts = true;
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
    free(u->put);
    removals_close(&u->remove);
    free(u->change);
    ids_close(&u->ids);
    free(u);
}
