/* SPDX-License-Identifier: BSD-3-Clause */
/* What the arp task has learned: to be read by the control plane while it runs, and given back to
 * it after a restart. */
#ifndef TASKS_ARP_H
#define TASKS_ARP_H

#include "engine/task.h"

struct arp_learned {
    uint8_t mac[6];
    uint32_t address; /* IPv4 that it was learned from, host order */
    uint32_t age;     /* seconds since */
};

extern const struct task_type task_arp;

/** Is it of type arp? A gateway has one instance at most. */
bool arp_is(const struct task *t);

/** What it knows of a subscriber (id from 1, who is there). False: nothing, or not by learning. By
 * any thread. */
bool arp_of_subscriber(const struct task *t, uint32_t id, struct arp_learned *out);

/** Neighbours towards the core, from 0 on; the same, with the port that one is behind. */
uint32_t arp_n_neighbours(const struct task *t);
bool arp_of_neighbour(const struct task *t, uint32_t i, uint8_t *port, struct arp_learned *out);

/*
 * Give back what was learned before. Only before the cores run. Return 0; -ESTALE: it is too old by
 * now; -EEXIST: its MAC is known already; -ENOENT: who had that address is not there.
 */
int arp_give_subscriber(struct task *t, uint32_t id, const struct arp_learned *l);
int arp_give_neighbour(struct task *t, uint8_t port, const struct arp_learned *l);

#endif
