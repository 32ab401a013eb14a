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
 *   tally[q][p]  32 bytes             drops since they were read               drops by an AQM,
 *                                                                              each 512th at a tail
 *   cap[c][p]    16 bytes             token bucket of a class with a rate of   dequeue of such a
 *                                     its own                                  class
 *   profile[f]   some lines           room of each queue; rates and weights    enqueue; dequeue
 *                                     of a shape
 *   subport[s]   some lines           token buckets of the subport and its     dequeue where it
 *                                     classes                                  has such rates
 *   gate[s]      8 bytes              bits by class: its ring holds pipes,     enqueue, dequeue
 *                                     waits, is ready, has a rate of its own
 *   ready[c]     1 byte per subport   subports that may send in a class, in    enqueue, dequeue
 *                                     the order of their turns
 *   class[s][c]  2 lines              head of a ring, packets and bytes; what  enqueue, dequeue;
 *                                     is counted seldom, and rounds of shards  the second by drops
 *                                                                              and by shards
 *     .ring      4 bytes per pipe     pipes that may send in a class, in the   whoever puts a pipe
 *                                     order of their turns                     in or takes it out
 *   timers       32 bytes per slot,   buckets that wait for credit             dequeue
 *                8192 slots; spares
 *
 *   In schedulers of many pipes the queues of a pipe stand behind it instead (layouts.h).
 *
 *   p: pipe, counted through all subports; q: queue, 0..15; c: class, 0..12. Only queues and
 *   classes that the configuration uses have an array.
 *
 * The packets of a queue are linked through their mbufs, so a queue's size is a limit and takes no
 * memory. The link is in the first line of an mbuf, which every task touches anyway: chain.h. The
 * limit is of packets, and, where it was given as a time, of the bytes that the subscriber's own
 * rate sends in that time. A ring is an array, so that the pipes that come next can be prefetched.
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
 *     ready[c]     of those subports, the one at the head: 8 frames of the mtu, then the next
 *     class[s][c]  of that subport, the pipe at the head: one frame, or in best effort with
 *                  oversubscription as many as its weight says, then the next
 *     queue[q][p]  of that pipe, the class's queue, or the best-effort queue that has had the least
 *                  for its weight
 *
 * Other threads may read, with relaxed loads, the counters of struct sched and class[s][c], and
 * wheel_pipe.counters.
 */
/* clang-format on */
#ifndef SCHED_WHEEL_H
#define SCHED_WHEEL_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <rte_red.h>

#include "base/cpu/either.h"
#include "sched/backend.h"
#include "sched/shards/purse.h"
#include "sched/stamp.h"
#include "sched/wheel/bucket.h"
#include "sched/wheel/chain.h"
#include "sched/wheel/fq.h"
#include "sched/wheel/l4s.h"
#include "sched/wheel/pie.h"
#include "sched/wheel/queue.h"
#include "sched/wheel/timers.h"

/** In bits of classes, the bit that stands for the whole pipe or subport. */
#define WHEEL_SELF       QOS_CLASSES
#define WHEEL_SELF_BIT   (1u << WHEEL_SELF)
#define WHEEL_SHARED_BIT (WHEEL_SELF_BIT << 1) /* in wheel_gate.caps: a rate that shards share */
#define WHEEL_BE_BITS    0xf000u               /* in bits of queues: best effort */

/** So many subports' classes are not all in a core's first cache. */
#define WHEEL_MANY_SUBPORTS 64

/** Frames of a subport's turn in a class. */
#define WHEEL_SUBPORT_TURN 8

struct wheel_pipe {
    struct bucket bucket;
    int32_t deficit; /* bytes left of its last turn */
    union {
        struct {
            uint16_t queued; /* bit per queue: holds packets */
            uint16_t listed; /* bit per class: stands in its ring */
            uint16_t waits;  /* bit per class, and for the whole pipe: lacks credit */
            uint16_t timed;  /* likewise: its bucket is linked into the timers */
        };
        uint64_t bits; /* all four, as enqueue reads and writes them */
    };
    uint16_t profile;            /* max_profiles: none yet; that one has no room */
    uint8_t limited;             /* has lacked credit since it was empty: enum sched_limited */
    uint8_t be_last;             /* best effort: the queue that was served last, 0..3 */
    uint32_t wrr[QOS_BE_QUEUES]; /* best effort: bytes / weight sent so far, times 2^15 */
    struct sched_pipe_counters counters; /* read by other threads, too */
} __rte_cache_aligned;

/** What each packet needs to know of a subport: side by side, as all are used in turns. */
struct wheel_gate {
    uint16_t backlog; /* bit per class: the ring is not empty */
    uint16_t waits;   /* as those of a pipe */
    uint16_t ready;   /* bit per class: stands in wheel.ready */
    uint16_t caps;    /* bit per class: has a rate of its own; and for the whole subport: has a rate
                         below the port's */
};

/** Subports that are ready in a class: they have something that may leave. The one at the head has
 * its turn. Where a place is free behind them it is written before it is known whether it is taken.
 */
struct wheel_ready {
    uint32_t head, tail; /* count on; their low bits are the place */
    uint8_t subport[2 * QOS_MAX_SUBPORTS];
};

struct wheel_subport {
    struct pace pace; /* up to wallet, the first line: for dequeue */
    struct bucket bucket;
    uint16_t timed;       /* as that of a pipe */
    uint16_t waits;       /* of shards: bit per class: others may know that this one waits in it */
    struct wallet wallet; /* of shards, where the rate is shared: instead of the bucket */
    struct bucket cap[QOS_CLASSES];
    struct pace cap_pace[QOS_CLASSES];
    uint64_t class_rate[QOS_CLASSES]; /* bit/s */
} __rte_cache_aligned;

struct wheel_profile {
    struct pace pace;                 /* the first line, for dequeue */
    int32_t be_turn;                  /* bytes of best effort in a turn */
    uint16_t caps;                    /* bit per class: has a rate of its own */
    uint32_t wrr_cost[QOS_BE_QUEUES]; /* what a byte adds to wheel_pipe.wrr */
    uint32_t room[QOS_QUEUES]; /* bytes that a queue may hold that is in_bytes, with overhead */
    struct codel codel[QOS_CLASSES];
    struct l4s_times l4s[QOS_CLASSES];
    struct pace cap_pace[QOS_CLASSES];
} __rte_cache_aligned;

/** What few packets need is called as if it stood in another file: the variables of the loops then
 * keep to registers; spilled to vector registers, as gcc does when it knows what a callee leaves
 * alone, they cost 5 %. */
#ifdef __clang__
#define WHEEL_OUT_OF_LINE __attribute__((noinline))
#else
#define WHEEL_OUT_OF_LINE __attribute__((noipa))
#endif

#define WHEEL_SOON 64 /* nodes that a dequeue begins to fetch */

/** Pipes that will be woken soon: a record is fetched in one dequeue, its queue in the next, and
 * the first packet of that in the third. */
struct wheel_soon {
    uint32_t node[WHEEL_SOON + TIMERS_LINE];
    struct wheel_queue *queue[WHEEL_SOON + TIMERS_LINE];
    uint32_t n, n_queues;
};

struct wheel {
    struct sched base;
    uint8_t *pipe;          /* base.pipe_stride bytes from one to the next */
    const uint8_t *records; /* sched_config.records, or the pipes in their place */
    size_t record_stride;   /* bytes from one to the next */
    struct wheel_profile *profile;
    struct wheel_subport *subport;

    uint64_t now;      /* the clock of all buckets but the line's: a TSC, up to catch_up behind */
    uint64_t real;     /* TSC of the last dequeue */
    uint64_t at_once;  /* TSC cycles: the clock follows at once where it is no further behind */
    uint32_t classes;  /* bit per class: some subport is ready in it */
    uint32_t overhead; /* bytes that a packet counts beyond its length */
    uint32_t mtu;
    int32_t frame;        /* bytes: a pipe's turn */
    int32_t subport_turn; /* bytes: a subport's turn; of a shard 0: it has to be asked for */
    uint32_t n_pipes, n_subports;
    uint32_t ready_mask; /* of places in wheel_ready.subport: more than there are subports */
    uint8_t *subport_of; /* of a pipe, by its block: its number >> block_shift */
    uint8_t block_shift;
    uint8_t aqm_size;
    uint16_t red, codel, l4s; /* bit per queue: has RED, FQ-CoDel, L4S */
    uint16_t aqm_queues;      /* bit per queue: has any AQM */
    uint16_t aqm_always;      /* and one that sees packets to empty queues, too: RED, PIE */
    uint16_t aqm_chooses;     /* and one that chooses who is next: FQ-CoDel, L4S */
    uint16_t in_bytes;        /* bit per queue: the limit or the AQM counts bytes */
    bool has_caps;            /* some profile has a rate of a class of its own */
    bool plain;               /* no queue has RED or PIE, and has_caps is not set */
    uint32_t wrr_most;        /* by what wheel_pipe.wrr of a queue may be ahead: a frame */

    /* By queue or class; each points to an array by pipe. A queue that is not used has another's
     * array and size 0. */
    uint8_t *queue[QOS_QUEUES]; /* queue_stride bytes from one to the next */
    size_t queue_stride;
    uint16_t size[QOS_QUEUES];       /* packets */
    uint16_t most[QOS_QUEUES];       /* packets; a queue that holds so many takes none */
    uint16_t plain_size[QOS_QUEUES]; /* packets; below, no limit of bytes and no AQM has a say */
    struct wheel_tally *tally[QOS_QUEUES]; /* queues that are not used share one array */
    uint8_t *aqm[QOS_QUEUES];              /* state of RED, PIE or L4S, aqm_size bytes each */
    struct bucket *cap[QOS_CLASSES];       /* by class and pipe */

    uint32_t joined[QOS_CLASSES]; /* pipes put into rings of a class since the last dequeue */
    uint32_t old; /* bit per class: a ring may hold pipes that were put in before; others,
                     which have just come or were woken, are in the cache */
    struct wheel_ready ready[QOS_CLASSES];
    struct wheel_gate gate[QOS_MAX_SUBPORTS];
    struct bucket line; /* of the port */
    struct pace line_pace;
    struct rte_mbuf nobody; /* takes writes that are not needed: cheaper than a branch */

    struct sched_drops dropped;
    uint64_t hz, start; /* start: real */
    uint64_t slowest;   /* TSC cycles: the longest time in which a bucket of a profile fills up */
    uint64_t step; /* TSC cycles: no bucket overflows that lacks a frame's credit, or a little */
    uint64_t catch_up; /* TSC cycles */
    double red_time;   /* bytes of the line per TSC cycle: RED's clock */
    uint32_t n_profiles, max_profiles;
    struct rte_red_config red_config[QOS_CLASSES];
    struct pie_config pie_config[QOS_CLASSES];
    struct l4s_config l4s_config[QOS_CLASSES];
    uint32_t random;            /* state of a generator, never 0 */
    struct fq *fq;              /* the pool of FQ-CoDel's states */
    uint32_t n_fq, fq_in_use;   /* states; those that hold packets */
    uint32_t fq_hand;           /* the state that is given away next, if it holds nothing */
    uint64_t *fq_busy;          /* bit per state: holds packets */
    struct wheel_shard *shard;  /* NULL: it is a scheduler of its own (shards/shard.h) */
    struct cfg_scheduler shape; /* a copy, without subports */
    struct wheel_soon soon;
    struct timers timers;
} __rte_cache_aligned;

/** Where the bits of a class stand in wheel_pipe.bits; those of a queue stand at 0. */
#define WHEEL_LISTED 16
#define WHEEL_WAITS  32
#define WHEEL_TIMED  48

static_assert(sizeof(struct wheel_pipe) == RTE_CACHE_LINE_SIZE, "a pipe is one line");
static_assert(offsetof(struct wheel_pipe, listed) ==
                  offsetof(struct wheel_pipe, bits) + WHEEL_LISTED / 8,
              "little-endian");
static_assert(sizeof(uintptr_t) == 8, "pointers with 16 bits to spare");

/* --- the hot path: enqueue.c, dequeue.c, and both a second time (layouts.h) --- */

uint32_t wheel_enqueue(struct sched *base, struct rte_mbuf **m, uint32_t n);
void wheel_expect(const struct sched *base, struct rte_mbuf *const *m, uint32_t n, uint32_t first);
uint32_t wheel_dequeue(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n);

#ifndef WHEEL_BY_PIPE
uint32_t wheel_enqueue_by_pipe(struct sched *base, struct rte_mbuf **m, uint32_t n);
void wheel_expect_by_pipe(const struct sched *base, struct rte_mbuf *const *m, uint32_t n,
                          uint32_t first);
uint32_t wheel_dequeue_by_pipe(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n);
#endif

/* --- what the files of the wheel share --- */

/** Bytes of a wheel for a shape, and setting the pointers to its arrays in so much zeroed memory,
 * once its shape, max_profiles, n_pipes and n_subports are set (layout.c). */
uint64_t wheel_memory(const struct cfg_scheduler *s, unsigned max_profiles);
void wheel_lay_out(struct wheel *w, const struct cfg_subport *subports);

/** Schedulers of so many pipes and more have a pipe's queues behind it. Tests set it, before any is
 * built. */
extern uint32_t wheel_by_pipe_from;

/** Prefetch what serving up to n packets will touch (ahead.c). */
void wheel_fetch(const struct wheel *w, uint32_t n);

/** Prefetch the first packets of n queues whose pipes were woken. */
void wheel_fetch_woken(const struct wheel *w, struct wheel_queue *const *q, uint32_t n);

/** Prefetch, at the end of a dequeue, what the next wheel_fetch() for n packets will read first:
 * until then lines come while others work. */
void wheel_fetch_next(struct wheel *w, uint32_t n);

/** Wake buckets whose time has come, but no more than a dequeue has time for (wake.c). */
void wheel_run_timers(struct wheel *w, uint64_t now);

/** The bucket of a subport, or of a class of it, has earned enough. */
void wheel_wake_subport(struct wheel *w, uint32_t subport, unsigned class);

/** Have a pipe p, or a class of it, wait until its bucket is ready (TSC). class WHEEL_SELF means
 * the pipe's own bucket. */
void wheel_pipe_waits(struct wheel *w, uint32_t pipe, struct wheel_pipe *p, unsigned class,
                      uint64_t ready);

/** Have a subport, or a class of it (or WHEEL_SELF), wait for credit until ready (TSC). */
void wheel_subport_waits(struct wheel *w, uint32_t subport, unsigned class, uint64_t ready);

/** Ask for credit at the cap of a pipe's class, if it has one: else the class waits. */
bool wheel_pipe_may_leave(struct wheel *w, uint32_t pipe, unsigned class, uint32_t bytes);

/** Take the credit for which wheel_pipe_may_leave() has asked. */
void wheel_pipe_pay(struct wheel *w, uint32_t pipe, unsigned class, uint32_t bytes);

/** Ask for credit at a rate of a subport, that of a class or (WHEEL_SELF) its own: else it waits.
 */
static inline bool wheel_subport_may(struct wheel *w, uint32_t subport, unsigned class,
                                     const struct bucket *b, const struct pace *pace,
                                     uint32_t bytes)
{
    uint64_t ready = bucket_ready(b, pace, bucket_cost(pace, bytes));

    if (is_after(w->now, ready))
        return true;
    wheel_subport_waits(w, subport, class, ready);
    return false;
}

/** Ask for credit at the rates that not every packet has to keep: the caps of the pipe's class and
 * of the subport's class, and the subport's rate. The one that lacks credit waits. In line, as what
 * wheel_pay() does: each packet asks below a subport that has a rate. */
static inline bool wheel_may_leave(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                                   uint32_t bytes)
{
    const struct wheel_subport *s = &w->subport[subport];

    return (!w->has_caps || wheel_pipe_may_leave(w, pipe, class, bytes)) &&
           ((w->gate[subport].caps & 1u << class) == 0 ||
            wheel_subport_may(w, subport, class, &s->cap[class], &s->cap_pace[class], bytes)) &&
           ((w->gate[subport].caps & WHEEL_SELF_BIT) == 0 ||
            wheel_subport_may(w, subport, WHEEL_SELF, &s->bucket, &s->pace, bytes));
}

/** Take the credit for which wheel_may_leave() has asked. */
static inline void wheel_pay(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                             uint32_t bytes)
{
    struct wheel_subport *s = &w->subport[subport];

    if (w->has_caps)
        wheel_pipe_pay(w, pipe, class, bytes);
    if ((w->gate[subport].caps & 1u << class) != 0)
        bucket_take(&s->cap[class], bucket_cost(&s->cap_pace[class], bytes), w->now);
    if ((w->gate[subport].caps & WHEEL_SELF_BIT) != 0)
        bucket_take(&s->bucket, bucket_cost(&s->pace, bytes), w->now);
}

/** The fate of a packet that arrives, or why it is dropped. */
enum verdict { ACCEPTED, HELD, TAIL, RED, PIE, CODEL, L4S, UNDECIDED };

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

static inline uint32_t wheel_subport_of(const struct wheel *w, uint32_t pipe)
{
    return w->subport_of[pipe >> w->block_shift];
}

/** A pipe by its number. */
static inline struct wheel_pipe *wheel_pipe_of(const struct wheel *w, uint32_t pipe)
{
#ifdef WHEEL_BY_QUEUE
    const size_t stride = sizeof(struct wheel_pipe);
#else
    const size_t stride = w->base.pipe_stride;
#endif

    return (struct wheel_pipe *)(w->pipe + pipe * stride);
}

/** Prefetch the pipe of a node of the timers: a subport's bits are near. Always inline: gcc leaves
 * out calls of what only prefetches. */
static __rte_always_inline void wheel_fetch_pipe(const struct wheel *w, uint32_t node)
{
    if (likely(node / 16 < w->n_pipes))
        rte_prefetch0_write(wheel_pipe_of(w, node / 16));
}

/** The ring of a class of a subport. */
static inline struct wheel_ring *wheel_ring_of(const struct wheel *w, uint32_t subport,
                                               unsigned class)
{
    return &w->base.class[subport * QOS_CLASSES + class].ring;
}

static inline struct wheel_queue *wheel_queue_of(const struct wheel *w, uint32_t pipe,
                                                 unsigned queue)
{
#ifdef WHEEL_BY_QUEUE
    const size_t stride = sizeof(struct wheel_queue);
#else
    const size_t stride = w->queue_stride;
#endif

    return (struct wheel_queue *)(w->queue[queue] + pipe * stride);
}

/** The bytes that wait in a queue that is in_bytes, with overhead. */
static inline uint32_t wheel_load(const struct wheel *w, const struct wheel_queue *q)
{
    return wheel_number(q->tail) == 0 ? 0 : wheel_number(q->head) + w->overhead + q->load;
}

/** Classes that hold packets and do not wait for credit of their own, a bit each, by the bits of a
 * pipe. */
static inline uint32_t wheel_eligible_of(uint64_t bits)
{
    uint32_t best_effort = (uint32_t)((bits & WHEEL_BE_BITS) != 0) << QOS_BE;

    return (((uint32_t)bits & ((1u << QOS_BE) - 1)) | best_effort) &
           ~(uint32_t)(bits >> WHEEL_WAITS);
}

/** Likewise, by the pipe. */
static inline uint32_t wheel_eligible(const struct wheel_pipe *p)
{
    return wheel_eligible_of(p->bits);
}

/** What a best-effort queue has had for its weight, beyond from, which is a frame less than what
 * the one has had that was served last; most, if it is empty (1). Who is further away than a frame
 * was empty for a while: an empty queue does not save up its share, but for a frame. */
static inline uint32_t wheel_share_had(const struct wheel *w, uint32_t had, uint32_t from,
                                       uint32_t empty)
{
    uint32_t beyond = had - from;

    return (uint32_t)either_if_below(2 * w->wrr_most, beyond, 0, beyond) | -empty;
}

/** Of a pipe's best-effort queues that hold packets, the one that has had the least for its weight:
 * among several without a branch, because it follows from the packets. */
static inline unsigned wheel_choose_queue(const struct wheel *w, struct wheel_pipe *p)
{
    uint32_t held = p->queued & WHEEL_BE_BITS, empty = ~held >> QOS_BE,
             from = p->wrr[p->be_last] - w->wrr_most;
    uint64_t low, high, k[QOS_BE_QUEUES];

    if (likely((held & (held - 1)) == 0))
        return (unsigned)__builtin_ctz(held | 1u << (QOS_QUEUES - 1));
    for (unsigned i = 0; i < QOS_BE_QUEUES; i++)
        k[i] = (uint64_t)wheel_share_had(w, p->wrr[i], from, empty >> i & 1) << 32 | i;
    low = either_if_below(k[1], k[0], k[1], k[0]);
    high = either_if_below(k[3], k[2], k[3], k[2]);
    low = either_if_below(high, low, high, low);
    p->wrr[low & 3] = from + (uint32_t)(low >> 32);
    return QOS_BE + (unsigned)(low & 3);
}

#endif
