/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control may ask of the arp task: what it has learned, to be shown and to be kept over a
 * restart, and changes of subscribers and next hops while it runs.
 */
#ifndef TASKS_ARP_ARP_H
#define TASKS_ARP_ARP_H

#include "base/ring/slots.h"
#include "engine/task.h"
#include "packet/punt.h"
#include "tables/tables.h"

struct arp_learned {
    uint8_t mac[6];
    uint32_t address;     /* IPv4 address that it belongs to, host order; */
    struct ipv6 address6; /* where that is 0, the IPv6 address */
    uint32_t age;         /* seconds since then */
};

extern const struct task_type task_arp;

/** A message on its way to the control plane, or from there. */
struct arp_message {
    uint64_t tsc;   /* when the task had the frame, of a message to the control plane */
    uint32_t bytes; /* of the message, which is cut off where it is longer than there is room */
    uint8_t message[PUNT_MESSAGE_MOST] __attribute__((aligned(8)));
};

/** What the task and the thread that speaks to the control plane share. */
struct arp_control {
    struct slots *out, *in;       /* of struct arp_message: to the control plane, and from there */
    uint32_t listens;             /* written by that thread: somebody takes what is put into out */
    uint64_t lost;                /* the same: messages in out that nobody took any more */
    struct source_limit renewals; /* of the task: lines, by what came through routes */
};

/** What a task of type arp shares with the thread that speaks to the control plane; NULL: the
 * configuration has no punt_socket. */
struct arp_control *arp_control(const struct task *t);

/** Is it of type arp? A gateway has one instance at most. */
bool arp_is(const struct task *t);

/** How many neighbours a subscriber (id from 1, which must be in use) may have: a CPE, or hosts;
 * and what was learned of number i. Returns false where nothing was. By any thread. */
unsigned arp_n_of_subscriber(const struct task *t, uint32_t id);
bool arp_of_subscriber(const struct task *t, uint32_t id, unsigned i, struct arp_learned *out);

/** Number of places for neighbours towards the core, and what was learned of the one in number i;
 * returns false where nothing was, with its port and both addresses set all the same: to 0 and ::
 * where the place is free. By any thread but while next hops are added and forgotten, or there
 * are news of them. */
uint32_t arp_n_neighbours(const struct task *t);
bool arp_of_neighbour(const struct task *t, uint32_t i, uint8_t *port, struct arp_learned *out);

/*
 * Give back what was learned in an earlier run; only before the cores run. Both return 0; -ESTALE:
 * it is too old by now; -EEXIST: the MAC is known already; -ENOENT: nobody has that address now;
 * -ENOSPC: the subscriber has too many hosts.
 */
int arp_give_subscriber(struct task *t, uint32_t id, const struct arp_learned *l);
int arp_give_neighbour(struct task *t, uint8_t port, const struct arp_learned *l);

/** Ask for the MAC of a next hop that has an address to ask for, from now on; it gets that of its
 * neighbour at once where it is known. Before a route leads there; runs on the task's core. */
void arp_add_nexthop(struct task *t, uint32_t id);

/**
 * The same without a word from the task's core, for which nobody waits: it finds the news before it
 * handles a packet. By the thread that alone adds and forgets next hops. Returns false where there
 * is no room for more news: arp_add_nexthop() takes them all.
 */
bool arp_tell_nexthop(const struct task *t, uint32_t id);

/** Take the news of next hops. Runs on the task's core. */
void arp_take_news(struct task *t);

/** Log MACs of the core that have changed since the last call (*seen, 0 at first). By the main
 * thread. */
void arp_log_changes(const struct task *t, uint64_t *seen);

/** Forget a next hop, to which no route leads any more, and no packet; one that is not known, too.
 * Runs on the task's core. */
void arp_forget_nexthop(struct task *t, uint32_t id);

/** Forget what is known of a subscriber who is in no index any more. Runs on the task's core. */
void arp_forget_subscriber(struct task *t, uint32_t id);

#endif
