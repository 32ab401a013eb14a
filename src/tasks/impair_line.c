/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks/impair_line.h"

#include <errno.h>

#include <rte_malloc.h>

#define FIXED_ONE 65536.0
#define ON_WIRE   24 /* FCS, preamble and gap of a frame */

int line_init(struct line *l, const struct line_spec *spec)
{
    l->slot = rte_zmalloc_socket("impair", spec->room * sizeof(l->slot[0]), 0, spec->socket);
    if (l->slot == NULL)
        return -ENOMEM;
    l->mask = spec->room - 1;
    l->delay = spec->delay;
    l->jitter = spec->jitter;
    l->queue = spec->queue;
    l->packet_cost = (uint64_t)(spec->packet_cost * FIXED_ONE + 0.5);
    l->byte_cost = (uint64_t)(spec->byte_cost * FIXED_ONE + 0.5);
    l->random = spec->seed;
    return 0;
}

void line_fini(struct line *l)
{
    for (; l->out != l->in; l->out++)
        rte_pktmbuf_free(l->slot[l->out & l->mask].m);
    rte_free(l->slot);
}

enum line_answer line_ask(const struct line *l, uint64_t now)
{
    if (l->in - l->out > l->mask)
        return LINE_FULL;
    return l->free > now && l->free - now > l->queue ? LINE_TOO_SLOW : LINE_TAKES;
}

/* When a packet has been sent. */
static uint64_t send(struct line *l, const struct rte_mbuf *m, uint64_t now)
{
    uint64_t cost = l->packet_cost + l->byte_cost * (m->pkt_len + ON_WIRE);

    if (l->free < now) {
        l->free = now;
        l->free_part = 0;
    }
    cost += l->free_part;
    l->free += cost >> 16;
    l->free_part = (uint16_t)cost;
    return l->free;
}

void line_put(struct line *l, struct rte_mbuf *m, uint64_t now)
{
    uint64_t due = send(l, m, now) + l->delay;

    if (l->jitter > 0)
        due += (uint64_t)((unsigned __int128)random64(&l->random) * l->jitter >> 64);
    l->slot[l->in & l->mask] = (struct line_slot){m, due};
    __atomic_store_n(&l->in, l->in + 1, __ATOMIC_RELAXED);
}

uint16_t line_take(struct line *l, struct rte_mbuf **m, uint16_t n, uint64_t now)
{
    uint16_t k = 0;

    while (k < n && l->out + k != l->in && l->slot[(l->out + k) & l->mask].due <= now) {
        m[k] = l->slot[(l->out + k) & l->mask].m;
        k++;
    }
    __atomic_store_n(&l->out, l->out + k, __ATOMIC_RELAXED);
    return k;
}
