/* SPDX-License-Identifier: BSD-3-Clause */
/* The group qos of a configuration: profiles, schedulers (sched/params.h) and the DSCP maps that
 * lead packets to the schedulers' queues. */
#ifndef CONFIG_QOS_H
#define CONFIG_QOS_H

#include <stdint.h>

#include "base/diag.h"
#include "sched/params.h"

/** Key: qos.dscp_maps.NAME */
struct cfg_dscp_map {
    struct loc loc;
    const char *name;
    uint8_t queue[64]; /* 0..15, by DSCP */
};

struct cfg_qos {
    unsigned n_profiles, n_schedulers, n_dscp_maps;
    unsigned
        max_profiles; /* room, also for profiles that are added while vbng runs; 0: not given */
    struct cfg_profile *profiles;
    struct cfg_scheduler *schedulers;
    struct cfg_dscp_map *dscp_maps;
};

/** Profiles that each scheduler has room for. */
static inline unsigned room_profiles(const struct cfg_qos *q)
{
    return q->max_profiles != 0 ? q->max_profiles : QOS_MAX_PROFILES;
}

/** Runs a scheduler on several cores? */
static inline bool has_shards(const struct cfg_qos *q)
{
    for (unsigned i = 0; i < q->n_schedulers; i++)
        if (qos_shards(&q->schedulers[i]) > 1)
            return true;
    return false;
}

#endif
