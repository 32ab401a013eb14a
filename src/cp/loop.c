/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/loop.h"

#include <errno.h>
#include <time.h>

uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int64_t wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

int loop_add(struct loop *l, struct watch *w)
{
    if (l->n == LOOP_MAX_WATCHES)
        return -ENOSPC;
    l->watch[l->n++] = w;
    return 0;
}

void loop_remove(struct loop *l, struct watch *w)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->watch[i] == w)
            l->watch[i] = NULL;
}

static void forget_removed(struct loop *l)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < l->n; i++)
        if (l->watch[i] != NULL)
            l->watch[kept++] = l->watch[i];
    l->n = kept;
}

/* Wait until a descriptor is ready or the next timer is due; the crowd's are the last. */
static int wait(struct loop *l, struct pollfd *p)
{
    uint64_t at = timers_next(&l->timers), now = now_ns(), left = at > now ? at - now : 0;
    unsigned n = l->n;
    struct timespec t;

    for (unsigned i = 0; i < n; i++)
        p[i] = (struct pollfd){.fd = l->watch[i]->fd, .events = l->watch[i]->events};
    if (l->crowd != NULL) {
        if (l->crowd->prepare(p + n, l->ctx))
            at = left = 0;
        n += l->crowd->n;
    }
    t = (struct timespec){.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S)};
    return ppoll(p, n, at != UINT64_MAX ? &t : NULL, &l->during_wait) < 0 ? -errno : 0;
}

int loop_turn(struct loop *l)
{
    struct pollfd p[LOOP_MAX_WATCHES + LOOP_MAX_CROWD];
    unsigned n;
    int rc;

    forget_removed(l);
    n = l->n;
    rc = wait(l, p);
    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < n; i++)
        if (p[i].revents != 0 && l->watch[i] != NULL)
            l->watch[i]->ready(l->watch[i], p[i].revents, l->ctx);
    if (l->crowd != NULL)
        l->crowd->serve(p + n, l->ctx);
    timers_fire(&l->timers, now_ns());
    l->end_turn(l->ctx);
    return 0;
}
