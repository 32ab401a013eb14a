/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers and profiles as plain as they can be, for tests to change. */
#ifndef TESTS_COMMON_QOS_SHAPES_H
#define TESTS_COMMON_QOS_SHAPES_H

#include "config/qos.h"

/** A profile of that rate (bit/s) and burst (bytes): each class may have all of it, the queues of
 * best effort are equal. */
struct qos_shape plain_shape(uint64_t rate, uint64_t burst);

/** The subport may have that rate, in both directions, and with each class. */
void plain_subport_rate(struct cfg_subport *s, uint64_t rate);

/** A scheduler of that rate whose subports may have all of it: best effort has queues of 64
 * packets, frames have 4 bytes of overhead. */
struct cfg_scheduler plain_scheduler(uint64_t rate, struct cfg_subport *subports,
                                     uint32_t n_subports, uint32_t pipes_per_subport);

/** Give each subport of a scheduler so many pipes. */
void plain_pipes(struct cfg_scheduler *s, uint32_t pipes_per_subport);

#endif
