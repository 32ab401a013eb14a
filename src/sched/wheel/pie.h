/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PIE, RFC 8033: drops arriving packets with a probability that a controller moves until packets
 * wait for the target. The delay is the age of the queue's first packet (section 4.3 allows
 * stamps): a rate of departure, from which the delay would follow as well, is hard to tell of a
 * shaped queue, which leaves in bursts and behind higher classes. Times are in units of stamps
 * (stamp.h).
 *
 * rte_pie of DPDK 22.11 is not used. It takes packets for bytes where it computes the delay, takes
 * the delay less the target as unsigned, and drops nothing unless the burst allowance, which wraps
 * below 0, happens to be 0: tests/sched/test_sched_aqm.c measures 0.4 to 5 s with it where 15 ms
 * are the target.
 */
#ifndef SCHED_PIE_H
#define SCHED_PIE_H

#include <stdbool.h>
#include <stdint.h>

#define PIE_MARKS_UP_TO 0.1f

struct pie_config {
    uint32_t target, update; /* units */
    uint32_t max_burst;
    uint32_t tail;     /* packets from which all are dropped */
    uint32_t few;      /* bytes up to which none is dropped: two packets, section 4.1 */
    float alpha, beta; /* section 4.2, for each unit */
};

/** The state of a queue; zero-initialise it. */
struct pie {
    float drop;        /* probability */
    float accumulated; /* since the last drop: section 5.4 */
    uint32_t delay;    /* units, as of the last update */
    uint32_t updated;  /* low bits of the TSC in units */
    uint32_t spent;    /* of the burst allowance, units */
};

/** Configure it from times in ms on a TSC of hz. */
struct pie_config pie_configure(uint64_t hz, uint32_t target_ms, uint32_t update_ms,
                                uint32_t max_burst_ms, uint32_t tail, uint32_t few);

/** Is an update due at a time in units? */
static inline bool pie_is_due(const struct pie_config *c, const struct pie *p, uint32_t now)
{
    return now - p->updated >= c->update;
}

/** Update the probability at a time in units, when the first packet has waited for delay. */
void pie_update(const struct pie_config *c, struct pie *p, uint32_t now, uint32_t delay);

/** May a packet be marked that pie_drops() would have dropped, one that comes to a queue of so many
 * packets? Beyond a tenth marks no longer help (section 5.1). */
static inline bool pie_may_mark(const struct pie_config *c, const struct pie *p, uint32_t packets)
{
    return packets < c->tail && p->drop <= PIE_MARKS_UP_TO;
}

/** Is a packet dropped that comes to a queue of so many packets and bytes? random: 32 bits. */
bool pie_drops(const struct pie_config *c, struct pie *p, uint32_t packets, uint32_t bytes,
               uint32_t random);

#endif
