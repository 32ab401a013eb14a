/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of a scheduler: what config/ reads from a file and a backend builds from. Free of
 * DPDK, so that a configuration can be checked before EAL starts.
 *
 * The hierarchy is that of librte_sched, whichever backend runs it: scheduler (a port) -> subport
 * (a group of subscribers) -> pipe (one subscriber) -> traffic class -> queue. Of the 13 classes,
 * 0..11 are strict with one queue each; 12 is best effort with 4 queues that share it by weight.
 * Queue q of a pipe, 0..15, belongs to class q where q < 12, else to best effort.
 *
 * Rates are in bit/s of frames with FCS unless the scheduler's overhead says otherwise.
 */
#ifndef SCHED_PARAMS_H
#define SCHED_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define QOS_CLASSES      13
#define QOS_BE           12 /* class number of best effort */
#define QOS_BE_QUEUES    4
#define QOS_QUEUES       16
#define QOS_MAX_PROFILES 256
#define QOS_MAX_SUBPORTS 256
#define QOS_MAX_SHARDS   16
#define QOS_MAX_RATE     UINT64_C(1000000000000) /* bit/s */

/** The most that L4S's coupling may be. */
#define QOS_L4S_COUPLING_MAX 10

/** Largest frames that a queue given in time has room for at any rate. */
#define QOS_QUEUE_FRAMES 2

enum qos_direction { QOS_UP, QOS_DOWN, QOS_DIRECTIONS };

/** How a subscriber is shaped in one direction. */
struct qos_shape {
    uint64_t rate;                    /* bit/s */
    uint64_t burst;                   /* bytes: the token bucket's size */
    uint64_t class_rate[QOS_CLASSES]; /* bit/s; equal to rate where the class has no cap */
    uint32_t tc_period_ms;            /* time over which class caps are enforced */
    uint8_t weight[QOS_BE_QUEUES];    /* of the best-effort queues, 1..255 */
    uint8_t oversubscription_weight;  /* 1..255: the subscriber's share of best effort in a subport
                                         that has sold more than its rate */
};

/** Key: qos.profiles.NAME */
struct cfg_profile {
    struct loc loc;
    const char *name;
    struct qos_shape shape[QOS_DIRECTIONS];
};

/** What runs a scheduler: vbng's own timing wheel (sched/wheel/) or DPDK's librte_sched. */
enum qos_backend { QOS_WHEEL, QOS_LIBRTE_SCHED };

/** What drops before a queue is full: nothing, RED, PIE, FQ-CoDel or the dual queue of L4S. */
enum qos_aqm { AQM_TAIL, AQM_RED, AQM_PIE, AQM_CODEL, AQM_L4S };

/** The queues of one class, the same for all subscribers of a scheduler. size 0: the class is not
 * used. */
struct cfg_class {
    uint16_t size;    /* packets, a power of two */
    uint64_t hold_ns; /* what waits leaves in this time at the subscriber's own rate in the class;
                         0: the size alone is the limit. The wheel's only: librte_sched has size */
    enum qos_aqm aqm;
    uint16_t red_min, red_max; /* packets */
    uint8_t red_inverse_probability, red_weight_log2;
    uint16_t pie_target_ms, pie_update_ms, pie_max_burst_ms, pie_tail;
    uint32_t codel_target_us, codel_interval_us;
    uint32_t codel_active; /* states for queues that hold packets of several flows, at most 2^20 */
    bool ecn; /* RED, PIE and FQ-CoDel mark packets of who knows ECN instead of dropping them. The
                 wheel's only */
    uint32_t l4s_target_us, l4s_step_us;
    uint8_t l4s_coupling; /* 1..10: RFC 9332's k */
};

/** A group of subscribers with a rate of its own. */
struct cfg_subport {
    struct loc loc;
    const char *name;
    uint32_t port;                    /* access port, index in ports[] */
    uint16_t svlan_first, svlan_last; /* S-VLANs of its subscribers */
    uint64_t rate[QOS_DIRECTIONS];    /* bit/s */
    uint64_t class_rate[QOS_CLASSES]; /* bit/s, both directions; equal to rate where not capped */
    uint32_t n_pipes;                 /* subscribers that the configuration names */
    uint32_t max_subscribers;         /* 0: not said */
    uint32_t first, pipes;            /* its pipes on each shard: from that number on, so many */
    bool whole;                       /* all its subscribers are on one shard: that number, which is
                                         0 where the scheduler has no shards */
    uint8_t shard;
};

/** How the pipes of a shard are shared out among subports: qos_lay_pipes(). */
struct cfg_pipes {
    uint32_t n;      /* of all subports */
    uint32_t block;  /* a power of two: each subport has whole blocks. With librte_sched, one */
    uint32_t places; /* n, with the number of each subport rounded up to a power of two */
};

/** Key: qos.schedulers.NAME */
struct cfg_scheduler {
    struct loc loc;
    const char *name;
    enum qos_backend backend;
    uint64_t rate;    /* bit/s of the port behind the scheduler */
    uint8_t overhead; /* bytes that a packet counts beyond its frame in memory (default 4: FCS) */
    uint32_t mtu;     /* largest frame in bytes, without overhead */
    bool oversubscription;
    uint64_t catch_up_ns;   /* for so long the wheel makes up for a core that was away; 0 with
                               librte_sched, and with shards */
    struct loc catch_up_at; /* where it is said; line 0: nowhere */
    struct cfg_class class[QOS_CLASSES];
    uint32_t dscp_map[QOS_DIRECTIONS]; /* index in dscp_maps[] */
    uint8_t non_ip_queue;              /* 0..15 */
    unsigned n_subports;
    struct cfg_subport *subports;
    unsigned n_shards; /* cores that are this scheduler together, each with pipes of its own; 0 is
                          as 1. Pipes are numbered by shard, then by subport: see qos_shard_of() */
    struct cfg_pipes pipes; /* of each shard, for the configured subscribers and who may come */
    struct cfg_pipes configured; /* what the configured subscribers alone would take */
};

/** Share out pipes among the subports of a scheduler, which has one at least: at least wanted[] for
 * each of them, and one; and resting[] more (NULL: none), but for librte_sched. Sets first and
 * pipes of each. */
struct cfg_pipes qos_lay_pipes(struct cfg_scheduler *s, const uint64_t *wanted,
                               const uint64_t *resting);

/** The subport of a pipe of a scheduler. */
uint32_t qos_subport_of(const struct cfg_scheduler *s, uint32_t pipe);

/** Shards of a scheduler, 1..QOS_MAX_SHARDS. */
static inline unsigned qos_shards(const struct cfg_scheduler *s)
{
    return s->n_shards > 1 ? s->n_shards : 1;
}

/** The shard of a pipe of a scheduler. */
static inline unsigned qos_shard_of(const struct cfg_scheduler *s, uint32_t pipe)
{
    return pipe / s->pipes.n;
}

/** A scheduler as each of its shards has it: with its share of what is for all subscribers. */
static inline struct cfg_scheduler qos_shard_shape(const struct cfg_scheduler *s)
{
    struct cfg_scheduler shape = *s;
    unsigned n = qos_shards(s);

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        shape.class[c].codel_active = (s->class[c].codel_active + n - 1) / n;
    return shape;
}

/** The class of a queue (0..15) of a pipe. */
static inline unsigned qos_class_of(unsigned queue)
{
    return queue < QOS_BE ? queue : QOS_BE;
}

/** Does a scheduler have queues for a class? */
static inline bool qos_class_used(const struct cfg_scheduler *s, unsigned class)
{
    return s->class[class].size != 0;
}

/** Does a discipline drop packets that it had taken? */
static inline bool qos_drops_late(enum qos_aqm aqm)
{
    return aqm == AQM_CODEL || aqm == AQM_L4S;
}

/** Does a shape cap a class that the scheduler uses? */
static inline bool qos_has_caps(const struct cfg_scheduler *s, const struct qos_shape *shape)
{
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        if (qos_class_used(s, c) && shape->class_rate[c] < shape->rate)
            return true;
    return false;
}

/** The largest frame as the scheduler counts it, in bytes. */
static inline uint32_t qos_largest_frame(const struct cfg_scheduler *s)
{
    return s->mtu + s->overhead;
}

#endif
