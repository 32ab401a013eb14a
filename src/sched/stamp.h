/* SPDX-License-Identifier: BSD-3-Clause */
/* When a packet came to the scheduler: 24 bits beside its path, in hash.sched.traffic_class and
 * reserved, which are in the line of the mbuf that everybody touches. */
#ifndef SCHED_STAMP_H
#define SCHED_STAMP_H

#include <stdint.h>

#include <rte_mbuf.h>

#define SCHED_STAMP_SHIFT 12        /* the unit: 2^12 TSC cycles, 1.6 us at 2.6 GHz */
#define SCHED_STAMP_MASK  0xffffffu /* it lasts for 26 s */

/** A TSC as a stamp. */
static inline uint32_t sched_stamp_of(uint64_t tsc)
{
    return (uint32_t)(tsc >> SCHED_STAMP_SHIFT) & SCHED_STAMP_MASK;
}

/** Write a stamp (sched_stamp_of()) to a packet. */
static inline void sched_stamp(struct rte_mbuf *m, uint32_t stamp)
{
    m->hash.sched.traffic_class = (uint8_t)stamp;
    m->hash.sched.reserved = (uint16_t)(stamp >> 8);
}

/** The units from a packet's stamp to a TSC, modulo SCHED_STAMP_MASK + 1. */
static inline uint32_t sched_waited(const struct rte_mbuf *m, uint64_t tsc)
{
    uint32_t stamp = m->hash.sched.traffic_class | (uint32_t)m->hash.sched.reserved << 8;

    return (sched_stamp_of(tsc) - stamp) & SCHED_STAMP_MASK;
}

/** As sched_waited(), up to half of what a stamp lasts; 0 for a packet that is stamped after that
 * TSC: it came since the last dequeue, whose time that is. */
static inline uint32_t sched_age(const struct rte_mbuf *m, uint64_t tsc)
{
    uint32_t waited = sched_waited(m, tsc);

    return waited <= SCHED_STAMP_MASK / 2 ? waited : 0;
}

#endif
