/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of vbng-cp's one thread: descriptors, timers, and what is done at the end of each turn
 * with all that the turn has gathered. */
#ifndef CP_LOOP_H
#define CP_LOOP_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "cp/timer.h"

#define LOOP_MAX_WATCHES 64
#define LOOP_MAX_CROWD   64

/** A descriptor that is waited for; a member of what it belongs to. */
struct watch {
    int fd;
    short events; /* of poll(2); may be changed at any time */
    void (*ready)(struct watch *w, short revents, void *ctx);
};

/** Descriptors that come and go by themselves: those of a server's clients. */
struct crowd {
    unsigned n; /* at most LOOP_MAX_CROWD */
    /** Fill p with all n that are to be waited for; fd -1: none. Returns whether nobody shall wait.
     */
    bool (*prepare)(struct pollfd *p, void *ctx);
    void (*serve)(const struct pollfd *p, void *ctx);
};

/** Begins as zeros, but for end_turn, ctx and during_wait. */
struct loop {
    struct timers timers;
    struct watch *watch[LOOP_MAX_WATCHES]; /* NULL: removed in this turn */
    unsigned n;
    const struct crowd *crowd; /* or NULL */
    void (*end_turn)(void *ctx);
    void *ctx;            /* given to all of them */
    sigset_t during_wait; /* signals that are blocked then: other calls are not interrupted */
};

/** Wait for a descriptor, until loop_remove(). Returns 0, or -ENOSPC beyond LOOP_MAX_WATCHES. */
int loop_add(struct loop *l, struct watch *w);
void loop_remove(struct loop *l, struct watch *w);

/** One turn: wait for a descriptor, a timer or a signal, and do what is to be done. Returns 0 or
 * -errno. */
int loop_turn(struct loop *l);

/** Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/** Seconds of CLOCK_REALTIME, in which leases are stored. */
int64_t wall_seconds(void);

#define NS_PER_S UINT64_C(1000000000)

#endif
