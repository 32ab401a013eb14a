/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/*
 * The wheel: vbng's own backend. Pipes take turns (deficit round robin, in bytes), and a bucket
 * without credit waits in a timing wheel until it has earned enough.
 *
 * The highest class that has a packet, may send in its subport and has credit goes first, in the
 * whole scheduler. A pipe stands in the ring of its highest class that may send. It may stand in
 * the rings of lower classes, too, and is put there at the latest when the highest one has run
 * empty. So dequeue never searches through pipes or classes that may not send, and a pipe without
 * credit costs nothing until its bucket holds enough for its next packet: the work is per packet,
 * however many subscribers are held back.
 *
 * Memory that is touched costs, not instructions, so the layout comes first. All but the mbufs is
 * one piece of memory, which only the thread that schedules writes:
 *
 *   array        entry                holds                                    touched by
 *   -----------  -------------------  ---------------------------------------  ------------------
 *   pipe[p]      64 bytes: one line   token bucket; bits by queue and class:   enqueue, dequeue
 *                                     holds packets, is in a ring, waits
 *   queue[q][p]  32 bytes: half a     first and last mbuf, length of the       enqueue, dequeue
 *                line                 first, packets and bytes, counters
 *   aqm[q][p]    16, 24 or 64 bytes   state of RED, PIE or L4S                 enqueue; RED and
 *                                                                              L4S also dequeue
 *   fq[i]        22 lines             packets of a queue by flow, and CoDel     both, where more
 *                                     of each flow; i: in a pool               than one waits
 *   drops[q][p]  24 bytes             drops since they were read               enqueue that drops
 *   cap[c][p]    16 bytes             token bucket of a class with a rate of   dequeue of such a
 *                                     its own                                  class
 *   profile[f]   some lines           room of each queue; rates and weights    enqueue; dequeue
 *                                     of a shape
 *   subport[s]   some lines           token buckets of the subport and its     dequeue
 *                                     classes, heads of its rings
 *     .ring[c]   4 bytes per pipe     pipes that may send in a class, in the   whoever puts a pipe
 *                                     order of their turns                     in or takes it out
 *   timers       4 bytes per slot,    lists of buckets that wait for credit,   dequeue
 *                8192 slots           linked through the buckets
 *
 *   p: pipe, counted through all subports; q: queue, 0..15; c: class, 0..12. Only queues and
 *   classes that the configuration uses have an array.
 *
 * The packets of a queue are linked through their mbufs, so a queue's size is a limit and takes no
 * memory. It is a limit of packets, and, where it was given as a time, of the bytes that the
 * subscriber's own rate sends in that time. A ring is an array, so that the pipes that come next can be prefetched.
 *
 * A class of a pipe is in one of three states:
 *
 *             enqueue: the first packet            serve: no packet is left
 *     idle  ---------------------------->  in ring  ------------------------->  idle
 *                                           |   ^
 *           serve: a bucket lacks credit    |   |   the timer of that bucket
 *                                           v   |
 *                                          waits
 *
 * and bits of the pipe say in which:
 *
 *     queued   a queue holds packets
 *     listed   the class stands in its ring
 *     waits    the class lacks credit, or (WHEEL_SELF_BIT) the whole pipe does
 *     timed    that bucket is linked into the timers; it stays there until its time even where a
 *              new profile has ended the waiting
 *
 * Dequeue finds the next packet in four steps:
 *
 *     classes      the lowest bit: the highest class in which some subport may send
 *     ready[c]     of its subports, the one whose turn it is: 8 frames of the mtu, then the next
 *     ring[c]      of that subport, the pipe at the head: one frame, or in best effort with
 *                  oversubscription as many as its weight says, then the next
 *     queue[q][p]  of that pipe, the class's queue, or the best-effort queue that has had the least
 *                  for its weight
 *
 * Other threads may read, with relaxed loads, the counters of struct sched and struct sched_class,
 * and wheel_pipe.dropped.
 */
/* clang-format on */
#ifndef SCHED_WHEEL_H
#define SCHED_WHEEL_H

#include <assert.h>

#include <rte_red.h>

#include "sched/backend.h"
#include "sched/bucket.h"
#include "sched/chain.h"
#include "sched/fq.h"
#include "sched/l4s.h"
#include "sched/pie.h"
#include "sched/timers.h"

/** In bits of classes, the bit that stands for the whole pipe or subport. */
#define WHEEL_SELF     QOS_CLASSES
#define WHEEL_SELF_BIT (1u << WHEEL_SELF)
#define WHEEL_BE_BITS  0xf000u /* in bits of queues: best effort */

struct wheel_pipe {
    struct bucket bucket;
    uint16_t queued;             /* bit per queue: holds packets */
    uint16_t listed;             /* bit per class: stands in its ring */
    uint16_t waits;              /* bit per class, and for the whole pipe: lacks credit */
    uint16_t timed;              /* likewise: its bucket is linked into the timers */
    int32_t deficit;             /* bytes left of its last turn */
    uint16_t profile;            /* max_profiles: none yet; that one has no room */
    uint32_t wrr[QOS_BE_QUEUES]; /* best effort: bytes / weight sent so far, times 2^15 */
    uint64_t dropped;            /* packets since the start; read by other threads, too */
} __rte_cache_aligned;

/** The packets of a queue, in words of sched/chain.h. */
struct wheel_queue {
    uint64_t head;  /* first packet; and its length, at most 65535 */
    uint64_t tail;  /* last packet; and the number of packets. If that is 0, both pointers
                       are void */
    uint64_t load;  /* bytes that wait, with overhead, in the low half; in the high one,
                       packets taken since they were read */
    uint64_t bytes; /* taken since they were read, below 2^56; above, overflows of those
                       packets */
};

#define WHEEL_BYTES_BITS 56               /* of wheel_queue.bytes */
#define WHEEL_ROOM_MAX   (UINT32_MAX / 2) /* bytes: no queue holds more, so that sums fit */

struct wheel_drops {
    uint64_t tail, aqm, bytes; /* since they were read */
};

struct wheel_ring {
    uint32_t *pipe;      /* as many places as the subport has pipes */
    uint32_t head, tail; /* count on; their low bits are the place */
    int32_t turn;        /* bytes that the pipe at the head may still send */
    int32_t left;        /* bytes that the subport may still send in its turn */
    bool in_turn;        /* the turn of the pipe at the head has begun */
};

struct wheel_subport {
    struct bucket bucket;
    struct pace pace;
    uint16_t backlog;      /* bit per class: the ring is not empty */
    uint16_t waits, timed; /* as those of a pipe */
    uint16_t caps; /* bit per class: has a rate of its own; and for the whole subport: has a rate
                      below the port's */
    struct wheel_ring ring[QOS_CLASSES];
    struct bucket cap[QOS_CLASSES];
    struct pace cap_pace[QOS_CLASSES];
    uint64_t class_rate[QOS_CLASSES]; /* bit/s */
} __rte_cache_aligned;

struct wheel_profile {
    uint32_t room[QOS_QUEUES]; /* bytes that a queue may hold, with overhead: the first line, for
                                  enqueue */
    struct codel codel[QOS_CLASSES];
    struct l4s_times l4s[QOS_CLASSES];
    struct pace pace;
    int32_t be_turn;                  /* bytes of best effort in a turn */
    uint16_t caps;                    /* bit per class: has a rate of its own */
    uint32_t wrr_cost[QOS_BE_QUEUES]; /* what a byte adds to wheel_pipe.wrr */
    struct pace cap_pace[QOS_CLASSES];
} __rte_cache_aligned;

#define WHEEL_WORDS (QOS_MAX_SUBPORTS / 64)

struct wheel {
    struct sched base;
    struct wheel_pipe *pipe;
    struct wheel_profile *profile;
    struct wheel_subport *subport;

    uint64_t now;      /* TSC of the last dequeue */
    uint32_t classes;  /* bit per class: some subport is ready in it */
    uint32_t overhead; /* bytes that a packet counts beyond its length */
    uint32_t mtu;
    int32_t frame; /* bytes: a pipe's turn */
    uint32_t n_pipes, n_subports, n_words;
    uint32_t pipe_mask; /* of a pipe's number: its place in its subport */
    uint8_t pipe_shift; /* and beyond it, the subport */
    uint8_t aqm_size;
    uint16_t red, codel, l4s; /* bit per queue: has RED, FQ-CoDel, L4S */
    uint16_t aqm_queues;      /* bit per queue: has any AQM */
    uint16_t aqm_always;      /* and one that sees packets to empty queues, too: RED, PIE */
    uint16_t aqm_chooses;     /* and one that chooses who is next: FQ-CoDel, L4S */

    /* By queue or class; each points to an array by pipe. A queue that is not used has another's
     * array and size 0. */
    struct wheel_queue *queue[QOS_QUEUES];
    uint16_t size[QOS_QUEUES];      /* packets */
    uint16_t be_others[QOS_QUEUES]; /* bits of the other best-effort queues; 0 for a strict one */
    struct bucket *cap[QOS_CLASSES];
    struct wheel_drops *drops[QOS_QUEUES]; /* queues that are not used share one array */
    uint8_t *aqm[QOS_QUEUES];              /* state of RED, PIE or L4S, aqm_size bytes each */

    uint64_t ready[QOS_CLASSES][WHEEL_WORDS]; /* bit per subport: has something that may leave */
    uint8_t turn[QOS_CLASSES];                /* the subport whose turn it is */
    struct bucket line;                       /* of the port */
    struct pace line_pace;
    struct rte_mbuf nobody; /* takes writes that are not needed: cheaper than a branch */

    struct sched_drops dropped;
    uint64_t hz, start;
    uint64_t slowest; /* TSC cycles: the longest time in which a bucket of a profile fills up */
    double red_time;  /* bytes of the line per TSC cycle: RED's clock */
    uint32_t n_profiles, max_profiles;
    struct rte_red_config red_config[QOS_CLASSES];
    struct pie_config pie_config[QOS_CLASSES];
    struct l4s_config l4s_config[QOS_CLASSES];
    uint32_t random;            /* state of a generator, never 0 */
    struct fq *fq;              /* the pool of FQ-CoDel's states */
    uint32_t n_fq, fq_in_use;   /* states; those that hold packets */
    uint32_t fq_hand;           /* the state that is given away next, if it holds nothing */
    uint64_t *fq_busy;          /* bit per state: holds packets */
    struct cfg_scheduler shape; /* a copy, without subports */
    struct timers timers;
} __rte_cache_aligned;

static_assert(sizeof(struct wheel_pipe) == RTE_CACHE_LINE_SIZE, "a pipe is one line");
static_assert(sizeof(struct wheel_queue) == RTE_CACHE_LINE_SIZE / 2, "a queue is half a line");
static_assert(sizeof(uintptr_t) == 8, "pointers with 16 bits to spare");

/* --- the hot path: wheel_enqueue.c, wheel_dequeue.c --- */

uint32_t wheel_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n);
uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n);

/* --- what the files of the wheel share --- */

/** The fate of a packet that arrives, or why it is dropped. */
enum verdict { ACCEPTED, HELD, TAIL, RED, PIE, CODEL, L4S };

/** Count a packet that is dropped. */
void wheel_count_drop(struct wheel *w, const struct rte_mbuf *m, enum verdict why);

/** Drop a packet that waited behind the first of its queue q, and is linked no more. */
void wheel_lose(struct wheel *w, struct rte_mbuf *m, struct wheel_queue *q, enum verdict why);

/** Mark congestion in a packet and count it. Returns false if its sender does not know ECN (RFC
 * 3168). */
bool wheel_mark(struct wheel *w, struct rte_mbuf *m);

static inline struct wheel *wheel_of(struct sched *s)
{
    return (struct wheel *)s;
}

/** Classes of a pipe that hold packets and do not wait for credit of their own, a bit each. */
static inline uint32_t wheel_eligible(const struct wheel_pipe *p)
{
    uint32_t best_effort = (uint32_t)((p->queued & WHEEL_BE_BITS) != 0) << QOS_BE;

    return ((p->queued & ~WHEEL_BE_BITS) | best_effort) & ~p->waits;
}

/** Mark that a subport has something to send in a class. */
static inline void wheel_set_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    w->ready[class][subport / 64] |= UINT64_C(1) << subport % 64;
    w->classes |= 1u << class;
}

/** Put a pipe at the end of a ring in which it does not stand yet. */
static inline void wheel_list(struct wheel *w, uint32_t pipe, struct wheel_pipe *p, unsigned class)
{
    uint32_t subport = pipe >> w->pipe_shift;
    struct wheel_subport *s = &w->subport[subport];
    struct wheel_ring *r = &s->ring[class];

    p->listed |= (uint16_t)(1u << class);
    r->pipe[r->tail++ & w->pipe_mask] = pipe;
    s->backlog |= (uint16_t)(1u << class);
    if (likely((s->waits & (WHEEL_SELF_BIT | 1u << class)) == 0))
        wheel_set_ready(w, subport, class);
}

/** Put a pipe into the ring of its highest class that may send, unless the pipe lacks credit. Where
 * a class of the subport may have to wait, so that a lower one goes first, into the rings of all
 * its classes. */
static inline void wheel_relist(struct wheel *w, uint32_t pipe, struct wheel_pipe *p)
{
    uint32_t classes = wheel_eligible(p);

    if ((p->waits & WHEEL_SELF_BIT) != 0)
        return;
    if (likely((w->subport[pipe >> w->pipe_shift].caps & ~WHEEL_SELF_BIT) == 0))
        classes &= -classes;
    for (classes &= ~p->listed; classes != 0; classes &= classes - 1)
        wheel_list(w, pipe, p, (unsigned)__builtin_ctz(classes));
}

#endif
