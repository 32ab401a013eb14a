/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a running gateway shows of its QoS and lets be changed. All of it belongs to the main
 * thread; what touches a scheduler runs on its own core, in slices (slices.h).
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "control/ids.h"
#include "control/live.h"
#include "engine/engine.h"
#include "tables/tables.h"
#include "tasks/qos.h"

/**
 * How exactly subscribers were held to their rates over an interval: delivered / configured - 1, of
 * those that were held back during all of it. That is: their run (tasks/qos.h) began before the
 * interval's first sample and reaches over at least half of the interval; bytes and time are
 * counted between two departures within the run, so that no packet is counted by halves. Who is
 * held back by less than his own rate (his subport's, a class's, the port's) shows as too slow.
 */
struct shaping_error {
    double seconds;            /* length of the interval; 0: none has ended yet */
    uint32_t limited;          /* subscribers that count */
    uint32_t under, over;      /* of them more than 1 % too slow, too fast */
    double median, worst;      /* worst: the one that is farthest from 0 */
    uint32_t worst_subscriber; /* id; 0: none counts */
};

/** A pipe at the last sample, and what it did in the interval that ended there. Readers get these
 * and leave the core's own lines alone, so that it costs the core nothing how often they ask. */
struct pipe_sample {
    uint64_t bytes, packets, drops; /* since the start */
    uint64_t bps;                   /* with the scheduler's overhead */
    uint32_t drop_pps;
    uint32_t
        shaped_ppm; /* delivered by configured, as in struct shaping_error; 0: was not limited */
    uint32_t sojourn_ns; /* moving average; no more than 4.2 s */
    uint32_t profile;    /* index in qos.profiles[] */
};

/** One instance of a qos task. */
struct shaper {
    unsigned instance; /* in plan->instances[] */
    const struct task *task;
    const struct qos *q;
    uint32_t *subscriber;                    /* id by pipe; 0: the pipe is not in use */
    struct qos_run *before;                  /* by pipe, at the last sample */
    struct pipe_sample *sample;              /* by pipe; written between metrics_hold() and
                                                metrics_release() */
    uint64_t subport_rate[QOS_MAX_SUBPORTS]; /* bit/s, as it is now */
    struct shaping_error error;              /* of the last interval */
    struct hist lag_before, lag;             /* at the last sample, and of the last interval */
    struct hist sojourn_before[QOS_CLASSES], sojourn[QOS_CLASSES];
    unsigned n_queues;                     /* in use */
    uint8_t queue[QOS_QUEUES];             /* their numbers */
    struct sched_queue_counters *counters; /* [pipe * n_queues + i], since the start, as last
                                              read; NULL: not yet */
};

struct explain;

struct control {
    struct engine *e;
    struct tables *tables;
    struct capture *capture;               /* NULL: there are none */
    struct explain *explain;               /* NULL until somebody asks */
    struct cfg_model *model;               /* as it is now: live.h */
    const struct cfg_model *configured;    /* as the configuration says it should be */
    struct cfg_model *reloaded;            /* that, where a reload has read it; or NULL */
    const struct config_options *options;  /* with which it was read; NULL: no reload */
    char *profile_name[QOS_MAX_PROFILES];  /* of those that a reload has added */
    unsigned profile_places, profile_room; /* of profiles in each scheduler */
    unsigned n_shapers;
    struct shaper *shaper;
    uint64_t sampled;                                   /* TSC of the last sample */
    const struct cfg_scheduler *by_port[CFG_MAX_PORTS]; /* of an access port; NULL: none */
    double *errors;                                     /* room for one of each pipe */
    struct ids ids;
    uint64_t *route_key; /* parallel to model->routes: prefix << 8 | length */
    uint64_t changes;    /* requests that may have changed something */
};

/** After engine_build(). Returns NULL without memory. */
struct control *control_open(struct engine *e, struct tables *tables);

void control_free(struct control *c);

/** End an interval and begin the next. Reads one cache line of each subscriber. */
void control_sample(struct control *c);

/** The shaper's view of a subscriber (id from 1): his pipe, or NULL where it does not shape him. */
const struct qos_pipe *shaper_pipe(const struct control *c, const struct shaper *s, uint32_t id);

/** "0".."11", "be0".."be3" of a queue of a pipe, and "0".."11", "be" of a class. */
const char *queue_name(unsigned queue);
const char *class_name(unsigned class);
const char *direction_name(enum qos_direction d);

/** As it is now. Its subscribers have holes: live_has(). */
static inline const struct cfg_model *control_model(const struct control *c)
{
    return c->model;
}

#endif
