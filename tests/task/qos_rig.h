/* SPDX-License-Identifier: BSD-3-Clause */
/* A qos task of four subscribers in two subports, and packets for its queues. */
#ifndef TEST_TASK_QOS_RIG_H
#define TEST_TASK_QOS_RIG_H

#include "common/absence.h"
#include "common/qos_shapes.h"
#include "harness.h"
#include "tasks/qos/qos.h"
#include "tasks/task_types.h"

enum { PROFILE_1M, PROFILE_10M, PROFILE_50M, PROFILE_100M, N_PROFILES };
enum { PIPES = 4, PIPES_PER_SUBPORT = 2, SUBPORTS = PIPES / PIPES_PER_SUBPORT };

#define MBIT     UINT64_C(1000000)
#define BE_QUEUE QOS_BE

extern struct cfg_profile qos_profiles[N_PROFILES];
extern struct cfg_subport qos_subports[SUBPORTS];
extern struct cfg_scheduler qos_shape;
extern struct cfg_subscriber qos_subscribers[PIPES];
extern struct absence qos_away; /* of the thread, during the last delivered() */

/** Everything as the configuration has it by default: 1 Gbit/s, classes 0 and best effort. */
void qos_model(void);

/** A rig of the task, with that model. */
struct rig *qos_open(void);
const struct qos *rig_qos(struct rig *r);
uint64_t rig_held(struct rig *r);

static inline uint32_t path_of(uint32_t pipe, unsigned queue)
{
    return pipe * QOS_QUEUES + queue;
}

/** A packet of size bytes on the line, with its number in the payload, for a path. */
struct rte_mbuf *numbered(uint32_t path, uint32_t number, uint16_t size);
uint32_t number_of(const struct rte_mbuf *m);
/** n packets, numbered from first on; one burst after the other, without a poll. */
void put_numbered(struct rig *r, uint32_t path, uint32_t first, unsigned n, uint16_t size);

/** Poll until nothing waits, at most 10 s. */
void drain(struct rig *r);

/** What a pipe has counted. */
const struct sched_pipe_counters *sent_of(struct rig *r, uint32_t pipe);

/**
 * Bytes on the line that leave pipe 0 in a time, with its queue kept full. *took is the time from
 * the last dequeue before to the last one in it, so that what is earned while the thread is away
 * between two of them has its time, too.
 */
uint64_t delivered(struct rig *r, double seconds, double *took);

#endif
