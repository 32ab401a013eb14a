/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tasks of type account have counted of a subscriber. */
#ifndef TASKS_ACCOUNT_H
#define TASKS_ACCOUNT_H

#include "engine/task.h"

/** Bytes that an instance has for each subscriber, and once more: those of nobody are first. */
#define ACCOUNT_COUNTER 32

/** Packets of a subscriber in a direction, by family, and the octets of their IP packets. */
struct account_counter {
    uint64_t packets[N_FAMILIES], octets[N_FAMILIES];
};

static_assert(sizeof(struct account_counter) == ACCOUNT_COUNTER, "two in a cache line");

/** The direction that an instance counts. */
enum direction account_direction(const struct task *t);

/** Add what an instance has counted of a subscriber since it started; by any thread. */
void account_add(const struct task *t, uint32_t id, struct account_counter *sum);

#endif
