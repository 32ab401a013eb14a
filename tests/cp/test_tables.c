/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools, timers and lines. */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

#include "cp/acct/account.h"
#include "cp/dhcp6/session6.h"
#include "cp/pool.h"
#include "cp/pppoe/session.h"
#include "cp/timer.h"

static struct session *nth(uintptr_t n)
{
    return (struct session *)(n * 64);
}

static void pools(void)
{
    struct pool p;

    CU_ASSERT_EQUAL(pool_open(&p, 0x0a000001, 0x0a000004), 0);
    CU_ASSERT(pool_take(&p, 0x0a000002, POOL_KEPT));
    CU_ASSERT_EQUAL(pool_take_any(&p, nth(1)), 0x0a000001);
    CU_ASSERT_EQUAL(pool_take_any(&p, nth(2)), 0x0a000003);
    pool_give(&p, 0x0a000001, NULL);
    CU_ASSERT_EQUAL(pool_take_any(&p, nth(3)), 0x0a000004); /* not what was just given back */
    CU_ASSERT_EQUAL(pool_take_any(&p, nth(4)), 0x0a000001);
    CU_ASSERT_EQUAL(pool_take_any(&p, nth(5)), 0);
    CU_ASSERT(!pool_take(&p, 0x0a000003, nth(5)) && !pool_take(&p, 0x0a000000, nth(5)));
    CU_ASSERT(!pool_take(&p, 0x0a000005, nth(5)) && !pool_take(&p, 0, nth(5)));
    CU_ASSERT(pool_owner(&p, 0x0a000003) == nth(2) && pool_owner(&p, 0x0a000002) == NULL);
    CU_ASSERT(pool_owner(&p, 0x0a000000) == NULL && pool_owner(&p, 0x0a000005) == NULL);
    pool_close(&p);
}

#define TIMERS 2000
static struct timer timer[TIMERS];
static uint64_t last;
static unsigned fired;

static void fire(struct timer *t, void *ctx)
{
    (void)ctx;
    EXPECT(t->at >= last && t->place == 0, "%llu after %llu", (unsigned long long)t->at,
           (unsigned long long)last);
    last = t->at;
    fired++;
    if (t == &timer[7] && t->at == 10) /* set again as it fires */
        timer_set(ctx, t, 20);
}

/* Set, moved and stopped in random order, they fire in that of their times. */
static void timers(void)
{
    struct timers ts = {.n = 0};
    unsigned left = 0;

    ts.ctx = &ts;
    srand(1);
    for (unsigned i = 0; i < TIMERS; i++)
        timer[i].fire = fire;
    for (unsigned i = 0; i < 20 * TIMERS; i++) {
        struct timer *t = &timer[rand() % TIMERS];

        if (rand() % 3 == 0)
            timer_stop(&ts, t);
        else
            timer_set(&ts, t, 100 + (uint64_t)rand() % 5000);
    }
    for (unsigned i = 0; i < TIMERS; i++)
        left += timer[i].place != 0;
    CU_ASSERT(left == ts.n && left > TIMERS / 3);
    timers_fire(&ts, 99);
    CU_ASSERT_EQUAL(fired, 0);
    timers_fire(&ts, 2000);
    CU_ASSERT(fired > 0 && timers_next(&ts) > 2000);
    timers_fire(&ts, UINT64_MAX - 1);
    CU_ASSERT_EQUAL(fired, left);
    CU_ASSERT_EQUAL(timers_next(&ts), UINT64_MAX);
    last = 0;
    timer_set(&ts, &timer[7], 10);
    timers_fire(&ts, 10);
    CU_ASSERT_EQUAL(timers_next(&ts), 20);
    timers_free(&ts);
}

/* A line that was idle for longest makes room; none that has a session does. */
static void lines(void)
{
    static const struct cp_access access[2] = {{.port = "a"}, {.port = "b"}};
    struct session *s[3];
    struct sessions t;

    CU_ASSERT_EQUAL(sessions_open(&t, 3), 0);
    for (uint16_t i = 0; i < 3; i++) {
        s[i] = session_get(&t, &access[0], 5, i);
        session_event(s[i], "event %u", i);
    }
    CU_ASSERT(session_get(&t, &access[0], 5, 1) == s[1] && t.n == 3);
    CU_ASSERT_PTR_NULL(session_find(&t, &access[1], 5, 1));
    session_set_state(&t, s[0], SESSION_OFFERED);
    session_set_state(&t, s[2], SESSION_UP);
    session_set_state(&t, s[0], SESSION_NONE); /* idle after line 1 */
    CU_ASSERT_PTR_NOT_NULL(session_get(&t, &access[1], 5, 1));
    CU_ASSERT_PTR_NULL(session_find(&t, &access[0], 5, 1));
    CU_ASSERT(session_find(&t, &access[0], 5, 0) == s[0]);
    session_set_state(&t, session_find(&t, &access[1], 5, 1), SESSION_UP);
    session_set_state(&t, s[0], SESSION_UP);
    CU_ASSERT_PTR_NULL(session_get(&t, &access[1], 5, 2));
    CU_ASSERT(t.in_state[SESSION_UP] == 3 && t.in_state[SESSION_NONE] == 0);
    sessions_close(&t);
}

static unsigned named(const struct names *t, enum name_kind kind, const char *text)
{
    unsigned n = 0;

    for (const struct name *m = names_find(t, kind, text, strlen(text)); m; m = names_next(m))
        n++;
    return n;
}

/* Several may have one name; texts of different kinds are no names of each other. */
static void names(void)
{
    struct name n[64];
    struct session s;
    struct names t;
    char text[20];

    CU_ASSERT_EQUAL(names_open(&t, 4), 0);
    for (unsigned i = 0; i < 64; i++) {
        snprintf(text, sizeof(text), "user %u", i / 2);
        names_add(&t, &n[i], &s, NAME_USER, text, strlen(text));
    }
    CU_ASSERT(named(&t, NAME_USER, "user 7") == 2 && named(&t, NAME_USER, "user 32") == 0);
    CU_ASSERT_EQUAL(named(&t, NAME_ID, "user 7"), 0);
    CU_ASSERT_PTR_EQUAL(names_find(&t, NAME_USER, "user 7", 6)->session, &s);
    for (unsigned i = 0; i < 64; i += 3)
        names_remove(&t, &n[i]);
    CU_ASSERT(named(&t, NAME_USER, "user 7") == 1 && named(&t, NAME_USER, "user 0") == 1);
    CU_ASSERT_EQUAL(named(&t, NAME_USER, "user 8"), 2);
    names_close(&t);
}

/* The last events stay, in the room of their texts. */
static void events(void)
{
    struct session s = {.events = NULL};
    struct event e[EVENTS_KEPT];

    CU_ASSERT_EQUAL(events_list(s.events, e), 0);
    session_event(&s, "short");
    CU_ASSERT(events_list(s.events, e) == 1 && strcmp(e[0].text, "short") == 0);
    CU_ASSERT_EQUAL(s.events->bytes, sizeof(e[0].time_ms) + sizeof("short"));
    for (unsigned i = 0; i < EVENTS_KEPT + 3; i++)
        session_event(&s, "event %u %200s", i, "long");
    CU_ASSERT_EQUAL(events_list(s.events, e), EVENTS_KEPT);
    CU_ASSERT(strncmp(e[0].text, "event 3 ", 8) == 0);
    CU_ASSERT(strncmp(e[EVENTS_KEPT - 1].text, "event 10 ", 9) == 0);
    CU_ASSERT(strlen(e[0].text) == EVENT_TEXT - 1);
    CU_ASSERT(e[0].time_ms > 1600000000000 && e[0].time_ms <= e[EVENTS_KEPT - 1].time_ms);
    CU_ASSERT_EQUAL(s.events->bytes, EVENTS_KEPT * (sizeof(e[0].time_ms) + EVENT_TEXT));
    free(s.events);
}

/* A session of PPPoE with both families and accounting takes less than 2 KiB, with some 700 bytes
 * of texts and what malloc() and the tables need beside (tests/growth/sessions.py). */
static void room(void)
{
    CU_ASSERT(sizeof(struct session) <= 180);
    CU_ASSERT(sizeof(struct session) + sizeof(struct pppoe_session) + sizeof(struct session6) +
                  sizeof(struct service) + sizeof(struct account) <=
              1128);
}

static const struct test tests[] = {
    {"pools", pools},   {"timers", timers}, {"lines", lines}, {"names", names},
    {"events", events}, {"room", room},     {NULL, NULL},
};

const struct test_program test_program = {"tables", tests, NULL, NULL};
