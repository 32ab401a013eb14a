/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rig is made of; tests use harness.h only. */
#ifndef TEST_TASK_RIG_H
#define TEST_TASK_RIG_H

#include "harness.h"

/** What one way has been sent. */
struct capture {
    unsigned n;
    struct rte_mbuf *m[RIG_MBUFS];
};

struct rig {
    struct task *task;
    struct cfg_task cfg;
    struct cfg_item item; /* of a type that has such */
    char *params;         /* text that the values of cfg.param point into */
    struct plan plan;
    struct plan_core core;
    struct plan_instance instance;
    struct plan_dest dest[TASK_MAX_OUTPUTS][RIG_MAX_WAYS];
    struct capture way[TASK_MAX_OUTPUTS][RIG_MAX_WAYS];
    struct rte_mbuf *last;
    char fate[64];
};

void rig_free(struct rig *r);

#endif
