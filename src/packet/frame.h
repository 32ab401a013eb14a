/* SPDX-License-Identifier: BSD-3-Clause */
/* A frame in an mbuf of one segment: its bytes, its length, room before and after it. */
#ifndef PACKET_FRAME_H
#define PACKET_FRAME_H

#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

static inline uint8_t *frame_bytes(const struct rte_mbuf *m)
{
    return rte_pktmbuf_mtod(m, uint8_t *);
}

/** Let a frame begin pull bytes later (negative: earlier) and be len bytes long. The caller has
 * checked that this is inside the mbuf. */
static inline void frame_set(struct rte_mbuf *m, int pull, uint32_t len)
{
    m->data_off = (uint16_t)(m->data_off + pull);
    m->data_len = (uint16_t)len;
    m->pkt_len = len;
}

/** Pad a frame with zeros up to a length, which the caller has checked to be inside the mbuf.
 * Zeros, so that nothing of an earlier packet leaves. A frame that is long enough stays as it is.
 */
static inline void frame_pad(struct rte_mbuf *m, uint32_t len)
{
    if (m->data_len >= len)
        return;
    memset(frame_bytes(m) + m->data_len, 0, len - m->data_len);
    frame_set(m, 0, len);
}

/** Prefetch an mbuf and the first lines of its frame at once: the frame of an mbuf that came from a
 * port begins behind the headroom, so the mbuf need not be read for that. Of a frame that begins
 * elsewhere, lines are prefetched in vain. */
static inline void frame_prefetch_fresh(const struct rte_mbuf *m, unsigned lines)
{
    const uint8_t *f = (const uint8_t *)(m + 1) + RTE_PKTMBUF_HEADROOM;

    __builtin_prefetch(m, 1, 3);
    for (unsigned i = 0; i < lines; i++)
        __builtin_prefetch(f + i * RTE_CACHE_LINE_SIZE, 1, 3);
}

/** Prefetch the line of a frame as received, so many bytes from its first one, which will be
 * written: the next ones, or those before it that headers will need. */
static inline void frame_prefetch_at(const struct rte_mbuf *m, int offset)
{
    __builtin_prefetch((const uint8_t *)(m + 1) + RTE_PKTMBUF_HEADROOM + offset, 1, 3);
}

/** frame_prefetch_fresh() of each packet, for a task that is the first to look at them. */
static inline void burst_prefetch_fresh(struct rte_mbuf **m, uint16_t n, unsigned lines)
{
    for (uint16_t i = 0; i < n; i++)
        frame_prefetch_fresh(m[i], lines);
}

/** Prefetch the first line of each frame, which will be written. */
static inline void burst_prefetch_frames(struct rte_mbuf **m, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++)
        __builtin_prefetch(frame_bytes(m[i]), 1, 3);
}

#define FRAME_ENCAP_LEN 32 /* of encapsulation: outer IPv4 20, GRE with key 8, label 4 */

/**
 * Prefetch the line that encapsulation will write into, FRAME_ENCAP_LEN before the beginning of a
 * frame from which pull bytes will be taken. That line is in no cache yet, so the first task of a
 * core that leads to encapsulation prefetches it, well ahead.
 */
static inline void frame_prefetch_encap(const struct rte_mbuf *m, int pull)
{
    __builtin_prefetch(frame_bytes(m) + pull - FRAME_ENCAP_LEN, 1, 3);
}

/** Prefetch the first line of each frame, and the line that encapsulation will write into. */
static inline void burst_prefetch_encap(struct rte_mbuf **m, uint16_t n, int pull)
{
    for (uint16_t i = 0; i < n; i++) {
        __builtin_prefetch(frame_bytes(m[i]), 1, 3);
        frame_prefetch_encap(m[i], pull);
    }
}

#endif
