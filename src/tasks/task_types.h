/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of task, one file each. */
#ifndef TASKS_TASK_TYPES_H
#define TASKS_TASK_TYPES_H

#include "engine/task.h"

extern const struct task_type task_arp;
extern const struct task_type task_fragment;
extern const struct task_type task_gen;
extern const struct task_type task_lb;
extern const struct task_type task_sink;

#endif
