/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets linked through their mbufs: words of a pointer and a number, and a chain of two such
 * words. The link is next, and tx_offload is the length of the packet behind it, so whoever takes
 * out one knows the length of the next without touching it. */
#ifndef SCHED_CHAIN_H
#define SCHED_CHAIN_H

#include <stdint.h>

#include <rte_mbuf.h>

/** The upper 16 bits of a pointer to an mbuf are free for a number. */
#define WHEEL_POINTER ((UINT64_C(1) << 48) - 1)

/** The mbuf in a word of a queue. */
static inline struct rte_mbuf *wheel_mbuf(uint64_t word)
{
    return (struct rte_mbuf *)(uintptr_t)(word & WHEEL_POINTER);
}

/** The number in a word of a queue. */
static inline uint32_t wheel_number(uint64_t word)
{
    return (uint32_t)(word >> 48);
}

static inline uint64_t wheel_word(const struct rte_mbuf *m, uint32_t number)
{
    return (uint64_t)(uintptr_t)m | (uint64_t)number << 48;
}

/** Packets in their order; zero-initialise it. */
struct chain {
    uint64_t head; /* first packet; and its length */
    uint64_t tail; /* last packet; and the number of packets; 0: both are void */
};

/** Number of packets. */
static inline uint32_t chain_packets(const struct chain *c)
{
    return wheel_number(c->tail);
}

/** Append a packet. */
static inline void chain_put(struct chain *c, struct rte_mbuf *m)
{
    uint32_t n = chain_packets(c);

    if (n != 0) {
        struct rte_mbuf *last = wheel_mbuf(c->tail);
        last->next = m;
        last->tx_offload = m->pkt_len;
    } else {
        c->head = wheel_word(m, m->pkt_len);
    }
    c->tail = wheel_word(m, n + 1);
}

/** Take out the first packet; there must be one. */
static inline struct rte_mbuf *chain_take(struct chain *c)
{
    struct rte_mbuf *m = wheel_mbuf(c->head);

    if (chain_packets(c) > 1) {
        c->head = wheel_word(m->next, (uint32_t)m->tx_offload);
        m->next = NULL;
        m->tx_offload = 0;
    }
    c->tail -= UINT64_C(1) << 48;
    return m;
}

#endif
