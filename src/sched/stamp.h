/* SPDX-License-Identifier: BSD-3-Clause */
/* When a packet came to the scheduler: 24 bits beside its path, in hash.sched.traffic_class and
 * reserved, which are in the line of the mbuf that everybody touches. */
#ifndef SCHED_STAMP_H
#define SCHED_STAMP_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#define SCHED_STAMP_SHIFT 12        /* the unit: 2^12 TSC cycles, 1.6 us at 2.6 GHz */
#define SCHED_STAMP_MASK  0xffffffu /* it lasts for 26 s */

/** A TSC as a stamp. */
static inline uint32_t sched_stamp_of(uint64_t tsc)
{
    return (uint32_t)(tsc >> SCHED_STAMP_SHIFT) & SCHED_STAMP_MASK;
}

/** Write all that a scheduler is told of a packet, by one store: its path, a stamp
 * (sched_stamp_of()), and the color 0, which is SCHED_PROMPT. */
static inline void sched_tell(struct rte_mbuf *m, uint32_t path, uint32_t stamp)
{
    uint64_t beside = (stamp & 0xff) | stamp >> 8 << 16, all = beside << 32 | path;

    memcpy(&m->hash, &all, sizeof(all));
}

/** What stands beside the path in hash.sched: stamp and color. */
static inline uint32_t sched_beside(const struct rte_mbuf *m)
{
    uint32_t beside;

    memcpy(&beside, &m->hash.sched.traffic_class, sizeof(beside));
    return beside;
}

static_assert(offsetof(struct rte_mbuf_sched, queue_id) == 0 &&
                  offsetof(struct rte_mbuf_sched, traffic_class) == 4 &&
                  offsetof(struct rte_mbuf_sched, color) == 5 &&
                  offsetof(struct rte_mbuf_sched, reserved) == 6,
              "two halves of a word");

/** The units from the stamp in beside (sched_beside()) to a TSC, modulo SCHED_STAMP_MASK + 1. */
static inline uint32_t sched_waited_since(uint32_t beside, uint64_t tsc)
{
    uint32_t stamp = (beside & 0xff) | beside >> 16 << 8;

    return (sched_stamp_of(tsc) - stamp) & SCHED_STAMP_MASK;
}

/** The units from a packet's stamp to a TSC, modulo SCHED_STAMP_MASK + 1. */
static inline uint32_t sched_waited(const struct rte_mbuf *m, uint64_t tsc)
{
    return sched_waited_since(sched_beside(m), tsc);
}

/** As sched_waited_since(), up to half of what a stamp lasts; 0 for a packet that is stamped after
 * that TSC: it came since the last dequeue, whose time that is. */
static inline uint32_t sched_age_since(uint32_t beside, uint64_t tsc)
{
    uint32_t waited = sched_waited_since(beside, tsc);

    return waited <= SCHED_STAMP_MASK / 2 ? waited : 0;
}

/** As sched_age_since(), of a packet that is not linked behind another. */
static inline uint32_t sched_age(const struct rte_mbuf *m, uint64_t tsc)
{
    return sched_age_since(sched_beside(m), tsc);
}

#endif
