/* SPDX-License-Identifier: BSD-3-Clause */
/* The types of task, one file each. */
#ifndef TASKS_TASK_TYPES_H
#define TASKS_TASK_TYPES_H

#include "engine/task.h"

extern const struct task_type task_arp;
extern const struct task_type task_classify;
extern const struct task_type task_forward;
extern const struct task_type task_fragment;
extern const struct task_type task_gen;
extern const struct task_type task_gre_decap;
extern const struct task_type task_gre_encap;
extern const struct task_type task_impair;
extern const struct task_type task_lb;
extern const struct task_type task_mpls_pop;
extern const struct task_type task_mpls_push;
extern const struct task_type task_qinq_decap;
extern const struct task_type task_qinq_encap;
extern const struct task_type task_qos;
extern const struct task_type task_route;
extern const struct task_type task_sink;

#endif
