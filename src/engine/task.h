/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the engine and a task.
 *
 * handle() owns all n mbufs of the burst and gives each exactly one end: task_emit() to an output,
 * task_drop() with a reason, or task_consume() (a sink). It makes no syscall, writes no log,
 * allocates nothing. Between tasks every packet is a complete Ethernet frame without FCS, in one
 * segment.
 *
 * All counters of a task instance are written by its own core only, and read by others with relaxed
 * loads.
 */
#ifndef ENGINE_TASK_H
#define ENGINE_TASK_H

#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "base/source_limit.h"
#include "plan/plan.h"
#include "config/schema.h"
#include "engine/meta.h"

#define BURST_MAX 64
#define HOLD_MAX  8192 /* packets of a port that a backlog may hold to choose from */
#define RANKS     16   /* of packets in a backlog: rank 0 is kept longest */

enum family { FAMILY_IPV4, FAMILY_IPV6, N_FAMILIES };

/** Directions of subscribers' packets through the gateway. */
enum direction { DIRECTION_NONE, DIRECTION_UP, DIRECTION_DOWN };

/** Packets of IP, and their bytes with all headers from IP's on (RFC 4293: ipIfStatsHCInOctets). */
struct traffic {
    uint64_t packets, bytes;
};

/* The drop reasons that every task has: none of the destinations of an output leads to the packet's
 * egress port; its source has had its share of the slow path. */
#define DROP_NO_PATH      TASK_MAX_DROPS
#define DROP_PUNT_LIMITED (TASK_MAX_DROPS + 1)
#define N_TASK_DROPS      (TASK_MAX_DROPS + 2) /* reasons that a task counts in its drops[] */

/** What stands in the row of task_schema.params[] of a task with rank(): how many packets it may
 * hold. */
#define PARAM_IS_SHED                                                                              \
    .name = "shed", .type = PARAM_COUNT, .def = "1024", .max = HOLD_MAX,                           \
    .help =                                                                                        \
        "packets of a port that are held to choose from when it brings more than the core can "    \
        "take",                                                                                    \
    .more = "It counts where the task reads a port and names a scheduler: the lowest classes are " \
            "dropped (overload). 0: the device drops, of any class."

struct task;
struct tables; /* tables/tables.h; the engine only hands it on */
struct out;
struct tap_task; /* engine/tap.h */
struct tap_out;

/** Send n packets (1..BURST_MAX) to a destination. It owns all of them afterwards: packets that
 * find no room are dropped and counted, or held (FULL_WAIT). */
typedef void (*out_send_fn)(struct out *o, struct rte_mbuf **m, uint16_t n);

/** One destination of a task instance: a transmit queue, an instance on the same core, or a ring.
 */
struct out {
    out_send_fn send;
    union {
        struct task *task;
        struct rte_ring *ring;
        struct {
            uint16_t port, queue; /* DPDK's port number */
        } tx;
    };
    uint16_t n;       /* packets waiting in buf for the end of this burst */
    uint16_t n_held;  /* FULL_WAIT on a port: packets that the port would not take yet */
    bool wait;        /* FULL_WAIT */
    bool count_bytes; /* a port whose device does not */
    uint32_t room;    /* FULL_WAIT on a ring: slots that must be free before a burst */
    uint64_t sent;    /* packets that the destination took */
    uint64_t bytes;   /* of those packets, where count_bytes */
    uint64_t full;    /* packets dropped because the destination was full */
    struct rte_mbuf *buf[BURST_MAX];
    struct rte_mbuf *held[BURST_MAX];
    struct tap_out *tap; /* NULL: no capture looks at this output */
};

/** The share of the slow path that each source has, in TSC cycles: of each instance that punts, and
 * for each reason. Who serves the slow path writes it in its init(); until then there is no limit.
 */
struct punt_rates {
    struct source_rate subscriber; /* where the mbuf names one */
    struct source_rate port;       /* of all other packets that came in by one port */
    struct source_rate line;       /* of one line, and each kind of frame for the control plane */
    struct source_rate lines;      /* of all lines with a subscriber, and of all others */
};

/** What each source has punted by an instance. */
struct punt_limit {
    const struct punt_rates *rates;
    bool by_subscriber; /* packets name their subscriber, or 0 */
    struct source_limit sources;
};

/** What lines have punted for the control plane by an instance. */
struct punt_lines {
    uint64_t full_at[2]; /* of all lines without a subscriber, and of all others: source_take() */
    struct source_limit sources;
};

#define CHAIN_MAX 5 /* tasks in a chain */

/**
 * Types of task, each of which sends to the next by its output 0, and the function that does the
 * work of all of them at once. It takes the head's bursts where each link between them is a direct
 * call that nothing looks at (link_chain_is_whole()), changes the packets that every task of the
 * chain would let go by that output, in the way that they would, and ends in link_chain_end().
 */
struct chain_type {
    const struct task_type *types[CHAIN_MAX];
    unsigned n;
    void (*handle)(struct task *head, struct rte_mbuf **m, uint16_t n);
};

/** The chain that an instance is the head of. */
struct task_chain {
    const struct chain_type *type; /* NULL: none */
    struct task *task[CHAIN_MAX];
};

/** What task_type.explain is given beside the packet. */
struct task_explain {
    struct rte_mempool *pool; /* for packets that the task makes */
    FILE *notes;              /* lines for people: what else the task would do */
};

/** All that a task's init may look at. */
struct task_env {
    const struct plan *plan;
    const struct cfg_task *cfg;
    uint16_t instance;        /* index in plan->instances[] */
    const struct task *first; /* the instance of the same task that was started first; NULL: this */
    struct tables *tables;
    struct rte_mempool *pool; /* for packets that the task makes */
    int socket;
    uint64_t tsc_hz;
    struct punt_rates *punt_rates; /* NULL: nobody punts (a dry run) */
    const uint32_t *link_ups;      /* by port: how often its link has come up again, to be read with
                                      relaxed loads; NULL: nobody tells (a dry run) */
};

struct task_type {
    struct task_schema schema;
    size_t state_size; /* bytes at task->state, zeroed and cache-aligned before init() */
    /** Prepare task->state. Returns 0, or -errno with the reason on stderr. NULL: nothing to do. */
    int (*init)(struct task *t, const struct task_env *env);
    /** Release what init() took. Called once where init() succeeded. NULL: nothing to do. */
    void (*fini)(struct task *t);
    /** Take a burst of 1..BURST_MAX packets. NULL for a source. */
    void (*handle)(struct task *t, struct rte_mbuf **m, uint16_t n);
    /**
     * Called once in each round of the core with the current TSC: for sources, timers and
     * schedulers. May make packets, which it adds to task->created, and emit up to BURST_MAX
     * packets. Returns the number of packets moved: 0 lets the core idle. A poll() that sets
     * task->again is called once more in this round, unless back-pressure holds its outputs.
     */
    uint16_t (*poll)(struct task *t, uint64_t now);
    /** Prefetch what handle() will read for n packets. The task before it has written their
     * metadata, but some of them may be dropped, and name nothing. NULL: nothing to prefetch. */
    void (*expect)(const struct task *t, struct rte_mbuf *const *m, uint32_t n);
    /**
     * For a task with hold > 0, whose port has more packets than the core can handle: write the
     * rank of each of n packets (0..RANKS - 1, 0 is kept longest). A rank follows from the packet's
     * own bytes, of which nothing has been checked. Packets of the greatest rank are
     * dropped first, for the reason overload, and count in task->in.
     */
    void (*rank)(const struct task *t, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank);
    unsigned overload;
    /**
     * Do with one packet what handle() would do, in a dry run (explain/dry_run.h): for a type whose
     * handle() changes more than the packet, its outputs and its counters. Outputs and counters of
     * t belong to the dry run; the state is that of the running task, whose core may be writing it:
     * neither state nor tables may be changed. Called by the main thread. NULL: the dry run calls
     * handle(), on a state of its own that init() has made.
     */
    void (*explain)(struct task *t, struct rte_mbuf *m, const struct task_explain *x);
    /** Chains that begin with this type, the longest first. NULL: none. */
    const struct chain_type *chains;
    unsigned n_chains;
    /** Returns the number of packets that the task holds now (a scheduler's queues). NULL: none.
     * Called by other threads, too. */
    uint64_t (*held)(const struct task *t);
    /** With held(), for a task that keeps packets only to send several at once: a number that is
     * another one when all have been sent that it kept before, or 0 while it keeps none. A grace
     * period waits for that (quiesce.h). NULL: it keeps none so. Called by other threads. */
    uint32_t (*gathered)(const struct task *t);
    /** With held(): may handle() send packets of its burst, too, and not poll() alone? */
    bool sends_at_once;
    /** Does handle() free packets of its burst itself, and count them in task->drops? */
    bool drops_itself;
    /** Figures of this type beyond the common counters, for people: their names, NULL at the end,
     * and the value of number i. NULL: none. stat() is called by other threads, too. */
    const char *const *stat_names;
    uint64_t (*stat)(const struct task *t, unsigned i);
    /** What the n instances (1 or more) of one task have measured together, for a report: a JSON
     * object that belongs to the caller, or NULL without memory. NULL: nothing. */
    struct json_t *(*report)(const struct task *const *instances, unsigned n);
};

struct task {
    void (*handle)(struct task *t, struct rte_mbuf **m, uint16_t n);
    void *state;
    uint16_t in_port; /* ingress port of the burst (the configuration's number), or PORT_IN_MBUF */
    uint16_t n_drop;  /* packets in drop[] */
    uint16_t n_outs;  /* all destinations, of all outputs */
    bool stopping;    /* set by the engine at a stop: a source makes no more packets */
    bool finished;    /* set by a source with a count or a duration at its end */
    bool again;       /* set by poll(): the task has more to do in this round */
    bool ready;       /* init() succeeded: fini() is due */
    uint8_t tapped;   /* TAPPED_*: which packets a capture copies */
    struct out *outs;
    struct out
        *output[TASK_MAX_OUTPUTS];      /* first destination of each output; NULL: not connected */
    uint16_t n_dests[TASK_MAX_OUTPUTS]; /* destinations of each output */
    const uint8_t *by_port[TASK_MAX_OUTPUTS]; /* plan_output.by_port */

    /* counters */
    uint64_t in;                        /* packets taken by handle() */
    uint64_t created;                   /* packets made here */
    uint64_t consumed;                  /* packets that ended here as they should */
    uint64_t drops[N_TASK_DROPS];       /* by the schema's reasons, and those of every task */
    struct traffic traffic[N_FAMILIES]; /* packets of subscribers that were found good */
    struct rte_mbuf *drop[BURST_MAX];
    uint8_t drop_reason[BURST_MAX]; /* parallel to drop[] */

    const struct task_type *type;
    const struct cfg_task *cfg;
    struct tap_task *tap;      /* NULL: no capture looks at this task */
    struct punt_limit *punted; /* NULL: it punts without limit */
    uint16_t instance, worker, core;
    uint16_t hold;     /* set by init(): packets of a port to choose from by rank(), 0..HOLD_MAX */
    uint8_t direction; /* set by init(), enum direction: of what task_count_ip() counts */
    struct task_chain chain;
    struct task *ahead; /* the task called for packets of output 0, where it has expect() */
} __rte_cache_aligned;

#define TAPPED_RX    1 /* packets that the task's ports receive */
#define TAPPED_DROPS 2 /* packets that the task drops */

#define PORT_IN_MBUF UINT16_MAX /* the burst came over a link: m->port has each ingress port */

/** The ingress port of a packet of the burst: its number in the configuration. */
static inline uint16_t task_in_port(const struct task *t, const struct rte_mbuf *m)
{
    return t->in_port != PORT_IN_MBUF ? t->in_port : meta_in_port(m);
}

/** The gateway's own MAC on the ingress port of a packet. port_mac: table by the configuration's
 * port number; in_port: that of the burst (task->in_port). */
static inline const uint8_t *task_own_mac(const uint8_t (*port_mac)[8], uint16_t in_port,
                                          const struct rte_mbuf *m)
{
    return port_mac[(in_port != PORT_IN_MBUF ? in_port : meta_in_port(m)) & (CFG_MAX_PORTS - 1)];
}

/** Count packets of subscribers, once for a burst. */
static inline void task_count_ip(struct task *t, enum family family, uint32_t packets,
                                 uint64_t bytes)
{
    t->traffic[family].packets += packets;
    t->traffic[family].bytes += bytes;
}

/** Is this output connected? For init(), and before an output that may be left open is used. */
static inline int task_has_output(const struct task *t, unsigned output)
{
    return t->output[output] != NULL;
}

/** Drop a packet for a reason of the task's schema; it is freed at the end of this burst. */
static inline void task_drop(struct task *t, struct rte_mbuf *m, unsigned reason)
{
    t->drops[reason]++;
    t->drop_reason[t->n_drop] = (uint8_t)reason;
    t->drop[t->n_drop++] = m;
}

/** Give a packet to a destination; task_flush() sends it at the end of this burst. */
static inline void out_put(struct out *o, struct rte_mbuf *m)
{
    o->buf[o->n++] = m;
}

/** Give a packet to a connected output: its only destination, or the one that leads to the packet's
 * egress port. */
static inline void task_emit(struct task *t, unsigned output, struct rte_mbuf *m)
{
    struct out *o = t->output[output];

    if (t->n_dests[output] > 1) {
        uint8_t way = t->by_port[output][meta_out_port(m)];

        if (unlikely(way == 0xff)) {
            task_drop(t, m, DROP_NO_PATH);
            return;
        }
        o += way;
    }
    out_put(o, m);
}

/** Tell the task that is called for packets of output 0 of some that will come in this burst. */
static inline void task_announce(const struct task *t, struct rte_mbuf *const *m, uint32_t n)
{
    if (t->ahead != NULL && n > 0)
        t->ahead->type->expect(t->ahead, m, n);
}

/**
 * Send a packet to the slow path, or drop it for the reason where that is not connected. A source
 * that has had its share is stopped here, before a ring and a core that all share:
 * DROP_PUNT_LIMITED, or the reason where only a MAC was to be asked for.
 */
void task_punt(struct task *t, unsigned output, struct rte_mbuf *m, enum punt_reason why,
               unsigned reason);

/** Send a packet whose sender will be answered to the slow path, or drop it for the reason where
 * that is not connected. The answer will leave by the ingress port. */
static inline void task_punt_back(struct task *t, unsigned output, struct rte_mbuf *m,
                                  enum punt_reason why, unsigned reason)
{
    meta_set_out_port(m, (uint8_t)task_in_port(t, m));
    task_punt(t, output, m, why, reason);
}

/**
 * Send a frame for the control plane to the slow path by a connected output. line: the key of port
 * and VLAN pair, below 2^30; kind: 1..3. Where its line, or all lines with a subscriber or without,
 * have had their share it is dropped: DROP_PUNT_LIMITED. lines NULL: no limit.
 */
void task_punt_line(struct task *t, unsigned output, struct rte_mbuf *m, struct punt_lines *lines,
                    uint32_t line, unsigned kind);

/* What a task may find of a packet: a drop reason of its schema, or one of these. */
enum {
    VERDICT_GOOD = TASK_MAX_DROPS, /* the packet goes on */
    VERDICT_FOR_US,                /* the packet is for the gateway itself */
};

/** End a packet by a verdict other than VERDICT_GOOD: punt a packet for the gateway, or drop it for
 * the reason where the slow path is not connected; drop any other packet for the verdict. */
static inline void task_refuse(struct task *t, unsigned punt, struct rte_mbuf *m, int verdict,
                               unsigned reason)
{
    if (verdict == VERDICT_FOR_US)
        task_punt_back(t, punt, m, PUNT_FOR_US, reason);
    else
        task_drop(t, m, (unsigned)verdict);
}

/** Emit a whole burst at once. Nothing else may have been put into this output in this burst. */
static inline void task_emit_burst(struct task *t, unsigned output, struct rte_mbuf **m, uint16_t n)
{
    if (likely(t->n_dests[output] == 1)) {
        t->output[output]->send(t->output[output], m, n);
        return;
    }
    for (uint16_t i = 0; i < n; i++)
        task_emit(t, output, m[i]);
}

/**
 * Drop packets that a port has just received and that were never given to handle(); they count in
 * task->in, too. Cheaper than task_drop(), for packets whose second cache line nobody has touched.
 */
void task_drop_fresh(struct task *t, struct rte_mbuf **m, uint16_t n, unsigned reason);

/** Drop a packet at once: for a task that may drop more packets than a burst has. */
void task_drop_now(struct task *t, struct rte_mbuf *m, unsigned reason);

/** End packets here, as a sink does: count them as consumed and free them. */
void task_consume(struct task *t, struct rte_mbuf **m, uint16_t n);

/** Send what a burst left in the outputs, free what it dropped. Called by the engine after handle()
 * and poll(). */
void task_flush(struct task *t);

/** Run a burst of 1..BURST_MAX packets through a task. */
static inline void task_run(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    t->in += n;
    t->handle(t, m, n);
    task_flush(t);
}

/** All known types, NULL at the end (tasks/task_types.c). */
extern const struct task_type *const task_types[];

#endif
