/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring of one core's copies of packets, for a capture. The core writes copies at the points
 * that the capture wants, in the order of the TSC, and never waits: a copy that finds no room is
 * counted as lost. One other thread, the reader, takes the copies out of the rings of all cores.
 *
 * A point is an interface of the capture (first the ports, then the task instances, both in the
 * order of the plan) and a kind. tap.h puts points into the data path.
 */
#ifndef ENGINE_TAP_RING_H
#define ENGINE_TAP_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "engine/drops.h"

/** What happened to a packet at a point. */
enum tap_kind {
    TAP_INTO, /* received from a port; given to a task */
    TAP_FROM, /* a port, or the link after a task, has taken it */
    TAP_DROP, /* dropped by a task */
    TAP_KINDS
};

/** All drop reasons as bits, in the numbering of drop_of(). */
#define TAP_ALL_REASONS ((UINT64_C(1) << (DROP_LINK_FULL + 1)) - 1)

static_assert(DROP_LINK_FULL < 63, "reasons are bits of a word");

#define TAP_VOID     UINT16_MAX /* the point of a record that was taken back */
#define TAP_ANY_PORT UINT16_MAX

/** The packets that a capture wants. Written before the capture starts, only read afterwards. */
struct tap_wants {
    uint32_t subscriber; /* id; 0: packets of all subscribers, and of none */
    /** Is a frame the subscriber's? Asked where the mbuf does not name its subscriber. port: the
     * frame's ingress or egress port, or TAP_ANY_PORT. */
    bool (*is_match)(const void *match, const struct rte_mbuf *m, uint16_t port);
    const void *match; /* is_match()'s first argument */
    /** Is a frame of the family that is wanted? NULL: those of all families are, and of none. */
    bool (*is_family)(const struct rte_mbuf *m);
    uint32_t snaplen;              /* most bytes of a packet to keep, 1..UINT16_MAX */
    uint32_t every;                /* a copy of one in so many packets at each point, from 1 */
    uint64_t rx, tx;               /* packets received, sent: a bit for each port */
    bool *before, *after;          /* by instance: packets given to it, sent by it */
    uint64_t *reasons;             /* by instance: bits of drop reasons; 0: no drops */
    uint32_t facts[CFG_MAX_TASKS]; /* plan_facts() */
};

/** A copy of a packet; its bytes follow. */
struct tap_record {
    uint64_t tsc;
    uint64_t reasons;    /* TAP_DROP: bits; several where a scheduler does not tell which applies */
    uint32_t length;     /* of the packet, without FCS */
    uint32_t subscriber; /* id, or 0: not known at this point */
    uint16_t kept;       /* bytes that follow */
    uint16_t point;      /* or TAP_VOID */
    uint8_t place;       /* in its burst */
} __rte_aligned(16);

/** The counters of a core at a point: written by the core, read by others with relaxed loads. */
struct tap_count {
    uint64_t matched; /* packets that the capture wants */
    uint64_t taken;   /* of matched: those that tap_wants.every selects */
    uint64_t lost;    /* of taken: no room in the ring */
    uint32_t skipped; /* matched packets since the last one that was taken */
};

/** The ring of one core. */
struct tap_ring {
    const struct tap_wants *wants;
    uint8_t *bytes;          /* size, and room for a record that begins before their end */
    uint64_t size;           /* a power of two */
    struct tap_count *count; /* by point */

    /* of the core alone; positions only grow, and are taken modulo size */
    uint64_t head __rte_cache_aligned; /* end of the records written */
    uint64_t seen_tail;                /* tail, when the core last read it */
    unsigned depth; /* nested writes: a burst that is being sent may be dropped in between */

    /* written by the core, read by the reader */
    uint64_t published __rte_cache_aligned; /* end of the records that may be read */
    uint64_t since; /* 0: the core writes nothing now; else a lower bound of the TSCs it writes */

    uint64_t tail __rte_cache_aligned; /* written by the reader: end of the records read */
    bool closed;                       /* set by the reader: the core writes nothing more */
};

/** Make a ring of at least so many bytes, and counters for that many points. Returns 0 or -ENOMEM;
 * tap_ring_close() is due in either case. */
int tap_ring_open(struct tap_ring *r, const struct tap_wants *wants, uint64_t bytes,
                  unsigned points);
void tap_ring_close(struct tap_ring *r);

/* --- the core's side --- */

/** The point that a burst is at, and what is known of the burst. */
struct tap_at {
    uint16_t interface;
    enum tap_kind kind;
    uint16_t port;    /* for is_match() */
    bool named;       /* the mbufs name their subscriber */
    bool unpublished; /* the reader must not see the copies before tap_ring_publish() */
};

/** Write copies of those of n packets that are wanted. reasons: bits by packet, or NULL. Returns
 * true where tap_ring_publish() is due: copies were written, and at->unpublished is set. */
bool tap_ring_put(struct tap_ring *r, const struct tap_at *at, struct rte_mbuf *const *m,
                  uint16_t n, const uint64_t *reasons);

/** Take back copies that have not been published: those written since head of packets from place
 * first on in the burst, but for copies of drops. */
void tap_ring_take_back(struct tap_ring *r, uint64_t head, uint16_t first);

/** Let the reader see what was written since tap_ring_put() returned true. */
void tap_ring_publish(struct tap_ring *r);

/* --- the reader's side --- */

/** The oldest record, or NULL where there is none. Valid until tap_ring_next(). */
const struct tap_record *tap_ring_peek(const struct tap_ring *r);

/** Release the oldest record. */
void tap_ring_next(struct tap_ring *r);

/** A TSC before which the core will write nothing any more. */
uint64_t tap_ring_horizon(const struct tap_ring *r);

/** Tell the core to write nothing more. A burst that is being written is still completed:
 * tap_ring_is_done() tells. */
void tap_ring_stop(struct tap_ring *r);

/** After tap_ring_stop(): has the core written its last record? Once true, tap_ring_peek() finds
 * all that was taken and not lost, and the counters stand still. */
bool tap_ring_is_done(const struct tap_ring *r);

#endif
