/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two layouts of pipes and queues (layout.c). The hot path is compiled for each: for arrays by
 * queue, whose strides are constants, and in by_pipe.c with WHEEL_BY_PIPE. Its files include this
 * one first. All others read the strides of a wheel.
 */
#ifndef SCHED_WHEEL_LAYOUTS_H
#define SCHED_WHEEL_LAYOUTS_H

#ifdef WHEEL_BY_PIPE
#define wheel_enqueue     wheel_enqueue_by_pipe
#define wheel_expect      wheel_expect_by_pipe
#define wheel_fetch       wheel_fetch_by_pipe
#define wheel_fetch_next  wheel_fetch_next_by_pipe
#define wheel_fetch_woken wheel_fetch_woken_by_pipe
#define wheel_run_timers  wheel_run_timers_by_pipe
#ifdef WHEEL_SHARD
#define wheel_dequeue wheel_dequeue_shard_by_pipe
#else
#define wheel_dequeue wheel_dequeue_by_pipe
#endif
#else
#define WHEEL_BY_QUEUE
#ifdef WHEEL_SHARD
#define wheel_dequeue wheel_dequeue_shard
#endif
#endif

#endif
