/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our own engine. What costs is memory that is touched, not instructions, so the layout comes
 * first:
 *
 *   pipe     one line: token bucket, which queues hold packets, what it waits for
 *   queue    half a line: first and last mbuf, counters; an array of pipes for each queue that is
 *            used. Packets are linked through their mbufs, so a queue's size is a limit and takes
 * no memory ring     of each class in each subport: the pipes that may send in it, in the order of
 * their turns. An array, so that what comes next can be prefetched timers   a timing wheel with the
 * buckets (of pipes, classes, subports) that lack credit
 *
 * A packet that comes touches its pipe and its queue; one that leaves touches both again, and its
 * mbuf. A pipe without credit costs nothing until its bucket holds enough for the packet that is
 * next: so the work is per packet, however many subscribers are held back.
 *
 * The highest class that has something to send, may send in its subport and has credit goes first,
 * in the whole scheduler. Within a class, subports take turns of 8 frames of the mtu, and pipes in
 * a subport turns of one frame (deficit round robin, in bytes); with oversubscription best effort
 * has turns of so many frames as the pipe's weight.
 *
 * A pipe is in the ring of its highest class that may send; it may be in those of others, too, and
 * is put there at the latest when that one is empty. So a pipe or class that may not send is never
 * searched for.
 */
#ifndef SCHED_WHEEL_H
#define SCHED_WHEEL_H

#include <assert.h>

#include <rte_pie.h>
#include <rte_red.h>

#include "sched/bucket.h"
#include "sched/engine.h"
#include "sched/timers.h"

/** In bits of classes, the one that stands for the whole pipe or subport. */
#define WHEEL_SELF     QOS_CLASSES
#define WHEEL_SELF_BIT (1u << WHEEL_SELF)
#define WHEEL_BE_BITS  0xf000u /* in bits of queues */

struct wheel_pipe {
    struct bucket bucket;
    uint16_t queued; /* bit per queue: holds packets */
    uint16_t listed; /* bit per class: is in its ring */
    uint16_t waits;  /* bit per class, and for all of it: lacks credit */
    uint16_t timed;  /* likewise: its bucket is in the timing wheel */
    int32_t deficit; /* bytes left of its last turn */
    uint16_t profile;
    uint32_t wrr[QOS_BE_QUEUES]; /* best effort: bytes / weight sent so far, times 2^15 */
    uint64_t dropped;            /* packets since the start; read by others, too */
} __rte_cache_aligned;

/** The upper 16 bits of a pointer to an mbuf are free for a number. */
struct wheel_queue {
    uint64_t head;           /* and the length of that packet, at most 65535 */
    uint64_t tail;           /* and the number of packets; both are valid if there are any */
    uint64_t packets, bytes; /* taken since they were read */
};

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
    uint16_t backlog; /* bit per class: the ring is not empty */
    uint16_t waits, timed;
    uint16_t caps; /* bit per class: has a rate of its own; and for all: a rate below the port's */
    struct wheel_ring ring[QOS_CLASSES];
    struct bucket cap[QOS_CLASSES];
    struct pace cap_pace[QOS_CLASSES];
    uint64_t class_rate[QOS_CLASSES]; /* bit/s */
} __rte_cache_aligned;

struct wheel_profile {
    struct pace pace;
    int32_t be_turn; /* bytes of best effort in a turn */
    uint16_t caps;   /* bit per class: has a rate of its own */
    uint32_t wrr_cost[QOS_BE_QUEUES];
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
    uint32_t pipe_mask; /* in a subport */
    uint8_t pipe_shift;
    uint8_t aqm_size;
    uint16_t red, pie; /* bit per queue */

    /* By queue or class; each points to an array by pipe. A queue that is not used has another's
     * array and size 0. */
    struct wheel_queue *queue[QOS_QUEUES];
    uint16_t size[QOS_QUEUES];      /* packets */
    uint16_t be_others[QOS_QUEUES]; /* bits of the other best-effort queues; 0 for a strict one */
    struct bucket *cap[QOS_CLASSES];
    struct wheel_drops *drops[QOS_QUEUES]; /* those that are not used share one */
    uint8_t *aqm[QOS_QUEUES];              /* RED's or PIE's state, aqm_size bytes each */

    uint64_t ready[QOS_CLASSES][WHEEL_WORDS]; /* bit per subport: has something that may leave */
    uint8_t turn[QOS_CLASSES];                /* the subport whose turn it is */
    struct bucket line;                       /* the port's */
    struct pace line_pace;
    struct rte_mbuf nobody; /* what is written without need goes here: cheaper than a branch */

    struct sched_drops dropped;
    uint64_t hz, start;
    uint64_t slowest; /* TSC cycles: the longest time in which a bucket of a profile fills up */
    double red_time;  /* bytes of the line per TSC cycle: RED's clock */
    uint32_t n_profiles, max_profiles;
    struct rte_red_config red_config[QOS_CLASSES];
    struct rte_pie_config pie_config[QOS_CLASSES];
    struct cfg_scheduler shape; /* a copy, without subports */
    struct timers timers;
} __rte_cache_aligned;

static_assert(sizeof(struct wheel_pipe) == QOS_WHEEL_PIPE, "as the plan counts them");
static_assert(sizeof(struct wheel_queue) == QOS_WHEEL_QUEUE, "as the plan counts them");
static_assert(sizeof(struct wheel_drops) == QOS_WHEEL_DROPS, "as the plan counts them");
static_assert(sizeof(struct bucket) == QOS_WHEEL_CAP, "as the plan counts them");
static_assert(sizeof(struct rte_red) == QOS_WHEEL_RED, "as the plan counts them");
static_assert(sizeof(struct rte_pie) == QOS_WHEEL_PIE, "as the plan counts them");
static_assert(sizeof(struct wheel_subport) == QOS_WHEEL_SUBPORT, "as the plan counts them");
static_assert(sizeof(struct wheel_profile) == QOS_WHEEL_PROFILE, "as the plan counts them");
static_assert(sizeof(struct wheel) == QOS_WHEEL_SELF, "as the plan counts them");
static_assert(sizeof(uintptr_t) == 8, "pointers with 16 bits to spare");

/* --- what the files of the engine share --- */

/** wheel_enqueue.c */
uint32_t wheel_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n);
/** wheel_dequeue.c */
uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n);

/** wheel_clear.c: see sched_clear(); and the packets of one queue, which is left as it is. */
int64_t wheel_clear(struct sched *base, uint32_t pipe);
void wheel_free_queue(const struct wheel_queue *q);

/** wheel_ahead.c: fetch what serving up to n packets will touch: pipes, then queues, then packets.
 */
void wheel_fetch(const struct wheel *w, uint32_t n);

/* wheel_credit.c */

/**
 * Have a bucket woken when it is ready (TSC), and note in the bits of its owner that it is waited
 * for. The owner is a pipe, or n_pipes + a subport; class WHEEL_SELF is its own bucket. Where that
 * is in the wheel already, for an earlier packet, it stays there.
 */
void wheel_wait(struct wheel *w, uint32_t owner, unsigned class, uint64_t ready, uint16_t *waits,
                uint16_t *timed);

/** Wake those whose time has come, but no more than most. */
void wheel_run_timers(struct wheel *w, uint64_t now, uint32_t most);

/** The rates that not all have: a cap of a pipe's class, of a subport's class, and that of a
 * subport. Is there credit? If not, who lacks it waits. */
bool wheel_may_leave(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                     uint32_t bytes);

/** Take it. */
void wheel_pay(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class, uint32_t bytes);

static inline struct wheel *wheel_of(struct sched *s)
{
    return (struct wheel *)s;
}

#define WHEEL_POINTER ((UINT64_C(1) << 48) - 1)

static inline struct rte_mbuf *wheel_mbuf(uint64_t word)
{
    return (struct rte_mbuf *)(uintptr_t)(word & WHEEL_POINTER);
}
static inline uint32_t wheel_number(uint64_t word)
{
    return (uint32_t)(word >> 48);
}
static inline uint64_t wheel_word(const struct rte_mbuf *m, uint32_t number)
{
    return (uint64_t)(uintptr_t)m | (uint64_t)number << 48;
}

static inline unsigned wheel_class(unsigned queue)
{
    return queue < QOS_BE ? queue : QOS_BE;
}

/** Classes of a pipe that hold packets and do not wait for credit of their own, a bit each. */
static inline uint32_t wheel_eligible(const struct wheel_pipe *p)
{
    uint32_t best_effort = (uint32_t)((p->queued & WHEEL_BE_BITS) != 0) << QOS_BE;

    return ((p->queued & ~WHEEL_BE_BITS) | best_effort) & ~p->waits;
}

/** Of a pipe's best-effort queues, that which has had the least for its weight. */
static inline unsigned wheel_choose_queue(const struct wheel_pipe *p)
{
    uint32_t left = p->queued >> QOS_BE;
    unsigned best = (unsigned)__builtin_ctz(left | 1u << (QOS_BE_QUEUES - 1));

    for (left &= left - 1; unlikely(left != 0); left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        if ((int32_t)(p->wrr[i] - p->wrr[best]) < 0)
            best = i;
    }
    return QOS_BE + best;
}

/** Tell the port that a subport has something to send in a class. */
static inline void wheel_set_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    w->ready[class][subport / 64] |= UINT64_C(1) << subport % 64;
    w->classes |= 1u << class;
}

/** A subport has nothing in a class, or may not send it. */
static inline void wheel_clear_ready(struct wheel *w, uint32_t subport, unsigned class)
{
    uint64_t any = 0;

    w->ready[class][subport / 64] &= ~(UINT64_C(1) << subport % 64);
    for (uint32_t i = 0; i < w->n_words; i++)
        any |= w->ready[class][i];
    if (any == 0)
        w->classes &= ~(1u << class);
}

/** Put a pipe at the end of a ring where it is not yet. */
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

/** See to it that a pipe's highest class is in its ring, unless the pipe lacks credit. Where a
 * class of the subport may have to wait, so that a lower one goes first, all are. */
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
