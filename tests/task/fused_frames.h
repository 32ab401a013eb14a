/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames for chains: of both families, most of them good, and some that each task drops or punts.
 */
#ifndef TEST_TASK_FUSED_FRAMES_H
#define TEST_TASK_FUSED_FRAMES_H

#include "frames.h"

/** So many of 100 frames are of IPv6. */
extern unsigned fused_six;
/** None is odd: each goes through all tasks. */
extern bool fused_good;

/** A frame from a subscriber's line, and the port that it comes to. */
struct frame from_subscriber(uint16_t *port);
/** A frame from the core, in a tunnel, with labels and without. */
struct frame labelled(uint16_t *port);
struct frame unlabelled(uint16_t *port);

/** A frame from the core, without a tunnel. */
struct frame from_core(uint16_t *port);

/** The same frame twice, in an mbuf of one of the shapes that there are. */
void fused_pair(struct rte_mbuf *out[2], struct frame (*make)(uint16_t *port), uint16_t *port);

/** Of the test program: harness_open(), and tables with IPv6, sets and queues. */
int fused_tables_open(void);

#endif
