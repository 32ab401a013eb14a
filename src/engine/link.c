/* SPDX-License-Identifier: BSD-3-Clause */
/* One send function for each kind of link, and the functions that choose among them. */
#include "engine/link.h"

#include <string.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "engine/tap.h"
#include "packet/free.h"

/* Drop packets that found no room. */
static void drop_full(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    o->full += n;
    if (unlikely(o->tap != NULL))
        tap_link_full(o, m, n);
    packets_free(m, n);
}

static void send_call(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    o->sent += n;
    task_run(o->task, m, n);
}

static void send_ring(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    uint16_t k = (uint16_t)rte_ring_enqueue_burst(o->ring, (void **)m, n, NULL);

    o->sent += k;
    if (unlikely(k < n))
        drop_full(o, m + k, n - k);
}

/* Sum up lengths, one load at a time: a compiler would gather them by vector instructions, which
 * takes longer; atomic loads keep it from that. */
static uint64_t sum_bytes(struct rte_mbuf *const *m, uint16_t n)
{
    uint64_t bytes = 0;

    for (uint16_t i = 0; i < n; i++)
        bytes += __atomic_load_n(&m[i]->pkt_len, __ATOMIC_RELAXED);
    return bytes;
}

/*
 * Send as many packets as the queue takes. Bytes are summed up before the burst, as a packet that
 * was sent belongs to the device, and its mbuf may be in use again.
 */
static inline uint16_t transmit(struct out *o, struct rte_mbuf **m, uint16_t n, bool count_bytes)
{
    uint64_t bytes = count_bytes ? sum_bytes(m, n) : 0;
    uint16_t k = rte_eth_tx_burst(o->tx.port, o->tx.queue, m, n);

    if (count_bytes)
        o->bytes += bytes - sum_bytes(m + k, n - k);
    o->sent += k;
    return k;
}

static inline void send_all(struct out *o, struct rte_mbuf **m, uint16_t n, bool count_bytes)
{
    uint16_t k = transmit(o, m, n, count_bytes);

    if (unlikely(k < n))
        drop_full(o, m + k, n - k);
}

static void send_port(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    send_all(o, m, n, false);
}

static void send_wire(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    send_all(o, m, n, true);
}

static void send_held(struct out *o)
{
    uint16_t k = transmit(o, o->held, o->n_held, o->count_bytes);

    o->n_held -= k;
    memmove(o->held, o->held + k, o->n_held * sizeof(o->held[0]));
}

/* Hold the packets that the queue does not take, in order. While some are held, link_blocked() lets
 * no new burst come, so that one burst of room is enough. */
static void send_port_wait(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    uint16_t k = 0, keep;

    if (unlikely(o->n_held > 0))
        send_held(o);
    if (likely(o->n_held == 0))
        k = transmit(o, m, n, o->count_bytes);
    if (unlikely(k < n)) {
        keep = RTE_MIN(n - k, BURST_MAX - o->n_held);
        memcpy(o->held + o->n_held, m + k, keep * sizeof(m[0]));
        o->n_held += keep;
        k += keep;
        if (k < n)
            drop_full(o, m + k, n - k);
    }
}

/* The task that is called for all packets of output 0, or NULL. */
static struct task *called(const struct task *t)
{
    return t->n_dests[0] == 1 && t->output[0]->send == send_call ? t->output[0]->task : NULL;
}

static bool chain_fits(struct task_chain *c, const struct chain_type *type, struct task *head)
{
    struct task *t = head;

    for (unsigned i = 0; i < type->n; i++) {
        if (t == NULL || t->type != type->types[i])
            return false;
        c->task[i] = t;
        t = called(t);
    }
    c->type = type;
    return true;
}

void link_ahead(struct task *t)
{
    struct task *next = called(t);

    t->ahead = next != NULL && next->type->expect != NULL ? next : NULL;
}

bool link_chain(struct task *t)
{
    for (unsigned i = 0; i < t->type->n_chains; i++)
        if (chain_fits(&t->chain, &t->type->chains[i], t)) {
            t->handle = t->type->chains[i].handle;
            return true;
        }
    return false;
}

bool link_chain_is_whole(const struct task *head)
{
    const struct task_chain *c = &head->chain;

    for (unsigned i = 1; i < c->type->n; i++) {
        const struct task *t = c->task[i];

        if (unlikely(c->task[i - 1]->output[0]->send != send_call ||
                     (t->tap != NULL && t->tap->handle != t->handle)))
            return false;
    }
    return true;
}

void link_chain_end(struct task *head, struct rte_mbuf **good, uint16_t n_good,
                    struct rte_mbuf **rest, uint16_t n_rest)
{
    const struct task_chain *c = &head->chain;
    struct task *last = c->task[c->type->n - 1];

    if (likely(n_good > 0)) {
        for (unsigned i = 1; i < c->type->n; i++) {
            c->task[i - 1]->output[0]->sent += n_good;
            c->task[i]->in += n_good;
        }
        task_emit_burst(last, 0, good, n_good);
        task_flush(last);
    }
    if (unlikely(n_rest > 0))
        head->type->handle(head, rest, n_rest);
}

/* Exchange the send function. Where a capture's tap stands in its place, the tap stays and calls
 * the new one. */
static void set_send(struct out *o, out_send_fn send)
{
    if (o->tap != NULL && o->tap->send != NULL)
        o->tap->send = send;
    else
        o->send = send;
}

void link_to_task(struct out *o, struct task *next)
{
    set_send(o, send_call);
    o->task = next;
}

void link_to_ring(struct out *o, struct rte_ring *r, enum full_policy on_full, uint16_t producers)
{
    set_send(o, send_ring);
    o->ring = r;
    o->wait = on_full == FULL_WAIT;
    o->room = (uint32_t)(BURST_MAX * producers);
}

void link_to_port(struct out *o, uint16_t dpdk_port, uint16_t queue, enum full_policy on_full,
                  bool count_bytes)
{
    set_send(o, on_full == FULL_WAIT ? send_port_wait : count_bytes ? send_wire : send_port);
    o->tx.port = dpdk_port;
    o->tx.queue = queue;
    o->wait = on_full == FULL_WAIT;
    o->count_bytes = count_bytes;
}

void link_down(struct out *o)
{
    drop_full(o, o->held, o->n_held);
    o->n_held = 0;
    set_send(o, drop_full);
}

bool link_blocked(struct out *o)
{
    if (!o->wait)
        return false;
    if (o->room > 0)
        return rte_ring_free_count(o->ring) < o->room;
    if (o->n_held > 0)
        send_held(o);
    return o->n_held > 0;
}
