/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the gateway would do with a frame, from the very code of the data path: a packet of our own
 * walks through shadows of the tasks (shadow.h) until it leaves by a port or is dropped. The
 * gateway itself is not touched: it learns nothing, counts nothing, sends nothing.
 *
 * All of it belongs to the main thread, which is also the one that changes tables.
 */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "explain/walk.h"

struct explain;

/** How many packets a queue (a scheduler path) of a qos task holds now, or -1. */
typedef int (*explain_depth)(void *ctx, unsigned instance, uint32_t path);

/** After engine_build(). depth may be NULL. Memory for packets is taken when it is first needed.
 * Returns NULL without memory. */
struct explain *explain_open(const struct engine *e, struct tables *tables, explain_depth depth,
                             void *ctx);
void explain_free(struct explain *x);

/** A frame (without FCS, up to SPEC_MAX_FRAME) as if a port of the configuration had received it.
 * Returns its walk, or NULL with the reason in err. */
struct walk *explain_frame(struct explain *x, unsigned port, const uint8_t *frame, uint32_t len,
                           char *err, size_t err_len);

/** The same of a frame in words: see spec.h. */
struct walk *explain_text(struct explain *x, const char *text, char *err, size_t err_len);

#endif
