/* SPDX-License-Identifier: BSD-3-Clause */
/* The hot path of the wheel a second time, for shards: what one wheel is spared is compiled in. */
#include "sched/shards/shard.h"

#define WHEEL_SHARD   true
#define wheel_dequeue wheel_dequeue_shard
#include "sched/wheel/dequeue.c"
