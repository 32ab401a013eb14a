/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a scheduler should do, said as simply as possible: tokens are counted in bytes and added up
 * at each step; each subscriber sends as long as there are enough. It looks at everybody in each
 * step, and knows no subports: those of the scheduler beside it must be wide enough.
 */
#ifndef TESTS_SCHED_MODEL_H
#define TESTS_SCHED_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/params.h"

#define MODEL_PIPES 8
#define MODEL_QUEUE 256

struct model_bucket {
    double tokens; /* bytes */
};

struct model_queue {
    uint32_t bytes[MODEL_QUEUE]; /* of each packet, with overhead */
    unsigned head, n;
    uint64_t sent; /* bytes that have left */
};

struct model_pipe {
    const struct qos_shape *shape;
    struct model_bucket bucket, cap[QOS_CLASSES];
    struct model_queue queue[QOS_QUEUES];
    double had[QOS_BE_QUEUES]; /* best effort: bytes / weight */
};

struct model {
    struct model_pipe pipe[MODEL_PIPES];
    unsigned n_pipes;
};

/** A pipe gets its profile: its buckets are half full. */
void model_profile(struct model_pipe *p, const struct qos_shape *shape);

/** A packet comes. Returns false if the queue holds size of them already. */
bool model_put(struct model_pipe *p, unsigned queue, uint32_t bytes, unsigned size);

/** Time passes, and what may leave does. */
void model_step(struct model *m, double seconds);

#endif
