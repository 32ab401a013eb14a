/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taps: where the data path meets a capture. Without a capture, a core pays a test of a byte for
 * each burst from a port and for each burst with drops. A capture exchanges function pointers, the
 * task's handle and the output's send, by core calls between two rounds, and puts them back at its
 * end. Tasks and outputs with a tap belong to the core that runs the task.
 */
#ifndef ENGINE_TAP_H
#define ENGINE_TAP_H

#include "engine/engine.h"
#include "engine/tap_ring.h"

/** The tap of a task instance. */
struct tap_task {
    struct tap_ring *ring;
    struct tap_out *outs;
    void (*handle)(struct task *t, struct rte_mbuf **m, uint16_t n); /* the task's own */
    uint16_t interface;
    bool named; /* the mbufs that the task is given name their subscriber */
};

/** The tap of an output. */
struct tap_out {
    struct task *task;
    out_send_fn send; /* the link's own; NULL: out->send is not exchanged */
    uint16_t port;    /* the configuration's, where the output leads to one, or TAP_ANY_PORT */
    bool transmits;   /* the output leads to a port whose packets are wanted */
    bool direct;      /* the output leads to a task on this core */
    bool named;       /* the mbufs that the task sends name their subscriber */
};

/** The taps of a capture. */
struct tap_set {
    const struct tap_wants *wants;
    struct tap_ring *rings; /* by core */
    struct tap_task *tasks; /* by instance */
    struct tap_out *outs;   /* of all instances */
};

/** The points that a gateway has. */
static inline unsigned tap_points(const struct engine *e)
{
    return (e->plan->cfg->n_ports + e->plan->n_instances) * TAP_KINDS;
}

/** Make taps, with a ring of at least so many bytes for each core. wants must live until
 * tap_free(). Returns 0 or -ENOMEM; tap_free() is due in either case. */
int tap_create(const struct engine *e, struct tap_set *s, const struct tap_wants *wants,
               uint64_t bytes);
void tap_free(const struct engine *e, struct tap_set *s);

/** Put the taps into the data path of all cores. Returns 0, or -ETIMEDOUT where a core does not
 * answer; tap_remove() is due in either case. */
int tap_install(struct engine *e, const struct tap_set *s);

/** Restore the data path. Returns 0, or -ETIMEDOUT where a core does not answer: that core may
 * still use the taps, which must not be freed then. */
int tap_remove(struct engine *e);

/* --- called by the data path --- */

/** Copy packets that a port has received. t->tapped has TAPPED_RX. */
void tap_rx(const struct task *t, uint16_t port, struct rte_mbuf *const *m, uint16_t n);

/** Copy packets that a task drops, before they are freed. each: the schema's reason by packet;
 * NULL: reason is that of all packets. t->tapped has TAPPED_DROPS. */
void tap_drops(const struct task *t, struct rte_mbuf *const *m, uint16_t n, const uint8_t *each,
               unsigned reason);

/** Copy packets that an output with a tap drops, before they are freed. */
void tap_link_full(const struct out *o, struct rte_mbuf *const *m, uint16_t n);

#endif
