/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the data path meets a capture. Without one, a core pays a test of a byte for each burst
 * from a port and for each burst with drops; the rest is function pointers that are exchanged: the
 * task's handle and the output's send. All of this belongs to the core that runs the task.
 */
#ifndef ENGINE_TAP_POINT_H
#define ENGINE_TAP_POINT_H

#include "engine/tap.h"

/** A task instance with a tap. */
struct tap_task {
    struct tap *ring;
    struct tap_out *outs;
    void (*handle)(struct task *t, struct rte_mbuf **m, uint16_t n); /* the task's own */
    uint16_t interface;
    bool named; /* the mbufs that it gets name their subscriber */
};

/** One of its outputs. */
struct tap_out {
    struct task *task;
    out_send_fn send; /* the link's own; NULL: it is not exchanged */
    uint16_t port;    /* of the configuration, where it leads to one, or TAP_ANY_PORT */
    bool transmits;   /* what this port sends is wanted */
    bool direct;      /* leads to a task on this core */
    bool named;
};

/** All of a capture. */
struct tap_set {
    const struct tap_wants *wants;
    struct tap *rings;      /* by core */
    struct tap_task *tasks; /* by instance */
    struct tap_out *outs;   /* of all instances */
};

/** Rings of at least so many bytes for each core. Returns 0 or -ENOMEM; tap_free() is due in either
 * case. wants must live until then. */
int tap_create(const struct engine *e, struct tap_set *s, const struct tap_wants *wants,
               uint64_t bytes);
void tap_free(const struct engine *e, struct tap_set *s);

/** Begin to watch, on all cores. Returns 0, or -ETIMEDOUT where a core does not answer; then
 * tap_remove() is due. */
int tap_install(struct engine *e, const struct tap_set *s);

/** Leave the data path as it was. Returns 0, or -ETIMEDOUT where a core does not answer: then it
 * may still use the taps, and nothing may be freed. */
int tap_remove(struct engine *e);

/* --- called by the data path --- */

/** Packets of a port, as the device gave them. t->tapped has TAPPED_RX. */
void tap_rx(const struct task *t, uint16_t port, struct rte_mbuf *const *m, uint16_t n);

/** Packets that the task drops, before they are freed; reason: the schema's, by packet, or one for
 * all where each is NULL. t->tapped has TAPPED_DROPS. */
void tap_drops(const struct task *t, struct rte_mbuf *const *m, uint16_t n, const uint8_t *each,
               unsigned reason);

/** Packets that an output with a tap drops, before they are freed. */
void tap_link_full(const struct out *o, struct rte_mbuf *const *m, uint16_t n);

/** In the place of task->handle and of out->send. */
void tap_handle(struct task *t, struct rte_mbuf **m, uint16_t n);
void tap_send(struct out *o, struct rte_mbuf **m, uint16_t n);

#endif
