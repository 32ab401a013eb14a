/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes a wheel a shard: where one wheel asks a bucket of the port, of a subport or of a class
 * of one, a shard asks its wallet, and that the purse. The hot path is compiled twice, so that a
 * wheel without shards does not look for them: dequeue.c.
 */
#ifndef SCHED_SHARDS_SHARD_H
#define SCHED_SHARDS_SHARD_H

#include "sched/shards/shards.h"
#include "sched/wheel/wheel.h"

/** The pipes of a subport in a class, on this shard, beside struct wheel_ring and struct
 * wheel_rounds, which each turn touches. */
struct shard_ring {
    uint64_t turn;  /* shard_line.round of its last turn */
    uint64_t noted; /* TSC at which its round was noted for others last */
    uint64_t had;   /* bytes that the class had sent when at was noted */
    uint64_t told;  /* likewise, when shards_turns.sent was told */
    uint32_t said;  /* what shards_turns.round says of this shard */
    uint32_t paid;  /* rounds when credit was borrowed last: what others know */
    uint32_t at;    /* rounds when credit was borrowed, or the ring went on with others */
} __rte_cache_aligned;

static_assert(sizeof(struct shard_ring) == RTE_CACHE_LINE_SIZE, "a ring of a shard is one line");

/** The rates of classes of a subport, on this shard; that of the subport is in wheel_subport. */
struct shard_subport {
    struct wallet cap[QOS_CLASSES];
} __rte_cache_aligned;

#define SHARD_BURST 64           /* packets of a dequeue, for which there may be room at once */
#define SHARD_SAVED UINT64_C(16) /* rounds: what a subport did not send may be sent later */

/** A class of the port, on this shard. */
struct shard_line {
    uint64_t round; /* in which its subports have their turns */
    uint64_t asked; /* TSC at which credit was asked for last */
};

struct wheel_shard {
    struct shards *all;
    unsigned index;
    struct wallet line; /* of the port; it may owe what a burst had beyond it */
    /* Credit of line that is any. The part of a cycle that stays when credit is given back is none:
     * a low class would send a burst on it. But where several subports lie across shards, who lets
     * others go first gives its credit back each time, and looks again as long as it has that part:
     * to borrow each time anew cost a subport a quarter of its rate. */
    int64_t least;
    int64_t room;  /* credit of line for SHARD_BURST packets of the mtu, and least */
    uint64_t turn; /* bytes that a subport may send in a class in a round, on all shards together */
    int32_t burst; /* bytes of a quantum of the port, or a frame: where there is one subport, no
                      more leave before line has paid for them */
    uint64_t line_again;  /* TSC: not asked again before, unless the class is another */
    unsigned line_class;  /* for which it was refused */
    uint64_t short_until; /* TSC: so long the port counts as short, since it was refused */
    bool port_short;      /* shard_see_port() */
    bool roomy;           /* shard_has_room(), in this dequeue, and nobody else went first */
    uint32_t stay;        /* counts the times that the shard was away for long; from 1 on */
    uint64_t seen, swept; /* TSC of the last dequeue, and of the last look for idle wallets */
    struct shard_line turns[QOS_CLASSES];
    /* Counts how often all turns of a class had to be asked for anew: for each round, twice in a
     * quantum, and when the port became short. */
    uint32_t open[QOS_CLASSES];
    uint64_t holds[QOS_MAX_SUBPORTS / 64]; /* bit per subport: a wallet of it has got credit */
    struct shard_ring *ring;               /* [subport * QOS_CLASSES + class], behind subport */
    struct shard_subport subport[];
};

/** The ring of a class of a subport, as its shard knows it. */
static inline struct shard_ring *shard_ring_of(const struct wheel *w, uint32_t subport,
                                               unsigned class)
{
    return &w->shard->ring[subport * QOS_CLASSES + class];
}

/** Bytes that a wheel of so many subports keeps as a shard. */
uint64_t shard_bytes(uint32_t n_subports);

/** Make a wheel, which is built, a shard. Returns 0 or -ENOMEM. */
int shard_start(struct wheel *w, struct shards *all, unsigned index, int socket);

/** End a shard: its credit goes back, and nobody waits for it. */
void shard_stop(struct wheel *w);

/** Begin a dequeue: show that the shard lives, and give back what idle wallets hold. */
void shard_begin(struct wheel *w);

/** Give back what a wallet of a rate holds that is shared, and let nobody wait for it. */
void shard_give_back(struct wheel_shard *x, struct wallet *wallet);

/** Give back what idle wallets hold, and have all turns asked for anew: twice in a quantum. */
void shard_sweep(struct wheel *w);

/** Have all turns asked for anew. */
static inline void shard_open_turns(struct wheel_shard *x)
{
    for (unsigned c = 0; c < QOS_CLASSES; c++)
        x->open[c]++;
}

/** Does a shard wait for the port, or did this one lately? Else it has room for all, and whose turn
 * it is makes no difference. Looked at once in a dequeue that has something to send: others write
 * that line. */
void shard_see_port(struct wheel *w);

/** Ask for the port's credit for the highest class that is ready: the wallet does not hold any. */
bool shard_line_asks(struct wheel *w);

/** May packets of the highest class leave that is ready, for the port's rate? */
static inline bool shard_line_allows(struct wheel *w)
{
    return wallet_holds(&w->shard->line, (unsigned)__builtin_ctz(w->classes), w->shard->least) ||
           shard_line_asks(w);
}

/** Does the wallet of the port hold credit for a burst of n packets of any class, however long?
 * Then nothing need be asked before they have left. */
static inline bool shard_has_room(const struct wheel *w, uint32_t n)
{
    return n <= SHARD_BURST && wallet_holds(&w->shard->line, QOS_BE, w->shard->room);
}

/** Make that room, as long as no shard waits for the port: else a burst would ask for each packet
 * once the wallet holds less. The wallet then holds what is borrowed at once, and no more. Returns
 * whether it has. */
bool shard_makes_room(struct wheel *w, uint32_t n);

/** Have the port paid for bytes that left. */
static inline void shard_line_pay(struct wheel *w, uint32_t bytes)
{
    w->shard->line.credit -= (int64_t)bucket_cost(&w->line_pace, bytes);
}

/** Ask for the credit of a rate of a subport: class which, or WHEEL_SELF. Where it is lacking, the
 * subport or its class waits. */
bool shard_asks(struct wheel *w, uint32_t subport, unsigned which, unsigned class, uint32_t bytes);

/** May so many bytes leave for a rate of a subport, as shard_asks() has it? The wallet holds credit
 * for most, and nobody else need be asked. */
static inline bool shard_allows(struct wheel *w, uint32_t subport, unsigned which, unsigned class,
                                const struct wallet *wallet, const struct pace *pace,
                                uint32_t bytes)
{
    return (wallet->waits == 0 && wallet->purse != NULL &&
            wallet_holds(wallet, class, (int64_t)bucket_cost(pace, bytes))) ||
           shard_asks(w, subport, which, class, bytes);
}

/** What wheel_may_leave() does, where rates are shared. */
static inline bool shard_may_leave(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                                   uint32_t bytes)
{
    const struct shard_subport *x = &w->shard->subport[subport];
    const struct wheel_subport *s = &w->subport[subport];

    return (!w->has_caps || wheel_pipe_may_leave(w, pipe, class, bytes)) &&
           ((w->gate[subport].caps & 1u << class) == 0 ||
            shard_allows(w, subport, class, class, &x->cap[class], &s->cap_pace[class], bytes)) &&
           ((w->gate[subport].caps & WHEEL_SELF_BIT) == 0 ||
            shard_allows(w, subport, WHEEL_SELF, class, &s->wallet, &s->pace, bytes));
}

/** Have a rate paid for bytes: out of the wallet where it is shared, else out of the bucket. */
static inline void shard_rate_pay(struct wallet *wallet, struct bucket *b, const struct pace *pace,
                                  uint32_t bytes, uint64_t now)
{
    uint64_t cost = bucket_cost(pace, bytes);

    if (wallet->purse == NULL)
        bucket_take(b, cost, now);
    else
        wallet->credit -= (int64_t)cost;
}

/** What wheel_pay() does, where rates are shared. */
static inline void shard_pay(struct wheel *w, uint32_t subport, uint32_t pipe, unsigned class,
                             uint32_t bytes)
{
    struct shard_subport *x = &w->shard->subport[subport];
    struct wheel_subport *s = &w->subport[subport];

    if (w->has_caps)
        wheel_pipe_pay(w, pipe, class, bytes);
    if ((w->gate[subport].caps & 1u << class) != 0)
        shard_rate_pay(&x->cap[class], &s->cap[class], &s->cap_pace[class], bytes, w->now);
    if ((w->gate[subport].caps & WHEEL_SELF_BIT) != 0)
        shard_rate_pay(&s->wallet, &s->bucket, &s->pace, bytes, w->now);
}

/** Let the next subport have its turn that is ready in a class, where nothing need be asked for
 * that: the port has room for all, and what is left of its turn is enough. In line, as most turns
 * begin so. */
static inline bool shard_goes_on(struct wheel *w, uint32_t subport, unsigned class)
{
    const struct wheel_shard *x = w->shard;
    struct wheel_ring *r = wheel_ring_of(w, subport, class);

    if (r->open != x->open[class] || r->saved <= 0)
        return false;
    r->left = r->saved;
    r->saved = WHEEL_TURN_TAKEN;
    return true;
}

/** Choose the next subport of those that are ready in a class: the first one then. Where those on
 * other shards go first, that is SHARD_NOBODY, and they wait. */
#define SHARD_NOBODY UINT32_MAX
uint32_t shard_choose(struct wheel *w, unsigned class);

/** The round of a class of a subport that lies across shards, or is the only one; a ring that was
 * empty, or whose shard was away, goes on in that of the others. */
uint32_t shard_round(struct wheel *w, uint32_t subport, unsigned class);

/** Note that round, for others, when credit was borrowed in it. */
void shard_note_round(struct wheel *w, uint32_t subport, unsigned class, uint32_t round);

/** The turns of pipes are over that stood in a ring of a class from head on; now the ring has gone
 * on. stays: 1: the pipe whose turn is over stands at its end again; sent: 1: packets have left in
 * these turns. A round begins with the first turn in it, and is over when all have had a turn that
 * were in the ring then: two may be, of which the second one had begun with pipes of the first. One
 * in which no packet has left is none. */
static inline void shard_end_turns(const struct wheel *w, const struct sched_class_state *c,
                                   uint32_t head, uint32_t stays, uint32_t sent)
{
    struct wheel_rounds *s = &w->base.rest[c - w->base.class].rounds;
    uint32_t next = c->ring.head, tail = c->ring.tail, over = s->end;

    if ((int32_t)(over - head) <= 0) {
        s->begin = head;
        s->end = over = tail - stays;
    }
    s->sent |= sent;
    if ((int32_t)(next - over) < 0)
        return;
    s->over += s->sent + ((next == tail) & (next != over));
    s->sent = 0;
    s->begin = over;
    s->end = tail;
}

/** Nobody needs to wait for this shard in a class of a subport. */
void shard_wait_no_more(struct wheel *w, uint32_t subport, unsigned class);

/** A ring has run empty, with wheel_ring.left as its turn left it: nobody needs to wait for this
 * shard, what is left of the turn may be sent in the same round, and the ring begins anew at 0. In
 * line, as most rings hold one packet. */
static inline void shard_ring_empty(struct wheel *w, struct sched_class_state *c, uint32_t subport,
                                    unsigned class)
{
    struct wheel_rounds *s = &sched_rest_of(&w->base, subport, class)->rounds;

    s->joined = s->begin = s->end = 0;
    c->ring.saved = c->ring.left;
    if (unlikely((w->subport[subport].waits >> class & 1) != 0))
        shard_wait_no_more(w, subport, class);
}

/** The rate of a subport has changed. */
void shard_limit(struct wheel *w, uint32_t subport);

uint32_t wheel_dequeue_shard(struct sched *base, uint64_t now, struct rte_mbuf **m, uint32_t n);
uint32_t wheel_dequeue_shard_by_pipe(struct sched *base, uint64_t now, struct rte_mbuf **m,
                                     uint32_t n);

#endif
