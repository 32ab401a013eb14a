/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel a second time, for shards: what one wheel is spared is compiled in. */
#define WHEEL_SHARD true
#include "sched/wheel/dequeue.c"
