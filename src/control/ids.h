/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that packets bear: ids and pipes of subscribers, ids of next hops; and those of sets of
 * next hops, in which a core may be reading. A removed number is retired: it is given out again
 * only after a grace period, when no packet bears the number (engine/quiesce.h), and, where a
 * scheduler cannot drop the packets of a pipe, after those packets have left.
 */
#ifndef CONTROL_IDS_H
#define CONTROL_IDS_H

#include "engine/quiesce.h"

struct cfg_model;
struct cfg_subscriber;
struct control;
struct loader;
struct task;
struct value;

/** Of what a number is. */
enum retired_kind { RETIRED_SUBSCRIBER, RETIRED_NEXTHOP, RETIRED_SET };

/** A number that is retired. */
struct retired {
    uint32_t id;
    enum retired_kind kind; /* of a subscriber: with his pipe */
    bool waits;             /* packets still wait in the pipe */
    uint64_t period;        /* the grace period after which it is free; set when nothing waits */
};

/** Free pipes of a scheduler: a stack for each subport of each shard. */
struct free_pipes {
    uint32_t *free; /* as many places as there are pipes; those of a stack begin where the pipes of
                       its subport and shard do */
    uint32_t *n;    /* height of the stack, by shard * n_subports + subport */
};

struct ids {
    struct quiesce grace;
    struct retired *retired; /* a ring of room, n of them from first, the oldest */
    uint32_t first, n, room;
    uint64_t freed; /* TSC at which some were freed last */
    uint32_t retired_subscribers;
    uint32_t n_subscribers;   /* in the running config */
    struct free_pipes *pipes; /* by scheduler */
    uint32_t *routes_to;      /* number of routes and sets, by next hop id */
    uint32_t *routes_to_set;  /* number of routes, by index of a set */
};

/** Number what the running config has; after the shapers are open. Returns 0 or -1. */
int ids_open(struct control *c);
void ids_close(struct control *c);

/** Retire the id and the pipe of a subscriber, who must be in no index any more, with closed pipes.
 * waits: a scheduler still holds packets of him. */
void ids_retire_subscriber(struct control *c, uint32_t id, bool waits);
/** Retire the id of a next hop, to which no route may lead any more. */
void ids_retire_nexthop(struct control *c, uint32_t id);
/** Retire the number of a set, to which no route may lead any more; before its next hops. */
void ids_retire_set(struct control *c, uint32_t number);

/** Free the numbers whose grace period has ended: few of them 10 ms after others, so that there is
 * one core call for many. Waits for nothing but the core of the arp task. */
void ids_poll(struct control *c);

/** Wait, for a second at most, until ready(c, ctx) or until no number is retired any more. Returns
 * what ready() says then. */
bool ids_wait(struct control *c, bool (*ready)(const struct control *c, const void *ctx),
              const void *ctx);

/** Wait, for a second at most, until no core uses what was taken out of the tables before. */
void ids_wait_grace(struct control *c);

/** Take a free pipe of the subport that has a subscriber's S-VLAN; there must be one. Returns
 * CFG_NONE where the subscriber's port is not shaped. */
uint32_t ids_take_pipe(struct control *c, const struct cfg_subscriber *s);

/** The number of free pipes of a subport, on all shards. */
uint32_t ids_free_pipes(const struct control *c, unsigned scheduler, uint32_t subport);

/** Free a pipe of the scheduler that shapes a port; CFG_NONE is allowed. */
void ids_return_pipe(struct control *c, uint32_t port, uint32_t pipe);

/** The number of subscribers for whom there is an id now. */
uint32_t ids_free_subscribers(const struct control *c);

/** The key of "PORT SVLAN.CVLAN" in the subscribers' by_vlan. Returns 0, -EINVAL where it is of
 * another notation, or -ENODEV where there is no such port. */
int circuit_key(const struct control *c, const char *circuit, uint32_t *key);

/** Find the id of the subscriber on a circuit, "PORT SVLAN.CVLAN". Returns 0, -EINVAL (not of that
 * form), -ENODEV (no such port) or -ENOENT (no subscriber is there). */
int subscriber_on(const struct control *c, const char *circuit, uint32_t *id);

/** Find the id of the subscriber whom a right value of KEY_SUBSCRIBER names. Returns false after an
 * error: there is no such subscriber. */
bool want_subscriber(const struct control *c, struct loader *l, const struct value *v,
                     uint32_t *id);

/** The index in ports[] of the port whose name is a text of len characters, or CFG_NONE. */
uint32_t port_named(const struct cfg_model *m, const char *text, size_t len);

/** The instance that runs the task of type arp, or CFG_NONE. */
uint32_t arp_instance(const struct control *c);

/** The arp task, or NULL, after it has taken in all new next hops (arp_tell_nexthop()): to be
 * called before neighbours are read. */
struct task *arp_settled(const struct control *c);

/** Have all schedulers taken what they were told of pipes (qos_tell_opened()): to be called before
 * others than their cores look at whose pipes are open. */
void shapers_settled(const struct control *c);

#endif
