/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that packets bear: ids of subscribers, their pipes, ids of next hops. What is taken out
 * of use rests until no packet bears it (engine/grace.h), and until a scheduler that cannot drop
 * what waits in a pipe has sent it. Only then it is given to somebody else.
 */
#ifndef CONTROL_IDS_H
#define CONTROL_IDS_H

#include "engine/grace.h"

struct control;
struct refusal;

/** One that rests. */
struct resting {
    uint32_t id;
    bool nexthop;    /* else a subscriber */
    bool waits;      /* in a scheduler */
    uint64_t period; /* of grace, after which it is free; once nothing waits */
};

/** Pipes of a scheduler that are nobody's: a stack for each subport, free[subport * size ...]. */
struct free_pipes {
    uint32_t *free;
    uint32_t *n; /* by subport */
};

struct ids {
    struct grace grace;
    struct resting *resting; /* a queue; the oldest is first */
    uint32_t first, n, room;
    uint32_t resting_subscribers;
    uint32_t n_subscribers;   /* that are there */
    struct free_pipes *pipes; /* by scheduler */
    uint32_t *routes_to;      /* by next hop id */
};

/** After the model and the shapers. Returns 0 or -1. */
int ids_open(struct control *c);
void ids_close(struct control *c);

/** To rest from now on. A subscriber is in no index any more, and his pipes are closed; waits: a
 * scheduler still holds packets of them. */
void ids_rest_subscriber(struct control *c, uint32_t id, bool waits);
void ids_rest_nexthop(struct control *c, uint32_t id);

/** Give back what has rested. Does not wait for anything but the arp task's core. */
void ids_poll(struct control *c);

/**
 * Wait, for a second at most, until ready(ctx) or until nothing rests any more. Returns what
 * ready() says then.
 */
bool ids_wait(struct control *c, bool (*ready)(const struct control *c, const void *ctx),
              const void *ctx);

/** The instance that runs the arp task, or CFG_NONE. */
uint32_t arp_instance(const struct control *c);

#endif
