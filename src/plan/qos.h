/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers in the graph: which task runs one, and what the schedulers make tasks keep. */
#ifndef PLAN_QOS_H
#define PLAN_QOS_H

#include "config/model.h"

/** The scheduler (index in qos.schedulers[]) by which a task shapes, or CFG_NONE where the task is
 * no shaper (qos). */
uint32_t task_shapes(const struct cfg_task *t);

/** How many packets a task keeps back, of each port that it reads, so that under overload it can
 * choose what to drop; 0 where the task does not. */
uint32_t task_holds(const struct cfg_task *t);

/** How many subscribers of the configuration are in a scheduler. */
uint32_t scheduler_subscribers(const struct cfg_scheduler *s);

#endif
