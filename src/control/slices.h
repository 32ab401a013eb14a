/* SPDX-License-Identifier: BSD-3-Clause */
/* Much work on the core of a task, a little at a time. */
#ifndef CONTROL_SLICES_H
#define CONTROL_SLICES_H

#include "engine/engine.h"

/**
 * Call one(t, i, ctx) for i in 0..n-1 on the core of a task instance, in slices of 30 us and the
 * last call's time, between which the core works on for about ten times as long. Without running
 * cores it is done at once. Ends at the first error. Returns 0, that error, or -ETIMEDOUT when the
 * core does not answer. *done (may be NULL): calls that returned 0.
 */
int in_slices(struct engine *e, unsigned instance, uint32_t n,
              int (*one)(struct task *t, uint32_t i, void *ctx), void *ctx, uint32_t *done);

#endif
