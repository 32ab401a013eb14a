/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of shards a second time, for so many pipes that a pipe and its queues stand
 * together. */
#define WHEEL_BY_PIPE
#define WHEEL_SHARD true
#include "sched/wheel/dequeue.c"
