/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel a second time, for so many pipes that a pipe and its queues stand
 * together. */
#define WHEEL_BY_PIPE
#include "sched/wheel/ahead.c"
#include "sched/wheel/dequeue.c"
#include "sched/wheel/enqueue.c"
#include "sched/wheel/wake.c"
