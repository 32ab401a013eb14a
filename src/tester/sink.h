/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the task sink: the state of an instance, which its files share. */
#ifndef TESTER_SINK_H
#define TESTER_SINK_H

#include "engine/task.h"
#include "tester/sink_expect.h"
#include "tester/sink_flow.h"

/** Counters are written by the instance's core and read by others. */
struct sink {
    uint64_t bytes; /* without FCS */

    const struct cfg_model *model; /* names the streams */

    /* with stamps: */
    bool stamps, expects;
    bool alone;    /* the task has no other instance */
    uint32_t hint; /* where the last stamp was found, or STAMP_NONE */
    uint64_t bursts;
    uint64_t unstamped;
    uint64_t unknown_stream; /* of a stream for which there was no room */
    uint64_t clock_errors;   /* stamps from the future, or older than the histogram reaches */
    uint64_t unchecked;      /* expected to vary with user, but the stamp has none */
    struct flow_table flows;
    struct expect expect;
};

/** What all instances of a task have measured, as JSON (doc/report.md). */
struct json_t *sink_report(const struct task *const *instances, unsigned n);

#endif
