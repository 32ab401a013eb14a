/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical QoS as the configuration says it: scheduler (a port) -> subport (a group of
 * subscribers) -> pipe (one subscriber) -> traffic class -> queue. The shape is DPDK's: 13 classes,
 * of which 0..11 are strict, one queue each, and 12 is best effort with 4 queues that share it by
 * weight. Queue q of a pipe, 0..15: class q for q < 12, else queue q - 12 of best effort. Rates are
 * in bit/s of frames with FCS unless a scheduler's overhead says otherwise.
 */
#ifndef CONFIG_QOS_H
#define CONFIG_QOS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define QOS_CLASSES      13
#define QOS_BE           12 /* class number of best effort */
#define QOS_BE_QUEUES    4
#define QOS_QUEUES       16
#define QOS_MAX_PROFILES 256
#define QOS_MAX_SUBPORTS 256

enum qos_direction { QOS_UP, QOS_DOWN, QOS_DIRECTIONS };

/** How a subscriber is shaped, one per direction. */
struct qos_shape {
    uint64_t rate;                    /* bit/s */
    uint64_t burst;                   /* bytes: the token bucket's size */
    uint64_t class_rate[QOS_CLASSES]; /* bit/s; rate where the configuration sets no cap */
    uint32_t tc_period_ms;            /* class caps are enforced over this time */
    uint8_t weight[QOS_BE_QUEUES];    /* of the best-effort queues, 1..255 */
    uint8_t oversubscription_weight; /* 1..255: share of best effort in a subport that has sold more
                                        than it has */
};

/** Key: qos.profiles.NAME */
struct cfg_profile {
    struct loc loc;
    const char *name;
    struct qos_shape shape[QOS_DIRECTIONS];
};

/** What runs a scheduler: our own, which keeps subscribers without credits in a timing wheel, or
 * DPDK's. */
enum qos_engine { QOS_WHEEL, QOS_LIBRTE_SCHED };

enum qos_aqm { AQM_TAIL, AQM_RED, AQM_PIE };

/** The queues of one class, the same for all subscribers of a scheduler. size 0: the class is not
 * used. */
struct cfg_class {
    uint16_t size; /* packets, a power of two */
    enum qos_aqm aqm;
    uint16_t red_min, red_max; /* packets */
    uint8_t red_inverse_probability, red_weight_log2;
    uint16_t pie_target_ms, pie_update_ms, pie_max_burst_ms, pie_tail;
};

/** A group of subscribers with a rate of its own. */
struct cfg_subport {
    struct loc loc;
    const char *name;
    uint32_t port;                    /* access port, index in ports[] */
    uint16_t svlan_first, svlan_last; /* its subscribers */
    uint64_t rate[QOS_DIRECTIONS];    /* bit/s */
    uint64_t class_rate[QOS_CLASSES]; /* bit/s; both directions; rate where not capped */
    uint32_t n_pipes;                 /* subscribers in it */
};

/** Key: qos.schedulers = ( { name; ... } ). */
struct cfg_scheduler {
    struct loc loc;
    const char *name;
    enum qos_engine engine;
    uint64_t rate;    /* bit/s of the port behind it */
    uint8_t overhead; /* bytes that a packet counts beyond its frame in memory (default 4: FCS) */
    uint32_t mtu;     /* largest frame in bytes, without overhead */
    bool oversubscription;
    struct cfg_class class[QOS_CLASSES];
    uint32_t dscp_map[QOS_DIRECTIONS]; /* index in dscp_maps[] */
    uint8_t non_ip_queue;              /* 0..15 */
    unsigned n_subports;
    struct cfg_subport *subports;
    uint32_t pipes_per_subport; /* a power of two, of the largest subport */
};

/** Key: qos.dscp_maps = ( { name; ... } ): queue 0..15 for each DSCP. */
struct cfg_dscp_map {
    struct loc loc;
    const char *name;
    uint8_t queue[64];
};

struct cfg_qos {
    unsigned n_profiles, n_schedulers, n_dscp_maps;
    unsigned max_profiles; /* room for those that come while it runs; 0: only what is configured */
    struct cfg_profile *profiles;
    struct cfg_scheduler *schedulers;
    struct cfg_dscp_map *dscp_maps;
};

/** How many profiles each scheduler has room for. */
static inline unsigned room_profiles(const struct cfg_qos *q)
{
    return q->max_profiles > q->n_profiles ? q->max_profiles : q->n_profiles;
}

#endif
