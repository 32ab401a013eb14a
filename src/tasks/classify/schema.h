/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of classify, and the reasons for which it drops packets. */
#ifndef TASKS_CLASSIFY_SCHEMA_H
#define TASKS_CLASSIFY_SCHEMA_H

#include "engine/task.h"

enum { MATCH_QINQ, MATCH_IPV4, MATCH_ANY };
enum { ARG_MATCH, ARG_ANTI_SPOOF, ARG_SCHEDULER, ARG_SHED, N_CLASSIFY_ARGS };

enum {
    DROP_SEGMENTED,
    DROP_SHORT_FRAME,
    DROP_NOT_QINQ,
    DROP_UNKNOWN_SUBSCRIBER,
    DROP_NOT_IPV4,
    DROP_BAD_IPV4,
    DROP_BAD_LENGTH,
    DROP_BAD_CHECKSUM,
    DROP_BAD_IPV6,
    DROP_BAD_IPV6_LENGTH,
    DROP_LINK_LOCAL,
    DROP_SPOOFED,
    DROP_MARTIAN_SOURCE,
    DROP_NO_SLOW_PATH,
    DROP_FOREIGN_MAC,
    DROP_GROUP_MAC,
    DROP_OVERLOAD,
    DROP_NOT_PPPOE,
    DROP_BAD_PPPOE,
    DROP_UNKNOWN_SESSION,
    DROP_SESSION_MAC,
    DROP_PPP_CONTROL,
    N_CLASSIFY_DROPS
};

extern const struct task_param classify_params[N_CLASSIFY_ARGS];
extern const struct task_drop classify_drops[N_CLASSIFY_DROPS];

#endif
