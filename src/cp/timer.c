/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/timer.h"

#include <stdlib.h>

/* heap[place - 1] is the timer; that of place / 2 fires no later. */

static void put(struct timers *ts, uint32_t place, struct timer *t)
{
    ts->heap[place - 1] = t;
    t->place = place;
}

/* Put a timer where it belongs, beginning at a place that is free. */
static void sift(struct timers *ts, uint32_t place, struct timer *t)
{
    while (place > 1 && ts->heap[place / 2 - 1]->at > t->at) {
        put(ts, place, ts->heap[place / 2 - 1]);
        place /= 2;
    }
    for (uint32_t child = place * 2; child <= ts->n; child = place * 2) {
        if (child < ts->n && ts->heap[child]->at < ts->heap[child - 1]->at)
            child++;
        if (ts->heap[child - 1]->at >= t->at)
            break;
        put(ts, place, ts->heap[child - 1]);
        place = child;
    }
    put(ts, place, t);
}

void timer_set(struct timers *ts, struct timer *t, uint64_t at)
{
    timer_stop(ts, t);
    t->at = at;
    if (ts->n == ts->room) {
        ts->room = ts->room > 0 ? ts->room * 2 : 1024;
        ts->heap = reallocarray(ts->heap, ts->room, sizeof(struct timer *));
        if (ts->heap == NULL)
            abort();
    }
    ts->n++;
    sift(ts, ts->n, t);
}

void timer_stop(struct timers *ts, struct timer *t)
{
    uint32_t place = t->place;
    struct timer *last;

    if (place == 0)
        return;
    t->place = 0;
    last = ts->heap[--ts->n];
    if (last != t)
        sift(ts, place, last);
}

uint64_t timers_next(const struct timers *ts)
{
    return ts->n > 0 ? ts->heap[0]->at : UINT64_MAX;
}

void timers_fire(struct timers *ts, uint64_t now)
{
    while (timers_next(ts) <= now) {
        struct timer *t = ts->heap[0];

        timer_stop(ts, t);
        t->fire(t, ts->ctx);
    }
}

void timers_free(struct timers *ts)
{
    free(ts->heap);
    *ts = (struct timers){0};
}
