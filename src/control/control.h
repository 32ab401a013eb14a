/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control of a running gateway: what the control socket, the live table and the telemetry
 * socket read and change. All functions of this folder belong to the main thread. A scheduler is
 * touched by its own core only, in core calls of bounded time (rates.h).
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "config/model.h"
#include "config/routes.h"
#include "control/ids.h"
#include "control/show/samples.h"
#include "engine/engine.h"
#include "tables/tables.h"
#include "tasks/qos/qos.h"

/** One instance of a qos task. The instances of one task are together, in the order of their
 * numbers. */
struct shaper {
    unsigned n_shards; /* instances of the task, of which this is the first; 0: another one is */
    unsigned instance; /* in plan->instances[] */
    const struct task *task;
    const struct qos *q;
    uint32_t *subscriber;                    /* id by pipe; 0: the pipe is free */
    struct qos_run *before;                  /* by pipe: the run at the last sample */
    struct pipe_sample *sample;              /* by pipe; written between metrics_hold() and
                                                metrics_release() */
    uint64_t *sampled;                       /* by slice of pipes: TSC of the last sample */
    uint64_t subport_rate[QOS_MAX_SUBPORTS]; /* bit/s, of the running config */
    struct shaping_error error;              /* of the last interval */
    struct shaping_error task_error;         /* of all instances of the task, in the first one */
    struct hist lag_before, lag;             /* at the last sample; of the last interval */
    struct hist sojourn_before[QOS_CLASSES], sojourn[QOS_CLASSES];
    unsigned n_queues;                     /* of each pipe, that are in use */
    uint8_t queue[QOS_QUEUES];             /* numbers of the n_queues */
    struct sched_queue_counters *counters; /* [pipe * n_queues + i], since the start, as last
                                              read; NULL until the first reading */
};

struct accounts; /* control/subscribers/octets.h */
struct explain;
struct punt_socket;    /* control/socket/punt.h */
struct server_request; /* control/socket/server.h */

/** The reason why a change was refused, in words. */
struct refusal {
    char text[512];
};

/** printf() the reason. Returns -EINVAL. */
int refuse(struct refusal *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Ids of next hops of which the task arp does not know yet. */
struct new_nexthops {
    uint32_t *id; /* room for all that there can be */
    uint32_t n;
};

struct control {
    struct engine *e;
    struct tables *tables;
    struct capture *capture;               /* NULL: the program takes no captures */
    struct punt_socket *punt;              /* NULL: the configuration has no control plane */
    struct accounts *accounts;             /* NULL: no task counts for each subscriber */
    struct explain *explain;               /* NULL until the first request to explain */
    struct cfg_model *model;               /* the running config: running_open() */
    const struct cfg_model *configured;    /* what was read last, from the file */
    struct cfg_model *reloaded;            /* configured, if a reload has read it; or NULL */
    const struct config_options *options;  /* for a reload; NULL: there is no file to read */
    char *profile_name[QOS_MAX_PROFILES];  /* of profiles that a reload has added */
    unsigned profile_places, profile_room; /* of profiles: used and available, in each
                                              scheduler */
    unsigned n_shapers;
    struct shaper *shaper;
    uint64_t opened;                                    /* TSC */
    const struct cfg_scheduler *by_port[CFG_MAX_PORTS]; /* of an access port; NULL: not shaped */
    struct ids ids;
    struct samples samples;
    struct prefixes routes;   /* indices in model->routes */
    struct prefixes6 routes6; /* the same in model->routes6 */
    struct shared_ways ways;  /* in the model, those to which a route leads */
    struct new_nexthops new_nexthops;
    uint64_t changes;            /* requests so far that may have changed something */
    struct server_request *from; /* the request that runs; NULL: it is no client's */
};

/** After engine_build(). Returns NULL without memory. */
struct control *control_open(struct engine *e, struct tables *tables);

void control_free(struct control *c);

/** The pipe of a subscriber (id from 1) in a shaper, or NULL where the shaper does not serve him.
 */
const struct qos_pipe *shaper_pipe(const struct control *c, const struct shaper *s, uint32_t id);

/** The first instance of the qos task behind that of which s is the first; NULL: s was the last
 * task. Begin with NULL. */
const struct shaper *next_shaper(const struct control *c, const struct shaper *s);

/** The instance of a qos task, of which s is the first, that has the pipe of a subscriber, and the
 * pipe; or NULL. */
const struct shaper *shard_of(const struct control *c, const struct shaper *s, uint32_t id,
                              const struct qos_pipe **pipe);

/** Names of a queue of a pipe ("0".."11", "be0".."be3"), a class ("0".."11", "be") and a direction
 * ("up", "down"). */
const char *queue_name(unsigned queue);
const char *class_name(unsigned class);
const char *direction_name(enum qos_direction d);

/** The running config. Its subscribers[] has holes: running_has(). */
static inline const struct cfg_model *control_model(const struct control *c)
{
    return c->model;
}

/*
 * The running config: at first a copy of the configuration's model, with room for what is added
 * later. Only the main thread changes the running config, between metrics_hold() and
 * metrics_release(), so that telemetry may read it.
 *
 * A subscriber keeps his id until he is removed. n_subscribers is the highest id that was ever in
 * use; ids that are free are holes in subscribers[].
 */

/** Make the running config of a model, with which it shares all that cannot change at run time.
 * Returns NULL without memory. */
struct cfg_model *running_open(const struct cfg_model *m);
void running_close(struct cfg_model *running);

/** Is there a subscriber with an id? Any number may be asked for. */
static inline bool running_has(const struct cfg_model *running, uint32_t id)
{
    return id >= 1 && id <= running->n_subscribers && running->subscribers[id - 1].port != CFG_NONE;
}

#endif
