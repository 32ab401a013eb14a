/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the gateway would do with a frame, found by the code of the data path itself: a packet goes
 * from task to task in dry runs (dry_run.h) until it leaves by a port or is dropped. The running
 * gateway is not changed: it learns, counts and sends nothing.
 *
 * All functions belong to the main thread, which is also the thread that changes tables.
 */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include <stdio.h>

#include <rte_mempool.h>

#include "engine/engine.h"
#include "explain/walk.h"
#include "plan/plan.h"
#include "tables/tables.h"

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

/* --explain: the gateway of a configuration is built without its devices, for machines that have
 * none, and beside a gateway that runs. */

/** Change a configuration and its plan p so that they can be built anywhere, but not started:
 * devices that receive nothing, no huge pages, few mbufs. */
void offline_prepare(struct cfg_model *m, struct plan *p);

/** Explain a frame in words with an engine that was built and does not run. Returns 1 where it is
 * sent, 0 where not, or -EINVAL with the reason on stderr. */
int offline_explain(const struct engine *e, struct tables *tables, const char *text, FILE *to);

/** A pool of packets for dry runs, in memory that no device knows: making it disturbs no device. */
struct look_pool {
    struct rte_mempool *mp;
    void *memory;
};

/** Make a pool. data_room: bytes of a mbuf, headroom included. Returns 0 or -ENOMEM. */
int look_pool_open(struct look_pool *p, const char *name, uint16_t data_room);
void look_pool_close(struct look_pool *p);

/** Make a packet as a device would: a frame that is longer than a mbuf has several segments.
 * Returns NULL where the pool has too few mbufs. */
struct rte_mbuf *look_pool_packet(const struct look_pool *p, const uint8_t *frame, uint32_t len);

#endif
