/* SPDX-License-Identifier: BSD-3-Clause */
/* What control may ask of a gen task. */
#ifndef TESTER_GEN_H
#define TESTER_GEN_H

#include "base/units.h"
#include "engine/task.h"

#define GEN_ALL_STREAMS CFG_MAX_ITEMS

/** A change of streams. */
struct gen_change {
    enum gen_action { GEN_START, GEN_STOP, GEN_RATE } action;
    unsigned stream;      /* index in cfg->items[], or GEN_ALL_STREAMS */
    uint64_t duration_ns; /* GEN_START: how long to send; 0: until it is stopped */
    struct load load;     /* GEN_RATE: of all instances together; GEN_ALL_STREAMS: what the streams
                             without a rate of their own share */
};

extern const struct task_type task_gen;

/**
 * Make a change, at once. A stream that is started counts its packets and numbers its stamps on
 * from where it was; it no longer ends by the count of the configuration. A rate that was said for
 * one stream remains its own. To be run on the core of the task (engine_call()), on each instance.
 * arg: struct gen_change. Returns 0; -EINVAL: this instance cannot keep the rate, or it is in % and
 * no output leads to a port; -ENOENT: all streams have rates of their own. Then nothing was
 * changed.
 */
int gen_change(struct task *t, void *arg);

/** What the n instances of a task have sent so far, as JSON: see doc/generator.md. */
struct json_t *gen_report(const struct task *const *instances, unsigned n);

#endif
