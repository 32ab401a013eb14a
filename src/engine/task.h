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
#include <stdio.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "config/plan.h"
#include "config/schema.h"
#include "engine/meta.h"

#define BURST_MAX 64
#define HOLD_MAX  8192 /* packets of a port that may be held to choose from */
#define RANKS     16   /* of packets, when there are too many: 0 is kept longest */

/* The reason that every task has: the output has several ways and none leads to the packet's egress
 * port. */
#define DROP_NO_PATH      TASK_MAX_DROPS
#define DROP_NO_PATH_NAME "no_path"

struct task;
struct tables; /* tables/tables.h; the engine only hands it on */
struct out;
struct tap_task; /* engine/tap_point.h */
struct tap_out;

/** Send n packets (1..BURST_MAX) one way; takes all of them: what finds no room is dropped and
 * counted, or kept. */
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
    uint64_t sent;    /* packets handed on */
    uint64_t bytes;   /* of them, where count_bytes */
    uint64_t full;    /* packets dropped because the destination was full */
    struct rte_mbuf *buf[BURST_MAX];
    struct rte_mbuf *held[BURST_MAX];
    struct tap_out *tap; /* NULL: no capture wants anything of it */
};

/** What a look at a task is given beside the packet, see task_type.explain. */
struct task_explain {
    struct rte_mempool *pool; /* for packets that the task makes */
    FILE *notes;              /* lines for people: what else it would do */
};

/** All that a task's init may look at. */
struct task_env {
    const struct plan *plan;
    const struct cfg_task *cfg;
    uint16_t instance; /* index in plan->instances[] */
    struct tables *tables;
    struct rte_mempool *pool; /* for packets that the task makes */
    int socket;
    uint64_t tsc_hz;
};

struct task_type {
    struct task_schema schema;
    size_t state_size; /* zeroed, cache-aligned, at task->state */
    /** Returns 0 or -errno; says why on stderr. NULL: nothing to do. */
    int (*init)(struct task *t, const struct task_env *env);
    void (*fini)(struct task *t);
    /** A burst of 1..BURST_MAX packets. NULL for a source. */
    void (*handle)(struct task *t, struct rte_mbuf **m, uint16_t n);
    /**
     * Called once in each round of the core with the current TSC: for sources, timers and
     * schedulers. May make packets (task_created()) and emit up to BURST_MAX of them. Returns how
     * many packets it moved: 0 lets the core idle. With task->again it is called once more in this
     * round, if its way on is open.
     */
    uint16_t (*poll)(struct task *t, uint64_t now);
    /**
     * For a task with hold > 0, whose port has more packets than the core can take: how important
     * (0..RANKS - 1, 0 is kept longest) each of n packets is, by what it says itself, before
     * anything of it was checked. The lowest are dropped for the reason overload; they count in
     * task->in, too.
     */
    void (*rank)(const struct task *t, struct rte_mbuf *const *m, uint32_t n, uint8_t *rank);
    unsigned overload;
    /**
     * What handle() would do with one packet, for a type whose handle() changes more than the
     * packet, its outputs and its counters. t is a shadow: outputs and counters are its own, the
     * state is the task's, which its core may be writing. Nothing of it, or of the tables, may be
     * changed. Called by the main thread. NULL: handle() does it, on a state that init() has made
     * for the shadow.
     */
    void (*explain)(struct task *t, struct rte_mbuf *m, const struct task_explain *x);
    /** Packets that the task holds now (a scheduler's queues). NULL: none. Called by other cores
     * too. */
    uint64_t (*held)(const struct task *t);
    /** handle() may free packets of its burst by itself and count them in task->drops. */
    bool drops_itself;
    /** Figures of this type beyond the common counters, for people: names, NULL at the end, and the
     * value of each. NULL: none. Called by other cores too. */
    const char *const *stat_names;
    uint64_t (*stat)(const struct task *t, unsigned i);
    /** What the n instances (1 or more) of one task have measured, together: a JSON object, for the
     * report of a run that has ended. NULL: nothing. */
    void (*report)(const struct task *const *instances, unsigned n, FILE *to);
};

struct task {
    void (*handle)(struct task *t, struct rte_mbuf **m, uint16_t n);
    void *state;
    uint16_t in_port; /* ingress port of the burst (the configuration's number), or PORT_IN_MBUF */
    uint16_t n_drop;  /* packets in drop[] */
    uint16_t n_outs;  /* all destinations, of all outputs */
    bool stopping;    /* set by the engine at a stop: a source makes no more packets */
    bool finished;    /* set by a source that has an end and has reached it */
    bool again;       /* set by poll(): it has more to do in this round */
    bool ready;       /* init succeeded: fini is due */
    uint8_t tapped;   /* TAPPED_*: what a capture wants to be told */
    struct out *outs;
    struct out
        *output[TASK_MAX_OUTPUTS];      /* first destination of each output; NULL: not connected */
    uint16_t n_dests[TASK_MAX_OUTPUTS]; /* destinations of each output */
    const uint8_t *by_port[TASK_MAX_OUTPUTS]; /* plan_output.by_port */

    /* counters */
    uint64_t in;                        /* packets taken by handle() */
    uint64_t created;                   /* packets made here */
    uint64_t consumed;                  /* packets that ended here as they should */
    uint64_t drops[TASK_MAX_DROPS + 1]; /* by the schema's reasons, and DROP_NO_PATH */
    struct rte_mbuf *drop[BURST_MAX];
    uint8_t drop_reason[BURST_MAX]; /* of those */

    const struct task_type *type;
    const struct cfg_task *cfg;
    struct tap_task *tap; /* NULL: no capture wants anything of it */
    uint16_t instance, worker, core;
    uint16_t hold; /* set by init: packets of a port to choose from by rank(), 0..HOLD_MAX */
} __rte_cache_aligned;

#define TAPPED_RX    1 /* what its ports bring */
#define TAPPED_DROPS 2

#define PORT_IN_MBUF UINT16_MAX /* the packets come over a link: each has its own in m->port */

static inline uint16_t task_in_port(const struct task *t, const struct rte_mbuf *m)
{
    return t->in_port != PORT_IN_MBUF ? t->in_port : meta_in_port(m);
}

/** Where our MAC on the ingress port of a packet stands in a table by the configuration's port
 * number. */
static inline const uint8_t *task_own_mac(const uint8_t (*port_mac)[8], uint16_t in_port,
                                          const struct rte_mbuf *m)
{
    return port_mac[(in_port != PORT_IN_MBUF ? in_port : meta_in_port(m)) & (CFG_MAX_PORTS - 1)];
}

/** Is this output connected? Ask at init, or before a punt. */
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

/** Give a packet to one destination; it leaves at the end of this burst. */
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

/** Send a packet to the slow path, or drop it for the reason where that is not connected. */
static inline void task_punt(struct task *t, unsigned output, struct rte_mbuf *m,
                             enum punt_reason why, unsigned reason)
{
    if (likely(task_has_output(t, output))) {
        meta_set_in_port(m, task_in_port(t, m));
        meta_set_punt(m, why);
        task_emit(t, output, m);
    } else {
        task_drop(t, m, reason);
    }
}

/** Send a packet that is for the gateway to the slow path, or drop it for the reason. The answer
 * will leave where the question came in; the ingress port must be in the mbuf. */
static inline void task_punt_for_us(struct task *t, unsigned output, struct rte_mbuf *m,
                                    unsigned reason)
{
    meta_set_out_port(m, (uint8_t)meta_in_port(m));
    task_punt(t, output, m, PUNT_FOR_US, reason);
}

/** Hand on a whole burst, unchanged. Nothing was put into this output before in this burst. */
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
 * Drop packets that have just come from a port and were never given to handle(): they count as
 * taken, too. Cheaper than task_drop() for packets that nobody has touched.
 */
void task_drop_fresh(struct task *t, struct rte_mbuf **m, uint16_t n, unsigned reason);

/** Drop a packet at once: for a task that may drop more of them than it was given. */
void task_drop_now(struct task *t, struct rte_mbuf *m, unsigned reason);

/** End packets here as a sink does; frees them. */
void task_consume(struct task *t, struct rte_mbuf **m, uint16_t n);

/** Send what the burst left in the outputs, free what it dropped. Called by the engine after
 * handle() and poll(). */
void task_flush(struct task *t);

/** Run a burst through a task. */
static inline void task_run(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    t->in += n;
    t->handle(t, m, n);
    task_flush(t);
}

/** All known types, NULL at the end (tasks/task_types.c). */
extern const struct task_type *const task_types[];

#endif
