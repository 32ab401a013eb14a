/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/acct/acct.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cp/acct/account.h"
#include "cp/store.h"
#include "cp/userplane/userplane.h"

#define MOST_OVER 100000 /* accounts of sessions that are over, which no server has taken */
#define AGAIN_NS  NS_PER_S
#define US_PER_S  1000000

struct acct {
    struct cp *cp;
    struct radius *radius;
    struct timer count;       /* the user plane's counters are asked for */
    struct timer again;       /* there is something for the store, and no other reason for a turn */
    struct account **account; /* all, in no order */
    uint32_t n, room, n_over;
    struct account **dirty; /* those that the store does not have so */
    uint32_t n_dirty, room_dirty;
};

static struct account **grow_one(struct account **list, uint32_t n, uint32_t *room)
{
    if (n < *room)
        return list;
    *room = *room > 0 ? *room * 2 : 256;
    list = reallocarray(list, *room, sizeof(struct account *));
    if (list == NULL)
        abort();
    return list;
}

static void mark(struct account *a)
{
    struct acct *o = a->owner;

    if (a->dirty)
        return;
    a->dirty = true;
    o->dirty = grow_one(o->dirty, o->n_dirty, &o->room_dirty);
    o->dirty[o->n_dirty++] = a;
    if (o->again.place == 0)
        timer_set(&o->cp->loop.timers, &o->again, now_ns());
}

static void add(struct acct *o, struct account *a)
{
    o->account = grow_one(o->account, o->n, &o->room);
    a->owner = o;
    a->place = o->n;
    o->account[o->n++] = a;
}

/* --- what happens to sessions --- */

static uint32_t interim_s(const struct cp *cp, const struct session *s)
{
    return s->service->interim_s != 0 ? s->service->interim_s
                                      : (uint32_t)(cp->config->radius->interim_ns / NS_PER_S);
}

static void plan_interim(const struct cp *cp, struct account *a, const struct session *s)
{
    uint32_t interval = interim_s(cp, s);

    a->next_interim = interval > 0 ? wall_seconds() + interval : 0;
}

void acct_start(struct cp *cp, struct session *s)
{
    struct account *a = s->account;

    if (cp->acct == NULL || s->service == NULL)
        return;
    if (a != NULL) {
        account_refresh(a, s);
        return;
    }
    a = account_new(s);
    if (a == NULL)
        abort();
    a->begun = wall_seconds();
    a->session = s;
    s->account = a;
    add(cp->acct, a);
    plan_interim(cp, a, s);
    mark(a);
}

void acct_stop(struct cp *cp, struct session *s, enum radius_cause cause)
{
    struct account *a = s->account;

    if (cp->acct == NULL || a == NULL)
        return;
    account_refresh(a, s);
    a->ended = wall_seconds();
    a->cause = (uint8_t)cause;
    account_forget_interim(a);
    mark(a);
}

/* Nothing is counted any more: the stop can be sent, as of when the session ended. */
static void finish(struct account *a)
{
    a->final = true;
    a->session = NULL;
    if (++a->owner->n_over > MOST_OVER) {
        log_error("accounting: no room for more records: the end of session %s is lost", a->id);
        a->taken = true;
    }
    mark(a);
}

void acct_gone(struct cp *cp, struct session *s)
{
    struct account *a = s->account;

    if (cp->acct == NULL || a == NULL)
        return;
    s->account = NULL;
    finish(a);
}

void acct_count(struct cp *cp, struct session *s, const json_t *row)
{
    struct account *a = s->account;

    if (cp->acct == NULL || a == NULL || !json_is_array(row))
        return;
    if (account_count(a, row))
        mark(a);
    if (a->ended != 0 || a->next_interim == 0 || wall_seconds() < a->next_interim)
        return;
    account_refresh(a, s);
    account_set_interim(a, wall_seconds());
    plan_interim(cp, a, s);
    mark(a);
}

/* Nobody of before the session was counted from when RADIUS had let it in. */
static bool is_of_session(const struct account *a, const json_t *row)
{
    uint64_t since = account_since(row);

    return since >= a->since && since / US_PER_S >= (uint64_t)a->session->service->begun;
}

void acct_count_last(struct cp *cp, struct session *s, const json_t *row, bool again)
{
    struct account *a = s->account;

    if (cp->acct == NULL || a == NULL || !json_is_array(row) || (again && !is_of_session(a, row)))
        return;
    account_count(a, row);
    mark(a);
}

/* The account of a session that has ended, but not in the user plane, before this program did. */
static struct account *left_on(const struct acct *o, const char *line)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (o->account[i]->session == NULL && !o->account[i]->final &&
            strcmp(account_line(o->account[i]), line) == 0)
            return o->account[i];
    return NULL;
}

void acct_count_line(struct cp *cp, const char *line, const json_t *row)
{
    struct account *a = cp->acct != NULL ? left_on(cp->acct, line) : NULL;

    if (a == NULL)
        return;
    if (account_since(row) >= a->since)
        account_count(a, row);
    finish(a);
}

void acct_settle(struct cp *cp, void (*ask)(void *ctx, const char *line), void *ctx)
{
    for (uint32_t i = 0; cp->acct != NULL && i < cp->acct->n; i++) {
        const struct account *a = cp->acct->account[i];

        if (a->session == NULL && !a->final)
            ask(ctx, account_line(a));
    }
}

/* --- records --- */

static void answered(void *ctx, const struct radius_answer *answer)
{
    struct account *a = ctx;

    a->request = NULL;
    if (answer->outcome == RADIUS_ACCEPTED && a->asked == RADIUS_START)
        a->started = true;
    else if (answer->outcome == RADIUS_ACCEPTED && a->asked == RADIUS_INTERIM)
        account_forget_interim(a);
    else if (answer->outcome == RADIUS_ACCEPTED)
        a->taken = true;
    mark(a);
}

static struct radius_volume volume(const uint64_t counter[ACCOUNT_COUNTERS], unsigned family)
{
    const uint64_t *in = counter + 2 * family, *out = in + ACCOUNT_COUNTERS / 2;

    return (struct radius_volume){
        .packets_in = in[0], .octets_in = in[1], .packets_out = out[0], .octets_out = out[1]};
}

/* counter: NULL for none. */
static void ask(struct account *a, enum radius_status status, const uint64_t *counter,
                int64_t time_s)
{
    char mac[20];
    struct radius_user user = {.port_type = a->ppp ? RADIUS_PORT_PPPOE_QINQ : RADIUS_PORT_ETHERNET,
                               .name = radius_octets(account_name(a), strlen(account_name(a))),
                               .session = radius_octets(a->id, strlen(a->id)),
                               .line = radius_octets(account_line(a), strlen(account_line(a))),
                               .ipv4 = a->ipv4,
                               .ipv6 = line_prefixes_all(&a->ipv6)};
    struct radius_record record = {.status = status,
                                   .classes = radius_octets(a->classes, a->n_classes),
                                   .time_s = (uint64_t)time_s};

    format_mac(a->mac, mac, sizeof(mac));
    user.station = radius_octets(mac, strlen(mac));
    user.circuit = user.line;
    if (counter != NULL) {
        record.session_s = time_s > a->begun ? (uint32_t)(time_s - a->begun) : 0;
        record.ipv4 = volume(counter, 0);
        record.ipv6 = volume(counter, 1);
        record.cause = status == RADIUS_STOP ? a->cause : RADIUS_CAUSE_NONE;
    }
    a->asked = (uint8_t)status;
    /* None of these values is too long for its attribute. */
    a->request = radius_account(a->owner->radius, &user, &record, answered, a);
}

/* Send what comes next, in order; a start is taken before anything follows. A newer record than
 * the interim one that no server has taken yet takes its place. */
static void send_next(struct account *a)
{
    uint64_t sum[ACCOUNT_COUNTERS];

    if (a->request != NULL && a->asked != RADIUS_INTERIM)
        return;
    if (a->request != NULL)
        radius_cancel(a->request);
    a->request = NULL;
    if (!a->started)
        ask(a, RADIUS_START, NULL, a->begun);
    else if (a->ended != 0 && a->final)
        ask(a, RADIUS_STOP, account_sums(a, sum), a->ended);
    else if (a->interim != NULL)
        ask(a, RADIUS_INTERIM, a->interim->counter, a->interim->time_s);
}

static void forget(struct account *a)
{
    struct acct *o = a->owner;
    struct account *last = o->account[--o->n];

    if (a->request != NULL)
        radius_cancel(a->request);
    o->n_over -= a->final;
    o->account[a->place] = last;
    last->place = a->place;
    account_free(a);
}

/* --- the end of a turn --- */

void acct_write(struct cp *cp)
{
    for (uint32_t i = 0; cp->acct != NULL && i < cp->acct->n_dirty; i++) {
        const struct account *a = cp->acct->dirty[i];
        char *text = a->taken ? NULL : account_text(a);

        store_set_account(cp->store, a->id, text);
        free(text);
    }
}

bool acct_send(struct cp *cp, bool committed)
{
    struct acct *o = cp->acct;
    uint32_t n = o != NULL ? o->n_dirty : 0;

    if (n > 0 && !committed)
        timer_set(&cp->loop.timers, &o->again, now_ns() + AGAIN_NS);
    for (uint32_t i = 0; committed && i < n; i++) {
        struct account *a = o->dirty[i];

        a->dirty = false;
        if (a->taken)
            forget(a);
        else
            send_next(a);
    }
    if (committed && n > 0) {
        timer_stop(&cp->loop.timers, &o->again);
        o->n_dirty = 0;
    }
    return n > 0;
}

/* --- opening --- */

static void fire_again(struct timer *t, void *ctx)
{
    (void)t; /* the end of this turn does all */
    (void)ctx;
}

static void fire_count(struct timer *t, void *ctx)
{
    struct cp *cp = ctx;

    userplane_count(cp->userplane);
    timer_set(&cp->loop.timers, t, now_ns() + cp->config->radius->count_ns);
}

static void load(const char *text, void *ctx)
{
    struct acct *o = ctx;
    struct account *a = account_parse(text);

    if (a == NULL) {
        log_error("accounting: the store has an account that cannot be read: %s", text);
        return;
    }
    add(o, a);
    o->n_over += a->final;
    mark(a); /* what no server has taken is sent */
}

static int by_id(const void *pa, const void *pb)
{
    const struct account *const *a = pa, *const *b = pb;

    return strcmp((*a)->id, (*b)->id);
}

static void attach(struct session *s, void *ctx)
{
    struct acct *o = ctx;
    struct account key, *k = &key, **found;

    if (s->service == NULL || (s->state != SESSION_UP && s->state != SESSION_STARTING))
        return;
    memcpy(key.id, s->service->id, sizeof(key.id));
    found = bsearch(&k, o->account, o->n, sizeof(struct account *), by_id);
    if (found == NULL || (*found)->ended != 0)
        return;
    s->account = *found;
    (*found)->session = s;
    plan_interim(o->cp, *found, s);
}

/* A session of which the store has the account but not the end is over all the same. */
static void end_lost(struct acct *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct account *a = o->account[i];

        if (a->session != NULL || a->ended != 0)
            continue;
        a->ended = wall_seconds();
        a->cause = RADIUS_CAUSE_NAS_ERROR;
    }
}

static void on_taken(void *ctx, const struct radius_answer *answer)
{
    (void)ctx;
    (void)answer;
}

/* Whatever a server knows of sessions here is of before: there are none. */
static void say_on(const struct acct *o)
{
    struct radius_record record = {.status = RADIUS_ON, .time_s = (uint64_t)wall_seconds()};

    radius_account(o->radius, NULL, &record, on_taken, NULL);
}

struct acct *acct_open(struct cp *cp, struct radius *radius)
{
    struct acct *o = calloc(1, sizeof(*o));

    if (o == NULL)
        return NULL;
    o->cp = cp;
    o->radius = radius;
    o->count.fire = fire_count;
    o->again.fire = fire_again;
    if (!store_each_account(cp->store, load, o)) {
        acct_close(o);
        return NULL;
    }
    if (o->n > 0) {
        qsort(o->account, o->n, sizeof(struct account *), by_id);
        for (uint32_t i = 0; i < o->n; i++)
            o->account[i]->place = i;
        sessions_each(&cp->sessions, attach, o);
    }
    end_lost(o);
    if (o->n == 0 && cp->sessions.in_state[SESSION_UP] == 0)
        say_on(o);
    timer_set(&cp->loop.timers, &o->count, now_ns() + cp->config->radius->count_ns);
    return o;
}

void acct_close(struct acct *o)
{
    timer_stop(&o->cp->loop.timers, &o->count);
    timer_stop(&o->cp->loop.timers, &o->again);
    while (o->n > 0)
        forget(o->account[o->n - 1]);
    free(o->account);
    free(o->dirty);
    free(o);
}
