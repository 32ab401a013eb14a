/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/tap_point.h"

#include <string.h>

static inline const struct tap_wants *wants_of(const struct task *t)
{
    return t->tap->ring->wants;
}

void tap_rx(const struct task *t, uint16_t port, struct rte_mbuf *const *m, uint16_t n)
{
    const struct tap_at at = {.interface = port, .kind = TAP_INTO, .port = port};

    if ((wants_of(t)->rx >> port & 1) != 0)
        tap_put(t->tap->ring, &at, m, n, NULL);
}

static struct tap_at at_task(const struct task *t, enum tap_kind kind)
{
    return (struct tap_at){.interface = t->tap->interface,
                           .kind = kind,
                           .port = t->in_port != PORT_IN_MBUF ? t->in_port : TAP_ANY_PORT,
                           .named = t->tap->named};
}

static void put_drops(const struct task *t, const struct tap_at *at, struct rte_mbuf *const *m,
                      uint16_t n, const uint32_t *reasons)
{
    uint32_t wanted = wants_of(t)->reasons[t->instance], of[BURST_MAX];
    struct rte_mbuf *pick[BURST_MAX];
    uint16_t k = 0;

    for (uint16_t i = 0; i < n; i++) {
        pick[k] = m[i];
        of[k] = reasons[i];
        k += (reasons[i] & wanted) != 0;
    }
    if (k > 0)
        tap_put(t->tap->ring, at, pick, k, of);
}

void tap_drops(const struct task *t, struct rte_mbuf *const *m, uint16_t n, const uint8_t *each,
               unsigned reason)
{
    const struct tap_at at = at_task(t, TAP_DROP);
    uint32_t bits[BURST_MAX];

    for (uint16_t i = 0; i < n; i++)
        bits[i] = 1u << (each != NULL ? each[i] : reason);
    put_drops(t, &at, m, n, bits);
}

void tap_link_full(const struct out *o, struct rte_mbuf *const *m, uint16_t n)
{
    const struct task *t = o->tap->task;
    struct tap_at at = at_task(t, TAP_DROP);
    uint32_t bits[BURST_MAX];

    at.port = o->tap->port;
    at.named = o->tap->named;
    for (uint16_t i = 0; i < n; i++)
        bits[i] = 1u << TAP_LINK_FULL;
    put_drops(t, &at, m, n, bits);
}

/*
 * A scheduler frees what it does not accept, and only counts why. So hold the packets of the burst:
 * those that nobody else holds afterwards are the dropped ones, and their reasons those whose
 * counters have grown, but for what waits to be dropped by the engine.
 */
static void handle_and_hold(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct tap_at at = at_task(t, TAP_DROP);
    struct rte_mbuf *mine[BURST_MAX], *gone[BURST_MAX];
    uint64_t before[TASK_MAX_DROPS + 1];
    uint32_t reasons = 0, bits[BURST_MAX];
    uint16_t held = 0, k = 0;

    for (uint16_t i = 0; i < n; i++)
        if (likely(rte_mbuf_refcnt_read(m[i]) == 1)) {
            rte_mbuf_refcnt_set(m[i], 2);
            mine[held++] = m[i];
        }
    memcpy(before, t->drops, sizeof(before));
    t->tap->handle(t, m, n);
    for (uint16_t i = 0; i < t->n_drop; i++)
        before[t->drop_reason[i]]++;
    for (unsigned i = 0; i <= TASK_MAX_DROPS; i++)
        reasons |= (uint32_t)(t->drops[i] != before[i]) << i;
    for (uint16_t i = 0; i < held; i++) {
        gone[k] = mine[i];
        bits[k] = reasons;
        k += rte_mbuf_refcnt_read(mine[i]) == 1;
        rte_mbuf_refcnt_set(mine[i], 1);
    }
    put_drops(t, &at, gone, k, bits);
    rte_pktmbuf_free_bulk(gone, k);
}

void tap_handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct tap_at at = at_task(t, TAP_INTO);
    const struct tap_wants *w = wants_of(t);

    if (w->before[t->instance])
        tap_put(t->tap->ring, &at, m, n, NULL);
    if (t->type->drops_itself && w->reasons[t->instance] != 0)
        handle_and_hold(t, m, n);
    else
        t->tap->handle(t, m, n);
}

/* Afterwards the packets are no longer ours, so the copies come first; those of packets that were
 * not taken, which are the last of the burst, are taken back. */
void tap_send(struct out *o, struct rte_mbuf **m, uint16_t n)
{
    const struct tap_out *to = o->tap;
    const struct task *t = to->task;
    struct tap *ring = t->tap->ring;
    struct tap_at at = at_task(t, TAP_FROM);
    uint64_t head = ring->head, full = o->full;
    bool task = false, port = false;

    at.named = to->named;
    at.stay = !to->direct;
    if (wants_of(t)->after[t->instance])
        task = tap_put(ring, &at, m, n, NULL);
    at.interface = at.port = to->port;
    if (to->transmits)
        port = tap_put(ring, &at, m, n, NULL);
    to->send(o, m, n);
    if (unlikely(o->full != full) && (task || port))
        tap_take_back(ring, head, (uint16_t)(n - RTE_MIN(o->full - full, (uint64_t)n)));
    if (task)
        tap_leave(ring);
    if (port)
        tap_leave(ring);
}
