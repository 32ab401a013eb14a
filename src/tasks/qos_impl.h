/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the qos task: qos.c, what each packet meets; qos_build.c, what it meets it in. */
#ifndef TASKS_QOS_IMPL_H
#define TASKS_QOS_IMPL_H

#include "tasks/qos.h"

enum { QOS_ARG_SCHEDULER, QOS_ARG_DIRECTION };

int qos_init(struct task *t, const struct task_env *env);
void qos_fini(struct task *t);

/** Packets that were dropped because their pipe is nobody's. */
void qos_count_not_shaped(struct task *t, uint64_t packets);

/** The run of a pipe, TSC. Only its own core writes it. */
void qos_set_run(struct qos_pipe *p, uint64_t from, uint64_t to);

#endif
