/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of packets for a capture. Each core writes what it sees at the points that are wanted into
 * a ring of bytes of its own, in the order of the TSC, and never waits: what finds no room is
 * counted as lost. One other thread reads all rings.
 *
 * A point is an interface of the capture (first the ports, then the task instances, both in the
 * order of the plan) and a kind. Without a capture nothing here is called: tap_point.h says what
 * the data path asks instead.
 */
#ifndef ENGINE_TAP_H
#define ENGINE_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "engine/engine.h"

/** What happened to a packet at a point. */
enum tap_kind {
    TAP_INTO, /* received from a port; given to a task */
    TAP_FROM, /* a port, or the link after a task, has taken it */
    TAP_DROP, /* dropped by a task */
    TAP_KINDS
};

/* Bits of reasons: the schema's own numbering, DROP_NO_PATH, and this: dropped by an output. */
#define TAP_LINK_FULL      (DROP_NO_PATH + 1)
#define TAP_LINK_FULL_NAME "link_full"
#define TAP_ALL_REASONS    ((1u << (TAP_LINK_FULL + 1)) - 1)

static_assert(TAP_LINK_FULL < 32, "reasons are bits of a word");

#define TAP_VOID     UINT16_MAX /* a record to pass over */
#define TAP_ANY_PORT UINT16_MAX

/** What is wanted. Made before the capture starts, only read afterwards. */
struct tap_wants {
    uint32_t subscriber; /* id, or 0: of anybody */
    /** Where the mbuf does not name the subscriber: is this frame his? port: where it came in or
     * goes out, or TAP_ANY_PORT. */
    bool (*is_his)(const void *frame_of, const struct rte_mbuf *m, uint16_t port);
    const void *frame_of;
    uint32_t snaplen;              /* most bytes of a packet to keep, 1..UINT16_MAX */
    uint32_t every;                /* one of so many at each point, from 1 */
    uint64_t rx, tx;               /* bit by port of the configuration */
    bool *before, *after;          /* by instance */
    uint32_t *reasons;             /* by instance: bits; 0: no drops */
    uint32_t facts[CFG_MAX_TASKS]; /* plan_facts() */
};

/** One copy; its bytes follow. */
struct tap_record {
    uint64_t tsc;
    uint32_t length;     /* of the packet, without FCS */
    uint32_t subscriber; /* id, or 0: not known here */
    uint32_t reasons;    /* TAP_DROP: bits. Several where a scheduler does not say which it was */
    uint16_t kept;       /* bytes that follow */
    uint16_t point;      /* or TAP_VOID */
    uint8_t place;       /* in its burst */
} __rte_aligned(16);

/** What a core has counted at a point: written by it, read by others with relaxed loads. */
struct tap_count {
    uint64_t matched; /* packets that were wanted */
    uint64_t taken;   /* of those: one of every so many */
    uint64_t lost;    /* of those: they found no room */
    uint32_t skipped; /* since the last that was taken */
};

/** One core's ring. */
struct tap {
    const struct tap_wants *wants;
    uint8_t *bytes;          /* size, and room for a record that begins before the end */
    uint64_t size;           /* a power of two */
    struct tap_count *count; /* by point */

    /* the core's own */
    uint64_t head __rte_cache_aligned; /* up to here records have been written */
    uint64_t seen_tail;
    unsigned depth; /* of bursts being written: a drop may come between */

    /* written by the core, read by the reader */
    uint64_t published __rte_cache_aligned; /* up to here they can be read */
    uint64_t since; /* 0: nothing is being written, else no later than what is: a TSC or 1 */

    uint64_t tail __rte_cache_aligned; /* written by the reader */
    bool closed;                       /* set by the reader: no more, please */
};

/** A ring of at least so many bytes. Returns 0 or -ENOMEM; tap_free_ring() is due in either case.
 */
int tap_open_ring(struct tap *r, const struct tap_wants *wants, uint64_t bytes, unsigned points);
void tap_free_ring(struct tap *r);

static inline unsigned tap_points(const struct engine *e)
{
    return (e->plan->cfg->n_ports + e->plan->n_instances) * TAP_KINDS;
}

/* --- the core's side --- */

/** Where packets are, and what is known of them. */
struct tap_at {
    uint16_t interface;
    enum tap_kind kind;
    uint16_t port; /* for is_his() */
    bool named;    /* the mbufs name their subscriber */
    bool stay;     /* what is written is not to be read yet: the caller may take it back */
};

/** Write copies of those of n packets that are wanted. reasons: bits by packet, or NULL. Returns
 * true where the caller owes a tap_leave(): at->stay, and there were some. */
bool tap_put(struct tap *r, const struct tap_at *at, struct rte_mbuf *const *m, uint16_t n,
             const uint32_t *reasons);

/** Take back what was written from a head on of packets whose place in the burst is first or later,
 * but for drops. */
void tap_take_back(struct tap *r, uint64_t head, uint16_t first);

/** Let the reader have what was written since tap_put() returned true. */
void tap_leave(struct tap *r);

/* --- the reader's side --- */

/** The oldest record, or NULL where there is none yet; stays until tap_next(). */
const struct tap_record *tap_peek(const struct tap *r);
void tap_next(struct tap *r);

/** Nothing that the core writes from now on has a TSC before this one. */
uint64_t tap_horizon(const struct tap *r);

/** Nothing is written any more but what tap_horizon() says is being written, if it is asked
 * afterwards. */
void tap_close(struct tap *r);

#endif
